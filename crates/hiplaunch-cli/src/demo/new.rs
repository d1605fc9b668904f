//! This way: registered once, launched by handle; nothing allocated, nothing waited for but results.

use hiplaunch::{
    Arg, Block, Device, DeviceBuffer, Error, KernelHandle, Launch, LaunchDims, Launcher, Patch, PatchTarget,
    Staging, Stream, Ticket, args,
};

use super::cases::{
    ARRAY_ELEMENTS, Arrays, Case, Host, JIT_ELEMENTS, Jit, REDUCE_GROUPS, Reduce, Results, SAXPY_ELEMENTS,
    Saxpy, image, same,
};
use super::{DEPTH, Launches, Stop};

/// A registered kernel and its stream.
struct Registered {
    launcher: Launcher,
    stream: Stream,
    handle: KernelHandle,
    dims: LaunchDims,
}

impl Registered {
    fn new(case: Case, launcher: &Launcher, device: &Device) -> Result<Registered, Error> {
        let (source, kernel) = case.kernel();
        // SAFETY: the demo's own kernels.
        let handle = unsafe { launcher.register(device, image(device, source)?, kernel) }?;
        Ok(Registered {
            launcher: launcher.clone(),
            stream: launcher.stream(device)?,
            handle,
            dims: case.dims(),
        })
    }

    fn launch(&self, staging: Staging, args: &[Arg<'_>]) -> Result<Ticket, Error> {
        // SAFETY: the device addresses among the arguments are of buffers that outlive the launches, as large as the
        // kernel's contract (hip/README.md) asks for.
        unsafe {
            self.launcher.submit(
                self.handle,
                &self.stream,
                Launch::new(self.dims).args(args).staging(staging),
            )
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        if let Err(e) = self.launcher.unregister(self.handle) {
            log::warn!("unregistering a kernel of the demo: {e}");
        }
    }
}

pub(super) fn prepare(case: Case, launcher: &Launcher, device: &Device) -> Result<Box<dyn Launches>, Error> {
    let kernel = Registered::new(case, launcher, device)?;
    Ok(match case {
        Case::Saxpy => {
            let host = Saxpy::new();
            let x = DeviceBuffer::from_slice(&kernel.stream, &host.x)?;
            let y = DeviceBuffer::from_slice(&kernel.stream, &host.y)?;
            Box::new(NewSaxpy { launched: 0, checked: 0, host, x, y, kernel })
        }
        Case::Reduce => {
            let host = Reduce::new();
            let x = DeviceBuffer::from_slice(&kernel.stream, &host.x)?;
            Box::new(NewReduce { reading: Reading::new(host.len()), host, x, kernel })
        }
        Case::JitBlock | Case::JitUnchanged | Case::JitMapped => {
            let host = Jit::new(case != Case::JitUnchanged);
            let staging = if case == Case::JitMapped { Staging::Mapped } else { Staging::Copy };
            Box::new(NewJit { reading: Reading::new(host.len()), host, staging, kernel })
        }
        Case::Arrays => {
            let host = Arrays::new();
            Box::new(NewArrays { reading: Reading::new(host.len()), host, kernel })
        }
    })
}

/// Tickets of the launches in flight, and the results that were read from them.
struct Reading {
    tickets: Vec<Ticket>,
    results: Results,
}

impl Reading {
    fn new(len: usize) -> Reading {
        Reading { tickets: Vec::with_capacity(DEPTH as usize), results: Results::new(len) }
    }

    fn collect(&mut self) -> Result<(), Error> {
        for ticket in self.tickets.drain(..) {
            self.results.next().copy_from_slice(ticket.read()?.slice(0)?);
        }
        Ok(())
    }
}

struct NewSaxpy {
    launched: u64,
    checked: u64,
    host: Saxpy,
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
    kernel: Registered,
}

impl Launches for NewSaxpy {
    fn launch(&mut self, number: u64) -> Result<(), Error> {
        let args = args![Saxpy::factor(number), &self.x, &self.y, SAXPY_ELEMENTS as i32];
        self.kernel.launch(Staging::Copy, &args)?;
        self.launched = number + 1;
        Ok(())
    }

    fn collect(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.kernel.stream.synchronize()
    }

    fn check(&mut self, last: bool) -> Result<(), Stop> {
        (self.checked..self.launched).for_each(|number| self.host.step(number));
        self.checked = self.launched;
        if last {
            same(self.launched.saturating_sub(1), &self.y.to_vec(&self.kernel.stream)?, &self.host.y)?;
        }
        Ok(())
    }
}

/// What all cases with results do besides the launch.
macro_rules! reads_by_ticket {
    () => {
        fn collect(&mut self) -> Result<(), Error> {
            self.reading.collect()
        }

        fn finish(&mut self) -> Result<(), Error> {
            Ok(())
        }

        fn check(&mut self, _last: bool) -> Result<(), Stop> {
            self.reading.results.check(&mut self.host)
        }
    };
}

struct NewReduce {
    reading: Reading,
    host: Reduce,
    x: DeviceBuffer<f32>,
    kernel: Registered,
}

impl Launches for NewReduce {
    fn launch(&mut self, number: u64) -> Result<(), Error> {
        let args =
            [Arg::from(&self.x), Arg::output::<f32>(REDUCE_GROUPS), Arg::from(Reduce::elements(number))];
        self.reading.tickets.push(self.kernel.launch(Staging::Copy, &args)?);
        Ok(())
    }

    reads_by_ticket!();
}

struct NewJit {
    reading: Reading,
    host: Jit,
    staging: Staging,
    kernel: Registered,
}

impl Launches for NewJit {
    fn launch(&mut self, number: u64) -> Result<(), Error> {
        let block = Block {
            bytes: self.host.block(number),
            patches: &[Patch { offset: 0, target: PatchTarget::Result }],
            segments: &[],
            result_bytes: 4 * JIT_ELEMENTS,
        };
        self.reading.tickets.push(self.kernel.launch(self.staging, &[Arg::Block(&block)])?);
        Ok(())
    }

    reads_by_ticket!();
}

struct NewArrays {
    reading: Reading,
    host: Arrays,
    kernel: Registered,
}

impl Launches for NewArrays {
    fn launch(&mut self, number: u64) -> Result<(), Error> {
        self.host.set(number);
        let args = [
            Arg::input(&self.host.x),
            Arg::input(&self.host.y),
            Arg::output::<f32>(ARRAY_ELEMENTS),
            Arg::from(ARRAY_ELEMENTS as i32),
        ];
        self.reading.tickets.push(self.kernel.launch(Staging::Copy, &args)?);
        Ok(())
    }

    reads_by_ticket!();
}
