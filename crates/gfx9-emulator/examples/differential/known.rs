//! Mistakes of compilers that random programs found. The generator avoids what it can; a program that still shows one is
//! told by the option that turns the mistaken pass off.

use super::compile::Compiler;

/// A mistake of a compiler.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) what: &'static str,
    /// First and last version that was seen with it.
    versions: (u32, u32),
    /// With these options it doesn't happen.
    pub(crate) without: &'static [&'static str],
}

/// All of them.
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
