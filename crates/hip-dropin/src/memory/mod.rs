//! Device memory: allocating, freeing, and what a program can ask about an address.

pub(crate) mod advice;
pub(crate) mod allocations;
pub(crate) mod array;
pub(crate) mod host;
pub(crate) mod ipc;
pub(crate) mod kept;
pub(crate) mod managed;
pub(crate) mod pool;
pub(crate) mod virtual_memory;

use hip_driver::DevicePtr;

use crate::abi::version::Version;
use crate::abi::{Address, HipResult, In, Out, Status, hipExtent, hipPitchedPtr, hipPointerAttribute_t};
use crate::memory::allocations::{ALLOCATIONS, Allocation, Kind, Place};
use crate::process::{Process, thread};

/// The alignment in bytes of the rows of pitched memory.
const PITCH: usize = 256;

/// Allocates memory of the current device; null for 0 bytes.
pub(crate) fn allocate(process: &Process, bytes: usize) -> HipResult<Address> {
    if bytes == 0 {
        return Ok(Address::NULL);
    }
    process.captures_allow()?;
    let device = thread::device();
    let ptr = pool::with_memory_of(process, device, || process.driver.malloc(device, bytes))?;
    ALLOCATIONS.insert(Allocation::device(ptr, bytes, device, Kind::Device));
    Ok(Address(ptr.0))
}

/// Frees an allocation that was taken from the list of live ones.
pub(crate) fn release(process: &Process, allocation: &Allocation) -> HipResult {
    process.captures_allow()?;
    let (driver, device, ptr) = (&process.driver, allocation.device, DevicePtr(allocation.base));
    // SAFETY: the memory is live, as it was in the list, and of this kind. That no work uses it later is what HIP asks of
    // the program.
    unsafe {
        match (allocation.kind, allocation.pinned) {
            (Kind::Device, _) | (Kind::Image, None) => driver.free(device, ptr)?,
            (Kind::Pool(of), _) => {
                driver.device_synchronize(device)?;
                pool::release(process, allocation, of, None)?;
            }
            (Kind::Managed, _) => {
                advice::forget(&allocation.range());
                driver.free(device, ptr)?;
            }
            (Kind::Host | Kind::Image, Some(pinned)) => driver.host_free(device, pinned)?,
            _ => return Err(Status::INVALID_VALUE),
        }
    }
    Ok(())
}

/// Frees an allocation that was taken from the list of live ones, and reports a fault of the work that this has waited
/// for. The memory is free even then.
pub(crate) fn free(process: &Process, allocation: &Allocation) -> HipResult {
    release(process, allocation).inspect_err(|_| ALLOCATIONS.insert(*allocation))?;
    match allocation.pinned {
        Some(_) => process.report_faults(),
        None => process.report_fault(allocation.device),
    }
}

/// Whether the memory at an address belongs to a node of a graph.
pub(crate) fn is_of_graph(pointer: Address) -> bool {
    ALLOCATIONS.find(pointer.0).is_some_and(|found| found.kind == Kind::Graph)
}

fn can_be_freed(kind: Kind) -> bool {
    matches!(kind, Kind::Device | Kind::Pool(_) | Kind::Managed | Kind::Host)
}

/// `hipDeviceMallocFinegrained` and `hipDeviceMallocUncached`: the host sees what kernels write while they run.
const FINE_GRAINED: u32 = 1;
const UNCACHED: u32 = 3;

/// `hipMallocSignalMemory`, which has 8 bytes.
const SIGNAL: u32 = 2;

pub(crate) fn hipExtMallocWithFlags(
    process: &Process,
    pointer: Out<Address>,
    bytes: usize,
    flags: u32,
) -> HipResult {
    pointer.check()?;
    // Default, fine-grained, signal memory, uncached, contiguous.
    if flags > 4 || (flags == SIGNAL && bytes != 8) {
        return Err(Status::INVALID_VALUE);
    }
    if flags == SIGNAL {
        // The host and the devices access it.
        process.captures_allow()?;
        let device = thread::device();
        let pinned = process.driver.host_malloc(device, bytes)?;
        let allocation = Allocation::host(pinned, device, Kind::Host, flags);
        ALLOCATIONS.insert(allocation);
        return pointer.set(Address(allocation.base));
    }
    let address = allocate(process, bytes)?;
    if let Some(found) = ALLOCATIONS.take(address.0, |kind| kind == Kind::Device) {
        if matches!(flags, FINE_GRAINED | UNCACHED) {
            process.set_fine_grained(found.device, DevicePtr(found.base), true)?;
        }
        ALLOCATIONS.insert(Allocation { flags, ..*found });
    }
    pointer.set(address)
}

/// Allocates rows of `width` bytes, and returns the address and the distance of two rows in bytes.
fn allocate_rows(process: &Process, width: usize, rows: usize) -> HipResult<(Address, usize)> {
    let pitch = width.checked_next_multiple_of(PITCH).ok_or(Status::OUT_OF_MEMORY)?;
    let bytes = pitch.checked_mul(rows).ok_or(Status::OUT_OF_MEMORY)?;
    Ok((allocate(process, bytes)?, pitch))
}

pub(crate) fn hipMallocPitch(
    process: &Process,
    pointer: Out<Address>,
    pitch: Out<usize>,
    width: usize,
    height: usize,
) -> HipResult {
    pointer.check()?;
    pitch.check()?;
    if width == 0 || height == 0 {
        return pointer.set(Address::NULL);
    }
    let (address, distance) = allocate_rows(process, width, height)?;
    pointer.set(address)?;
    pitch.set(distance)
}

pub(crate) fn hipMemAllocPitch(
    process: &Process,
    pointer: Out<Address>,
    pitch: Out<usize>,
    width: usize,
    height: usize,
    element_bytes: u32,
) -> HipResult {
    pointer.check()?;
    pitch.check()?;
    if width == 0 || height == 0 || !matches!(element_bytes, 4 | 8 | 16) {
        return Err(Status::INVALID_VALUE);
    }
    let (address, distance) = allocate_rows(process, width, height)?;
    pointer.set(address)?;
    pitch.set(distance)
}

pub(crate) fn hipMalloc3D(process: &Process, pointer: Out<hipPitchedPtr>, extent: hipExtent) -> HipResult {
    pointer.check()?;
    let hipExtent { width, height, depth } = extent;
    let rows = height.checked_mul(depth).ok_or(Status::OUT_OF_MEMORY)?;
    let (ptr, pitch) = if width == 0 { (Address::NULL, 0) } else { allocate_rows(process, width, rows)? };
    pointer.set(hipPitchedPtr { ptr, pitch, xsize: width, ysize: height })
}

pub(crate) fn hipFree(process: &Process, pointer: Address) -> HipResult {
    if pointer.is_null() {
        return Ok(());
    }
    if is_of_graph(pointer) {
        return process.graphs().memories.free(process, pointer);
    }
    let found = ALLOCATIONS.take(pointer.0, can_be_freed).ok_or(Status::INVALID_VALUE)?;
    free(process, &found)
}

pub(crate) fn hipMemGetInfo(process: &Process, free: Out<usize>, total: Out<usize>) -> HipResult {
    let device = thread::device();
    let info = process.driver.mem_info(device)?;
    // HIP allocates pages, the driver bytes.
    free.set_if_wanted(info.free.saturating_sub(ALLOCATIONS.padding(device)) as usize);
    total.set_if_wanted(info.total as usize);
    Ok(())
}

pub(crate) fn hipMemPtrGetInfo(pointer: Address, bytes: Out<usize>) -> HipResult {
    bytes.check()?;
    let found = ALLOCATIONS.find(pointer.0).ok_or(Status::INVALID_VALUE)?;
    bytes.set(found.bytes)
}

pub(crate) fn hipMemGetAddressRange(base: Out<Address>, bytes: Out<usize>, pointer: Address) -> HipResult {
    base.check()?;
    bytes.check()?;
    if pointer.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    let found = ALLOCATIONS.find(pointer.0).ok_or(Status::NOT_FOUND)?;
    base.set(Address(found.base))?;
    bytes.set(found.bytes)
}

/// `hipMemoryType` of an allocation, or of memory that no call allocated. HIP 6 numbered the types anew.
fn memory_type(allocation: Option<&Allocation>) -> i32 {
    let hip5 = Version::current() == Version::Hip5;
    match allocation {
        // HIP 5 has no number for unregistered memory.
        None => 0,
        Some(found) if found.is_managed() => 3,
        Some(found) if found.pinned.is_some() => i32::from(!hip5),
        Some(_) => 1 + i32::from(!hip5),
    }
}

pub(crate) fn hipPointerGetAttributes(attributes: Out<hipPointerAttribute_t>, pointer: Address) -> HipResult {
    attributes.check()?;
    let Some(found) = ALLOCATIONS.find(pointer.0) else {
        // Before HIP 6, memory that HIP does not know is an error, and before HIP 7 null is.
        let known_since = if pointer.is_null() { Version::Hip7 } else { Version::Hip6 };
        if Version::current() < known_since {
            return Err(Status::INVALID_VALUE);
        }
        return attributes.set(hipPointerAttribute_t {
            memoryType: memory_type(None),
            device: -2,
            devicePointer: Address::NULL,
            hostPointer: Address::NULL,
            isManaged: 0,
            allocationFlags: 0,
        });
    };
    attributes.set(hipPointerAttribute_t {
        memoryType: memory_type(Some(&found)),
        device: found.device.0 as i32,
        devicePointer: Address(found.device_address(pointer.0).0),
        hostPointer: if found.pinned.is_some() { pointer } else { Address::NULL },
        isManaged: i32::from(found.is_managed()),
        allocationFlags: found.flags,
    })
}

/// `HIP_POINTER_ATTRIBUTE_HOST_POINTER`.
const HOST_POINTER: i32 = 4;

/// The value of one attribute (`hipPointer_attribute`) of an address.
fn attribute(attribute: i32, pointer: Address) -> HipResult<AttributeValue> {
    // Of the handle of an array, only the type can be asked for.
    if attribute == 2 && array::is_handle(pointer) {
        return Ok(AttributeValue::Int(array::memory_type()));
    }
    let found = ALLOCATIONS.find(pointer.0).ok_or(Status::INVALID_VALUE)?;
    Ok(match attribute {
        2 => AttributeValue::Int(memory_type(Some(&found))),
        3 => AttributeValue::Word(found.device_address(pointer.0).0),
        HOST_POINTER if found.pinned.is_some() => AttributeValue::Word(pointer.0),
        HOST_POINTER => return Err(Status::INVALID_VALUE),
        6 => AttributeValue::Byte(0),
        7 => AttributeValue::Word(found.base),
        8 => AttributeValue::Byte(u8::from(found.is_managed())),
        9 => AttributeValue::Int(found.device.0 as i32),
        11 => AttributeValue::Word(found.base),
        // clr writes 32 bits of it.
        12 => AttributeValue::Int(found.bytes as i32),
        13 => AttributeValue::Byte(1),
        // clr does not have them.
        1 | 5 | 10 | 14..=17 => return Err(Status::NOT_SUPPORTED),
        _ => return Err(Status::INVALID_VALUE),
    })
}

/// A value with the size that HIP gives it.
enum AttributeValue {
    Byte(u8),
    Int(i32),
    Word(u64),
}

impl AttributeValue {
    fn write(self, to: Address) -> HipResult {
        // The caller passes memory for the attribute's own type.
        match self {
            AttributeValue::Byte(value) => to.out().set(value),
            AttributeValue::Int(value) => to.out().set(value),
            AttributeValue::Word(value) => to.out().set(value),
        }
    }
}

pub(crate) fn hipPointerGetAttribute(value: Address, wanted: i32, pointer: Address) -> HipResult {
    if value.is_null() || pointer.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    attribute(wanted, pointer)?.write(value)
}

pub(crate) fn hipDrvPointerGetAttributes(
    count: u32,
    wanted: In<i32>,
    values: In<Address>,
    pointer: Address,
) -> HipResult {
    if pointer.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    let (wanted, values) = (wanted.array(count as usize)?, values.array(count as usize)?);
    for (wanted, value) in wanted.into_iter().zip(values) {
        match attribute(wanted, pointer) {
            Ok(found) => found.write(value)?,
            // There is no address of the host.
            Err(_) if wanted == HOST_POINTER => AttributeValue::Word(0).write(value)?,
            Err(_) => {}
        }
    }
    Ok(())
}

pub(crate) fn hipPointerSetAttribute(
    process: &Process,
    value: In<u32>,
    wanted: i32,
    pointer: Address,
) -> HipResult {
    // Only that of synchronous copies can be set (HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS): they are synchronous anyway.
    value.get()?;
    match process.place(pointer, 1)? {
        Place::Device(_) if wanted == 6 => Ok(()),
        _ => Err(Status::INVALID_VALUE),
    }
}
