//! Device work as a timeline shows it.

use std::fmt;
use std::sync::Arc;

pub use hip_driver::CopyDirection;

/// A piece of work of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceWork {
    /// A kernel.
    Kernel {
        /// The kernel's name.
        name: Arc<str>,
        /// The number of workgroups in x, y and z.
        grid: [u32; 3],
        /// The number of work-items of a workgroup in x, y and z.
        block: [u32; 3],
        /// Dynamic LDS in bytes.
        dynamic_lds: u32,
    },
    /// A copy.
    Copy {
        /// The direction.
        direction: CopyDirection,
        /// The number of bytes.
        bytes: u64,
    },
    /// A fill.
    Fill {
        /// The number of bytes.
        bytes: u64,
    },
    /// A function of the host in stream order.
    HostFunction,
    /// A value that is written.
    WriteValue,
    /// A wait for a value.
    WaitValue,
    /// A graph.
    Graph {
        /// The graph's nodes in the order in which they were added.
        nodes: Arc<[DeviceWork]>,
    },
    /// A node of a graph that does nothing.
    Empty,
}

impl DeviceWork {
    /// Returns the kind of the work in one or two words.
    pub const fn category(&self) -> &'static str {
        match self {
            DeviceWork::Kernel { .. } => "kernel",
            DeviceWork::Copy { .. } => "copy",
            DeviceWork::Fill { .. } => "fill",
            DeviceWork::HostFunction => "host function",
            DeviceWork::WriteValue => "value written",
            DeviceWork::WaitValue => "wait for value",
            DeviceWork::Graph { .. } => "graph",
            DeviceWork::Empty => "empty node",
        }
    }

    /// Returns the number of bytes that it copies or fills; for a graph, those of all nodes.
    pub fn bytes(&self) -> Option<u64> {
        match self {
            DeviceWork::Copy { bytes, .. } | DeviceWork::Fill { bytes } => Some(*bytes),
            DeviceWork::Graph { nodes } => Some(nodes.iter().filter_map(DeviceWork::bytes).sum()),
            DeviceWork::Kernel { .. }
            | DeviceWork::HostFunction
            | DeviceWork::WriteValue
            | DeviceWork::WaitValue
            | DeviceWork::Empty => None,
        }
    }
}

/// The text that a track shows: a kernel's name, or what the work does.
impl fmt::Display for DeviceWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceWork::Kernel { name, .. } => f.write_str(name),
            DeviceWork::Copy { direction, .. } => f.write_str(match direction {
                CopyDirection::HostToDevice => "H2D copy",
                CopyDirection::DeviceToHost => "D2H copy",
                CopyDirection::DeviceToDevice => "D2D copy",
                CopyDirection::FromPeer(_) => "peer copy",
                _ => "copy",
            }),
            DeviceWork::Graph { nodes } => write!(f, "graph of {} nodes", nodes.len()),
            DeviceWork::Fill { .. }
            | DeviceWork::HostFunction
            | DeviceWork::WriteValue
            | DeviceWork::WaitValue
            | DeviceWork::Empty => f.write_str(self.category()),
        }
    }
}
