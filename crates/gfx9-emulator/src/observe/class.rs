//! The class of each instruction, and how it computes the addresses that it accesses. Both follow from its row.

use gfx9_isa::{Encoding, Row, Ty};

use crate::exec::inst::Inst;
use crate::observe::operands::Operands;
use crate::observe::waits::Counting;
use crate::report::access::AccessKind;

/// A class of instructions. Each instruction belongs to exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InstructionClass {
    /// Vector arithmetic, including moves between lanes and to scalars.
    Valu,
    /// Matrix arithmetic.
    Mfma,
    /// Scalar arithmetic.
    Salu,
    /// Scalar loads, stores, atomics and clocks.
    Smem,
    /// Vector loads of memory: FLAT, GLOBAL, MUBUF, MTBUF.
    VmemLoad,
    /// Vector stores to memory.
    VmemStore,
    /// Vector atomics on memory.
    VmemAtomic,
    /// DS instructions, including exchanges between lanes.
    Lds,
    /// Accesses to private memory: SCRATCH, and MUBUF through the descriptor of private memory.
    Scratch,
    /// Branches, jumps and calls, taken or not.
    Branch,
    /// `s_barrier`.
    Barrier,
    /// `s_waitcnt`, `s_sleep`, `s_nop` and similar instructions.
    Wait,
    /// `s_sendmsg`, `s_trap` and similar instructions.
    Message,
    /// Cache control, mode changes, the end of the program.
    Other,
}

impl InstructionClass {
    /// All classes, in the order in which reports show them.
    pub const ALL: [InstructionClass; 14] = [
        InstructionClass::Valu,
        InstructionClass::Mfma,
        InstructionClass::Salu,
        InstructionClass::Smem,
        InstructionClass::VmemLoad,
        InstructionClass::VmemStore,
        InstructionClass::VmemAtomic,
        InstructionClass::Lds,
        InstructionClass::Scratch,
        InstructionClass::Branch,
        InstructionClass::Barrier,
        InstructionClass::Wait,
        InstructionClass::Message,
        InstructionClass::Other,
    ];

    /// Returns the name of the class in tables and JSON, such as `vmem_load`.
    pub fn name(self) -> &'static str {
        match self {
            InstructionClass::Valu => "valu",
            InstructionClass::Mfma => "mfma",
            InstructionClass::Salu => "salu",
            InstructionClass::Smem => "smem",
            InstructionClass::VmemLoad => "vmem_load",
            InstructionClass::VmemStore => "vmem_store",
            InstructionClass::VmemAtomic => "vmem_atomic",
            InstructionClass::Lds => "lds",
            InstructionClass::Scratch => "scratch",
            InstructionClass::Branch => "branch",
            InstructionClass::Barrier => "barrier",
            InstructionClass::Wait => "wait",
            InstructionClass::Message => "message",
            InstructionClass::Other => "other",
        }
    }

    /// Returns whether instructions of this class execute for the lanes in EXEC only.
    pub(crate) fn is_vector(self) -> bool {
        matches!(
            self,
            InstructionClass::Valu
                | InstructionClass::Mfma
                | InstructionClass::VmemLoad
                | InstructionClass::VmemStore
                | InstructionClass::VmemAtomic
                | InstructionClass::Lds
                | InstructionClass::Scratch
        )
    }
}

/// How an instruction computes the addresses that it accesses. Sizes are in bytes for each lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddressingKind {
    /// The instruction doesn't access memory.
    None,
    /// SMEM, through a base address.
    Scalar(AccessKind, u32),
    /// SMEM, through a descriptor.
    ScalarBuffer(AccessKind, u32),
    /// SMEM `s_scratch_*`: at the wave's private memory, or at another address.
    ScalarScratch(AccessKind, u32),
    /// DS at one address.
    Ds(AccessKind, u32),
    /// DS at two addresses. The last number is the unit of their offsets in bytes.
    DsTwo(AccessKind, u32, u32),
    /// DS at the address rounded down to a multiple of 8.
    DsAligned(AccessKind, u32),
    /// DS at M0 and the lane's number.
    DsByLane(AccessKind),
    /// DS at M0, once for the wave.
    DsCount,
    Flat(AccessKind, u32),
    Global(AccessKind, u32),
    /// From memory to LDS.
    GlobalToLds(u32),
    Scratch(AccessKind, u32),
    ScratchToLds(u32),
    Buffer(AccessKind, u32),
    /// MUBUF and MTBUF with a format, which determines the size.
    Format(AccessKind),
}

/// The information for observers about an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Info {
    pub(crate) class: InstructionClass,
    pub(crate) addressing: AddressingKind,
    /// Whether the instruction is in the instruction table. If not, it faults, or it jumps between two sequences of
    /// decoded instructions.
    pub(crate) is_known: bool,
    pub(crate) counting: Counting,
    /// The registers that the instruction uses.
    pub(crate) operands: Operands,
}

impl Info {
    /// Returns the information about an instruction.
    pub(crate) fn of_instruction(i: &Inst) -> Info {
        Info { operands: Operands::of(i), ..Info::of(i.row) }
    }

    /// Returns the information about any instruction of a row, without its operands.
    pub(crate) fn of(row: &Row) -> Info {
        match row.encoding() {
            Some(encoding) => Info {
                class: class(encoding, row.name),
                addressing: addressing(encoding, row),
                is_known: true,
                counting: Counting::of(row),
                operands: Operands::default(),
            },
            None => Info {
                class: InstructionClass::Other,
                addressing: AddressingKind::None,
                is_known: false,
                counting: Counting::Nothing,
                operands: Operands::default(),
            },
        }
    }
}

fn class(encoding: Encoding, name: &str) -> InstructionClass {
    match encoding {
        Encoding::Sopp => match name {
            "s_barrier" => InstructionClass::Barrier,
            "s_nop" | "s_waitcnt" | "s_sleep" | "s_sethalt" | "s_setprio" | "s_wakeup" => {
                InstructionClass::Wait
            }
            "s_sendmsg" | "s_sendmsghalt" | "s_trap" => InstructionClass::Message,
            _ if name.starts_with("s_branch") || name.starts_with("s_cbranch") => InstructionClass::Branch,
            _ => InstructionClass::Other,
        },
        _ if matches!(name, "s_setpc_b64" | "s_swappc_b64" | "s_call_b64")
            || name.starts_with("s_cbranch") =>
        {
            InstructionClass::Branch
        }
        Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopk | Encoding::Sopc => InstructionClass::Salu,
        Encoding::Smem => InstructionClass::Smem,
        Encoding::Vop3p if name.starts_with("v_mfma") || name.starts_with("v_smfmac") => {
            InstructionClass::Mfma
        }
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc | Encoding::Vop3 | Encoding::Vop3p => {
            InstructionClass::Valu
        }
        Encoding::Ds if name == "ds_nop" => InstructionClass::Other,
        Encoding::Ds => InstructionClass::Lds,
        Encoding::Scratch => InstructionClass::Scratch,
        Encoding::Flat | Encoding::Global | Encoding::Mubuf | Encoding::Mtbuf | Encoding::Mimg => {
            match access(name) {
                Some(AccessKind::Read) => InstructionClass::VmemLoad,
                Some(AccessKind::Write) => InstructionClass::VmemStore,
                Some(AccessKind::Atomic) => InstructionClass::VmemAtomic,
                None => InstructionClass::Other,
            }
        }
    }
}

/// Returns the kind of access of the memory instruction with a name; `None` for cache control.
pub(crate) fn access(name: &str) -> Option<AccessKind> {
    if name.contains("_atomic_") {
        Some(AccessKind::Atomic)
    } else if name.contains("_load_") {
        Some(AccessKind::Read)
    } else if name.contains("_store_") {
        Some(AccessKind::Write)
    } else {
        None
    }
}

/// Returns the bytes that each lane accesses in a load or store of `ty`, or in an atomic.
fn size(name: &str, access: AccessKind, ty: Ty) -> u32 {
    match access {
        AccessKind::Atomic if name.ends_with("_x2") || name.ends_with("_f64") => 8,
        AccessKind::Atomic => 4,
        _ if name.contains("byte") => 1,
        _ if name.contains("short") => 2,
        // Loads to LDS have no destination in registers.
        _ if name.ends_with("_dwordx3") => 12,
        _ if name.ends_with("_dwordx4") => 16,
        _ => 4 * u32::from(ty.dwords()).max(1),
    }
}

fn addressing(encoding: Encoding, row: &Row) -> AddressingKind {
    let name = row.name;
    let access = match encoding {
        Encoding::Ds => return ds(name),
        Encoding::Smem
        | Encoding::Flat
        | Encoding::Global
        | Encoding::Scratch
        | Encoding::Mubuf
        | Encoding::Mtbuf => access(name),
        _ => None,
    };
    let Some(access) = access else { return AddressingKind::None };
    let ty = if access == AccessKind::Read { row.dst } else { row.src[0] };
    let size = size(name, access, ty);
    match encoding {
        Encoding::Smem if name.starts_with("s_scratch") => AddressingKind::ScalarScratch(access, size),
        Encoding::Smem if name.starts_with("s_buffer") => AddressingKind::ScalarBuffer(access, size),
        Encoding::Smem => AddressingKind::Scalar(access, size),
        Encoding::Flat => AddressingKind::Flat(access, size),
        Encoding::Global if name.contains("_lds_") => AddressingKind::GlobalToLds(size),
        Encoding::Global => AddressingKind::Global(access, size),
        Encoding::Scratch if name.contains("_lds_") => AddressingKind::ScratchToLds(size),
        Encoding::Scratch => AddressingKind::Scratch(access, size),
        _ if name.contains("_format_") => AddressingKind::Format(access),
        _ => AddressingKind::Buffer(access, size),
    }
}

fn ds(name: &str) -> AddressingKind {
    let access = if name.starts_with("ds_read") {
        AccessKind::Read
    } else if name.starts_with("ds_write") {
        AccessKind::Write
    } else {
        AccessKind::Atomic
    };
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let size = if has(&["_b128"]) {
        16
    } else if has(&["_b96"]) {
        12
    } else if has(&["_b64", "_u64", "_i64", "_f64"]) {
        8
    } else if has(&["_b8", "_u8", "_i8"]) {
        1
    } else if has(&["_b16", "_u16", "_i16"]) {
        2
    } else {
        4
    };
    match name {
        "ds_nop" | "ds_swizzle_b32" | "ds_permute_b32" | "ds_bpermute_b32" => AddressingKind::None,
        "ds_append" | "ds_consume" => AddressingKind::DsCount,
        "ds_condxchg32_rtn_b64" => AddressingKind::DsAligned(access, size),
        _ if name.starts_with("ds_gws") => AddressingKind::None,
        _ if name.ends_with("_addtid_b32") => AddressingKind::DsByLane(access),
        _ if has(&["2st64"]) => AddressingKind::DsTwo(access, size, 64 * size),
        _ if has(&["read2_", "write2_", "wrxchg2_"]) => AddressingKind::DsTwo(access, size, size),
        _ => AddressingKind::Ds(access, size),
    }
}
