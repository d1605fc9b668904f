//! The class of each instruction, and how it computes the addresses that it accesses. Both follow from its row.

use amdgpu_isa::flags::{
    BRANCH, BY_LANE, COUNT, DESCRIPTOR, FORMAT, MATRIX, ST64, TO_LDS, TWO, WAVE_SCRATCH, WMMA,
};
use amdgpu_isa::{Encoding, MemoryAccess, Row, SampleForm};

use crate::exec::inst::{Code, Inst};
use crate::observe::hazards::Traits;
use crate::observe::operands::Operands;
use crate::observe::waits::Counting;
use crate::report::access::AccessKind;

/// Declares the classes, each with its name.
macro_rules! classes {
    ($($(#[$doc:meta])* $Class:ident $name:literal;)*) => {
        /// A class of instructions. Each instruction belongs to exactly one.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum InstructionClass {
            $($(#[$doc])* $Class,)*
        }

        impl InstructionClass {
            /// All classes, in the order in which reports show them.
            pub const ALL: [InstructionClass; [$($name),*].len()] = [$(InstructionClass::$Class,)*];

            /// Returns the name of the class in tables and JSON, such as `vmem_load`.
            pub fn name(self) -> &'static str {
                match self {
                    $(InstructionClass::$Class => $name,)*
                }
            }
        }
    };
}

classes! {
    /// Vector arithmetic, including moves between lanes and to scalars.
    Valu "valu";
    /// Matrix arithmetic.
    Mfma "mfma";
    /// Scalar arithmetic.
    Salu "salu";
    /// Scalar loads, stores, atomics and clocks.
    Smem "smem";
    /// Vector loads of memory: FLAT, GLOBAL, MUBUF, MTBUF, MIMG.
    VmemLoad "vmem_load";
    /// Vector stores to memory.
    VmemStore "vmem_store";
    /// Vector atomics on memory.
    VmemAtomic "vmem_atomic";
    /// DS instructions, including exchanges between lanes.
    Lds "lds";
    /// Accesses to private memory: SCRATCH, and MUBUF through the descriptor of private memory.
    Scratch "scratch";
    /// Branches, jumps and calls, taken or not.
    Branch "branch";
    /// `s_barrier`.
    Barrier "barrier";
    /// `s_waitcnt`, `s_sleep`, `s_nop` and similar instructions.
    Wait "wait";
    /// `s_sendmsg`, `s_trap` and similar instructions.
    Message "message";
    /// Cache control, mode changes, the end of the program.
    Other "other";
}

impl InstructionClass {
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
    /// MIMG. The descriptor has the format, which determines the size.
    Image(AccessKind),
    /// MIMG with a sampler, which decides how many texels are read.
    Sample,
}

/// The information for observers about an instruction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Info {
    pub(crate) class: InstructionClass,
    pub(crate) addressing: AddressingKind,
    /// Whether the instruction is in the instruction table. If not, it faults, or it jumps between two sequences of
    /// decoded instructions.
    pub(crate) is_known: bool,
    pub(crate) counting: Counting,
    /// Whether the instruction only computes registers: it accesses no memory, is no barrier and does nothing to the counters.
    pub(crate) is_quiet: bool,
    /// The index of the next instruction of the program that is not quiet.
    pub(crate) next_loud: u32,
    /// The registers that the instruction uses.
    pub(crate) operands: Operands,
    /// What decides which hazards the instruction has; `None` of a row.
    pub(crate) traits: Option<Traits>,
}

impl Info {
    /// Returns the information about an instruction.
    pub(crate) fn of_instruction(i: &Inst, code: &Code) -> Info {
        let operands = Operands::of(i, code.wave32);
        let info = Info { operands, counting: Counting::of_instruction(i), ..Info::of(i.row) };
        Info { traits: Some(Traits::of(i, &info, code.target)), ..info }
    }

    /// Returns the information about any instruction of a row, without its operands and traits.
    pub(crate) fn of(row: &Row) -> Info {
        match row.encoding() {
            Some(encoding) => {
                let (class, addressing) = (class(encoding, row), addressing(encoding, row));
                let counting = Counting::of(row);
                let is_quiet = addressing == AddressingKind::None
                    && class != InstructionClass::Barrier
                    && counting == Counting::Nothing;
                let (next_loud, operands) = (0, Operands::default());
                Info {
                    class,
                    addressing,
                    is_known: true,
                    counting,
                    is_quiet,
                    next_loud,
                    operands,
                    traits: None,
                }
            }
            None => Info {
                class: InstructionClass::Other,
                addressing: AddressingKind::None,
                is_known: false,
                counting: Counting::Nothing,
                is_quiet: true,
                next_loud: 0,
                operands: Operands::default(),
                traits: None,
            },
        }
    }
}

fn class(encoding: Encoding, row: &Row) -> InstructionClass {
    match encoding {
        _ if row.is(BRANCH) => InstructionClass::Branch,
        Encoding::Sopp => match row.name {
            "s_barrier" => InstructionClass::Barrier,
            "s_nop" | "s_waitcnt" | "s_sleep" | "s_sethalt" | "s_setprio" | "s_wakeup" | "s_delay_alu"
            | "s_wait_idle" | "s_wait_event" | "s_waitcnt_depctr" => InstructionClass::Wait,
            "s_sendmsg" | "s_sendmsghalt" | "s_trap" => InstructionClass::Message,
            _ => InstructionClass::Other,
        },
        Encoding::Sop1 if matches!(row.name, "s_sendmsg_rtn_b32" | "s_sendmsg_rtn_b64") => {
            InstructionClass::Message
        }
        Encoding::Sopk
            if matches!(
                row.name,
                "s_waitcnt_vscnt" | "s_waitcnt_vmcnt" | "s_waitcnt_expcnt" | "s_waitcnt_lgkmcnt"
            ) =>
        {
            InstructionClass::Wait
        }
        Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopk | Encoding::Sopc => InstructionClass::Salu,
        Encoding::Smem => InstructionClass::Smem,
        Encoding::Vop3p if row.is(MATRIX | WMMA) => InstructionClass::Mfma,
        Encoding::Vop1
        | Encoding::Vop2
        | Encoding::Vopc
        | Encoding::Vop3
        | Encoding::Vop3p
        | Encoding::Vopd => InstructionClass::Valu,
        Encoding::Ds if row.name == "ds_nop" => InstructionClass::Other,
        Encoding::Ds => InstructionClass::Lds,
        Encoding::Scratch => InstructionClass::Scratch,
        Encoding::Flat | Encoding::Global | Encoding::Mubuf | Encoding::Mtbuf | Encoding::Mimg => {
            match access(row) {
                Some(AccessKind::Read) => InstructionClass::VmemLoad,
                Some(AccessKind::Write) => InstructionClass::VmemStore,
                Some(AccessKind::Atomic) => InstructionClass::VmemAtomic,
                None if matches!(row.name, "image_get_resinfo" | "image_get_lod") => {
                    InstructionClass::VmemLoad
                }
                None => InstructionClass::Other,
            }
        }
    }
}

/// Returns the kind of access of a memory instruction; `None` for cache control.
pub(crate) fn access(row: &Row) -> Option<AccessKind> {
    Some(match row.access()? {
        MemoryAccess::Load => AccessKind::Read,
        MemoryAccess::Store => AccessKind::Write,
        MemoryAccess::Atomic => AccessKind::Atomic,
    })
}

fn addressing(encoding: Encoding, row: &Row) -> AddressingKind {
    let Some(access) = access(row) else {
        return AddressingKind::None;
    };
    let size = row.bytes();
    match encoding {
        Encoding::Ds => match row.name {
            _ if row.is(COUNT) => AddressingKind::DsCount,
            "ds_condxchg32_rtn_b64" => AddressingKind::DsAligned(access, size),
            _ if row.is(BY_LANE) => AddressingKind::DsByLane(access),
            _ if row.is(TWO) => {
                AddressingKind::DsTwo(access, size, if row.is(ST64) { 64 * size } else { size })
            }
            _ => AddressingKind::Ds(access, size),
        },
        Encoding::Smem if row.is(WAVE_SCRATCH) => AddressingKind::ScalarScratch(access, size),
        Encoding::Smem if row.is(DESCRIPTOR) => AddressingKind::ScalarBuffer(access, size),
        Encoding::Smem => AddressingKind::Scalar(access, size),
        Encoding::Mimg if SampleForm::of(row).is_some() => AddressingKind::Sample,
        Encoding::Mimg => AddressingKind::Image(access),
        Encoding::Flat => AddressingKind::Flat(access, size),
        Encoding::Global if row.is(TO_LDS) => AddressingKind::GlobalToLds(size),
        Encoding::Global => AddressingKind::Global(access, size),
        Encoding::Scratch if row.is(TO_LDS) => AddressingKind::ScratchToLds(size),
        Encoding::Scratch => AddressingKind::Scratch(access, size),
        _ if row.is(FORMAT) => AddressingKind::Format(access),
        _ => AddressingKind::Buffer(access, size),
    }
}
