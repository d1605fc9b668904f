//! The options of a launcher, and how it is opened.

use std::sync::{Arc, OnceLock};

use crate::backend::{self, Backend};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::pool::PoolOptions;
use crate::staging::StagingOptions;
use hip_driver::{DeviceId, Driver};
use hip_driver_layers::timeline::Timeline;

use super::registry::Registry;
use super::{Launcher, LauncherInner};

/// The options of a [`Launcher`]. [`Launcher::builder`] creates them, and [`build`](LauncherBuilder::build) opens the
/// launcher.
#[derive(Debug, Default)]
pub struct LauncherBuilder {
    backend: Backend,
    emulator: Option<backend::Emulator>,
    driver: Option<Arc<dyn Driver>>,
    validate: Option<bool>,
    buffer_bytes: Option<usize>,
    max_buffers: Option<usize>,
    pool: Option<PoolOptions>,
    timeline: Option<Timeline>,
}

impl LauncherBuilder {
    /// Sets which driver to open. The default is [`Backend::Auto`].
    #[must_use]
    pub fn backend(mut self, backend: Backend) -> Self {
        self.backend = backend;
        self
    }

    /// Sets the options of the emulator, such as its target and the number of its devices, for when
    /// [`Backend::Emulator`] or [`Backend::Auto`] opens it. The default is
    /// [`EmulatorOptions::from_env`](crate::driver::emulated::EmulatorOptions::from_env).
    ///
    /// This opens a GPU if there is one, else an emulated gfx942:
    ///
    /// ```
    /// use hiplaunch::Launcher;
    /// use hiplaunch::driver::emulated::EmulatorOptions;
    ///
    /// let options = EmulatorOptions { target: "gfx942".parse()?, ..EmulatorOptions::from_env()? };
    /// let launcher = Launcher::builder().emulator(options).build()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "emulator")]
    #[must_use]
    pub fn emulator(mut self, options: backend::Emulator) -> Self {
        self.emulator = Some(options);
        self
    }

    /// Sets a driver that is already open. No backend is opened then.
    #[must_use]
    pub fn driver(mut self, driver: Arc<dyn Driver>) -> Self {
        self.driver = Some(driver);
        self
    }

    /// Sets whether to put the validation layer over the driver. By default the environment variable
    /// `HIPLAUNCH_VALIDATE` says so: `1` for on, `0` for off.
    #[must_use]
    pub fn validate(mut self, on: bool) -> Self {
        self.validate = Some(on);
        self
    }

    /// Sets the size of each stream's staging ring: at most `max_buffers` staging buffers (4 by default) of
    /// `buffer_bytes` bytes each (256 KiB by default). Each is allocated when it is first needed. A launch that stages
    /// more than `buffer_bytes` gets a staging buffer of that size.
    #[must_use]
    pub fn staging_ring(mut self, buffer_bytes: usize, max_buffers: usize) -> Self {
        (self.buffer_bytes, self.max_buffers) = (Some(buffer_bytes), Some(max_buffers));
        self
    }

    /// Sets the options of each device's memory pool. By default the environment's
    /// [`POOL_VARIABLE`](crate::memory::POOL_VARIABLE) says where the pool's memory comes from, and there are no
    /// limits.
    #[must_use]
    pub fn pool(mut self, options: PoolOptions) -> Self {
        self.pool = Some(options);
        self
    }

    /// Records the launcher's driver calls and the device's work in `timeline`. The timeline's layer is below the
    /// validation layer, where that is on. By default nothing is recorded.
    #[must_use]
    pub fn timeline(mut self, timeline: &Timeline) -> Self {
        self.timeline = Some(timeline.clone());
        self
    }

    /// Opens the driver and every device it has.
    ///
    /// # Errors
    /// - [`Error::Open`] when no driver can be opened, or the environment variable for the backend or for validation
    ///   has a value that it may not have
    /// - [`Error::Invalid`] when the driver has no device, for options of the emulator with [`Backend::Hip`], and for
    ///   options of the pool that are not understood or that the driver does not support
    /// - [`Error::Driver`] for options that no emulator can have, even where there is a GPU, and when a driver call
    ///   fails
    pub fn build(self) -> Result<Launcher> {
        let (mut driver, tried) = match self.driver {
            Some(driver) => (driver, Vec::new()),
            None => {
                if self.emulator.is_some() && self.backend == Backend::Hip {
                    let problem =
                        "options of the emulator with Backend::Hip; use Backend::Auto or Backend::Emulator";
                    return Err(Error::invalid("Launcher", problem));
                }
                #[cfg(feature = "emulator")]
                if let Some(options) = &self.emulator {
                    options.check()?;
                }
                let opened = backend::open_with(self.backend, Some(false), self.emulator)
                    .map_err(|e| Error::Open(Box::new(e)))?;
                (opened.driver, opened.tried)
            }
        };
        if let Some(timeline) = &self.timeline {
            driver = timeline.layer(driver);
        }
        let (driver, validation) =
            backend::validated(driver, self.validate).map_err(|e| Error::Open(Box::new(e)))?;
        let count = driver.device_count()?;
        if count == 0 {
            return Err(Error::invalid("Launcher", "the driver has no device; use the emulator's backend"));
        }
        let pool = self.pool.map_or_else(PoolOptions::from_env, Ok)?;
        let open = |i| Device::open_with(driver.clone(), DeviceId(i), &pool);
        let devices = (0..count).map(open).collect::<Result<Vec<_>>>()?;
        let usual = StagingOptions::default();
        let stream_state = StagingOptions {
            buffer_bytes: self.buffer_bytes.unwrap_or(usual.buffer_bytes),
            max_buffers: self.max_buffers.unwrap_or(usual.max_buffers),
        };
        Ok(Launcher(Arc::new(LauncherInner {
            cache: OnceLock::new(),
            registry: Registry::default(),
            devices,
            validation,
            tried,
            stream_state,
            driver,
        })))
    }
}
