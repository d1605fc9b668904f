//! The results of compiles.

use code_object::CodeObject;

/// A code object that was compiled now or earlier.
#[derive(Clone, Debug)]
pub struct Compiled {
    pub(crate) code: CodeObject,
    pub(crate) log: String,
    pub(crate) lowered: Vec<(String, String)>,
    pub(crate) from_cache: bool,
}

impl Compiled {
    /// Returns the code object, with its kernels and their arguments.
    pub fn code_object(&self) -> &CodeObject {
        &self.code
    }

    /// Returns the code object's bytes, as drivers load them.
    pub fn elf(&self) -> &[u8] {
        self.code.elf()
    }

    /// Returns the compiler's messages, such as warnings; empty if there were none. The cache keeps them too.
    pub fn log(&self) -> &str {
        &self.log
    }

    /// Returns the symbol that the compiler gave to a [name expression](crate::Compiler::name_expression).
    pub fn lowered_name(&self, expression: &str) -> Option<&str> {
        lowered_name(&self.lowered, expression)
    }

    /// Returns whether the result was in the cache, so that nothing was compiled now.
    pub fn from_cache(&self) -> bool {
        self.from_cache
    }
}

fn lowered_name<'a>(lowered: &'a [(String, String)], expression: &str) -> Option<&'a str> {
    lowered.iter().find(|(known, _)| known == expression).map(|(_, name)| name.as_str())
}

/// LLVM bitcode that was compiled now or earlier.
#[derive(Clone, Debug)]
pub struct Bitcode {
    pub(crate) bytes: Vec<u8>,
    pub(crate) log: String,
    pub(crate) lowered: Vec<(String, String)>,
    pub(crate) from_cache: bool,
}

impl Bitcode {
    /// Returns the bitcode, as `hiprtcLinkAddData` takes it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the compiler's messages, such as warnings; empty if there were none.
    pub fn log(&self) -> &str {
        &self.log
    }

    /// Returns the symbol that the compiler gave to a [name expression](crate::Compiler::name_expression).
    pub fn lowered_name(&self, expression: &str) -> Option<&str> {
        lowered_name(&self.lowered, expression)
    }

    /// Returns whether the result was in the cache, so that nothing was compiled now.
    pub fn from_cache(&self) -> bool {
        self.from_cache
    }
}

impl From<Compiled> for CodeObject {
    fn from(compiled: Compiled) -> CodeObject {
        compiled.code
    }
}
