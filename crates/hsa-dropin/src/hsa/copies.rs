//! Copies and fills. Those that are enqueued run on three threads: to devices, from devices, and all others. Each runs its copies in the order of
//! the calls.

use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};

use super::agent::Agent;
use super::allocations;
use super::devices::Devices;
use super::runtime::{machine, now};
use super::signal::{self, Signal};
use super::status::Status;
use crate::abi::{Array, Out};

/// A `hsa_pitched_ptr_t`: memory of rows and slices, which are as many bytes apart.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Pitched {
    base: u64,
    pitch: usize,
    slice: usize,
}

/// A `hsa_dim3_t`. A row is measured in bytes.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Size {
    x: u32,
    y: u32,
    z: u32,
}

/// What is copied: `size.x` bytes of each row.
struct Rows {
    to: Pitched,
    from: Pitched,
    bytes: usize,
    rows: u32,
    slices: u32,
}

/// A copy that is enqueued.
struct Copy {
    rows: Rows,
    after: Vec<Signal>,
    done: Signal,
}

/// Moves bytes between addresses of the host, which may overlap.
fn move_bytes(to: u64, from: u64, bytes: usize) {
    let to = std::ptr::with_exposed_provenance_mut::<u8>(to as usize);
    let from = std::ptr::with_exposed_provenance::<u8>(from as usize);
    // SAFETY: the program's memory, of which it says that so many bytes are there; and it orders the copy against what else accesses them, as
    // HSA asks of it. A kernel that does so nevertheless uses atomic operations.
    unsafe { std::ptr::copy(from, to, bytes) };
}

impl Pitched {
    fn row(&self, row: u32, slice: u32) -> u64 {
        self.base.wrapping_add((row as usize * self.pitch) as u64 + (slice as usize * self.slice) as u64)
    }
}

impl Rows {
    fn of_bytes(to: u64, from: u64, bytes: usize) -> Rows {
        let pitched = |base| Pitched { base: allocations::of_host(base), pitch: 0, slice: 0 };
        Rows { to: pitched(to), from: pitched(from), bytes, rows: 1, slices: 1 }
    }

    fn copy(&self) {
        for slice in 0..self.slices {
            for row in 0..self.rows {
                move_bytes(self.to.row(row, slice), self.from.row(row, slice), self.bytes);
            }
        }
    }
}

/// The threads that copy, once they have something to do.
static ENGINES: [Mutex<Option<Sender<Copy>>>; 3] = [const { Mutex::new(None) }; 3];
const TO_DEVICE: usize = 0;
const FROM_DEVICE: usize = 1;
const OTHERS: usize = 2;

fn enqueue(engine: usize, copy: Copy) -> Result<(), Status> {
    // Those that are not there when the copy is enqueued fail now.
    copy.after
        .iter()
        .chain([&copy.done])
        .filter(|one| **one != Signal::NONE)
        .try_for_each(|one| one.slot().map(drop))?;
    let mut sender = ENGINES[engine].lock().unwrap_or_else(PoisonError::into_inner);
    if sender.is_none() {
        let (to, copies) = mpsc::channel::<Copy>();
        let run = move || {
            for Copy { rows, after, done } in copies {
                after.into_iter().for_each(|one| signal::wait_for_zero(one, || false));
                let start = now();
                rows.copy();
                signal::complete(done, start, now());
            }
        };
        let thread = std::thread::Builder::new().name(format!("hsa-copies-{engine}"));
        thread.spawn(run).map_err(|_| Status::OUT_OF_RESOURCES)?;
        *sender = Some(to);
    }
    let to = sender.as_ref().ok_or(Status::OUT_OF_RESOURCES)?;
    to.send(copy).map_err(|_| Status::ERROR)
}

/// Which thread copies between agents.
fn engine(to: Agent, from: Agent) -> usize {
    match (to == Agent::HOST, from == Agent::HOST) {
        (false, true) => TO_DEVICE,
        (true, false) => FROM_DEVICE,
        _ => OTHERS,
    }
}

pub(crate) fn hsa_amd_memory_async_copy(
    to: u64,
    to_agent: Agent,
    from: u64,
    from_agent: Agent,
    bytes: usize,
    count: u32,
    after: Array<Signal>,
    done: Signal,
) -> Result<(), Status> {
    let machine = machine()?;
    to_agent.kind(machine).and(from_agent.kind(machine))?;
    if to == 0 || from == 0 {
        return Err(Status::INVALID_ARGUMENT);
    }
    let after = after.get::<Status>(count as usize)?;
    enqueue(engine(to_agent, from_agent), Copy { rows: Rows::of_bytes(to, from, bytes), after, done })
}

/// The engine is the program's choice only where there are several.
pub(crate) fn hsa_amd_memory_async_copy_on_engine(
    to: u64,
    to_agent: Agent,
    from: u64,
    from_agent: Agent,
    bytes: usize,
    count: u32,
    after: Array<Signal>,
    done: Signal,
    _engine: u32,
    _force: bool,
) -> Result<(), Status> {
    hsa_amd_memory_async_copy(to, to_agent, from, from_agent, bytes, count, after, done)
}

pub(crate) fn hsa_amd_memory_async_copy_rect(
    to: Array<Pitched>,
    to_offset: Array<Size>,
    from: Array<Pitched>,
    from_offset: Array<Size>,
    size: Array<Size>,
    agent: Agent,
    direction: u32,
    count: u32,
    after: Array<Signal>,
    done: Signal,
) -> Result<(), Status> {
    agent.kind(machine()?)?;
    let (to, from, size) = (to.first::<Status>()?, from.first::<Status>()?, size.first::<Status>()?);
    let at = |place: Pitched, offset: Size| Pitched {
        base: allocations::of_host(place.base).wrapping_add(u64::from(offset.x)).wrapping_add(
            (offset.y as usize * place.pitch) as u64 + (offset.z as usize * place.slice) as u64,
        ),
        ..place
    };
    if to.base == 0 || from.base == 0 {
        return Err(Status::INVALID_ARGUMENT);
    }
    let rows = Rows {
        to: at(to, to_offset.first::<Status>()?),
        from: at(from, from_offset.first::<Status>()?),
        bytes: size.x as usize,
        rows: size.y,
        slices: size.z,
    };
    // `hsaHostToHost`, `hsaHostToDevice`, `hsaDeviceToHost`, `hsaDeviceToDevice`.
    let engine = match direction {
        1 => TO_DEVICE,
        2 => FROM_DEVICE,
        _ => OTHERS,
    };
    enqueue(engine, Copy { rows, after: after.get::<Status>(count as usize)?, done })
}

/// Two engines are free, for each pair of agents.
const ENGINE_MASK: u32 = 3;

pub(crate) fn hsa_amd_memory_copy_engine_status(
    to: Agent,
    from: Agent,
    mask: Out<u32>,
) -> Result<(), Status> {
    let machine = machine()?;
    to.kind(machine).and(from.kind(machine))?;
    mask.set(ENGINE_MASK)
}

/// None is better than another.
pub(crate) fn hsa_amd_memory_get_preferred_copy_engine(
    to: Agent,
    from: Agent,
    mask: Out<u32>,
) -> Result<(), Status> {
    let machine = machine()?;
    to.kind(machine).and(from.kind(machine))?;
    mask.set(0)
}

pub(crate) fn hsa_memory_copy(to: u64, from: u64, bytes: usize) -> Result<(), Status> {
    Devices::get()?;
    if bytes > 0 && (to == 0 || from == 0) {
        return Err(Status::INVALID_ARGUMENT);
    }
    Rows::of_bytes(to, from, bytes).copy();
    Ok(())
}

/// Fills `count` words.
pub(crate) fn hsa_amd_memory_fill(pointer: u64, value: u32, count: usize) -> Result<(), Status> {
    Devices::get()?;
    if pointer == 0 || !pointer.is_multiple_of(4) {
        return Err(Status::INVALID_ARGUMENT);
    }
    let words = std::ptr::with_exposed_provenance_mut::<u32>(allocations::of_host(pointer) as usize);
    for index in 0..count {
        // SAFETY: as in `move_bytes`.
        unsafe { words.add(index).write_volatile(value) };
    }
    Ok(())
}
