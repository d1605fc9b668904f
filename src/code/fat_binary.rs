//! Code objects for many targets with the source that they were made of: the one that a device runs, or a new one.

use std::borrow::Cow;
use std::path::Path;

use code_object::{CodeObject, TargetId, bundle};
use hip_compile::{CompileError, Compiler};
use hip_driver::Capability;

use crate::device::Device;
use crate::error::{Error, NoCode, NoCodeReason, Result};

/// Kernels that a program has for any device: an offload bundle, and the HIP C++ source for devices that can't run any of
/// its code objects.
///
/// [`for_device`](FatBinary::for_device) chooses:
///
/// 1. the bundle's code object for exactly the device's processor;
/// 2. the one for a generic processor that covers it (LLVM, "User Guide for AMDGPU Backend", "AMDGPU Generic Processors"),
///    if the driver has [`Capability::GenericCodeObjects`], as HIP has from 6.4 on;
/// 3. what hiprtc compiles of the source, for exactly the device's processor, and keeps on disk.
///
/// ```
/// use hiplaunch::{FatBinary, Launcher};
///
/// # #[cfg(feature = "emulator")] {
/// let launcher = Launcher::new()?;
/// let device = launcher.device(0)?;
/// let code = FatBinary::read("hip/vector.hipfb")?.for_device(device)?;
/// // SAFETY: it is not launched.
/// let saxpy = unsafe { launcher.register(device, code.elf(), "saxpy")? };
/// # let _ = saxpy;
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct FatBinary<'a> {
    name: Cow<'a, str>,
    bundle: Cow<'a, [u8]>,
    source: Option<Cow<'a, str>>,
    headers: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

impl<'a> FatBinary<'a> {
    /// The code objects of an offload bundle, compressed or not, or a single one. `name` stands in errors and in the
    /// compiler's messages.
    pub fn new(name: impl Into<Cow<'a, str>>, bundle: impl Into<Cow<'a, [u8]>>) -> FatBinary<'a> {
        FatBinary { name: name.into(), bundle: bundle.into(), source: None, headers: Vec::new() }
    }

    /// Reads a bundle from a file. If there is a source beside it, with the extension `.hip`, the source is read too, with
    /// the headers in the same folder that it includes.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the path, for a file that can't be read.
    pub fn read(path: impl AsRef<Path>) -> Result<FatBinary<'static>> {
        let path = path.as_ref();
        let failed = |path: &Path, error: std::io::Error| {
            Error::invalid("FatBinary::read", format!("{}: {error}", path.display()))
        };
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let bundle = std::fs::read(path).map_err(|error| failed(path, error))?;
        let binary = FatBinary::new(name, bundle);
        let source = path.with_extension("hip");
        if !source.is_file() {
            return Ok(binary);
        }
        let source = std::fs::read_to_string(&source).map_err(|error| failed(&source, error))?;
        let mut headers: Vec<(String, String)> = Vec::new();
        let mut wanted = included(&source);
        while let Some(name) = wanted.pop() {
            let header = path.with_file_name(&name);
            if headers.iter().any(|(other, _)| *other == name) || !header.is_file() {
                continue;
            }
            let text = std::fs::read_to_string(&header).map_err(|error| failed(&header, error))?;
            wanted.extend(included(&text));
            headers.push((name, text));
        }
        Ok(headers.into_iter().fold(binary.source(source), |all, (name, text)| all.header(name, text)))
    }

    /// The source of the code objects, for devices that run none of them. It may include `hip/hip_runtime.h`, which the
    /// compiler has built in, and the [headers](FatBinary::header).
    #[must_use]
    pub fn source(mut self, text: impl Into<Cow<'a, str>>) -> FatBinary<'a> {
        self.source = Some(text.into());
        self
    }

    /// A header that the source includes by that name.
    #[must_use]
    pub fn header(mut self, name: impl Into<Cow<'a, str>>, text: impl Into<Cow<'a, str>>) -> FatBinary<'a> {
        self.headers.push((name.into(), text.into()));
        self
    }

    /// Returns the code object that the device runs, from the bundle or compiled.
    ///
    /// # Errors
    /// [`Error::NoCode`] if the bundle has none and none can be compiled, because there is no source, no hiprtc, or a hiprtc
    /// that does not know the device; [`Error::CodeObject`] for bytes that can't be read; [`Error::Compile`] if the source
    /// has errors.
    pub fn for_device(&self, device: &Device) -> Result<CodeObject> {
        match self.in_bundle(device)? {
            Ok(code) => Ok(code),
            Err(why) => self.compile(device, why),
        }
    }

    /// Returns the bundle's code object that the device runs, or why none of them can be used. Compiles nothing.
    ///
    /// # Errors
    /// [`Error::CodeObject`] for bytes that can't be read.
    pub(crate) fn in_bundle(&self, device: &Device) -> Result<std::result::Result<CodeObject, NoCodeReason>> {
        let loads_generic = device.raw().capabilities().has(Capability::GenericCodeObjects);
        match CodeObject::from_any(&self.bundle, &device.properties().target) {
            Ok(code) if loads_generic || !code.target().processor.is_generic() => Ok(Ok(code)),
            Ok(code) => Ok(Err(needs_newer_driver(device, &code))),
            Err(code_object::Error::NoMatchingTarget { .. }) => {
                Ok(Err(NoCodeReason::Target { has: self.targets() }))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Compiles the source for the device, because the bundle has nothing for it.
    fn compile(&self, device: &Device, why: NoCodeReason) -> Result<CodeObject> {
        let target = &device.properties().target;
        let Some(source) = &self.source else { return Err(self.no_code(device, why, None)) };
        log::info!("compiling {} for {target:#}: {why}", self.name);
        let mut compiler = Compiler::new(&TargetId::new(target.processor.clone()))
            .name(format!("{}.hip", self.name))
            .option("-O3")
            .header("hip/hip_runtime.h", "");
        for (name, text) in &self.headers {
            compiler = compiler.header(&**name, &**text);
        }
        match compiler.compile(source) {
            Ok(compiled) => Ok(compiled.code_object().clone()),
            Err(error @ (CompileError::NotFound { .. } | CompileError::UnknownTarget { .. })) => {
                Err(self.no_code(device, why, Some(error)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The error for a device that has no code.
    pub(crate) fn no_code(&self, device: &Device, why: NoCodeReason, compile: Option<CompileError>) -> Error {
        Error::NoCode(Box::new(NoCode {
            name: self.name.clone().into_owned(),
            device: device.id(),
            target: device.properties().target.clone(),
            why,
            compile,
        }))
    }

    /// Whether there is a source, from which code for other devices may be compiled.
    pub(crate) fn has_source(&self) -> bool {
        self.source.is_some()
    }

    /// Copies what is borrowed.
    pub fn into_owned(self) -> FatBinary<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        FatBinary {
            name: owned(self.name),
            bundle: Cow::Owned(self.bundle.into_owned()),
            source: self.source.map(owned),
            headers: self.headers.into_iter().map(|(name, text)| (owned(name), owned(text))).collect(),
        }
    }

    /// The processors that the bundle has code for.
    fn targets(&self) -> Vec<String> {
        if let Ok(entries) = bundle::entries(&self.bundle) {
            return entries.iter().filter_map(|entry| Some(entry.target.as_ref()?.short())).collect();
        }
        CodeObject::parse(&self.bundle).map(|code| vec![code.target().short()]).unwrap_or_default()
    }
}

/// The names in `#include "name"`.
fn included(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix("#include \""));
    lines.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
}

/// The error for a code object of a generic processor that the driver is too old for.
pub(super) fn driver_too_old(device: &Device, code: &CodeObject) -> Error {
    Error::NoCode(Box::new(NoCode {
        name: "the file".to_owned(),
        device: device.id(),
        target: device.properties().target.clone(),
        why: needs_newer_driver(device, code),
        compile: None,
    }))
}

fn needs_newer_driver(device: &Device, code: &CodeObject) -> NoCodeReason {
    NoCodeReason::Generic {
        processor: code.target().processor.to_string(),
        version: device.raw().info().version,
    }
}
