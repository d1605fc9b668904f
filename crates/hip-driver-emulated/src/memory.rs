//! Requests about memory: managed memory, memory of other processes, and whose memory an address is.
//!
//! Managed memory is pinned memory of the host, which the emulated devices access at the host's addresses. Shared memory is
//! a file in memory without a name; other processes open it through `/proc`, as long as this one lives. Memory of `malloc`
//! becomes such a file when it is shared.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::EmulatedDriver;
use super::device::{Device, lock, memory_error};
use super::pinned::Owner;
use hip_driver::{
    DeviceId, DevicePtr, DriverError, DriverResult, ErrorCode, IpcHandle, MemoryKind, MemoryReply,
    MemoryRequest, PinnedAllocation,
};

/// What a handle begins with.
const MAGIC: [u8; 8] = *b"hlshared";

/// The files of shared memory, by device and address.
#[derive(Default)]
pub(super) struct SharedFiles(Mutex<HashMap<u64, File>>);

/// Makes a file of `bytes` zero bytes that has no name.
fn nameless_file(bytes: u64) -> std::io::Result<File> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let (process, number) = (std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let path = folder.join(format!("hiplaunch-{process}-{number}"));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let file = match options.open(&path) {
        // Left by a process of the same number that was killed between the two calls.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            std::fs::remove_file(&path)?;
            options.open(&path)?
        }
        result => result?,
    };
    std::fs::remove_file(&path)?;
    file.set_len(bytes)?;
    Ok(file)
}

/// A handle: the magic bytes, process, descriptor, bytes, and the file's number, which no later file has by accident.
fn handle_of(file: &File) -> std::io::Result<IpcHandle> {
    let metadata = file.metadata()?;
    let mut handle = [0; 64];
    handle[..8].copy_from_slice(&MAGIC);
    handle[8..12].copy_from_slice(&std::process::id().to_le_bytes());
    handle[12..16].copy_from_slice(&file.as_raw_fd().to_le_bytes());
    handle[16..24].copy_from_slice(&metadata.len().to_le_bytes());
    handle[24..32].copy_from_slice(&metadata.ino().to_le_bytes());
    handle[32..40].copy_from_slice(&metadata.dev().to_le_bytes());
    Ok(IpcHandle(handle))
}

/// The file of a handle; what is wrong with it otherwise.
fn open_file(handle: &IpcHandle, bytes: u64) -> Result<File, String> {
    let number = |at: usize| {
        let bytes = handle.0[at..].first_chunk::<8>().copied().unwrap_or_default();
        u64::from_le_bytes(bytes)
    };
    if handle.0[..8] != MAGIC {
        return Err("it is no handle of an emulated device".into());
    }
    if bytes != number(16) {
        return Err(format!("the memory has {} bytes, not {bytes}", number(16)));
    }
    let (process, descriptor) = (number(8) as u32, (number(8) >> 32) as i32);
    let path = format!("/proc/{process}/fd/{descriptor}");
    let gone = |error| {
        format!("the memory of process {process} can't be opened ({path}: {error}); it may be released")
    };
    let file = OpenOptions::new().read(true).write(true).open(&path).map_err(gone)?;
    let metadata = file.metadata().map_err(gone)?;
    if (metadata.len(), metadata.ino(), metadata.dev()) != (bytes, number(24), number(32)) {
        return Err(format!("the memory of process {process} was released"));
    }
    Ok(file)
}

impl EmulatedDriver {
    /// # Safety
    /// As for [`Driver::memory`](hip_driver::Driver::memory).
    pub(super) unsafe fn request_memory(
        &self,
        device: DeviceId,
        request: &MemoryRequest,
    ) -> DriverResult<MemoryReply> {
        let call = request.name();
        let invalid = |detail: String| DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail);
        let failed = |error: std::io::Error| {
            DriverError::with_detail(call, ErrorCode::OUT_OF_MEMORY, format!("shared memory: {error}"))
        };
        match request {
            MemoryRequest::Allocate { .. } | MemoryRequest::Release { .. } => self.captures_allow(call)?,
            _ => {}
        }
        match *request {
            MemoryRequest::Allocate { kind: MemoryKind::Managed, bytes } => {
                self.device(call, device)?;
                let PinnedAllocation { host, device: ptr, .. } =
                    self.map(call, self.pinned.allocate(call, bytes)?, Owner::Driver)?;
                Ok(MemoryReply::Memory { ptr, host: Some(host) })
            }
            MemoryRequest::Allocate { kind: MemoryKind::Shared, bytes } => {
                let device = self.device(call, device)?;
                if bytes == 0 {
                    return Err(invalid("an allocation of 0 bytes".into()));
                }
                let file = nameless_file(bytes as u64).map_err(failed)?;
                let ptr = device.allocate_file(call, &file, bytes)?;
                lock(&self.shared.0).insert(ptr.0, file);
                Ok(MemoryReply::Memory { ptr, host: None })
            }
            MemoryRequest::Release { kind: MemoryKind::Managed, ptr } => {
                self.unpin(call, device, ptr, Owner::Driver).map(|()| MemoryReply::Done)
            }
            MemoryRequest::Release { kind, ptr } => {
                let device = self.any_device(call, device)?;
                let is_shared = lock(&self.shared.0).contains_key(&ptr.0);
                if is_shared != (kind == MemoryKind::Shared) {
                    return Err(invalid(format!("{ptr} is not the beginning of {kind} memory")));
                }
                device.begin_free(call, ptr)?;
                device.drain(call).inspect_err(|_| device.cancel_free(ptr))?;
                device.finish_free(ptr);
                lock(&self.shared.0).remove(&ptr.0);
                Ok(MemoryReply::Done)
            }
            MemoryRequest::Share { ptr } => {
                let device = self.device(call, device)?;
                let mut shared = lock(&self.shared.0);
                let file = match shared.entry(ptr.0) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => new.insert(device.move_to_file(call, ptr)?),
                };
                Ok(MemoryReply::Handle(handle_of(file).map_err(failed)?))
            }
            MemoryRequest::Open { handle, bytes } => {
                let device = self.device(call, device)?;
                let file = open_file(&handle, bytes as u64).map_err(invalid)?;
                let ptr = device.open_file(call, &file, bytes)?;
                Ok(MemoryReply::Memory { ptr, host: None })
            }
            MemoryRequest::Describe { ptr } => {
                self.device(call, device)?;
                let owns = |other: &&std::sync::Arc<Device>| other.space.owns(ptr.0);
                match self.devices.iter().find(owns) {
                    Some(owner) => Ok(MemoryReply::Owner(owner.id)),
                    // Pinned and managed memory is every device's.
                    None if self.pinned.contains(std::ptr::without_provenance(ptr.0 as usize), 1) => {
                        Ok(MemoryReply::Owner(device))
                    }
                    None => Err(invalid(format!("{ptr} is in no live memory of this driver"))),
                }
            }
            MemoryRequest::HostAddress { ptr, bytes } => {
                self.device(call, device)?;
                if let Some(owner) = self.devices.iter().find(|other| other.space.owns(ptr.0)) {
                    let host = owner.space.host_address(ptr.0, bytes as u64);
                    return Ok(MemoryReply::Memory {
                        ptr,
                        host: Some(host.map_err(|error| memory_error(call, &error))?),
                    });
                }
                // Pinned and managed memory has the host's address.
                let host = std::ptr::with_exposed_provenance_mut(ptr.0 as usize);
                match NonNull::new(host).filter(|host| self.pinned.contains(host.as_ptr(), bytes)) {
                    Some(host) => Ok(MemoryReply::Memory { ptr, host: Some(host) }),
                    None => Err(invalid(format!("{ptr} is in no live memory of this driver"))),
                }
            }
            MemoryRequest::SetFineGrained { ptr, is_fine } => {
                self.device(call, device)?;
                // Every device that can access the memory.
                let set = self
                    .devices
                    .iter()
                    .filter(|device| device.space.set_fine_grained(ptr.0, is_fine).is_ok());
                if set.count() == 0 {
                    return Err(invalid(format!("{ptr} is not the beginning of live memory")));
                }
                Ok(MemoryReply::Done)
            }
            // The emulated pool keeps no memory: what is freed in stream order is returned to the device at once.
            MemoryRequest::TrimPool { .. } => self.device(call, device).map(|_| MemoryReply::Done),
            _ => Err(DriverError::with_detail(call, ErrorCode::NOT_SUPPORTED, "the emulator cannot do that")),
        }
    }
}

impl SharedFiles {
    /// Forgets memory that was freed.
    pub(super) fn forget(&self, ptr: DevicePtr) {
        lock(&self.0).remove(&ptr.0);
    }
}

/// The bytes that are copied to a file at a time.
const CHUNK: u64 = 1 << 20;

impl Device {
    /// Moves a plain allocation to a file, when the work that was enqueued is done.
    fn move_to_file(&self, call: &'static str, ptr: DevicePtr) -> DriverResult<File> {
        let failed = |error: std::io::Error| {
            DriverError::with_detail(call, ErrorCode::OUT_OF_MEMORY, format!("shared memory: {error}"))
        };
        let Some(found) = self.space.lookup(ptr.0).filter(|r| r.base == ptr.0 && self.space.owns(ptr.0))
        else {
            let detail = format!("{ptr} is not the beginning of memory of {}", self.id);
            return Err(DriverError::with_detail(call, ErrorCode::INVALID_VALUE, detail));
        };
        self.synchronize(call)?;
        let file = nameless_file(found.len).map_err(failed)?;
        let mut bytes = vec![0; found.len.min(CHUNK) as usize];
        for start in (0..found.len).step_by(CHUNK as usize) {
            let chunk = &mut bytes[..(found.len - start).min(CHUNK) as usize];
            self.space.read(ptr.0 + start, chunk).map_err(|error| memory_error(call, &error))?;
            file.write_all_at(chunk, start).map_err(failed)?;
        }
        // SAFETY: only processes with a handle of it open the file, and none shortens it.
        unsafe { self.space.back_with_file(ptr.0, &file) }.map_err(|error| memory_error(call, &error))?;
        self.share_again(ptr);
        Ok(file)
    }

    fn allocate_file(&self, call: &'static str, file: &File, bytes: usize) -> DriverResult<DevicePtr> {
        // SAFETY: only processes with a handle of it open the file, and they map all of it, too.
        let address = unsafe { self.space.alloc_file(file, bytes as u64) };
        self.allocated(address.map_err(|error| memory_error(call, &error))?)
    }

    fn open_file(&self, call: &'static str, file: &File, bytes: usize) -> DriverResult<DevicePtr> {
        // SAFETY: the process that made the file never shortens it.
        let address = unsafe { self.space.open_file(file, bytes as u64) };
        self.allocated(address.map_err(|error| memory_error(call, &error))?)
    }
}
