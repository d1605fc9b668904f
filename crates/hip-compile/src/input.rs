//! What is compiled: HIP C++, LLVM IR, assembly and object files.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::error::CompileError;

/// What an [`Input`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InputKind {
    /// HIP C++.
    Hip,
    /// LLVM IR as text.
    LlvmIr,
    /// LLVM bitcode: LLVM IR in its binary form.
    Bitcode,
    /// AMDGPU assembly.
    Assembly,
    /// A relocatable object file (ELF).
    Relocatable,
}

/// Each kind with its name, and the extensions of its files: the first is that of the files that compilers are given.
const KINDS: [(InputKind, &str, &[&str]); 5] = [
    (InputKind::Hip, "hip", &["hip", "cpp", "cc", "cxx", "cu"]),
    (InputKind::LlvmIr, "llvm-ir", &["ll"]),
    (InputKind::Bitcode, "bitcode", &["bc"]),
    (InputKind::Assembly, "assembly", &["s"]),
    (InputKind::Relocatable, "relocatable", &["o"]),
];

impl InputKind {
    /// The names of all kinds, as [`FromStr`] reads them.
    pub const NAMES: [&str; 5] = [KINDS[0].1, KINDS[1].1, KINDS[2].1, KINDS[3].1, KINDS[4].1];

    /// Returns the kind of a file by its extension: `.hip`, `.cpp`, `.ll`, `.bc`, `.s`, `.o` and a few others of C++.
    pub fn of_path(path: impl AsRef<Path>) -> Option<InputKind> {
        let extension = path.as_ref().extension()?.to_str()?;
        KINDS.iter().find(|(.., extensions)| extensions.contains(&extension)).map(|(kind, ..)| *kind)
    }

    /// Returns its name, such as `llvm-ir`.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Returns the extension of its files.
    pub(crate) fn extension(self) -> &'static str {
        self.row().2[0]
    }

    /// Returns whether it is LLVM IR, as text or as bitcode.
    pub(crate) fn is_ir(self) -> bool {
        matches!(self, InputKind::LlvmIr | InputKind::Bitcode)
    }

    fn row(self) -> &'static (InputKind, &'static str, &'static [&'static str]) {
        // Each kind has a row.
        KINDS.iter().find(|(kind, ..)| *kind == self).unwrap_or(&KINDS[0])
    }
}

impl fmt::Display for InputKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for InputKind {
    type Err = CompileError;

    fn from_str(name: &str) -> Result<InputKind, CompileError> {
        let known = KINDS.iter().find(|(_, its, extensions)| *its == name || extensions.contains(&name));
        known.map(|(kind, ..)| *kind).ok_or_else(|| CompileError::Text {
            what: format!("the kind of input `{name}`"),
            problem: "is none of hip, llvm-ir, bitcode, assembly and relocatable",
        })
    }
}

/// One input of a compile: bytes, what they are, and a name for the compiler's messages.
///
/// ```
/// use hip_compile::Input;
///
/// let kernel = Input::llvm_ir("define amdgpu_kernel void @nothing() {\n  ret void\n}\n").named("nothing.ll");
/// assert_eq!(kernel.name(), "nothing.ll");
/// ```
#[derive(Clone, Debug)]
pub struct Input<'a> {
    kind: InputKind,
    name: Cow<'a, str>,
    bytes: Cow<'a, [u8]>,
}

impl<'a> Input<'a> {
    /// Creates an input of a kind. Its name is `kernel` with the extension of the kind, such as `kernel.ll`.
    pub fn new(kind: InputKind, bytes: impl Into<Cow<'a, [u8]>>) -> Input<'a> {
        Input { kind, name: Cow::Owned(format!("kernel.{}", kind.extension())), bytes: bytes.into() }
    }

    /// Creates one of HIP C++.
    pub fn hip(source: &'a str) -> Input<'a> {
        Input::new(InputKind::Hip, source.as_bytes())
    }

    /// Creates one of LLVM IR as text.
    pub fn llvm_ir(text: &'a str) -> Input<'a> {
        Input::new(InputKind::LlvmIr, text.as_bytes())
    }

    /// Creates one of LLVM bitcode.
    pub fn bitcode(bytes: &'a [u8]) -> Input<'a> {
        Input::new(InputKind::Bitcode, bytes)
    }

    /// Creates one of AMDGPU assembly.
    pub fn assembly(text: &'a str) -> Input<'a> {
        Input::new(InputKind::Assembly, text.as_bytes())
    }

    /// Creates one of a relocatable object file.
    pub fn relocatable(bytes: &'a [u8]) -> Input<'a> {
        Input::new(InputKind::Relocatable, bytes)
    }

    /// Sets the name in the compiler's messages.
    #[must_use]
    pub fn named(mut self, name: impl Into<Cow<'a, str>>) -> Input<'a> {
        self.name = name.into();
        self
    }

    /// Returns what it is.
    pub fn kind(&self) -> InputKind {
        self.kind
    }

    /// Returns the name in the compiler's messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Returns the names of inputs, for messages.
pub(crate) fn names(inputs: &[Input<'_>]) -> String {
    inputs.iter().map(Input::name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_known_by_name_and_by_extension() {
        for name in InputKind::NAMES {
            let kind: InputKind = name.parse().unwrap();
            assert_eq!(kind.to_string(), name);
            assert_eq!(InputKind::of_path(format!("a.b.{}", kind.extension())), Some(kind));
            assert_eq!(kind.extension().parse(), Ok(kind));
        }
        assert_eq!(InputKind::of_path("folder/kernel.cpp"), Some(InputKind::Hip));
        for other in ["kernel", "kernel.txt", "kernel.", ".ll", ""] {
            assert_eq!(InputKind::of_path(other), None, "{other}");
        }
        let error = "ptx".parse::<InputKind>().unwrap_err().to_string();
        assert_eq!(
            error,
            "the kind of input `ptx` is none of hip, llvm-ir, bitcode, assembly and relocatable"
        );
    }
}
