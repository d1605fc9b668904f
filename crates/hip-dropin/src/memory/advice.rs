//! Advice about managed memory. The emulator does not need it, but programs can ask what they advised.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::c_caller::{Address, In};
use crate::abi::status::{HipResult, Status};
use crate::abi::structs::hipMemLocation;
use crate::memory::allocations::ALLOCATIONS;
use crate::memory::managed::check;
use crate::process::Process;
use crate::stream::StreamHandle;

/// `hipInvalidDeviceId`: no device, or several.
const NONE: i32 = -2;
/// `hipCpuDeviceId`.
const HOST: i32 = -1;

/// `hipMemRangeAttributeCoherencyMode`, of which every memory has one: 1 if it is coarse-grained.
const COHERENCY_MODE: i32 = 100;
/// `hipDeviceMallocFinegrained`.
const FINE_GRAINED: u32 = 1;

/// What is said about a range.
#[derive(Clone, Copy)]
enum Advice {
    ReadMostly(bool),
    Preferred(i32),
    AccessedBy(i32, bool),
    Prefetched(i32),
    Coarse(bool),
}

/// All advice about memory that is not freed, in the order in which it was given.
static GIVEN: Mutex<Vec<(Range<u64>, Advice)>> = Mutex::new(Vec::new());

fn given() -> MutexGuard<'static, Vec<(Range<u64>, Advice)>> {
    GIVEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Forgets the advice about memory that is freed.
pub(crate) fn forget(freed: &Range<u64>) {
    given().retain(|(range, _)| !freed.contains(&range.start));
}

fn range(pointer: Address, bytes: usize) -> Range<u64> {
    pointer.0..pointer.0 + bytes as u64
}

/// Returns what `of` finds at every byte of a range, if it is the same; else `several`.
fn everywhere<T: PartialEq>(
    range: &Range<u64>,
    several: T,
    of: impl Fn(&mut dyn Iterator<Item = Advice>) -> T,
) -> T {
    let given = given();
    // Between two of these, no advice begins or ends.
    let bounds = given.iter().flat_map(|(advised, _)| [advised.start, advised.end]);
    let starts = bounds.filter(|bound| range.contains(bound)).chain([range.start]);
    let mut found: Option<T> = None;
    for start in starts {
        let at = given.iter().filter(|(advised, _)| advised.contains(&start));
        let value = of(&mut at.map(|(_, advice)| *advice));
        match &found {
            Some(other) if *other != value => return several,
            _ => found = Some(value),
        }
    }
    found.unwrap_or(several)
}

/// The last number that `pick` takes from the advice, or `otherwise`.
fn last(
    advice: &mut dyn Iterator<Item = Advice>,
    otherwise: i32,
    pick: impl Fn(Advice) -> Option<i32>,
) -> i32 {
    advice.filter_map(pick).last().unwrap_or(otherwise)
}

/// The devices that the advice says access the memory.
fn accessed_by(advice: &mut dyn Iterator<Item = Advice>) -> Vec<i32> {
    let mut devices = Vec::new();
    for item in advice {
        if let Advice::AccessedBy(device, accesses) = item {
            devices.retain(|known| *known != device);
            devices.extend(accesses.then_some(device));
        }
    }
    devices
}

pub(crate) fn advise(
    process: &Process,
    pointer: Address,
    bytes: usize,
    advice: i32,
    device: i32,
) -> HipResult {
    // hipMemoryAdvise.
    let advice = match advice {
        1 | 2 => Advice::ReadMostly(advice == 1),
        3 => Advice::Preferred(device),
        4 => Advice::Preferred(NONE),
        5 | 6 => Advice::AccessedBy(device, advice == 5),
        100 | 101 => Advice::Coarse(advice == 100),
        _ => return Err(Status::INVALID_VALUE),
    };
    check(process, pointer, bytes, device)?;
    given().push((range(pointer, bytes), advice));
    Ok(())
}

pub(crate) fn prefetch(
    process: &Process,
    pointer: Address,
    bytes: usize,
    device: i32,
    stream: StreamHandle,
) -> HipResult {
    check(process, pointer, bytes, device)?;
    process.stream(stream)?;
    given().push((range(pointer, bytes), Advice::Prefetched(device)));
    Ok(())
}

/// The device that a location names, or the host.
pub(crate) fn device_of(location: hipMemLocation) -> HipResult<i32> {
    // hipMemLocationType: a device, the host, and the host's NUMA nodes.
    match location.r#type {
        1 => Ok(location.id),
        2..=4 => Ok(HOST),
        _ => Err(Status::INVALID_VALUE),
    }
}

pub(crate) fn hipMemPrefetchAsync_v2(
    process: &Process,
    pointer: Address,
    bytes: usize,
    location: hipMemLocation,
    flags: u32,
    stream: StreamHandle,
) -> HipResult {
    if flags != 0 {
        return Err(Status::INVALID_VALUE);
    }
    prefetch(process, pointer, bytes, device_of(location)?, stream)
}

/// Writes an attribute (`hipMemRangeAttribute`) of a range.
pub(crate) fn write(
    process: &Process,
    data: Address,
    data_bytes: usize,
    attribute: i32,
    pointer: Address,
    bytes: usize,
) -> HipResult {
    if data.is_null() || data_bytes == 0 || !data_bytes.is_multiple_of(4) {
        return Err(Status::INVALID_VALUE);
    }
    if attribute == COHERENCY_MODE
        && let Some(found) = ALLOCATIONS.find(pointer.0).filter(|found| found.pinned.is_none())
    {
        return data.out().set(i32::from(found.flags != FINE_GRAINED));
    }
    check(process, pointer, bytes, HOST)?;
    let range = range(pointer, bytes);
    let number = |pick: fn(Advice) -> Option<i32>, otherwise| {
        everywhere(&range, otherwise, |advice| last(advice, otherwise, pick))
    };
    let value = match attribute {
        1 => number(|advice| if let Advice::ReadMostly(on) = advice { Some(on.into()) } else { None }, 0),
        2 => number(|advice| if let Advice::Preferred(device) = advice { Some(device) } else { None }, NONE),
        3 => {
            let devices = everywhere(&range, Vec::new(), accessed_by);
            let room = data_bytes / 4;
            return data.out().set_array(devices.into_iter().chain(std::iter::repeat(NONE)), room);
        }
        4 => number(|advice| if let Advice::Prefetched(device) = advice { Some(device) } else { None }, NONE),
        COHERENCY_MODE => {
            number(|advice| if let Advice::Coarse(on) = advice { Some(on.into()) } else { None }, 0)
        }
        _ => return Err(Status::INVALID_VALUE),
    };
    if data_bytes == 4 { data.out().set(value) } else { Err(Status::INVALID_VALUE) }
}

pub(crate) fn hipMemRangeGetAttributes(
    process: &Process,
    data: In<Address>,
    data_bytes: In<usize>,
    attributes: In<i32>,
    count: usize,
    pointer: Address,
    bytes: usize,
) -> HipResult {
    if count == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let (data, sizes, attributes) = (data.array(count)?, data_bytes.array(count)?, attributes.array(count)?);
    for ((data, size), attribute) in data.into_iter().zip(sizes).zip(attributes) {
        write(process, data, size, attribute, pointer, bytes)?;
    }
    Ok(())
}
