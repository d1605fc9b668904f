//! One rank of a case.

use std::process::ExitCode;

use hiplaunch::{Device, DeviceBuffer, FatBinary, KernelHandle, Launcher, Stream};
use hiplaunch_mpi::{Communicator, Mpi, Options, Staging, mpi_takes_device_memory};

pub(crate) type Outcome = Result<(), Box<dyn std::error::Error>>;

/// MPI, a launcher and the device of this rank. Dropped in this order.
pub(crate) struct Rank {
    pub(crate) stream: Stream,
    pub(crate) device: Device,
    pub(crate) launcher: Launcher,
    pub(crate) mpi: Mpi,
}

/// Prints log records, as far as a case looks for them.
struct Print;

impl log::Log for Print {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &log::Record<'_>) {
        eprintln!("{}: {}", record.level(), record.args());
    }
    fn flush(&self) {}
}

pub(crate) fn main(run: fn(Rank) -> Outcome) -> ExitCode {
    let _ = log::set_logger(&Print);
    log::set_max_level(log::LevelFilter::Info);
    let start = || -> Result<Rank, Box<dyn std::error::Error>> {
        let mpi = Mpi::initialize()?;
        let launcher = Launcher::new()?;
        let device = mpi.device(&launcher, false)?.device;
        Ok(Rank { stream: launcher.stream(&device)?, device, launcher, mpi })
    };
    match start().and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

impl Rank {
    pub(crate) fn communicator(&self, options: Options) -> hiplaunch_mpi::Result<Communicator> {
        Communicator::new(&self.mpi, &self.launcher, &self.device, options)
    }

    /// Runs with staging in pinned memory, and in device memory where MPI takes it, as on the emulator.
    pub(crate) fn with_both_stagings(&self, run: impl Fn(&Communicator) -> Outcome) -> Outcome {
        let probe = DeviceBuffer::<u8>::new(&self.device, 1)?;
        let by_device = mpi_takes_device_memory() || self.device.host_address(probe.ptr(), 1)?.is_some();
        for staging in [Staging::Host, Staging::Device].into_iter().take(1 + usize::from(by_device)) {
            let communicator = self.communicator(Options {
                staging,
                check_collectives: staging == Staging::Device,
                ..Options::default()
            })?;
            run(&communicator).map_err(|error| format!("with {staging:?}: {error}"))?;
            communicator.check()?;
        }
        Ok(())
    }

    pub(crate) fn kernel(&self, bundle: &'static [u8], name: &str) -> hiplaunch::Result<KernelHandle> {
        let code = FatBinary::new("test", bundle).for_device(&self.device)?;
        // SAFETY: the project's own kernels; each launch passes what their source asks for.
        unsafe { self.launcher.register(&self.device, code.elf(), name) }
    }
}
