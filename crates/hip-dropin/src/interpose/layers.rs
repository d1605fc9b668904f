//! The layers over AMD's library, and how a call passes them.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use hip_driver::{
    Call, DeviceId, Driver, DriverError, DriverResult, ErrorCode, Note, Output, RawFunction, RawStream,
};
use hip_driver_amd::HipDriver;
use hip_driver_layers::Layer;
use hip_driver_layers::counts::CallCounter;
use hip_driver_layers::timeline::{Timeline, TimelineDriver, TimelineLayer, TimelineSnapshot};
use hip_driver_layers::validation::{Validation, ValidationDriver};

use super::{Forward, Interposed, errors, opened};
use crate::abi::c_caller::Address;
use crate::abi::status::Status;
use crate::process::real::RealLibrary;
use crate::settings::LayerSettings;

/// `hipGetDevice` and `hipSetDevice`.
type GetDevice = unsafe extern "C" fn(*mut i32) -> Status;
type SetDevice = unsafe extern "C" fn(i32) -> Status;
/// `hipHostGetDevicePointer`.
type DevicePointer = unsafe extern "C" fn(*mut Address, Address, u32) -> Status;
/// `hipStreamIsCapturing`, which HIP 5.2 has too.
type IsCapturing = unsafe extern "C" fn(RawStream, *mut i32) -> Status;

/// `hipGetSymbolAddress` and `hipGetSymbolSize`.
type SymbolAddress = unsafe extern "C" fn(*mut Address, Address) -> Status;
type SymbolBytes = unsafe extern "C" fn(*mut usize, Address) -> Status;

/// The layers. The calls that they make themselves go to the same library through a driver, beside the program's.
pub(super) struct Layers {
    pub(super) hip: Arc<HipDriver>,
    pub(super) validation: Option<Arc<ValidationDriver>>,
    timeline: Option<(Timeline, Arc<TimelineDriver>)>,
    get_device: GetDevice,
    set_device: SetDevice,
    device_pointer: DevicePointer,
    is_capturing: IsCapturing,
    symbol_address: SymbolAddress,
    symbol_bytes: SymbolBytes,
}

/// What the layers keep from before a call until after it.
struct Tokens {
    validation: Option<<(CallCounter, Validation) as Layer>::Token>,
    timeline: Option<<TimelineLayer as Layer>::Token>,
}

static FORKED: AtomicBool = AtomicBool::new(false);
/// Whether the process ends, and AMD's library may not be called by a layer any more.
static ENDING: AtomicBool = AtomicBool::new(false);
/// The timeline at the end of the process.
static RECORDED: OnceLock<TimelineSnapshot> = OnceLock::new();

extern "C" fn in_child() {
    FORKED.store(true, Ordering::Relaxed);
}

/// Runs before AMD's library ends: it was loaded earlier.
extern "C" fn at_exit() {
    ENDING.store(true, Ordering::Relaxed);
    let Some(layers) = opened().and_then(|over| over.layers.get()?.as_ref()) else { return };
    if let Some((timeline, _)) = &layers.timeline {
        RECORDED.get_or_init(|| timeline.snapshot());
    }
}

/// Whether this is a child of a process that had made its layers.
pub(super) fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

impl Layers {
    pub(super) fn open(library: &RealLibrary, settings: &LayerSettings) -> Result<Layers, String> {
        let function = |name: &CStr| {
            library.address(name).ok_or_else(|| format!("{} has no {name:?}", library.path.display()))
        };
        let (get_device, set_device) = (function(c"hipGetDevice")?, function(c"hipSetDevice")?);
        let device_pointer = function(c"hipHostGetDevicePointer")?;
        let is_capturing = function(c"hipStreamIsCapturing")?;
        let symbol_address = function(c"hipGetSymbolAddress")?;
        let symbol_bytes = function(c"hipGetSymbolSize")?;
        let hip = HipDriver::load_from(&library.path).map_err(|error| error.to_string())?;
        let driver: Arc<dyn Driver> = hip.clone();
        let timeline = settings.trace.is_some().then(|| {
            let timeline = Timeline::default();
            let layer = timeline.layer(Arc::clone(&driver));
            (timeline, layer)
        });
        // SAFETY: both functions only store to memory of this library; without memory they are not registered.
        unsafe {
            libc::pthread_atfork(None, None, Some(in_child));
            libc::atexit(at_exit);
        }
        Ok(Layers {
            hip,
            validation: settings.validate.then(|| ValidationDriver::new(driver)),
            timeline,
            // SAFETY: the six addresses are of HIP's functions, whose declarations have these types.
            get_device: unsafe { std::mem::transmute::<*const (), GetDevice>(get_device) },
            // SAFETY: HIP's declaration of the function.
            set_device: unsafe { std::mem::transmute::<*const (), SetDevice>(set_device) },
            // SAFETY: HIP's declaration of the function.
            device_pointer: unsafe { std::mem::transmute::<*const (), DevicePointer>(device_pointer) },
            // SAFETY: HIP's declaration of the function.
            is_capturing: unsafe { std::mem::transmute::<*const (), IsCapturing>(is_capturing) },
            // SAFETY: HIP's declaration of the function.
            symbol_address: unsafe { std::mem::transmute::<*const (), SymbolAddress>(symbol_address) },
            // SAFETY: HIP's declaration of the function.
            symbol_bytes: unsafe { std::mem::transmute::<*const (), SymbolBytes>(symbol_bytes) },
        })
    }

    pub(super) fn recorded(&self) -> Option<&TimelineSnapshot> {
        RECORDED.get()
    }

    /// The thread's current device.
    fn current(&self) -> DeviceId {
        let mut ordinal = 0;
        // SAFETY: the pointer is to a live integer.
        let _ = unsafe { (self.get_device)(&mut ordinal) };
        DeviceId(u32::try_from(ordinal).unwrap_or(0))
    }

    /// Where devices see pinned memory of the host.
    pub(super) fn device_pointer(&self, host: Address) -> Option<Address> {
        let mut device = Address::NULL;
        // SAFETY: the pointer is to a live address; any host address may be asked for.
        let status = unsafe { (self.device_pointer)(&mut device, host, 0) };
        (status == Status::SUCCESS && !device.is_null()).then_some(device)
    }

    /// Whether a live stream is captured.
    pub(super) fn is_capturing(&self, stream: RawStream) -> bool {
        let mut captured = 0;
        // SAFETY: the pointer is to a live integer, and the program is about to use the stream.
        let status = unsafe { (self.is_capturing)(stream, &mut captured) };
        status == Status::SUCCESS && captured != 0
    }

    /// The address of a variable on the current device.
    pub(super) fn symbol_address(&self, symbol: Address) -> Option<Address> {
        let mut address = Address::NULL;
        // SAFETY: the pointer is to a live address; a symbol that is none gives an error.
        let status = unsafe { (self.symbol_address)(&mut address, symbol) };
        (status == Status::SUCCESS && !address.is_null()).then_some(address)
    }

    /// The size of a variable in bytes.
    pub(super) fn symbol_bytes(&self, symbol: Address) -> Option<usize> {
        let mut bytes = 0;
        // SAFETY: as in `symbol_address`, with a live integer.
        let status = unsafe { (self.symbol_bytes)(&mut bytes, symbol) };
        (status == Status::SUCCESS).then_some(bytes)
    }

    /// Lets the timeline observe, which makes calls of its own on devices that it chooses.
    fn recording<R>(&self, observe: impl FnOnce(&TimelineLayer) -> R) -> Option<R> {
        let (_, timeline) = self.timeline.as_ref().filter(|_| !ENDING.load(Ordering::Relaxed))?;
        let device = self.current();
        self.hip.forget_current_device();
        let observed = observe(timeline.layer());
        if self.current() != device {
            // SAFETY: the device was current before.
            let _ = unsafe { (self.set_device)(device.0 as i32) };
        }
        Some(observed)
    }

    fn before(&self, call: &Call<'_>) -> DriverResult<Tokens> {
        let validation = self.validation.as_ref().map(|layer| layer.layer().before(call)).transpose()?;
        let timeline = self.recording(|layer| layer.before(call)).transpose()?;
        Ok(Tokens { validation, timeline })
    }

    fn after(&self, call: &Call<'_>, tokens: Tokens, result: Result<Output, &DriverError>) {
        if let Some(token) = tokens.timeline {
            self.recording(|layer| layer.after(call, token, result));
        }
        if let (Some(layer), Some(token)) = (&self.validation, tokens.validation) {
            layer.layer().after(call, token, result);
        }
    }
}

impl Interposed {
    /// The layers, in the body of a wrapper, which runs only if there are some.
    pub(super) fn over(&self) -> Option<&Layers> {
        self.layers.get()?.as_ref()
    }

    /// The thread's current device. It is asked for before the program's call, as it may set the last error.
    pub(super) fn device(&self) -> DeviceId {
        self.over().map_or(DeviceId(0), Layers::current)
    }

    /// The driver through which layers ask.
    pub(super) fn hip(&self) -> Option<&HipDriver> {
        self.over().map(|layers| &*layers.hip)
    }

    /// Shows a call to the layers, and forwards it unless they refuse it. `output` is what it returned.
    pub(super) fn observe(
        &self,
        call: &Call<'_>,
        forward: Forward<'_>,
        output: impl FnOnce() -> Output,
    ) -> Status {
        self.observe_as(call, forward, |_| (*call, output()))
    }

    /// As [`observe`](Self::observe), where only the result says all of the call: `result` gets the status, which says that
    /// the call succeeded.
    pub(super) fn observe_as<'c>(
        &self,
        call: &Call<'c>,
        forward: Forward<'_>,
        result: impl FnOnce(Status) -> (Call<'c>, Output),
    ) -> Status {
        let Some(layers) = self.over() else { return forward() };
        let tokens = match layers.before(call) {
            Ok(tokens) => tokens,
            Err(error) => return errors::keep(error.code.into()),
        };
        let status = forward();
        let is_answer =
            status == Status::NOT_READY && matches!(call, Call::StreamQuery { .. } | Call::EventQuery { .. });
        if status == Status::SUCCESS || is_answer {
            let (call, output) = result(status);
            layers.after(&call, tokens, Ok(output));
        } else {
            let error = DriverError::new(call.kind().name(), ErrorCode(status.0));
            layers.after(call, tokens, Err(&error));
            // Before HIP 7, a call of a layer clears the last error.
            errors::keep(status);
        }
        status
    }

    /// Tells the validation layer of a call that the program did not make but that has happened.
    pub(super) fn tell(&self, call: &Call<'_>, output: Output) {
        let Some(layer) = self.over().and_then(|layers| layers.validation.as_ref()) else { return };
        // A refusal has been reported.
        if let Ok(token) = layer.layer().before(call) {
            layer.layer().after(call, token, Ok(output));
        }
    }

    /// Gives a kernel of a registered fat binary its name in the timeline.
    pub(super) fn name_kernel(&self, function: RawFunction, name: &CStr) {
        if let Some((_, timeline)) = self.over().and_then(|layers| layers.timeline.as_ref()) {
            timeline.layer().name_kernel(function, name);
        }
    }

    /// Tells the layers what is no call.
    pub(super) fn note(&self, note: &Note) {
        let Some(layers) = self.over() else { return };
        if let Some(layer) = &layers.validation {
            layer.layer().note(note);
        }
        layers.recording(|layer| layer.note(note));
    }

    /// Target comes from something that no call says: everything that was enqueued counts as finished for what follows.
    pub(super) fn forget_order(&self) {
        let count = self.over().and_then(|layers| layers.hip.device_count().ok()).unwrap_or(0);
        for device in (0..count).map(DeviceId) {
            self.tell(&Call::DeviceSynchronize { device }, Output::None);
        }
    }
}
