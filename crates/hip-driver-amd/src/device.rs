//! The properties of a device, from HIP's attributes, and from its property structs only where no attribute has them.

use std::ffi::{CStr, c_char, c_int};

use crate::bindings::{hipDeviceAttribute_t as Attribute, hipError_t};
use crate::call::{check, unsupported};
use crate::symbols::Api;
use code_object::TargetId;
use hip_driver::{DeviceProperties, DriverError, DriverResult, ErrorCode};

/// The position of the target's name in a property struct; no attribute has the name.
struct Layout {
    call: &'static str,
    arch_name: usize,
    size: usize,
}

/// `hipDeviceProp_t` of `hipGetDeviceProperties`. The symbol keeps this layout forever; programs that are built with
/// HIP 6.0 or later use the next one.
const LAYOUT_R0000: Layout = Layout { call: "hipGetDeviceProperties", arch_name: 396, size: 792 };
/// `hipDeviceProp_tR0600` of `hipGetDevicePropertiesR0600` (HIP 6.0).
const LAYOUT_R0600: Layout = Layout { call: "hipGetDevicePropertiesR0600", arch_name: 1160, size: 1472 };

#[cfg(not(feature = "bindgen"))]
const _: () = {
    use crate::bindings::hipDeviceProp_t;
    assert!(std::mem::offset_of!(hipDeviceProp_t, gcnArchName) == LAYOUT_R0000.arch_name);
    assert!(size_of::<hipDeviceProp_t>() == LAYOUT_R0000.size);
};

/// The length of the longest target name in both layouts, in bytes with the terminating zero.
const ARCH_NAME_BYTES: usize = 256;

/// A buffer for a property struct, with space for fields that a later version may add.
#[repr(C, align(16))]
struct Properties([u8; 4096]);

/// Reads an attribute of a device; 0 for a negative one.
fn attribute(api: &Api, ordinal: c_int, attribute: Attribute) -> DriverResult<u32> {
    let mut value: c_int = 0;
    // SAFETY: the pointer is to a live integer; an unknown ordinal or attribute gives an error.
    check("hipDeviceGetAttribute", unsafe { (api.hipDeviceGetAttribute)(&mut value, attribute, ordinal) })?;
    Ok(u32::try_from(value).unwrap_or(0))
}

/// Returns whether a device has managed memory.
pub(crate) fn has_managed_memory(api: &Api, ordinal: c_int) -> bool {
    attribute(api, ordinal, Attribute::hipDeviceAttributeManagedMemory).is_ok_and(|has| has != 0)
}

/// Returns whether all devices can wait for values in memory. Older versions of HIP can do it on few.
pub(crate) fn wait_for_values(api: &Api) -> bool {
    let mut count: c_int = 0;
    // SAFETY: the pointer is to a live integer, which keeps its 0 if the call fails, as it does without a device.
    let _ = unsafe { (api.hipGetDeviceCount)(&mut count) };
    (0..count).all(|ordinal| {
        attribute(api, ordinal, Attribute::hipDeviceAttributeCanUseStreamWaitValue).is_ok_and(|can| can != 0)
    })
}

/// Reads the properties of the device `ordinal` (in AMD's implementation, a `hipDevice_t` is the ordinal).
pub(crate) fn properties(api: &Api, ordinal: c_int) -> DriverResult<DeviceProperties> {
    use Attribute as A;
    let attribute = |which| attribute(api, ordinal, which);
    // What a version or a device does not tell is 0 or an error.
    let known = |which| attribute(which).ok().filter(|value| *value != 0);
    let target = target(api, ordinal)?;
    let name = match api.hipDeviceGetName {
        // SAFETY: the function writes at most `len` bytes, including the terminating zero.
        Some(f) => text("hipDeviceGetName", |buffer, len| unsafe { f(buffer, len, ordinal) })?,
        None => String::new(),
    };
    let pci_bus_id = match api.hipDeviceGetPCIBusId {
        // SAFETY: the function writes at most `len` bytes, including the terminating zero.
        Some(f) => text("hipDeviceGetPCIBusId", |buffer, len| unsafe { f(buffer, len, ordinal) })?,
        None => String::new(),
    };
    let total = api.hipDeviceTotalMem.ok_or_else(|| unsupported("hipDeviceTotalMem"))?;
    let mut total_memory = 0usize;
    // SAFETY: the pointer is to a live integer.
    check("hipDeviceTotalMem", unsafe { total(&mut total_memory, ordinal) })?;
    Ok(DeviceProperties {
        // Some boards have no marketing name.
        name: if name.is_empty() { target.processor.name().to_owned() } else { name },
        target,
        pci_bus_id,
        total_memory: total_memory as u64,
        compute_units: attribute(A::hipDeviceAttributeMultiprocessorCount)?,
        wavefront_size: attribute(A::hipDeviceAttributeWarpSize)?,
        max_threads_per_block: attribute(A::hipDeviceAttributeMaxThreadsPerBlock)?,
        max_block: [
            attribute(A::hipDeviceAttributeMaxBlockDimX)?,
            attribute(A::hipDeviceAttributeMaxBlockDimY)?,
            attribute(A::hipDeviceAttributeMaxBlockDimZ)?,
        ],
        max_grid: [
            attribute(A::hipDeviceAttributeMaxGridDimX)?,
            attribute(A::hipDeviceAttributeMaxGridDimY)?,
            attribute(A::hipDeviceAttributeMaxGridDimZ)?,
        ],
        max_lds_per_block: attribute(A::hipDeviceAttributeMaxSharedMemoryPerBlock)?,
        clock_khz: attribute(A::hipDeviceAttributeClockRate)?,
        memory_clock_khz: known(A::hipDeviceAttributeMemoryClockRate),
        memory_bus_bits: known(A::hipDeviceAttributeMemoryBusWidth),
        l2_bytes: known(A::hipDeviceAttributeL2CacheSize),
        registers_per_block: known(A::hipDeviceAttributeMaxRegistersPerBlock),
    })
}

/// Returns a string that HIP writes into a buffer.
fn text(call: &'static str, f: impl FnOnce(*mut c_char, c_int) -> hipError_t) -> DriverResult<String> {
    let mut buffer = [0 as c_char; 256];
    check(call, f(buffer.as_mut_ptr(), buffer.len() as c_int - 1))?;
    // SAFETY: the last byte was 0 and `f` cannot write it, so the string ends in the buffer.
    let text = unsafe { CStr::from_ptr(buffer.as_ptr()) };
    Ok(text.to_string_lossy().trim().to_owned())
}

/// Returns the target, such as `gfx90a:sramecc+:xnack-`, from the property struct.
fn target(api: &Api, ordinal: c_int) -> DriverResult<TargetId> {
    let mut buffer = Box::new(Properties([0; 4096]));
    let layout = if let Some(f) = api.hipGetDevicePropertiesR0600 {
        // SAFETY: the buffer is larger than the struct and aligned for it.
        check(LAYOUT_R0600.call, unsafe { f((&raw mut *buffer).cast(), ordinal) })?;
        LAYOUT_R0600
    } else if let Some(f) = api.hipGetDeviceProperties {
        // SAFETY: the buffer is larger than the older struct, too, and aligned for it.
        check(LAYOUT_R0000.call, unsafe { f((&raw mut *buffer).cast(), ordinal) })?;
        LAYOUT_R0000
    } else {
        return Err(unsupported(LAYOUT_R0000.call));
    };
    parse_target(&buffer.0, &layout)
}

/// Reads the target's name and checks it, which detects an unexpected layout.
fn parse_target(properties: &[u8], layout: &Layout) -> DriverResult<TargetId> {
    let field = &properties[layout.arch_name..(layout.arch_name + ARCH_NAME_BYTES).min(layout.size)];
    CStr::from_bytes_until_nul(field)
        .ok()
        .and_then(|name| name.to_str().ok())
        .and_then(|name| name.parse().ok())
        .ok_or_else(|| {
            DriverError::with_detail(
                layout.call,
                ErrorCode::UNKNOWN,
                format!(
                    "no target name at byte {} of the property struct: a HIP version with another layout?",
                    layout.arch_name
                ),
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_names_are_read_where_the_layout_has_them() {
        for layout in [LAYOUT_R0000, LAYOUT_R0600] {
            let mut bytes = vec![0xffu8; 4096];
            let name = b"gfx90a:sramecc+:xnack-\0";
            bytes[layout.arch_name..layout.arch_name + name.len()].copy_from_slice(name);
            assert_eq!(parse_target(&bytes, &layout).unwrap().short(), "gfx90a:sramecc+:xnack-");
        }
    }

    #[test]
    fn a_foreign_layout_is_an_error() {
        let mut bytes = vec![0u8; 4096];
        parse_target(&bytes, &LAYOUT_R0000).unwrap_err();
        bytes.fill(b'g');
        let error = parse_target(&bytes, &LAYOUT_R0600).unwrap_err();
        assert_eq!((error.call, error.code), ("hipGetDevicePropertiesR0600", ErrorCode::UNKNOWN));
    }
}
