//! A kernel on a device: its function, its parameters and limits, and the streams that it was launched on.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use code_object::{ArgSignature, CodeObject, KernelSignature};

use crate::device::Device;
use crate::error::{Error, LaunchProblem, Result};
use hip_driver::{DeviceProperties, RawFunction};

use super::module::Module;

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

/// The options of a kernel, which are set when it is registered and may change later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelOptions {
    /// Whether an input may be the output.
    pub(crate) in_place: bool,
    /// The dynamic LDS of the kernel's LDS layout in bytes; 0 without one.
    pub(crate) lds_layout: u32,
}

/// The driver's last answer about how many workgroups fit on a compute unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownOccupancy {
    /// The work-items of a workgroup.
    pub(crate) block: u32,
    pub(crate) dynamic_lds: u32,
    /// The workgroups on a compute unit.
    pub(crate) per_unit: u32,
}

/// What launches kernels, and keeps them until their launches have finished: a stream.
pub(crate) trait KernelUser: std::fmt::Debug + Send + Sync + 'static {
    /// Records the name of a kernel that is about to be launched here. It is kept until the kernel's last launch has
    /// finished.
    fn name_kernel(&self, kernel: u64, name: &Arc<str>);

    /// Keeps `owner`, and the name and the memory of kernel `kernel`, until all work enqueued so far has finished.
    fn retire(&self, kernel: u64, owner: Box<dyn Any + Send>);
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
    pub(crate) offsets: Box<[u32]>,
    pub(crate) occupancy: Mutex<Option<KnownOccupancy>>,
    pub(crate) kernarg_bytes: u32,
    pub(crate) explicit_bytes: u32,
    /// The greatest number of bytes of packed arguments, with padding.
    pub(crate) packed_limit: u32,
    /// The most work-items of a workgroup on the device.
    pub(crate) max_total: u32,
    pub(crate) static_lds: u32,
    pub(crate) required_block: Option<[u32; 3]>,
    pub(crate) signature: KernelSignature,
    module: Module,
    users: Mutex<Vec<Weak<dyn KernelUser>>>,
    /// Whether its handle names it: neither unregistered nor replaced.
    registered: AtomicBool,
    /// Whether an input may be the output.
    in_place: AtomicBool,
    /// The dynamic LDS of the kernel's LDS layout in bytes; 0 without one.
    lds_layout: AtomicU32,
}

impl DeviceKernel {
    /// Finds a kernel in a loaded module and checks that it can be launched.
    pub(crate) fn new(module: &Module, name: &str, id: u64, options: KernelOptions) -> Result<DeviceKernel> {
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
                kind: if a.is_pointer() { ParameterKind::Pointer } else { ParameterKind::Value },
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
            users: Mutex::new(Vec::new()),
            registered: AtomicBool::new(true),
            in_place: AtomicBool::new(options.in_place),
            lds_layout: AtomicU32::new(options.lds_layout),
        })
    }

    pub(crate) fn module(&self) -> &Module {
        &self.module
    }

    /// Whether its handle names it.
    #[inline]
    pub(crate) fn is_registered(&self) -> bool {
        self.registered.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn device(&self) -> &Device {
        self.module.device()
    }

    pub(crate) fn is_in_place(&self) -> bool {
        self.in_place.load(Ordering::Relaxed)
    }

    pub(crate) fn set_options(&self, options: KernelOptions) {
        self.in_place.store(options.in_place, Ordering::Relaxed);
        self.lds_layout.store(options.lds_layout, Ordering::Relaxed);
    }

    /// Returns the bytes of dynamic LDS for a launch that requests `requested` bytes: those of the kernel's LDS layout for
    /// 0. Refuses a launch that requests less than the layout needs.
    #[inline]
    pub(crate) fn with_layout(&self, requested: u32) -> Result<u32> {
        let layout = self.lds_layout.load(Ordering::Relaxed);
        match requested {
            0 => Ok(layout),
            got if got < layout => Err(self.refuse(LaunchProblem::LdsLayout { layout, got })),
            _ => Ok(requested),
        }
    }

    pub(crate) fn code_object(&self) -> &CodeObject {
        self.module.code_object()
    }

    pub(crate) fn signature(&self) -> &KernelSignature {
        &self.signature
    }

    #[cold]
    pub(crate) fn refuse(&self, problem: LaunchProblem) -> Error {
        Error::Launch { kernel: self.name.clone(), problem: Box::new(problem) }
    }

    /// Records that its handle no longer names it, and takes the kernel off every stream: each keeps it until its launches there have
    /// finished.
    pub(crate) fn retire(self: &Arc<Self>) {
        self.registered.store(false, Ordering::Release);
        let users = std::mem::take(&mut *self.users.lock().unwrap_or_else(PoisonError::into_inner));
        for user in users.iter().filter_map(Weak::upgrade) {
            user.retire(self.id, Box::new(self.clone()));
        }
    }

    /// Remembers that the kernel is launched on a stream.
    #[cold]
    pub(crate) fn runs_on<U: KernelUser>(&self, user: &Arc<U>) {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        users.retain(|user| user.strong_count() > 0);
        if !users.iter().any(|other| std::ptr::addr_eq(other.as_ptr(), Arc::as_ptr(user))) {
            user.name_kernel(self.id, &self.name);
            let user: Weak<U> = Arc::downgrade(user);
            users.push(user);
        }
    }
}

/// Checks that a device can launch a kernel at all, and that its metadata, which comes from a file, is what packing relies
/// on.
pub(crate) fn check_limits(signature: &KernelSignature, limits: &DeviceProperties) -> Result<()> {
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
        let users = std::mem::take(self.users.get_mut().unwrap_or_else(PoisonError::into_inner));
        for user in users.iter().filter_map(Weak::upgrade) {
            user.retire(self.id, Box::new(self.module.clone()));
        }
    }
}
