//! MIMG of gfx11: the dimension decides the number of addresses, which may be in registers that a third dword names.

use super::super::operand::any_vector;
use super::super::text::Text;
use super::super::words::{NotAnInstruction, Words};
use crate::encoding::Encoding;
use crate::fields;
use crate::row::Row;
use crate::row::flags::ATOMIC;

/// The dimensions: the name, the number of coordinates, and that of gradients.
const DIMENSIONS: [(&str, u32, u32); 8] = [
    ("1D", 1, 2),
    ("2D", 2, 4),
    ("3D", 3, 6),
    ("CUBE", 3, 4),
    ("1D_ARRAY", 2, 2),
    ("2D_ARRAY", 3, 4),
    ("2D_MSAA", 3, 4),
    ("2D_MSAA_ARRAY", 4, 4),
];
/// The most operands of addresses: the last may be several registers.
const ADDRESSES: u32 = 5;

/// Returns whether the instruction has a sampler.
fn samples(name: &str) -> bool {
    ["image_sample", "image_gather4", "image_get_lod"].iter().any(|start| name.starts_with(start))
}

/// Returns the number of registers of addresses (LLVM, `getAddrSizeMIMGOp`).
fn addresses(name: &str, f: &fields::Mimg) -> u32 {
    let (_, coordinates, gradients) = DIMENSIONS[(f.dim & 7) as usize];
    let has = |part: &str| name.split('_').skip(2).any(|word| word == part);
    let mip = has("mip");
    let coordinates = if name == "image_get_resinfo" { 1 } else { coordinates + u32::from(mip) };
    if !samples(name) {
        return if f.a16 { coordinates.div_ceil(2) } else { coordinates };
    }
    let extra = ["o", "b", "c"].into_iter().filter(|part| has(part)).count() as u32;
    let components = coordinates + u32::from(has("l") || has("cl"));
    let gradients = match (has("d") || has("cd"), has("g16")) {
        (false, _) => 0,
        (true, false) => gradients,
        // Two gradients of a coordinate share a register; those of both directions do not.
        (true, true) => (gradients / 2).next_multiple_of(2),
    };
    extra + gradients + if f.a16 { components.div_ceil(2) } else { components }
}

/// Returns the number of registers of data.
fn registers(row: &Row, f: &fields::Mimg) -> Result<u32, NotAnInstruction> {
    let chosen = f.dmask.count_ones().max(1);
    let values = match row.name {
        name if name.starts_with("image_gather4") || name == "image_msaa_load" => 4,
        "image_atomic_cmpswap" if !matches!(chosen, 2 | 4) => return Err(NotAnInstruction),
        name if row.is(ATOMIC) && name != "image_atomic_cmpswap" && chosen > 2 => return Err(NotAnInstruction),
        _ => chosen,
    };
    let packed = if f.d16 { values.div_ceil(2) } else { values };
    Ok(packed + u32::from(f.tfe || f.lwe))
}

impl Words {
    pub(in super::super) fn image(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let f = fields::Mimg::of(self.target, self.long()?);
        let row = self.row(Encoding::Mimg, f.op)?;
        if row.name.starts_with("image_bvh") {
            return self.ray(t, row, f);
        }
        let sampler = samples(row.name);
        self.reserved(!sampler && f.ssamp != 0)?;
        // LLVM separates these with two spaces.
        t.mnemonic(row.name, if sampler && f.nsa { " " } else { "" });
        t.try_operand(any_vector(f.vdata, registers(row, &f)?, false))?;
        let count = addresses(row.name, &f);
        match f.nsa {
            true => self.separate_addresses(t, f.vaddr, count)?,
            false => t.try_operand(any_vector(f.vaddr, count, false))?,
        }
        t.try_operand(self.scalar(f.srsrc * 4, if f.r128 { 4 } else { 8 }))?;
        if sampler {
            t.try_operand(self.scalar(f.ssamp * 4, 4))?;
        }
        if f.dmask != 0 {
            t.modifier(format_args!("dmask:{:#x}", f.dmask));
        }
        t.modifier(format_args!("dim:SQ_RSRC_IMG_{}", DIMENSIONS[(f.dim & 7) as usize].0));
        let flags = [
            (f.unorm, "unorm"),
            (f.glc, "glc"),
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

    /// Appends addresses in registers that need not follow each other. The third dword names those after the first.
    fn separate_addresses(&mut self, t: &mut Text<'_>, first: u32, count: u32) -> Result<(), NotAnInstruction> {
        let more = self.literal()?.to_le_bytes();
        let mut registers = [first, 0, 0, 0, 0];
        for (place, register) in registers[1..].iter_mut().zip(more) {
            *place = register.into();
        }
        // One address needs no third dword.
        if count < 2 {
            return Err(NotAnInstruction);
        }
        let operands = count.min(ADDRESSES);
        let mut list = String::from("[");
        for n in 0..operands {
            let size = if n + 1 == ADDRESSES { count - n } else { 1 };
            let register = any_vector(registers[n as usize], size, false)?;
            list += if n == 0 { "" } else { ", " };
            list += &register.to_string();
        }
        t.operand(list + "]");
        Ok(())
    }

    /// Disassembles the intersection of a ray and a node of a bounding volume hierarchy.
    fn ray(&mut self, t: &mut Text<'_>, row: &Row, f: fields::Mimg) -> Result<(), NotAnInstruction> {
        let node = if row.name.contains("bvh64") { 2 } else { 1 };
        t.mnemonic(row.name, "");
        t.try_operand(any_vector(f.vdata, 4, false))?;
        if f.nsa {
            let [origin, direction, inverse, other] = self.literal()?.to_le_bytes().map(u32::from);
            let parts: &[(u32, u32)] = match f.a16 {
                false => &[(f.vaddr, node), (origin, 1), (direction, 3), (inverse, 3), (other, 3)],
                true => &[(f.vaddr, node), (origin, 1), (direction, 3), (inverse, 3)],
            };
            let mut list = String::from("[");
            for (n, (register, size)) in parts.iter().enumerate() {
                list += if n == 0 { "" } else { ", " };
                list += &any_vector(*register, *size, false)?.to_string();
            }
            t.operand(list + "]");
        } else {
            t.try_operand(any_vector(f.vaddr, node + if f.a16 { 7 } else { 10 }, false))?;
        }
        t.try_operand(self.scalar(f.srsrc * 4, 4))?;
        t.flag(f.a16, "a16");
        Ok(())
    }
}
