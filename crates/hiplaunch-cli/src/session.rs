//! Opens the driver that the command line chooses, and describes which one it is and why.

use std::sync::Arc;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use code_object::TargetId;
use hip_driver::Driver;
use hip_driver_layers::timeline::TimelineSpan;
use hiplaunch::backend::{self, BACKEND_VARIABLE};
use hiplaunch::memory::{POOL_VARIABLE, PoolBackend, PoolOptions, PoolSnapshot};
use hiplaunch::{Backend, Device, Launcher, Timeline};
use serde_json::json;

use super::CommandError;
use super::emulator::{EmulatorSettings, SettingArgs};
use super::pool_recorder::{PoolRecorder, RecordedPools};
#[cfg(feature = "emulator")]
use hip_driver_emulated::{EmulatedDriver, EmulatorOptions, KernelProfile, Notice, Notices};

/// Options of every command that uses a device.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DriverArgs {
    /// The driver: `hip` for AMD GPUs, `emulator`, or `auto` for a GPU if HIP finds one, else the emulator.
    #[arg(long, value_name = "BACKEND", default_value = "auto", value_parser = backend_parser())]
    pub(crate) backend: Backend,

    /// The device's ordinal.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) device: u32,

    /// Put the validation layer over the driver. If it reports anything, the command fails.
    #[arg(long)]
    pub(crate) validate: bool,

    /// Records what the device's pool does. This is no option of the command line.
    #[arg(skip)]
    pub(crate) recorder: Option<PoolRecorder>,

    /// Records the driver calls. This is no option of the command line.
    #[arg(skip)]
    pub(crate) timeline: Option<Timeline>,

    #[command(flatten)]
    pub(crate) settings: SettingArgs,

    /// Observers of the emulator, for commands that have such options.
    #[arg(skip)]
    pub(crate) emulator: Option<EmulatorSettings>,

    /// The backend of pools, if the environment does not set it. This is no option of the command line.
    #[arg(skip)]
    pub(crate) pool: PoolBackend,
}

impl DriverArgs {
    /// Begins a span of the timeline, if there is a timeline. It ends when it is dropped.
    pub(crate) fn span(&self, name: impl std::fmt::Display) -> Option<TimelineSpan<'_>> {
        self.timeline.as_ref().map(|timeline| timeline.span(&name.to_string()))
    }
}

impl DriverArgs {
    /// Whether an option names the target to emulate.
    pub(crate) fn names_target(&self) -> bool {
        self.settings.value("target").is_some()
    }

    /// The same options with another target to emulate.
    pub(crate) fn emulating(&self, target: &TargetId) -> Result<DriverArgs, CommandError> {
        Ok(DriverArgs { settings: self.settings.with_target(&target.short())?, ..self.clone() })
    }
}

fn backend_parser() -> impl TypedValueParser<Value = Backend> {
    PossibleValuesParser::new(["auto", "hip", "hsa", "emulator"]).try_map(|word| word.parse::<Backend>())
}

/// An open driver, and why it was chosen.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    pub(crate) driver: Arc<dyn Driver>,
    /// The same driver, if it is an emulator that options ask for.
    #[cfg(feature = "emulator")]
    emulator: Option<Arc<EmulatedDriver>>,
    /// What the emulator noted.
    #[cfg(feature = "emulator")]
    notices: Notices,
    /// Why this driver was chosen.
    why: String,
}

/// An open launcher and the chosen device.
#[derive(Debug)]
pub(crate) struct CommandSession {
    pub(crate) launcher: Launcher,
    pub(crate) device: Device,
    opened: Opened,
    /// Traces the device's pool, for `hiplaunch trace`.
    recorded_pools: Option<RecordedPools>,
}

impl CommandSession {
    pub(crate) fn open(args: &DriverArgs) -> Result<CommandSession, CommandError> {
        let mut opened = open_driver(args)?;
        // One timeline layer over the driver serves all launchers of the session.
        if let Some(timeline) = &args.timeline {
            opened.driver = timeline.layer(opened.driver);
        }
        CommandSession::over(opened, args)
    }

    fn over(opened: Opened, args: &DriverArgs) -> Result<CommandSession, CommandError> {
        let mut builder = Launcher::builder().driver(opened.driver.clone());
        if std::env::var_os(POOL_VARIABLE).is_none_or(|word| word.is_empty()) {
            builder = builder.pool(PoolOptions { backend: args.pool, ..PoolOptions::default() });
        }
        if args.validate {
            builder = builder.validate(true);
        }
        let launcher = builder.build().map_err(unusable)?;
        let device = launcher
            .device(args.device)
            .map_err(|_| no_such_device(args.device, launcher.devices().len()))?
            .clone();
        let recorded_pools = args.recorder.as_ref().map(|recorder| recorder.record(&device));
        Ok(CommandSession { launcher, device, opened, recorded_pools })
    }

    /// Opens another launcher over the same driver, with the validation layer, which counts calls.
    pub(crate) fn validated(&self, args: &DriverArgs) -> Result<CommandSession, CommandError> {
        CommandSession::over(self.opened.clone(), &DriverArgs { validate: true, ..args.clone() })
    }

    /// Opens another launcher over the same driver.
    pub(crate) fn reopen(&self, args: &DriverArgs) -> Result<CommandSession, CommandError> {
        CommandSession::over(self.opened.clone(), args)
    }

    /// Returns the same session with another reason for the choice of its driver.
    pub(crate) fn with_reason(mut self, why: String) -> CommandSession {
        self.opened.why = why;
        self
    }

    /// Whether the device is emulated.
    pub(crate) fn is_emulated(&self) -> bool {
        // A layer puts its name before the driver's.
        self.launcher.driver().info().name.ends_with("emulated")
    }

    /// Describes the driver, the device and the reason for the choice in one line.
    pub(crate) fn describe(&self) -> String {
        let info = self.launcher.driver().info();
        let properties = self.device.properties();
        format!(
            "driver {} {} ({}), {}: {} {}; {}",
            info.name,
            info.version,
            info.source,
            self.device.id(),
            properties.name,
            properties.target.short(),
            self.opened.why
        )
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        let info = self.launcher.driver().info();
        json!({
            "driver": info.name,
            "version": info.version,
            "source": info.source,
            "device": self.device.id().0,
            "device_name": self.device.properties().name,
            "target": self.device.properties().target.short(),
            "why": self.opened.why,
        })
    }

    /// Offers `hiplaunch trace` a snapshot of the device's pool at this moment.
    pub(crate) fn record_moment(&self) {
        if let Some(pools) = &self.recorded_pools {
            pools.record_moment();
        }
    }

    /// As [`record_moment`](CommandSession::record_moment), for a snapshot that was taken before.
    pub(crate) fn record_snapshot(&self, snapshot: &PoolSnapshot) {
        if let Some(pools) = &self.recorded_pools {
            pools.recorder().offer(snapshot.clone());
        }
    }

    /// Returns the profiles of the kernels that ran since the last call; empty unless the emulator counts them.
    #[cfg(feature = "emulator")]
    pub(crate) fn take_profiles(&self) -> Vec<KernelProfile> {
        self.opened.emulator.as_ref().map(|emulator| emulator.take_profiles()).unwrap_or_default()
    }

    /// Returns what the emulator noted since the last call.
    #[cfg(feature = "emulator")]
    pub(crate) fn take_notices(&self) -> Vec<Notice> {
        self.opened.notices.take()
    }

    /// Returns what the validation layer found since the last call; empty if it is off.
    pub(crate) fn take_violations(&self) -> Vec<String> {
        let layer = self.launcher.validation();
        layer.map(|layer| layer.take_violations().iter().map(|v| v.to_string()).collect()).unwrap_or_default()
    }

    /// Drops the launcher, and returns the violations since the last call and the leaks.
    pub(crate) fn close(self) -> Vec<String> {
        let mut violations = self.take_violations();
        let layer = self.launcher.validation().cloned();
        // Pools keep memory and events until the launcher is dropped.
        drop(self);
        if let Some(layer) = layer {
            violations.extend(layer.take_violations().iter().map(|v| v.to_string()));
            violations.extend(layer.report_leaks().iter().map(|leak| leak.to_string()));
        }
        violations
    }
}

pub(crate) fn no_such_device(ordinal: u32, count: usize) -> CommandError {
    CommandError::Unusable(format!(
        "--device {ordinal}: the driver has {count}, from 0 on; `hiplaunch info` lists them"
    ))
}

pub(crate) fn unusable(error: impl std::fmt::Display) -> CommandError {
    CommandError::Unusable(error.to_string())
}

/// Opens the driver that the options choose.
pub(crate) fn open_driver(args: &DriverArgs) -> Result<Opened, CommandError> {
    #[cfg(feature = "emulator")]
    {
        let observer = args.emulator.as_ref().map(|settings| settings.asked_by.to_owned());
        if let Some(option) = observer.or_else(|| args.settings.first_option()) {
            return emulate(args, &option);
        }
    }
    #[cfg(feature = "emulator")]
    let notices = Notices::default();
    #[cfg(feature = "emulator")]
    let opened = match EmulatorOptions::from_env() {
        Ok(options) => {
            let options = EmulatorOptions { listener: Some(notices.listener()), ..options };
            backend::open_emulating(args.backend, Some(false), options)
        }
        // Says which variable is wrong, if the emulator is opened.
        Err(_) => backend::open(args.backend, Some(false)),
    };
    #[cfg(not(feature = "emulator"))]
    let opened = backend::open(args.backend, Some(false));
    let opened = opened.map_err(|error| {
        let next = match args.backend {
            Backend::Hip | Backend::Hsa if cfg!(feature = "emulator") => {
                "\nuse --backend emulator to run without a GPU"
            }
            _ => "",
        };
        CommandError::Unusable(format!("{error}{next}"))
    })?;
    let named = std::env::var(BACKEND_VARIABLE).ok().filter(|name| !name.is_empty() && name.trim() != "auto");
    let why = match (args.backend, named, opened.tried.first()) {
        (Backend::Auto, Some(name), _) => format!("{BACKEND_VARIABLE}={name} asks for it"),
        // Only the first line; `info` and the log have all of it.
        (Backend::Auto, None, Some(tried)) => {
            let line = tried.lines().next().unwrap_or_default().trim_end_matches("; tried:");
            format!("chosen because HIP can't be used ({line})")
        }
        (Backend::Auto, None, None) => "chosen because it has a GPU".to_owned(),
        _ => format!("--backend {} asks for it", args.backend),
    };
    Ok(Opened {
        driver: opened.driver,
        #[cfg(feature = "emulator")]
        emulator: None,
        #[cfg(feature = "emulator")]
        notices,
        why,
    })
}

/// Opens the emulator because of an option that only the emulator has.
#[cfg(feature = "emulator")]
fn emulate(args: &DriverArgs, option: &str) -> Result<Opened, CommandError> {
    if Backend::OF_GPUS.contains(&args.backend) {
        return Err(CommandError::Unusable(format!("{option} is for the emulator: use --backend emulator")));
    }
    let mut options = EmulatorOptions::from_env().map_err(unusable)?;
    args.settings.set(&mut options).map_err(unusable)?;
    if let Some(settings) = &args.emulator {
        settings.set(&mut options);
    }
    let notices = Notices::default();
    options.listener = Some(notices.listener());
    let target = args.settings.value("target").map(|target| format!("--target {target}"));
    let driver = EmulatedDriver::new(options).map_err(|error| match (&error.detail, &target) {
        (Some(detail), Some(target)) => CommandError::Unusable(format!("{target}: {detail}")),
        _ => unusable(error),
    })?;
    let why = format!("{} asks for it", target.as_deref().unwrap_or(option));
    Ok(Opened { driver: driver.clone(), emulator: Some(driver), notices, why })
}
