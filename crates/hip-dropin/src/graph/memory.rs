//! Memory that graphs allocate and free.
//!
//! A node that allocates has its memory from the time that it is added, so that its address is known. A launch marks the
//! memory as allocated, and a node that frees, or the program, marks it as free again. It returns to the device when the
//! last graph that has the node is destroyed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use hip_driver::{DeviceId, DevicePtr};

use super::nodes::add;
use super::payload::Payload;
use super::{GraphHandle, NodeHandle, lock};
use crate::abi::c_caller::{Address, In, Out};
use crate::abi::status::{HipResult, Status};
use crate::abi::structs::{hipMemAccessDesc, hipMemAllocNodeParams, hipMemLocation, hipMemPoolProps};
use crate::memory::allocations::ALLOCATIONS;
use crate::memory::allocations::{Allocation, Kind};
use crate::memory::pool;
use crate::process::ContextHandle;
use crate::process::Process;

/// The memory of a node that allocates.
pub(crate) struct GraphMemory {
    ptr: DevicePtr,
    bytes: usize,
    device: DeviceId,
    params: hipMemAllocNodeParams,
    /// The descriptions that `params` points to.
    _accesses: Box<[hipMemAccessDesc]>,
    /// Whether a launch has allocated it and nothing has freed it since.
    is_allocated: AtomicBool,
    /// Whether a node frees it.
    has_free_node: AtomicBool,
}

/// The memory of the nodes of all graphs, by address, with what was the most of it at a time, by device.
#[derive(Default)]
pub(crate) struct GraphMemories {
    live: Mutex<HashMap<u64, Weak<GraphMemory>>>,
    most: Mutex<HashMap<DeviceId, Usage>>,
}

/// Bytes of memory of graphs.
#[derive(Clone, Copy, Default)]
struct Usage {
    /// Allocated by launches.
    used: u64,
    /// Taken from the device.
    reserved: u64,
}

impl GraphMemory {
    /// Takes memory from the device that the parameters name. Their descriptions are read.
    fn new(process: &Process, mut params: hipMemAllocNodeParams) -> HipResult<Arc<GraphMemory>> {
        let hipMemPoolProps { allocType, location, .. } = params.poolProps;
        // Pinned memory (hipMemAllocationTypePinned) of a device (hipMemLocationTypeDevice).
        if params.bytesize == 0 || allocType != 1 || location.r#type != 1 {
            return Err(Status::INVALID_VALUE);
        }
        let (device, _) = process.device(location.id).map_err(|_| Status::INVALID_VALUE)?;
        let accesses: Box<[hipMemAccessDesc]> =
            params.accessDescs.values().array(params.accessDescCount)?.into();
        let ptr = pool::with_memory_of(process, device, || process.driver.malloc(device, params.bytesize))?;
        params.dptr = Address(ptr.0);
        params.accessDescs = match accesses.len() {
            0 => Address::NULL,
            _ => Address(accesses.as_ptr().expose_provenance() as u64),
        };
        let memory = Arc::new(GraphMemory {
            ptr,
            bytes: params.bytesize,
            device,
            params,
            _accesses: accesses,
            is_allocated: AtomicBool::new(false),
            has_free_node: AtomicBool::new(false),
        });
        ALLOCATIONS.insert(Allocation::device(ptr, memory.bytes, device, Kind::Graph));
        let memories = &process.graphs().memories;
        lock(&memories.live).insert(ptr.0, Arc::downgrade(&memory));
        memories.keep_most(device);
        Ok(memory)
    }

    /// Memory of `bytes` bytes for a captured call.
    pub(super) fn captured(process: &Process, device: DeviceId, bytes: usize) -> HipResult<Arc<GraphMemory>> {
        let location = hipMemLocation { r#type: 1, id: device.0 as i32 };
        let properties = hipMemPoolProps {
            allocType: 1,
            handleTypes: 0,
            location,
            win32SecurityAttributes: Address::NULL,
            reserved: [0; 64],
        };
        GraphMemory::new(
            process,
            hipMemAllocNodeParams {
                poolProps: properties,
                accessDescs: Address::NULL,
                accessDescCount: 0,
                bytesize: bytes,
                dptr: Address::NULL,
            },
        )
    }

    pub(super) fn address(&self) -> Address {
        Address(self.ptr.0)
    }

    pub(super) fn is_allocated(&self) -> bool {
        self.is_allocated.load(Ordering::Relaxed)
    }

    /// Marks it for a launch.
    pub(super) fn set_allocated(&self, process: &Process, allocated: bool) {
        self.is_allocated.store(allocated, Ordering::Relaxed);
        process.graphs().memories.keep_most(self.device);
    }
}

impl Drop for GraphMemory {
    fn drop(&mut self) {
        let Some(process) = Process::opened() else { return };
        lock(&process.graphs().memories.live).remove(&self.ptr.0);
        let Some(found) = ALLOCATIONS.take(self.ptr.0, |kind| kind == Kind::Graph) else { return };
        if self.is_allocated() {
            // The program frees it.
            ALLOCATIONS.insert(Allocation { kind: Kind::Device, ..*found });
            return;
        }
        // SAFETY: the memory is live, and no graph has it any more. `free` waits for the launches in flight.
        if let Err(error) = unsafe { process.driver.free(self.device, self.ptr) } {
            log::debug!("{error}");
        }
    }
}

impl GraphMemories {
    pub(super) fn get(&self, address: Address) -> HipResult<Arc<GraphMemory>> {
        lock(&self.live).get(&address.0).and_then(Weak::upgrade).ok_or(Status::INVALID_VALUE)
    }

    /// Marks memory of a graph as free: for a node, or for the program. Fails with `INVALID_VALUE` if it is free.
    pub(crate) fn free(&self, process: &Process, address: Address) -> HipResult {
        let memory = self.get(address)?;
        if !memory.is_allocated() {
            return Err(Status::INVALID_VALUE);
        }
        memory.set_allocated(process, false);
        Ok(())
    }

    fn usage(&self, device: DeviceId) -> Usage {
        let live: Vec<Arc<GraphMemory>> = lock(&self.live).values().filter_map(Weak::upgrade).collect();
        let of_device = live.iter().filter(|memory| memory.device == device);
        of_device.fold(Usage::default(), |sum, memory| Usage {
            used: sum.used + if memory.is_allocated() { memory.bytes as u64 } else { 0 },
            reserved: sum.reserved + memory.bytes as u64,
        })
    }

    fn keep_most(&self, device: DeviceId) {
        let now = self.usage(device);
        let mut most = lock(&self.most);
        let most = most.entry(device).or_default();
        *most = Usage { used: most.used.max(now.used), reserved: most.reserved.max(now.reserved) };
    }
}

/// What a node does that allocates memory. Writes the address to the parameters.
pub(super) fn allocation(process: &Process, params: Out<hipMemAllocNodeParams>) -> HipResult<Payload> {
    let mut given = params.get()?;
    given.dptr = Address::NULL;
    params.set(given)?;
    let memory = GraphMemory::new(process, given)?;
    params.set(hipMemAllocNodeParams { dptr: memory.address(), ..given })?;
    Ok(Payload::Allocate(memory))
}

/// What a node does that frees memory of a graph. Each memory is freed by one node.
pub(super) fn freeing(process: &Process, address: Address) -> HipResult<Payload> {
    let memory = process.graphs().memories.get(address)?;
    match memory.has_free_node.swap(true, Ordering::Relaxed) {
        true => Err(Status::INVALID_VALUE),
        false => Ok(Payload::Free(address)),
    }
}

pub(crate) fn hipGraphAddMemAllocNode(
    process: &Process,
    node: Out<NodeHandle>,
    graph: GraphHandle,
    after: In<NodeHandle>,
    count: usize,
    params: Out<hipMemAllocNodeParams>,
) -> HipResult {
    add(process, node, graph, (after, count), || allocation(process, params))
}

pub(crate) fn hipGraphMemAllocNodeGetParams(
    process: &Process,
    node: NodeHandle,
    params: Out<hipMemAllocNodeParams>,
) -> HipResult {
    params.check()?;
    match &*process.graphs().node(node)?.payload() {
        Payload::Allocate(memory) => params.set(memory.params),
        _ => Err(Status::INVALID_VALUE),
    }
}

pub(crate) fn hipGraphAddMemFreeNode(
    process: &Process,
    node: Out<NodeHandle>,
    graph: GraphHandle,
    after: In<NodeHandle>,
    count: usize,
    pointer: Address,
) -> HipResult {
    if !after.is_null() && count == 0 {
        return Err(Status::INVALID_VALUE);
    }
    add(process, node, graph, (after, count), || freeing(process, pointer))
}

pub(crate) fn hipDrvGraphAddMemFreeNode(
    process: &Process,
    node: Out<NodeHandle>,
    graph: GraphHandle,
    after: In<NodeHandle>,
    count: usize,
    pointer: Address,
    _context: ContextHandle,
) -> HipResult {
    add(process, node, graph, (after, count), || freeing(process, pointer))
}

pub(crate) fn hipGraphMemFreeNodeGetParams(
    process: &Process,
    node: NodeHandle,
    pointer: Out<Address>,
) -> HipResult {
    pointer.check()?;
    match *process.graphs().node(node)?.payload() {
        Payload::Free(address) => pointer.set(address),
        _ => Err(Status::INVALID_VALUE),
    }
}

pub(crate) fn hipDeviceGetGraphMemAttribute(
    process: &Process,
    device: i32,
    attribute: i32,
    value: Out<u64>,
) -> HipResult {
    let (device, _) = process.device(device)?;
    value.check()?;
    let memories = &process.graphs().memories;
    let now = memories.usage(device);
    let most = lock(&memories.most).get(&device).copied().unwrap_or_default();
    // hipGraphMemAttributeType.
    value.set(match attribute {
        0 => now.used,
        1 => most.used,
        2 => now.reserved,
        3 => most.reserved,
        _ => return Err(Status::INVALID_VALUE),
    })
}

pub(crate) fn hipDeviceSetGraphMemAttribute(
    process: &Process,
    device: i32,
    attribute: i32,
    value: In<u64>,
) -> HipResult {
    let (device, _) = process.device(device)?;
    // The high marks can only be reset.
    if value.get()? != 0 {
        return Err(Status::INVALID_VALUE);
    }
    let memories = &process.graphs().memories;
    let now = memories.usage(device);
    let mut most = lock(&memories.most);
    let most = most.entry(device).or_default();
    match attribute {
        1 => most.used = now.used,
        3 => most.reserved = now.reserved,
        _ => return Err(Status::INVALID_VALUE),
    }
    Ok(())
}
