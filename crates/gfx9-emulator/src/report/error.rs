//! Errors: what the caller got wrong, or what the kernel did.

use super::defect::Defect;
use super::fault::FaultReport;

/// A `Result` with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The code object is for a processor that this crate doesn't emulate.
    #[error("{0}; compile it for one of these")]
    UnsupportedTarget(#[from] gfx9_isa::Error),
    /// The code object has an image instruction.
    #[error(
        "the code object for {target} has an image instruction, which the emulator doesn't run: {instruction} at \
         {address:#x} in {function}; compile it without textures and surfaces"
    )]
    ImageInstruction {
        /// The code object's target.
        target: String,
        /// The function that it is in.
        function: String,
        /// Its ELF virtual address.
        address: u64,
        /// Disassembled.
        instruction: String,
    },
    /// The code object can't be loaded as it is.
    #[error("the code object can't be loaded: {0}")]
    BadCodeObject(String),
    /// A size, alignment or the like that makes no sense.
    #[error("invalid argument: {0}")]
    InvalidArgument(String),
    /// A launch that breaks the kernel's or the device's limits.
    #[error("kernel {kernel}: {reason}")]
    InvalidLaunch {
        /// The kernel.
        kernel: String,
        /// What is wrong, and the limit.
        reason: String,
    },
    /// Not enough device memory.
    #[error("out of device memory: {requested} bytes requested, {free} of {total} bytes free")]
    OutOfMemory {
        /// Bytes asked for.
        requested: u64,
        /// Bytes that were free.
        free: u64,
        /// Bytes in all.
        total: u64,
    },
    /// An address that no live allocation begins at.
    #[error("{address:#x} is not the start of a live allocation: freed twice, or never allocated")]
    NotAnAllocation {
        /// The address.
        address: u64,
    },
    /// A host access to device memory outside of any live range.
    #[error("{len} bytes at {address:#x} are not inside one live allocation: {nearest}")]
    OutOfBounds {
        /// First address.
        address: u64,
        /// Length in bytes.
        len: u64,
        /// What is around it.
        nearest: String,
    },
    /// The kernel did something that it must not. It has stopped; memory may be half-written; the machine goes on.
    #[error("{0}")]
    Fault(Box<FaultReport>),
    /// The sanitizer ([`Config::sanitize`](crate::Config::sanitize)) found defects in a kernel that has run to its end.
    /// The machine goes on.
    #[error("kernel {kernel}: the sanitizer found defects:{}", listed(defects))]
    Sanitizer {
        /// The kernel.
        kernel: String,
        /// What it found: the first 64 pairs of instructions.
        defects: Vec<Defect>,
    },
    /// A thread panicked that ran the kernel: in the [`Printer`](crate::Printer), or by a mistake of the emulator's.
    /// Workgroups are missing; memory may be half-written; the machine goes on.
    #[error(
        "kernel {kernel}: at least {ended} of {total} workgroups ended, then a thread panicked: {reason}"
    )]
    Incomplete {
        /// The kernel.
        kernel: String,
        /// Workgroups that had ended, at least.
        ended: u64,
        /// Workgroups in all.
        total: u64,
        /// What the panic said.
        reason: String,
    },
}

/// A line for each.
fn listed(defects: &[Defect]) -> String {
    defects.iter().map(|defect| format!("\n{defect}")).collect()
}
