//! The symbolic names of immediates that only RDNA has, or that are others there than on gfx9.

use std::fmt;

use crate::target::Target;

/// Returns the name of a hardware register; `None` if it has none.
pub(in super::super) fn hardware_register(id: u16, target: Target) -> Option<&'static str> {
    let gfx10 = target.is_gfx10();
    Some(match id {
        1 => "HW_REG_MODE",
        2 => "HW_REG_STATUS",
        3 => "HW_REG_TRAPSTS",
        5 => "HW_REG_GPR_ALLOC",
        6 => "HW_REG_LDS_ALLOC",
        7 => "HW_REG_IB_STS",
        15 => "HW_REG_SH_MEM_BASES",
        16 if gfx10 => "HW_REG_TBA_LO",
        17 if gfx10 => "HW_REG_TBA_HI",
        18 if gfx10 => "HW_REG_TMA_LO",
        19 if gfx10 => "HW_REG_TMA_HI",
        18 => "HW_REG_PERF_SNAPSHOT_PC_LO",
        19 => "HW_REG_PERF_SNAPSHOT_PC_HI",
        20 => "HW_REG_FLAT_SCR_LO",
        21 => "HW_REG_FLAT_SCR_HI",
        23 => "HW_REG_HW_ID1",
        24 => "HW_REG_HW_ID2",
        25 if gfx10 => "HW_REG_POPS_PACKER",
        27 if !gfx10 => "HW_REG_PERF_SNAPSHOT_DATA",
        29 => "HW_REG_SHADER_CYCLES",
        _ => return None,
    })
}

/// `sendmsg(NAME)`: the message of `s_sendmsg`, and of `s_sendmsg_rtn_b32`, whose codes have the highest of the 8 bits set.
pub(super) struct Message {
    pub(super) bits: u16,
    pub(super) gfx12: bool,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.bits & 0xff {
            1 => "MSG_INTERRUPT",
            2 => "MSG_HS_TESSFACTOR",
            3 => "MSG_DEALLOC_VGPRS",
            5 if !self.gfx12 => "MSG_STALL_WAVE_GEN",
            6 if !self.gfx12 => "MSG_HALT_WAVES",
            9 => "MSG_GS_ALLOC_REQ",
            0x80 => "MSG_RTN_GET_DOORBELL",
            0x81 => "MSG_RTN_GET_DDID",
            0x82 => "MSG_RTN_GET_TMA",
            0x83 => "MSG_RTN_GET_REALTIME",
            0x84 => "MSG_RTN_SAVE_WAVE",
            0x85 => "MSG_RTN_GET_TBA",
            0x86 => "MSG_RTN_GET_TBA_TO_PC",
            0x87 if self.gfx12 => "MSG_RTN_GET_SE_AID_ID",
            id if id == self.bits => return write!(f, "sendmsg({id}, 0, 0)"),
            // Bits that belong to no field matter only if the message has no name.
            _ => return write!(f, "{}", self.bits),
        };
        write!(f, "sendmsg({name})")
    }
}

/// The version of the microcode.
pub(in super::super) struct Version(pub(in super::super) u16);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 & 0x1f00 != 0 {
            return write!(f, "{:#x}", self.0);
        }
        let mut text = match self.0 & 0xff {
            0 => "UC_VERSION_GFX7".to_string(),
            4 => "UC_VERSION_GFX10".to_string(),
            6 => "UC_VERSION_GFX11".to_string(),
            9 => "UC_VERSION_GFX12".to_string(),
            other => other.to_string(),
        };
        // LLVM groups the flags as an expression of OR operators.
        let flags = ["UC_VERSION_W64_BIT", "UC_VERSION_W32_BIT", "UC_VERSION_MDP_BIT"];
        for (_, flag) in flags.iter().enumerate().filter(|(n, _)| self.0 >> (13 + n) & 1 != 0) {
            text = if text.contains('|') { format!("({text})|{flag}") } else { format!("{text}|{flag}") };
        }
        f.write_str(&text)
    }
}

/// The waits of `s_delay_alu`: on an earlier instruction, and for a later instruction on another one.
#[derive(Clone, Copy)]
pub(super) struct Delay(pub(super) u16);

impl Delay {
    /// Returns the three fields: what the next instruction waits for, how many instructions are skipped, and what the one after
    /// them waits for.
    fn fields(self) -> (u16, u16, u16) {
        (self.0 & 15, self.0 >> 4 & 7, self.0 >> 7 & 15)
    }

    /// Returns whether all values have a meaning.
    pub(super) fn is_valid(self) -> bool {
        let (first, skip, second) = self.fields();
        first < 12 && skip < 6 && second < 12
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const WAITS: [&str; 12] = [
            "NO_DEP",
            "VALU_DEP_1",
            "VALU_DEP_2",
            "VALU_DEP_3",
            "VALU_DEP_4",
            "TRANS32_DEP_1",
            "TRANS32_DEP_2",
            "TRANS32_DEP_3",
            "FMA_ACCUM_CYCLE_1",
            "SALU_CYCLE_1",
            "SALU_CYCLE_2",
            "SALU_CYCLE_3",
        ];
        const SKIPS: [&str; 6] = ["SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"];
        let (first, skip, second) = self.fields();
        let parts: [(&str, u16, &[&str]); 3] =
            [("instid0", first, &WAITS), ("instskip", skip, &SKIPS), ("instid1", second, &WAITS)];
        let mut separator = "";
        for (field, value, names) in parts.into_iter().filter(|(_, value, _)| *value != 0) {
            write!(f, "{separator}{field}({})", names.get(usize::from(value)).unwrap_or(&"?"))?;
            separator = " | ";
        }
        if separator.is_empty() { f.write_str("0") } else { Ok(()) }
    }
}

/// The counters of `s_waitcnt_depctr`. One with its largest value waits for nothing and is omitted.
pub(super) struct DependencyCounters(pub(super) u16);

impl fmt::Display for DependencyCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The name, the first bit and the largest value.
        const COUNTERS: [(&str, u16, u16); 7] = [
            ("hold_cnt", 7, 1),
            ("sa_sdst", 0, 1),
            ("va_vdst", 12, 15),
            ("va_sdst", 9, 7),
            ("va_ssrc", 8, 1),
            ("va_vcc", 1, 1),
            ("vm_vsrc", 2, 7),
        ];
        if self.0 & 0x60 != 0 {
            return write!(f, "{:#x}", self.0);
        }
        let all = self.0 == 0xff9f;
        let mut separator = "";
        for (name, at, most) in COUNTERS {
            let value = self.0 >> at & most;
            if all || value != most {
                write!(f, "{separator}depctr_{name}({value})")?;
                separator = " ";
            }
        }
        Ok(())
    }
}

/// Returns the modifier for the format of an MTBUF instruction; `None` for the default.
pub(in super::super) fn buffer_format(format: u32, target: Target) -> Option<String> {
    const FLOATS: &[&str] = &["UINT", "SINT", "FLOAT"];
    const SMALL: &[&str] = &["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT"];
    const HALVES: &[&str] = &["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "FLOAT"];
    // The formats of each size are numbered from 1 on.
    const SIZES: [(&str, &[&str]); 15] = [
        ("8", SMALL),
        ("16", HALVES),
        ("8_8", SMALL),
        ("32", FLOATS),
        ("16_16", HALVES),
        ("10_11_11", HALVES),
        ("11_11_10", HALVES),
        ("10_10_10_2", SMALL),
        ("2_10_10_10", SMALL),
        ("8_8_8_8", SMALL),
        ("32_32", FLOATS),
        ("16_16_16_16", HALVES),
        ("32_32_32", FLOATS),
        ("32_32_32_32", FLOATS),
        ("", &[]),
    ];
    let mut number = match format.checked_sub(1) {
        None => return Some("format:[BUF_FMT_INVALID]".into()),
        Some(0) => return None,
        Some(number) => number as usize,
    };
    for (size, all_kinds) in SIZES {
        let kinds: &[&str] = match size {
            // Later generations have fewer of these.
            "10_11_11" | "11_11_10" if !target.is_gfx10() => &["FLOAT"],
            "10_10_10_2" if !target.is_gfx10() => &["UNORM", "SNORM", "UINT", "SINT"],
            _ => all_kinds,
        };
        match kinds.get(number) {
            Some(kind) => return Some(format!("format:[BUF_FMT_{size}_{kind}]")),
            None => number -= kinds.len(),
        }
    }
    Some(format!("format:{format}"))
}
