//! Compiles to code objects at run time, with a cache on disk: HIP C++ by AMD's runtime compiler (hiprtc); LLVM IR, bitcode,
//! assembly and object files ([`Input`]) by comgr, which is a part of ROCm, or by clang and lld.
//!
//! A compiler is searched for when it is first needed; [`LIBRARY_VARIABLE`] names hiprtc's file instead, and [`CLANG_VARIABLE`] a
//! clang. It needs no GPU: its output runs on the emulator too. If none is installed, [`CompileError::NotFound`] says what to
//! install.
//!
//! ```no_run
//! use code_object::{CodeObject, Processor, TargetId};
//! use hip_compile::{Compile, Compiler};
//!
//! let source = r#"extern "C" __global__ void twice(float* x, unsigned n) {
//!     unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
//!     if (i < n) x[i] *= 2;
//! }"#;
//! let compiler = Compiler::new(&TargetId::new(Processor::Gfx90a)).option("-O3");
//! let code = CodeObject::compile(source, &compiler)?;
//! assert_eq!(CodeObject::parse(code.elf())?.kernel("twice")?.explicit_args().len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```text
//! inputs, names, headers, options, target, compiler ─> key (SHA-256) ─> folder ─> code object and log
//!                                                                        │ not there, or damaged
//!                                                                        ▼
//!              hiprtc, or comgr, one compile at a time; or clang and lld, several at once ─> written whole, renamed
//! ```
//!
//! [`CodeObject`] is in another crate, which does not know HIP: the trait [`Compile`] adds `CodeObject::compile`.

mod bitcode;
mod cache;
mod clang;
mod comgr;
mod compiled;
mod digest;
mod entry;
mod error;
mod hiprtc;
mod includes;
mod input;
mod job;
mod messages;
mod namespace;
mod origin;
mod toolchain;

use std::ffi::c_void;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::MutexGuard;

use code_object::{CodeObject, TargetId};

pub use self::cache::{CACHE_VARIABLE, CacheCounters, DEFAULT_LIMIT, DiskCache};
pub use self::clang::CLANG_VARIABLE;
pub use self::compiled::{Bitcode, Compiled};
pub use self::error::CompileError;
pub use self::input::{Input, InputKind};
pub use self::namespace::LIBRARY_VARIABLE;
pub use rocm_library::LoadAttempt;

use self::digest::{Digest, Fields};
use self::entry::Entry;
use self::hiprtc::{Hiprtc, Unit};
use self::job::Job;
use self::namespace::Namespace;
use self::toolchain::Toolchain;

/// The first field of every key. Change its number whenever equal fields must give another key.
const KEY: &[u8] = b"hiplaunch compile 2";
/// The same of keys of inputs other than HIP C++.
const JOB_KEY: &[u8] = b"hiplaunch job 1";

/// Variables from which hiprtc reads more options (ROCm 5.6 and later).
const OPTION_VARIABLES: [&str; 2] = ["HIPRTC_COMPILE_OPTIONS_APPEND", "HIPRTC_LINK_OPTIONS_APPEND"];

/// The option that asks for bitcode.
const BITCODE: &str = "-fgpu-rdc";

/// The result of this module's functions.
type Result<T> = std::result::Result<T, CompileError>;

/// How to compile: target, options, headers and cache. One compiler compiles any number of sources, from any thread.
#[derive(Clone, Debug)]
pub struct Compiler {
    target: TargetId,
    name: String,
    options: Vec<String>,
    headers: Vec<(String, String)>,
    expressions: Vec<String>,
    device_libraries: bool,
    clang: Option<PathBuf>,
    cache: DiskCache,
    namespace: Namespace,
}

impl Compiler {
    /// Creates a compiler for a target: that of a device (`device.properties().target`), or one without settings
    /// ([`TargetId::new`]), for which the code runs whatever the device's settings are. Does not search for hiprtc yet.
    pub fn new(target: &TargetId) -> Compiler {
        Compiler {
            target: target.clone(),
            name: "kernel.hip".to_owned(),
            options: Vec::new(),
            headers: Vec::new(),
            expressions: Vec::new(),
            device_libraries: false,
            clang: None,
            cache: DiskCache::shared(),
            namespace: Namespace::Program,
        }
    }

    /// Sets the name of the source in the compiler's log, and in `__FILE__` with versions of hiprtc that keep it. The
    /// default is `kernel.hip`.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Compiler {
        self.name = name.into();
        self
    }

    /// Adds an option of clang, such as `-O3` or `-ffp-contract=off`. The option for the target is always passed.
    /// Without other options, hiprtc optimises with `-O3`.
    #[must_use]
    pub fn option(mut self, option: impl Into<String>) -> Compiler {
        self.options.push(option.into());
        self
    }

    /// Adds several options.
    #[must_use]
    pub fn options<S: Into<String>>(mut self, options: impl IntoIterator<Item = S>) -> Compiler {
        self.options.extend(options.into_iter().map(Into::into));
        self
    }

    /// Defines a macro: `-Dname=value`.
    #[must_use]
    pub fn define(self, name: &str, value: impl std::fmt::Display) -> Compiler {
        self.option(format!("-D{name}={value}"))
    }

    /// Adds a header that sources may include by this name, in place of an earlier one of the same name. If a source
    /// for hipcc includes `hip/hip_runtime.h`, add that header as an empty text: hiprtc has it built in.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, text: impl Into<String>) -> Compiler {
        let name = name.into();
        self.headers.retain(|(other, _)| *other != name);
        self.headers.push((name, text.into()));
        self.headers.sort();
        self
    }

    /// Asks for the symbol of a name expression, such as `scale<float>`, which it instantiates.
    /// [`Compiled::lowered_name`] returns it.
    #[must_use]
    pub fn name_expression(mut self, expression: impl Into<String>) -> Compiler {
        self.expressions.push(expression.into());
        self
    }

    /// Makes it use a hiprtc that is loaded in a namespace of its own, where it sees no library of the program, and no
    /// library of the program sees it. This is for a library that has functions of hiprtc's names itself. Only Linux with
    /// glibc has namespaces; elsewhere, the library is loaded as any other.
    #[must_use]
    pub fn isolated(mut self) -> Compiler {
        self.namespace = Namespace::Isolated;
        self
    }

    /// Links LLVM IR with ROCm's device libraries: ocml (`__ocml_sin_f32` and the like), ockl, and the constants that control them
    /// for the target. HIP C++ always has them. comgr contains them; clang needs them on disk.
    #[must_use]
    pub fn device_libraries(mut self) -> Compiler {
        self.device_libraries = true;
        self
    }

    /// Makes a clang compile LLVM IR, bitcode and assembly, in place of comgr and of other versions: a path, or a name in `PATH`.
    /// It needs lld, beside it or in `PATH`.
    #[must_use]
    pub fn clang(mut self, program: impl Into<PathBuf>) -> Compiler {
        self.clang = Some(program.into());
        self
    }

    /// Sets the cache for code objects. The default is [`DiskCache::shared`]; [`DiskCache::off`] is no cache.
    #[must_use]
    pub fn cache(mut self, cache: &DiskCache) -> Compiler {
        self.cache = cache.clone();
        self
    }

    /// Returns the target.
    pub fn target(&self) -> &TargetId {
        &self.target
    }

    /// Searches for hiprtc, and returns the version and file of the one that compiles for the target.
    ///
    /// # Errors
    /// [`CompileError::NotFound`] if there is none, [`CompileError::UnknownTarget`] if it is older than the target.
    pub fn check(&self) -> Result<String> {
        self.check_kind(InputKind::Hip)
    }

    /// Searches for the compiler of a kind of input, and returns its version and file: hiprtc's for HIP C++, else that of comgr
    /// or clang.
    ///
    /// # Errors
    /// Those of [`check`](Compiler::check).
    pub fn check_kind(&self, kind: InputKind) -> Result<String> {
        match kind {
            InputKind::Hip => self.hiprtc().map(|hiprtc| hiprtc.to_string()),
            _ => self.toolchain().map(|toolchain| toolchain.to_string()),
        }
    }

    /// Compiles HIP C++, or returns the cached result of an earlier compile, by this process or another.
    ///
    /// A cached result is used if everything is equal: the source, its name, the options, headers and target, and the
    /// compiler with its version. A source that reads anything else, as with `-I`, an `#include` of a header that was
    /// not added, or `__TIME__`, is compiled every time. One source is compiled at a time: a thread that needs one that
    /// is being compiled waits for the result.
    ///
    /// # Errors
    /// [`CompileError::Failed`], with the compiler's log, if the source has errors; [`CompileError::NotFound`] and
    /// [`CompileError::UnknownTarget`] as for [`check`](Compiler::check); [`CompileError::Option`] and
    /// [`CompileError::Text`] for what cannot be passed to a compiler. A cache that cannot be read or written is not an
    /// error, but a warning in the log.
    pub fn compile(&self, source: &str) -> Result<Compiled> {
        self.compile_inputs(&[Input::hip(source).named(self.name.as_str())])
    }

    /// Compiles inputs of any kinds to one code object, or returns the cached result of an earlier compile.
    ///
    /// HIP C++ alone is compiled as by [`compile`](Compiler::compile). LLVM IR, bitcode and assembly are compiled by comgr, else
    /// by the newest clang of 15 or later, which is in `PATH` or one of ROCm's folders and has lld; [`CLANG_VARIABLE`] or
    /// [`clang`](Compiler::clang) names one. If comgr rejects them, that clang has a try, as they may be of a newer LLVM. All LLVM
    /// IR, to which HIP C++ among other inputs is compiled (HIP 5.3), is linked before code is generated, so that functions of one
    /// module are inlined in another; then object files are linked. With the comgr of ROCm 6, other inputs don't find the
    /// functions of LLVM IR, only the reverse.
    ///
    /// An option is passed where it is of use: to clang, and `-Wl,` to the linker. LLVM ends the process if it can't generate
    /// code for an operation; with comgr, that is this process, with clang it is not.
    ///
    /// # Errors
    /// Those of [`compile`](Compiler::compile): the log of [`CompileError::Failed`] has the lines of wrong IR and assembly, and
    /// the names of symbols that nothing defines. [`CompileError::OtherTarget`] if LLVM IR or an object file is for another
    /// processor or system; [`CompileError::Text`] if there is no input, or one is empty or no object file;
    /// [`CompileError::Run`] if clang can't be run.
    pub fn compile_inputs(&self, inputs: &[Input<'_>]) -> Result<Compiled> {
        self.check_options()?;
        if inputs.is_empty() {
            return Err(CompileError::Text { what: "the list of inputs".to_owned(), problem: "is empty" });
        }
        if let [input] = inputs
            && input.kind() == InputKind::Hip
        {
            let hiprtc = self.hiprtc()?;
            return self.compile_with(hiprtc, input, |entry, from_cache| {
                self.read(hiprtc, input.name(), entry, from_cache)
            });
        }
        let (mut modules, mut log, mut lowered) =
            (Vec::with_capacity(inputs.len()), String::new(), Vec::new());
        for input in inputs {
            if input.bytes().is_empty() {
                return Err(CompileError::Text { what: input.name().to_owned(), problem: "is empty" });
            }
            if input.kind() == InputKind::Hip {
                let bitcode = self.bitcode_of(input)?;
                log.push_str(&bitcode.log);
                lowered.extend(bitcode.lowered);
                let module = Input::new(InputKind::Bitcode, bitcode.bytes);
                modules.push(module.named(input.name().to_owned()));
            } else {
                origin::check(input, &self.target)?;
                modules.push(input.clone());
            }
        }
        let mut compiled = self.compile_job(&Job {
            inputs: &modules,
            target: &self.target,
            options: &self.options,
            device_libraries: self.device_libraries,
        })?;
        compiled.log.insert_str(0, &log);
        compiled.lowered = lowered;
        Ok(compiled)
    }

    /// Compiles HIP C++ to LLVM bitcode that hiprtc links with others (`-fgpu-rdc`, HIP 5.3), or returns the cached
    /// result, as [`compile`](Compiler::compile) does.
    ///
    /// # Errors
    /// Those of [`compile`](Compiler::compile).
    pub fn compile_to_bitcode(&self, source: &str) -> Result<Bitcode> {
        self.check_options()?;
        self.bitcode_of(&Input::hip(source).named(self.name.as_str()))
    }

    fn bitcode_of(&self, input: &Input<'_>) -> Result<Bitcode> {
        let compiler = if self.options.iter().any(|option| option == BITCODE) {
            self.clone()
        } else {
            self.clone().option(BITCODE)
        };
        let hiprtc = self.hiprtc()?;
        if !hiprtc.makes_bitcode() {
            let problem = "needs hiprtc of HIP 5.3 or later";
            return Err(CompileError::Option { option: BITCODE.to_owned(), problem });
        }
        compiler.compile_with(hiprtc, input, |entry, from_cache| {
            Ok(Bitcode { bytes: entry.code, log: entry.log, lowered: entry.lowered, from_cache })
        })
    }

    /// Returns the address of another function of the hiprtc that compiles; `None` if that version has it not. The library
    /// is never unloaded.
    ///
    /// # Errors
    /// [`CompileError::NotFound`] if there is no hiprtc.
    pub fn function(&self, name: &str) -> Result<Option<NonNull<c_void>>> {
        Ok(hiprtc::hiprtc(self.namespace)?.function(name))
    }

    fn hiprtc(&self) -> Result<&'static Hiprtc> {
        let hiprtc = hiprtc::hiprtc(self.namespace)?;
        if !hiprtc.knows(&self.target.processor) {
            let target = self.target.processor.to_string();
            return Err(CompileError::UnknownTarget { target, compiler: hiprtc.to_string() });
        }
        Ok(hiprtc)
    }

    fn toolchain(&self) -> Result<Toolchain> {
        Toolchain::find(&self.target, self.clang.as_deref(), self.namespace)
    }

    fn compile_with<T>(
        &self,
        hiprtc: &Hiprtc,
        input: &Input<'_>,
        read: impl Fn(Entry, bool) -> Result<T>,
    ) -> Result<T> {
        let refused = |problem| CompileError::Text { what: format!("the source {}", input.name()), problem };
        let source = std::str::from_utf8(input.bytes()).map_err(|_| refused("is not UTF-8"))?;
        if source.is_empty() {
            return Err(refused("is empty"));
        }
        let target = self.target.short();
        let mut options = vec![format!("--offload-arch={target}")];
        options.extend_from_slice(&self.options);
        let unit = Unit {
            name: input.name(),
            source,
            headers: &self.headers,
            options: &options,
            target: &target,
            expressions: &self.expressions,
            bitcode: options.iter().any(|option| option == BITCODE),
        };
        let key = self.cache.folder().and_then(|_| self.key_if_kept(hiprtc.identity(), &unit));
        self.cached(key.as_ref(), || Some(comgr::turn()), || hiprtc.compile(&unit), read)
    }

    /// Compiles by comgr or clang; by the newest clang if comgr rejects it.
    fn compile_job(&self, job: &Job<'_>) -> Result<Compiled> {
        let first = self.toolchain()?;
        let (name, target, log) = match self.compile_by(&first, job) {
            Err(CompileError::Failed { name, target, log }) => (name, target, log),
            done => return done,
        };
        let Some(next) = first.next(&self.target) else {
            return Err(CompileError::Failed { name, target, log });
        };
        let log = match self.compile_by(&next, job) {
            Ok(compiled) => {
                log::debug!("{name}: compiled with {next}, as {first} said: {log}");
                return Ok(compiled);
            }
            // The same error again says nothing new.
            Err(CompileError::Failed { log: its, .. }) if its.lines().next() != log.lines().next() => {
                format!("{first}:\n{log}\n{next}:\n{its}")
            }
            Err(_) => log,
        };
        Err(CompileError::Failed { name, target, log })
    }

    fn compile_by(&self, toolchain: &Toolchain, job: &Job<'_>) -> Result<Compiled> {
        let key = match self.cache.folder() {
            Some(_) => job_key_if_kept(toolchain, job)?,
            None => None,
        };
        let name = job.names();
        let read = |entry, from_cache| self.read(toolchain, &name, entry, from_cache);
        self.cached(key.as_ref(), || toolchain.turn(), || toolchain.build(job), read)
    }

    /// Returns the cached result of a key, else that of a compile while the thread has its turn.
    fn cached<T>(
        &self,
        key: Option<&Digest>,
        turn: impl FnOnce() -> Option<MutexGuard<'static, ()>>,
        compile: impl FnOnce() -> Result<Entry>,
        read: impl Fn(Entry, bool) -> Result<T>,
    ) -> Result<T> {
        let cached = |entry| read(entry, true).map_err(|e| e.to_string());
        let found = || key.and_then(|key| self.cache.get(key, cached));
        if let Some(compiled) = found() {
            return Ok(compiled);
        }
        let turn = turn();
        // The thread that had the turn before may have compiled the same source.
        if turn.is_some()
            && let Some(compiled) = found()
        {
            return Ok(compiled);
        }
        if key.is_some() {
            self.cache.miss();
        }
        let entry = compile()?;
        let compiled = read(entry.clone(), false)?;
        if let Some(key) = key {
            self.cache.put(key, &entry);
        }
        // Only now, so that the next thread finds the cache entry.
        drop(turn);
        Ok(compiled)
    }

    fn check_options(&self) -> Result<()> {
        const TARGET: [&str; 6] =
            ["--offload-arch", "--gpu-architecture", "-arch", "-mcpu", "--target", "-target"];
        for option in &self.options {
            let problem = if option.is_empty() {
                "is empty; leave it out"
            } else if TARGET.iter().any(|target| option.starts_with(target)) {
                "the compiler sets the target itself; create another compiler for another target"
            } else {
                continue;
            };
            return Err(CompileError::Option { option: option.clone(), problem });
        }
        Ok(())
    }

    /// Returns the key, unless the compile reads more than the key contains.
    fn key_if_kept(&self, identity: &str, unit: &Unit<'_>) -> Option<Digest> {
        let extra = OPTION_VARIABLES.map(|name| std::env::var(name).unwrap_or_default());
        let words = extra.iter().flat_map(|v| v.split_whitespace()).map(str::to_owned);
        let options: Vec<String> = self.options.iter().cloned().chain(words).collect();
        let texts = unit.headers.iter().map(|(_, text)| text.as_str()).chain([unit.source]);
        let known = |name: &str| self.headers.iter().any(|(header, _)| header == name);
        if let Some(why) = includes::reads_more(texts, &options, known) {
            log::debug!("{} is not kept: {why}", unit.name);
            return None;
        }
        Some(key(identity, unit, &extra))
    }

    fn read(&self, compiler: &impl ToString, name: &str, entry: Entry, from_cache: bool) -> Result<Compiled> {
        let code = CodeObject::from_any(&entry.code, &self.target).map_err(|source| {
            let (compiler, name) = (compiler.to_string(), name.to_owned());
            CompileError::CodeObject { compiler, name, source: Box::new(source) }
        })?;
        Ok(Compiled { code, log: entry.log, lowered: entry.lowered, from_cache })
    }
}

/// Returns the digest of everything that decides the compiler's output.
fn key(identity: &str, unit: &Unit<'_>, variables: &[String]) -> Digest {
    let mut all = Fields::default();
    let number = |n: usize| (n as u64).to_le_bytes();
    all.field(KEY);
    all.field(identity.as_bytes());
    all.field(unit.target.as_bytes());
    all.field(unit.name.as_bytes());
    // The number of options is hashed too, so that an option is never taken for a header.
    all.field(&number(unit.options.len()));
    unit.options.iter().for_each(|option| all.field(option.as_bytes()));
    all.field(&number(unit.headers.len()));
    for (name, text) in unit.headers {
        all.field(name.as_bytes());
        all.field(text.as_bytes());
    }
    variables.iter().for_each(|value| all.field(value.as_bytes()));
    all.field(&number(unit.expressions.len()));
    unit.expressions.iter().for_each(|expression| all.field(expression.as_bytes()));
    all.field(unit.source.as_bytes());
    all.finish()
}

/// Returns the key, unless the job reads more than the key contains.
fn job_key_if_kept(toolchain: &Toolchain, job: &Job<'_>) -> Result<Option<Digest>> {
    let reads = job.inputs.iter().find_map(origin::reads_files);
    if let Some(why) = reads.or_else(|| includes::reads_more([], job.options, |_| false)) {
        log::debug!("{} is not kept: {why}", job.names());
        return Ok(None);
    }
    Ok(Some(job_key(&toolchain.identity(job)?, job)))
}

/// Returns the digest of everything that decides the result of a job.
fn job_key(identity: &str, job: &Job<'_>) -> Digest {
    let mut all = Fields::default();
    all.field(JOB_KEY);
    all.field(identity.as_bytes());
    all.field(job.target.short().as_bytes());
    all.field(&[u8::from(job.device_libraries)]);
    all.field(&(job.options.len() as u64).to_le_bytes());
    job.options.iter().for_each(|option| all.field(option.as_bytes()));
    for input in job.inputs {
        all.field(input.kind().name().as_bytes());
        all.field(input.name().as_bytes());
        all.field(input.bytes());
    }
    all.finish()
}

/// Adds [`CodeObject::compile`](Compile::compile): HIP C++ to a code object.
pub trait Compile: Sized {
    /// Compiles a source, as [`Compiler::compile`] does.
    ///
    /// # Errors
    /// Those of [`Compiler::compile`].
    fn compile(source: &str, compiler: &Compiler) -> std::result::Result<Compiled, CompileError>;
}

impl Compile for CodeObject {
    fn compile(source: &str, compiler: &Compiler) -> Result<Compiled> {
        compiler.compile(source)
    }
}

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;

    /// Needs no compiler. Each field changes the key, and nothing else does.
    #[test]
    fn a_key_changes_with_each_ingredient() {
        let strings = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
        let pairs = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect::<Vec<_>>()
        };
        let of = |identity: &str,
                  name: &str,
                  source: &str,
                  target: &str,
                  options: &[&str],
                  headers: &[(&str, &str)],
                  extra: &str,
                  expressions: &[&str]| {
            let (options, headers) = (strings(options), pairs(headers));
            let unit = Unit {
                name,
                source,
                headers: &headers,
                options: &options,
                target,
                expressions: &strings(expressions),
                bitcode: false,
            };
            key(identity, &unit, &strings(&[extra]))
        };
        let base = || of("rtc 5.2", "k.hip", "int x;", "gfx90a", &["-O3"], &[("a.h", "1")], "", &[]);
        let others = [
            of("rtc 5.3", "k.hip", "int x;", "gfx90a", &["-O3"], &[("a.h", "1")], "", &[]),
            of("rtc 5.2", "l.hip", "int x;", "gfx90a", &["-O3"], &[("a.h", "1")], "", &[]),
            of("rtc 5.2", "k.hip", "int y;", "gfx90a", &["-O3"], &[("a.h", "1")], "", &[]),
            of("rtc 5.2", "k.hip", "int x;", "gfx942", &["-O3"], &[("a.h", "1")], "", &[]),
            of("rtc 5.2", "k.hip", "int x;", "gfx90a", &["-O2"], &[("a.h", "1")], "", &[]),
            of("rtc 5.2", "k.hip", "int x;", "gfx90a", &["-O3", "-g"], &[("a.h", "1")], "", &[]),
            of("rtc 5.2", "k.hip", "int x;", "gfx90a", &["-O3"], &[("b.h", "1")], "", &[]),
            of("rtc 5.2", "k.hip", "int x;", "gfx90a", &["-O3"], &[("a.h", "2")], "", &[]),
            of("rtc 5.2", "k.hip", "int x;", "gfx90a", &["-O3"], &[], "", &[]),
            of("rtc 5.2", "k.hip", "int x;", "gfx90a", &["-O3", "a.h", "1"], &[], "", &[]),
            of("rtc 5.2", "k.hip", "int x;", "gfx90a", &["-O3"], &[("a.h", "1")], "-g", &[]),
            of("rtc 5.2", "k.hip", "int x;", "gfx90a", &["-O3"], &[("a.h", "1")], "", &["k<int>"]),
        ];
        assert_eq!(base(), base());
        for (i, other) in others.iter().enumerate() {
            assert!(*other != base() && !others[..i].contains(other), "{i}");
        }
    }

    /// Needs no compiler, too.
    #[test]
    fn a_key_of_a_job_changes_with_each_ingredient() {
        let of =
            |identity: &str, inputs: &[Input<'_>], target: &str, options: &[&str], device_libraries: bool| {
                let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
                let target = target.parse().unwrap();
                job_key(identity, &Job { inputs, target: &target, options: &options, device_libraries })
            };
        let ir = |text| Input::new(InputKind::LlvmIr, text);
        let one = [ir(&b"a"[..])];
        let two = [ir(&b"a"[..]), ir(&b"b"[..])];
        let keys = [
            of("comgr 2.4", &one, "gfx90a", &["-O3"], false),
            of("comgr 2.5", &one, "gfx90a", &["-O3"], false),
            of("comgr 2.4", &[ir(&b"b"[..])], "gfx90a", &["-O3"], false),
            of("comgr 2.4", &[Input::assembly("a").named("kernel.ll")], "gfx90a", &["-O3"], false),
            of("comgr 2.4", &[ir(&b"a"[..]).named("other.ll")], "gfx90a", &["-O3"], false),
            of("comgr 2.4", &two, "gfx90a", &["-O3"], false),
            of("comgr 2.4", &[two[1].clone(), two[0].clone()], "gfx90a", &["-O3"], false),
            of("comgr 2.4", &one, "gfx90a:xnack+", &["-O3"], false),
            of("comgr 2.4", &one, "gfx90a", &["-O2"], false),
            of("comgr 2.4", &one, "gfx90a", &["-O3", "-g"], false),
            of("comgr 2.4", &one, "gfx90a", &[], false),
            of("comgr 2.4", &one, "gfx90a", &["-O3"], true),
        ];
        assert_eq!(keys[0], of("comgr 2.4", &one, "gfx90a", &["-O3"], false));
        for (i, key) in keys.iter().enumerate() {
            assert!(!keys[..i].contains(key), "{i}");
        }
    }

    #[test]
    fn a_target_among_the_options_is_refused_before_anything_is_loaded() {
        let target = TargetId::new(code_object::Processor::Gfx90a);
        for option in ["--offload-arch=gfx942", "-mcpu=gfx90a", ""] {
            let error = Compiler::new(&target).option(option).check_options().unwrap_err();
            assert!(matches!(&error, CompileError::Option { option: o, .. } if o == option), "{error}");
        }
        assert_eq!(Compiler::new(&target).option("-O3").check_options(), Ok(()));
    }

    #[test]
    fn a_header_given_twice_is_the_last_one() {
        let target = TargetId::new(code_object::Processor::Gfx90a);
        let compiler = Compiler::new(&target).header("b.h", "1").header("a.h", "2").header("b.h", "3");
        assert_eq!(
            compiler.headers,
            [("a.h".to_owned(), "2".to_owned()), ("b.h".to_owned(), "3".to_owned())]
        );
    }
}
