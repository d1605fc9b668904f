//! MIMG of gfx9: image instructions, which the emulator doesn't execute.

use super::operand::any_vector;
use super::text::Text;
use super::words::{NotAnInstruction, Words};
use crate::encoding::Encoding;
use crate::fields;
use crate::row::flags::ATOMIC;

impl Words {
    pub(super) fn mimg(&mut self, t: &mut Text<'_>) -> Result<(), NotAnInstruction> {
        let f = fields::Mimg::of(self.target, self.long()?);
        let row = self.row(Encoding::Mimg, f.op)?;
        t.mnemonic(row.name, "");
        let fields::Mimg { dmask, d16, .. } = f;
        let samples = row.name == "image_sample";
        let halves = matches!(
            row.name,
            "image_load" | "image_load_mip" | "image_store" | "image_store_mip" | "image_sample"
        );
        self.reserved(d16 && !halves || !samples && f.ssamp != 0 || f.reserved)?;
        // The number of registers is the number of selected components, at least one. Atomics have all or none of a
        // second value.
        let chosen = dmask.count_ones().max(1);
        let registers = match row.name {
            "image_atomic_cmpswap" => {
                if chosen == 4 {
                    4
                } else {
                    2
                }
            }
            _ if row.is(ATOMIC) => {
                if chosen == 2 {
                    2
                } else {
                    1
                }
            }
            _ if d16 => chosen.div_ceil(2),
            _ => chosen,
        };
        t.try_operand(any_vector(f.vdata, registers, f.acc))?;
        t.try_operand(any_vector(f.vaddr, 1, false))?;
        t.try_operand(self.scalar(f.srsrc * 4, 8))?;
        if samples {
            t.try_operand(self.tuple(f.ssamp * 4, 4))?;
        }
        if dmask != 0 {
            t.modifier(format_args!("dmask:{dmask:#x}"));
        }
        let flags = [
            (f.unorm, "unorm"),
            (f.glc, "glc"),
            (f.slc, "slc"),
            (f.scc, "scc"),
            (f.a16, "a16"),
            (f.lwe, "lwe"),
            (f.da, "da"),
        ];
        for (set, name) in flags {
            t.flag(set, name);
        }
        t.flag(d16, "d16");
        Ok(())
    }
}
