//! Safe wrappers for recording driver graphs. They are sound under the conditions that `rig` states.

use hiplaunch::driver::{
    DevicePtr, DriverResult, KernelLaunch, NodeLaunch, RawGraph, RawGraphExec, RawGraphNode, Work,
};

use crate::rig::{Arg, D0, Kernels, Pinned, Rig, accesses};

/// A driver graph to which nodes are added.
pub(crate) struct Graph<'r> {
    rig: &'r Rig,
    pub(crate) raw: RawGraph,
}

/// A kernel, its grid and block, and its arguments.
pub(crate) type NewLaunch<'a> = (&'a str, (u32, u32), &'a [Arg]);

// SAFETY comments below: the case names live memory and nodes, and keeps modules loaded. `rig` frees memory and unloads
// modules at the end of the case.
impl<'r> Graph<'r> {
    pub(crate) fn new(rig: &'r Rig) -> Graph<'r> {
        Graph { rig, raw: rig.graph() }
    }

    /// Adds a kernel on a grid of one dimension.
    pub(crate) fn try_kernel(
        &self,
        after: &[RawGraphNode],
        kernels: &Kernels<'_>,
        name: &str,
        (grid, block): (u32, u32),
        args: &[Arg],
    ) -> DriverResult<RawGraphNode> {
        let (kernarg, accesses) = (kernels.kernarg(name, args), accesses(args));
        let launch = KernelLaunch {
            function: kernels.function(name),
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            dynamic_lds: 0,
            kernarg: &kernarg,
            accesses: &accesses,
        };
        // SAFETY: a complete kernarg segment, which is copied.
        unsafe { self.rig.driver.graph_add(D0, self.raw, after, &Work::Kernel(&launch)) }
    }

    pub(crate) fn kernel(
        &self,
        after: &[RawGraphNode],
        kernels: &Kernels<'_>,
        name: &str,
        dims: (u32, u32),
        args: &[Arg],
    ) -> RawGraphNode {
        self.try_kernel(after, kernels, name, dims, args).unwrap()
    }

    pub(crate) fn to_device(
        &self,
        after: &[RawGraphNode],
        pinned: Pinned<'_>,
        at: usize,
        dst: DevicePtr,
        bytes: usize,
    ) -> RawGraphNode {
        assert!(at + bytes <= pinned.memory.bytes);
        let src = pinned.host(at);
        // SAFETY: in bounds of pinned memory.
        unsafe { self.rig.driver.graph_add(D0, self.raw, after, &Work::CopyToDevice { dst, src, bytes }) }
            .unwrap()
    }

    pub(crate) fn to_host(
        &self,
        after: &[RawGraphNode],
        pinned: Pinned<'_>,
        at: usize,
        src: DevicePtr,
        bytes: usize,
    ) -> RawGraphNode {
        assert!(at + bytes <= pinned.memory.bytes);
        let dst = pinned.host(at);
        // SAFETY: in bounds of pinned memory.
        unsafe { self.rig.driver.graph_add(D0, self.raw, after, &Work::CopyToHost { dst, src, bytes }) }
            .unwrap()
    }

    pub(crate) fn copy(
        &self,
        after: &[RawGraphNode],
        dst: DevicePtr,
        src: DevicePtr,
        bytes: usize,
    ) -> RawGraphNode {
        // SAFETY: live memory that does not overlap.
        unsafe { self.rig.driver.graph_add(D0, self.raw, after, &Work::CopyWithin { dst, src, bytes }) }
            .unwrap()
    }

    pub(crate) fn fill_bytes(
        &self,
        after: &[RawGraphNode],
        dst: DevicePtr,
        value: u8,
        bytes: usize,
    ) -> RawGraphNode {
        // SAFETY: live memory.
        unsafe { self.rig.driver.graph_add(D0, self.raw, after, &Work::FillBytes { dst, value, bytes }) }
            .unwrap()
    }

    pub(crate) fn fill_words(
        &self,
        after: &[RawGraphNode],
        dst: DevicePtr,
        value: u32,
        count: usize,
    ) -> RawGraphNode {
        // SAFETY: live memory.
        unsafe { self.rig.driver.graph_add(D0, self.raw, after, &Work::FillWords { dst, value, count }) }
            .unwrap()
    }

    pub(crate) fn try_empty(&self, after: &[RawGraphNode]) -> DriverResult<RawGraphNode> {
        // SAFETY: a live graph.
        unsafe { self.rig.driver.graph_add(D0, self.raw, after, &Work::Empty) }
    }

    pub(crate) fn empty(&self, after: &[RawGraphNode]) -> RawGraphNode {
        self.try_empty(after).unwrap()
    }
}

impl Rig {
    /// Replaces the launch of a kernel's node of an executable graph.
    pub(crate) fn update(
        &self,
        exec: RawGraphExec,
        node: RawGraphNode,
        kernels: &Kernels<'_>,
        name: &str,
        dims: (u32, u32),
        args: &[Arg],
    ) -> DriverResult<()> {
        self.update_all(exec, kernels, &[(node, (name, dims, args))])
    }

    /// Replaces the launches of several nodes with one call.
    pub(crate) fn update_all(
        &self,
        exec: RawGraphExec,
        kernels: &Kernels<'_>,
        launches: &[(RawGraphNode, NewLaunch<'_>)],
    ) -> DriverResult<()> {
        let data: Vec<_> = launches
            .iter()
            .map(|(_, (name, _, args))| (kernels.kernarg(name, args), accesses(args)))
            .collect();
        let launches = launches.iter().zip(&data);
        let launches = launches.map(|(&(node, (name, (grid, block), _)), (kernarg, accesses))| NodeLaunch {
            node,
            launch: KernelLaunch {
                function: kernels.function(name),
                grid: [grid, 1, 1],
                block: [block, 1, 1],
                dynamic_lds: 0,
                kernarg,
                accesses,
            },
        });
        let launches: Vec<NodeLaunch<'_>> = launches.collect();
        // SAFETY: complete kernarg segments, which are copied, and a live graph.
        unsafe { self.driver.graph_update(D0, exec, &launches) }
    }
}
