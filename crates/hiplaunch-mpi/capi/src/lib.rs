//! The functions of `hiplaunch_mpi.h`, which documents them.
#![allow(non_camel_case_types, reason = "the names that C sees")]
#![allow(clippy::missing_safety_doc, reason = "the header's head says what holds for every pointer")]

mod status;
mod view;

use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hiplaunch::driver::RawStream;
use hiplaunch::{Launcher, Stream};
use hiplaunch_mpi::{Communicator, Error, Halo, Mpi, Number, Options, Reduce, Ticket};

pub use status::hiplaunch_mpi_error;
use status::{Failure, Result, call, text};
use view::{hiplaunch_mpi_halo, hiplaunch_mpi_view, slice};

/// A communicator with the streams that were passed to it. Its fields are dropped in this order.
pub struct hiplaunch_mpi_comm {
    communicator: Communicator,
    streams: Mutex<HashMap<usize, Stream>>,
    launcher: Launcher,
    _mpi: Mpi,
}

/// A ticket.
pub struct hiplaunch_mpi_ticket(Ticket);

impl hiplaunch_mpi_comm {
    /// The program's stream.
    ///
    /// # Safety
    /// `raw` is a live stream of the communicator's device.
    unsafe fn stream(&self, raw: *mut c_void) -> Result<Stream> {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stream) = streams.get(&raw.addr()) {
            return Ok(stream.clone());
        }
        let device = self.communicator.device();
        // SAFETY: the caller's promise.
        let stream =
            unsafe { self.launcher.stream_from_raw(device, RawStream(raw.expose_provenance() as u64)) }?;
        streams.insert(raw.addr(), stream.clone());
        Ok(stream)
    }
}

fn given<'a, T>(pointer: Option<&'a T>, what: &str) -> Result<&'a T> {
    pointer.ok_or_else(|| Failure::invalid(format!("`{what}` is null")))
}

fn rank_of(rank: i32) -> Result<usize> {
    usize::try_from(rank).map_err(|_| Failure::invalid(format!("rank {rank}")))
}

fn tag_of(tag: i32) -> Result<u16> {
    u16::try_from(tag).map_err(|_| Failure::invalid(format!("tag {tag}")))
}

fn give<T>(out: Option<&mut *mut T>, make: impl FnOnce() -> Result<T>) -> Result<()> {
    let out = out.ok_or_else(|| Failure::invalid("the place for the result is null"))?;
    *out = std::ptr::null_mut();
    *out = Box::into_raw(Box::new(make()?));
    Ok(())
}

/// Fails unless the program has initialized this library's MPI. If the program uses another MPI, it has not.
fn initialized() -> Result<()> {
    let (mut flag, mut len) = (0, 0);
    // Larger than MPI_MAX_LIBRARY_VERSION_STRING of Open MPI (256) and MPICH (8192).
    let mut version = vec![0u8; 16384];
    // SAFETY: both may be called at any time; the array is longer than the longest text.
    unsafe {
        mpi::ffi::MPI_Initialized(&mut flag);
        mpi::ffi::MPI_Get_library_version(version.as_mut_ptr().cast(), &mut len);
    }
    if flag != 0 {
        return Ok(());
    }
    let version = String::from_utf8_lossy(&version[..usize::try_from(len).unwrap_or(0)]);
    let version = version.lines().next().unwrap_or_default().trim();
    let problem = format!(
        "not initialized: call MPI_Init_thread before, of the MPI that this library was built for, {version}"
    );
    Err(Error::Environment(problem.into()).into())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_mpi_open(
    fortran_comm: i32,
    device: i32,
    timeout: f64,
    comm: Option<&mut *mut hiplaunch_mpi_comm>,
) -> c_int {
    call(|| {
        give(comm, || {
            initialized()?;
            let mpi = Mpi::initialize()?;
            let launcher = Launcher::new()?;
            // SAFETY: the caller passes the handle of a live communicator.
            let raw = unsafe { mpi::ffi::RSMPI_Comm_f2c(fortran_comm) };
            let device = match u32::try_from(device) {
                Ok(ordinal) => launcher.device(ordinal)?.clone(),
                // SAFETY: `raw` is the handle of a live communicator: the caller's promise.
                Err(_) => unsafe { mpi.device_among(raw, &launcher, false) }?.device,
            };
            let timeout = (timeout > 0.0).then(|| Duration::try_from_secs_f64(timeout).ok()).flatten();
            let options = Options { timeout, ..Options::default() };
            // SAFETY: `raw` is the handle of a live communicator: the caller's promise.
            let communicator = unsafe { Communicator::from_raw(&mpi, raw, &launcher, &device, options) }?;
            Ok(hiplaunch_mpi_comm { communicator, streams: Mutex::default(), launcher, _mpi: mpi })
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_mpi_close(comm: *mut hiplaunch_mpi_comm) -> c_int {
    call(|| {
        if !comm.is_null() {
            // SAFETY: made by `hiplaunch_mpi_open`, and closed once.
            drop(unsafe { Box::from_raw(comm) });
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_mpi_device(comm: Option<&hiplaunch_mpi_comm>, device: Option<&mut i32>) -> c_int {
    call(|| {
        let out = device.ok_or_else(|| Failure::invalid("`device` is null"))?;
        *out = given(comm, "comm")?.communicator.device().id().0 as i32;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_mpi_check(comm: Option<&hiplaunch_mpi_comm>) -> c_int {
    call(|| Ok(given(comm, "comm")?.communicator.check()?))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_mpi_fail(
    comm: Option<&hiplaunch_mpi_comm>,
    report: *const c_char,
) -> c_int {
    call(|| {
        // SAFETY: the caller's promise for texts.
        let report = unsafe { text(report, "report") }?;
        given(comm, "comm")?.communicator.fail(&report.to_string_lossy());
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_mpi_check_code(
    comm: Option<&hiplaunch_mpi_comm>,
    kernel: *const c_char,
    code: *const c_void,
    bytes: usize,
) -> c_int {
    call(|| {
        // SAFETY: the caller's promises for texts and arrays.
        let (kernel, code) = unsafe { (text(kernel, "kernel")?, slice(code.cast::<u8>(), bytes, "code")?) };
        Ok(given(comm, "comm")?.communicator.check_code(&kernel.to_string_lossy(), code)?)
    })
}

/// Runs an operation and gives its ticket.
///
/// # Safety
/// `stream` is a live stream of the communicator's device.
unsafe fn operation(
    comm: Option<&hiplaunch_mpi_comm>,
    stream: *mut c_void,
    ticket: Option<&mut *mut hiplaunch_mpi_ticket>,
    run: impl FnOnce(&Communicator, &Stream) -> Result<Ticket>,
) -> c_int {
    call(|| {
        give(ticket, || {
            let comm = given(comm, "comm")?;
            // SAFETY: the caller's promise.
            let stream = unsafe { comm.stream(stream) }?;
            Ok(hiplaunch_mpi_ticket(run(&comm.communicator, &stream)?))
        })
    })
}

/// # Safety
/// As for [`hiplaunch_mpi_view::of`].
unsafe fn reduce<T: Number>(
    comm: &Communicator,
    stream: &Stream,
    view: &hiplaunch_mpi_view,
    how: Reduce,
) -> Result<Ticket> {
    if view.element != size_of::<T>() {
        return Err(Failure::invalid(format!(
            "elements of {} bytes for a type of {}",
            view.element,
            size_of::<T>()
        )));
    }
    // SAFETY: the caller's promise.
    let view = unsafe { view.of::<T>(comm.device()) }?;
    Ok(comm.all_reduce(stream, &view, how)?)
}

/// Defines functions that run an operation on a stream and give its ticket.
macro_rules! operations {
    ($(fn $name:ident($($argument:ident: $t:ty),*) $run:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            comm: Option<&hiplaunch_mpi_comm>,
            stream: *mut c_void,
            $($argument: $t,)*
            ticket: Option<&mut *mut hiplaunch_mpi_ticket>,
        ) -> c_int {
            // SAFETY: the caller's promises for streams, views and arrays.
            unsafe { operation(comm, stream, ticket, $run) }
        }
    )*};
}

operations! {
    fn hiplaunch_mpi_send(view: Option<&hiplaunch_mpi_view>, to: i32, tag: i32) |comm, stream| {
        let view = given(view, "view")?.of::<u8>(comm.device())?;
        Ok(comm.send(stream, &view, rank_of(to)?, tag_of(tag)?)?)
    };
    fn hiplaunch_mpi_recv(view: Option<&hiplaunch_mpi_view>, from: i32, tag: i32) |comm, stream| {
        let view = given(view, "view")?.of::<u8>(comm.device())?;
        Ok(comm.recv(stream, &view, rank_of(from)?, tag_of(tag)?)?)
    };
    fn hiplaunch_mpi_exchange(halos: *const hiplaunch_mpi_halo, count: usize) |comm, stream| {
        let mut all = Vec::with_capacity(count);
        for halo in slice(halos, count, "halos")? {
            all.push(Halo::<u8> {
                peer: rank_of(halo.peer)?,
                send: halo.send.of(comm.device())?,
                send_tag: tag_of(halo.send_tag)?,
                recv: halo.recv.of(comm.device())?,
                recv_tag: tag_of(halo.recv_tag)?,
            });
        }
        Ok(comm.exchange(stream, &all)?)
    };
    fn hiplaunch_mpi_all_reduce(view: Option<&hiplaunch_mpi_view>, number: i32, how: i32) |comm, stream| {
        let view = given(view, "view")?;
        let how = match how {
            0 => Reduce::Sum,
            1 => Reduce::Min,
            2 => Reduce::Max,
            _ => return Err(Failure::invalid(format!("{how} is not what to compute"))),
        };
        match number {
            0 => reduce::<f32>(comm, stream, view, how),
            1 => reduce::<f64>(comm, stream, view, how),
            2 => reduce::<i32>(comm, stream, view, how),
            3 => reduce::<i64>(comm, stream, view, how),
            4 => reduce::<u32>(comm, stream, view, how),
            5 => reduce::<u64>(comm, stream, view, how),
            _ => Err(Failure::invalid(format!("{number} is not a type of numbers"))),
        }
    };
    fn hiplaunch_mpi_broadcast(view: Option<&hiplaunch_mpi_view>, root: i32) |comm, stream| {
        let view = given(view, "view")?.of::<u8>(comm.device())?;
        Ok(comm.broadcast(stream, &view, rank_of(root)?)?)
    };
    fn hiplaunch_mpi_all_gather(from: Option<&hiplaunch_mpi_view>, into: Option<&hiplaunch_mpi_view>) |comm, stream| {
        let from = given(from, "from")?.of::<u8>(comm.device())?;
        let into = given(into, "into")?.of::<u8>(comm.device())?;
        Ok(comm.all_gather(stream, &from, &into)?)
    };
    fn hiplaunch_mpi_barrier() |comm, stream| Ok(comm.barrier(stream)?);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_mpi_before(
    comm: Option<&hiplaunch_mpi_comm>,
    ticket: Option<&hiplaunch_mpi_ticket>,
    stream: *mut c_void,
) -> c_int {
    call(|| {
        // SAFETY: the caller's promise for streams.
        let stream = unsafe { given(comm, "comm")?.stream(stream) }?;
        Ok(given(ticket, "ticket")?.0.before(&stream)?)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_mpi_wait(ticket: *mut hiplaunch_mpi_ticket) -> c_int {
    call(|| {
        if ticket.is_null() {
            return Err(Failure::invalid("`ticket` is null"));
        }
        // SAFETY: made by an operation, and closed once.
        Ok(unsafe { Box::from_raw(ticket) }.0.wait()?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_mpi_is_done(
    ticket: Option<&hiplaunch_mpi_ticket>,
    done: Option<&mut i32>,
) -> c_int {
    call(|| {
        let out = done.ok_or_else(|| Failure::invalid("`done` is null"))?;
        *out = i32::from(given(ticket, "ticket")?.0.is_done()?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_mpi_ticket_close(ticket: *mut hiplaunch_mpi_ticket) -> c_int {
    call(|| {
        if !ticket.is_null() {
            // SAFETY: as in `hiplaunch_mpi_wait`.
            drop(unsafe { Box::from_raw(ticket) });
        }
        Ok(())
    })
}
