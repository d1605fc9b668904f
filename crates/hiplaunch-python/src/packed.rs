//! The arguments that most launches have, buffers and plain numbers, packed at once: nothing is allocated.

use hiplaunch::BufferArg;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;

use crate::arguments::{Kind, Parameter, number};
use crate::buffer::{Buffer, Memory, named};
use crate::live::Shared;

/// The most bytes of explicit arguments that are packed.
const BYTES: usize = 256;

/// Explicit arguments as the kernel reads them, and the buffers among them, which can't be closed meanwhile.
pub(crate) struct Packed<'a> {
    bytes: [u8; BYTES],
    memory: SmallVec<[Memory<'a>; 8]>,
}

impl<'a> Packed<'a> {
    #[inline(always)]
    pub(crate) fn new() -> Packed<'a> {
        Packed { bytes: [0; BYTES], memory: SmallVec::new() }
    }

    /// Packs as many arguments as there are parameters. Returns whether that could be done: if not,
    /// [`arguments::convert`](crate::arguments::convert) says what is wrong, or takes them.
    #[inline(always)]
    pub(crate) fn pack(
        &mut self,
        arguments: &'a Bound<'_, PyTuple>,
        parameters: &[Parameter],
        shared: &Shared,
        stream: &hiplaunch::Stream,
    ) -> bool {
        for (value, parameter) in arguments.iter_borrowed().zip(parameters) {
            let at = parameter.offset as usize;
            if let Ok(buffer) = value.cast_exact::<Buffer>() {
                let Some(place) = self.bytes.get_mut(at..at + 8) else { return false };
                if parameter.kind != Kind::Pointer {
                    return false;
                }
                let Some(memory) = buffer.get().pack(shared, stream, place) else { return false };
                self.memory.push(memory);
            } else {
                let Some(Ok(bits)) = number(&value, parameter) else { return false };
                let bits = bits.to_le_bytes();
                let Some(place) = self.bytes.get_mut(at..at + 8) else { return false };
                match parameter.size {
                    4 => place[..4].copy_from_slice(&bits[..4]),
                    8 => place.copy_from_slice(&bits),
                    2 => place[..2].copy_from_slice(&bits[..2]),
                    _ => place[..1].copy_from_slice(&bits[..1]),
                }
            }
        }
        true
    }

    /// The buffers among the arguments.
    #[inline(always)]
    pub(crate) fn buffers(&self) -> SmallVec<[BufferArg<'_>; 8]> {
        named(&self.memory)
    }

    /// The bytes of explicit arguments that end at `end`, if they were packed.
    #[inline(always)]
    pub(crate) fn bytes(&self, end: usize) -> Option<&[u8]> {
        self.bytes.get(..end)
    }
}
