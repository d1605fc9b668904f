//! What a program compiles: its source, headers and name expressions, and the result.

use std::ffi::{CStr, CString};
use std::sync::{Mutex, MutexGuard, PoisonError};

use code_object::TargetId;
use hip_compile::{CompileError, Compiler};

use super::{RtcResult, RtcStatus, count, unusable};
use crate::process::Process;

/// A `hiprtcProgram`.
pub(crate) struct Program {
    pub(super) name: String,
    pub(super) source: String,
    /// Names and texts.
    pub(super) headers: Vec<(String, String)>,
    pub(super) changing: Mutex<Changing>,
}

/// What calls change after the program is created.
#[derive(Default)]
pub(crate) struct Changing {
    pub(super) expressions: Vec<String>,
    pub(super) compiled: Compiled,
}

/// What the last compile returned: empty before it.
#[derive(Default)]
pub(crate) struct Compiled {
    pub(super) log: String,
    pub(super) code: Vec<u8>,
    /// Empty but for `-fgpu-rdc`.
    pub(super) bitcode: Vec<u8>,
    lowered: Vec<(String, CString)>,
}

impl Compiled {
    /// The symbol of a name expression, which may be without the `&` that it was added with, and the reverse.
    pub(super) fn lowered_name(&self, expression: &str) -> Option<&CStr> {
        let plain = |text: &str| text.strip_prefix('&').unwrap_or(text).to_owned();
        let found = self.lowered.iter().find(|(known, _)| plain(known) == plain(expression));
        found.map(|(_, name)| name.as_c_str())
    }
}

impl Program {
    pub(super) fn lock(&self) -> MutexGuard<'_, Changing> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compiles, and keeps the result and the compiler's messages.
    pub(super) fn compile(&self, options: Vec<String>) -> RtcResult {
        let mut changing = self.lock();
        let expressions = changing.expressions.clone();
        let (compiled, status) = match self.result(options, &expressions) {
            Ok(compiled) => (compiled, Ok(())),
            Err(Failure { status, log }) => (Compiled { log, ..Compiled::default() }, Err(status)),
        };
        changing.compiled = compiled;
        status
    }

    fn result(&self, options: Vec<String>, expressions: &[String]) -> Result<Compiled, Failure> {
        let (target, options) = target_and_options(options)?;
        let to_bitcode = options.iter().any(|option| option == "-fgpu-rdc");
        let mut compiler = compiler_for(&target).name(&self.name).options(options);
        for (name, text) in &self.headers {
            compiler = compiler.header(name, text);
        }
        for expression in expressions {
            compiler = compiler.name_expression(expression);
        }
        let symbols = |find: &dyn Fn(&str) -> Option<String>| {
            let found = expressions
                .iter()
                .filter_map(|expression| Some((expression.clone(), CString::new(find(expression)?).ok()?)));
            found.collect()
        };
        if to_bitcode {
            let bitcode = compiler.compile_to_bitcode(&self.source)?;
            count(bitcode.from_cache());
            return Ok(Compiled {
                log: bitcode.log().to_owned(),
                code: Vec::new(),
                bitcode: bitcode.bytes().to_vec(),
                lowered: symbols(&|expression| bitcode.lowered_name(expression).map(str::to_owned)),
            });
        }
        let compiled = compiler.compile(&self.source)?;
        count(compiled.from_cache());
        Ok(Compiled {
            log: compiled.log().to_owned(),
            code: compiled.elf().to_vec(),
            bitcode: Vec::new(),
            lowered: symbols(&|expression| compiled.lowered_name(expression).map(str::to_owned)),
        })
    }
}

/// A compiler for programs, which they don't see.
pub(super) fn compiler_for(target: &TargetId) -> Compiler {
    Compiler::new(target).isolated()
}

/// Why a compile failed, and what the program's log says about it.
struct Failure {
    status: RtcStatus,
    log: String,
}

impl From<CompileError> for Failure {
    fn from(error: CompileError) -> Failure {
        let status = match &error {
            CompileError::Failed { log, .. } => {
                return Failure { status: RtcStatus::COMPILATION, log: log.clone() };
            }
            CompileError::NotFound { .. } => unusable(&error),
            CompileError::Option { .. } => RtcStatus::INVALID_OPTION,
            CompileError::Text { .. } => RtcStatus::INVALID_INPUT,
            CompileError::Call { code, .. } => RtcStatus(*code),
            _ => RtcStatus::COMPILATION,
        };
        Failure { status, log: format!("{error}\n") }
    }
}

/// Takes the target out of the options; that of the current device if they have none. hiprtc takes the first one, and
/// `--gpu-architecture` as another name (hiprtcInternal.cpp of clr).
fn target_and_options(options: Vec<String>) -> Result<(TargetId, Vec<String>), Failure> {
    let mut target = None;
    let mut others = Vec::with_capacity(options.len());
    for option in options.into_iter().filter(|option| !option.is_empty()) {
        match option.strip_prefix("--offload-arch=").or_else(|| option.strip_prefix("--gpu-architecture=")) {
            Some(named) => {
                target.get_or_insert_with(|| {
                    named.parse::<TargetId>().map_err(|error| Failure {
                        status: RtcStatus::INVALID_OPTION,
                        log: format!("{option}: {error}\n"),
                    })
                });
            }
            None => others.push(option),
        }
    }
    let target = target.unwrap_or_else(|| {
        let process = Process::get().map_err(|_| Failure {
            status: RtcStatus::COMPILATION,
            log: "there is no device; name the target with --offload-arch\n".to_owned(),
        })?;
        Ok(process.current().properties.target.clone())
    });
    Ok((target?, others))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(options: &[&str]) -> Result<(String, Vec<String>), Failure> {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        target_and_options(options).map(|(target, others)| (target.short(), others))
    }

    #[test]
    fn the_first_target_among_the_options_is_taken_out() {
        let (target, others) =
            split(&["-O2", "--gpu-architecture=gfx942:xnack+", "", "--offload-arch=gfx90a"]).ok().unwrap();
        assert_eq!((target.as_str(), others), ("gfx942:xnack+", vec!["-O2".to_owned()]));
        let failure = split(&["--offload-arch=compute_70"]).err().unwrap();
        assert_eq!(failure.status, RtcStatus::INVALID_OPTION);
        assert!(failure.log.starts_with("--offload-arch=compute_70: "), "{}", failure.log);
    }

    #[test]
    fn a_lowered_name_is_found_with_and_without_the_address_operator() {
        let lowered = vec![("&k<int>".to_owned(), CString::from(c"_Z1kIiEvv"))];
        let compiled = Compiled { lowered, ..Compiled::default() };
        for expression in ["&k<int>", "k<int>"] {
            assert_eq!(compiled.lowered_name(expression), Some(c"_Z1kIiEvv"));
        }
        assert_eq!(compiled.lowered_name("k<float>"), None);
    }
}
