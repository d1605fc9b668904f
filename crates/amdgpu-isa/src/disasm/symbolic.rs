//! Immediates with symbolic names: wait counts, messages, hardware registers, index modes, swizzles, buffer formats.

use std::fmt;

use super::{gfx11, gfx12};
use crate::target::{Generation, Target};

/// The counters of `s_waitcnt`. A counter with its largest value waits for nothing and is omitted.
pub(super) struct Waitcnt {
    pub(super) bits: u16,
    pub(super) generation: Generation,
}

impl fmt::Display for Waitcnt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.bits;
        let (vmcnt, expcnt) = (("vmcnt", bits & 0xf | bits >> 10 & 0x30, 63), ("expcnt", bits >> 4 & 7, 7));
        let counters = match self.generation {
            Generation::Gfx9 => [vmcnt, expcnt, ("lgkmcnt", bits >> 8 & 0xf, 15)],
            Generation::Gfx10 => [vmcnt, expcnt, ("lgkmcnt", bits >> 8 & 0x3f, 63)],
            Generation::Gfx11 | Generation::Gfx12 => {
                [("vmcnt", bits >> 10, 63), ("expcnt", bits & 7, 7), ("lgkmcnt", bits >> 4 & 0x3f, 63)]
            }
        };
        let all = counters.iter().all(|(_, value, most)| value == most);
        let mut separator = "";
        for (name, value, _) in counters.iter().filter(|(_, value, most)| all || value != most) {
            write!(f, "{separator}{name}({value})")?;
            separator = " ";
        }
        Ok(())
    }
}

/// `hwreg(NAME, first bit, bits)`.
#[derive(Clone, Copy)]
pub(super) struct Hwreg {
    pub(super) bits: u16,
    pub(super) target: Target,
}

impl Hwreg {
    /// Returns the name; `None` if the register has none.
    fn name(self, id: u16) -> Option<&'static str> {
        match self.target.generation() {
            Generation::Gfx9 => {}
            Generation::Gfx10 | Generation::Gfx11 => {
                return gfx11::names::hardware_register(id, self.target);
            }
            Generation::Gfx12 => return gfx12::names::hardware_register(id),
        }
        let gfx942 = self.target.has_gfx942_instructions();
        Some(match id {
            1 => "HW_REG_MODE",
            2 => "HW_REG_STATUS",
            3 => "HW_REG_TRAPSTS",
            4 => "HW_REG_HW_ID",
            5 => "HW_REG_GPR_ALLOC",
            6 => "HW_REG_LDS_ALLOC",
            7 => "HW_REG_IB_STS",
            15 => "HW_REG_SH_MEM_BASES",
            16 => "HW_REG_TBA_LO",
            17 => "HW_REG_TBA_HI",
            18 => "HW_REG_TMA_LO",
            19 => "HW_REG_TMA_HI",
            20 if gfx942 => "HW_REG_XCC_ID",
            21 if gfx942 => "HW_REG_SQ_PERF_SNAPSHOT_DATA",
            22 if gfx942 => "HW_REG_SQ_PERF_SNAPSHOT_DATA1",
            23 if gfx942 => "HW_REG_SQ_PERF_SNAPSHOT_PC_LO",
            24 if gfx942 => "HW_REG_SQ_PERF_SNAPSHOT_PC_HI",
            _ => return None,
        })
    }
}

impl fmt::Display for Hwreg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, first, bits) = (self.bits & 0x3f, self.bits >> 6 & 0x1f, (self.bits >> 11) + 1);
        f.write_str("hwreg(")?;
        match self.name(id) {
            Some(name) => f.write_str(name),
            None => write!(f, "{id}"),
        }?;
        if (first, bits) != (0, 32) {
            write!(f, ", {first}, {bits}")?;
        }
        f.write_str(")")
    }
}

/// `sendmsg(NAME, operation, stream)`.
pub(super) struct Message {
    pub(super) bits: u16,
    pub(super) target: Target,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, operation, stream) = (self.bits & 0xf, self.bits >> 4 & 7, self.bits >> 8 & 3);
        let streams = ["GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"];
        let system = [
            "",
            "SYSMSG_OP_ECC_ERR_INTERRUPT",
            "SYSMSG_OP_REG_RD",
            "SYSMSG_OP_HOST_TRAP_ACK",
            "SYSMSG_OP_TTRACE_PC",
        ];
        let simple = match id {
            1 => "MSG_INTERRUPT",
            4 => "MSG_SAVEWAVE",
            5 => "MSG_STALL_WAVE_GEN",
            6 => "MSG_HALT_WAVES",
            7 => "MSG_ORDERED_PS_DONE",
            8 => "MSG_EARLY_PRIM_DEALLOC",
            9 => "MSG_GS_ALLOC_REQ",
            10 => "MSG_GET_DOORBELL",
            11 if self.target.is_gfx10() => "MSG_GET_DDID",
            _ => "",
        };
        let since_gfx942 = self.target != Target::Gfx90a;
        // Bits outside of the fields matter only if the message has no name.
        let exact = self.bits & !0x37f == 0;
        match (id, usize::from(operation)) {
            (_, 0) if !simple.is_empty() && stream == 0 => write!(f, "sendmsg({simple})"),
            (2, 1..=3) => write!(f, "sendmsg(MSG_GS, {}, {stream})", streams[usize::from(operation)]),
            (3, 0) if stream == 0 => f.write_str("sendmsg(MSG_GS_DONE, GS_OP_NOP)"),
            (3, 1..=3) => write!(f, "sendmsg(MSG_GS_DONE, {}, {stream})", streams[usize::from(operation)]),
            // LLVM 22 has no such message from gfx9 on.
            (15, 3) if since_gfx942 && exact => write!(f, "sendmsg({id}, {operation}, {stream})"),
            (15, 1 | 2 | 4) if stream == 0 => {
                write!(f, "sendmsg(MSG_SYSMSG, {})", system[usize::from(operation)])
            }
            (15, 3) if stream == 0 && !since_gfx942 => {
                write!(f, "sendmsg(MSG_SYSMSG, {})", system[usize::from(operation)])
            }
            _ if exact => write!(f, "sendmsg({id}, {operation}, {stream})"),
            _ => write!(f, "{}", self.bits),
        }
    }
}

/// `gpr_idx(...)`: the operands that are indexed.
pub(super) struct GprIndex(pub(super) u16);

impl fmt::Display for GprIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 > 15 {
            return write!(f, "{:#x}", self.0);
        }
        f.write_str("gpr_idx(")?;
        let mut separator = "";
        for (bit, name) in ["SRC0", "SRC1", "SRC2", "DST"].iter().enumerate() {
            if self.0 >> bit & 1 != 0 {
                write!(f, "{separator}{name}")?;
                separator = ",";
            }
        }
        f.write_str(")")
    }
}

/// The pattern of `ds_swizzle_b32`.
pub(super) struct Swizzle {
    pub(super) bits: u16,
    /// Whether to use the names that only LLVM 22 has.
    pub(super) gfx942: bool,
}

impl fmt::Display for Swizzle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.bits;
        if self.gfx942 && bits >= 0xe000 {
            return write!(f, "swizzle(FFT,{})", bits & 31);
        }
        if self.gfx942 && bits >= 0xc000 {
            return write!(f, "swizzle(ROTATE,{},{})", bits >> 10 & 1, bits >> 5 & 31);
        }
        if bits & 0xff00 == 0x8000 {
            let lane = |n: u16| bits >> (2 * n) & 3;
            return write!(f, "swizzle(QUAD_PERM,{},{},{},{})", lane(0), lane(1), lane(2), lane(3));
        }
        if bits & 0x8000 != 0 {
            return write!(f, "{bits}");
        }
        let (and, or, xor) = (bits & 31, bits >> 5 & 31, bits >> 10 & 31);
        let group = 32 - and;
        if and == 31 && or == 0 && xor.count_ones() == 1 {
            write!(f, "swizzle(SWAP,{xor})")
        } else if and == 31 && or == 0 && xor > 0 && (xor + 1).is_power_of_two() {
            write!(f, "swizzle(REVERSE,{})", xor + 1)
        } else if group > 1 && group.is_power_of_two() && or < group && xor == 0 {
            write!(f, "swizzle(BROADCAST,{group},{or})")
        } else {
            f.write_str("swizzle(BITMASK_PERM,\"")?;
            for bit in (0..5).rev() {
                // The result for a bit of the lane's number that is 0, and for one that is 1.
                let of = |value: u16| ((value & and | or) ^ xor) >> bit & 1;
                f.write_str(match (of(0), of(31)) {
                    (0, 0) => "0",
                    (1, 1) => "1",
                    (0, _) => "p",
                    _ => "i",
                })?;
            }
            f.write_str("\")")
        }
    }
}

/// The data and number format of MTBUF instructions, bits 6:0; `None` for the default.
pub(super) fn buffer_format(bits: u32) -> Option<String> {
    const DATA: [&str; 16] = [
        "BUF_DATA_FORMAT_INVALID",
        "BUF_DATA_FORMAT_8",
        "BUF_DATA_FORMAT_16",
        "BUF_DATA_FORMAT_8_8",
        "BUF_DATA_FORMAT_32",
        "BUF_DATA_FORMAT_16_16",
        "BUF_DATA_FORMAT_10_11_11",
        "BUF_DATA_FORMAT_11_11_10",
        "BUF_DATA_FORMAT_10_10_10_2",
        "BUF_DATA_FORMAT_2_10_10_10",
        "BUF_DATA_FORMAT_8_8_8_8",
        "BUF_DATA_FORMAT_32_32",
        "BUF_DATA_FORMAT_16_16_16_16",
        "BUF_DATA_FORMAT_32_32_32",
        "BUF_DATA_FORMAT_32_32_32_32",
        "BUF_DATA_FORMAT_RESERVED_15",
    ];
    const NUMBER: [&str; 8] = [
        "BUF_NUM_FORMAT_UNORM",
        "BUF_NUM_FORMAT_SNORM",
        "BUF_NUM_FORMAT_USCALED",
        "BUF_NUM_FORMAT_SSCALED",
        "BUF_NUM_FORMAT_UINT",
        "BUF_NUM_FORMAT_SINT",
        "BUF_NUM_FORMAT_RESERVED_6",
        "BUF_NUM_FORMAT_FLOAT",
    ];
    let (data, number) = ((bits & 15) as usize, (bits >> 4 & 7) as usize);
    match (data, number) {
        (1, 0) => None,
        (1, _) => Some(format!("format:[{}]", NUMBER[number])),
        (_, 0) => Some(format!("format:[{}]", DATA[data])),
        _ => Some(format!("format:[{},{}]", DATA[data], NUMBER[number])),
    }
}
