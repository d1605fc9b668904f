//! Physical memory: memory of a pool that has no address, in a file in memory that has no name.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::sync::Arc;

use amdgpu_emulator::AddressSpace;
use handle_table::{Owner, Table};

use super::agent::Agent;
use super::devices::Devices;
use super::memory::{PAGE, Pool};
use super::runtime::machine;
use super::status::Status;
use crate::abi::Out;

/// A `hsa_amd_vmem_alloc_handle_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct PhysicalHandle(u64);

/// Memory without an address. It is freed when it has no handle and is mapped nowhere.
pub(super) struct Physical {
    pub(super) file: File,
    pub(super) bytes: u64,
    pool: Pool,
    kind: u32,
    /// Where it counts as allocated; `None` for another process's.
    space: Option<Arc<AddressSpace>>,
}

impl Drop for Physical {
    fn drop(&mut self) {
        if let Some(space) = &self.space {
            space.count_freed(self.bytes);
        }
    }
}

static HANDLES: Table<Arc<Physical>> = Table::new(5);

impl PhysicalHandle {
    pub(super) fn new(memory: Arc<Physical>) -> Result<PhysicalHandle, Status> {
        HANDLES.insert(Owner::NONE, memory).map(PhysicalHandle).map_err(|_| Status::OUT_OF_RESOURCES)
    }

    pub(super) fn memory(self) -> Result<Arc<Physical>, Status> {
        HANDLES.get(self.0).map(|found| found.value).map_err(|_| Status::INVALID_ALLOCATION)
    }
}

pub(crate) fn hsa_amd_vmem_handle_create(
    pool: Pool,
    bytes: usize,
    kind: u32,
    _flags: u64,
    handle: Out<PhysicalHandle>,
) -> Result<(), Status> {
    let (owner, _) = pool.to_allocate_from(machine()?).ok_or(Status::INVALID_MEMORY_POOL)?;
    let bytes = bytes as u64;
    if handle.is_null() || bytes == 0 || !bytes.is_multiple_of(PAGE) || kind > 1 {
        return Err(Status::INVALID_ARGUMENT);
    }
    let space = Arc::clone(Devices::get()?.space(owner)?);
    // SAFETY: a text that ends with a zero byte. The file is this function's alone.
    let descriptor = unsafe { libc::memfd_create(c"hsa".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(Status::OUT_OF_RESOURCES);
    }
    // SAFETY: a new descriptor, which nothing else closes.
    let file = unsafe { File::from_raw_fd(descriptor) };
    file.set_len(bytes).map_err(|_| Status::OUT_OF_RESOURCES)?;
    space.count_allocated(bytes).map_err(|_| Status::OUT_OF_RESOURCES)?;
    handle.set(PhysicalHandle::new(Arc::new(Physical { file, bytes, pool, kind, space: Some(space) }))?)
}

/// What is mapped stays.
pub(crate) fn hsa_amd_vmem_handle_release(handle: PhysicalHandle) -> Result<(), Status> {
    HANDLES.discard(handle.0).map_err(|_| Status::INVALID_ALLOCATION)
}

pub(crate) fn hsa_amd_vmem_get_alloc_properties_from_handle(
    handle: PhysicalHandle,
    pool: Out<Pool>,
    kind: Out<u32>,
) -> Result<(), Status> {
    let memory = handle.memory()?;
    pool.set::<Status>(memory.pool)?;
    kind.set(memory.kind)
}

/// The descriptor is that of a file in memory.
pub(crate) fn hsa_amd_vmem_export_shareable_handle(
    descriptor: Out<i32>,
    handle: PhysicalHandle,
    _flags: u64,
) -> Result<(), Status> {
    if descriptor.is_null() {
        return Err(Status::INVALID_ARGUMENT);
    }
    let file = handle.memory()?.file.try_clone().map_err(|_| Status::OUT_OF_RESOURCES)?;
    descriptor.set(file.into_raw_fd())
}

/// The memory counts as the host's. The descriptor stays the caller's.
pub(crate) fn hsa_amd_vmem_import_shareable_handle(
    descriptor: i32,
    handle: Out<PhysicalHandle>,
) -> Result<(), Status> {
    machine()?;
    // SAFETY: the call only looks at what a number stands for.
    let sealed = unsafe { libc::fcntl(descriptor, libc::F_GET_SEALS) };
    if descriptor < 0 || sealed < 0 {
        return Err(Status::INVALID_ARGUMENT);
    }
    // SAFETY: a descriptor that is open, as the call before has shown; it is duplicated and not closed.
    let borrowed = unsafe { std::os::fd::BorrowedFd::borrow_raw(descriptor) };
    let file = borrowed.try_clone_to_owned().map(|owned: OwnedFd| File::from(owned));
    let file = file.map_err(|_| Status::OUT_OF_RESOURCES)?;
    let bytes = file.metadata().map_err(|_| Status::INVALID_ARGUMENT)?.len();
    if bytes == 0 || !bytes.is_multiple_of(PAGE) {
        return Err(Status::INVALID_ARGUMENT);
    }
    let memory = Physical { file, bytes, pool: Pool::of(Agent::HOST, 0), kind: 0, space: None };
    handle.set(PhysicalHandle::new(Arc::new(memory))?)
}

impl Physical {
    /// Maps a part at an address of the process that was reserved, in the place of what is there.
    pub(super) fn map(&self, address: u64, bytes: u64, offset: u64) -> Result<(), Status> {
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
        map_at(address, bytes, access, flags, self.file.as_raw_fd(), offset)
    }
}

/// Changes what is mapped at addresses that are reserved.
fn map_at(address: u64, bytes: u64, access: i32, flags: i32, file: i32, offset: u64) -> Result<(), Status> {
    let at = std::ptr::with_exposed_provenance_mut(address as usize);
    // SAFETY: the addresses are those of a reservation of this library's, so that no other memory of the process is replaced.
    let mapped = unsafe { libc::mmap(at, bytes as usize, access, flags, file, offset as libc::off_t) };
    if mapped == libc::MAP_FAILED { Err(Status::OUT_OF_RESOURCES) } else { Ok(()) }
}

const NOTHING: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

/// Reserves addresses of the process, which begin at a multiple of `align`, a power of two of at least a page.
pub(super) fn reserve(wish: u64, bytes: u64, align: u64) -> Result<u64, Status> {
    let all = bytes.checked_add(align - PAGE).ok_or(Status::INVALID_ARGUMENT)?;
    let at = std::ptr::with_exposed_provenance_mut(wish as usize);
    // SAFETY: a new mapping where the system finds room changes no memory of the process.
    let start = unsafe { libc::mmap(at, all as usize, libc::PROT_NONE, NOTHING, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(Status::OUT_OF_RESOURCES);
    }
    let start = start.expose_provenance() as u64;
    let base = start.next_multiple_of(align);
    unreserve(start, base - start);
    unreserve(base + bytes, start + all - (base + bytes));
    Ok(base)
}

/// Takes off what is mapped at addresses that stay reserved.
pub(super) fn unmap(address: u64, bytes: u64) -> Result<(), Status> {
    map_at(address, bytes, libc::PROT_NONE, NOTHING | libc::MAP_FIXED, -1, 0)
}

/// Gives addresses back to the process that were reserved.
pub(super) fn unreserve(address: u64, bytes: u64) {
    if bytes > 0 {
        // SAFETY: addresses that `reserve` got, which nobody uses any more.
        unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(address as usize), bytes as usize) };
    }
}
