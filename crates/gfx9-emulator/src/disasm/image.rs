//! MIMG: image instructions, which are named though nothing here executes them.

use super::operand::{any_vector, scalar};
use super::text::Text;
use super::{Bad, Words};
use crate::tables::Encoding;

impl Words {
    pub(super) fn mimg(&mut self, t: &mut Text<'_>) -> Result<(), Bad> {
        let field = self.fields()?;
        let row = self.row(Encoding::Mimg, field(18, 7))?;
        t.mnemonic(row.name, "");
        let (dmask, d16) = (field(8, 4), field(63, 1) != 0);
        let samples = row.name == "image_sample";
        let halves = matches!(
            row.name,
            "image_load" | "image_load_mip" | "image_store" | "image_store_mip" | "image_sample"
        );
        self.reserved(d16 && !halves || !samples && field(53, 5) != 0 || field(0, 1) != 0)?;
        // As many registers as components are chosen, one at least; atomics have none or all of a second value.
        let chosen = dmask.count_ones().max(1);
        let registers = match row.name {
            "image_atomic_cmpswap" => {
                if chosen == 4 {
                    4
                } else {
                    2
                }
            }
            name if name.starts_with("image_atomic_") => {
                if chosen == 2 {
                    2
                } else {
                    1
                }
            }
            _ if d16 => chosen.div_ceil(2),
            _ => chosen,
        };
        t.try_operand(any_vector(field(40, 8), registers, field(16, 1) != 0))?;
        t.try_operand(any_vector(field(32, 8), 1, false))?;
        t.try_operand(scalar(field(48, 5) * 4, 8))?;
        if samples {
            t.try_operand(self.tuple(field(53, 5) * 4, 4))?;
        }
        if dmask != 0 {
            t.modifier(format_args!("dmask:{dmask:#x}"));
        }
        let flags =
            [(12, "unorm"), (13, "glc"), (25, "slc"), (7, "scc"), (15, "a16"), (17, "lwe"), (14, "da")];
        for (at, name) in flags {
            t.flag(field(at, 1) != 0, name);
        }
        t.flag(d16, "d16");
        Ok(())
    }
}
