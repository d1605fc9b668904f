//! Loaded code objects and their kernels.

use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::{Arc, OnceLock};

use code_object::{CodeObject, HiddenArg, KernelKind, KernelSignature, ValueKind};
use kernel_services::PrintfFormats;

use crate::abi::{BASE_PROFILE, DEFAULT_ROUNDING, Executable, Loaded, Reader, Symbol, symbol_info};
use crate::device::Device;
use crate::packet::Dispatch;
use crate::services::Asked;
use hip_driver::limits::{LaunchLimits, configuration_fault};
use hip_driver::{DevicePtr, DriverError, DriverResult, ErrorCode, KernelLaunch, RawFunction};

/// The bytes of stack of a work-item of a kernel whose need the compiler does not know: as much as HIP gives by default.
const DYNAMIC_STACK: u32 = 16 << 10;

/// A code object that is loaded on a device.
#[derive(Debug)]
pub(crate) struct Module {
    device: &'static Device,
    object: CodeObject,
    executable: Executable,
    reader: Reader,
    /// By the index of the kernel in the code object.
    functions: Box<[OnceLock<Function>]>,
    formats: OnceLock<Arc<PrintfFormats>>,
}

/// A hidden argument of a kernel.
#[derive(Clone, Copy, Debug)]
struct Hidden {
    kind: HiddenArg,
    at: u32,
    size: u32,
}

/// A kernel of a module. Its address is its handle.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) device: &'static Device,
    pub(crate) signature: KernelSignature,
    object: u64,
    private: u32,
    explicit_bytes: usize,
    hidden: Box<[Hidden]>,
    limits: LaunchLimits,
    /// What it asks the host for; `None` for nothing.
    pub(crate) asked: Option<Asked>,
}

/// What a launch has beside what a kernel's caller says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extra {
    /// The work-items of the last workgroups; 0 for as many as the others have.
    pub(crate) remainder: [u32; 3],
    pub(crate) cooperative: bool,
}

impl Module {
    pub(crate) fn load(call: &'static str, device: &'static Device, image: &[u8]) -> DriverResult<Module> {
        let target = &device.properties.target;
        let object = CodeObject::from_any(image, target).map_err(|error| {
            let code = match error {
                code_object::Error::NoMatchingTarget { .. } => ErrorCode::NO_BINARY_FOR_GPU,
                _ => ErrorCode::INVALID_IMAGE,
            };
            DriverError::with_detail(call, code, error.to_string())
        })?;
        let (hsa, elf) = (device.hsa, object.elf());
        let mut reader = Reader::default();
        // SAFETY: the module keeps the bytes as long as the reader.
        hsa.check(call, "hsa_code_object_reader_create_from_memory", unsafe {
            (hsa.functions.reader_create)(elf.as_ptr().cast::<c_void>(), elf.len(), &mut reader)
        })?;
        let functions = object.kernels().iter().map(|_| OnceLock::new()).collect();
        // From here on, dropping it frees what there is.
        let formats = OnceLock::new();
        let mut module =
            Module { device, object, executable: Executable::default(), reader, functions, formats };
        module.make_executable().map_err(|(function, status)| {
            let detail = format!("{function}: {}", hsa.describe(status));
            DriverError::with_detail(call, ErrorCode::SHARED_OBJECT_INIT_FAILED, detail)
        })?;
        module.construct(call)?;
        Ok(module)
    }

    fn make_executable(&mut self) -> Result<(), (&'static str, crate::abi::Status)> {
        let (functions, agent) = (&self.device.hsa.functions, self.device.agent);
        let check = |function, status| {
            if status == crate::abi::Status::SUCCESS { Ok(()) } else { Err((function, status)) }
        };
        // SAFETY: a pointer to a live handle.
        check("hsa_executable_create_alt", unsafe {
            (functions.executable_create)(BASE_PROFILE, DEFAULT_ROUNDING, ptr::null(), &mut self.executable)
        })?;
        let mut loaded = Loaded::default();
        // SAFETY: live handles.
        check("hsa_executable_load_agent_code_object", unsafe {
            (functions.executable_load)(self.executable, agent, self.reader, ptr::null(), &mut loaded)
        })?;
        // SAFETY: a live handle.
        check("hsa_executable_freeze", unsafe { (functions.executable_freeze)(self.executable, ptr::null()) })
    }

    /// Runs the constructors of the code object's variables. Compilers call them from kernels of the kind `init`, which HIP's runtime runs with
    /// one work-item when it loads a module (ROCm CLR, devprogram.cpp).
    fn construct(&self, call: &'static str) -> DriverResult<()> {
        let kernels = self.object.kernels().iter().enumerate();
        let constructors: Vec<usize> =
            kernels.filter(|(_, k)| k.kind == KernelKind::Init).map(|(index, _)| index).collect();
        if constructors.is_empty() {
            return Ok(());
        }
        let stream =
            crate::stream::Stream::new(call, self.device, crate::stream::StreamKind::NonBlocking, None)?;
        for index in constructors {
            let function = self.function(call, index)?;
            stream.enqueue(call, |enqueue| {
                let (launch, extra, device) =
                    (function.launch_of(1, 1, &[]), Extra::default(), enqueue.device());
                let dispatch = function.dispatch(&launch, &extra);
                enqueue.serving(function.asked.as_ref(), None, |enqueue, served| {
                    enqueue.launch(&dispatch, function.kernarg_bytes(), |segment| {
                        function.fill(segment, &[], &launch, &extra, device);
                        served.write(segment);
                    })
                })
            })?;
        }
        let ran = stream.synchronize(call);
        self.device.close(&stream);
        ran
    }

    /// The address of what a symbol names.
    fn symbol(&self, call: &'static str, name: &str) -> DriverResult<Symbol> {
        let (hsa, mut symbol) = (self.device.hsa, Symbol::default());
        let missing = || {
            DriverError::with_detail(call, ErrorCode::NOT_FOUND, format!("no symbol `{name}` in the module"))
        };
        let name = CString::new(name).map_err(|_| missing())?;
        // SAFETY: live handles, a C string, a pointer to a live handle.
        let status = unsafe {
            (hsa.functions.executable_symbol)(self.executable, name.as_ptr(), &self.device.agent, &mut symbol)
        };
        hsa.check(call, "hsa_executable_get_symbol_by_name", status)
            .map_err(|error| DriverError { code: ErrorCode::NOT_FOUND, ..error })?;
        Ok(symbol)
    }

    fn symbol_info<T: Default>(&self, call: &'static str, symbol: Symbol, attribute: u32) -> DriverResult<T> {
        let (hsa, mut value) = (self.device.hsa, T::default());
        // SAFETY: a live symbol; the attributes that are asked for below have values of these types.
        hsa.check(call, "hsa_executable_symbol_get_info", unsafe {
            (hsa.functions.symbol_get_info)(symbol, attribute, ptr::from_mut(&mut value).cast())
        })?;
        Ok(value)
    }

    /// Finds a kernel by its name.
    pub(crate) fn find(&self, call: &'static str, name: &str) -> DriverResult<&Function> {
        // The code object's error lists the kernels that exist.
        let kernel = self
            .object
            .kernel(name)
            .map_err(|error| DriverError::with_detail(call, ErrorCode::NOT_FOUND, error.to_string()))?;
        let index = self.object.kernels().iter().position(|other| ptr::eq(other, kernel));
        self.function(call, index.ok_or_else(|| DriverError::new(call, ErrorCode::NOT_FOUND))?)
    }

    fn function(&self, call: &'static str, index: usize) -> DriverResult<&Function> {
        let place = &self.functions[index];
        if let Some(function) = place.get() {
            return Ok(function);
        }
        let signature = self.object.kernels()[index].clone();
        let symbol = self.symbol(call, &signature.symbol)?;
        let object: u64 = self.symbol_info(call, symbol, symbol_info::KERNEL_OBJECT)?;
        let private: u32 = self.symbol_info(call, symbol, symbol_info::PRIVATE_BYTES)?;
        self.device.name_kernel(object, Some(&signature.name));
        let is_dynamic = signature.uses_dynamic_stack || signature.descriptor.uses_dynamic_stack();
        let hidden = signature.hidden_args().iter().filter_map(|argument| match argument.kind {
            ValueKind::Hidden(kind) => Some(Hidden { kind, at: argument.offset, size: argument.size }),
            _ => None,
        });
        let hidden: Box<[Hidden]> = hidden.collect();
        let asked = self.asked(&hidden);
        let hidden = hidden.into_iter().filter(|hidden| is_written(hidden.kind)).collect();
        let function = Function {
            device: self.device,
            object,
            private: if is_dynamic { private.max(DYNAMIC_STACK) } else { private },
            explicit_bytes: signature.explicit_size() as usize,
            hidden,
            limits: LaunchLimits::new(&signature, &self.device.properties),
            asked,
            signature,
        };
        Ok(place.get_or_init(|| function))
    }

    /// What a kernel asks the host for by its hidden arguments.
    fn asked(&self, hidden: &[Hidden]) -> Option<Asked> {
        let find = |kind| hidden.iter().find(|hidden| hidden.kind == kind).map(|hidden| hidden.at as usize);
        let formats = || Arc::new(PrintfFormats::read(self.object.printf_formats()));
        let printf =
            find(HiddenArg::PrintfBuffer).map(|at| (at, Arc::clone(self.formats.get_or_init(formats))));
        let (hostcall, heap) = (find(HiddenArg::HostcallBuffer), find(HiddenArg::HeapV1));
        (hostcall.is_some() || heap.is_some() || printf.is_some()).then_some(Asked { hostcall, heap, printf })
    }

    pub(crate) fn global(&self, call: &'static str, name: &str) -> DriverResult<(DevicePtr, usize)> {
        if self.object.global(name).is_none() {
            let names: Vec<&str> = self.object.globals().iter().map(|global| global.name.as_str()).collect();
            let detail = format!("no global `{name}`; the module has {}", names.join(", "));
            return Err(DriverError::with_detail(call, ErrorCode::NOT_FOUND, detail));
        }
        let symbol = self.symbol(call, name)?;
        let address: u64 = self.symbol_info(call, symbol, symbol_info::VARIABLE_ADDRESS)?;
        let bytes: u32 = self.symbol_info(call, symbol, symbol_info::VARIABLE_SIZE)?;
        Ok((DevicePtr(address), bytes as usize))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let hsa = self.device.hsa;
        for function in self.functions.iter().filter_map(OnceLock::get) {
            self.device.name_kernel(function.object, None);
        }
        if self.executable != Executable::default() {
            // SAFETY: a live handle; no kernel of it is in flight (the promise of who unloads it).
            unsafe { (hsa.functions.executable_destroy)(self.executable) };
        }
        // SAFETY: a live handle, which nothing uses any more.
        unsafe { (hsa.functions.reader_destroy)(self.reader) };
    }
}

impl Function {
    /// The bytes of the kernarg segment.
    #[inline]
    pub(crate) fn kernarg_bytes(&self) -> usize {
        self.signature.kernarg_size as usize
    }

    /// Checks a launch against the device's limits and the kernel's, and returns the part of its kernarg segment that the caller fills.
    #[inline]
    pub(crate) fn check<'a>(&self, call: &'static str, launch: &KernelLaunch<'a>) -> DriverResult<&'a [u8]> {
        let KernelLaunch { grid, block, dynamic_lds, kernarg, .. } = *launch;
        if !self.limits.admit(grid, block, dynamic_lds)
            && let Some(reason) =
                configuration_fault(&self.signature, &self.device.properties, grid, block, dynamic_lds)
        {
            let detail = format!("kernel {}: {reason}", self.signature.name);
            return Err(DriverError::with_detail(call, ErrorCode::INVALID_CONFIGURATION, detail));
        }
        self.explicit(call, kernarg)
    }

    /// Returns the part of a launch's kernarg segment that the caller fills.
    #[inline]
    pub(crate) fn explicit<'a>(&self, call: &'static str, kernarg: &'a [u8]) -> DriverResult<&'a [u8]> {
        match kernarg.get(..self.explicit_bytes) {
            Some(explicit) if kernarg.len() == self.kernarg_bytes() || kernarg.is_empty() => Ok(explicit),
            _ => Err(self.wrong_length(call, kernarg.len())),
        }
    }

    #[cold]
    fn wrong_length(&self, call: &'static str, given: usize) -> DriverError {
        let detail = format!(
            "kernel {}: {given} bytes of kernel arguments were given, its kernarg segment has {}",
            self.signature.name,
            self.kernarg_bytes()
        );
        DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail)
    }

    /// The kernel's handle.
    pub(crate) fn handle(&self) -> RawFunction {
        RawFunction(ptr::from_ref(self).expose_provenance() as u64)
    }

    /// A launch on a grid of one dimension.
    pub(crate) fn launch_of<'a>(&self, grid: u32, block: u32, kernarg: &'a [u8]) -> KernelLaunch<'a> {
        let (grid, block) = ([grid, 1, 1], [block, 1, 1]);
        KernelLaunch { function: self.handle(), grid, block, dynamic_lds: 0, kernarg, accesses: &[] }
    }

    /// The packet of a launch.
    #[inline]
    pub(crate) fn dispatch(&self, launch: &KernelLaunch<'_>, extra: &Extra) -> Dispatch {
        let KernelLaunch { grid, block, dynamic_lds, .. } = launch;
        let items = std::array::from_fn(|n| {
            let missing = if extra.remainder[n] > 0 { block[n] - extra.remainder[n] } else { 0 };
            (grid[n] * block[n]).wrapping_sub(missing)
        });
        let lds = self.signature.group_segment_fixed_size + dynamic_lds;
        Dispatch { items, block: *block, private: self.private, lds, object: self.object }
    }

    /// Fills the kernarg segment of a launch: the caller's arguments, and the hidden ones as HIP fills them.
    #[inline]
    pub(crate) fn fill(
        &self,
        segment: &mut [u8],
        explicit: &[u8],
        launch: &KernelLaunch<'_>,
        extra: &Extra,
        device: &'static Device,
    ) {
        let (given, rest) = segment.split_at_mut(explicit.len());
        given.copy_from_slice(explicit);
        rest.fill(0);
        for hidden in &*self.hidden {
            let value = hidden_value(hidden.kind, launch, extra, device).to_le_bytes();
            let Some(place) = segment.get_mut(hidden.at as usize..) else { continue };
            // Of the sizes that there are, each is one store.
            match hidden.size {
                2 => put::<2>(place, value),
                4 => put::<4>(place, value),
                _ => put::<8>(place, value),
            }
        }
    }
}

/// The kernel of a launch.
///
/// # Safety
/// The launch names a live kernel of this driver.
#[inline]
pub(crate) unsafe fn function<'a>(launch: &KernelLaunch<'_>) -> &'a Function {
    // SAFETY: the address of a kernel of a loaded module (the caller's promise).
    unsafe { &*std::ptr::with_exposed_provenance::<Function>(launch.function.0 as usize) }
}

/// Writes the lower bytes of a value, if there is room.
#[inline]
fn put<const N: usize>(place: &mut [u8], value: [u8; 8]) {
    if let (Some(place), Some(value)) = (place.first_chunk_mut::<N>(), value.first_chunk::<N>()) {
        *place = *value;
    }
}

/// Whether a hidden argument is other than 0. Offsets are 0 in HIP, and there is no device queue; `Enqueue::serving` writes the addresses of what a
/// kernel asks the host for.
fn is_written(kind: HiddenArg) -> bool {
    !matches!(
        kind,
        HiddenArg::GlobalOffsetX
            | HiddenArg::GlobalOffsetY
            | HiddenArg::GlobalOffsetZ
            | HiddenArg::None
            | HiddenArg::PrintfBuffer
            | HiddenArg::HostcallBuffer
            | HiddenArg::HeapV1
            | HiddenArg::DefaultQueue
            | HiddenArg::CompletionAction
            | HiddenArg::Unknown
    )
}

/// The value of a hidden argument that [is written](is_written).
#[inline]
fn hidden_value(kind: HiddenArg, launch: &KernelLaunch<'_>, extra: &Extra, device: &'static Device) -> u64 {
    let KernelLaunch { grid, block, dynamic_lds, .. } = launch;
    // Partial workgroups are not among them.
    let whole = |n: usize| u64::from(grid[n] - u32::from(extra.remainder[n] > 0 && grid[n] > 0));
    match kind {
        HiddenArg::BlockCountX => whole(0),
        HiddenArg::BlockCountY => whole(1),
        HiddenArg::BlockCountZ => whole(2),
        HiddenArg::GroupSizeX => block[0].into(),
        HiddenArg::GroupSizeY => block[1].into(),
        HiddenArg::GroupSizeZ => block[2].into(),
        HiddenArg::RemainderX => extra.remainder[0].into(),
        HiddenArg::RemainderY => extra.remainder[1].into(),
        HiddenArg::RemainderZ => extra.remainder[2].into(),
        HiddenArg::GridDims => {
            (1..=3).rev().find(|n| grid[n - 1] > 1 || block[n - 1] > 1).unwrap_or(1) as u64
        }
        HiddenArg::DynamicLdsSize => (*dynamic_lds).into(),
        // What clr writes for a launch on one device.
        HiddenArg::MultigridSyncArg => extra.cooperative.into(),
        HiddenArg::SharedBase => device.apertures()[0].into(),
        HiddenArg::PrivateBase => device.apertures()[1].into(),
        HiddenArg::QueuePtr => device.queue_address(),
        _ => 0,
    }
}
