//! Options that only the emulator has: its settings, and observers of what kernels execute.
//!
//! The settings are the rows of [`SETTINGS`](hip_driver_emulated::SETTINGS). Every command that opens a driver has them, and
//! `hiplaunch exec` passes them on as environment variables.

use std::path::PathBuf;

use super::CommandError;

#[cfg(feature = "emulator")]
pub(crate) use settings::{EmulatorSettings, SettingArgs};

/// The settings of the emulator, which this build lacks.
#[cfg(not(feature = "emulator"))]
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct SettingArgs {}

#[cfg(not(feature = "emulator"))]
impl SettingArgs {
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&'static str, &str)> {
        std::iter::empty()
    }

    pub(crate) fn value(&self, _: &str) -> Option<&str> {
        None
    }

    pub(crate) fn value_or_variable(&self, _: &str) -> Option<std::ffi::OsString> {
        None
    }

    pub(crate) fn first_option(&self) -> Option<String> {
        None
    }

    pub(crate) fn with_target(&self, _: &str) -> Result<SettingArgs, CommandError> {
        Err(CommandError::Unusable("this build has no emulator".to_owned()))
    }
}

/// Observers of what the emulator executes.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct EmulatorArgs {
    /// Count what each kernel does: instructions by class, bytes, LDS bank conflicts, divergent branches, occupancy.
    #[arg(long, help_heading = "Emulator")]
    pub(crate) profile: bool,

    /// Say how far the results of the executed instructions can be believed; `hiplaunch fidelity` describes it.
    #[arg(long, help_heading = "Emulator")]
    pub(crate) fidelity: bool,

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

    /// The first of these options that was given, if any.
    fn given(&self) -> Option<&'static str> {
        let observers = [
            ("--profile", self.profile),
            ("--fidelity", self.fidelity),
            ("--instruction-trace", self.instruction_trace.is_some()),
        ];
        observers.into_iter().find_map(|(option, given)| given.then_some(option))
    }
}

#[cfg(feature = "emulator")]
mod settings {
    use std::ffi::OsString;
    use std::io::Write;
    use std::sync::{Arc, Mutex, PoisonError};

    use clap::builder::PossibleValuesParser;
    use clap::error::ErrorKind;
    use clap::{Arg, ArgMatches, Command};
    use hip_driver::DriverError;
    use hip_driver_emulated::{EmulatorOptions, EmulatorSetting, InstructionTrace, SETTINGS, TraceFilter};

    use super::super::output::complain;
    use super::super::session::unusable;
    use super::super::whole_file::WholeFile;
    use super::{CommandError, EmulatorArgs};

    /// The settings that options give, each with its value.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct SettingArgs(Vec<(&'static EmulatorSetting, String)>);

    impl SettingArgs {
        /// The environment variables of the settings that are given, with their values.
        pub(crate) fn variables(&self) -> impl Iterator<Item = (&'static str, &str)> {
            self.0.iter().map(|(setting, value)| (setting.variable, value.as_str()))
        }

        /// The value of a setting, if it is given.
        pub(crate) fn value(&self, name: &str) -> Option<&str> {
            self.0.iter().rfind(|(setting, _)| setting.name == name).map(|(_, value)| value.as_str())
        }

        /// The value of a setting, if it is given or in the environment.
        pub(crate) fn value_or_variable(&self, name: &str) -> Option<OsString> {
            let variable = || EmulatorSetting::named(name).ok()?.from_env();
            self.value(name).map(OsString::from).or_else(variable)
        }

        /// The first of these options that is given, if any.
        pub(crate) fn first_option(&self) -> Option<String> {
            self.0.first().map(|(setting, _)| option(setting))
        }

        /// The same settings with another target.
        pub(crate) fn with_target(&self, target: &str) -> Result<SettingArgs, CommandError> {
            let setting = EmulatorSetting::named("target").map_err(unusable)?;
            let mut settings = self.clone();
            settings.0.push((setting, target.to_owned()));
            Ok(settings)
        }

        /// Sets the options of a driver.
        pub(crate) fn set(&self, options: &mut EmulatorOptions) -> Result<(), DriverError> {
            self.0.iter().try_for_each(|(setting, value)| setting.set(options, &option(setting), value))
        }
    }

    /// The option of a setting.
    fn option(setting: &EmulatorSetting) -> String {
        format!("--{}", setting.name.replace('_', "-"))
    }

    fn arg(setting: &'static EmulatorSetting) -> Arg {
        let mut paragraphs: Vec<String> =
            setting.paragraphs().map(|text| text.trim_end_matches('.').to_owned()).collect();
        if !setting.is_switch() && !setting.default.is_empty() {
            paragraphs[0] += &format!(" [default: {}]", setting.default);
        }
        let arg = Arg::new(setting.name)
            .long(setting.name.replace('_', "-"))
            .value_name(setting.placeholder)
            .help_heading("Emulator")
            .help(paragraphs[0].clone())
            .long_help(paragraphs.join(".\n\n"));
        if setting.is_switch() {
            arg.num_args(0..=1).require_equals(true).default_missing_value("1")
        } else if !setting.words.is_empty() {
            arg.value_parser(PossibleValuesParser::new(setting.words))
        } else {
            arg
        }
    }

    impl clap::Args for SettingArgs {
        fn augment_args(command: Command) -> Command {
            command.args(SETTINGS.iter().map(arg))
        }

        fn augment_args_for_update(command: Command) -> Command {
            Self::augment_args(command)
        }
    }

    impl clap::FromArgMatches for SettingArgs {
        fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
            let mut settings = SettingArgs::default();
            settings.update_from_arg_matches(matches)?;
            Ok(settings)
        }

        fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
            let given = |setting: &'static EmulatorSetting| {
                Some((setting, matches.get_one::<String>(setting.name)?.clone()))
            };
            self.0 = SETTINGS.iter().filter_map(given).collect();
            self.set(&mut EmulatorOptions::default()).map_err(|error| {
                // The call and the code say nothing to a reader of the command line.
                let detail = error.detail.map_or_else(|| error.code.to_string(), String::from);
                clap::Error::raw(ErrorKind::ValueValidation, detail + "\n")
            })
        }
    }

    /// The observers, and the instruction trace, if they ask for one.
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
        pub(crate) fn set(&self, options: &mut EmulatorOptions) {
            options.machine.profile = self.args.profile || self.args.fidelity;
            options.machine.instruction_trace = self.trace.as_ref().map(|tracing| tracing.trace.clone());
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
