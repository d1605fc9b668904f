//! The profile: counts of what a kernel executes and accesses.

use std::collections::BTreeMap;

use amdgpu_isa::Target;
use code_object::occupancy::Occupancy;

use crate::observe::accesses::AccessedBytes;
use crate::observe::class::{AddressingKind, InstructionClass};
use crate::report::access::{AccessKind, MemorySpace};
use crate::state::wave::{LANES, Wave};

/// The bytes that instructions accessed in one memory, summed over all lanes. A scalar access counts once for the wave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BytesAccessed {
    /// Bytes read by loads.
    pub read: u64,
    /// Bytes written by stores.
    pub written: u64,
    /// Bytes accessed by atomics. Each is counted once, although an atomic both reads and writes it.
    pub atomic: u64,
}

impl BytesAccessed {
    fn add(&mut self, access: AccessKind, bytes: u64) {
        match access {
            AccessKind::Read => self.read += bytes,
            AccessKind::Write => self.written += bytes,
            AccessKind::Atomic => self.atomic += bytes,
        }
    }

    fn merge(&mut self, other: &BytesAccessed) {
        self.read += other.read;
        self.written += other.written;
        self.atomic += other.atomic;
    }
}

/// Counts of what a dispatch executed and accessed. [`merge`](Profile::merge) adds the counts of several dispatches.
///
/// An instruction that a wave executes counts once, not once for each lane.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Profile {
    /// The number of dispatches.
    pub dispatches: u64,
    /// The number of workgroups.
    pub workgroups: u64,
    /// The number of waves.
    pub waves: u64,
    /// The number of lanes of a wave, 32 or 64; 0 before the first dispatch.
    pub wave_lanes: u32,
    /// The number of instructions of each class, in the order of [`InstructionClass::ALL`].
    pub instructions: [u64; InstructionClass::ALL.len()],
    /// Bytes of device memory and mapped host memory that vector instructions accessed.
    pub global: BytesAccessed,
    /// Bytes of device memory and mapped host memory that scalar instructions accessed.
    pub scalar: BytesAccessed,
    /// Bytes of LDS.
    pub lds: BytesAccessed,
    /// Bytes of private memory.
    pub scratch: BytesAccessed,
    /// The cycles that the hardware would need for the accesses to LDS without bank conflicts; see
    /// [`lds_bank_conflicts`](Self::lds_bank_conflicts).
    pub lds_cycles: u64,
    /// The additional cycles that accesses to LDS need because lanes access different dwords of one bank.
    ///
    /// LDS has 32 banks of one dword each, on gfx950 64, consecutive dwords in consecutive banks (AMD "Instinct MI200
    /// Instruction Set Architecture" and that of CDNA4, section 11.1, "LDS overview"). Lanes that access the same dword
    /// share the access. The model serves groups of consecutive lanes that together access as many bytes as the banks
    /// have: of 32 banks, 32 lanes of up to 4 bytes, 16 of 8, 8 of 12 or 16. A group needs one cycle for each different
    /// dword of the bank that has the most of them; the cycles beyond the first are conflicts. How the hardware groups
    /// the lanes of accesses wider than 4 bytes is not documented, so its own counter may differ for them.
    pub lds_bank_conflicts: u64,
    /// The number of conditional branches on VCC or EXEC.
    pub vector_branches: u64,
    /// The number of conditional branches on VCC or EXEC at which lanes diverge.
    ///
    /// `s_cbranch_execz` and `s_cbranch_execnz` diverge if EXEC has some, but not all, of the lanes that it had before
    /// it was last changed. `s_cbranch_vccz` and `s_cbranch_vccnz` diverge if VCC is set for some, but not all, of the
    /// active lanes. A short `if` for which the compiler generates no branch is not counted.
    pub divergent_branches: u64,
    /// The number of vector instructions (arithmetic, memory, LDS, private memory).
    pub vector_instructions: u64,
    /// The sum of the numbers of active lanes over all vector instructions.
    pub active_lanes: u64,
    /// How often waves executed each instruction, by its mnemonic without a suffix for the encoding.
    pub mnemonics: BTreeMap<&'static str, u64>,
    /// How many workgroups and waves of the kernel a compute unit holds at the same time, computed from its registers,
    /// LDS and block; that of the last dispatch. `None` if the limits are not known or the kernel exceeds them.
    pub occupancy: Option<Occupancy>,
}

impl Profile {
    /// Returns the number of instructions of a class.
    pub fn count(&self, class: InstructionClass) -> u64 {
        self.instructions[class as usize]
    }

    /// Returns the number of instructions of all classes.
    pub fn total(&self) -> u64 {
        self.instructions.iter().sum()
    }

    /// Returns the mean number of active lanes over all vector instructions, at most [`wave_lanes`](Self::wave_lanes); 0
    /// if there were none.
    pub fn average_active_lanes(&self) -> f64 {
        if self.vector_instructions == 0 {
            0.0
        } else {
            self.active_lanes as f64 / self.vector_instructions as f64
        }
    }

    /// Adds the counts of `other`. The occupancy is replaced by that of `other`, if it has one.
    pub fn merge(&mut self, other: &Profile) {
        self.dispatches += other.dispatches;
        self.workgroups += other.workgroups;
        self.waves += other.waves;
        self.wave_lanes = self.wave_lanes.max(other.wave_lanes);
        for (to, from) in self.instructions.iter_mut().zip(&other.instructions) {
            *to += from;
        }
        self.global.merge(&other.global);
        self.scalar.merge(&other.scalar);
        self.lds.merge(&other.lds);
        self.scratch.merge(&other.scratch);
        self.lds_cycles += other.lds_cycles;
        self.lds_bank_conflicts += other.lds_bank_conflicts;
        self.vector_branches += other.vector_branches;
        self.divergent_branches += other.divergent_branches;
        self.vector_instructions += other.vector_instructions;
        self.active_lanes += other.active_lanes;
        for (name, count) in &other.mnemonics {
            *self.mnemonics.entry(name).or_default() += count;
        }
        self.occupancy = other.occupancy.or(self.occupancy);
    }
}

/// Counts what one workgroup executes and accesses.
#[derive(Default)]
pub(crate) struct Counter {
    pub(crate) profile: Profile,
    /// For each wave: EXEC, and the value that it had before it last changed.
    exec: Vec<(u64, u64)>,
}

impl Counter {
    /// Counts an instruction that is about to be executed.
    pub(crate) fn count(
        &mut self,
        w: &Wave,
        name: &'static str,
        class: InstructionClass,
        addressing: AddressingKind,
        accesses: &[AccessedBytes],
        target: Target,
    ) {
        let p = &mut self.profile;
        // On gfx90a, private memory is accessed by MUBUF instructions.
        let is_scratch = matches!(addressing, AddressingKind::Buffer(..))
            && accesses.first().is_some_and(|accessed| accessed.space == MemorySpace::Scratch);
        let class = if is_scratch { InstructionClass::Scratch } else { class };
        p.instructions[class as usize] += 1;
        *p.mnemonics.entry(name).or_default() += 1;
        let exec = w.exec();
        if class.is_vector() {
            p.vector_instructions += 1;
            p.active_lanes += u64::from(exec.count_ones());
        }
        for accessed in accesses {
            let bytes = u64::from(accessed.size) * u64::from(accessed.lanes.count_ones());
            let traffic = match accessed.space {
                MemorySpace::Global if accessed.is_scalar => &mut p.scalar,
                MemorySpace::Global => &mut p.global,
                MemorySpace::Lds => &mut p.lds,
                MemorySpace::Scratch => &mut p.scratch,
            };
            traffic.add(accessed.access, bytes);
            if accessed.space == MemorySpace::Lds {
                let (cycles, conflicts) = bank_cycles(accessed, banks(target));
                p.lds_cycles += cycles;
                p.lds_bank_conflicts += conflicts;
            }
        }
        let id = w.id as usize;
        if self.exec.len() <= id {
            self.exec.resize(id + 1, (exec, exec));
        }
        let Some((now, before)) = self.exec.get_mut(id) else { return };
        if *now != exec {
            (*now, *before) = (exec, *now);
        }
        if class == InstructionClass::Branch {
            let some = match name {
                "s_cbranch_vccz" | "s_cbranch_vccnz" => Some((w.vcc() & exec, exec)),
                "s_cbranch_execz" | "s_cbranch_execnz" => Some((exec & *before, *before)),
                _ => None,
            };
            if let Some((some, all)) = some {
                p.vector_branches += 1;
                p.divergent_branches += u64::from(some != 0 && some != all);
            }
        }
    }
}

/// Returns the number of LDS's banks; see [`Profile::lds_bank_conflicts`].
const fn banks(target: Target) -> usize {
    match target {
        Target::Gfx90a | Target::Gfx942 | Target::Gfx11 | Target::Gfx115 | Target::Gfx12 | Target::Gfx103 => {
            32
        }
        Target::Gfx950 => 64,
    }
}

/// Returns the cycles that an access to LDS needs without conflicts, and the cycles that conflicts add, with a
/// number of banks; see
/// [`Profile::lds_bank_conflicts`].
fn bank_cycles(accessed: &AccessedBytes, count: usize) -> (u64, u64) {
    let together = match accessed.size {
        0..=4 => count,
        5..=8 => count / 2,
        _ => count / 4,
    };
    let (mut cycles, mut conflicts) = (0, 0);
    let mut dwords: Vec<u64> = Vec::with_capacity(2 * together);
    for first in (0..LANES).step_by(together) {
        dwords.clear();
        for (lane, at) in accessed.each().filter(|(lane, _)| (first..first + together).contains(lane)) {
            debug_assert!(lane < LANES);
            dwords.extend(at / 4..=(at + u64::from(accessed.size) - 1) / 4);
        }
        if dwords.is_empty() {
            continue;
        }
        dwords.sort_unstable();
        dwords.dedup();
        let mut of_bank = [0u64; banks(Target::Gfx950)];
        for dword in &dwords {
            of_bank[*dword as usize % count] += 1;
        }
        cycles += 1;
        conflicts += of_bank.iter().max().map_or(0, |most| most.saturating_sub(1));
    }
    (cycles, conflicts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accessed(size: u32, lanes: u64, at: impl Fn(u64) -> u64) -> AccessedBytes {
        AccessedBytes {
            space: MemorySpace::Lds,
            access: AccessKind::Read,
            size,
            lanes,
            is_scalar: false,
            at: std::array::from_fn(|lane| at(lane as u64)),
        }
    }

    #[test]
    fn bank_conflicts_are_counted_by_different_dwords_of_a_bank() {
        // Consecutive dwords; all lanes the same dword; consecutive bytes.
        assert_eq!(bank_cycles(&accessed(4, !0, |lane| 4 * lane), 32), (2, 0));
        assert_eq!(bank_cycles(&accessed(4, !0, |_| 64), 32), (2, 0));
        assert_eq!(bank_cycles(&accessed(1, !0, |lane| lane), 32), (2, 0));
        // Every second dword; a column of a matrix with 32 dwords in each row; the same column with a dword of padding
        // in each row.
        assert_eq!(bank_cycles(&accessed(4, !0, |lane| 8 * lane), 32), (2, 2));
        assert_eq!(bank_cycles(&accessed(4, !0, |lane| 128 * lane), 32), (2, 62));
        assert_eq!(bank_cycles(&accessed(4, !0, |lane| 132 * lane), 32), (2, 0));
        // Wider accesses, of fewer lanes at a time.
        assert_eq!(bank_cycles(&accessed(8, !0, |lane| 8 * lane), 32), (4, 0));
        assert_eq!(bank_cycles(&accessed(16, !0, |lane| 16 * lane), 32), (8, 0));
        assert_eq!(bank_cycles(&accessed(16, 3, |lane| 128 * lane), 32), (1, 1));
        assert_eq!(bank_cycles(&accessed(4, 0, |lane| lane), 32), (0, 0));
        // 64 banks: the same column of 32 dwords is in two of them.
        assert_eq!(bank_cycles(&accessed(4, !0, |lane| 4 * lane), 64), (1, 0));
        assert_eq!(bank_cycles(&accessed(4, !0, |lane| 128 * lane), 64), (1, 31));
        assert_eq!(bank_cycles(&accessed(16, !0, |lane| 16 * lane), 64), (4, 0));
    }
}
