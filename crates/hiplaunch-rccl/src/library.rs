//! Finds and loads RCCL.

use std::ffi::CStr;
use std::mem::ManuallyDrop;
use std::path::Path;
use std::sync::Arc;

use rocm_library::LoadAttempt;

use crate::api::{Api, SUCCESS, UniqueId};
use crate::error::{Error, Result};

/// RCCL, loaded. Clones are the same library.
#[derive(Clone, Debug)]
pub struct Rccl(pub(crate) Arc<Loaded>);

#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) api: Api,
    /// AMD's own library, which knows GPUs alone.
    pub(crate) is_amds: bool,
    /// Never unloaded: RCCL starts threads.
    _library: ManuallyDrop<libloading::Library>,
}

impl Rccl {
    /// Loads `librccl.so.1`: from the loader's own search path, then from `$ROCM_PATH/lib`, then from `/opt/rocm/lib`.
    ///
    /// # Errors
    /// [`Error::NotFound`] with what was tried.
    pub fn load() -> Result<Rccl> {
        let mut tried = Vec::new();
        for place in rocm_library::candidates(&["librccl.so.1"], std::env::var_os("ROCM_PATH").as_deref()) {
            // SAFETY: a file of this name in these places is AMD's library.
            match unsafe { open(&place, true) } {
                Ok(rccl) => return Ok(rccl),
                Err(attempt) => tried.push(attempt),
            }
        }
        Err(Error::NotFound { tried })
    }

    /// Loads RCCL from a file.
    ///
    /// # Safety
    /// The file is an RCCL, or a library with its functions.
    ///
    /// # Errors
    /// [`Error::NotFound`] with the reason.
    pub unsafe fn open(file: impl AsRef<Path>) -> Result<Rccl> {
        // SAFETY: the caller's promise.
        unsafe { open(file.as_ref(), false) }.map_err(|attempt| Error::NotFound { tried: vec![attempt] })
    }

    /// Makes an identifier for a new communicator (`ncclGetUniqueId`). One rank makes it, and all ranks use it once.
    ///
    /// # Errors
    /// RCCL's.
    pub fn unique_id(&self) -> Result<UniqueId> {
        let mut id = UniqueId { bytes: [0; UniqueId::BYTES] };
        // SAFETY: a pointer to a live identifier.
        let code = unsafe { (self.0.api.get_unique_id)(&mut id) };
        self.check(None, "ncclGetUniqueId", code)?;
        Ok(id)
    }

    /// Converts the result of a function.
    pub(crate) fn check(&self, rank: Option<usize>, call: &'static str, code: i32) -> Result<()> {
        if code == SUCCESS {
            return Ok(());
        }
        // SAFETY: any value may be passed; the text is a constant of the library, which is never unloaded.
        let text = unsafe { (self.0.api.get_error_string)(code) };
        let message = if text.is_null() {
            "no text".to_owned()
        } else {
            // SAFETY: not null, and a C string as the header says.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        Err(Error::Rccl { rank, call, code, message })
    }
}

/// # Safety
/// As [`Rccl::open`].
unsafe fn open(file: &Path, is_amds: bool) -> std::result::Result<Rccl, LoadAttempt> {
    let failed = |reason| LoadAttempt { library: file.to_owned(), reason };
    // SAFETY: initialisers of RCCL require nothing of the program.
    let library = ManuallyDrop::new(unsafe { rocm_library::open(file.as_os_str()) }.map_err(failed)?);
    // SAFETY: the caller's promise, and the library is never unloaded.
    match unsafe { Api::resolve(&library) } {
        Ok(api) => Ok(Rccl(Arc::new(Loaded { api, is_amds, _library: library }))),
        Err(missing) => Err(failed(format!("functions are missing: {}", missing.join(", ")))),
    }
}
