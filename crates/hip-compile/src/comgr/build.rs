//! A job done by comgr: assembly and LLVM IR to object files, and all of these to one code object.

use std::ffi::{CStr, CString};

use super::Comgr;
use super::api::{Action, ActionInfo, DataKind, Failed, LANGUAGE_HIP, LANGUAGE_LLVM_IR, SUCCESS, Set};
use crate::entry::Entry;
use crate::error::CompileError;
use crate::input::{Input, InputKind};
use crate::job::{Job, LINKED, QUIET, TO_BITCODE};
use crate::messages::with_names;

type Result<T> = std::result::Result<T, CompileError>;

impl Comgr {
    /// Does a job, while the thread has its [turn](super::turn).
    pub(crate) fn build(&self, job: &Job<'_>) -> Result<Entry> {
        let isa = job.c_text(&job.target.to_string())?;
        let mut build = Build { comgr: self, job, isa, log: String::new() };
        let objects = build.objects()?;
        let options = [&["-Wl,--no-undefined".to_owned()], &job.link_options()[..]].concat();
        let code = build.act(Action::LinkRelocatableToExecutable, None, &options, &objects)?;
        let code = build.only(&code, DataKind::Executable)?;
        Ok(Entry { log: with_names(&build.log, &job.files()), code, ..Entry::default() })
    }
}

struct Build<'a> {
    comgr: &'a Comgr,
    job: &'a Job<'a>,
    isa: CString,
    /// The messages of all actions.
    log: String,
}

impl<'a> Build<'a> {
    /// Returns object files of all inputs: one of all LLVM IR, and one of each other input.
    fn objects(&mut self) -> Result<Set<'a>> {
        let objects = self.set()?;
        for (input, file) in self.job.numbered() {
            match input.kind() {
                InputKind::Relocatable => self.add(&objects, DataKind::Relocatable, &file, input.bytes())?,
                InputKind::Assembly => {
                    let source = self.of_one(DataKind::Source, &file, input)?;
                    let options = self.job.options();
                    let made = self.act(Action::AssembleSourceToRelocatable, None, &options, &source)?;
                    let object = self.only(&made, DataKind::Relocatable)?;
                    self.add(&objects, DataKind::Relocatable, &format!("{file}.o"), &object)?;
                }
                _ => {}
            }
        }
        if let Some(object) = self.object_of_ir()? {
            self.add(&objects, DataKind::Relocatable, LINKED, &object)?;
        }
        Ok(objects)
    }

    fn object_of_ir(&mut self) -> Result<Option<Vec<u8>>> {
        let modules: Vec<_> = self.job.numbered().filter(|(input, _)| input.kind().is_ir()).collect();
        let libraries = self.job.device_libraries;
        // comgr's action for bitcode makes functions local, which other object files may call, and has no device libraries.
        let as_source = self.comgr.version.0 >= 3 && (libraries || modules.len() < self.job.inputs.len());
        let options = self.job.options();
        let linked = match &modules[..] {
            [] => return Ok(None),
            [(input, file)] if !libraries && !as_source => self.of_one(DataKind::Bitcode, file, input)?,
            several => self.linked(several)?,
        };
        if as_source {
            // This action gives clang the device libraries; `-c` makes an object file of the result.
            let bitcode = self.only(&linked, DataKind::Bitcode)?;
            let source = self.set()?;
            self.add(&source, DataKind::Source, "hiplaunch-linked.bc", &bitcode)?;
            let options = [&["-c".to_owned()], &options[..]].concat();
            let action = Action::CompileSourceToExecutable;
            let made = self.act(action, Some(LANGUAGE_LLVM_IR), &options, &source)?;
            return self.only(&made, DataKind::Executable).map(Some);
        }
        let made = self.act(Action::CodegenBcToRelocatable, None, &options, &linked)?;
        self.only(&made, DataKind::Relocatable).map(Some)
    }

    /// Links modules to one of bitcode. With comgr before 3, the device libraries are among them if they are wanted.
    fn linked(&mut self, modules: &[(&Input<'_>, String)]) -> Result<Set<'a>> {
        let mut all = self.set()?;
        for (input, file) in modules {
            // clang makes bitcode with the target's triple and data layout of it. Its errors have lines; those of linking do not.
            let module = self.of_one(DataKind::Bitcode, file, input)?;
            let options = TO_BITCODE.map(str::to_owned);
            let made = self.act(Action::CodegenBcToRelocatable, None, &options, &module)?;
            let bitcode = self.only(&made, DataKind::Relocatable)?;
            self.add(&all, DataKind::Bitcode, file, &bitcode)?;
        }
        if self.job.device_libraries && self.comgr.version.0 < 3 {
            // The settings that are on for clang without options.
            let wavefronts = self.job.has_wavefronts_of_64().then_some("wavefrontsize64");
            let settings = ["correctly_rounded_sqrt"].into_iter().chain(wavefronts).map(str::to_owned);
            let settings: Vec<String> = settings.collect();
            all = self.act(Action::AddDeviceLibraries, Some(LANGUAGE_HIP), &settings, &all)?;
        }
        self.act(Action::LinkBcToBc, None, &[], &all)
    }

    fn set(&self) -> Result<Set<'a>> {
        self.comgr.api.set().map_err(|failed| self.failed(failed))
    }

    fn of_one(&self, kind: DataKind, file: &str, input: &Input<'_>) -> Result<Set<'a>> {
        let set = self.set()?;
        self.add(&set, kind, file, input.bytes())?;
        Ok(set)
    }

    fn add(&self, set: &Set<'_>, kind: DataKind, file: &str, bytes: &[u8]) -> Result<()> {
        let file = self.job.c_text(file)?;
        set.add(kind, &file, bytes).map_err(|failed| self.failed(failed))
    }

    /// Does an action, and adds its messages.
    fn act(
        &mut self,
        action: Action,
        language: Option<std::ffi::c_int>,
        options: &[String],
        input: &Set<'_>,
    ) -> Result<Set<'a>> {
        let number = action.number(self.comgr.version.0);
        let quiet = (action != Action::AddDeviceLibraries).then(|| QUIET.map(str::to_owned));
        let options = quiet.iter().flatten().chain(options).map(|option| self.job.c_text(option));
        let options = options.collect::<Result<Vec<_>>>()?;
        let isa: &CStr = &self.isa;
        let info = ActionInfo { number, isa, language, options };
        let comgr = self.comgr;
        let done = comgr.api.act(&info, input);
        let (result, status) = done.map_err(|failed| self.failed(failed))?;
        for text in result.all(DataKind::Log).map_err(|failed| self.failed(failed))? {
            self.log.push_str(String::from_utf8_lossy(&text).trim_end_matches('\0'));
        }
        match status {
            SUCCESS => Ok(result),
            // `AMD_COMGR_STATUS_ERROR`: the messages say why.
            1 => Err(self.job.failed(with_names(&self.log, &self.job.files()))),
            other => Err(self.failed(Failed("amd_comgr_do_action", other))),
        }
    }

    /// Returns the one result of a kind.
    fn only(&self, set: &Set<'_>, kind: DataKind) -> Result<Vec<u8>> {
        let found = set.all(kind).map_err(|failed| self.failed(failed))?;
        // An action that succeeded has a result of each input, and each gets one.
        found.into_iter().next().ok_or_else(|| self.failed(Failed("amd_comgr_action_data_get_data", 2)))
    }

    fn failed(&self, Failed(call, code): Failed) -> CompileError {
        let (compiler, message) = (self.comgr.to_string(), self.comgr.api.describe(code));
        CompileError::Call { call, compiler, code, message, name: self.job.names() }
    }
}
