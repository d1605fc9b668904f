//! Virtual memory: reserved addresses, physical memory that is mapped to them, and what devices may do with it.
//!
//! What is refused is what clr refuses (`hipamd/src/hip_vm.cpp`), in the version that the library stands for, but for these: a
//! mapping that fails returns `hipErrorInvalidValue`, as HIP's documentation has it, where clr up to 7.2 returns success
//! and maps nothing; handles that are no more, which clr does not check, are refused, too.

use std::collections::HashMap;
use std::os::fd::{BorrowedFd, IntoRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hip_driver::{DeviceId, DevicePtr, ErrorCode, Note};
use hip_driver_emulated::{EmulatedDriver, PhysicalMemory, VIRTUAL_GRANULARITY, VirtualAccess};

use crate::abi::version::Version;
use crate::abi::{Address, HipResult, In, Out, Status, hipMemAccessDesc, hipMemLocation};
use crate::memory::allocations::{ALLOCATIONS, Allocation, Kind, Place};
use crate::memory::pool;
use crate::process::{Process, thread};
use crate::report::record;

/// `hipMemAllocationTypePinned` and `hipMemAllocationTypeUncached`.
const PINNED: i32 = 1;
const UNCACHED: i32 = 0x4000_0000;
/// `hipMemLocationTypeDevice`.
const ON_DEVICE: i32 = 1;
/// `hipMemHandleTypeNone` and `hipMemHandleTypePosixFileDescriptor`.
const NOT_SHARED: i32 = 0;
const DESCRIPTOR: i32 = 1;

/// `hipMemAllocationProp`, whose fields are those of [`Wanted`] in one of two orders.
pub(crate) type Properties = [u32; 8];

/// What is asked for by `hipMemAllocationProp`.
struct Wanted {
    kind: i32,
    shared_as: i32,
    location: hipMemLocation,
}

impl Wanted {
    /// From HIP 5.3 on, the type, the type of handles and the location come first; up to 5.2 the location follows a byte for the
    /// compression, and then the types of handles and of the memory.
    fn new(prop: &Properties) -> Wanted {
        let field = |index: usize| prop[index] as i32;
        let at = |kind: usize, shared_as: usize, location: usize| Wanted {
            kind: field(kind),
            shared_as: field(shared_as),
            location: hipMemLocation { r#type: field(location), id: field(location + 1) },
        };
        match (at(0, 1, 2), at(4, 3, 1)) {
            (new, old) if Version::current() == Version::Hip5 && !new.is_known() && old.is_known() => old,
            (new, _) => new,
        }
    }

    fn is_known(&self) -> bool {
        let has_uncached = Version::current() >= Version::Hip7;
        let is_kind = self.kind == PINNED || (has_uncached && self.kind == UNCACHED);
        is_kind && self.location.r#type == ON_DEVICE
    }
}

/// Physical memory by its handle.
struct Physical {
    memory: Arc<PhysicalMemory>,
    prop: Properties,
    shared_as: i32,
    /// How often it is still to be released.
    references: usize,
    /// To how many addresses it is mapped.
    mappings: usize,
}

/// The handles of physical memory, none of which is used again. Who maps or unmaps holds the lock, so that these and the list of
/// allocations agree with the driver. Nobody waits for a device meanwhile.
#[derive(Default)]
struct Handles {
    live: Option<HashMap<u64, Physical>>,
    last: u64,
}

static HANDLES: Mutex<Handles> = Mutex::new(Handles { live: None, last: 0 });

fn handles() -> MutexGuard<'static, Handles> {
    HANDLES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Handles {
    fn add(&mut self, memory: Arc<PhysicalMemory>, prop: Properties, shared_as: i32) -> u64 {
        // Handles look like pointers.
        self.last += 16;
        let physical = Physical { memory, prop, shared_as, references: 1, mappings: 0 };
        self.live.get_or_insert_default().insert(self.last, physical);
        self.last
    }

    fn get(&mut self, handle: u64) -> HipResult<&mut Physical> {
        self.live.as_mut().and_then(|live| live.get_mut(&handle)).ok_or(Status::INVALID_VALUE)
    }

    /// Forgets memory that nobody has any more.
    fn tidy(&mut self, handle: u64) {
        if self.get(handle).is_ok_and(|found| found.references == 0 && found.mappings == 0) {
            self.live.as_mut().and_then(|live| live.remove(&handle));
        }
    }
}

fn emulated(process: &Process) -> HipResult<&Arc<EmulatedDriver>> {
    process.emulated.as_ref().ok_or(Status::NOT_SUPPORTED)
}

impl Process {
    /// Says which device copies and fills the `bytes` bytes at an address to which memory is mapped: its own, the current or another,
    /// of those that may access all of them. They may be in several mappings, one after the other.
    pub(crate) fn virtual_place(&self, owner: DeviceId, address: Address, bytes: usize) -> HipResult<Place> {
        let (driver, address) = (emulated(self)?, DevicePtr(address.0));
        let mut devices = [owner, thread::device()].into_iter().chain(self.device_ids());
        let found = devices.find(|device| driver.can_access(*device, address, bytes as u64));
        found.map(Place::Device).ok_or(Status::INVALID_VALUE)
    }

    /// Tells the layers of addresses that are reserved, or no more, on each device.
    fn note_virtual(&self, note: impl Fn(DeviceId) -> Note) {
        if let Some(observer) = self.driver.observer() {
            self.device_ids().for_each(|device| observer.note(&note(device)));
        }
    }
}

pub(crate) fn hipMemGetAllocationGranularity(
    process: &Process,
    granularity: Out<usize>,
    prop: In<Properties>,
    option: i32,
) -> HipResult {
    granularity.check()?;
    let wanted = Wanted::new(&prop.get()?);
    // Minimum and recommended.
    if !wanted.is_known() || !(0..=1).contains(&option) {
        return Err(Status::INVALID_VALUE);
    }
    process.device(wanted.location.id).map_err(|_| Status::INVALID_VALUE)?;
    granularity.set(VIRTUAL_GRANULARITY as usize)
}

pub(crate) fn hipMemAddressReserve(
    process: &Process,
    pointer: Out<Address>,
    bytes: usize,
    alignment: usize,
    wanted: Address,
    flags: u64,
) -> HipResult {
    pointer.check()?;
    if flags != 0 {
        return Err(Status::INVALID_VALUE);
    }
    let driver = emulated(process)?;
    let reserved =
        driver.reserve_addresses("hipMemAddressReserve", bytes as u64, alignment as u64, DevicePtr(wanted.0));
    let ptr = reserved.map_err(|error| match Version::current() {
        // Before HIP 7, sizes that can't be are no memory.
        Version::Hip5 | Version::Hip6 => Status::OUT_OF_MEMORY,
        Version::Hip7 => error.into(),
    })?;
    process.note_virtual(|device| Note::Borrow { device, ptr, bytes });
    pointer.set(Address(ptr.0))
}

/// As in clr, the size only has to be given.
pub(crate) fn hipMemAddressFree(process: &Process, pointer: Address, bytes: usize) -> HipResult {
    if pointer.is_null() || bytes == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let ptr = DevicePtr(pointer.0);
    let freed = emulated(process)?.free_addresses("hipMemAddressFree", ptr);
    freed.map_err(|error| match error.code {
        // Memory is mapped there, which HSA refuses.
        ErrorCode::NOT_READY => Status::UNKNOWN,
        _ => error.into(),
    })?;
    process.note_virtual(|device| Note::Return { device, ptr });
    Ok(())
}

pub(crate) fn hipMemCreate(
    process: &Process,
    handle: Out<u64>,
    bytes: usize,
    prop: In<Properties>,
    flags: u64,
) -> HipResult {
    handle.check()?;
    let prop = prop.get()?;
    let wanted = Wanted::new(&prop);
    if bytes == 0 || flags != 0 || !wanted.is_known() {
        return Err(Status::INVALID_VALUE);
    }
    let (device, _) = process.device(wanted.location.id).map_err(|status| match Version::current() {
        Version::Hip5 | Version::Hip6 => Status::INVALID_VALUE,
        Version::Hip7 => status,
    })?;
    if !matches!(wanted.shared_as, NOT_SHARED | DESCRIPTOR) {
        return Err(Status::NOT_SUPPORTED);
    }
    let driver = emulated(process)?;
    let is_shareable = wanted.shared_as == DESCRIPTOR;
    let create = || driver.create_physical("hipMemCreate", device, bytes as u64, is_shareable);
    let memory = pool::with_memory_of(process, device, create)?;
    handle.set(handles().add(memory, prop, wanted.shared_as))
}

/// The memory lives until it is released as often as it was made and retained, and unmapped everywhere.
pub(crate) fn hipMemRelease(_: &Process, handle: u64) -> HipResult {
    let mut handles = handles();
    let found = handles.get(handle)?;
    found.references = found.references.checked_sub(1).ok_or(Status::INVALID_VALUE)?;
    handles.tidy(handle);
    Ok(())
}

pub(crate) fn hipMemMap(
    process: &Process,
    pointer: Address,
    bytes: usize,
    offset: usize,
    handle: u64,
    flags: u64,
) -> HipResult {
    if pointer.is_null() || bytes == 0 || offset != 0 || flags != 0 {
        return Err(Status::INVALID_VALUE);
    }
    let mut handles = handles();
    let found = handles.get(handle)?;
    let (driver, ptr) = (emulated(process)?, DevicePtr(pointer.0));
    driver.map_physical("hipMemMap", ptr, bytes as u64, &found.memory)?;
    found.mappings += 1;
    let device = found.memory.device();
    ALLOCATIONS.insert(Allocation::device(ptr, bytes, device, Kind::Virtual(handle)));
    Ok(())
}

/// No version of AMD's library maps memory to arrays, either.
pub(crate) fn refuse_arrays(list: Address, count: u32, name: &'static str) -> HipResult {
    if list.is_null() || count == 0 {
        return Err(Status::INVALID_VALUE);
    }
    record::unsupported(name);
    Err(Status::NOT_SUPPORTED)
}

/// Waits for the work of devices that may use memory. The second result is the fault of one that is lost, where the memory can be
/// unmapped still.
fn wait(process: &Process, devices: &[DeviceId]) -> HipResult<HipResult> {
    let mut fault = Ok(());
    for device in devices {
        match process.driver.device_synchronize(*device) {
            Err(error) if error.code.is_sticky() => fault = Err(error.into()),
            waited => waited?,
        }
    }
    Ok(fault)
}

pub(crate) fn hipMemUnmap(process: &Process, pointer: Address, bytes: usize) -> HipResult {
    if pointer.is_null() || bytes == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let (driver, ptr) = (emulated(process)?, DevicePtr(pointer.0));
    let fault = wait(process, &driver.virtual_accessors(ptr, bytes as u64))?;
    let mut handles = handles();
    driver.unmap_physical("hipMemUnmap", ptr, bytes as u64)?;
    for mapped in ALLOCATIONS.take_virtual(pointer.0..pointer.0 + bytes as u64) {
        let Kind::Virtual(handle) = mapped.kind else { continue };
        if let Ok(found) = handles.get(handle) {
            found.mappings = found.mappings.saturating_sub(1);
        }
        handles.tidy(handle);
    }
    fault
}

/// `hipMemAccessFlags`: none, read, read and write.
const ACCESS: [(i32, VirtualAccess); 3] =
    [(0, VirtualAccess::None), (1, VirtualAccess::Read), (3, VirtualAccess::ReadWrite)];

pub(crate) fn hipMemSetAccess(
    process: &Process,
    pointer: Address,
    bytes: usize,
    descriptions: In<hipMemAccessDesc>,
    count: usize,
) -> HipResult {
    if pointer.is_null() || bytes == 0 || count == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let described = descriptions.array(count)?.into_iter().map(|description| {
        let access = ACCESS.iter().find(|(flags, _)| *flags == description.flags);
        let device = process.device(description.location.id).map_err(|_| Status::INVALID_VALUE);
        match access {
            Some((_, access)) if description.location.r#type == ON_DEVICE => Ok((device?.0, *access)),
            _ => Err(Status::INVALID_VALUE),
        }
    });
    let described = described.collect::<HipResult<Vec<_>>>()?;
    let (driver, ptr) = (emulated(process)?, DevicePtr(pointer.0));
    for (device, access) in described {
        if access != VirtualAccess::ReadWrite && driver.virtual_accessors(ptr, bytes as u64).contains(&device)
        {
            wait(process, &[device])??;
        }
        driver.set_virtual_access("hipMemSetAccess", ptr, bytes as u64, device, access)?;
    }
    Ok(())
}

pub(crate) fn hipMemGetAccess(
    process: &Process,
    flags: Out<u64>,
    location: In<hipMemLocation>,
    pointer: Address,
) -> HipResult {
    flags.check()?;
    let location = location.get()?;
    if pointer.is_null() || location.r#type != ON_DEVICE {
        return Err(Status::INVALID_VALUE);
    }
    let (device, _) = process.device(location.id).map_err(|_| Status::INVALID_VALUE)?;
    let access = emulated(process)?.virtual_access(device, DevicePtr(pointer.0));
    let access = access.ok_or(Status::INVALID_VALUE)?;
    let found = ACCESS.iter().find(|(_, known)| *known == access);
    flags.set(found.map_or(0, |(flags, _)| *flags as u64))
}

/// The caller has to release the handle once more, as in CUDA and in clr from its version in rocm-systems on.
pub(crate) fn hipMemRetainAllocationHandle(_: &Process, handle: Out<u64>, pointer: Address) -> HipResult {
    handle.check()?;
    let mut handles = handles();
    let Some(Kind::Virtual(found)) = ALLOCATIONS.find(pointer.0).map(|found| found.kind) else {
        return Err(Status::INVALID_VALUE);
    };
    handles.get(found)?.references += 1;
    handle.set(found)
}

pub(crate) fn hipMemGetAllocationPropertiesFromHandle(
    _: &Process,
    prop: Out<Properties>,
    handle: u64,
) -> HipResult {
    prop.check()?;
    prop.set(handles().get(handle)?.prop)
}

pub(crate) fn hipMemExportToShareableHandle(
    _: &Process,
    to: Address,
    handle: u64,
    kind: i32,
    flags: u64,
) -> HipResult {
    let mut handles = handles();
    let found = handles.get(handle)?;
    if to.is_null() || flags != 0 || kind != found.shared_as {
        return Err(Status::INVALID_VALUE);
    }
    let descriptor = found.memory.export().map_err(|_| Status::INVALID_VALUE)?;
    to.out::<i32>().set(descriptor.into_raw_fd())
}

/// The descriptor of memory that is to be imported: HIP before 7.1 takes its address, later versions take the number itself,
/// which no address is as small as.
fn descriptor(from: Address) -> HipResult<OwnedFd> {
    let number = match i32::try_from(from.0) {
        Ok(number) => number,
        Err(_) => from.values::<i32>().get()?,
    };
    if number < 0 {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: it is not -1, and who calls the function keeps the descriptor open meanwhile; one that is not open is refused.
    let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
    descriptor.try_clone_to_owned().map_err(|_| Status::INVALID_VALUE)
}

pub(crate) fn hipMemImportFromShareableHandle(
    process: &Process,
    handle: Out<u64>,
    from: Address,
    kind: i32,
) -> HipResult {
    handle.check()?;
    if from.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    if kind != DESCRIPTOR {
        return Err(Status::NOT_SUPPORTED);
    }
    let (driver, device) = (emulated(process)?, thread::device());
    let memory = driver.import_physical("hipMemImportFromShareableHandle", device, descriptor(from)?)?;
    let prop = [PINNED as u32, DESCRIPTOR as u32, ON_DEVICE as u32, device.0, 0, 0, 0, 0];
    handle.set(handles().add(memory, prop, DESCRIPTOR))
}
