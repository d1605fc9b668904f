//! Which compiler does a job: comgr, which is ROCm's and needs no process of its own, else clang and lld.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, MutexGuard};

use code_object::TargetId;

use crate::clang::{self, CLANG_VARIABLE, Clang};
use crate::comgr::{self, Comgr};
use crate::entry::Entry;
use crate::error::CompileError;
use crate::job::Job;
use crate::namespace::Namespace;

/// A compiler of LLVM IR, bitcode and assembly that knows the target.
#[derive(Clone, Debug)]
pub(crate) enum Toolchain {
    Comgr(&'static Comgr),
    Clang(Arc<Clang>),
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Toolchain::Comgr(comgr) => comgr.fmt(f),
            Toolchain::Clang(clang) => clang.fmt(f),
        }
    }
}

impl Toolchain {
    /// Returns the compiler for a target: the clang that is named, else the one of the environment, else comgr, else the newest
    /// clang.
    pub(crate) fn find(
        target: &TargetId,
        named: Option<&Path>,
        namespace: Namespace,
    ) -> Result<Toolchain, CompileError> {
        let processor = &target.processor;
        let unknown =
            |compiler: String| Err(CompileError::UnknownTarget { target: processor.to_string(), compiler });
        let variable = std::env::var_os(CLANG_VARIABLE).filter(|value| !value.is_empty());
        if let Some(path) = named.or(variable.as_ref().map(Path::new)) {
            return match clang::named(path) {
                Ok(clang) if clang.knows(processor) => Ok(Toolchain::Clang(clang)),
                Ok(clang) => unknown(clang.to_string()),
                Err(attempt) => {
                    Err(CompileError::NotFound { missing: CompileError::LLVM, tried: vec![attempt] })
                }
            };
        }
        let comgr = comgr::comgr(namespace);
        match comgr {
            Ok(comgr) if comgr.knows(processor) => return Ok(Toolchain::Comgr(comgr)),
            _ => {}
        }
        if let Some(clang) = newest(target) {
            return Ok(Toolchain::Clang(clang));
        }
        let installed = clang::installed();
        let known = comgr.iter().map(|comgr| comgr.to_string());
        let known: Vec<String> =
            known.chain(installed.clangs.iter().map(|clang| clang.to_string())).collect();
        if !known.is_empty() {
            return unknown(known.join("; "));
        }
        let tried = comgr.err().unwrap_or_default().iter().chain(&installed.tried).cloned().collect();
        Err(CompileError::NotFound { missing: CompileError::LLVM, tried })
    }

    /// Returns the compiler to try after this one rejected its inputs: they may be of a newer LLVM than comgr's.
    pub(crate) fn next(&self, target: &TargetId) -> Option<Toolchain> {
        match self {
            Toolchain::Comgr(_) => newest(target).map(Toolchain::Clang),
            Toolchain::Clang(_) => None,
        }
    }

    /// Returns a text that differs between two compilers that may generate different code for a job.
    pub(crate) fn identity(&self, job: &Job<'_>) -> Result<String, CompileError> {
        match self {
            Toolchain::Comgr(comgr) => Ok(comgr.identity()),
            Toolchain::Clang(clang) => clang.identity(job),
        }
    }

    /// Waits until it can be used: comgr by one thread at a time, clang by any.
    pub(crate) fn turn(&self) -> Option<MutexGuard<'static, ()>> {
        matches!(self, Toolchain::Comgr(_)).then(comgr::turn)
    }

    /// Does a job, while the thread has its turn.
    pub(crate) fn build(&self, job: &Job<'_>) -> Result<Entry, CompileError> {
        match self {
            Toolchain::Comgr(comgr) => comgr.build(job),
            Toolchain::Clang(clang) => clang.build(job),
        }
    }
}

/// Returns the newest clang that knows a target.
fn newest(target: &TargetId) -> Option<Arc<Clang>> {
    clang::installed().clangs.iter().find(|clang| clang.knows(&target.processor)).cloned()
}
