//! Compiles programs, registers their kernels, and launches them.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use hiplaunch::compile::DiskCache;
use hiplaunch::{
    Arg, Compiler, DeviceBuffer, KernelHandle, LaunchDims, Launcher, Module, Registration, Result, Stream,
};

use super::program::Program;
use super::source::{BLOCK, GROUPS, kernel, source};
use super::values::Values;

/// A device with the kernels that were compiled for it.
pub(super) struct Runtime {
    launcher: Launcher,
    stream: Stream,
    compiler: Compiler,
    /// The kernels by source: expressions of one structure share kernels.
    kernels: HashMap<String, Vec<KernelHandle>>,
    compiled: u32,
    found: u32,
}

/// The kernels of a program.
pub(super) struct Made {
    /// The kernels, one for each stage.
    pub(super) kernels: Vec<KernelHandle>,
    /// The time that it took to get the kernels.
    pub(super) took: Duration,
    /// Where the kernels are from.
    pub(super) how: &'static str,
}

/// The result of launches.
pub(super) struct Outcome {
    /// The elements of the result; one for a number.
    pub(super) result: Vec<f64>,
    /// The time of all launches, until the last has finished.
    pub(super) took: Duration,
    /// The number of kernels that are launched for each result.
    pub(super) kernels: usize,
}

impl Runtime {
    /// Opens the first GPU, or the emulator.
    pub(super) fn new(cache: &DiskCache) -> Result<Runtime> {
        let launcher = Launcher::new()?;
        let device = launcher.device(0)?;
        let stream = launcher.stream(device)?;
        // Without contraction, every operation rounds as on the host.
        let compiler = Compiler::new(&device.properties().target)
            .name("expression.hip")
            .option("-ffp-contract=off")
            .cache(cache);
        Ok(Runtime { launcher, stream, compiler, kernels: HashMap::new(), compiled: 0, found: 0 })
    }

    /// Describes the device and the driver.
    pub(super) fn device(&self) -> String {
        let info = self.launcher.driver().info();
        format!("{} ({} {})", self.stream.device().properties().target.short(), info.name, info.version)
    }

    /// The number of sources that were compiled so far.
    pub(super) fn compiled(&self) -> u32 {
        self.compiled
    }

    /// The number of sources whose code was in the cache.
    pub(super) fn found(&self) -> u32 {
        self.found
    }

    /// Returns the kernels of a program, and compiles them if they are not cached.
    pub(super) fn kernels(&mut self, program: &Program) -> Result<Made> {
        let begin = Instant::now();
        let source = source(program);
        if let Some(kernels) = self.kernels.get(&source) {
            return Ok(Made {
                kernels: kernels.clone(),
                took: begin.elapsed(),
                how: "(the kernels are there)",
            });
        }
        let compiled = self.compiler.compile(&source)?;
        // SAFETY: the source was generated here: its kernels access no more than `n` elements of each array, one
        // element of the result each, and GROUPS of each reduction's; `run` passes arrays of these lengths.
        let module = unsafe { Module::load(self.stream.device(), compiled.elf()) }?;
        let kernels = (0..program.stages().count())
            .map(|stage| self.launcher.register_kernel(Registration::new(&module, &kernel(stage))))
            .collect::<Result<Vec<_>>>()?;
        let how = if compiled.from_cache() { "(from the cache)" } else { "(compiled)" };
        self.found += u32::from(compiled.from_cache());
        self.compiled += u32::from(!compiled.from_cache());
        self.kernels.insert(source, kernels.clone());
        Ok(Made { kernels, took: begin.elapsed(), how })
    }

    /// Launches a program's kernels `launches` times, and reads the result.
    pub(super) fn run(
        &self,
        program: &Program,
        values: &Values,
        kernels: &[KernelHandle],
        launches: u32,
    ) -> Result<Outcome> {
        let upload = |name: &String| DeviceBuffer::from_slice(&self.stream, values.array(name));
        let arrays = program.arrays.iter().map(upload).collect::<Result<Vec<_>>>()?;
        let partial = |_| DeviceBuffer::<f64>::on(&self.stream, GROUPS as usize);
        let partials = (0..program.reductions()).map(partial).collect::<Result<Vec<_>>>()?;
        let out = DeviceBuffer::<f64>::on(&self.stream, program.result().len.unwrap_or(1))?;

        // All stages have the same arguments, except for the last two: the output, and the number of elements.
        let mut shared: Vec<Arg<'_>> = arrays.iter().map(Arg::from).collect();
        shared.extend(program.scalars.iter().map(|scalar| Arg::from(*scalar)));
        shared.extend(partials.iter().map(Arg::from));
        let mut stages = Vec::new();
        for (stage, &handle) in program.stages().zip(kernels) {
            let n = stage.len.unwrap_or(1) as u32;
            let (to, dims) = match partials.get(stages.len()) {
                Some(partial) => (partial, LaunchDims::linear(GROUPS, BLOCK)),
                None => (&out, LaunchDims::cover(n, BLOCK)),
            };
            let args = [&shared[..], &[Arg::from(to), Arg::from(n)]].concat();
            stages.push((handle, dims, args));
        }
        let begin = Instant::now();
        for _ in 0..launches {
            for (handle, dims, args) in &stages {
                // SAFETY: as in `kernels`; the buffers live until the last has finished.
                unsafe { self.launcher.launch(*handle, &self.stream, *dims, args) }?;
            }
        }
        self.stream.synchronize()?;
        let took = begin.elapsed();
        Ok(Outcome { result: out.to_vec(&self.stream)?, took, kernels: stages.len() })
    }
}
