//! The functions of RCCL that are used, and their types: RCCL's public header `rccl/rccl.h` (ROCm/rccl, src/nccl.h.in).
//! They are the same since RCCL 2.7; later versions only add values to the enumerations.

use std::ffi::{c_char, c_int, c_void};

/// `ncclComm_t`.
pub(crate) type Comm = *mut c_void;

/// `hipStream_t`.
pub(crate) type HipStream = *mut c_void;

/// `ncclUniqueId`: what the ranks of a communicator must have in common. Rank 0 makes one, and gives its bytes to the
/// others, for example through MPI or a file.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct UniqueId {
    pub(crate) bytes: [u8; UniqueId::BYTES],
}

impl UniqueId {
    /// `NCCL_UNIQUE_ID_BYTES`.
    pub const BYTES: usize = 128;

    /// Returns the bytes, to be sent to other processes.
    pub fn to_bytes(self) -> [u8; UniqueId::BYTES] {
        self.bytes
    }

    /// Returns the identifier with these bytes.
    pub fn from_bytes(bytes: [u8; UniqueId::BYTES]) -> UniqueId {
        UniqueId { bytes }
    }
}

impl std::fmt::Debug for UniqueId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("UniqueId(..)")
    }
}

// `ncclResult_t`. All other values are errors.
pub(crate) const SUCCESS: c_int = 0;
/// Since 2.14: a communicator that does not block is still at work.
pub(crate) const IN_PROGRESS: c_int = 7;

macro_rules! functions {
    ($($field:ident $name:literal ($($argument:ty),*) -> $result:ty;)*) => {
        /// The addresses of the functions.
        #[derive(Debug)]
        pub(crate) struct Api {
            $(pub(crate) $field: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Api {
            /// Finds every function, or returns the names of those that are missing.
            ///
            /// # Safety
            /// `library` is an RCCL, and is never unloaded.
            pub(crate) unsafe fn resolve(library: &libloading::Library) -> Result<Api, Vec<&'static str>> {
                let mut missing = Vec::new();
                $(
                    // SAFETY: RCCL's function of this name has this type, as its header says.
                    let $field = unsafe {
                        library.get::<unsafe extern "C" fn($($argument),*) -> $result>($name)
                    };
                    let $field = $field.map(|symbol| *symbol).map_err(|_| missing.push($name)).ok();
                )*
                match ($($field,)*) {
                    ($(Some($field),)*) => Ok(Api { $($field,)* }),
                    _ => Err(missing),
                }
            }
        }
    };
}

functions! {
    get_error_string "ncclGetErrorString" (c_int) -> *const c_char;
    get_unique_id "ncclGetUniqueId" (*mut UniqueId) -> c_int;
    comm_init_rank "ncclCommInitRank" (*mut Comm, c_int, UniqueId, c_int) -> c_int;
    comm_destroy "ncclCommDestroy" (Comm) -> c_int;
    comm_abort "ncclCommAbort" (Comm) -> c_int;
    comm_get_async_error "ncclCommGetAsyncError" (Comm, *mut c_int) -> c_int;
    group_start "ncclGroupStart" () -> c_int;
    group_end "ncclGroupEnd" () -> c_int;
    all_reduce "ncclAllReduce" (*const c_void, *mut c_void, usize, c_int, c_int, Comm, HipStream) -> c_int;
    broadcast "ncclBroadcast" (*const c_void, *mut c_void, usize, c_int, c_int, Comm, HipStream) -> c_int;
    all_gather "ncclAllGather" (*const c_void, *mut c_void, usize, c_int, Comm, HipStream) -> c_int;
    reduce_scatter "ncclReduceScatter" (*const c_void, *mut c_void, usize, c_int, c_int, Comm, HipStream) -> c_int;
    send "ncclSend" (*const c_void, usize, c_int, c_int, Comm, HipStream) -> c_int;
    recv "ncclRecv" (*mut c_void, usize, c_int, c_int, Comm, HipStream) -> c_int;
}
