//! MIMG of RDNA: the dimension decides the number of addresses, which may be in registers that a third dword names.

use super::super::operand::any_vector;
use super::super::text::Text;
use super::super::words::{NotAnInstruction, Words};
use crate::encoding::Encoding;
use crate::fields;
use crate::row::Row;
use crate::row::flags::{ATOMIC, COMPARE};
use crate::sample_form::{SampleForm, SampleKind};
use crate::target::Target;

/// The dimensions: the name and the number of coordinates.
const DIMENSIONS: [(&str, u32); 8] = [
    ("1D", 1),
    ("2D", 2),
    ("3D", 3),
    ("CUBE", 3),
    ("1D_ARRAY", 2),
    ("2D_ARRAY", 3),
    ("2D_MSAA", 3),
    ("2D_MSAA_ARRAY", 4),
];
/// The most registers of addresses without a sampler.
const MOST_ADDRESSES: u32 = 4;
/// How many registers of an address need not follow each other. The last of them, which the third dword names, is the first of all that
/// are left.
const SEPARATE: u32 = 5;

/// Returns the number of registers of addresses (LLVM, `getAddrSizeMIMGOp`).
fn addresses(row: &Row, f: &fields::Mimg) -> Result<u32, NotAnInstruction> {
    let (_, coordinates) = DIMENSIONS[(f.dim & 7) as usize];
    if let Some(form) = SampleForm::of(row) {
        // No sampler reads images with several samples of a texel.
        return if f.dim < 6 { Ok(form.registers(f.dim, f.a16)) } else { Err(NotAnInstruction) };
    }
    let coordinates = match row.name {
        "image_get_resinfo" => 1,
        name => coordinates + u32::from(name.contains("_mip")),
    };
    let count = if f.a16 { coordinates.div_ceil(2) } else { coordinates };
    // Images with samples have no levels.
    if count > MOST_ADDRESSES { Err(NotAnInstruction) } else { Ok(count) }
}

fn gathers(kind: SampleKind) -> bool {
    matches!(kind, SampleKind::Gather | SampleKind::GatherRow)
}

/// Returns the number of registers of data.
fn registers(row: &Row, f: &fields::Mimg, target: Target) -> Result<u32, NotAnInstruction> {
    let chosen = f.dmask.count_ones().max(1);
    let values = match row.name {
        "image_msaa_load" if !target.is_gfx10() => 4,
        _ if SampleForm::of(row).is_some_and(|form| gathers(form.kind)) => 4,
        _ if row.is(COMPARE) && !matches!(chosen, 2 | 4) => return Err(NotAnInstruction),
        _ if row.is(ATOMIC) && !row.is(COMPARE) && chosen > 2 => return Err(NotAnInstruction),
        _ => chosen,
    };
    let packed = if f.d16 { values.div_ceil(2) } else { values };
    Ok(packed + u32::from(f.tfe))
}

impl Words {
    pub(in super::super) fn image(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let f = fields::Mimg::of(self.target, self.whole()?);
        let row = self.row(Encoding::Mimg, f.opcode())?;
        let form = SampleForm::of(row);
        let has_halves = match form {
            Some(form) => form.kind != SampleKind::Lod,
            None => ["image_load", "image_load_mip", "image_store", "image_store_mip", "image_msaa_load"]
                .contains(&row.name),
        };
        self.reserved(form.is_none() && f.ssamp != 0 || f.d16 && !has_halves)?;
        // LLVM writes two spaces.
        t.mnemonic(row.name, if form.is_some() && f.nsa { " " } else { "" });
        t.try_operand(any_vector(f.vdata, registers(row, &f, self.target)?, false))?;
        let count = addresses(row, &f)?;
        // More than one such dword is for instructions of gfx10 with samplers.
        if f.nsa_dwords > 1 {
            return Err(NotAnInstruction);
        }
        match f.nsa {
            _ if self.target.is_gfx12() => self.addresses_of_gfx12(t, &f, count)?,
            true => self.separate_addresses(t, f.vaddr, count)?,
            false => t.try_operand(any_vector(f.vaddr, count, false))?,
        }
        t.try_operand(self.scalar(f.srsrc * 4 + f.srsrc_low, 8))?;
        if form.is_some() {
            t.try_operand(self.scalar(f.ssamp * 4, 4))?;
        }
        if f.dmask != 0 {
            t.modifier(format_args!("dmask:{:#x}", f.dmask));
        }
        t.modifier(format_args!("dim:SQ_RSRC_IMG_{}", DIMENSIONS[(f.dim & 7) as usize].0));
        if self.target.is_gfx12() {
            self.reserved(f.nv)?;
            self.hint_and_scope(t, row, f.th, f.scope);
        }
        let glc = f.glc && !self.target.is_gfx12();
        let flags = [
            (f.unorm, "unorm"),
            (glc, "glc"),
            (f.slc, "slc"),
            (f.dlc, "dlc"),
            (f.r128, "r128"),
            (f.a16, "a16"),
            (f.tfe, "tfe"),
            (f.lwe, "lwe"),
            (f.d16, "d16"),
        ];
        for (set, name) in flags {
            t.flag(set, name);
        }
        Ok(())
    }

    /// Appends addresses in registers that need not follow each other. The instruction itself names them.
    fn addresses_of_gfx12(
        &self,
        t: &mut Text<'_>,
        f: &fields::Mimg,
        count: u32,
    ) -> Result<(), NotAnInstruction> {
        // Only instructions for bounding volume hierarchies have as many.
        if f.vaddr4 != 0 {
            return Err(NotAnInstruction);
        }
        if count == 1 {
            return t.try_operand(any_vector(f.vaddr, 1, false));
        }
        let registers = [f.vaddr, f.vaddr1, f.vaddr2, f.vaddr3];
        t.operand(list(&registers[..count as usize])?);
        Ok(())
    }

    /// Appends addresses in registers that need not follow each other. The third dword names those after the first.
    fn separate_addresses(
        &mut self,
        t: &mut Text<'_>,
        first: u32,
        count: u32,
    ) -> Result<(), NotAnInstruction> {
        let more = self.literal()?.to_le_bytes();
        // One address needs no third dword.
        if count < 2 {
            return Err(NotAnInstruction);
        }
        let mut list = format!("[{}", any_vector(first, 1, false)?);
        for (n, register) in (1..count.min(SEPARATE)).zip(more) {
            let registers = if n == SEPARATE - 1 { count - n } else { 1 };
            list += &format!(", {}", any_vector(register.into(), registers, false)?);
        }
        t.operand(list + "]");
        Ok(())
    }
}

/// Returns the text of vector registers in a list.
fn list(registers: &[u32]) -> Result<String, NotAnInstruction> {
    let mut list = String::from("[");
    for (n, register) in registers.iter().enumerate() {
        list += if n == 0 { "" } else { ", " };
        list += &any_vector(*register, 1, false)?.to_string();
    }
    Ok(list + "]")
}
