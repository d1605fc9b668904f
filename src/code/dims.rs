//! The dimensions of a launch.

/// The grid, block and dynamic LDS of a launch.
// C has the same struct, so that one copies the other in a few wide moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct LaunchDims {
    /// The number of workgroups in x, y and z. With 0 in any axis no kernel runs.
    pub grid: [u32; 3],
    /// The number of work-items of a workgroup in x, y and z.
    pub block: [u32; 3],
    /// The dynamic LDS of a workgroup in bytes. With 0, a kernel that has an
    /// [LDS layout](crate::Launcher::set_lds_layout) gets the bytes that the layout needs.
    pub dynamic_lds: u32,
}

impl LaunchDims {
    /// Creates the dimensions of a one-dimensional launch: `grid` workgroups of `block` work-items.
    pub const fn linear(grid: u32, block: u32) -> LaunchDims {
        LaunchDims::new([grid, 1, 1], [block, 1, 1])
    }

    /// Creates dimensions without dynamic LDS.
    pub const fn new(grid: [u32; 3], block: [u32; 3]) -> LaunchDims {
        LaunchDims { grid, block, dynamic_lds: 0 }
    }

    /// Creates the dimensions of a one-dimensional launch with enough workgroups of `block` work-items for `items`
    /// work-items.
    pub const fn cover(items: u32, block: u32) -> LaunchDims {
        LaunchDims::linear(if block == 0 { 0 } else { items.div_ceil(block) }, block)
    }

    /// Sets the dynamic LDS of a workgroup to `bytes`.
    #[must_use]
    pub const fn with_lds(mut self, bytes: u32) -> LaunchDims {
        self.dynamic_lds = bytes;
        self
    }

    /// Returns whether there is nothing to launch.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.grid.contains(&0)
    }
}
