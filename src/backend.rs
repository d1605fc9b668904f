//! Chooses and opens a driver: HIP where there is a GPU, else the emulator. HSA's is opened where a program asks for it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use hip_driver::Driver;
use hip_driver_amd::HipDriver;
use hip_driver_layers::validation::ValidationDriver;
use hsa_driver::HsaDriver;

/// The environment variable that names the backend for [`Backend::Auto`]: `auto`, `hip`, `hsa` or `emulator`.
pub const BACKEND_VARIABLE: &str = "HIPLAUNCH_BACKEND";

/// The environment variable that turns the validation layer on (`1`) or off (`0`) where the program does not say. Off
/// without it.
pub const VALIDATE_VARIABLE: &str = "HIPLAUNCH_VALIDATE";

/// A choice of driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// HIP if its library loads and finds a device, else the emulator. [`BACKEND_VARIABLE`] overrides it.
    #[default]
    Auto,
    /// AMD GPUs through libamdhip64.
    Hip,
    /// AMD GPUs through libhsa-runtime64, with no HIP between. No GPU has confirmed this driver yet, so that [`Auto`](Backend::Auto) never
    /// chooses it.
    Hsa,
    /// The embedded emulator (feature `emulator`).
    Emulator,
}

impl Backend {
    /// The backends of GPUs, in the order in which their drivers were written.
    pub const OF_GPUS: [Backend; 2] = [Backend::Hip, Backend::Hsa];
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Backend::Auto => "auto",
            Backend::Hip => "hip",
            Backend::Hsa => "hsa",
            Backend::Emulator => "emulator",
        })
    }
}

impl FromStr for Backend {
    type Err = OpenError;

    fn from_str(text: &str) -> Result<Self, OpenError> {
        match text.trim().to_ascii_lowercase().as_str() {
            "auto" => Ok(Backend::Auto),
            "hip" => Ok(Backend::Hip),
            "hsa" => Ok(Backend::Hsa),
            "emulator" => Ok(Backend::Emulator),
            _ => Err(OpenError::UnknownBackend { value: text.to_owned() }),
        }
    }
}

/// An open driver, and how it was chosen.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The driver; the validation layer over it where that is on.
    pub driver: Arc<dyn Driver>,
    /// The validation layer, where it is on. It has the counts and the violations.
    pub validation: Option<Arc<ValidationDriver>>,
    /// The backend that was opened; never [`Backend::Auto`].
    pub backend: Backend,
    /// One line for each backend that was tried before: its name and why it was not opened. Empty if the first choice
    /// was opened.
    pub tried: Vec<String>,
}

/// Why no driver could be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The name is not that of a backend.
    #[error("unknown backend `{value}`: use auto, hip, hsa or emulator")]
    UnknownBackend {
        /// The name that was given.
        value: String,
    },
    /// An environment variable has a value that it may not have.
    #[error("{variable}={value} is not understood: use {expected}")]
    BadVariable {
        /// The name of the variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// The values that it may have, in words.
        expected: &'static str,
    },
    /// None of the backends that were tried has a device.
    #[error("no driver for backend {backend} has a device; tried:{}", lines(tried))]
    NoDriver {
        /// The backend that was asked for.
        backend: Backend,
        /// One line for each backend that was tried: its name and why it was not opened.
        tried: Vec<String>,
    },
}

fn lines(tried: &[String]) -> String {
    tried.iter().map(|line| format!("\n  {line}")).collect()
}

/// Opens a driver. `validate` says whether to put the [validation layer](ValidationDriver) over it; `None` leaves that
/// to [`VALIDATE_VARIABLE`].
///
/// Logs at `info` which driver it opened, and why the backends tried before were not opened.
///
/// # Errors
/// [`OpenError::NoDriver`] when no backend has a device; it lists what was tried. [`OpenError::BadVariable`] when
/// [`BACKEND_VARIABLE`] or [`VALIDATE_VARIABLE`] has a value that it may not have.
pub fn open(backend: Backend, validate: Option<bool>) -> Result<Opened, OpenError> {
    open_with(backend, validate, None)
}

/// As [`open`]; if the emulator is opened, it gets these options instead of those of the environment.
///
/// # Errors
/// The same as those of [`open`].
#[cfg(feature = "emulator")]
pub fn open_emulating(
    backend: Backend,
    validate: Option<bool>,
    options: hip_driver_emulated::EmulatorOptions,
) -> Result<Opened, OpenError> {
    open_with(backend, validate, Some(options))
}

/// The options of the emulator, in a build that has it.
#[cfg(feature = "emulator")]
pub(crate) type Emulator = hip_driver_emulated::EmulatorOptions;
#[cfg(not(feature = "emulator"))]
pub(crate) type Emulator = std::convert::Infallible;

/// Does what [`open`] does. If the emulator is opened, it gets the options `emulator` instead of those of the
/// environment.
pub(crate) fn open_with(
    backend: Backend,
    validate: Option<bool>,
    emulator: Option<Emulator>,
) -> Result<Opened, OpenError> {
    let (backend, named_by) = match (backend, variable(BACKEND_VARIABLE)) {
        (Backend::Auto, Some(value)) => match value.parse() {
            Ok(named) => (named, format!("{BACKEND_VARIABLE}={value}")),
            Err(_) => {
                let expected = "auto, hip, hsa or emulator";
                return Err(OpenError::BadVariable { variable: BACKEND_VARIABLE, value, expected });
            }
        },
        _ => (backend, format!("backend {backend}")),
    };
    let validate = validation_wanted(validate)?;

    let mut tried = Vec::new();
    let mut opened = None;
    if matches!(backend, Backend::Auto | Backend::Hip) {
        opened = note(open_hip(), Backend::Hip, &mut tried);
    }
    if backend == Backend::Hsa {
        opened = note(open_hsa(), Backend::Hsa, &mut tried);
    }
    if opened.is_none() && matches!(backend, Backend::Auto | Backend::Emulator) {
        opened = note(open_emulator(emulator), Backend::Emulator, &mut tried);
    }
    let Some((driver, backend)) = opened else { return Err(OpenError::NoDriver { backend, tried }) };

    let info = driver.info();
    log::info!("using driver {} {} ({}) for {named_by}", info.name, info.version, info.source);
    for line in &tried {
        log::info!("not opened: {line}");
    }
    let (driver, validation) = if validate { in_layer(driver) } else { (driver, None) };
    Ok(Opened { driver, validation, backend, tried })
}

/// A driver, and the validation layer, if the driver is one.
pub type Layered = (Arc<dyn Driver>, Option<Arc<ValidationDriver>>);

fn in_layer(driver: Arc<dyn Driver>) -> Layered {
    let layer = ValidationDriver::new(driver);
    (layer.clone(), Some(layer))
}

/// Puts the [validation layer](ValidationDriver) over an open driver if `validate` is true; `None` leaves that to
/// [`VALIDATE_VARIABLE`].
///
/// # Errors
/// [`OpenError::BadVariable`] when the variable decides and is neither 0 nor 1.
pub fn validated(driver: Arc<dyn Driver>, validate: Option<bool>) -> Result<Layered, OpenError> {
    let validate = validation_wanted(validate)?;
    Ok(if validate { in_layer(driver) } else { (driver, None) })
}

/// A driver with a device, or why there is none, in one line.
type LoadAttempt = Result<Arc<dyn Driver>, String>;

fn note(
    attempt: LoadAttempt,
    backend: Backend,
    tried: &mut Vec<String>,
) -> Option<(Arc<dyn Driver>, Backend)> {
    match attempt {
        Ok(driver) => Some((driver, backend)),
        Err(reason) => {
            tried.push(format!("{backend}: {reason}"));
            None
        }
    }
}

fn open_hip() -> LoadAttempt {
    let driver: Arc<dyn Driver> = HipDriver::load().map_err(|error| error.to_string())?;
    with_device(driver)
}

fn open_hsa() -> LoadAttempt {
    with_device(HsaDriver::load().map_err(|error| error.to_string())?.shared())
}

#[cfg(feature = "emulator")]
fn open_emulator(options: Option<Emulator>) -> LoadAttempt {
    let options = options.map_or_else(Emulator::from_env, Ok);
    let driver: Arc<dyn Driver> =
        options.and_then(hip_driver_emulated::EmulatedDriver::new).map_err(|error| error.to_string())?;
    with_device(driver)
}

#[cfg(not(feature = "emulator"))]
fn open_emulator(_: Option<Emulator>) -> LoadAttempt {
    Err("this build has no emulator; build with the feature `emulator`".to_owned())
}

fn with_device(driver: Arc<dyn Driver>) -> LoadAttempt {
    let info = driver.info();
    match driver.device_count() {
        Ok(0) => Err(format!("{} {} ({}) finds no device", info.name, info.version, info.source)),
        Ok(_) => Ok(driver),
        Err(error) => Err(format!("{} {} ({}): {error}", info.name, info.version, info.source)),
    }
}

/// The value of an environment variable that is set and not empty. Parts that are not Unicode are replaced by `U+FFFD`.
fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()).filter(|value| !value.is_empty())
}

/// Whether to validate: as the program says, else as the variable says.
fn validation_wanted(validate: Option<bool>) -> Result<bool, OpenError> {
    validate.map_or_else(|| validation_named(variable(VALIDATE_VARIABLE)), Ok)
}

fn validation_named(value: Option<String>) -> Result<bool, OpenError> {
    match value.as_deref() {
        None | Some("0") => Ok(false),
        Some("1") => Ok(true),
        Some(other) => Err(OpenError::BadVariable {
            variable: VALIDATE_VARIABLE,
            value: other.to_owned(),
            expected: "1 or 0",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backends_are_written_as_they_are_read() {
        for backend in [Backend::Auto, Backend::Hip, Backend::Hsa, Backend::Emulator] {
            assert_eq!(backend.to_string().parse(), Ok(backend));
        }
        assert_eq!(" HIP ".parse(), Ok(Backend::Hip));
        let error = "cuda".parse::<Backend>().unwrap_err();
        assert_eq!(error, OpenError::UnknownBackend { value: "cuda".to_owned() });
    }

    #[test]
    fn validation_is_on_or_off_and_nothing_else() {
        assert_eq!(validation_named(None), Ok(false));
        assert_eq!(validation_named(Some("0".to_owned())), Ok(false));
        assert_eq!(validation_named(Some("1".to_owned())), Ok(true));
        assert!(matches!(validation_named(Some("yes".to_owned())), Err(OpenError::BadVariable { .. })));
    }

    #[test]
    fn no_driver_says_all_that_was_tried() {
        let tried = vec!["hip: no library".to_owned(), "emulator: not built".to_owned()];
        let text = OpenError::NoDriver { backend: Backend::Auto, tried }.to_string();
        assert!(text.contains("hip: no library") && text.contains("emulator: not built"), "{text}");
    }

    #[cfg(feature = "emulator")]
    #[test]
    fn the_emulator_opens_everywhere() {
        let opened = open(Backend::Emulator, Some(false)).unwrap();
        assert_eq!(opened.backend, Backend::Emulator);
        assert!(opened.tried.is_empty() && opened.validation.is_none());
        assert_eq!(opened.driver.info().name, "emulated");
    }

    #[cfg(feature = "emulator")]
    #[test]
    fn validation_goes_around_the_driver() {
        let opened = open(Backend::Emulator, Some(true)).unwrap();
        assert!(opened.validation.is_some());
        assert_eq!(opened.driver.info().name, "validation over emulated");
    }
}
