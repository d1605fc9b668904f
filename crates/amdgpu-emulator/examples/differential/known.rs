//! Mistakes of compilers that random programs found. The generator avoids most of them. A program that still shows one
//! is recognised by the option that turns the wrong optimisation off.

use super::compile::Compiler;

/// A mistake of a compiler.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) what: &'static str,
    /// The first and the last version that are known to have the mistake.
    versions: (u32, u32),
    /// Options with which the mistake doesn't occur.
    pub(crate) without: &'static [&'static str],
}

/// All known mistakes.
pub(crate) const KNOWN: &[Known] = &[
    Known {
        what: "a sign extension is dropped from the operand of a float operation when it becomes SDWA",
        versions: (22, 22),
        without: &["-mllvm", "-amdgpu-sdwa-peephole=0"],
    },
    Known {
        what: "the carry of a sum of three is taken for that of its last addition",
        versions: (22, 22),
        without: &["-DHIDE_SUMS"],
    },
    Known {
        what: "only the low half of a register is copied before its bytes are swapped, without optimisation on gfx11",
        versions: (22, 22),
        without: &["-Xclang", "-target-feature", "-Xclang", "-real-true16"],
    },
    Known {
        what: "a loop over the functions that lanes call spills a register that it has overwritten for some lanes",
        versions: (22, 22),
        without: &["-mllvm", "-vgpr-regalloc=basic"],
    },
    Known {
        what: "a byte put into a vector of bytes overwrites the next one: arrays become such vectors",
        versions: (15, 15),
        without: &["-mllvm", "-disable-promote-alloca-to-vector"],
    },
];

impl Known {
    pub(crate) fn concerns(&self, compiler: &Compiler) -> bool {
        (self.versions.0..=self.versions.1).contains(&compiler.version)
    }
}
