//! Addresses of the host that are reserved, and pages of files that are mapped there.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

/// Reserved addresses. Nothing else of the process gets them until this is dropped; what is mapped there is unmapped then.
pub(super) struct Reserved {
    ptr: NonNull<u8>,
    bytes: usize,
}

/// Checks what `mmap` returned.
fn mapped(ptr: *mut libc::c_void) -> io::Result<NonNull<u8>> {
    match NonNull::new(ptr.cast()) {
        Some(mapped) if ptr != libc::MAP_FAILED => Ok(mapped),
        _ => Err(io::Error::last_os_error()),
    }
}

const PRIVATE: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

impl Reserved {
    /// Reserves `bytes` addresses. They need no memory, and nothing may access them before something is mapped there.
    pub(super) fn new(bytes: usize) -> io::Result<Reserved> {
        // SAFETY: a new mapping at an address of the system's choice changes no memory of the process.
        let ptr = unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_NONE, PRIVATE, -1, 0) };
        Ok(Reserved { ptr: mapped(ptr)?, bytes })
    }

    /// Takes `bytes` bytes of zeroed memory at an address, which is that of a page. Fails if the process has other memory there.
    pub(super) fn zeroed_at(address: u64, bytes: usize) -> io::Result<Reserved> {
        let at = std::ptr::with_exposed_provenance_mut(usize::try_from(address).map_err(io::Error::other)?);
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, PRIVATE | libc::MAP_FIXED_NOREPLACE);
        // SAFETY: the flag keeps other memory of the process as it is.
        let ptr = mapped(unsafe { libc::mmap(at, bytes, access, flags, -1, 0) })?;
        let reserved = Reserved { ptr, bytes };
        // Kernels older than Linux 4.17 take the address as a wish.
        if ptr.as_ptr().cast() != at {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        Ok(reserved)
    }

    pub(super) fn ptr(&self) -> NonNull<u8> {
        self.ptr
    }

    /// The address of a part; an error if it is not in the range.
    fn part(&self, offset: usize, bytes: usize) -> io::Result<*mut libc::c_void> {
        if bytes == 0 || offset.checked_add(bytes).is_none_or(|end| end > self.bytes) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(self.ptr.as_ptr().wrapping_add(offset).cast())
    }

    /// Maps `bytes` bytes of a file, from the byte `at` on, to be read and written, in the place of what was there.
    ///
    /// # Safety
    /// The file has these bytes until they are unmapped, or something else is mapped there.
    pub(super) unsafe fn map(&self, offset: usize, bytes: usize, file: &File, at: u64) -> io::Result<()> {
        let to = self.part(offset, bytes)?;
        let at = libc::off_t::try_from(at).map_err(io::Error::other)?;
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
        // SAFETY: the addresses are this range's own, so that no other memory of the process is replaced. What was there is
        // accessed through `raw` alone, which sees the file's bytes from now on.
        mapped(unsafe { libc::mmap(to, bytes, access, flags, file.as_raw_fd(), at) }).map(drop)
    }

    /// Takes off what was mapped. The pages stay valid for who still knows them, but are not the file's any more.
    pub(super) fn unmap(&self, offset: usize, bytes: usize) -> io::Result<()> {
        let to = self.part(offset, bytes)?;
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, PRIVATE | libc::MAP_FIXED);
        // SAFETY: as in `map`.
        mapped(unsafe { libc::mmap(to, bytes, access, flags, -1, 0) }).map(drop)
    }

    /// Says whether what is mapped may be written. A write to what may not is a signal, which [`refused`](super::refused)
    /// handles for those who watch the range.
    pub(super) fn protect(&self, offset: usize, bytes: usize, read_only: bool) -> io::Result<()> {
        let to = self.part(offset, bytes)?;
        let access = if read_only { libc::PROT_READ } else { libc::PROT_READ | libc::PROT_WRITE };
        // SAFETY: the pages are this range's own and stay mapped; they are accessed through `raw` alone.
        match unsafe { libc::mprotect(to, bytes, access) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        // SAFETY: the addresses are this range's own, and who drops it accesses them no more.
        unsafe { libc::munmap(self.ptr.as_ptr().cast(), self.bytes) };
    }
}
