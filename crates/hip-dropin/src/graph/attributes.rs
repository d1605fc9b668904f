//! Attributes of kernel nodes.

use super::NodeHandle;
use super::payload::Payload;
use crate::abi::c_caller::Address;
use crate::abi::status::{HipResult, Status};
use crate::abi::structs::hipAccessPolicyWindow;
use crate::kernel::launch::Cooperation;
use crate::process::Process;
use crate::stream::attributes::{NO_WINDOW, PRIORITY, WINDOW, window};

// `hipLaunchAttributeCooperative`.
const COOPERATIVE: i32 = 2;

/// The attributes of a kernel node. As in clr, one of them is in use at a time.
#[derive(Clone, Copy)]
pub(crate) struct Attributes {
    /// The one that was set last; 0 for none.
    in_use: i32,
    window: hipAccessPolicyWindow,
    cooperative: i32,
    priority: i32,
}

impl Attributes {
    pub(super) fn of(cooperation: Cooperation) -> Attributes {
        let cooperative = i32::from(cooperation == Cooperation::Grid);
        Attributes {
            in_use: if cooperative == 0 { 0 } else { COOPERATIVE },
            window: NO_WINDOW,
            cooperative,
            priority: 0,
        }
    }

    pub(super) fn cooperation(&self) -> Cooperation {
        if self.cooperative == 0 { Cooperation::None } else { Cooperation::Grid }
    }

    fn set(&mut self, attribute: i32, value: Address) -> HipResult {
        match attribute {
            WINDOW => self.window = window(value)?,
            COOPERATIVE => self.cooperative = value.values().get()?,
            PRIORITY => self.priority = value.values().get()?,
            _ => return Err(Status::INVALID_VALUE),
        }
        self.in_use = attribute;
        Ok(())
    }

    fn get(&self, attribute: i32, value: Address) -> HipResult {
        if self.in_use != 0 && self.in_use != attribute {
            return Err(Status::INVALID_VALUE);
        }
        match attribute {
            WINDOW => value.out().set(self.window),
            COOPERATIVE => value.out().set(self.cooperative),
            PRIORITY => value.out().set(self.priority),
            _ => Err(Status::INVALID_VALUE),
        }
    }
}

/// Changes or reads the attributes of a kernel node.
fn with_attributes(
    process: &Process,
    node: NodeHandle,
    with: impl FnOnce(&mut Attributes) -> HipResult,
) -> HipResult {
    match &mut *process.graphs().node(node)?.payload() {
        Payload::Kernel(_, attributes) => with(attributes),
        _ => Err(Status::INVALID_VALUE),
    }
}

pub(crate) fn hipGraphKernelNodeSetAttribute(
    process: &Process,
    node: NodeHandle,
    attribute: i32,
    value: Address,
) -> HipResult {
    with_attributes(process, node, |attributes| attributes.set(attribute, value))
}

pub(crate) fn hipGraphKernelNodeGetAttribute(
    process: &Process,
    node: NodeHandle,
    attribute: i32,
    value: Address,
) -> HipResult {
    with_attributes(process, node, |attributes| attributes.get(attribute, value))
}

pub(crate) fn hipGraphKernelNodeCopyAttributes(
    process: &Process,
    from: NodeHandle,
    to: NodeHandle,
) -> HipResult {
    let mut source = Attributes::of(Cooperation::None);
    with_attributes(process, from, |attributes| {
        source = *attributes;
        Ok(())
    })?;
    with_attributes(process, to, |attributes| {
        if attributes.in_use != 0 && attributes.in_use != source.in_use {
            return Err(Status::INVALID_CONTEXT);
        }
        *attributes = source;
        Ok(())
    })
}
