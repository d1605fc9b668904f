//! The options of a pool.

use crate::error::{Error, Result};
use hip_driver::{Capabilities, Capability};

/// Where a pool's memory comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PoolBackend {
    /// The pool takes segments with `hipMalloc` and cuts them into blocks. This is the default, because HIP's own pools
    /// have faults on several versions and devices.
    #[default]
    Caching,
    /// Every block is a `hipMallocAsync` allocation, and HIP's pool does the caching. Needs
    /// [`Capability::StreamOrderedAllocator`](hip_driver::Capability::StreamOrderedAllocator).
    StreamOrdered,
    /// Every block is a `hipMalloc` allocation, and every free a `hipFree`, which waits for the device. Nothing is
    /// cached. It is for comparisons, and for finding out whether a fault is the pool's.
    Plain,
}

/// The options of a device's pool.
#[derive(Clone, Copy, Debug, Default)]
pub struct PoolOptions {
    /// Where memory comes from.
    pub backend: PoolBackend,
    /// The cap: the number of bytes beyond which the pool takes nothing from the driver. `None` is no cap.
    pub cap: Option<u64>,
    /// The soft target: while the pool holds more bytes than that, it returns cached segments to the driver before it
    /// takes new ones, and after a stream was synchronized. `None` keeps all cached segments.
    pub soft_target: Option<u64>,
}

/// The environment variable that names a pool's backend: `caching`, `async` or `plain`.
pub const POOL_VARIABLE: &str = "HIPLAUNCH_POOL";

impl std::str::FromStr for PoolBackend {
    type Err = Error;

    fn from_str(word: &str) -> Result<PoolBackend> {
        match word.trim() {
            "" | "caching" => Ok(PoolBackend::Caching),
            "async" => Ok(PoolBackend::StreamOrdered),
            "plain" => Ok(PoolBackend::Plain),
            other => Err(Error::invalid(
                POOL_VARIABLE,
                format!("`{other}` is no backend: use caching, async or plain"),
            )),
        }
    }
}

impl PoolOptions {
    /// Returns options with the backend that the environment variable [`POOL_VARIABLE`] names, and no limits.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if the variable names no backend.
    pub fn from_env() -> Result<PoolOptions> {
        let backend = std::env::var(POOL_VARIABLE).unwrap_or_default().parse()?;
        Ok(PoolOptions { backend, ..PoolOptions::default() })
    }

    pub(crate) fn check(&self, capabilities: Capabilities) -> Result<()> {
        if self.backend == PoolBackend::StreamOrdered && !capabilities.has(Capability::StreamOrderedAllocator)
        {
            let problem = "the driver has no hipMallocAsync; use PoolBackend::Caching";
            return Err(Error::invalid("PoolBackend::StreamOrdered", problem));
        }
        Ok(())
    }
}
