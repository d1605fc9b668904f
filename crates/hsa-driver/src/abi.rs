//! HSA's types, as hsa.h and hsa_ext_amd.h have them in every version from 1.1 on (ROCm 5.2 to 7.2). The tests compare the sizes and places that
//! matter with what HSA's Runtime Programmer's Reference Manual 1.2 says.

use std::ffi::c_void;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub(crate) struct $name(pub(crate) u64);
    )*};
}

handles! {
    /// `hsa_agent_t`.
    Agent;
    /// `hsa_signal_t`; 0 is none.
    Signal;
    /// `hsa_amd_memory_pool_t`.
    Pool;
    /// `hsa_isa_t`.
    Isa;
    /// `hsa_code_object_reader_t`.
    Reader;
    /// `hsa_executable_t`.
    Executable;
    /// `hsa_executable_symbol_t`.
    Symbol;
    /// `hsa_loaded_code_object_t`.
    Loaded;
}

/// A `hsa_status_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Status(pub(crate) u32);

impl Status {
    pub(crate) const SUCCESS: Status = Status(0);
    /// Ends an iteration without an error (`HSA_STATUS_INFO_BREAK`).
    pub(crate) const BREAK: Status = Status(1);
    pub(crate) const MEMORY_APERTURE_VIOLATION: Status = Status(0x29);
    pub(crate) const ILLEGAL_INSTRUCTION: Status = Status(0x2a);
    pub(crate) const MEMORY_FAULT: Status = Status(0x2b);
    pub(crate) const INVALID_ALLOCATION: Status = Status(0x1003);
    pub(crate) const OUT_OF_RESOURCES: Status = Status(0x1008);
    pub(crate) const INCOMPATIBLE_ARGUMENTS: Status = Status(0x100d);
    pub(crate) const INVALID_ISA: Status = Status(0x100f);
    pub(crate) const INVALID_CODE_OBJECT: Status = Status(0x1010);
    pub(crate) const EXCEPTION: Status = Status(0x1016);
}

/// `hsa_queue_t`.
#[repr(C)]
pub(crate) struct QueueHeader {
    pub(crate) kind: u32,
    pub(crate) features: u32,
    pub(crate) base: *mut c_void,
    pub(crate) doorbell: Signal,
    pub(crate) size: u32,
    pub(crate) reserved: u32,
    pub(crate) id: u64,
}

/// The places of the two apertures in `amd_queue_t`, which begins with a `hsa_queue_t` (amd_hsa_queue.h).
pub(crate) const GROUP_APERTURE_AT: usize = 0x40;
pub(crate) const PRIVATE_APERTURE_AT: usize = 0x44;

/// `hsa_amd_profiling_dispatch_time_t`, in ticks of the system's counter.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Period {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// `hsa_amd_pointer_info_t`.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct PointerInfo {
    /// The bytes of this struct.
    pub(crate) size: u32,
    /// 0 is of no allocation.
    pub(crate) kind: u32,
    pub(crate) agent_base: *mut c_void,
    pub(crate) host_base: *mut c_void,
    pub(crate) bytes: usize,
    pub(crate) user_data: *mut c_void,
    pub(crate) owner: Agent,
    pub(crate) flags: u32,
}

/// `hsa_amd_event_t`, of which the largest variant has 24 bytes.
#[repr(C)]
pub(crate) struct Event {
    pub(crate) kind: u32,
    pub(crate) agent: Agent,
    /// Of a memory fault.
    pub(crate) address: u64,
    /// Of a memory fault: bits of why.
    pub(crate) reasons: u32,
}

/// `HSA_AMD_GPU_MEMORY_FAULT_EVENT`.
pub(crate) const MEMORY_FAULT_EVENT: u32 = 0;

pub(crate) type QueueCallback = unsafe extern "C" fn(Status, *mut QueueHeader, *mut c_void);
pub(crate) type EventHandler = unsafe extern "C" fn(*const Event, *mut c_void) -> Status;

/// Attributes, flags and constants, by the function that takes them.
pub(crate) mod agent_info {
    pub(crate) const NAME: u32 = 0;
    pub(crate) const WAVEFRONT_SIZE: u32 = 6;
    pub(crate) const WORKGROUP_MAX_DIM: u32 = 7;
    pub(crate) const WORKGROUP_MAX_SIZE: u32 = 8;
    pub(crate) const QUEUE_MAX_SIZE: u32 = 14;
    pub(crate) const DEVICE: u32 = 17;
    pub(crate) const CACHE_SIZE: u32 = 18;
    pub(crate) const COMPUTE_UNITS: u32 = 0xa002;
    pub(crate) const MAX_CLOCK_MHZ: u32 = 0xa003;
    pub(crate) const BDF: u32 = 0xa006;
    pub(crate) const MEMORY_WIDTH: u32 = 0xa007;
    pub(crate) const MEMORY_CLOCK_MHZ: u32 = 0xa008;
    pub(crate) const PRODUCT_NAME: u32 = 0xa009;
    pub(crate) const MAX_WAVES_PER_CU: u32 = 0xa00a;
    pub(crate) const DOMAIN: u32 = 0xa00f;
    pub(crate) const MEMORY_AVAILABLE: u32 = 0xa015;
    /// `HSA_DEVICE_TYPE_CPU`, `HSA_DEVICE_TYPE_GPU`.
    pub(crate) const CPU: u32 = 0;
    pub(crate) const GPU: u32 = 1;
}

pub(crate) mod pool_info {
    pub(crate) const SEGMENT: u32 = 0;
    pub(crate) const GLOBAL_FLAGS: u32 = 1;
    pub(crate) const SIZE: u32 = 2;
    pub(crate) const ALLOC_ALLOWED: u32 = 5;
    /// `HSA_AMD_SEGMENT_GLOBAL`, `HSA_AMD_SEGMENT_GROUP`.
    pub(crate) const GLOBAL: u32 = 0;
    pub(crate) const GROUP: u32 = 3;
    pub(crate) const KERNARG: u32 = 1;
    pub(crate) const FINE_GRAINED: u32 = 2;
    pub(crate) const COARSE_GRAINED: u32 = 4;
    /// Of an agent and a pool: `HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS`, `HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED`.
    pub(crate) const ACCESS: u32 = 0;
    pub(crate) const NEVER: u32 = 0;
}

pub(crate) mod symbol_info {
    pub(crate) const VARIABLE_SIZE: u32 = 9;
    pub(crate) const PRIVATE_BYTES: u32 = 14;
    pub(crate) const VARIABLE_ADDRESS: u32 = 21;
    pub(crate) const KERNEL_OBJECT: u32 = 22;
}

pub(crate) mod system_info {
    pub(crate) const VERSION_MAJOR: u32 = 0;
    pub(crate) const VERSION_MINOR: u32 = 1;
    pub(crate) const TIMESTAMP_FREQUENCY: u32 = 3;
    pub(crate) const BUILD_VERSION: u32 = 0x200;
}

/// `HSA_ISA_INFO_NAME_LENGTH`, `HSA_ISA_INFO_NAME`.
pub(crate) const ISA_NAME_LENGTH: u32 = 0;
pub(crate) const ISA_NAME: u32 = 1;

/// `HSA_QUEUE_TYPE_MULTI`, `HSA_PROFILE_BASE`, `HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT`.
pub(crate) const MULTI_PRODUCER: u32 = 0;
pub(crate) const BASE_PROFILE: u32 = 0;
pub(crate) const DEFAULT_ROUNDING: u32 = 0;

/// `HSA_SIGNAL_CONDITION_NE`, `HSA_SIGNAL_CONDITION_LT` and `HSA_WAIT_STATE_BLOCKED`.
pub(crate) const NOT_EQUAL: u32 = 1;
pub(crate) const LESS: u32 = 2;
pub(crate) const BLOCKED: u32 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_are_laid_out_as_in_c() {
        assert_eq!(std::mem::offset_of!(QueueHeader, doorbell), 16);
        assert_eq!(std::mem::offset_of!(QueueHeader, id), 32);
        assert_eq!(size_of::<QueueHeader>(), 40);
        assert_eq!((size_of::<PointerInfo>(), std::mem::offset_of!(PointerInfo, owner)), (56, 40));
        assert_eq!((size_of::<Event>(), std::mem::offset_of!(Event, address)), (32, 16));
    }
}
