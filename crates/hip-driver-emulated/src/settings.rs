//! The emulator's settings as text: one row each, from which every way in is made.
//!
//! Rust, C, Python, the command line, `hiplaunch exec` and Triton's driver all set [`EmulatorOptions`] through [`SETTINGS`], so a
//! setting has one name, one syntax, one documentation and one error everywhere. A new setting is a row here and the field that
//! it sets.

use std::ffi::OsString;
use std::time::Duration;

use amdgpu_emulator::{Bounds, FineGrainedAtomics, MachineConfig};
use code_object::{FeatureSetting, TargetId};
use hip_driver::{DriverError, DriverResult, ErrorCode};

use super::options::EmulatorOptions;

/// A setting that text can give.
#[derive(Clone, Copy, Debug)]
pub struct EmulatorSetting {
    /// Its name in Rust, C and Python. The option of the command line has the same, with dashes: `--schedule-seed`.
    pub name: &'static str,
    /// The environment variable that [`EmulatorOptions::from_env`] reads.
    pub variable: &'static str,
    /// What a value has to be, such as "a number".
    pub expected: &'static str,
    /// What stands for a value in a command's help, such as "N".
    pub placeholder: &'static str,
    /// The values, if they are words. Those of a switch are `1` and `0`.
    pub words: &'static [&'static str],
    /// The value that holds if none is given; empty if that is to leave the setting unset.
    pub default: &'static str,
    /// What it does, for [`paragraphs`](Self::paragraphs).
    help: &'static str,
    /// Sets it; `None` if the text is not understood.
    parse: fn(&mut EmulatorOptions, &str) -> Option<()>,
}

/// The values of a switch, such as `sanitize`.
const SWITCH: &[&str] = &["1", "0"];

/// Rows `/// documentation`, `name = default: VARIABLE, PLACEHOLDER, expected, words, parser => field`. A parser gives the field's
/// value, or `None`.
macro_rules! settings {
    ($($(#[doc = $help:literal])+
    $name:ident = $default:literal: $variable:literal, $placeholder:literal, $expected:literal, $words:expr,
    $parse:path => $($field:ident).+;)*) => {
        /// Every setting that text can give.
        pub const SETTINGS: &[EmulatorSetting] = &[$(EmulatorSetting {
            name: stringify!($name),
            variable: concat!("HIPLAUNCH_EMULATOR_", $variable),
            expected: $expected,
            placeholder: $placeholder,
            words: $words,
            default: $default,
            help: concat!($($help, "\n"),+),
            parse: |options, text| {
                options.$($field).+ = $parse(text)?;
                Some(())
            },
        },)*];
    };
}

settings! {
    /// The target to emulate, such as gfx90a, gfx942, gfx950 or gfx1100, also with settings such as `:xnack+`.
    ///
    /// Without it, `hiplaunch exec` emulates a target that the program has code for, and `hiplaunch run` that of a script's code
    /// object.
    target = "gfx90a": "TARGET", "TARGET", "a target such as gfx90a or gfx942:xnack+", &[], target => target;

    /// The number of emulated devices, 1 to 64.
    devices = "1": "DEVICES", "N", "a number of devices", &[], number => devices;

    /// The memory of each device in bytes. The host allocates it only as kernels and copies access it.
    memory_bytes = "17179869184": "MEMORY", "BYTES", "a number of bytes", &[], number => machine.memory_bytes;

    /// The number of host threads that run the workgroups of a device; 0 for the number of the machine's cores.
    threads = "0": "THREADS", "N", "a number of threads", &[], threads => machine.threads;

    /// What kernels can access behind an allocation: nothing (`strict`), or the rest of its last page (`pages`), as on a GPU.
    bounds = "strict": "BOUNDS", "BOUNDS", "`strict` or `pages`", &["strict", "pages"], bounds => machine.bounds;

    /// What gfx90a's floating-point atomics to fine-grained memory do: what they do elsewhere (`perform`), or nothing (`drop`),
    /// as on hardware.
    ///
    /// Pinned and managed memory of the host is fine-grained by default. Either way these instructions are listed.
    fine_grained_atomics = "perform": "FINE_GRAINED_ATOMICS", "WHAT", "`perform` or `drop`", &["perform", "drop"],
    atomics => machine.fine_grained_atomics;

    /// Shuffle the order in which workgroups and waves run, from this seed.
    ///
    /// A kernel without data races gives the same results with any seed.
    schedule_seed = "": "SEED", "N", "a number", &[], some => machine.schedule_seed;

    /// Fail a kernel that runs for more than this number of seconds.
    time_budget = "": "TIME_BUDGET", "SECONDS", "a number of seconds", &[], seconds => machine.time_budget;

    /// Fail a kernel that executes more than this number of instructions. Each counts once for a wave.
    instruction_budget = "": "INSTRUCTION_BUDGET", "N", "a number of instructions", &[], some => machine.instruction_budget;

    /// The bytes of further stack for each work-item, if a kernel recurses or calls through pointers.
    dynamic_stack = "16384": "DYNAMIC_STACK", "BYTES", "a number of bytes", &[], number => machine.dynamic_stack;

    /// Fail on uses of memory that was never written, on data races, and on missing waits. Slow.
    ///
    /// Each report has the instruction, or both instructions of a race or a missing wait, with lanes and addresses or
    /// registers. A wait is missing where an instruction uses what a load has not delivered yet. Atomic accesses are
    /// distinguished from plain ones by their cache bits; the emulator's README says which races that misses.
    sanitize = "0": "SANITIZE", "SWITCH", "1 or 0", SWITCH, switch => machine.sanitize;

    /// With `sanitize`, also fail on hazards: instructions with too few wait states between them.
    ///
    /// The hardware doesn't check some dependencies, such as a matrix result that is read too early. Compilers insert
    /// s_nop where they need to, so only assembly by hand can have hazards.
    hazards = "0": "HAZARDS", "SWITCH", "1 or 0", SWITCH, switch => machine.hazards;

    /// Find accesses past the end of a memory pool's blocks, with strict bounds.
    pool_boundaries = "1": "POOL_BOUNDARIES", "SWITCH", "1 or 0", SWITCH, switch => pool_boundaries;
}

fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

fn bounds(text: &str) -> Option<Bounds> {
    match text {
        "strict" => Some(Bounds::Strict),
        "pages" => Some(Bounds::Pages),
        _ => None,
    }
}

fn atomics(text: &str) -> Option<FineGrainedAtomics> {
    match text {
        "perform" => Some(FineGrainedAtomics::Perform),
        "drop" => Some(FineGrainedAtomics::Drop),
        _ => None,
    }
}

fn some(text: &str) -> Option<Option<u64>> {
    text.parse().ok().map(Some)
}

/// A number of threads; 0 stands for the default, one for each core.
fn threads(text: &str) -> Option<usize> {
    let threads = text.parse().ok()?;
    Some(if threads == 0 { MachineConfig::default().threads } else { threads })
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
        let row = SETTINGS.iter().find(|setting| setting.name == name);
        row.ok_or_else(|| refused(format!("the emulator has no setting {name}")))
    }

    /// Its documentation, a line for each paragraph; the first says all that a list has room for.
    pub fn paragraphs(&self) -> impl Iterator<Item = String> {
        let joined = |paragraph: &str| paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        self.help.split("\n\n").map(joined)
    }

    /// Whether it is on or off, `1` or `0`.
    pub fn is_switch(&self) -> bool {
        self.words == SWITCH
    }

    /// The value in the environment; `None` if the variable is not set, or empty.
    pub fn from_env(&self) -> Option<OsString> {
        std::env::var_os(self.variable).filter(|value| !value.is_empty())
    }

    /// Sets it in `options`. `given_as` is what its user calls it, for the error: an option, a keyword, a variable.
    ///
    /// # Errors
    /// `INVALID_VALUE`, with a detail that says what was expected.
    pub fn set(&self, options: &mut EmulatorOptions, given_as: &str, text: &str) -> DriverResult<()> {
        (self.parse)(options, text.trim())
            .ok_or_else(|| refused(format!("{given_as}={text} is not {}", self.expected)))
    }
}

impl EmulatorOptions {
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

    /// Sets several of [`SETTINGS`] from a text such as `target=gfx942, devices=2`.
    ///
    /// # Errors
    /// `INVALID_VALUE`, with a detail that says what was expected, or that there is no such setting.
    pub fn set_all(&mut self, text: &str) -> DriverResult<()> {
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) =
                part.split_once('=').ok_or_else(|| refused(format!("`{part}` is not NAME=VALUE")))?;
            EmulatorSetting::named(name.trim())?.set(self, name.trim(), value)?;
        }
        Ok(())
    }
}

fn refused(detail: String) -> DriverError {
    DriverError::with_detail("hipInit", ErrorCode::INVALID_VALUE, detail)
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
            ("threads", "77"),
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

            let mut listed = EmulatorOptions::default();
            listed.set_all(&format!(" {name} = {value},")).unwrap();
            setting.set(&mut options, name, value).unwrap();
            assert_eq!(listed, options);
            if !setting.default.is_empty() {
                setting.set(&mut options, name, setting.default).unwrap();
                assert_eq!(options, EmulatorOptions::default(), "{name}: another default");
            }
        }
        for wrong in ["nonsense=1", "devices", "devices=2 target=gfx90a"] {
            assert!(EmulatorOptions::default().set_all(wrong).is_err(), "{wrong}");
        }
        assert!(EmulatorSetting::named("nonsense").is_err());
        assert_eq!(SETTINGS.len(), 13, "a setting without a value above");
    }
}
