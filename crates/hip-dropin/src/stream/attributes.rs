//! Attributes of streams. They are kept, and change nothing, as priorities.

use crate::abi::c_caller::Address;
use crate::abi::status::{HipResult, Status};
use crate::abi::structs::hipAccessPolicyWindow;
use crate::process::Process;
use crate::stream::STREAMS;
use crate::stream::{GREATEST, LEAST, StreamHandle};

// hipLaunchAttributeID.
pub(crate) const WINDOW: i32 = 1;
pub(crate) const PRIORITY: i32 = 8;
const SYNCHRONIZATION_POLICY: i32 = 3;
const DOMAIN_MAP: i32 = 9;
const DOMAIN: i32 = 10;

/// The attributes of a stream.
#[derive(Clone, Copy)]
pub(crate) struct Attributes {
    window: hipAccessPolicyWindow,
    /// `hipSynchronizationPolicy`.
    policy: i32,
    pub(crate) priority: i32,
    /// `hipLaunchMemSyncDomainMap`.
    domain_map: [u8; 2],
    /// `hipLaunchMemSyncDomain`.
    domain: i32,
}

impl Attributes {
    pub(crate) fn new(priority: i32) -> Attributes {
        Attributes { window: NO_WINDOW, policy: 1, priority, domain_map: [0, 1], domain: 0 }
    }

    fn set(&mut self, attribute: i32, value: Address) -> HipResult {
        let number = |valid: std::ops::RangeInclusive<i32>| {
            let number: i32 = value.values().get()?;
            if valid.contains(&number) { Ok(number) } else { Err(Status::INVALID_VALUE) }
        };
        match attribute {
            WINDOW => self.window = window(value)?,
            SYNCHRONIZATION_POLICY => self.policy = number(1..=4)?,
            PRIORITY => self.priority = number(GREATEST..=LEAST)?,
            DOMAIN_MAP => self.domain_map = value.values().get()?,
            DOMAIN => self.domain = number(0..=1)?,
            _ => return Err(Status::INVALID_VALUE),
        }
        Ok(())
    }

    fn get(&self, attribute: i32, value: Address) -> HipResult {
        match attribute {
            WINDOW => value.out().set(self.window),
            SYNCHRONIZATION_POLICY => value.out().set(self.policy),
            PRIORITY => value.out().set(self.priority),
            DOMAIN_MAP => value.out().set(self.domain_map),
            DOMAIN => value.out().set(self.domain),
            _ => Err(Status::INVALID_VALUE),
        }
    }
}

/// The window of a kernel or stream for which none was set.
pub(crate) const NO_WINDOW: hipAccessPolicyWindow =
    hipAccessPolicyWindow { base_ptr: Address::NULL, hitProp: 0, hitRatio: 0.0, missProp: 0, num_bytes: 0 };

/// Reads the window of memory that a cache is to keep. AMD's GPUs have none, so it must be empty.
pub(crate) fn window(value: Address) -> HipResult<hipAccessPolicyWindow> {
    let window: hipAccessPolicyWindow = value.values().get()?;
    // hipAccessPropertyPersisting.
    let is_valid = (0.0..=1.0).contains(&window.hitRatio) && window.missProp != 2 && window.num_bytes == 0;
    if is_valid { Ok(window) } else { Err(Status::INVALID_VALUE) }
}

/// Reads or changes the attributes of a stream. Those of default streams can't be changed.
fn with_attributes<R>(
    process: &Process,
    stream: StreamHandle,
    with: impl FnOnce(&mut Attributes) -> HipResult<R>,
) -> HipResult<R> {
    process.stream(stream)?;
    let of_program = STREAMS.get(stream.0);
    match of_program {
        Some(stream) => with(&mut stream.attributes()),
        None => with(&mut Attributes::new(0)),
    }
}

pub(crate) fn hipStreamSetAttribute(
    process: &Process,
    stream: StreamHandle,
    attribute: i32,
    value: Address,
) -> HipResult {
    with_attributes(process, stream, |attributes| attributes.set(attribute, value))
}

pub(crate) fn hipStreamGetAttribute(
    process: &Process,
    stream: StreamHandle,
    attribute: i32,
    value: Address,
) -> HipResult {
    with_attributes(process, stream, |attributes| attributes.get(attribute, value))
}

pub(crate) fn hipStreamCopyAttributes(process: &Process, to: StreamHandle, from: StreamHandle) -> HipResult {
    let source = with_attributes(process, from, |attributes| Ok(*attributes))?;
    with_attributes(process, to, |attributes| {
        *attributes = source;
        Ok(())
    })
}
