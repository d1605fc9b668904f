//! Runs a script: fills buffers on the device, launches on one stream, and compares buffers with files.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::error::{ScriptError, unreadable};
use super::{Argument, Contents, Dtype, Expectation, MAX_BUFFER_BYTES, Script};
use hiplaunch::Module;
use hiplaunch::Stream;
use hiplaunch::device::Device;
use hiplaunch::launcher::{Arg, KernelHandle, Launcher, Registration};
use hiplaunch::memory::{DeviceBuffer, PoolSnapshot};

/// The size in bytes of the longest code object that is loaded.
const MAX_CODE_OBJECT_BYTES: u64 = 1 << 30;

/// How a script is run.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions<'a> {
    /// The path of a code object to use instead of the script's own, relative to the current directory.
    pub code_object: Option<&'a Path>,
    /// The greatest number of differing elements that the report has for an expectation.
    pub differences: usize,
}

impl Default for RunOptions<'_> {
    fn default() -> Self {
        RunOptions { code_object: None, differences: 8 }
    }
}

/// The result of a script that ran to its end.
#[derive(Clone, Debug)]
pub struct ScriptReport {
    /// The number of launches.
    pub launches: usize,
    /// The number of bytes that were compared with files.
    pub bytes_compared: u64,
    /// The time from the first launch until the stream was idle.
    pub launch_time: Duration,
    /// The results of the expectations, one for each `[[expect]]`.
    pub expectations: Vec<ExpectationReport>,
    /// A snapshot of the device's pool at the end, before the script's buffers are freed.
    pub pool: Box<PoolSnapshot>,
}

impl ScriptReport {
    /// Whether every expectation was met.
    pub fn passed(&self) -> bool {
        self.expectations.iter().all(|e| e.mismatches == 0)
    }
}

/// The result of one `[[expect]]`.
#[derive(Clone, Debug)]
pub struct ExpectationReport {
    /// The buffer's name.
    pub buffer: String,
    /// The file with the expected contents.
    pub file: PathBuf,
    /// The element type.
    pub dtype: Dtype,
    /// The number of elements that were compared.
    pub elements: usize,
    /// The number of elements that differ by more than the tolerance.
    pub mismatches: usize,
    /// The first elements that differ.
    pub first: Vec<Difference>,
}

/// An element that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The index of the element, from 0.
    pub index: usize,
    /// The value in the buffer, as text.
    pub got: String,
    /// The value in the file, as text.
    pub want: String,
}

/// The kernels that a script registered. They are unregistered at the end, also after an error.
struct RegisteredKernels<'a> {
    launcher: &'a Launcher,
    handles: HashMap<&'a str, KernelHandle>,
}

impl Drop for RegisteredKernels<'_> {
    fn drop(&mut self) {
        for handle in self.handles.values() {
            if let Err(e) = self.launcher.unregister(*handle) {
                log::warn!("unregistering a script's kernel: {e}");
            }
        }
    }
}

impl Script {
    /// Runs the script on `device`, on a stream of its own.
    ///
    /// # Safety
    /// The caller must trust the code object and the script's arguments: nothing checks what a kernel does with the
    /// memory that it is given.
    ///
    /// # Errors
    /// Returns a [`ScriptError`] for files that can't be read, a code object that can't be loaded, memory that runs
    /// out, and a launch that is refused or faults. An expectation that is not met is in the [`ScriptReport`], and no
    /// error.
    pub unsafe fn run(
        &self,
        launcher: &Launcher,
        device: &Device,
        options: &RunOptions<'_>,
    ) -> Result<ScriptReport, ScriptError> {
        let setup = |what: String| {
            move |source| ScriptError::Setup { file: self.path.clone(), what: what.clone(), source }
        };
        let stream = launcher.stream(device).map_err(setup("making a stream".to_owned()))?;
        let mut buffers = Vec::with_capacity(self.buffers.len());
        for buffer in &self.buffers {
            let failed = setup(format!("buffer `{}`", buffer.name));
            let mut memory = DeviceBuffer::<u8>::new(device, buffer.bytes).map_err(&failed)?;
            match &buffer.contents {
                Contents::File(file) => memory.upload(&stream, &load(file, buffer.bytes)?),
                Contents::Fill(value) => memory.fill_bytes(&stream, *value),
            }
            .map_err(&failed)?;
            buffers.push(memory);
        }

        let code_object = options.code_object.unwrap_or(&self.code_object);
        let image = read_file(code_object, MAX_CODE_OBJECT_BYTES)?;
        let failed = setup(format!("code object {}", code_object.display()));
        let mut kernels = RegisteredKernels { launcher, handles: HashMap::new() };
        {
            // SAFETY: the caller vouches for the code. Kernels keep the module alive as long as they need it.
            let module = unsafe { Module::load(device, &image) }.map_err(&failed)?;
            for launch in &self.launches {
                if !kernels.handles.contains_key(launch.kernel.as_str()) {
                    let handle = launcher
                        .register_kernel(Registration::new(&module, &launch.kernel))
                        .map_err(&failed)?;
                    kernels.handles.insert(&launch.kernel, handle);
                }
            }
        }

        // Uploads and fills are not part of the launches' time.
        stream.synchronize().map_err(setup("filling the buffers".to_owned()))?;
        let start = Instant::now();
        // SAFETY: the caller vouches for what the kernels do with the arguments; the buffers outlive the
        // synchronize below, which is reached unless the stream has failed.
        let launched = unsafe { self.launch_all(launcher, &kernels, &stream, &buffers) };
        let finished = stream.synchronize();
        launched?;
        let last = self.launches.len() - 1;
        finished.map_err(|source| ScriptError::Launch { file: self.path.clone(), index: last, source })?;
        let launch_time = start.elapsed();

        let mut report = ScriptReport {
            launches: self.launches.len(),
            bytes_compared: 0,
            launch_time,
            expectations: Vec::new(),
            pool: Box::new(device.pool().snapshot()),
        };
        for expectation in &self.expectations {
            let buffer = &self.buffers[expectation.buffer];
            let failed = setup(format!("reading buffer `{}`", buffer.name));
            let got = buffers[expectation.buffer].to_vec(&stream).map_err(failed)?;
            let want = load(&expectation.file, buffer.bytes)?;
            report.bytes_compared += want.len() as u64;
            report.expectations.push(expectation.compare(&buffer.name, &got, &want, options.differences));
        }
        Ok(report)
    }

    /// # Safety
    /// As [`run`](Script::run), and `buffers` must live until the stream is idle.
    unsafe fn launch_all(
        &self,
        launcher: &Launcher,
        kernels: &RegisteredKernels<'_>,
        stream: &Stream,
        buffers: &[DeviceBuffer<u8>],
    ) -> Result<(), ScriptError> {
        for (index, launch) in self.launches.iter().enumerate() {
            let args: Vec<Arg<'_>> = launch
                .args
                .iter()
                .map(|argument| match argument {
                    Argument::Scalar { bits, size } => Arg::Scalar { bits: *bits, size: *size },
                    Argument::Bytes(bytes) => Arg::Value(bytes),
                    Argument::Buffer { index, offset } => Arg::Pointer(buffers[*index].ptr().offset(*offset)),
                    Argument::Null => Arg::null(),
                })
                .collect();
            let handle = kernels.handles[launch.kernel.as_str()];
            // SAFETY: the caller's promise.
            unsafe { launcher.launch(handle, stream, launch.dims, &args) }
                .map_err(|source| ScriptError::Launch { file: self.path.clone(), index, source })?;
        }
        Ok(())
    }
}

/// Reads a data file. It is an error if its size has changed since the script was read.
fn load(file: &Path, expected: usize) -> Result<Vec<u8>, ScriptError> {
    let data = read_file(file, MAX_BUFFER_BYTES)?;
    if data.len() == expected {
        Ok(data)
    } else {
        Err(ScriptError::Changed { file: file.to_owned(), expected, got: data.len() })
    }
}

/// Reads a regular file of at most `limit` bytes. Other files are refused, because a device or a pipe might never end.
fn read_file(file: &Path, limit: u64) -> Result<Vec<u8>, ScriptError> {
    let read = || {
        let opened = File::open(file)?;
        if !opened.metadata()?.is_file() {
            return Err(io::Error::other("is no regular file"));
        }
        let mut data = Vec::new();
        opened.take(limit + 1).read_to_end(&mut data)?;
        if data.len() as u64 > limit {
            return Err(io::Error::other(format!("has more than the {limit} bytes that are read")));
        }
        Ok(data)
    };
    read().map_err(|e| unreadable(file, e))
}

impl Expectation {
    fn compare(&self, buffer: &str, got: &[u8], want: &[u8], keep: usize) -> ExpectationReport {
        let size = self.dtype.size();
        let mut report = ExpectationReport {
            buffer: buffer.to_owned(),
            file: self.file.clone(),
            dtype: self.dtype,
            elements: want.len() / size,
            mismatches: 0,
            first: Vec::new(),
        };
        if got == want {
            return report;
        }
        for (index, (got, want)) in got.chunks_exact(size).zip(want.chunks_exact(size)).enumerate() {
            let (g, w) = (self.dtype.element(got), self.dtype.element(want));
            if g.matches(w, self.rtol, self.atol) {
                continue;
            }
            report.mismatches += 1;
            if report.first.len() < keep {
                let (got, want) = (self.dtype.show(got), self.dtype.show(want));
                report.first.push(Difference { index, got, want });
            }
        }
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_counted_and_the_first_kept() {
        let floats = |v: &[f32]| v.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
        let expectation =
            Expectation { buffer: 0, file: "y.bin".into(), dtype: Dtype::F32, rtol: 0.0, atol: 0.1 };
        let want = floats(&[1.0, 2.0, f32::NAN, 4.0, 5.0]);
        let got = floats(&[1.05, 2.5, f32::NAN, f32::NAN, 7.0]);
        let report = expectation.compare("y", &got, &want, 2);
        assert_eq!((report.elements, report.mismatches), (5, 3));
        let first = [(1, "2.5", "2.0"), (3, "NaN", "4.0")].map(|(index, got, want)| Difference {
            index,
            got: got.to_owned(),
            want: want.to_owned(),
        });
        assert_eq!(report.first, first);
        assert_eq!(expectation.compare("y", &want, &want, 2).mismatches, 0);
    }
}
