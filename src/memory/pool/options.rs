//! What a pool may do.

use crate::error::{Error, Result};
use hip_driver::{Capabilities, Capability};

/// Where a pool's memory comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PoolBackend {
    /// `hipMalloc` for segments, which the pool cuts into blocks. The default: HIP's own pools have faults on several
    /// versions and devices.
    #[default]
    Caching,
    /// Every block is a `hipMallocAsync` of its own: HIP's pool does the caching. Needs
    /// [`Capability::StreamOrderedAllocator`](hip_driver::Capability::StreamOrderedAllocator).
    StreamOrdered,
    /// Every block is a `hipMalloc`, and every free a `hipFree` that waits for the device: nothing is cached, for
    /// comparison and for finding out whether a fault is the pool's.
    Plain,
}

/// How a device's pool is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct PoolOptions {
    /// Where memory comes from.
    pub backend: PoolBackend,
    /// Most bytes held from the driver; `None` for as much as the device has.
    pub cap: Option<u64>,
    /// Bytes held from the driver above which what is cached is given back when a stream was waited for, and before
    /// more is taken; `None` keeps all.
    pub soft_target: Option<u64>,
}

/// Names a pool's backend: `caching`, `async` or `plain`.
pub const POOL_VARIABLE: &str = "HIPLAUNCH_POOL";

impl std::str::FromStr for PoolBackend {
    type Err = Error;

    fn from_str(word: &str) -> Result<PoolBackend> {
        match word.trim() {
            "" | "caching" => Ok(PoolBackend::Caching),
            "async" => Ok(PoolBackend::StreamOrdered),
            "plain" => Ok(PoolBackend::Plain),
            other => {
                Err(Error::invalid(POOL_VARIABLE, format!("`{other}` is no pool: caching, async or plain")))
            }
        }
    }
}

impl PoolOptions {
    /// The backend that the environment's [`POOL_VARIABLE`] names, and no limits.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a word that names none.
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
