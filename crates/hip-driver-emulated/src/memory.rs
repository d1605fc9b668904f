//! Memory beyond plain allocations: managed memory, memory of other processes, and whose memory an address is.
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
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::device::{Device, lock, memory_error};
use super::pinned::Owner;
use super::{EmulatedDriver, invalid};
use hip_driver::{DeviceId, DevicePtr, DriverError, DriverResult, ErrorCode, IpcHandle};

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
    pub(super) fn allocate_managed(
        &self,
        call: &'static str,
        device: DeviceId,
        bytes: usize,
    ) -> DriverResult<DevicePtr> {
        self.captures.allow(call)?;
        self.device(call, device)?;
        let pinned = self.pinned.allocate(call, bytes, Owner::Managed)?;
        // The program accesses it by the address alone.
        pinned.host.as_ptr().expose_provenance();
        self.map(call, pinned, Owner::Managed).map(|pinned| pinned.device)
    }

    pub(super) fn allocate_shared(
        &self,
        call: &'static str,
        device: DeviceId,
        bytes: usize,
    ) -> DriverResult<DevicePtr> {
        self.captures.allow(call)?;
        let device = self.device(call, device)?;
        if bytes == 0 {
            return Err(invalid(call, "an allocation of 0 bytes".into()));
        }
        let file = nameless_file(bytes as u64).map_err(|error| failed(call, &error))?;
        let ptr = device.allocate_file(call, &file, bytes)?;
        lock(&self.shared.0).insert(ptr.0, file);
        Ok(ptr)
    }

    pub(super) fn share(
        &self,
        call: &'static str,
        device: DeviceId,
        ptr: DevicePtr,
    ) -> DriverResult<IpcHandle> {
        let device = self.device(call, device)?;
        let mut shared = lock(&self.shared.0);
        let file = match shared.entry(ptr.0) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(device.move_to_file(call, ptr)?),
        };
        handle_of(file).map_err(|error| failed(call, &error))
    }

    pub(super) fn open(
        &self,
        call: &'static str,
        device: DeviceId,
        handle: &IpcHandle,
        bytes: usize,
    ) -> DriverResult<DevicePtr> {
        let device = self.device(call, device)?;
        let file = open_file(handle, bytes as u64).map_err(|problem| invalid(call, problem))?;
        device.open_file(call, &file, bytes)
    }

    pub(super) fn close(&self, call: &'static str, device: DeviceId, ptr: DevicePtr) -> DriverResult<()> {
        self.captures.allow(call)?;
        let device = self.any_device(call, device)?;
        if lock(&self.shared.0).contains_key(&ptr.0) {
            return Err(invalid(call, format!("{ptr} is not the beginning of opened memory")));
        }
        self.release(call, device, ptr)
    }

    /// Frees memory of a device when the work that was enqueued is done.
    pub(super) fn release(&self, call: &'static str, device: &Device, ptr: DevicePtr) -> DriverResult<()> {
        device.begin_free(call, ptr)?;
        device.drain(call).inspect_err(|_| device.cancel_free(ptr))?;
        // Before another allocation can get the address.
        lock(&self.shared.0).remove(&ptr.0);
        device.finish_free(ptr);
        Ok(())
    }

    /// The device that has the memory at an address; `None` for pinned and managed memory, which is every device's. Fails with
    /// `unknown` if there is no live memory.
    fn memory_of(
        &self,
        ptr: DevicePtr,
        bytes: usize,
        unknown: impl FnOnce() -> DriverError,
    ) -> DriverResult<Option<&Arc<Device>>> {
        match self.devices.iter().find(|device| device.space.owns(ptr.0)) {
            Some(owner) => Ok(Some(owner)),
            None if self.pinned.contains(std::ptr::without_provenance(ptr.0 as usize), bytes) => Ok(None),
            None => Err(unknown()),
        }
    }

    pub(super) fn owner_of(
        &self,
        call: &'static str,
        device: DeviceId,
        ptr: DevicePtr,
    ) -> DriverResult<DeviceId> {
        self.device(call, device)?;
        // Without the address, whose text would take longer than a small copy: programs copy from and to addresses that no driver knows.
        let unknown = || invalid(call, "the address is in no live memory of this driver".into());
        Ok(self.memory_of(ptr, 1, unknown)?.map_or(device, |owner| owner.id))
    }

    pub(super) fn host_address_of(
        &self,
        call: &'static str,
        device: DeviceId,
        ptr: DevicePtr,
        bytes: usize,
    ) -> DriverResult<Option<NonNull<u8>>> {
        self.device(call, device)?;
        let unknown = || invalid(call, format!("{ptr} is in no live memory of this driver"));
        match self.memory_of(ptr, bytes, unknown)? {
            Some(owner) => owner
                .space
                .host_address(ptr.0, bytes as u64)
                .map(Some)
                .map_err(|error| memory_error(call, &error)),
            // It has the host's address.
            None => Ok(NonNull::new(std::ptr::with_exposed_provenance_mut(ptr.0 as usize))),
        }
    }

    pub(super) fn make_fine_grained(
        &self,
        call: &'static str,
        device: DeviceId,
        ptr: DevicePtr,
        is_fine: bool,
    ) -> DriverResult<()> {
        self.device(call, device)?;
        // Every device that can access the memory.
        let set = self.devices.iter().filter(|device| device.space.set_fine_grained(ptr.0, is_fine).is_ok());
        if set.count() == 0 {
            return Err(invalid(call, format!("{ptr} is not the beginning of live memory")));
        }
        Ok(())
    }
}

fn failed(call: &'static str, error: &std::io::Error) -> DriverError {
    DriverError::with_detail(call, ErrorCode::OUT_OF_MEMORY, format!("shared memory: {error}"))
}

/// The bytes that are copied to a file at a time.
const CHUNK: u64 = 1 << 20;

impl Device {
    /// Moves a plain allocation to a file, when the work that was enqueued is done.
    fn move_to_file(&self, call: &'static str, ptr: DevicePtr) -> DriverResult<File> {
        let failed = |error: std::io::Error| failed(call, &error);
        let Some(found) = self.space.lookup(ptr.0).filter(|r| r.base == ptr.0 && self.space.owns(ptr.0))
        else {
            let detail = format!("{ptr} is not the beginning of memory of {}", self.id);
            return Err(invalid(call, detail));
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
