//! `hsa_status_t`: the codes and their texts.

use std::ffi::CStr;

use crate::abi::{Code, Out, StaticText};

/// A `hsa_status_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Status(pub(crate) u32);

impl Code for Status {
    const SUCCESS: Status = Status(0);
    const FAILED: Status = Status::ERROR;
    const BAD_ARGUMENT: Status = Status::INVALID_ARGUMENT;
    const NOT_SUPPORTED: Status = Status(47);
}

/// Makes of each row a code, and of all rows the texts.
macro_rules! codes {
    ($($name:ident = $value:literal, $hsa:literal, $text:literal;)*) => {
        impl Status {
            $(#[allow(dead_code, reason = "a complete list")]
            pub(crate) const $name: Status = Status($value);)*
        }

        /// HSA's name and text of a code.
        fn describe(status: Status) -> Option<&'static CStr> {
            let text = match status.0 { $($value => concat!($hsa, ": ", $text, "\0"),)* _ => return None };
            CStr::from_bytes_with_nul(text.as_bytes()).ok()
        }
    };
}

// Of hsa.h and hsa_ext_amd.h (ROCm 7.2).
codes! {
    NONE = 0, "HSA_STATUS_SUCCESS", "The function has been executed successfully.";
    INFO_BREAK = 1, "HSA_STATUS_INFO_BREAK", "A traversal has been interrupted by the application before completing.";
    INVALID_MEMORY_POOL = 40, "HSA_STATUS_ERROR_INVALID_MEMORY_POOL", "The memory pool is invalid.";
    MEMORY_APERTURE_VIOLATION = 41, "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION", "An access outside an aperture.";
    ILLEGAL_INSTRUCTION = 42, "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION", "An illegal instruction.";
    MEMORY_FAULT = 43, "HSA_STATUS_ERROR_MEMORY_FAULT", "An access to memory that is not there.";
    CU_MASK_REDUCED = 44, "HSA_STATUS_CU_MASK_REDUCED", "The mask of compute units was reduced.";
    OUT_OF_REGISTERS = 45, "HSA_STATUS_ERROR_OUT_OF_REGISTERS", "A kernel needs more registers than there are.";
    RESOURCE_BUSY = 46, "HSA_STATUS_ERROR_RESOURCE_BUSY", "The resource is busy.";
    UNSUPPORTED = 47, "HSA_STATUS_ERROR_NOT_SUPPORTED", "The request is not supported.";
    ERROR = 0x1000, "HSA_STATUS_ERROR", "A generic error has occurred.";
    INVALID_ARGUMENT = 0x1001, "HSA_STATUS_ERROR_INVALID_ARGUMENT", "An argument does not meet what is documented of it.";
    INVALID_QUEUE_CREATION = 0x1002, "HSA_STATUS_ERROR_INVALID_QUEUE_CREATION", "The requested queue is not valid.";
    INVALID_ALLOCATION = 0x1003, "HSA_STATUS_ERROR_INVALID_ALLOCATION", "The requested allocation is not valid.";
    INVALID_AGENT = 0x1004, "HSA_STATUS_ERROR_INVALID_AGENT", "The agent is invalid.";
    INVALID_REGION = 0x1005, "HSA_STATUS_ERROR_INVALID_REGION", "The memory region is invalid.";
    INVALID_SIGNAL = 0x1006, "HSA_STATUS_ERROR_INVALID_SIGNAL", "The signal is invalid.";
    INVALID_QUEUE = 0x1007, "HSA_STATUS_ERROR_INVALID_QUEUE", "The queue is invalid.";
    OUT_OF_RESOURCES = 0x1008, "HSA_STATUS_ERROR_OUT_OF_RESOURCES", "The runtime failed to allocate what it needs.";
    INVALID_PACKET_FORMAT = 0x1009, "HSA_STATUS_ERROR_INVALID_PACKET_FORMAT", "The AQL packet is malformed.";
    RESOURCE_FREE = 0x100a, "HSA_STATUS_ERROR_RESOURCE_FREE", "An error has been detected while releasing a resource.";
    NOT_INITIALIZED = 0x100b, "HSA_STATUS_ERROR_NOT_INITIALIZED", "The reference count of the runtime is zero.";
    REFCOUNT_OVERFLOW = 0x100c, "HSA_STATUS_ERROR_REFCOUNT_OVERFLOW", "The maximum reference count has been reached.";
    INCOMPATIBLE_ARGUMENTS = 0x100d, "HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS", "The arguments are not compatible.";
    INVALID_INDEX = 0x100e, "HSA_STATUS_ERROR_INVALID_INDEX", "The index is invalid.";
    INVALID_ISA = 0x100f, "HSA_STATUS_ERROR_INVALID_ISA", "The instruction set architecture is invalid.";
    INVALID_CODE_OBJECT = 0x1010, "HSA_STATUS_ERROR_INVALID_CODE_OBJECT", "The code object is invalid.";
    INVALID_EXECUTABLE = 0x1011, "HSA_STATUS_ERROR_INVALID_EXECUTABLE", "The executable is invalid.";
    FROZEN_EXECUTABLE = 0x1012, "HSA_STATUS_ERROR_FROZEN_EXECUTABLE", "The executable is frozen.";
    INVALID_SYMBOL_NAME = 0x1013, "HSA_STATUS_ERROR_INVALID_SYMBOL_NAME", "There is no symbol with the given name.";
    VARIABLE_ALREADY_DEFINED = 0x1014, "HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED", "The variable is defined already.";
    VARIABLE_UNDEFINED = 0x1015, "HSA_STATUS_ERROR_VARIABLE_UNDEFINED", "The variable is undefined.";
    EXCEPTION = 0x1016, "HSA_STATUS_ERROR_EXCEPTION", "An operation resulted in a hardware exception.";
    INVALID_ISA_NAME = 0x1017, "HSA_STATUS_ERROR_INVALID_ISA_NAME", "The name of an instruction set is invalid.";
    INVALID_CODE_SYMBOL = 0x1018, "HSA_STATUS_ERROR_INVALID_CODE_SYMBOL", "The code object symbol is invalid.";
    INVALID_EXECUTABLE_SYMBOL = 0x1019, "HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL", "The executable symbol is invalid.";
    INVALID_FILE = 0x1020, "HSA_STATUS_ERROR_INVALID_FILE", "The file descriptor is invalid.";
    INVALID_CODE_OBJECT_READER = 0x1021, "HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER", "The code object reader is invalid.";
    INVALID_CACHE = 0x1022, "HSA_STATUS_ERROR_INVALID_CACHE", "The cache is invalid.";
    INVALID_WAVEFRONT = 0x1023, "HSA_STATUS_ERROR_INVALID_WAVEFRONT", "The wavefront is invalid.";
    INVALID_SIGNAL_GROUP = 0x1024, "HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP", "The signal group is invalid.";
    INVALID_RUNTIME_STATE = 0x1025, "HSA_STATUS_ERROR_INVALID_RUNTIME_STATE", "The runtime is not in the configuration state.";
    FATAL = 0x1026, "HSA_STATUS_ERROR_FATAL", "The queue received an error that may require the process to end.";
}

pub(crate) fn hsa_status_string(status: Status, text: Out<StaticText>) -> Result<(), Status> {
    text.set(StaticText::new(describe(status).ok_or(Status::INVALID_ARGUMENT)?))
}
