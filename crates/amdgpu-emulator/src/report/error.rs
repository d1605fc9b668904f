//! The errors of the crate.

use super::defect::Defect;
use super::fault::FaultReport;

/// A `Result` with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the emulator.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The code object is for a processor that this crate doesn't emulate.
    #[error("{0}; compile it for one of these")]
    UnsupportedTarget(#[from] amdgpu_isa::Error),
    /// The code object has an image instruction that is not executed.
    #[error(
        "the code object for {target} has an image instruction, which the emulator doesn't run: {instruction} at \
         {address:#x} in {function}; compile it without textures and surfaces"
    )]
    ImageInstruction {
        /// The code object's target.
        target: String,
        /// The name of the function that contains the instruction.
        function: String,
        /// The ELF virtual address of the instruction.
        address: u64,
        /// The disassembled instruction.
        instruction: String,
    },
    /// The code object can't be loaded or decoded; the text says why.
    #[error("the code object can't be loaded: {0}")]
    BadCodeObject(String),
    /// An argument of the call, such as a size or an alignment, is invalid; the text says which and why.
    #[error("invalid argument: {0}")]
    InvalidArgument(String),
    /// The dispatch breaks a limit of the kernel or the device.
    #[error("kernel {kernel}: {reason}")]
    InvalidLaunch {
        /// The kernel's name.
        kernel: String,
        /// The limit, and the value that exceeds it.
        reason: String,
    },
    /// There is not enough device memory.
    #[error("out of device memory: {requested} bytes requested, {free} of {total} bytes free")]
    OutOfMemory {
        /// Bytes that were requested.
        requested: u64,
        /// Bytes that were free.
        free: u64,
        /// Capacity of the device memory in bytes.
        total: u64,
    },
    /// No live allocation begins at the address.
    #[error("{address:#x} is not the start of a live allocation: freed twice, or never allocated")]
    NotAnAllocation {
        /// The guest address.
        address: u64,
    },
    /// The host accessed device memory outside of any live range.
    #[error("{len} bytes at {address:#x} are not inside one live allocation: {nearest}")]
    OutOfBounds {
        /// The first guest address of the access.
        address: u64,
        /// The length of the access in bytes.
        len: u64,
        /// The nearest live and freed ranges, as text.
        nearest: String,
    },
    /// The kernel faulted and was stopped. It may have written some of its results. The machine can be used again.
    #[error("{0}")]
    Fault(Box<FaultReport>),
    /// The sanitizer ([`MachineConfig::sanitize`](crate::MachineConfig::sanitize)) found defects. The kernel has run to
    /// its end. The machine can be used again.
    #[error("kernel {kernel}: the sanitizer found defects:{}", listed(defects))]
    Sanitizer {
        /// The kernel's name.
        kernel: String,
        /// The defects: one for each instruction or pair of instructions, at most 64.
        defects: Vec<Defect>,
    },
    /// A thread that ran the kernel panicked: in the [`Printer`](crate::Printer) or the sink of an
    /// [`InstructionTrace`](crate::InstructionTrace), or because of a bug in the emulator. The kernel was stopped
    /// before all of its workgroups had ended. The machine can be used again.
    #[error(
        "kernel {kernel}: at least {ended} of {total} workgroups ended, then a thread panicked: {reason}"
    )]
    Incomplete {
        /// The kernel's name.
        kernel: String,
        /// The number of workgroups that had ended, at least.
        ended: u64,
        /// The number of workgroups of the dispatch.
        total: u64,
        /// The message of the panic.
        reason: String,
    },
}

/// Formats each defect on a line of its own.
fn listed(defects: &[Defect]) -> String {
    defects.iter().map(|defect| format!("\n{defect}")).collect()
}
