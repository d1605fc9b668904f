//! Copies as the arguments of HIP's functions describe them: of one range of bytes, or from or to a `__device__` variable.

use crate::abi::c_caller::{Address, Out};
use crate::abi::status::{HipResult, Status};
use crate::copy::{DEFAULT, DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE, copy};
use crate::kernel::fat_binary;
use crate::process::{Process, thread};
use crate::stream::target::{Queue, Target};

/// A copy of one range.
#[derive(Clone, Copy)]
pub(crate) struct ByteCopy {
    pub(crate) dst: Address,
    pub(crate) src: Address,
    pub(crate) bytes: usize,
    /// A `hipMemcpyKind`.
    pub(crate) kind: i32,
}

impl ByteCopy {
    /// Copies.
    pub(crate) fn run(&self, process: &Process, queue: Queue) -> HipResult {
        copy(process, self.dst, self.src, self.bytes, self.kind, queue)
    }
}

/// Copies between devices that the program names.
pub(crate) fn copy_peer(
    process: &Process,
    [dst_device, src_device]: [i32; 2],
    dst: Address,
    src: Address,
    bytes: usize,
    target: Target,
) -> HipResult {
    process.device(dst_device).and(process.device(src_device))?;
    copy(process, dst, src, bytes, DEFAULT, target.queue(process)?)
}

/// Returns the address of `bytes` bytes of a variable on the current device.
pub(crate) fn address(process: &Process, symbol: Address, bytes: usize, offset: usize) -> HipResult<Address> {
    if symbol.is_null() {
        return Err(Status::INVALID_SYMBOL);
    }
    let (start, size) = fat_binary::variable(process, thread::device(), symbol)?;
    let end = offset.checked_add(bytes).ok_or(Status::INVALID_VALUE)?;
    if end > size { Err(Status::INVALID_VALUE) } else { Ok(start.offset(offset)) }
}

/// A copy from or to a variable.
#[derive(Clone, Copy)]
pub(crate) struct SymbolCopy {
    pub(crate) symbol: Address,
    pub(crate) direction: Direction,
    pub(crate) memory: Address,
    pub(crate) bytes: usize,
    /// Where in the variable it begins, in bytes.
    pub(crate) offset: usize,
    /// A `hipMemcpyKind`.
    pub(crate) kind: i32,
}

/// Where the symbol is in a copy.
#[derive(Clone, Copy)]
pub(crate) enum Direction {
    ToSymbol,
    FromSymbol,
}

impl SymbolCopy {
    /// Copies.
    pub(crate) fn run(&self, process: &Process, queue: Queue) -> HipResult {
        if self.symbol.is_null() {
            return Err(Status::INVALID_SYMBOL);
        }
        if self.memory.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        match (self.direction, self.kind) {
            (_, DEVICE_TO_DEVICE | DEFAULT)
            | (Direction::ToSymbol, HOST_TO_DEVICE)
            | (Direction::FromSymbol, DEVICE_TO_HOST) => {}
            _ => return Err(Status::INVALID_MEMCPY_DIRECTION),
        }
        self.between(address(process, self.symbol, self.bytes, self.offset)?).run(process, queue)
    }

    /// The copy, where the part of the variable has this address.
    pub(crate) fn between(&self, variable: Address) -> ByteCopy {
        let (dst, src) = match self.direction {
            Direction::ToSymbol => (variable, self.memory),
            Direction::FromSymbol => (self.memory, variable),
        };
        ByteCopy { dst, src, bytes: self.bytes, kind: self.kind }
    }
}

pub(crate) fn hipGetSymbolAddress(process: &Process, pointer: Out<Address>, symbol: Address) -> HipResult {
    pointer.check()?;
    pointer.set(address(process, symbol, 0, 0)?)
}

pub(crate) fn hipGetSymbolSize(process: &Process, bytes: Out<usize>, symbol: Address) -> HipResult {
    bytes.check()?;
    if symbol.is_null() {
        return Err(Status::INVALID_SYMBOL);
    }
    bytes.set(fat_binary::variable(process, thread::device(), symbol)?.1)
}
