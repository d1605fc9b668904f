//! Options that only the emulator has: the order of execution, limits, and observers.

use std::path::PathBuf;

use super::CommandError;

/// Options of the emulator.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct EmulatorArgs {
    /// Shuffle the order in which the emulator runs workgroups and waves, from this seed.
    ///
    /// A kernel without data races gives the same results with any seed.
    #[arg(long, value_name = "N", help_heading = "Emulator")]
    schedule_seed: Option<u64>,

    /// Fail a kernel that runs for more than this number of seconds.
    #[arg(long, value_name = "SECONDS", help_heading = "Emulator")]
    time_budget: Option<f64>,

    /// Fail a kernel that executes more than this number of instructions. Each counts once for a wave.
    #[arg(long, value_name = "N", help_heading = "Emulator")]
    instruction_budget: Option<u64>,

    /// The bytes of further stack for each work-item, if a kernel recurses or calls through pointers [default: 16384].
    #[arg(long, value_name = "BYTES", help_heading = "Emulator")]
    dynamic_stack: Option<u32>,

    /// Count what each kernel does: instructions by class, bytes, LDS bank conflicts, divergent branches, occupancy.
    #[arg(long, help_heading = "Emulator")]
    pub(crate) profile: bool,

    /// Say how far the results of the executed instructions can be believed; `hiplaunch fidelity` describes it.
    #[arg(long, help_heading = "Emulator")]
    pub(crate) fidelity: bool,

    /// Fail on uses of memory that was never written, on data races, and on missing waits. Slow.
    ///
    /// Each report has the instruction, or both instructions of a race or a missing wait, with lanes and addresses or
    /// registers. A wait is missing where an instruction uses what a load has not delivered yet. Atomic accesses are
    /// distinguished from plain ones by their cache bits; the emulator's README says which races that misses.
    #[arg(long, help_heading = "Emulator")]
    sanitize: bool,

    /// With --sanitize, also fail on hazards: instructions with too few wait states between them.
    ///
    /// The hardware doesn't check some dependencies, such as a matrix result that is read too early. Compilers insert
    /// s_nop where they need to, so only assembly by hand can have hazards.
    #[arg(long, requires = "sanitize", help_heading = "Emulator")]
    hazards: bool,

    /// What kernels can access behind an allocation: nothing, or the rest of its last page, as on a GPU [default: strict].
    #[arg(long, value_name = "BOUNDS", value_parser = ["strict", "pages"], help_heading = "Emulator")]
    bounds: Option<String>,

    /// What gfx90a's floating-point atomics to fine-grained memory do: what they do elsewhere, or nothing, as on hardware
    /// [default: perform].
    ///
    /// Pinned and managed memory of the host is fine-grained by default. Either way the output names these instructions.
    #[arg(long, value_name = "WHAT", value_parser = ["perform", "drop"], help_heading = "Emulator")]
    fine_grained_atomics: Option<String>,

    /// Write each executed instruction to this file, with the values of its operands.
    #[arg(long, value_name = "FILE", help_heading = "Emulator")]
    instruction_trace: Option<PathBuf>,

    /// Which instructions to trace, such as 'kernel=saxpy,workgroup=3,mnemonic=global_*'.
    ///
    /// The filter has parts with commas between them: kernel=NAME, workgroup=X:Y:Z, wave=N, pc=FROM..TO, mnemonic=NAME
    /// or START*, lane=N (the lane whose vector registers are shown; by default the first active one), limit=N (by
    /// default 100000).
    #[arg(long, value_name = "FILTER", requires = "instruction_trace", help_heading = "Emulator")]
    trace_filter: Option<String>,
}

impl EmulatorArgs {
    /// The option that writes a file, if it was given.
    pub(crate) fn writes_file(&self) -> Option<&'static str> {
        self.instruction_trace.as_ref().map(|_| "--instruction-trace")
    }

    /// The settings that are given: their options, and their names and values.
    fn given_settings(&self) -> impl Iterator<Item = (&'static str, &'static str, String)> {
        let switch = |on: bool| on.then(|| "1".to_owned());
        [
            ("--schedule-seed", "schedule_seed", self.schedule_seed.map(|seed| seed.to_string())),
            ("--time-budget", "time_budget", self.time_budget.map(|seconds| seconds.to_string())),
            (
                "--instruction-budget",
                "instruction_budget",
                self.instruction_budget.map(|count| count.to_string()),
            ),
            ("--dynamic-stack", "dynamic_stack", self.dynamic_stack.map(|bytes| bytes.to_string())),
            ("--sanitize", "sanitize", switch(self.sanitize)),
            ("--hazards", "hazards", switch(self.hazards)),
            ("--bounds", "bounds", self.bounds.clone()),
            ("--fine-grained-atomics", "fine_grained_atomics", self.fine_grained_atomics.clone()),
        ]
        .into_iter()
        .filter_map(|(option, name, value)| Some((option, name, value?)))
    }

    /// The first of these options that was given, if any.
    fn given(&self) -> Option<&'static str> {
        let observers = [
            ("--profile", self.profile),
            ("--fidelity", self.fidelity),
            ("--instruction-trace", self.instruction_trace.is_some()),
        ];
        let observers = observers.into_iter().filter_map(|(option, given)| given.then_some(option));
        self.given_settings().map(|(option, ..)| option).chain(observers).next()
    }
}

#[cfg(feature = "emulator")]
pub(crate) use settings::EmulatorSettings;

#[cfg(feature = "emulator")]
mod settings {
    use std::io::Write;
    use std::sync::{Arc, Mutex, PoisonError};

    use hip_driver_emulated::{EmulatorOptions, InstructionTrace, TraceFilter};

    use super::super::output::complain;
    use super::super::session::{give, unusable};
    use super::super::whole_file::WholeFile;
    use super::{CommandError, EmulatorArgs};

    /// The options, and the instruction trace, if they ask for one.
    #[derive(Clone, Debug)]
    pub(crate) struct EmulatorSettings {
        args: EmulatorArgs,
        /// The option that asks for the emulator.
        pub(crate) asked_by: &'static str,
        trace: Option<Tracing>,
    }

    /// The file to which an instruction trace is written.
    #[derive(Debug)]
    struct Sink {
        /// `None` once it is finished.
        file: Option<WholeFile>,
        /// The first error of writing.
        error: Option<std::io::Error>,
    }

    #[derive(Clone, Debug)]
    struct Tracing {
        trace: InstructionTrace,
        sink: Arc<Mutex<Sink>>,
    }

    impl EmulatorArgs {
        /// Opens the instruction trace's file. Returns `None` if no option of the emulator was given.
        pub(crate) fn settings(&self) -> Result<Option<EmulatorSettings>, CommandError> {
            let Some(asked_by) = self.given() else { return Ok(None) };
            let filter: TraceFilter =
                self.trace_filter.as_deref().unwrap_or_default().parse().map_err(unusable)?;
            let trace = match &self.instruction_trace {
                None => None,
                Some(path) => {
                    let file = Some(WholeFile::create(path)?);
                    let sink = Arc::new(Mutex::new(Sink { file, error: None }));
                    let to = Arc::clone(&sink);
                    let trace = InstructionTrace::new(filter, move |instruction| {
                        let mut sink = to.lock().unwrap_or_else(PoisonError::into_inner);
                        let Some(file) = &mut sink.file else { return };
                        if let Err(error) = writeln!(file, "{instruction}") {
                            sink.error.get_or_insert(error);
                        }
                    });
                    Some(Tracing { trace, sink })
                }
            };
            Ok(Some(EmulatorSettings { args: self.clone(), asked_by, trace }))
        }
    }

    impl EmulatorSettings {
        /// Sets the options of a driver.
        pub(crate) fn set(&self, options: &mut EmulatorOptions) -> Result<(), CommandError> {
            for (option, name, value) in self.args.given_settings() {
                give(options, option, name, &value)?;
            }
            options.profile = self.args.profile || self.args.fidelity;
            options.instruction_trace = self.trace.as_ref().map(|tracing| tracing.trace.clone());
            Ok(())
        }

        /// Finishes the instruction trace, if there is one. Nothing may run any more.
        pub(crate) fn finish(&self) -> Result<(), CommandError> {
            let Some(Tracing { trace, sink }) = &self.trace else { return Ok(()) };
            let (file, error) = {
                let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
                (sink.file.take(), sink.error.take())
            };
            if let Some(error) = error {
                return Err(error.into());
            }
            if let Some(file) = file {
                file.finish()?;
            }
            if trace.left_out() > 0 {
                complain(&format!(
                    "the instruction trace is not complete: {} instructions more; a narrower --trace-filter, or a larger \
                     limit=N in it",
                    trace.left_out()
                ));
            }
            Ok(())
        }
    }
}

/// The settings of the emulator, which this build lacks.
#[cfg(not(feature = "emulator"))]
#[derive(Clone, Debug)]
pub(crate) enum EmulatorSettings {}

#[cfg(not(feature = "emulator"))]
impl EmulatorArgs {
    /// Refuses the options that only the emulator has.
    pub(crate) fn settings(&self) -> Result<Option<EmulatorSettings>, CommandError> {
        match self.given() {
            None => Ok(None),
            Some(option) => Err(CommandError::Unusable(format!(
                "{option}: this build has no emulator; build with the feature `emulator`"
            ))),
        }
    }
}

#[cfg(not(feature = "emulator"))]
impl EmulatorSettings {
    pub(crate) fn finish(&self) -> Result<(), CommandError> {
        match *self {}
    }
}
