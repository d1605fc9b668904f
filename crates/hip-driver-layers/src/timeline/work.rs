//! Work of a device, as a timeline names it.

use std::fmt;
use std::sync::Arc;

pub use hip_driver::CopyDirection;

/// Work of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceWork {
    /// A kernel.
    Kernel {
        /// Its name.
        name: Arc<str>,
        /// Workgroups in x, y and z.
        grid: [u32; 3],
        /// Work-items of a workgroup in x, y and z.
        block: [u32; 3],
        /// Dynamic LDS in bytes.
        dynamic_lds: u32,
    },
    /// A copy.
    Copy {
        /// Where it goes.
        direction: CopyDirection,
        /// How many bytes.
        bytes: u64,
    },
    /// A fill.
    Fill {
        /// How many bytes.
        bytes: u64,
    },
    /// A function of the host's in stream order.
    HostFunction,
    /// A graph.
    Graph {
        /// Its nodes in the order of adding.
        nodes: Arc<[DeviceWork]>,
    },
    /// A graph's node that does nothing.
    Empty,
}

impl DeviceWork {
    /// The kind of work in one or two words.
    pub const fn category(&self) -> &'static str {
        match self {
            DeviceWork::Kernel { .. } => "kernel",
            DeviceWork::Copy { .. } => "copy",
            DeviceWork::Fill { .. } => "fill",
            DeviceWork::HostFunction => "host function",
            DeviceWork::Graph { .. } => "graph",
            DeviceWork::Empty => "empty node",
        }
    }

    /// The bytes that it copies or fills; of a graph, those of all nodes.
    pub fn bytes(&self) -> Option<u64> {
        match self {
            DeviceWork::Copy { bytes, .. } | DeviceWork::Fill { bytes } => Some(*bytes),
            DeviceWork::Graph { nodes } => Some(nodes.iter().filter_map(DeviceWork::bytes).sum()),
            DeviceWork::Kernel { .. } | DeviceWork::HostFunction | DeviceWork::Empty => None,
        }
    }
}

/// What a track shows: the kernel's name, or what is done.
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
            DeviceWork::Fill { .. } | DeviceWork::HostFunction | DeviceWork::Empty => {
                f.write_str(self.category())
            }
        }
    }
}
