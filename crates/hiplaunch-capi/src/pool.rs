//! The memory pool of a device: counters, limits, trimming, snapshots.

use hiplaunch::memory::Pool;
use std::mem::MaybeUninit;

use super::handles::Found;
use super::input::{Versioned, fill, wanted};
use super::launcher::{hiplaunch_launcher, launcher_of};
use super::status::{Result, call, hiplaunch_status};
use super::text::hiplaunch_text;

/// Counters of a pool. See PoolCounters of the Rust library.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_pool_stats {
    /// sizeof(hiplaunch_pool_stats), set by the caller.
    pub struct_size: usize,
    /// The number of bytes that were requested for the live pool blocks.
    pub requested: u64,
    /// The number of bytes of live pool blocks, with rounding.
    pub in_use: u64,
    /// The number of bytes of held-back pool blocks: freed ones that other streams may still use.
    pub held_back: u64,
    /// The number of bytes of free pool blocks.
    pub cached: u64,
    /// The number of bytes held from the driver: in use, held back and cached.
    pub reserved: u64,
    /// The greatest number of bytes that were held from the driver at once.
    pub peak_reserved: u64,
    /// The sum over the streams of the greatest number of bytes that were in use at once.
    pub peak_in_use: u64,
    /// The number of bytes of the largest free pool block.
    pub largest_free: u64,
    /// The number of requests that the stream's arena served.
    pub hits: u64,
    /// The number of requests that the stream's arena could not serve.
    pub misses: u64,
    /// The number of misses that were served with a pool segment of another stream.
    pub steals: u64,
    /// The number of pool blocks that were freed.
    pub frees: u64,
    /// The number of live pool blocks.
    pub live_blocks: u64,
    /// The number of pool segments held from the driver.
    pub segments: u64,
    /// The number of driver calls that the pool made.
    pub driver_calls: u64,
}

// SAFETY: integers; the one version.
unsafe impl Versioned for hiplaunch_pool_stats {
    const NAME: &'static str = "hiplaunch_pool_stats";
    const SIZES: &'static [usize] = &[size_of::<hiplaunch_pool_stats>()];
}

fn pool_of(launcher: *const hiplaunch_launcher, device: u32) -> Result<Pool> {
    let Found { value: launcher, .. } = launcher_of(launcher)?;
    Ok(launcher.device(device)?.pool())
}

/// Fills `stats`, whose struct_size the caller has set, for the pool of a device.
///
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE; HIPLAUNCH_STATUS_INVALID_ARGUMENT for a device that does
/// not exist; HIPLAUNCH_STATUS_STRUCT_SIZE; HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hiplaunch_get_pool_stats(
    launcher: *const hiplaunch_launcher,
    device: u32,
    stats: *mut hiplaunch_pool_stats,
) -> hiplaunch_status {
    call("hiplaunch_get_pool_stats", || {
        let counters = pool_of(launcher, device)?.counters();
        // SAFETY: the caller's promise for versioned structs.
        unsafe {
            fill(stats, "stats", |struct_size| {
                Ok(hiplaunch_pool_stats {
                    struct_size,
                    requested: counters.requested,
                    in_use: counters.in_use,
                    held_back: counters.held_back,
                    cached: counters.cached,
                    reserved: counters.reserved,
                    peak_reserved: counters.peak_reserved,
                    peak_in_use: counters.peak_in_use,
                    largest_free: counters.largest_free,
                    hits: counters.hits,
                    misses: counters.misses,
                    steals: counters.steals,
                    frees: counters.frees,
                    live_blocks: counters.live_blocks,
                    segments: counters.segments,
                    driver_calls: counters.calls.total(),
                })
            })
        }
    })
}

/// Resets the peaks of a pool to the current values.
///
/// Threads: any. Errors: as hiplaunch_get_pool_stats.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_pool_reset_peaks(
    launcher: *const hiplaunch_launcher,
    device: u32,
) -> hiplaunch_status {
    call("hiplaunch_pool_reset_peaks", || {
        pool_of(launcher, device)?.reset_peaks();
        Ok(())
    })
}

/// Returns a pool's cached segments to the driver until the pool holds at most `keep` bytes, or no whole segment is
/// free. `freed`, which may be null, gets the number of bytes returned. Waits for the streams of these segments.
///
/// Threads: any. Errors: as hiplaunch_get_pool_stats; HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST: the pool
/// keeps a segment that the driver could not free.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_pool_trim(
    launcher: *const hiplaunch_launcher,
    device: u32,
    keep: u64,
    freed: Option<&mut MaybeUninit<u64>>,
) -> hiplaunch_status {
    call("hiplaunch_pool_trim", || {
        let bytes = pool_of(launcher, device)?.trim(keep)?;
        if let Some(freed) = freed {
            freed.write(bytes);
        }
        Ok(())
    })
}

/// Sets the limits of a pool. `cap` is the number of bytes beyond which it takes nothing from the driver. `soft_target`
/// is the number of bytes above which it returns cached segments to the driver. 0 means no limit.
///
/// Threads: any. Errors: as hiplaunch_get_pool_stats.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_pool_limit(
    launcher: *const hiplaunch_launcher,
    device: u32,
    cap: u64,
    soft_target: u64,
) -> hiplaunch_status {
    call("hiplaunch_pool_limit", || {
        let pool = pool_of(launcher, device)?;
        let limit = |bytes: u64| (bytes != 0).then_some(bytes);
        pool.set_cap(limit(cap));
        pool.set_soft_target(limit(soft_target));
        Ok(())
    })
}

/// The counters, segments and blocks of a pool as JSON.
///
/// Ownership: the caller closes the text. Threads: any. Errors: as hiplaunch_get_pool_stats.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_pool_snapshot_json(
    launcher: *const hiplaunch_launcher,
    device: u32,
    json: Option<&mut MaybeUninit<*mut hiplaunch_text>>,
) -> hiplaunch_status {
    call("hiplaunch_pool_snapshot_json", || {
        let json = wanted(json, "json")?;
        let snapshot = pool_of(launcher, device)?.snapshot();
        json.write(super::text::new_text(hiplaunch_reports::pool_json(&snapshot).to_string())?);
        Ok(())
    })
}
