//! What a program can ask about a kernel and set for it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::abi::c_caller::{Address, Handle, Out, StaticText};
use crate::abi::status::{HipResult, Status};
use crate::abi::structs::hipFuncAttributes;
use crate::kernel::KERNELS;
use crate::kernel::Kernel;
use crate::kernel::fat_binary;
use crate::kernel::module::KernelHandle;
use crate::process::Process;
use crate::process::thread;
use crate::stream::StreamHandle;

impl Process {
    /// The kernel of a host function on the current device.
    pub(crate) fn host_kernel(&self, function: Address) -> HipResult<Arc<Kernel>> {
        fat_binary::kernel(self, thread::device(), function)
    }

    /// A kernel of a module. Fails with `INVALID_HANDLE` if it does not exist.
    pub(crate) fn kernel(&self, handle: KernelHandle) -> HipResult<Arc<Kernel>> {
        KERNELS.expect(handle.0, Status::INVALID_HANDLE)
    }

    /// A kernel that is given as a host function or as a function of a module.
    pub(crate) fn any_kernel(&self, function: Address) -> HipResult<Arc<Kernel>> {
        KERNELS.get(function.0).map_or_else(|| self.host_kernel(function), Ok)
    }
}

pub(crate) fn hipFuncGetAttributes(
    process: &Process,
    attributes: Out<hipFuncAttributes>,
    function: Address,
) -> HipResult {
    attributes.check()?;
    if function.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    let kernel = process.host_kernel(function)?;
    attributes.set(kernel.attributes(process.current().properties.max_lds_per_block))
}

pub(crate) fn hipFuncGetAttribute(
    process: &Process,
    value: Out<i32>,
    attribute: i32,
    function: KernelHandle,
) -> HipResult {
    value.check()?;
    let kernel = process.kernel(function)?;
    let all = kernel.attributes(process.current().properties.max_lds_per_block);
    // hipFunction_attribute.
    value.set(match attribute {
        0 => all.maxThreadsPerBlock,
        1 => all.sharedSizeBytes as i32,
        2 => all.constSizeBytes as i32,
        3 => all.localSizeBytes as i32,
        4 => all.numRegs,
        5 => all.ptxVersion,
        6 => all.binaryVersion,
        7 => all.cacheModeCA,
        8 => all.maxDynamicSharedSizeBytes,
        9 => all.preferredShmemCarveout,
        _ => return Err(Status::INVALID_VALUE),
    })
}

// hipFuncAttribute.
const MOST_DYNAMIC_LDS: i32 = 8;
const PREFERRED_CARVEOUT: i32 = 9;

pub(crate) fn hipFuncSetAttribute(
    process: &Process,
    function: Address,
    attribute: i32,
    value: i32,
) -> HipResult {
    let kernel = process.host_kernel(function)?;
    match attribute {
        MOST_DYNAMIC_LDS => {
            let most = process.current().properties.max_lds_per_block;
            let most = most.saturating_sub(kernel.signature.group_segment_fixed_size);
            let bytes = u32::try_from(value).ok().filter(|bytes| *bytes <= most);
            kernel.most_dynamic_lds.store(bytes.ok_or(Status::INVALID_VALUE)?, Ordering::Relaxed);
            Ok(())
        }
        PREFERRED_CARVEOUT if (-1..=100).contains(&value) => Ok(()),
        _ => Err(Status::INVALID_VALUE),
    }
}

pub(crate) fn hipGetFuncBySymbol(
    process: &Process,
    handle: Out<KernelHandle>,
    function: Address,
) -> HipResult {
    handle.check()?;
    let kernel = process.host_kernel(function)?;
    handle.set(Handle::new(KERNELS.add_shared(kernel)))
}

/// The name of a kernel of a module, or null.
pub(crate) fn hipKernelNameRef(function: KernelHandle) -> StaticText {
    let name = Process::get().and_then(|process| process.kernel(function));
    name.map_or(StaticText::NULL, |kernel| StaticText::leaked(&kernel.name))
}

/// The name of the kernel of a host function, or null.
pub(crate) fn hipKernelNameRefByPtr(function: Address, _stream: StreamHandle) -> StaticText {
    let name = Process::get().and_then(|process| process.host_kernel(function));
    name.map_or(StaticText::NULL, |kernel| StaticText::leaked(&kernel.name))
}
