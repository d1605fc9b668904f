//! Copies from and to the program's `__device__` variables.

use crate::abi::c_caller::{Address, Out};
use crate::abi::status::{HipResult, Status};
use crate::copy::{DEFAULT, DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE, copy};
use crate::kernel::fat_binary;
use crate::process::Process;
use crate::process::call::call;
use crate::process::thread;
use crate::stream::StreamHandle;
use crate::stream::target::Target;

/// Returns the address of `bytes` bytes of a variable on the current device.
pub(crate) fn address(process: &Process, symbol: Address, bytes: usize, offset: usize) -> HipResult<Address> {
    if symbol.is_null() {
        return Err(Status::INVALID_SYMBOL);
    }
    let (start, size) = fat_binary::variable(process, thread::device(), symbol)?;
    let end = offset.checked_add(bytes).ok_or(Status::INVALID_VALUE)?;
    if end > size { Err(Status::INVALID_VALUE) } else { Ok(start.offset(offset)) }
}

/// Where a symbol is in a copy.
#[derive(Clone, Copy)]
enum Direction {
    To,
    From,
}

fn run(
    process: &Process,
    direction: Direction,
    (symbol, memory): (Address, Address),
    (bytes, offset): (usize, usize),
    kind: i32,
    target: Target,
) -> HipResult {
    if symbol.is_null() {
        return Err(Status::INVALID_SYMBOL);
    }
    if memory.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    match (direction, kind) {
        (_, DEVICE_TO_DEVICE | DEFAULT)
        | (Direction::To, HOST_TO_DEVICE)
        | (Direction::From, DEVICE_TO_HOST) => {}
        _ => return Err(Status::INVALID_MEMCPY_DIRECTION),
    }
    let variable = address(process, symbol, bytes, offset)?;
    match direction {
        Direction::To => copy(process, variable, memory, bytes, kind, target),
        Direction::From => copy(process, memory, variable, bytes, kind, target),
    }
}

#[unsafe(export_name = "emulated_hipMemcpyToSymbol")]
extern "C" fn hipMemcpyToSymbol(
    symbol: Address,
    src: Address,
    bytes: usize,
    offset: usize,
    kind: i32,
) -> Status {
    call("hipMemcpyToSymbol", |process| {
        run(process, Direction::To, (symbol, src), (bytes, offset), kind, Target::blocking())
    })
}

#[unsafe(export_name = "emulated_hipMemcpyToSymbolAsync")]
pub(crate) extern "C" fn hipMemcpyToSymbolAsync(
    symbol: Address,
    src: Address,
    bytes: usize,
    offset: usize,
    kind: i32,
    stream: StreamHandle,
) -> Status {
    call("hipMemcpyToSymbolAsync", |process| {
        let target = Target::on(process, stream)?;
        run(process, Direction::To, (symbol, src), (bytes, offset), kind, target)
    })
}

#[unsafe(export_name = "emulated_hipMemcpyFromSymbol")]
extern "C" fn hipMemcpyFromSymbol(
    dst: Address,
    symbol: Address,
    bytes: usize,
    offset: usize,
    kind: i32,
) -> Status {
    call("hipMemcpyFromSymbol", |process| {
        run(process, Direction::From, (symbol, dst), (bytes, offset), kind, Target::blocking())
    })
}

#[unsafe(export_name = "emulated_hipMemcpyFromSymbolAsync")]
pub(crate) extern "C" fn hipMemcpyFromSymbolAsync(
    dst: Address,
    symbol: Address,
    bytes: usize,
    offset: usize,
    kind: i32,
    stream: StreamHandle,
) -> Status {
    call("hipMemcpyFromSymbolAsync", |process| {
        let target = Target::on(process, stream)?;
        run(process, Direction::From, (symbol, dst), (bytes, offset), kind, target)
    })
}

#[unsafe(export_name = "emulated_hipGetSymbolAddress")]
extern "C" fn hipGetSymbolAddress(pointer: Out<Address>, symbol: Address) -> Status {
    call("hipGetSymbolAddress", |process| {
        pointer.check()?;
        pointer.set(address(process, symbol, 0, 0)?)
    })
}

#[unsafe(export_name = "emulated_hipGetSymbolSize")]
extern "C" fn hipGetSymbolSize(bytes: Out<usize>, symbol: Address) -> Status {
    call("hipGetSymbolSize", |process| {
        bytes.check()?;
        if symbol.is_null() {
            return Err(Status::INVALID_SYMBOL);
        }
        bytes.set(fat_binary::variable(process, thread::device(), symbol)?.1)
    })
}
