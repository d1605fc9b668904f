//! What the environment asks for. `hiplaunch exec` sets these variables.
//!
//! | variable | value |
//! |---|---|
//! | [`BACKEND`] | `hip`: calls go to AMD's own library; any other value: to the emulator |
//! | [`LIBRARY`] | the file of AMD's library |
//! | those of [`SETTINGS`](hip_driver_emulated::SETTINGS) | settings of the emulator. Without a target, it is one that the program has code for |
//! | [`VALIDATE`] | `1`: the validation layer |
//! | [`COUNT`] | `1`: the summary has the number of driver calls; of HIP's functions, where AMD's library runs them |
//! | [`TRACE`] | the file to which the timeline is written |
//! | [`JSON`] | the file to which the summary is written as a JSON document |
//! | [`MAIN_PROCESS`] | the process that writes these files under their names |

use std::ffi::OsString;
use std::path::PathBuf;

use hip_driver_emulated::{EmulatorOptions, EmulatorSetting};

/// Which library runs the program's calls.
pub const BACKEND: &str = "HIPLAUNCH_BACKEND";
/// The absolute path of AMD's libamdhip64.
pub const LIBRARY: &str = "HIPLAUNCH_HIP_LIBRARY";
/// Whether the validation layer is over the driver.
pub const VALIDATE: &str = "HIPLAUNCH_VALIDATE";
/// Whether driver calls are counted.
pub const COUNT: &str = "HIPLAUNCH_COUNT";
/// Where the timeline is written.
pub const TRACE: &str = "HIPLAUNCH_TRACE";
/// Where the summary is written as JSON.
pub const JSON: &str = "HIPLAUNCH_JSON";
/// The process id of the program whose files get these names. Other processes append their own ids.
pub const MAIN_PROCESS: &str = "HIPLAUNCH_MAIN_PROCESS";

/// Whether the environment asks for AMD's own library.
pub(crate) fn wants_hip() -> bool {
    value(BACKEND).is_some_and(|backend| backend.eq_ignore_ascii_case("hip"))
}

/// The file of AMD's library. Fails if the environment does not name it.
pub(crate) fn library() -> Result<PathBuf, String> {
    let path = value(LIBRARY).map(PathBuf::from);
    path.ok_or_else(|| {
        format!("{LIBRARY} does not name AMD's library; `hiplaunch exec --backend hip` finds it")
    })
}

/// Whether the environment asks for counts. Fails if the variable is not understood.
pub(crate) fn counts_calls() -> Result<bool, String> {
    switch(COUNT)
}

/// What is put over a driver, and where the results go.
#[derive(Clone, Debug, Default)]
pub(crate) struct LayerSettings {
    pub(crate) validate: bool,
    pub(crate) count: bool,
    pub(crate) trace: Option<PathBuf>,
    pub(crate) json: Option<PathBuf>,
}

impl LayerSettings {
    /// Reads the variables. The error says which one is not understood.
    pub(crate) fn from_env() -> Result<LayerSettings, String> {
        let main: Option<u32> = parsed(MAIN_PROCESS, "a process id")?;
        let file = |variable| {
            let mut path = value(variable)?;
            let process = std::process::id();
            if main.is_some_and(|main| main != process) {
                path.push(format!(".{process}"));
            }
            Some(PathBuf::from(path))
        };
        Ok(LayerSettings {
            validate: switch(VALIDATE)?,
            count: counts_calls()?,
            trace: file(TRACE),
            json: file(JSON),
        })
    }
}

/// What the environment asks for of the emulator and the layers over it.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) emulator: EmulatorOptions,
    /// Whether the environment names the target.
    pub(crate) target_is_given: bool,
    pub(crate) layers: LayerSettings,
}

impl Settings {
    /// Reads the variables. The error says which one is not understood.
    pub(crate) fn from_env() -> Result<Settings, String> {
        let emulator = EmulatorOptions::from_env().map_err(|error| error.to_string())?;
        let target = EmulatorSetting::named("target").map_err(|error| error.to_string())?;
        let target_is_given = target.from_env().is_some();
        Ok(Settings { emulator, target_is_given, layers: LayerSettings::from_env()? })
    }
}

fn value(variable: &str) -> Option<OsString> {
    std::env::var_os(variable).filter(|value| !value.is_empty())
}

fn parsed<T: std::str::FromStr>(variable: &str, expected: &str) -> Result<Option<T>, String> {
    let Some(value) = value(variable) else { return Ok(None) };
    let text = value.to_string_lossy();
    text.trim().parse().map(Some).map_err(|_| format!("{variable}={text} is not {expected}"))
}

fn switch(variable: &str) -> Result<bool, String> {
    match parsed::<u8>(variable, "1 or 0")? {
        None | Some(0) => Ok(false),
        Some(1) => Ok(true),
        Some(other) => Err(format!("{variable}={other} is not 1 or 0")),
    }
}
