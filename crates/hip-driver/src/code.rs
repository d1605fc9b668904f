//! Result codes in HIP's numbering. They are integers, not an enum, since each release of HIP adds some.

use std::fmt;

/// A `hipError_t` as an integer. It may be a code that this version does not know.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct ErrorCode(pub i32);

macro_rules! codes {
    ($($name:ident = $value:literal, $hip:literal, $advice:literal;)*) => {
        impl ErrorCode {
            $(#[doc = concat!("`", $hip, "`: ", $advice)] pub const $name: ErrorCode = ErrorCode($value);)*

            /// Returns HIP's name of the code; `None` if this version does not know the code.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 { $($value => Some($hip),)* _ => None }
            }

            /// Returns what the code means or what to do about it, in half a sentence.
            pub const fn advice(self) -> &'static str {
                match self.0 { $($value => $advice,)* _ => "a code that this version does not know; see the HIP release notes" }
            }
        }
    };
}

codes! {
    SUCCESS = 0, "hipSuccess", "no error";
    INVALID_VALUE = 1, "hipErrorInvalidValue", "an argument of the call is out of range";
    OUT_OF_MEMORY = 2, "hipErrorOutOfMemory", "free device memory or ask for less";
    NOT_INITIALIZED = 3, "hipErrorNotInitialized", "the runtime was not initialised";
    DEINITIALIZED = 4, "hipErrorDeinitialized", "the runtime was shut down (process exit)";
    INVALID_CONFIGURATION = 9, "hipErrorInvalidConfiguration", "check grid, block and dynamic LDS against the device's limits";
    INVALID_SYMBOL = 13, "hipErrorInvalidSymbol", "no such symbol in the module";
    INVALID_DEVICE_POINTER = 17, "hipErrorInvalidDevicePointer", "the address is not a live allocation of this device";
    INVALID_MEMCPY_DIRECTION = 21, "hipErrorInvalidMemcpyDirection", "the copy's direction does not fit its addresses";
    INSUFFICIENT_DRIVER = 35, "hipErrorInsufficientDriver", "the kernel driver is older than the runtime";
    INVALID_DEVICE_FUNCTION = 98, "hipErrorInvalidDeviceFunction", "no code for this device";
    NO_DEVICE = 100, "hipErrorNoDevice", "no AMD GPU is visible (permissions of /dev/kfd, ROCR_VISIBLE_DEVICES)";
    INVALID_DEVICE = 101, "hipErrorInvalidDevice", "the device ordinal is out of range";
    INVALID_IMAGE = 200, "hipErrorInvalidImage", "the bytes are not a code object";
    INVALID_CONTEXT = 201, "hipErrorInvalidContext", "a handle of another device was used";
    NO_BINARY_FOR_GPU = 209, "hipErrorNoBinaryForGpu", "compile the kernel for this device's target";
    ECC_NOT_CORRECTABLE = 214, "hipErrorECCNotCorrectable", "the device's memory failed; reset it";
    INVALID_KERNEL_FILE = 218, "hipErrorInvalidKernelFile", "the bytes are not a code object";
    FILE_NOT_FOUND = 301, "hipErrorFileNotFound", "the file does not exist";
    SHARED_OBJECT_SYMBOL_NOT_FOUND = 302, "hipErrorSharedObjectSymbolNotFound", "no such symbol in the module";
    SHARED_OBJECT_INIT_FAILED = 303, "hipErrorSharedObjectInitFailed", "the runtime could not load the code object (a newer code object version?)";
    INVALID_HANDLE = 400, "hipErrorInvalidHandle", "the stream, event, module or kernel was destroyed or never existed";
    ILLEGAL_STATE = 401, "hipErrorIllegalState", "the resource is not in a state for this call";
    NOT_FOUND = 500, "hipErrorNotFound", "no kernel or global of that name in the module";
    NOT_READY = 600, "hipErrorNotReady", "work is still in flight";
    ILLEGAL_ADDRESS = 700, "hipErrorIllegalAddress", "a kernel accessed memory outside any allocation; the device context is lost";
    LAUNCH_OUT_OF_RESOURCES = 701, "hipErrorLaunchOutOfResources", "the kernel needs more registers or LDS than the device has";
    LAUNCH_TIME_OUT = 702, "hipErrorLaunchTimeOut", "the kernel exceeded its budget of time or instructions; the device context is lost";
    PEER_ACCESS_ALREADY_ENABLED = 704, "hipErrorPeerAccessAlreadyEnabled", "nothing to do";
    PEER_ACCESS_NOT_ENABLED = 705, "hipErrorPeerAccessNotEnabled", "enable peer access first";
    CONTEXT_IS_DESTROYED = 709, "hipErrorContextIsDestroyed", "the device context is lost";
    ASSERT = 710, "hipErrorAssert", "a device-side assert or trap fired; the device context is lost";
    HOST_MEMORY_ALREADY_REGISTERED = 712, "hipErrorHostMemoryAlreadyRegistered", "the range is pinned already";
    HOST_MEMORY_NOT_REGISTERED = 713, "hipErrorHostMemoryNotRegistered", "the range was never pinned";
    LAUNCH_FAILURE = 719, "hipErrorLaunchFailure", "a kernel faulted; the device context is lost";
    COOPERATIVE_LAUNCH_TOO_LARGE = 720, "hipErrorCooperativeLaunchTooLarge", "the grid does not fit on the device at once";
    NOT_SUPPORTED = 801, "hipErrorNotSupported", "this driver lacks the capability";
    STREAM_CAPTURE_UNSUPPORTED = 900, "hipErrorStreamCaptureUnsupported", "the call is illegal while a stream is captured";
    STREAM_CAPTURE_INVALIDATED = 901, "hipErrorStreamCaptureInvalidated", "an earlier call broke the capture";
    STREAM_CAPTURE_MERGE = 902, "hipErrorStreamCaptureMerge", "a stream of one capture would wait for another capture";
    STREAM_CAPTURE_UNMATCHED = 903, "hipErrorStreamCaptureUnmatched", "end the capture on the stream on which it was begun";
    STREAM_CAPTURE_UNJOINED = 904, "hipErrorStreamCaptureUnjoined", "a forked stream was not joined before the capture ended";
    STREAM_CAPTURE_ISOLATION = 905, "hipErrorStreamCaptureIsolation", "captured work would wait for work outside the capture";
    STREAM_CAPTURE_IMPLICIT = 906, "hipErrorStreamCaptureImplicit", "the null stream depends on a capture";
    CAPTURED_EVENT = 907, "hipErrorCapturedEvent", "the event was recorded in a capture";
    STREAM_CAPTURE_WRONG_THREAD = 908, "hipErrorStreamCaptureWrongThread", "end the capture on the thread that began it";
    UNKNOWN = 999, "hipErrorUnknown", "the runtime gave no reason; AMD_LOG_LEVEL=4 may show one";
}

impl ErrorCode {
    /// Returns whether every later call on the device's context fails too.
    pub const fn is_sticky(self) -> bool {
        matches!(self.0, 214 | 700 | 702 | 709 | 710 | 719 | 999)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.0),
            None => write!(f, "code {}", self.0),
        }
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A driver call that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call} failed: {code}: {}{}", code.advice(), detail.as_deref().map(|d| format!(" [{d}]")).unwrap_or_default())]
pub struct DriverError {
    /// The call in HIP's name, such as `hipMemcpyHtoDAsync`.
    pub call: &'static str,
    /// The code that the call returned.
    pub code: ErrorCode,
    /// More that the driver knows, such as a fault report, a file name or the missing symbol.
    pub detail: Option<Box<str>>,
}

impl DriverError {
    /// Creates an error without details.
    pub const fn new(call: &'static str, code: ErrorCode) -> Self {
        DriverError { call, code, detail: None }
    }

    /// Creates an error with details.
    pub fn with_detail(call: &'static str, code: ErrorCode, detail: impl Into<String>) -> Self {
        DriverError { call, code, detail: Some(detail.into().into_boxed_str()) }
    }
}

/// The result of a driver call.
pub type DriverResult<T> = Result<T, DriverError>;
