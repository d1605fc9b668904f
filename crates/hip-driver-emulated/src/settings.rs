//! The settings of the emulator as text: one table of names and environment variables for every way in.
//!
//! The command line, the C and Python interfaces, `hiplaunch exec` and Triton's driver all set [`EmulatorOptions`] through
//! this table, so a setting has one name, one syntax and one error everywhere.

use std::ffi::OsString;
use std::time::Duration;

use code_object::{FeatureSetting, TargetId};
use hip_driver::{DriverError, DriverResult, ErrorCode};

use super::options::EmulatorOptions;

/// A setting that text can give.
#[derive(Clone, Copy, Debug)]
pub struct EmulatorSetting {
    /// Its name: that of the field of [`EmulatorOptions`].
    pub name: &'static str,
    /// The environment variable that [`EmulatorOptions::from_env`] reads.
    pub variable: &'static str,
    /// What a value has to be, such as "a number".
    pub expected: &'static str,
    /// Sets it; `None` if the text is not understood.
    parse: fn(&mut EmulatorOptions, &str) -> Option<()>,
}

/// Rows `field, variable, expected, parser`: a parser gives the field's value, or `None`.
macro_rules! settings {
    ($($field:ident, $variable:literal, $expected:literal, $parse:expr;)*) => {
        /// Every setting that text can give.
        pub const SETTINGS: &[EmulatorSetting] = &[$(EmulatorSetting {
            name: stringify!($field),
            variable: $variable,
            expected: $expected,
            parse: |options, text| {
                options.$field = $parse(text)?;
                Some(())
            },
        },)*];
    };
}

settings! {
    target, "HIPLAUNCH_EMULATOR_TARGET", "a target such as gfx90a or gfx942:xnack+", target;
    devices, "HIPLAUNCH_EMULATOR_DEVICES", "a number of devices", number;
    memory_bytes, "HIPLAUNCH_EMULATOR_MEMORY", "a number of bytes", number;
    threads, "HIPLAUNCH_EMULATOR_THREADS", "a number of threads", number;
    bounds, "HIPLAUNCH_EMULATOR_BOUNDS", "`strict` or `pages`", number;
    fine_grained_atomics, "HIPLAUNCH_EMULATOR_FINE_GRAINED_ATOMICS", "`perform` or `drop`", number;
    schedule_seed, "HIPLAUNCH_EMULATOR_SEED", "a number", some;
    time_budget, "HIPLAUNCH_EMULATOR_TIME_BUDGET", "a number of seconds", seconds;
    instruction_budget, "HIPLAUNCH_EMULATOR_INSTRUCTION_BUDGET", "a number of instructions", some;
    dynamic_stack, "HIPLAUNCH_EMULATOR_DYNAMIC_STACK", "a number of bytes", number;
    sanitize, "HIPLAUNCH_EMULATOR_SANITIZE", "1 or 0", switch;
    hazards, "HIPLAUNCH_EMULATOR_HAZARDS", "1 or 0", switch;
    pool_boundaries, "HIPLAUNCH_EMULATOR_POOL_BOUNDARIES", "1 or 0", switch;
}

fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

fn some(text: &str) -> Option<Option<u64>> {
    text.parse().ok().map(Some)
}

fn seconds(text: &str) -> Option<Option<Duration>> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok().map(Some)
}

fn switch(text: &str) -> Option<bool> {
    match text {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    }
}

/// A target. What it leaves open of XNACK, `HSA_XNACK` decides, as for AMD's runtime.
fn target(text: &str) -> Option<TargetId> {
    let mut target: TargetId = text.parse().ok()?;
    target.xnack = target.xnack.or(hsa_xnack().unwrap_or(target.xnack));
    Some(target)
}

/// What `HSA_XNACK` asks for: `1` or `0`. ROCr ignores other values.
pub fn hsa_xnack() -> Option<FeatureSetting> {
    match std::env::var("HSA_XNACK").ok()?.as_str() {
        "1" => Some(FeatureSetting::On),
        "0" => Some(FeatureSetting::Off),
        _ => None,
    }
}

impl EmulatorSetting {
    /// The row of a name.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there is none.
    pub fn named(name: &str) -> DriverResult<&'static EmulatorSetting> {
        SETTINGS.iter().find(|setting| setting.name == name).ok_or_else(|| {
            DriverError::with_detail(
                "hipInit",
                ErrorCode::INVALID_VALUE,
                format!("the emulator has no setting {name}"),
            )
        })
    }

    /// The value in the environment; `None` if the variable is not set, or empty.
    pub fn from_env(&self) -> Option<OsString> {
        std::env::var_os(self.variable).filter(|value| !value.is_empty())
    }

    /// Sets it in `options`; see [`EmulatorOptions::set`].
    fn set(&self, options: &mut EmulatorOptions, given_as: &str, text: &str) -> DriverResult<()> {
        (self.parse)(options, text.trim()).ok_or_else(|| {
            let detail = format!("{given_as}={text} is not {}", self.expected);
            DriverError::with_detail("hipInit", ErrorCode::INVALID_VALUE, detail)
        })
    }
}

impl EmulatorOptions {
    /// Sets one of [`SETTINGS`] by its name. `given_as` is what its user calls it, for the error: an option, a keyword, a
    /// variable.
    ///
    /// # Errors
    /// `INVALID_VALUE`, with a detail that says what was expected, or that there is no such setting.
    pub fn set(&mut self, name: &str, given_as: &str, text: &str) -> DriverResult<()> {
        EmulatorSetting::named(name)?.set(self, given_as, text)
    }

    /// Returns the defaults, with what the environment variables of [`SETTINGS`] and `HSA_XNACK` say.
    ///
    /// # Errors
    /// `INVALID_VALUE` for a variable whose value is not understood.
    pub fn from_env() -> DriverResult<Self> {
        let mut options = EmulatorOptions::default();
        options.target.xnack = hsa_xnack().unwrap_or(options.target.xnack);
        for setting in SETTINGS {
            if let Some(value) = setting.from_env() {
                setting.set(&mut options, setting.variable, &value.to_string_lossy())?;
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value that is understood, and one that is not, for each setting.
    #[test]
    fn every_setting_takes_its_values_and_refuses_others() {
        for (name, value) in [
            ("target", "gfx942:xnack+"),
            ("devices", "3"),
            ("memory_bytes", "1048576"),
            ("threads", "2"),
            ("bounds", "pages"),
            ("fine_grained_atomics", "drop"),
            ("schedule_seed", "7"),
            ("time_budget", "0.5"),
            ("instruction_budget", "1000"),
            ("dynamic_stack", "4096"),
            ("sanitize", "1"),
            ("hazards", "1"),
            ("pool_boundaries", "0"),
        ] {
            let setting = EmulatorSetting::named(name).unwrap();
            let mut options = EmulatorOptions::default();
            setting.set(&mut options, name, value).unwrap();
            assert_ne!(options, EmulatorOptions::default(), "{name}={value} changes nothing");
            let error = setting.set(&mut options, setting.variable, "nonsense").unwrap_err().to_string();
            assert!(error.contains(setting.variable) && error.contains(setting.expected), "{error}");
        }
        assert!(EmulatorSetting::named("nonsense").is_err());
        assert_eq!(SETTINGS.len(), 13, "a setting without a value above");
    }
}
