//! Physical memory of devices: memory without addresses, in files in memory that have no name.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex};

use amdgpu_emulator::AddressSpace;

use super::device::lock;
use hip_driver::DeviceId;

/// What files of memory that other processes map can't do: change their length, or get other seals.
const SEALS: i32 = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

/// Memory of a device without an address, zero at first. It needs memory of the host where it was accessed.
pub struct PhysicalMemory {
    device: DeviceId,
    bytes: u64,
    file: Arc<File>,
    /// Where it begins in the file.
    offset: u64,
    /// Where it counts as allocated; `None` for another process's.
    space: Option<Arc<AddressSpace>>,
    /// Whether other processes may get the file.
    is_shareable: bool,
}

impl PhysicalMemory {
    /// Returns the device that has the memory.
    pub fn device(&self) -> DeviceId {
        self.device
    }

    /// Returns the length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The file, and where in it the memory begins.
    pub(super) fn place(&self) -> (&File, u64) {
        (&self.file, self.offset)
    }

    /// Returns a descriptor by which other processes import the memory.
    ///
    /// # Errors
    /// Memory that was not made to be shared, or no descriptor is left.
    pub fn export(&self) -> io::Result<OwnedFd> {
        match self.is_shareable {
            true => Ok(self.file.try_clone()?.into()),
            false => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Takes the memory of a descriptor that [`export`](Self::export) returned, perhaps in another process.
    pub(super) fn import(device: DeviceId, descriptor: OwnedFd) -> io::Result<PhysicalMemory> {
        let file = File::from(descriptor);
        // SAFETY: the call only reads the seals of an open file.
        let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
        let bytes = file.metadata()?.len();
        if seals != SEALS || bytes == 0 {
            return Err(io::Error::other("the descriptor is none of physical memory"));
        }
        let file = Arc::new(file);
        Ok(PhysicalMemory { device, bytes, file, offset: 0, space: None, is_shareable: true })
    }
}

impl Drop for PhysicalMemory {
    fn drop(&mut self) {
        if let Some(space) = &self.space {
            space.count_freed(self.bytes);
        }
        if !self.is_shareable
            && let Err(error) = punch(&self.file, self.offset, self.bytes)
        {
            log::error!("{} bytes of physical memory are not given back: {error}", self.bytes);
        }
    }
}

/// Makes a file of zero bytes in memory, which has no name.
fn memory_file() -> io::Result<File> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name is text that ends with a zero byte.
    let descriptor = unsafe { libc::memfd_create(c"hiplaunch".as_ptr(), flags) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is a new descriptor that nothing else owns.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

/// Gives a part of a file back to the host: it is zero from now on.
fn punch(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    let [offset, bytes] = [offset, bytes].map(|number| libc::off_t::try_from(number).unwrap_or(0));
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: the call changes a part of the file that belongs to memory which nothing maps any more.
    match unsafe { libc::fallocate(file.as_raw_fd(), mode, offset, bytes) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The file that has all memory which is not shared, so that there are few descriptors.
#[derive(Default)]
pub(super) struct PhysicalFile(Mutex<Option<(Arc<File>, u64)>>);

impl PhysicalFile {
    /// Makes the file longer, and returns where the new bytes begin. Offsets are never used again.
    fn extend(&self, bytes: u64) -> io::Result<(Arc<File>, u64)> {
        let mut file = lock(&self.0);
        let (known, end) = match &*file {
            Some((known, end)) => (Arc::clone(known), *end),
            None => (Arc::new(memory_file()?), 0),
        };
        let new_end = end.checked_add(bytes).ok_or(io::ErrorKind::InvalidInput)?;
        known.set_len(new_end)?;
        *file = Some((Arc::clone(&known), new_end));
        Ok((known, end))
    }

    /// Makes memory that was counted as allocated in `space`.
    pub(super) fn make(
        &self,
        device: DeviceId,
        bytes: u64,
        is_shareable: bool,
        space: &Arc<AddressSpace>,
    ) -> io::Result<PhysicalMemory> {
        let (file, offset) = match is_shareable {
            false => self.extend(bytes)?,
            true => {
                let file = memory_file()?;
                file.set_len(bytes)?;
                // SAFETY: the call only changes what can be done with the file.
                if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, SEALS) } != 0 {
                    return Err(io::Error::last_os_error());
                }
                (Arc::new(file), 0)
            }
        };
        Ok(PhysicalMemory { device, bytes, file, offset, space: Some(Arc::clone(space)), is_shareable })
    }
}
