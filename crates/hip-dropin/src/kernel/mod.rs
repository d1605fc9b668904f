//! A kernel that can be launched: its function of the driver, and where its arguments are.

pub(crate) mod configuration;
pub(crate) mod fat_binary;
pub(crate) mod function;
pub(crate) mod image;
pub(crate) mod launch;
pub(crate) mod library;
pub(crate) mod module;
pub(crate) mod occupancy;

use std::ffi::{CString, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use code_object::KernelSignature;
use hip_driver::{DeviceId, DevicePtr, MemoryAccess, RawFunction};
use smallvec::SmallVec;

use crate::abi::{HipResult, In, Status, hipFuncAttributes};
use crate::process::objects::Objects;

/// Kernel arguments in the form that the driver takes.
pub(crate) type Kernarg = SmallVec<[u8; 512]>;

/// `HIP_LAUNCH_PARAM_BUFFER_POINTER`, `..._SIZE` and `..._END` in the list `extra`.
pub(crate) const BUFFER_POINTER: usize = 1;
pub(crate) const BUFFER_SIZE: usize = 2;
pub(crate) const END: usize = 3;

/// A kernel of a loaded module.
pub(crate) struct Kernel {
    pub(crate) device: DeviceId,
    pub(crate) function: RawFunction,
    pub(crate) signature: KernelSignature,
    pub(crate) name: CString,
    /// Offset and size of each explicit argument, in bytes.
    arguments: Box<[(u32, u32)]>,
    /// The offsets of the arguments that are pointers to memory of the device.
    pointers: Box<[u32]>,
    /// What `hipFuncSetAttribute` set for dynamic LDS.
    pub(crate) most_dynamic_lds: AtomicU32,
    /// Whether its module was unloaded. A node of a graph may still have the kernel.
    unloaded: AtomicBool,
}

/// The kernels that have handles: functions of modules, and kernels of libraries.
pub(crate) static KERNELS: Objects<Kernel> = Objects::new();

impl Kernel {
    pub(crate) fn new(device: DeviceId, function: RawFunction, signature: &KernelSignature) -> Kernel {
        let explicit = signature.explicit_args();
        Kernel {
            device,
            function,
            name: CString::new(signature.name.as_str()).unwrap_or_default(),
            arguments: explicit.iter().map(|arg| (arg.offset, arg.size)).collect(),
            pointers: explicit
                .iter()
                .filter(|arg| arg.is_pointer() && arg.size == 8)
                .map(|arg| arg.offset)
                .collect(),
            signature: signature.clone(),
            most_dynamic_lds: AtomicU32::new(0),
            unloaded: AtomicBool::new(false),
        }
    }

    pub(crate) fn is_unloaded(&self) -> bool {
        self.unloaded.load(Ordering::Relaxed)
    }

    pub(crate) fn set_unloaded(&self) {
        self.unloaded.store(true, Ordering::Relaxed);
    }

    /// The offsets of the explicit arguments.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = u32> {
        self.arguments.iter().map(|(offset, _)| *offset)
    }

    /// The memory that the kernel's pointers refer to, for the validation layer: only the byte that each points to, as
    /// nothing says how much of an allocation a kernel accesses, or whether it writes.
    pub(crate) fn accesses(&self, kernarg: &[u8]) -> Vec<MemoryAccess> {
        let pointer = |offset: &u32| {
            let bytes = kernarg.get(*offset as usize..)?.first_chunk::<8>()?;
            Some(DevicePtr(u64::from_le_bytes(*bytes))).filter(|ptr| !ptr.is_null())
        };
        let accesses = self.pointers.iter().filter_map(pointer);
        accesses.map(|ptr| MemoryAccess { ptr, bytes: 1, write: false }).collect()
    }

    /// Packs arguments into an empty `kernarg`. `parameters` has a pointer to each argument; `extra` is a list with a buffer of
    /// all of them. Where both are null, the kernel must have no arguments.
    #[inline]
    pub(crate) fn pack(&self, parameters: In<In<u8>>, extra: In<usize>, kernarg: &mut Kernarg) -> HipResult {
        if self.arguments.is_empty() {
            return Ok(());
        }
        let bytes = self.signature.kernarg_size as usize;
        match ZEROS.get(..bytes) {
            // One copy, where `resize` writes byte after byte.
            Some(zeros) => kernarg.extend_from_slice(zeros),
            None => kernarg.resize(bytes, 0),
        }
        if !parameters.is_null() {
            for (index, &(offset, size)) in self.arguments.iter().enumerate() {
                // SAFETY: a caller passes a pointer for each argument of the kernel.
                let argument = unsafe { parameters.at(index) };
                if argument.is_null() {
                    return Err(Status::INVALID_VALUE);
                }
                let to = &mut kernarg[offset as usize..][..size as usize];
                // SAFETY: it points to a value of the argument's type, which has `size` bytes.
                unsafe { copy_value(argument.pointer(), to) };
            }
            return Ok(());
        }
        let buffer = buffer(extra)?;
        let length = buffer.len().min(kernarg.len());
        kernarg[..length].copy_from_slice(&buffer[..length]);
        Ok(())
    }

    /// What `hipFuncGetAttributes` says.
    pub(crate) fn attributes(&self, lds_of_device: u32) -> hipFuncAttributes {
        let signature = &self.signature;
        let most = self.most_dynamic_lds.load(Ordering::Relaxed);
        let left = lds_of_device.saturating_sub(signature.group_segment_fixed_size);
        hipFuncAttributes {
            binaryVersion: 0,
            cacheModeCA: 0,
            constSizeBytes: 0,
            localSizeBytes: signature.private_segment_fixed_size as usize,
            maxDynamicSharedSizeBytes: if most == 0 { left } else { most } as i32,
            maxThreadsPerBlock: signature.max_flat_workgroup_size as i32,
            numRegs: signature.vgpr_count as i32,
            preferredShmemCarveout: 0,
            ptxVersion: 30,
            sharedSizeBytes: signature.group_segment_fixed_size as usize,
        }
    }
}

/// What small arguments are packed over.
static ZEROS: [u8; 512] = [0; 512];

/// Copies an argument, without a call for the sizes that most have.
///
/// # Safety
/// As many bytes as `to` has can be read at `from`.
#[inline]
unsafe fn copy_value(from: *const u8, to: &mut [u8]) {
    match to.len() {
        // SAFETY: the caller's promise.
        4 => unsafe { from.copy_to_nonoverlapping(to.as_mut_ptr(), 4) },
        // SAFETY: the caller's promise.
        8 => unsafe { from.copy_to_nonoverlapping(to.as_mut_ptr(), 8) },
        // SAFETY: the caller's promise.
        bytes => unsafe { from.copy_to_nonoverlapping(to.as_mut_ptr(), bytes) },
    }
}

/// The buffer of a list `extra`: address and length.
fn buffer<'a>(extra: In<usize>) -> HipResult<&'a [u8]> {
    if extra.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    let (mut start, mut length) = (None, None);
    for pair in 0.. {
        // SAFETY: the list consists of pairs and ends with END, which is checked before anything behind it is read.
        let key = unsafe { extra.at(2 * pair) };
        if key == END {
            break;
        }
        // SAFETY: the key is not END, so its pair has a value.
        let value = unsafe { extra.at(2 * pair + 1) };
        match key {
            BUFFER_POINTER => start = Some(value),
            BUFFER_SIZE => length = Some(std::ptr::with_exposed_provenance::<usize>(value)),
            _ => return Err(Status::INVALID_VALUE),
        }
    }
    let (Some(start), Some(length)) = (start, length.filter(|length| !length.is_null())) else {
        return Err(Status::INVALID_VALUE);
    };
    // SAFETY: the value of the size is a pointer to a `size_t`.
    let length = unsafe { length.read() };
    let start = std::ptr::with_exposed_provenance::<c_void>(start);
    if start.is_null() {
        return if length == 0 { Ok(&[]) } else { Err(Status::INVALID_VALUE) };
    }
    // SAFETY: the list says that the buffer has so many bytes.
    Ok(unsafe { std::slice::from_raw_parts(start.cast(), length) })
}
