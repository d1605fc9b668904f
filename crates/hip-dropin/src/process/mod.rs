//! The state of the process: the driver with its layers, and the devices.

pub(crate) mod about;
pub(crate) mod call;
pub(crate) mod captures;
pub(crate) mod entry_points;
pub(crate) mod objects;
pub(crate) mod printer;
pub(crate) mod real;
pub(crate) mod thread;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use code_object::{FeatureSetting, TargetId};
use hip_driver::{DeviceId, DeviceProperties, DevicePtr, Driver, RawEvent, RawStream, StreamOptions};
use hip_driver_emulated::{EmulatedDriver, Listener, Target, device_target, hsa_xnack, visible};
use hip_driver_layers::counts::CountingDriver;
use hip_driver_layers::timeline::{Timeline, TimelineSnapshot};
use hip_driver_layers::validation::ValidationDriver;

use crate::abi::{Handle, HipResult, Status};
use crate::report::record::Recorder;
use crate::report::say;
use crate::settings::{LayerSettings, Settings};
use captures::Captures;

/// The state of the process. It is made by the first call and lives to the end.
pub(crate) struct Process {
    pub(crate) driver: Arc<dyn Driver>,
    /// The driver without its layers: for what is not the program's work.
    pub(crate) unlayered: Arc<dyn Driver>,
    /// The emulator, if that is the driver: virtual memory is no part of the trait.
    pub(crate) emulated: Option<Arc<EmulatedDriver>>,
    pub(crate) validation: Option<Arc<ValidationDriver>>,
    counting: Option<Arc<CountingDriver>>,
    trace: Option<(Timeline, PathBuf)>,
    /// Where the summary is written as JSON.
    pub(crate) json: Option<PathBuf>,
    pub(crate) devices: Box<[Device]>,
    /// Whether launches wait for their kernels (`HIP_LAUNCH_BLOCKING=1`).
    pub(crate) blocks_launches: bool,
    pub(crate) captures: Captures,
}

/// A device and what the program has set for it.
pub(crate) struct Device {
    /// The number among all devices, of which the program may see only some.
    pub(crate) ordinal: u32,
    pub(crate) properties: DeviceProperties,
    /// Whether memory can be mapped to addresses (`hipMemMap`).
    pub(crate) has_virtual_memory: bool,
    /// The flags of `hipSetDeviceFlags`.
    pub(crate) flags: AtomicU32,
    /// How often the primary context is retained.
    pub(crate) retained: AtomicU32,
    pub(crate) stack_limit: AtomicU64,
    pub(crate) heap_limit: AtomicU64,
    /// A stream of the library's own and an event for it, with which copies between devices are ordered.
    helper: OnceLock<HipResult<(RawStream, RawEvent)>>,
    /// A stream on which pools return memory that nothing uses any more, in the order of no other stream.
    returns: OnceLock<HipResult<RawStream>>,
}

/// What is asked and told of the code that the program registered before its first call.
pub(crate) struct Registered {
    /// The targets for which it has code.
    pub(crate) targets: fn() -> Vec<TargetId>,
    /// The state was opened.
    pub(crate) opened: fn(&Process),
}

/// Set by the first code that is registered.
pub(crate) static REGISTERED: OnceLock<Registered> = OnceLock::new();

static PROCESS: OnceLock<HipResult<Process>> = OnceLock::new();
/// Whether this is a child of a process that had opened its driver: the driver's threads are not in the child.
static FORKED: AtomicBool = AtomicBool::new(false);

extern "C" fn in_child() {
    FORKED.store(true, Ordering::Relaxed);
}

/// Locks the helpers of all devices.
pub(crate) fn lock_helpers() -> MutexGuard<'static, ()> {
    static HELPERS: Mutex<()> = Mutex::new(());
    HELPERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A `hipCtx_t`: the address of the device's state.
pub(crate) type ContextHandle = Handle<Device>;

impl Process {
    /// Returns the process's state, which the first call opens. Fails with `NOT_INITIALIZED` if the environment asks for
    /// what can't be done, and in a child after a fork.
    #[inline]
    pub(crate) fn get() -> HipResult<&'static Process> {
        if FORKED.load(Ordering::Relaxed) {
            return Err(after_fork());
        }
        match PROCESS.get() {
            Some(Ok(process)) => Ok(process),
            _ => open(),
        }
    }

    /// Returns the state if a call has opened it in this process.
    pub(crate) fn opened() -> Option<&'static Process> {
        PROCESS.get()?.as_ref().ok().filter(|_| !FORKED.load(Ordering::Relaxed))
    }

    /// The thread's current device.
    pub(crate) fn current(&self) -> &Device {
        let index = thread::device().0 as usize;
        // `hipSetDevice` refuses other devices.
        self.devices.get(index).unwrap_or(&self.devices[0])
    }

    /// Returns a device by the number that a program passes.
    pub(crate) fn device(&self, ordinal: i32) -> HipResult<(DeviceId, &Device)> {
        let index = usize::try_from(ordinal).map_err(|_| Status::INVALID_DEVICE)?;
        let device = self.devices.get(index).ok_or(Status::INVALID_DEVICE)?;
        Ok((DeviceId(index as u32), device))
    }

    pub(crate) fn context_handle(&self, device: DeviceId) -> ContextHandle {
        Handle::new(std::ptr::from_ref(&self.devices[device.0 as usize]).addr() as u64)
    }

    pub(crate) fn device_of_context(&self, context: ContextHandle) -> HipResult<DeviceId> {
        let is = |device: &DeviceId| self.context_handle(*device).0 == context.0;
        self.device_ids().find(is).ok_or(Status::INVALID_CONTEXT)
    }

    /// Fails if a device is lost: for calls that have waited for it, and that a lost device does not refuse, such as those
    /// that free.
    pub(crate) fn report_fault(&self, device: DeviceId) -> HipResult {
        match self.unlayered.mem_info(device) {
            Err(error) if error.code.is_sticky() => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Fails if any device is lost: for calls that have waited for all.
    pub(crate) fn report_faults(&self) -> HipResult {
        self.device_ids().try_for_each(|device| self.report_fault(device))
    }

    pub(crate) fn device_ids(&self) -> impl Iterator<Item = DeviceId> + use<> {
        (0..self.devices.len() as u32).map(DeviceId)
    }

    /// A stream of the library's own on a device, and an event of the device. Who uses them holds [`lock_helpers`].
    pub(crate) fn helper(&self, device: DeviceId) -> HipResult<(RawStream, RawEvent)> {
        *self.devices[device.0 as usize].helper.get_or_init(|| {
            // Ordered with the device's null stream, on which clr does such work.
            let stream =
                self.driver.stream_create(device, StreamOptions { blocking: true, ..Default::default() })?;
            Ok((stream, self.driver.event_create(device, Default::default())?))
        })
    }

    /// Returns memory of a pool to the device. Nothing uses it any more.
    pub(crate) fn return_memory(&self, device: DeviceId, memory: &[DevicePtr]) -> HipResult {
        let driver = &self.unlayered;
        let stream = *self.devices[device.0 as usize]
            .returns
            .get_or_init(|| Ok(driver.stream_create(device, StreamOptions::default())?));
        let stream = stream?;
        let mut result = Ok(());
        for ptr in memory {
            // SAFETY: the memory was allocated in stream order, nothing uses it any more, and the stream is live to the end.
            result = result.and(unsafe { driver.free_async(device, *ptr, stream) });
        }
        // A host function can't wait; then the memory is there a little later.
        // SAFETY: the stream is live to the end.
        if let Err(error) = unsafe { driver.stream_synchronize(device, stream) } {
            log::debug!("{error}");
        }
        Ok(result?)
    }

    /// Destroys the helpers, so that they are no leaks. Nothing uses them any more.
    pub(crate) fn destroy_helpers(&self) {
        for (id, device) in self.device_ids().zip(&self.devices) {
            let Some(Ok((stream, event))) = device.helper.get() else { continue };
            // SAFETY: they are live, and the process ends.
            let destroyed =
                unsafe { self.driver.stream_destroy(id, *stream).and(self.driver.event_destroy(id, *event)) };
            if let Err(error) = destroyed {
                log::debug!("{error}");
            }
        }
    }

    /// How often each kind of driver call was made, if the environment asks for it.
    pub(crate) fn counts(&self) -> Option<Vec<(&'static str, u64)>> {
        let counts = self.counting.as_ref()?.layer().counts();
        let made = counts.calls().filter(|(kind, _)| kind.is_device_call());
        Some(made.map(|(kind, count)| (kind.name(), count)).collect())
    }

    /// Writes the timeline, if the environment asks for one.
    pub(crate) fn write_trace(&self) {
        if let Some((timeline, path)) = &self.trace {
            write_trace(&timeline.snapshot(), path);
        }
    }
}

/// Writes a timeline to a file, or says why it can't.
pub(crate) fn write_trace(snapshot: &TimelineSnapshot, path: &Path) {
    let write = |path: &Path| {
        let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
        hiplaunch_reports::write_chrome_trace(snapshot, &mut file)?;
        std::io::Write::flush(&mut file)
    };
    if let Err(error) = write(path) {
        say(&format!("the timeline can't be written to {}: {error}", path.display()));
    }
}

#[cold]
fn after_fork() -> Status {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        say("a process that was forked after its first HIP call can't use HIP");
    }
    Status::NOT_INITIALIZED
}

/// Opens the process's state over another driver than the emulator, without what the environment asks for: for
/// measurements of this library alone.
///
/// # Errors
/// Says why, if the state is open already, or if the driver can't be used.
pub fn open_over(driver: Arc<dyn Driver>) -> Result<(), String> {
    let count = driver.device_count().map_err(|error| error.to_string())?;
    let process = Process::over(driver, None, LayerSettings::default(), &Vec::from_iter(0..count))?;
    PROCESS.set(Ok(process)).map_err(|_| "the library is open already".to_owned())
}

#[cold]
fn open() -> HipResult<&'static Process> {
    let opened = PROCESS.get_or_init(|| {
        Process::open().map_err(|refusal| match refusal {
            Refusal::NoDevice => Status::NO_DEVICE,
            Refusal::Because(reason) => {
                say(&reason);
                Status::NOT_INITIALIZED
            }
        })
    });
    opened.as_ref().map_err(|status| *status)
}

/// Why there is no driver.
enum Refusal {
    /// The environment hides all devices.
    NoDevice,
    Because(String),
}

impl From<String> for Refusal {
    fn from(reason: String) -> Refusal {
        Refusal::Because(reason)
    }
}

impl Process {
    fn open() -> Result<Process, Refusal> {
        // With AMD's library, this code runs only because that can't be used.
        real::failure().map_or(Ok(()), |reason| Err(reason.to_owned()))?;
        let mut settings = Settings::from_env()?;
        settings.emulator.check().map_err(|error| error.to_string())?;
        let ordinals = visible::devices(settings.emulator.devices, |name| std::env::var_os(name));
        if ordinals.is_empty() {
            return Err(Refusal::NoDevice);
        }
        if !settings.target_is_given
            && let Some(target) = target_of_program(&settings.emulator.target)
        {
            settings.emulator.target = target;
        }
        let count = ordinals.len() as u32;
        settings.emulator.devices = count;
        settings.emulator.machine.printer = printer::c_streams();
        settings.emulator.listener = Some(Listener::new(Recorder { kernels: settings.layers.count }));
        let emulated = EmulatedDriver::new(settings.emulator).map_err(|error| error.to_string())?;
        Ok(Process::over(emulated.clone(), Some(emulated), settings.layers, &ordinals)?)
    }

    /// The state over a driver, with the layers that are asked for. The driver's devices have the given numbers among all devices.
    fn over(
        unlayered: Arc<dyn Driver>,
        emulated: Option<Arc<EmulatedDriver>>,
        layers: LayerSettings,
        ordinals: &[u32],
    ) -> Result<Process, String> {
        let mut driver = Arc::clone(&unlayered);
        let trace = layers.trace.map(|path| (Timeline::default(), path));
        if let Some((timeline, _)) = &trace {
            driver = timeline.layer(driver);
        }
        let counting = layers.count.then(|| CountingDriver::new(Arc::clone(&driver)));
        if let Some(layer) = &counting {
            driver = layer.clone();
        }
        let validation = layers.validate.then(|| ValidationDriver::new(Arc::clone(&driver)));
        if let Some(layer) = &validation {
            driver = layer.clone();
        }
        let devices = (0..).zip(ordinals).map(|(index, &ordinal)| {
            let properties = driver.device_properties(DeviceId(index)).map_err(|error| error.to_string())?;
            Ok(Device { has_virtual_memory: emulated.is_some(), ..Device::new(ordinal, properties) })
        });
        let devices = devices.collect::<Result<Box<[Device]>, String>>()?;
        // SAFETY: the function only stores a flag.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        let process = Process {
            validation,
            counting,
            trace,
            json: layers.json,
            blocks_launches: std::env::var_os("HIP_LAUNCH_BLOCKING").is_some_and(|value| value == "1"),
            devices,
            captures: Captures::default(),
            driver,
            unlayered,
            emulated,
        };
        if let Some(registered) = REGISTERED.get() {
            (registered.opened)(&process);
        }
        Ok(process)
    }
}

impl Device {
    pub(crate) fn new(ordinal: u32, properties: DeviceProperties) -> Device {
        Device {
            ordinal,
            properties,
            has_virtual_memory: false,
            flags: AtomicU32::new(0),
            retained: AtomicU32::new(0),
            stack_limit: AtomicU64::new(1024),
            heap_limit: AtomicU64::new(8 << 20),
            helper: OnceLock::new(),
            returns: OnceLock::new(),
        }
    }
}

/// The first target of the program's fat binaries that can be emulated, if the default one runs none of them. Code that
/// is compiled for one setting of XNACK or SRAM-ECC alone gets a device with that setting, unless `HSA_XNACK` asks for the
/// other.
fn target_of_program(default: &TargetId) -> Option<TargetId> {
    best_target(&(REGISTERED.get()?.targets)(), default, hsa_xnack())
}

fn best_target(targets: &[TargetId], default: &TargetId, xnack: Option<FeatureSetting>) -> Option<TargetId> {
    let device = |target: &TargetId| {
        let xnack = target.xnack.or(xnack.unwrap_or(target.xnack));
        device_target(TargetId { xnack, ..target.clone() })
    };
    let default = device(default);
    if targets.iter().any(|target| target.is_compatible_with(&default)) {
        return None;
    }
    let asked_for = |target: &&TargetId| {
        Target::processors().any(|name| name == target.processor.name())
            && xnack.is_none_or(|asked| !target.xnack.is_specified() || target.xnack == asked)
    };
    targets.iter().find(asked_for).map(device)
}

#[cfg(test)]
mod tests {
    use code_object::Processor;

    use super::*;

    /// Without `--target`, the device is one that runs the program's code: code for one setting alone gets that setting,
    /// and `HSA_XNACK` decides where the code leaves it open, as AMD's documents of XNACK have it.
    #[test]
    fn the_device_is_one_that_the_program_has_code_for() {
        let on = Some(FeatureSetting::On);
        for (code, xnack, expected) in [
            (&["gfx90a"][..], None, None),
            (&["gfx90a:xnack+"], None, Some("gfx90a:sramecc+:xnack+")),
            (&["gfx90a:xnack-", "gfx90a:xnack+"], None, None),
            (&["gfx90a:xnack-", "gfx90a:xnack+"], on, None),
            (&["gfx90a:sramecc-"], None, Some("gfx90a:sramecc-:xnack-")),
            (&["gfx90a:sramecc-:xnack+"], None, Some("gfx90a:sramecc-:xnack+")),
            (&["gfx942:xnack+"], None, Some("gfx942:sramecc+:xnack+")),
            (&["gfx942"], on, Some("gfx942:sramecc+:xnack+")),
            (&["gfx1010", "gfx950"], None, Some("gfx950:sramecc+:xnack-")),
            (&["gfx1102", "gfx950"], None, Some("gfx1102")),
            (&["gfx1151"], on, Some("gfx1151")),
            (&["gfx90a:xnack+"], Some(FeatureSetting::Off), None),
            (&["gfx1010"], None, None),
        ] {
            let targets: Vec<TargetId> = code.iter().map(|text| text.parse().unwrap()).collect();
            let found = best_target(&targets, &TargetId::new(Processor::Gfx90a), xnack);
            assert_eq!(found.map(|target| target.short()).as_deref(), expected, "{code:?} {xnack:?}");
        }
    }
}
