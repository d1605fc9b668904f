//! What a node does.

use std::ffi::CStr;
use std::sync::Arc;

use hip_driver::DeviceId;

use super::attributes::Attributes;
use super::memory::GraphMemory;
use crate::abi::version::Version;
use crate::abi::{
    Address, HIP_MEMCPY3D, HipResult, HostFn, In, Status, UserData, hipKernelNodeParams, hipMemcpy3DParms,
    hipMemsetParams,
};
use crate::copy::boxes::BoxCopy;
use crate::copy::fill::Fill;
use crate::copy::values::Operations;
use crate::copy::{DEFAULT, DEVICE_TO_HOST, HOST_TO_DEVICE, HOST_TO_HOST};
use crate::kernel::launch::{self, Cooperation, Shape};
use crate::kernel::{Kernarg, Kernel};
use crate::memory::allocations::Place;
use crate::memory::pool;
use crate::process::Process;
use crate::stream::{EventHandle, Queue, StreamHandle, callbacks};

/// What a node does when its graph is launched.
#[derive(Clone)]
pub(crate) enum Payload {
    Kernel(Arc<KernelNode>, Attributes),
    Copy(CopyNode),
    Fill(hipMemsetParams),
    Host(HostFn, UserData),
    /// A graph of its own, by its handle.
    Child(u64),
    Empty,
    EventWait(EventHandle),
    EventRecord(EventHandle),
    Allocate(Arc<GraphMemory>),
    /// Memory of a graph, or of a pool in a captured graph.
    Free(Address),
    MemoryOperations(Operations),
}

/// A kernel with its arguments.
pub(crate) struct KernelNode {
    pub(super) kernel: Arc<Kernel>,
    pub(super) shape: Shape,
    kernarg: Box<[u8]>,
    /// A pointer to each argument in `kernarg`, for programs that ask for a node's parameters.
    pointers: Box<[Address]>,
    params: hipKernelNodeParams,
}

/// A copy, with the parameters from which it comes.
#[derive(Clone)]
pub(crate) struct CopyNode {
    pub(super) copy: BoxCopy,
    pub(super) params: Params,
}

/// The structure that a program passed for a copy.
#[derive(Clone)]
pub(super) enum Params {
    /// None: a copy of one range, or a captured one.
    None,
    Runtime(hipMemcpy3DParms),
    Driver(Arc<HIP_MEMCPY3D>),
}

impl KernelNode {
    /// The device of the kernel.
    pub(super) fn device(&self) -> DeviceId {
        self.kernel.device
    }

    /// The kernel's name.
    pub(super) fn name(&self) -> &CStr {
        &self.kernel.name
    }

    /// Packs the arguments that the parameters point to.
    pub(super) fn new(process: &Process, params: &hipKernelNodeParams) -> HipResult<Arc<KernelNode>> {
        if params.func.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let kernel = process.any_kernel(params.func)?;
        let shape = Shape::new(params.gridDim, params.blockDim, params.sharedMemBytes as usize);
        shape.check(process, &kernel)?;
        let parameters: In<In<u8>> = params.kernelParams.values();
        if parameters.is_null() && params.extra.is_null() && kernel.offsets().next().is_some() {
            return Err(Status::INVALID_VALUE);
        }
        let mut kernarg = Kernarg::new();
        kernel.pack(parameters, params.extra.values(), &mut kernarg)?;
        let params = hipKernelNodeParams { extra: Address::NULL, ..*params };
        Ok(KernelNode::packed(kernel, shape, &kernarg, params))
    }

    /// A node of arguments that were packed, with the parameters that a program is told.
    pub(super) fn packed(
        kernel: Arc<Kernel>,
        shape: Shape,
        kernarg: &[u8],
        params: hipKernelNodeParams,
    ) -> Arc<KernelNode> {
        // In memory of its own, which does not move with the node.
        let kernarg = Box::<[u8]>::from(kernarg);
        let start = Address(kernarg.as_ptr().expose_provenance() as u64);
        let pointers = kernel.offsets().map(|offset| start.offset(offset as usize)).collect();
        Arc::new(KernelNode { kernel, shape, kernarg, pointers, params })
    }

    /// The parameters, with the node's own copy of the arguments.
    pub(super) fn params(&self) -> hipKernelNodeParams {
        let list = Address(self.pointers.as_ptr().expose_provenance() as u64);
        let kernel_params = if self.pointers.is_empty() { Address::NULL } else { list };
        hipKernelNodeParams { kernelParams: kernel_params, ..self.params }
    }
}

impl CopyNode {
    /// Checks a copy as far as that is possible before it runs.
    pub(super) fn new(process: &Process, copy: BoxCopy, params: Params) -> HipResult<CopyNode> {
        if copy.is_empty() {
            return Err(Status::INVALID_VALUE);
        }
        let node = CopyNode { copy, params };
        node.check(process, Process::place)?;
        Ok(node)
    }

    /// Checks the copy when it is about to run: that its memory can be accessed, and is of the kind that the copy says.
    pub(super) fn check_access(&self, process: &Process) -> HipResult {
        self.check(process, Process::accessed_place)
    }

    /// Checks that the memory is of the kind that the copy says; `place` says where it is.
    fn check(
        &self,
        process: &Process,
        place: impl Fn(&Process, Address, usize) -> HipResult<Place>,
    ) -> HipResult {
        let copy = &self.copy;
        copy.check(process)?;
        for (dst, src, bytes) in copy.ranges() {
            let (to, from) = (place(process, dst, bytes)?, place(process, src, bytes)?);
            let overlap =
                dst.0 < src.0.saturating_add(bytes as u64) && src.0 < dst.0.saturating_add(bytes as u64);
            let on_host = matches!(to, Place::Pageable) || matches!(from, Place::Pageable);
            if (overlap && !on_host) || !fits(to, from, copy.kind) {
                return Err(Status::INVALID_VALUE);
            }
        }
        Ok(())
    }
}

/// Whether a copy between two places can have a kind. As in clr, a copy within the memory that HIP knows can have any.
fn fits(to: Place, from: Place, kind: i32) -> bool {
    match (to, from) {
        (Place::Pageable, Place::Pageable) => matches!(kind, HOST_TO_HOST | DEFAULT),
        (Place::Pageable, _) => matches!(kind, DEVICE_TO_HOST | DEFAULT),
        (_, Place::Pageable) => matches!(kind, HOST_TO_DEVICE | DEFAULT),
        _ => true,
    }
}

/// The fill that parameters describe. Fails for parameters that HIP refuses.
pub(super) fn fill(process: &Process, params: &hipMemsetParams) -> HipResult<Fill> {
    let element = params.elementSize as usize;
    if params.dst.is_null() || !matches!(element, 1 | 2 | 4) || params.width == 0 || params.height == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let row = Fill::row(params.dst, params.value, element, params.width);
    let fill = Fill { pitch: params.pitch, height: params.height, ..row };
    fill.check(process)?;
    Ok(fill)
}

impl Payload {
    /// A kernel without attributes.
    pub(super) fn kernel(node: Arc<KernelNode>) -> Payload {
        Payload::Kernel(node, Attributes::of(Cooperation::None))
    }

    /// Takes the place of what a node does. A kernel node keeps its attributes.
    pub(super) fn replace(&mut self, mut new: Payload) {
        if let (Payload::Kernel(_, kept), Payload::Kernel(_, attributes)) = (&*self, &mut new) {
            *attributes = *kept;
        }
        *self = new;
    }

    /// `hipGraphNodeType`, which HIP 6 numbered anew.
    pub(crate) fn node_type(&self) -> i32 {
        let number = match self {
            Payload::Kernel(..) => 0,
            Payload::Copy(_) => 1,
            Payload::Fill(_) => 2,
            Payload::Host(..) => 3,
            Payload::Child(_) => 4,
            Payload::Empty => 5,
            Payload::EventWait(_) => 6,
            Payload::EventRecord(_) => 7,
            Payload::Allocate(_) => 10,
            Payload::Free(_) => 11,
            Payload::MemoryOperations(_) => 14,
        };
        number + i32::from(Version::current() == Version::Hip5)
    }

    /// Where the memory begins that a copy, a fill or operations on values access.
    pub(super) fn accesses(&self) -> Vec<Address> {
        match self {
            Payload::Copy(node) => vec![node.copy.dst.start, node.copy.src.start],
            Payload::Fill(params) => vec![params.dst],
            Payload::MemoryOperations(operations) => {
                operations.params.iter().map(|params| params.address).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Enqueues the work on a stream.
    pub(super) fn enqueue(&self, process: &'static Process, stream: StreamHandle) -> HipResult {
        let on = process.stream(stream)?;
        let queue = Queue { device: on.0, stream: on.1, waits: false };

        match self {
            Payload::Kernel(node, attributes) => {
                let cooperation = attributes.cooperation();
                launch::enqueue_node(process, &node.kernel, &node.shape, &node.kernarg, queue, cooperation)
            }
            Payload::Copy(node) => node.copy.run(process, queue),
            Payload::Fill(params) => fill(process, params)?.run(process, queue),
            &Payload::Host(function, data) => {
                callbacks::enqueue(process, stream, move |_| function.call(data))
            }
            Payload::EventWait(event) => {
                let (_, event) = process.event(*event)?;
                // SAFETY: the stream and the event are live.
                Ok(unsafe { process.driver.stream_wait_event(on.0, on.1, event) }?)
            }
            Payload::EventRecord(event) => process.record(*event, stream),
            Payload::Allocate(memory) => {
                memory.set_allocated(process, true);
                Ok(())
            }
            Payload::Free(address) => pool::free(process, *address, on),
            Payload::MemoryOperations(operations) => operations.enqueue(process, stream),
            // An executable graph has the nodes of its child graphs.
            Payload::Child(_) | Payload::Empty => Ok(()),
        }
    }
}
