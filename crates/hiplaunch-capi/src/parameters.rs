//! The parameters of kernels.

use std::mem::MaybeUninit;

use super::input::{Versioned, fill, wanted};
use super::kernels::{hiplaunch_kernel, registered};
use super::status::{Failure, call, hiplaunch_status};

/// A parameter of a kernel, as its code object says.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_kernel_parameter {
    /// sizeof(hiplaunch_kernel_parameter), set by the caller.
    pub struct_size: usize,
    /// The offset in the kernarg segment, and so in packed arguments, in bytes.
    pub offset: u32,
    /// The number of bytes.
    pub size: u32,
    /// Whether it takes a pointer to device memory, not a value: 0 or 1.
    pub is_pointer: u32,
    /// Zero.
    pub reserved: u32,
}

// SAFETY: integers; the one version.
unsafe impl Versioned for hiplaunch_kernel_parameter {
    const NAME: &'static str = "hiplaunch_kernel_parameter";
    const SIZES: &'static [usize] = &[size_of::<hiplaunch_kernel_parameter>()];
}

/// The number of parameters of a kernel, which is the number of arguments of a launch.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER; those of loading, as
/// hiplaunch_register, for a kernel of HIPLAUNCH_ALL_DEVICES.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_kernel_parameters(
    kernel: *const hiplaunch_kernel,
    count: Option<&mut MaybeUninit<usize>>,
) -> hiplaunch_status {
    call("hiplaunch_kernel_parameters", || {
        let count = wanted(count, "count")?;
        let (handle, launcher) = registered(kernel)?;
        count.write(launcher.signature(handle)?.explicit_args().len());
        Ok(())
    })
}

/// Fills `parameter`, whose struct_size the caller has set, for the parameter with an index, from 0.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT for a parameter that does not exist;
/// HIPLAUNCH_STATUS_STRUCT_SIZE; as hiplaunch_kernel_parameters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_get_kernel_parameter(
    kernel: *const hiplaunch_kernel,
    index: usize,
    parameter: *mut hiplaunch_kernel_parameter,
) -> hiplaunch_status {
    call("hiplaunch_get_kernel_parameter", || {
        let (handle, launcher) = registered(kernel)?;
        let signature = launcher.signature(handle)?;
        let all = signature.explicit_args();
        let Some(found) = all.get(index) else {
            return Err(Failure::invalid(format!("parameter {index} of {}", all.len())));
        };
        // SAFETY: the caller's promise for versioned structs.
        unsafe {
            fill(parameter, "parameter", |struct_size| {
                Ok(hiplaunch_kernel_parameter {
                    struct_size,
                    offset: found.offset,
                    size: found.size,
                    is_pointer: found.is_pointer().into(),
                    reserved: 0,
                })
            })
        }
    })
}
