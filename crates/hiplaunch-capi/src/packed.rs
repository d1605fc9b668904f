//! The arguments that most launches have, numbers, buffers and addresses, packed at once as the kernel reads them.
//!
//! It takes less than half of the time that converting them to the launcher's arguments takes. Whatever it does not take, or
//! finds wrong, is left to [`with_args`](super::arguments::with_args).

use hiplaunch::launcher::{BufferArg, Kernel};

use super::arena::{Few, Room};
use super::arguments::{hiplaunch_arg, hiplaunch_arg_kind};
use super::buffers::{BUFFERS, hiplaunch_buffer};
use super::handles::{Lock, Owner};

/// The most parameters of a kernel whose arguments are packed, and the most words of 8 bytes that they have.
const MOST: usize = 12;

/// The explicit parameters of a kernel whose arguments can be packed.
pub(super) struct Parameters {
    all: Box<[Parameter]>,
    /// The number of bytes to the end of the last one.
    bytes: usize,
}

#[derive(Clone, Copy)]
struct Parameter {
    offset: u32,
    /// The number of bytes of a number; 0 for a pointer.
    size: u32,
}

impl Parameters {
    /// Returns the kernel's parameters, if they are few pointers and numbers, in ascending order, and the same on all devices
    /// that the kernel is for.
    pub(super) fn of(kernel: &Kernel) -> Option<Parameters> {
        let args = kernel.explicit_args()?;
        let bytes = args.last().map_or(0, |last| last.end() as usize);
        let is_common = args.len() <= MOST
            && bytes <= 8 * MOST
            && args.is_sorted_by_key(|arg| arg.offset)
            && args.iter().all(|arg| matches!(arg.size, 1 | 2 | 4 | 8));
        let parameter = |arg: &code_object::ArgSignature| Parameter {
            offset: arg.offset,
            size: if arg.is_pointer() { 0 } else { arg.size },
        };
        is_common.then(|| Parameters { all: args.iter().map(parameter).collect(), bytes })
    }
}

/// Where arguments are packed, on the stack of the caller.
pub(super) struct Place {
    /// A word more than needed, since each argument is written as 8 bytes.
    words: [u64; MOST + 1],
    locks: Room<Lock, MOST>,
    buffers: Room<BufferArg<'static>, MOST>,
}

impl Place {
    #[inline(always)]
    pub(super) const fn new() -> Place {
        Place { words: [0; MOST + 1], locks: Room::new(), buffers: Room::new() }
    }

    /// Packs the arguments of a launch, and locks the buffers among them. Returns `None` if one is something
    /// else, does not fit its parameter, or is a buffer of another owner or that can't be locked without waiting.
    #[inline(always)]
    pub(super) fn pack(
        &mut self,
        args: &[hiplaunch_arg],
        parameters: &Parameters,
        owner: Owner,
    ) -> Option<Packed<'_>> {
        const SCALAR: u64 = hiplaunch_arg_kind::Scalar as u64;
        const BUFFER: u64 = hiplaunch_arg_kind::Buffer as u64;
        const ADDRESS: u64 = hiplaunch_arg_kind::Address as u64;
        let bytes: &mut [u8] = bytemuck::must_cast_slice_mut(&mut self.words);
        let (mut locks, mut buffers) = (Few::new(&mut self.locks), Few::new(&mut self.buffers));
        if args.len() != parameters.all.len() {
            return None;
        }
        for (arg, parameter) in args.iter().zip(&parameters.all) {
            // The kind; a reserved field that is not 0 makes it unequal to every kind.
            let kind = u64::from(arg.kind) | u64::from(arg.reserved) << 32;
            let value = if parameter.size > 0 {
                if kind != SCALAR || arg.size != parameter.size as usize {
                    return None;
                }
                arg.bits
            } else if kind == BUFFER {
                let held = BUFFERS.quick(arg.data.cast::<hiplaunch_buffer>())?;
                if held.owner != owner {
                    return None;
                }
                // SAFETY: the lock is kept next, and dropped after the buffer's last use: `Packed` has both, and its buffers
                // are borrowed from it.
                let (lock, found) = unsafe { held.split() };
                let buffer = BufferArg::from(&found.value);
                // SAFETY: one for each of at most `MOST` parameters.
                unsafe { (locks.push(lock), buffers.push(buffer)) };
                buffer.ptr().0
            } else if kind == ADDRESS {
                arg.bits
            } else {
                return None;
            };
            // What is written beyond a smaller argument is overwritten by the next one, or not read.
            let at = parameter.offset as usize;
            bytes.get_mut(at..at + 8)?.copy_from_slice(&value.to_le_bytes());
        }
        Some(Packed { bytes: bytes.get(..parameters.bytes)?, buffers, _locks: locks })
    }
}

/// Packed arguments, and the buffers among them, which are locked as long as it lives.
pub(super) struct Packed<'p> {
    bytes: &'p [u8],
    buffers: Few<'p, BufferArg<'static>, MOST>,
    _locks: Few<'p, Lock, MOST>,
}

impl Packed<'_> {
    #[inline(always)]
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes
    }

    #[inline(always)]
    pub(super) fn buffers(&self) -> &[BufferArg<'_>] {
        self.buffers.all()
    }
}
