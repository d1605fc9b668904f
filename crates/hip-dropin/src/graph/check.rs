//! What is checked before the first node of a graph is enqueued, so that a graph is launched whole or not at all.

use std::collections::HashMap;
use std::sync::Arc;

use hip_driver::DeviceId;

use super::payload::Payload;
use crate::abi::c_caller::Address;
use crate::abi::status::{HipResult, Status};
use crate::kernel::launch::Cooperation;
use crate::kernel::occupancy;
use crate::memory::allocations::ALLOCATIONS;
use crate::memory::allocations::{Allocation, Kind};
use crate::process::Process;

/// What the nodes that were checked so far will have done.
pub(super) struct Check<'a> {
    process: &'a Process,
    /// The device of the stream.
    device: DeviceId,
    /// Whether memory of graphs is allocated then, by address.
    graph_memory: HashMap<u64, bool>,
    /// Other memory that they free.
    freed: Vec<Arc<Allocation>>,
}

impl<'a> Check<'a> {
    /// Begins the check of a launch on a stream of `device`.
    pub(super) fn new(process: &'a Process, device: DeviceId) -> Check<'a> {
        Check { process, device, graph_memory: HashMap::new(), freed: Vec::new() }
    }

    /// Takes memory of a node for free: the launch frees it first.
    pub(super) fn frees_first(&mut self, memory: Address) {
        self.graph_memory.insert(memory.0, false);
    }

    /// Checks what the next node does.
    pub(super) fn next(&mut self, payload: &Payload) -> HipResult {
        let process = self.process;
        match payload {
            Payload::Kernel(node, _) if node.kernel.is_unloaded() => {
                return Err(Status::INVALID_DEVICE_FUNCTION);
            }
            Payload::Kernel(node, attributes) => {
                process.report_fault(node.kernel.device)?;
                if attributes.cooperation() == Cooperation::Grid {
                    occupancy::check_cooperative(process, &node.kernel, &node.shape)?;
                }
            }
            Payload::Copy(node) => node.check_access(process)?,
            Payload::Fill(params) => drop(super::payload::fill(process, params)?),
            Payload::MemoryOperations(operations) => operations.check(process)?,
            Payload::EventWait(event) => drop(process.event(*event)?),
            Payload::EventRecord(event) if process.event(*event)?.0 != self.device => {
                return Err(Status::INVALID_HANDLE);
            }
            Payload::Allocate(memory) => drop(self.graph_memory.insert(memory.address().0, true)),
            Payload::Free(address) => self.free(*address)?,
            Payload::EventRecord(_) | Payload::Host(..) | Payload::Child(_) | Payload::Empty => {}
        }
        let is_gone = |address: &Address| self.freed.iter().any(|freed| freed.range().contains(&address.0));
        if payload.accesses().iter().any(is_gone) { Err(Status::INVALID_VALUE) } else { Ok(()) }
    }

    /// Checks that memory is allocated when a node frees it.
    fn free(&mut self, address: Address) -> HipResult {
        let process = self.process;
        let found = ALLOCATIONS.find(address.0).filter(|found| found.base == address.0);
        let found = found.ok_or(Status::INVALID_VALUE)?;
        let is_allocated = match found.kind {
            Kind::Graph => match self.graph_memory.insert(address.0, false) {
                Some(is_allocated) => is_allocated,
                None => process.graphs().memories.get(address)?.is_allocated(),
            },
            Kind::Device | Kind::Pool(_) => {
                let is_first = self.freed.iter().all(|freed| freed.base != address.0);
                self.freed.push(found);
                is_first
            }
            _ => false,
        };
        if is_allocated { Ok(()) } else { Err(Status::INVALID_VALUE) }
    }
}
