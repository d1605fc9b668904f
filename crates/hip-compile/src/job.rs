//! What a compiler of LLVM IR, assembly and object files is given, and the names that its files have.

use std::ffi::CString;

use code_object::TargetId;

use crate::error::CompileError;
use crate::input::{self, Input};

/// The file of all LLVM IR.
pub(crate) const LINKED: &str = "hiplaunch-linked.o";

/// Options of clang that make bitcode of LLVM IR and change nothing else.
pub(crate) const TO_BITCODE: [&str; 5] =
    ["-emit-llvm", "-c", "-Xclang", "-disable-llvm-passes", "-Wno-override-module"];

/// Options of clang against messages that say nothing: LLVM IR needs no triple, and not every kind of input uses every option.
pub(crate) const QUIET: [&str; 2] = ["-Wno-override-module", "-Wno-unused-command-line-argument"];

/// One compile, of one or several inputs but HIP C++.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job<'a> {
    pub(crate) inputs: &'a [Input<'a>],
    pub(crate) target: &'a TargetId,
    /// The user's options.
    pub(crate) options: &'a [String],
    /// Whether LLVM IR is linked with the device libraries.
    pub(crate) device_libraries: bool,
}

impl<'a> Job<'a> {
    /// Returns each input with the name of its file.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (&'a Input<'a>, String)> + use<'a> {
        let file = |(index, input): (usize, &'a Input<'a>)| {
            (input, format!("hiplaunch-{index}.{}", input.kind().extension()))
        };
        self.inputs.iter().enumerate().map(file)
    }

    /// Returns the files' names, each with its input's.
    pub(crate) fn files(&self) -> Vec<(String, &'a str)> {
        let linked = (LINKED.to_owned(), "the linked LLVM IR");
        self.numbered().map(|(input, file)| (file, input.name())).chain([linked]).collect()
    }

    /// Returns the inputs' names, for messages.
    pub(crate) fn names(&self) -> String {
        input::names(self.inputs)
    }

    /// Returns the options for assembling and for generating code. Without one for optimisation, that is `-O3`, as in hiprtc.
    pub(crate) fn options(&self) -> Vec<String> {
        let own = self.options.iter().filter(|option| !option.starts_with("-Wl,"));
        ["-O3".to_owned()].iter().chain(own).cloned().collect()
    }

    /// Returns the options for linking, as clang takes them.
    pub(crate) fn link_options(&self) -> Vec<String> {
        self.options.iter().filter(|option| option.starts_with("-Wl,")).cloned().collect()
    }

    /// Returns whether wavefronts have 64 lanes, as the device libraries must know: as clang takes it without options, 32 from
    /// gfx10 on.
    pub(crate) fn has_wavefronts_of_64(&self) -> bool {
        let asked = self.options.iter().rev().find_map(|option| match option.as_str() {
            "-mwavefrontsize64" => Some(true),
            "-mno-wavefrontsize64" => Some(false),
            _ => None,
        });
        asked.unwrap_or(!self.target.processor.name().starts_with("gfx1"))
    }

    /// Returns the error for inputs that the compiler rejects.
    pub(crate) fn failed(&self, log: String) -> CompileError {
        CompileError::Failed { name: self.names(), target: self.target.short(), log }
    }

    /// Returns a text as a C string.
    pub(crate) fn c_text(&self, text: &str) -> Result<CString, CompileError> {
        CString::new(text).map_err(|_| CompileError::Text {
            what: "a compile option".to_owned(),
            problem: "has a NUL byte in it",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_go_where_they_are_of_use() {
        let target: TargetId = "gfx90a:xnack-".parse().unwrap();
        let options = ["-O1", "-Wl,--strip-all"].map(str::to_owned);
        let inputs = [Input::assembly("s_endpgm").named("a.s"), Input::llvm_ir("").named("b.ll")];
        let job = Job { inputs: &inputs, target: &target, options: &options, device_libraries: false };
        assert_eq!(job.options(), ["-O3", "-O1"]);
        assert_eq!(job.link_options(), ["-Wl,--strip-all"]);
        assert_eq!(job.names(), "a.s, b.ll");
        let files = job.files();
        assert_eq!(files[..2], [("hiplaunch-0.s".to_owned(), "a.s"), ("hiplaunch-1.ll".to_owned(), "b.ll")]);
    }

    #[test]
    fn wavefronts_have_as_many_lanes_as_clang_takes_them_to_have() {
        for (target, option, is_64) in [
            ("gfx90a", "-O3", true),
            ("gfx906", "-O3", true),
            ("gfx1100", "-O3", false),
            ("gfx11-generic", "-O3", false),
            ("gfx1100", "-mwavefrontsize64", true),
        ] {
            let (target, options) = (target.parse().unwrap(), [option.to_owned()]);
            let job = Job { inputs: &[], target: &target, options: &options, device_libraries: true };
            assert_eq!(job.has_wavefronts_of_64(), is_64, "{target:#} {option}");
        }
    }
}
