//! Waves that spin: a loop that waits for another workgroup's store, and computes nothing meanwhile.
//!
//! Such a wave would use up its turn while the workgroup that could end its waiting has none. It is known by its registers: after
//! a round of the loop they are as before, so each further round is the same until memory changes.

use std::ops::Range;

use crate::exec::inst::{Code, ExecContext, StopReason};
use crate::exec::interpret::run_wave;
use crate::state::wave::{AGPR, Lanes, Mode, POOL, Wave};

/// The most jumps of a round.
const JUMPS: usize = 16;

/// The registers of a wave, kept to compare them.
#[derive(Default)]
pub(crate) struct Registers {
    vectors: Vec<Lanes>,
    scalars: Vec<u32>,
    mode: Option<Mode>,
}

/// The vector registers of a kernel: VGPRs from 0 on, and AGPRs.
#[derive(Clone, Copy)]
pub(crate) struct VectorCount {
    pub(crate) vgprs: u16,
    pub(crate) agprs: u16,
}

impl VectorCount {
    /// Where they are among the vector registers of a wave.
    pub(crate) fn rows(self) -> [Range<usize>; 2] {
        let agpr = usize::from(AGPR);
        [0..usize::from(self.vgprs), agpr..agpr + usize::from(self.agprs)]
    }

    fn of(self, w: &Wave) -> [&[Lanes]; 2] {
        self.rows().map(|rows| &w.r.v[rows])
    }
}

impl Registers {
    fn keep(&mut self, w: &Wave, count: VectorCount) {
        self.vectors.clear();
        count.of(w).into_iter().for_each(|rows| self.vectors.extend_from_slice(rows));
        self.scalars.clear();
        self.scalars.extend_from_slice(&w.r.s[..usize::from(POOL)]);
        self.mode = Some(w.mode);
    }

    fn equal(&self, w: &Wave, count: VectorCount) -> bool {
        let [vgprs, agprs] = count.of(w);
        let flat = |rows| bytemuck::cast_slice::<Lanes, u8>(rows);
        let (kept_vgprs, kept_agprs) = self.vectors.split_at(vgprs.len().min(self.vectors.len()));
        self.mode == Some(w.mode)
            && self.scalars == w.r.s[..usize::from(POOL)]
            && flat(kept_vgprs) == flat(vgprs)
            && flat(kept_agprs) == flat(agprs)
    }
}

/// Runs a wave, which has just jumped, for a round of its loop. Returns why it stopped, and whether it spins.
pub(crate) fn round(
    w: &mut Wave,
    cx: &mut ExecContext,
    code: &Code,
    count: VectorCount,
    kept: &mut Registers,
) -> (StopReason, bool) {
    let start = w.next;
    kept.keep(w, count);
    for _ in 0..JUMPS {
        let stop = run_wave(w, cx, code, 1);
        if stop != StopReason::Slice {
            return (stop, false);
        }
        if w.next == start {
            return (stop, kept.equal(w, count));
        }
    }
    (StopReason::Slice, false)
}
