//! Kernel signatures: the arguments, requirements and limits of a kernel, as its metadata states them.

use std::fmt;

use crate::descriptor::KernelDescriptor;

/// Declares enums whose variants have names in the metadata.
macro_rules! named {
    ($($(#[$doc:meta])* $Enum:ident { $($(#[$of:meta])* $variant:ident = $name:literal;)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $Enum {
            $($(#[$of])* $variant,)*
        }

        impl $Enum {
            pub(crate) fn from_name(name: &str) -> Option<$Enum> {
                match name {
                    $($name => Some($Enum::$variant),)*
                    _ => None,
                }
            }

            /// Returns the name in the metadata.
            pub fn name(self) -> &'static str {
                match self {
                    $($Enum::$variant => $name,)*
                }
            }
        }
    )*};
}

named! {
    /// The use of a kernel (`.kind`).
    #[derive(Default)]
    KernelKind {
        /// Launched by the program.
        #[default]
        Normal = "normal";
        /// Run with one work-item after the code object is loaded: constructors of device variables.
        Init = "init";
        /// Run with one work-item before it is unloaded: destructors.
        Fini = "fini";
    }
    /// The memory that a pointer argument points to (`.address_space`).
    AddressSpace {
        /// Private memory of one work-item.
        Private = "private";
        /// Device memory.
        Global = "global";
        /// Device memory that the kernel does not write.
        Constant = "constant";
        /// LDS.
        Local = "local";
        /// Any of private, global and local: a flat pointer.
        Generic = "generic";
        /// GDS.
        Region = "region";
    }
    /// How a kernel may access the memory that an argument points to (`.access`, `.actual_access`).
    Access {
        /// Only read it.
        ReadOnly = "read_only";
        /// Only write it.
        WriteOnly = "write_only";
        /// Read and write it.
        ReadWrite = "read_write";
    }
}

/// Declares [`HiddenArg`] with the metadata's name and the size in bytes of each; 0 if any size is allowed.
macro_rules! hidden_args {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $size:literal;)*) => {
        /// An argument that the launcher fills, not the caller (LLVM AMDGPU usage, "AMDHSA Code Object Kernel
        /// Argument Metadata Map" of v3 to v5, which v6 shares). Sizes are checked when the code object is read.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum HiddenArg {
            $($(#[$doc])* $variant,)*
            /// An argument that this crate doesn't know, to be filled with zeros.
            Unknown,
        }

        impl HiddenArg {
            /// All known hidden arguments.
            pub const ALL: &'static [HiddenArg] = &[$(HiddenArg::$variant,)*];

            pub(crate) fn from_name(name: &str) -> HiddenArg {
                match name {
                    $($name => HiddenArg::$variant,)*
                    _ => HiddenArg::Unknown,
                }
            }

            /// Returns the `.value_kind` in the metadata; `hidden_unknown` for an unknown one.
            pub fn name(self) -> &'static str {
                match self {
                    $(HiddenArg::$variant => $name,)*
                    HiddenArg::Unknown => "hidden_unknown",
                }
            }

            /// Returns the size in bytes, or `None` if only the metadata says it.
            pub fn size(self) -> Option<u32> {
                match self {
                    $(HiddenArg::$variant => if $size == 0 { None } else { Some($size) },)*
                    HiddenArg::Unknown => None,
                }
            }
        }
    };
}

hidden_args! {
    /// Whole workgroups in the grid along x, u32.
    BlockCountX = "hidden_block_count_x", 4;
    /// Whole workgroups in the grid along y, u32.
    BlockCountY = "hidden_block_count_y", 4;
    /// Whole workgroups in the grid along z, u32.
    BlockCountZ = "hidden_block_count_z", 4;
    /// Work-items of a whole workgroup along x, u16.
    GroupSizeX = "hidden_group_size_x", 2;
    /// Work-items of a whole workgroup along y, u16.
    GroupSizeY = "hidden_group_size_y", 2;
    /// Work-items of a whole workgroup along z, u16.
    GroupSizeZ = "hidden_group_size_z", 2;
    /// Work-items of the partial last workgroup along x, u16; 0 if there is none.
    RemainderX = "hidden_remainder_x", 2;
    /// Work-items of the partial last workgroup along y, u16; 0 if there is none.
    RemainderY = "hidden_remainder_y", 2;
    /// Work-items of the partial last workgroup along z, u16; 0 if there is none.
    RemainderZ = "hidden_remainder_z", 2;
    /// OpenCL's global offset along x, u64; 0 in HIP.
    GlobalOffsetX = "hidden_global_offset_x", 8;
    /// OpenCL's global offset along y, u64; 0 in HIP.
    GlobalOffsetY = "hidden_global_offset_y", 8;
    /// OpenCL's global offset along z, u64; 0 in HIP.
    GlobalOffsetZ = "hidden_global_offset_z", 8;
    /// Dimensions of the grid, u16: 1, 2 or 3.
    GridDims = "hidden_grid_dims", 2;
    /// An unused argument, filled with zeros.
    None = "hidden_none", 0;
    /// Pointer to OpenCL's printf buffer.
    PrintfBuffer = "hidden_printf_buffer", 8;
    /// Pointer to the buffer of calls to the host.
    HostcallBuffer = "hidden_hostcall_buffer", 8;
    /// Pointer to the heap of device-side malloc.
    HeapV1 = "hidden_heap_v1", 8;
    /// Pointer to OpenCL's default device queue.
    DefaultQueue = "hidden_default_queue", 8;
    /// Pointer to OpenCL's device-enqueue completion action.
    CompletionAction = "hidden_completion_action", 8;
    /// Pointer to the cooperative launch's synchronization data.
    MultigridSyncArg = "hidden_multigrid_sync_arg", 8;
    /// Bytes of dynamic LDS, u32.
    DynamicLdsSize = "hidden_dynamic_lds_size", 4;
    /// High 32 bits of the private aperture's address, u32.
    PrivateBase = "hidden_private_base", 4;
    /// High 32 bits of the LDS aperture's address, u32.
    SharedBase = "hidden_shared_base", 4;
    /// Pointer to the AQL queue (`amd_queue_t`).
    QueuePtr = "hidden_queue_ptr", 8;
}

/// The kind of an argument (`.value_kind`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// Bytes copied into the kernarg segment.
    ByValue,
    /// A pointer to device memory.
    GlobalBuffer,
    /// An offset into dynamic LDS (OpenCL `__local` pointer); see [`ArgSignature::pointee_align`].
    DynamicSharedPointer,
    /// Pointer to a sampler's descriptor.
    Sampler,
    /// Pointer to an image's descriptor.
    Image,
    /// Pointer to a pipe.
    Pipe,
    /// Pointer to a device queue.
    Queue,
    /// Filled by the launcher.
    Hidden(HiddenArg),
}

impl ValueKind {
    pub(crate) fn from_name(name: &str) -> Option<ValueKind> {
        Some(match name {
            "by_value" => ValueKind::ByValue,
            "global_buffer" => ValueKind::GlobalBuffer,
            "dynamic_shared_pointer" => ValueKind::DynamicSharedPointer,
            "sampler" => ValueKind::Sampler,
            "image" => ValueKind::Image,
            "pipe" => ValueKind::Pipe,
            "queue" => ValueKind::Queue,
            _ if name.starts_with("hidden_") => ValueKind::Hidden(HiddenArg::from_name(name)),
            _ => return None,
        })
    }

    /// Returns the name in the metadata.
    pub fn name(self) -> &'static str {
        match self {
            ValueKind::ByValue => "by_value",
            ValueKind::GlobalBuffer => "global_buffer",
            ValueKind::DynamicSharedPointer => "dynamic_shared_pointer",
            ValueKind::Sampler => "sampler",
            ValueKind::Image => "image",
            ValueKind::Pipe => "pipe",
            ValueKind::Queue => "queue",
            ValueKind::Hidden(hidden) => hidden.name(),
        }
    }

    /// Returns whether the launcher fills the argument, not the caller.
    pub fn is_hidden(self) -> bool {
        matches!(self, ValueKind::Hidden(_))
    }
}

/// One argument of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ArgSignature {
    /// The name in the source, if the compiler kept it.
    pub name: Option<String>,
    /// The type in the source, if the compiler kept it.
    pub type_name: Option<String>,
    /// The offset in the kernarg segment, in bytes.
    pub offset: u32,
    /// The size in the kernarg segment, in bytes.
    pub size: u32,
    /// The kind of the argument.
    pub kind: ValueKind,
    /// The memory that it points to, if it is a pointer.
    pub address_space: Option<AddressSpace>,
    /// The access that the source declares.
    pub access: Option<Access>,
    /// The access that the compiler found.
    pub actual_access: Option<Access>,
    /// The alignment in bytes of the memory that a [`ValueKind::DynamicSharedPointer`] points to.
    pub pointee_align: Option<u32>,
    /// Whether it is declared `const`.
    pub is_const: bool,
    /// Whether it is declared `restrict`.
    pub is_restrict: bool,
    /// Whether it is declared `volatile`.
    pub is_volatile: bool,
    /// Whether it is declared `pipe`.
    pub is_pipe: bool,
}

impl ArgSignature {
    /// Returns the offset after its last byte, which is at most the kernarg segment's size.
    pub fn end(&self) -> u32 {
        self.offset + self.size
    }

    /// Whether it is a pointer to memory of the device.
    pub fn is_pointer(&self) -> bool {
        self.kind == ValueKind::GlobalBuffer
    }
}

impl fmt::Display for ArgSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}B@{}", self.kind.name(), self.size, self.offset)?;
        if let Some(space) = self.address_space {
            write!(f, " {}", space.name())?;
        }
        if let Some(name) = self.name.as_deref().filter(|name| !name.is_empty()) {
            write!(f, " `{name}`")?;
        }
        Ok(())
    }
}

/// A kernel with its arguments, requirements and limits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KernelSignature {
    /// The name by which it is looked up (mangled, unless it is `extern "C"`).
    pub name: String,
    /// The symbol of its descriptor, `<name>.kd`.
    pub symbol: String,
    /// Size of the kernarg segment, hidden arguments included, in bytes. At most
    /// [`limits::MAX_KERNARG_SIZE`](crate::limits::MAX_KERNARG_SIZE).
    pub kernarg_size: u32,
    /// Alignment of the kernarg segment, in bytes; a power of two.
    pub kernarg_align: u32,
    /// Static LDS of a workgroup, in bytes.
    pub group_segment_fixed_size: u32,
    /// The private memory (scratch) of a work-item, in bytes. With [`uses_dynamic_stack`](Self::uses_dynamic_stack) it
    /// may need more.
    pub private_segment_fixed_size: u32,
    /// Most work-items in a workgroup: 1 to 1024.
    pub max_flat_workgroup_size: u32,
    /// The only workgroup size that it may be launched with, if it has one.
    pub reqd_workgroup_size: Option<[u32; 3]>,
    /// The workgroup size that the source hints at.
    pub workgroup_size_hint: Option<[u32; 3]>,
    /// Lanes of a wavefront: 32 or 64.
    pub wavefront_size: u32,
    /// Scalar registers of a wavefront, VCC and the like included.
    pub sgpr_count: u32,
    /// Vector registers of a work-item; accumulation registers included where the file is unified (gfx90a on).
    pub vgpr_count: u32,
    /// Accumulation vector registers of a work-item.
    pub agpr_count: u32,
    /// Scalar registers spilled.
    pub sgpr_spill_count: u32,
    /// Vector registers spilled.
    pub vgpr_spill_count: u32,
    /// Whether the size of its private memory is not known at compile time: recursion, calls through pointers.
    pub uses_dynamic_stack: bool,
    /// Whether the grid must be a multiple of the workgroup size in each dimension.
    pub uniform_work_group_size: bool,
    /// Whether it is compiled for workgroup processor mode (gfx10 on).
    pub workgroup_processor_mode: bool,
    /// What it is for.
    pub kind: KernelKind,
    /// The source's language, as the metadata has it. HIP says "OpenCL C".
    pub language: Option<String>,
    /// The language's version: major, minor.
    pub language_version: Option<[u32; 2]>,
    /// All arguments, in the order of the metadata: explicit ones, then hidden ones. They don't overlap and lie
    /// within the kernarg segment.
    pub args: Vec<ArgSignature>,
    /// Its descriptor.
    pub descriptor: KernelDescriptor,
}

impl KernelSignature {
    /// How many of the arguments are explicit. The hidden ones come after them, as is checked when reading.
    fn explicit_count(&self) -> usize {
        self.args.partition_point(|arg| !arg.kind.is_hidden())
    }

    /// The arguments that the caller gives.
    pub fn explicit_args(&self) -> &[ArgSignature] {
        &self.args[..self.explicit_count()]
    }

    /// The arguments that the launcher fills.
    pub fn hidden_args(&self) -> &[ArgSignature] {
        &self.args[self.explicit_count()..]
    }

    /// Bytes of the kernarg segment up to the end of the last explicit argument.
    pub fn explicit_size(&self) -> u32 {
        self.explicit_args().iter().map(ArgSignature::end).max().unwrap_or(0)
    }

    /// The hidden argument of that kind, if the kernel uses it.
    pub fn hidden_arg(&self, kind: HiddenArg) -> Option<&ArgSignature> {
        self.hidden_args().iter().find(|arg| arg.kind == ValueKind::Hidden(kind))
    }
}

impl fmt::Display for KernelSignature {
    /// One line: `saxpy(by_value 4B@0, global_buffer 8B@8 global): 28 B kernarg, ...`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.name)?;
        for (i, arg) in self.explicit_args().iter().enumerate() {
            write!(f, "{}{arg}", if i == 0 { "" } else { ", " })?;
        }
        write!(
            f,
            "): {} B kernarg ({} hidden arguments), {} B LDS, {} B scratch{}, {} SGPRs, {} VGPRs, up to {} work-items",
            self.kernarg_size,
            self.hidden_args().len(),
            self.group_segment_fixed_size,
            self.private_segment_fixed_size,
            if self.uses_dynamic_stack { " and more" } else { "" },
            self.sgpr_count,
            self.vgpr_count,
            self.max_flat_workgroup_size,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_hidden_arguments() {
        assert_eq!(HiddenArg::ALL.len(), 24);
        for &hidden in HiddenArg::ALL {
            assert_eq!(HiddenArg::from_name(hidden.name()), hidden);
            assert_eq!(ValueKind::from_name(hidden.name()), Some(ValueKind::Hidden(hidden)));
        }
        assert_eq!(ValueKind::from_name("hidden_future"), Some(ValueKind::Hidden(HiddenArg::Unknown)));
        assert_eq!(HiddenArg::Unknown.size(), None);
        assert_eq!(ValueKind::from_name("by_reference"), None);
    }

    /// LLVM AMDGPU usage, "AMDHSA Code Object V5 Kernel Argument Metadata Map Additions": the layout adds up.
    #[test]
    fn sizes_of_hidden_arguments() {
        let total =
            |names: &[&str]| names.iter().filter_map(|name| HiddenArg::from_name(name).size()).sum::<u32>();
        assert_eq!(total(&["hidden_block_count_x", "hidden_block_count_y", "hidden_block_count_z"]), 12);
        assert_eq!(total(&["hidden_group_size_x", "hidden_remainder_z", "hidden_grid_dims"]), 6);
        assert_eq!(total(&["hidden_private_base", "hidden_shared_base", "hidden_dynamic_lds_size"]), 12);
        assert_eq!(total(&["hidden_queue_ptr", "hidden_heap_v1", "hidden_multigrid_sync_arg"]), 24);
        assert_eq!(HiddenArg::None.size(), None);
    }
}
