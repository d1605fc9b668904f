//! A kernel on a device: its function, its parameters and limits, and the streams that it was launched on.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use code_object::{ArgSignature, CodeObject, KernelSignature, ValueKind};

use crate::device::Device;
use crate::error::{Error, LaunchProblem, Result};
use crate::module::Module;
use hip_driver::{CallKind, Capability, DeviceProperties, DriverError, DriverResult, ErrorCode, RawFunction};

use super::args::{Arg, LaunchDims};
use super::stream_state::StreamState;

/// The largest kernarg segment in bytes: HIP guarantees no more than 4 KiB of arguments.
const MAX_KERNARG: u32 = 4096;

/// The kind of argument that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParameterKind {
    Value,
    Pointer,
}

/// An explicit parameter: its offset in the kernarg segment and its size, in bytes, and its kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    pub(crate) offset: u32,
    pub(crate) size: u32,
    pub(crate) kind: ParameterKind,
}

/// What is said about a kernel when it is registered, and may change later.
#[derive(Clone, Copy, Debug)]
pub(super) struct KernelOptions {
    /// Whether an input may be the output.
    pub(super) in_place: bool,
    /// The dynamic LDS of the kernel's LDS layout in bytes; 0 without one.
    pub(super) lds_layout: u32,
}

/// A registered kernel on a device. When the last reference is dropped, its module is kept until the last launch has
/// finished.
#[derive(Debug)]
pub(crate) struct DeviceKernel {
    /// The number of the registered kernel: no other kernel of the device has it, not even one that replaces this kernel
    /// under its handle.
    pub(crate) id: u64,
    pub(crate) name: Arc<str>,
    pub(crate) function: RawFunction,
    pub(crate) parameters: Vec<Parameter>,
    /// The parameters' offsets.
    pub(super) offsets: Box<[u32]>,
    /// The last answer about how many workgroups fit on a compute unit: for a block's size and dynamic LDS.
    occupancy: Mutex<Option<(u32, u32, u32)>>,
    pub(crate) kernarg_bytes: u32,
    pub(crate) explicit_bytes: u32,
    /// The greatest number of bytes of packed arguments, with padding.
    packed_limit: u32,
    max_total: u32,
    static_lds: u32,
    required_block: Option<[u32; 3]>,
    signature: KernelSignature,
    module: Module,
    states: Mutex<Vec<Weak<StreamState>>>,
    /// Whether its handle names it: neither unregistered nor replaced.
    registered: AtomicBool,
    /// Whether an input may be the output.
    in_place: AtomicBool,
    /// The dynamic LDS of the kernel's LDS layout in bytes; 0 without one.
    lds_layout: AtomicU32,
}

impl DeviceKernel {
    /// Finds a kernel in a loaded module and checks that it can be launched.
    pub(super) fn new(module: &Module, name: &str, id: u64, options: KernelOptions) -> Result<DeviceKernel> {
        let signature = module.code_object().kernel(name)?.clone();
        let name: Arc<str> = Arc::from(signature.name.as_str());
        let limits = module.device().properties();
        check_limits(&signature, limits)?;
        let (fixed, dynamic, limit) =
            (signature.group_segment_fixed_size, options.lds_layout, limits.max_lds_per_block);
        if u64::from(fixed) + u64::from(dynamic) > u64::from(limit) {
            let problem = Box::new(LaunchProblem::Lds { fixed, dynamic, limit });
            return Err(Error::Launch { kernel: name, problem });
        }
        let parameters: Vec<Parameter> = signature
            .explicit_args()
            .iter()
            .map(|a| Parameter {
                offset: a.offset,
                size: a.size,
                kind: if matches!(a.kind, ValueKind::GlobalBuffer) {
                    ParameterKind::Pointer
                } else {
                    ParameterKind::Value
                },
            })
            .collect();
        let function = module.function(&signature.name)?;
        let max_total = match signature.max_flat_workgroup_size {
            0 => limits.max_threads_per_block,
            n => n.min(limits.max_threads_per_block),
        };
        Ok(DeviceKernel {
            id,
            name,
            function,
            offsets: parameters.iter().map(|p| p.offset).collect(),
            occupancy: Mutex::new(None),
            parameters,
            // 0 where all arguments are hidden: `KernelLaunch::kernarg` says why.
            kernarg_bytes: if signature.explicit_args().is_empty() { 0 } else { signature.kernarg_size },
            explicit_bytes: signature.explicit_size(),
            packed_limit: packed_limit(&signature),
            max_total,
            static_lds: signature.group_segment_fixed_size,
            required_block: signature.reqd_workgroup_size,
            signature,
            module: Module::clone(module),
            states: Mutex::new(Vec::new()),
            registered: AtomicBool::new(true),
            in_place: AtomicBool::new(options.in_place),
            lds_layout: AtomicU32::new(options.lds_layout),
        })
    }

    pub(super) fn module(&self) -> &Module {
        &self.module
    }

    /// Whether its handle names it.
    #[inline]
    pub(crate) fn is_registered(&self) -> bool {
        self.registered.load(Ordering::Acquire)
    }

    /// Checks that all workgroups of a cooperative launch are on the device at once. The outer error is the driver's, which
    /// may be asked under the stream's lock.
    #[cold]
    pub(super) fn check_cooperative(&self, dims: &LaunchDims) -> DriverResult<Result<()>> {
        let (device, block) = (self.device(), dims.block.iter().product::<u32>());
        let capabilities = device.raw().capabilities();
        if !capabilities.has(Capability::CooperativeLaunch) {
            let detail = "this driver has no cooperative launches";
            let call = CallKind::LaunchCooperative.name();
            return Ok(Err(DriverError::with_detail(call, ErrorCode::NOT_SUPPORTED, detail).into()));
        }
        if dims.is_empty() || !capabilities.has(Capability::Occupancy) {
            return Ok(Ok(()));
        }
        let mut known = self.occupancy.lock().unwrap_or_else(PoisonError::into_inner);
        let per_unit = match *known {
            Some((of_block, lds, per_unit)) if (of_block, lds) == (block, dims.dynamic_lds) => per_unit,
            _ => {
                // SAFETY: the module, which this kernel keeps, has the function.
                let per_unit =
                    unsafe { device.raw().occupancy(device.id(), self.function, block, dims.dynamic_lds) }?;
                *known = Some((block, dims.dynamic_lds, per_unit));
                per_unit
            }
        };
        let limit = u64::from(per_unit) * u64::from(device.properties().compute_units);
        let blocks = dims.grid.iter().map(|&n| u64::from(n)).fold(1, u64::saturating_mul);
        if blocks > limit {
            return Ok(Err(self.refuse(LaunchProblem::CooperativeGrid { blocks, limit })));
        }
        Ok(Ok(()))
    }

    #[inline]
    pub(crate) fn device(&self) -> &Device {
        self.module.device()
    }

    pub(crate) fn is_in_place(&self) -> bool {
        self.in_place.load(Ordering::Relaxed)
    }

    pub(super) fn set_options(&self, options: KernelOptions) {
        self.in_place.store(options.in_place, Ordering::Relaxed);
        self.lds_layout.store(options.lds_layout, Ordering::Relaxed);
    }

    /// Returns the bytes of dynamic LDS for a launch that asks for `asked`: those of the kernel's LDS layout for 0.
    /// Refuses a launch that asks for less than the layout needs.
    #[inline]
    pub(crate) fn with_layout(&self, asked: u32) -> Result<u32> {
        let layout = self.lds_layout.load(Ordering::Relaxed);
        match asked {
            0 => Ok(layout),
            got if got < layout => Err(self.refuse(LaunchProblem::LdsLayout { layout, got })),
            _ => Ok(asked),
        }
    }

    /// The most work-items of a workgroup, on this device.
    pub(super) fn max_threads_per_block(&self) -> u32 {
        self.max_total
    }

    pub(super) fn code_object(&self) -> &CodeObject {
        self.module.code_object()
    }

    pub(crate) fn signature(&self) -> &KernelSignature {
        &self.signature
    }

    #[cold]
    pub(crate) fn refuse(&self, problem: LaunchProblem) -> Error {
        Error::Launch { kernel: self.name.clone(), problem: Box::new(problem) }
    }

    /// Checks grid, block and LDS against the kernel's and the device's limits.
    #[inline]
    pub(crate) fn check_dims(&self, dims: &LaunchDims) -> Result<()> {
        let limits = self.device().properties();
        let (grid, block) = (dims.grid, dims.block);
        let [x, y, z] = block.map(u64::from);
        let total = (x * y).saturating_mul(z);
        if total == 0 || total > u64::from(self.max_total) || (0..3).any(|i| block[i] > limits.max_block[i]) {
            let (max_axes, max_total) = (limits.max_block, self.max_total);
            return Err(self.refuse(LaunchProblem::Block { block, max_axes, max_total }));
        }
        if let Some(required) = self.required_block
            && required != block
        {
            return Err(self.refuse(LaunchProblem::RequiredBlock { block, required }));
        }
        // HIP returns hipErrorInvalidConfiguration where `grid * block` of an axis is over `u32::MAX`.
        let over = |i: usize| {
            grid[i] > limits.max_grid[i] || u64::from(grid[i]) * u64::from(block[i]) > u64::from(u32::MAX)
        };
        if (0..3).any(over) {
            return Err(self.refuse(LaunchProblem::Grid { grid, block, max_axes: limits.max_grid }));
        }
        if u64::from(self.static_lds) + u64::from(dims.dynamic_lds) > u64::from(limits.max_lds_per_block) {
            let (fixed, dynamic, limit) = (self.static_lds, dims.dynamic_lds, limits.max_lds_per_block);
            return Err(self.refuse(LaunchProblem::Lds { fixed, dynamic, limit }));
        }
        Ok(())
    }

    /// Checks the number of arguments.
    #[inline]
    pub(crate) fn check_count(&self, got: usize) -> Result<()> {
        if got == self.parameters.len() { Ok(()) } else { Err(self.refuse_count(got)) }
    }

    /// Checks the number, sizes and kinds of the arguments against the metadata.
    pub(crate) fn check_args(&self, args: &[Arg<'_>]) -> Result<()> {
        self.check_count(args.len())?;
        let mut both = args.iter().zip(&self.parameters).enumerate();
        both.try_for_each(|(index, (arg, parameter))| self.check_arg(index, arg, parameter))
    }

    /// Checks size and kind of an argument against its parameter.
    fn check_arg(&self, index: usize, arg: &Arg<'_>, parameter: &Parameter) -> Result<()> {
        let fits = takes(parameter, arg) && arg.size() == parameter.size as usize;
        if fits { Ok(()) } else { Err(self.refuse_arg(index, arg)) }
    }

    #[cold]
    pub(super) fn refuse_arg(&self, index: usize, arg: &Arg<'_>) -> Error {
        let kind_fits = takes(&self.parameters[index], arg);
        self.refuse_parameter(index, arg.size(), arg.kind(), kind_fits)
    }

    #[cold]
    fn refuse_parameter(&self, index: usize, size: usize, kind: &'static str, kind_fits: bool) -> Error {
        let parameter = self.parameters[index];
        let name = self.signature.explicit_args().get(index).and_then(|a| a.name.as_deref()).map(Box::from);
        if kind_fits {
            return self.refuse(LaunchProblem::ArgumentSize {
                index,
                name,
                expected: parameter.size,
                got: size,
            });
        }
        let expected = match parameter.kind {
            ParameterKind::Pointer => "pointer",
            ParameterKind::Value => "value",
        };
        self.refuse(LaunchProblem::ArgumentKind { index, name, expected, got: kind })
    }

    /// Returns the error for a wrong number of arguments.
    #[cold]
    pub(crate) fn refuse_count(&self, got: usize) -> Error {
        self.refuse(LaunchProblem::ArgumentCount { expected: self.parameters.len(), got })
    }

    /// Checks the length in bytes of packed arguments, which may have padding after the explicit part.
    #[inline]
    pub(crate) fn check_packed(&self, got: usize) -> Result<()> {
        let fits = (self.explicit_bytes as usize..=self.packed_limit as usize).contains(&got);
        if fits { Ok(()) } else { Err(self.refuse_packed(got)) }
    }

    #[cold]
    fn refuse_packed(&self, got: usize) -> Error {
        let (expected, limit) = (self.explicit_bytes, self.packed_limit);
        self.refuse(LaunchProblem::PackedSize { expected, limit, got })
    }

    /// Checks that parameter `index` takes a value of `size` bytes. `got` is the argument's kind, for the message.
    #[inline]
    pub(crate) fn check_value(&self, index: usize, size: usize, got: &'static str) -> Result<()> {
        let parameter = self.parameters[index];
        if parameter.kind == ParameterKind::Value && parameter.size as usize == size {
            return Ok(());
        }
        let fits = parameter.kind == ParameterKind::Value;
        Err(self.refuse_parameter(index, size, got, fits))
    }

    /// Checks that parameter `index` takes a pointer.
    #[inline]
    pub(crate) fn check_pointer(&self, index: usize) -> Result<()> {
        let parameter = self.parameters[index];
        if parameter.kind == ParameterKind::Pointer && parameter.size == 8 {
            return Ok(());
        }
        let fits = parameter.kind == ParameterKind::Pointer;
        Err(self.refuse_parameter(index, 8, "device pointer", fits))
    }

    /// Ends what `registered` says, and takes the kernel off every stream: each keeps it until its launches there have
    /// finished.
    pub(crate) fn retire(self: &Arc<Self>) {
        self.registered.store(false, Ordering::Release);
        let states = std::mem::take(&mut *self.states.lock().unwrap_or_else(PoisonError::into_inner));
        for stream_state in states.iter().filter_map(Weak::upgrade) {
            stream_state.retire(self.id, Box::new(self.clone()));
        }
    }

    /// Remembers that the kernel is launched on a stream.
    #[cold]
    pub(crate) fn runs_on(&self, stream_state: &Arc<StreamState>) {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        states.retain(|l| l.strong_count() > 0);
        if !states.iter().any(|l| std::ptr::eq(l.as_ptr(), Arc::as_ptr(stream_state))) {
            stream_state.note_name(self);
            states.push(Arc::downgrade(stream_state));
        }
    }
}

/// Checks that a device can launch a kernel at all, and that its metadata, which come from a file, are what packing relies
/// on.
pub(super) fn check_limits(signature: &KernelSignature, limits: &DeviceProperties) -> Result<()> {
    let name = &signature.name;
    let refuse =
        |problem| Err(Error::Launch { kernel: Arc::from(name.as_str()), problem: Box::new(problem) });
    if signature.kernarg_size > MAX_KERNARG {
        return refuse(LaunchProblem::KernargTooLarge { bytes: signature.kernarg_size, limit: MAX_KERNARG });
    }
    let (fixed, limit) = (signature.group_segment_fixed_size, limits.max_lds_per_block);
    if fixed > limit {
        return refuse(LaunchProblem::Lds { fixed, dynamic: 0, limit });
    }
    let end = |a: &ArgSignature| u64::from(a.offset) + u64::from(a.size);
    if signature.explicit_args().iter().any(|a| end(a) > u64::from(signature.kernarg_size)) {
        return Err(Error::invalid(
            "kernel metadata",
            format!("`{name}` has an argument outside its kernarg segment"),
        ));
    }
    Ok(())
}

/// Whether the parameter takes an argument of that kind, whatever its size.
fn takes(parameter: &Parameter, arg: &Arg<'_>) -> bool {
    match arg {
        Arg::Scalar { .. } | Arg::Value(_) => parameter.kind == ParameterKind::Value,
        Arg::Raw(_) => true,
        Arg::Pointer(_) | Arg::Buffer(_) | Arg::Destination | Arg::Host(_) | Arg::ArgumentBlock(_) => {
            parameter.kind == ParameterKind::Pointer
        }
    }
}

/// The kernarg segment's size, or that of a C struct with the explicit arguments as its fields, whichever is larger: the
/// segment of a kernel without hidden arguments ends where its last argument does, while a struct is padded to its
/// alignment.
fn packed_limit(signature: &KernelSignature) -> u32 {
    let padded = signature.explicit_size().checked_next_multiple_of(signature.kernarg_align);
    padded.map_or(signature.kernarg_size, |padded| padded.max(signature.kernarg_size))
}

impl Drop for DeviceKernel {
    /// Passes the module to every stream that may still run a launch of the kernel.
    fn drop(&mut self) {
        let states = std::mem::take(self.states.get_mut().unwrap_or_else(PoisonError::into_inner));
        for stream_state in states.iter().filter_map(Weak::upgrade) {
            stream_state.retire(self.id, Box::new(self.module.clone()));
        }
    }
}
