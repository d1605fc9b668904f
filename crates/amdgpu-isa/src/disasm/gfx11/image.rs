//! MIMG of RDNA: the dimension decides the number of addresses, which may be in registers that further dwords name.

use super::super::operand::any_vector;
use super::super::text::Text;
use super::super::words::{NotAnInstruction, Words};
use crate::encoding::Encoding;
use crate::fields;
use crate::row::Row;
use crate::row::flags::{ATOMIC, COMPARE};
use crate::sample_form::{SampleForm, SampleKind};
use crate::target::{Generation, Target};

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
/// Returns how many registers of an address need not follow each other. From gfx11 on, the last of them is the first of all that are left.
fn most_separate(target: Target, has_sampler: bool) -> usize {
    match target.generation() {
        Generation::Gfx10 => usize::MAX,
        Generation::Gfx12 if has_sampler => 4,
        _ => 5,
    }
}

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

fn gathers(row: &Row) -> bool {
    SampleForm::of(row).is_some_and(|form| matches!(form.kind, SampleKind::Gather | SampleKind::GatherRow))
}

/// Returns whether VSAMPLE names a register in a field for an address that the instruction has in no dimension.
fn has_needless_address(form: SampleForm, f: &fields::Mimg) -> bool {
    let most = (0..6).map(|dim| form.registers(dim, false)).max().unwrap_or(0);
    f.vaddrs().iter().skip(most as usize).any(|register| *register != 0)
}

/// Returns the number of registers of data.
fn registers(row: &Row, f: &fields::Mimg, target: Target) -> Result<u32, NotAnInstruction> {
    let chosen = f.dmask.count_ones().max(1);
    let values = match row.name {
        "image_msaa_load" if !target.is_gfx10() => 4,
        // LLVM has no such instruction.
        _ if gathers(row) && f.tfe && f.d16 => return Err(NotAnInstruction),
        _ if gathers(row) => 4,
        _ if row.is(COMPARE) && !matches!(chosen, 2 | 4) => return Err(NotAnInstruction),
        _ if row.is(ATOMIC) && !row.is(COMPARE) && chosen > 2 => return Err(NotAnInstruction),
        _ => chosen,
    };
    let packed = if f.d16 { values.div_ceil(2) } else { values };
    Ok(packed + u32::from(f.tfe))
}

impl Words {
    pub(in super::super) fn image(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let f = fields::Mimg::read(self.target, self.whole()?);
        let row = self.row(Encoding::Mimg, f.opcode())?;
        let form = SampleForm::of(row);
        if self.target.is_gfx12() && form.is_some() != f.is_vsample {
            return Err(NotAnInstruction);
        }
        let has_halves = match form {
            Some(form) => form.kind != SampleKind::Lod,
            None => ["image_load", "image_load_mip", "image_store", "image_store_mip", "image_msaa_load"]
                .contains(&row.name),
        };
        self.reserved(form.is_none() && f.ssamp != 0 || f.d16 && !has_halves)?;
        // LLVM writes two spaces.
        t.mnemonic(row.name, if form.is_some() && f.nsa_dwords > 0 { " " } else { "" });
        t.try_operand(any_vector(f.vdata, registers(row, &f, self.target)?, false))?;
        let count = addresses(row, &f)?;
        if self.target.is_gfx12() {
            // Only instructions for bounding volume hierarchies have five addresses.
            self.reserved(f.vaddr4 != 0 || form.is_some_and(|form| has_needless_address(form, &f)))?;
        }
        let most = most_separate(self.target, form.is_some());
        match f.nsa_dwords {
            _ if self.target.is_gfx12() && count > 1 => t.operand(list(&f.vaddrs(), count, most)?),
            0 => t.try_operand(any_vector(f.vaddr, count, false))?,
            dwords => {
                let mut registers = vec![f.vaddr];
                for dword in self.further(dwords as usize)? {
                    registers.extend(dword.to_le_bytes().map(u32::from));
                }
                // One address needs no third dword, and none needs a dword without one.
                self.reserved(count < 2 || dwords > (count - 1).div_ceil(4))?;
                if registers.len() < count as usize && self.target.is_gfx10() {
                    return Err(NotAnInstruction);
                }
                t.operand(list(&registers, count, most)?);
            }
        }
        t.try_operand(self.scalar(f.srsrc * 4 + f.srsrc_low, 8))?;
        if form.is_some() {
            t.try_operand(self.scalar(f.ssamp * 4 + f.ssamp_low, 4))?;
        }
        if f.dmask != 0 {
            t.modifier(format_args!("dmask:{:#x}", f.dmask));
        }
        t.modifier(format_args!("dim:SQ_RSRC_IMG_{}", DIMENSIONS[(f.dim & 7) as usize].0));
        t.flag(f.unorm, "unorm");
        if self.target.is_gfx12() {
            self.reserved(f.nv)?;
            self.hint_and_scope(t, row, f.th, f.scope);
        }
        let flags = [
            (f.glc && !self.target.is_gfx12(), "glc"),
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
}

/// Returns the text of an address of `count` registers, of which the first `most` need not follow each other.
fn list(registers: &[u32], count: u32, most: usize) -> Result<String, NotAnInstruction> {
    let count = count as usize;
    let mut list = String::from("[");
    for (n, register) in registers.iter().enumerate().take(count.min(most)) {
        list += if n == 0 { "" } else { ", " };
        let left = if n + 1 == most { count - n } else { 1 };
        list += &any_vector(*register, left as u32, false)?.to_string();
    }
    Ok(list + "]")
}
