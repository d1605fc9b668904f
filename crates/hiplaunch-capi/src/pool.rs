//! The memory pool of a device: what it holds, limits, trimming, snapshots.

use hiplaunch::memory::Pool;
use std::mem::MaybeUninit;

use super::handles::Found;
use super::input::{Versioned, fill, wanted};
use super::launcher::{hiplaunch_launcher, launcher_of};
use super::status::{Result, call, hiplaunch_status};
use super::text::hiplaunch_text;

/// What a pool holds, in bytes, and what it did. See PoolCounters of the Rust library.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct hiplaunch_pool_stats {
    /// sizeof(hiplaunch_pool_stats), set by the caller.
    pub struct_size: usize,
    /// Bytes that the owners of live blocks asked for.
    pub requested: u64,
    /// Bytes of live blocks.
    pub in_use: u64,
    /// Bytes of freed blocks that other streams may still use.
    pub held_back: u64,
    /// Bytes free for the next request.
    pub cached: u64,
    /// Bytes held from the driver: in use, held back and cached.
    pub reserved: u64,
    /// Most bytes held from the driver at once.
    pub peak_reserved: u64,
    /// Sum of each stream's most bytes in use at once.
    pub peak_in_use: u64,
    /// Bytes of the largest free block.
    pub largest_free: u64,
    /// Requests served from what the stream had.
    pub hits: u64,
    /// Requests that needed more than that.
    pub misses: u64,
    /// Misses served with another stream's memory.
    pub steals: u64,
    /// Blocks given back.
    pub frees: u64,
    /// Blocks that are live.
    pub live_blocks: u64,
    /// Segments held from the driver.
    pub segments: u64,
    /// The pool's own driver calls.
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
/// Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE; HIPLAUNCH_STATUS_INVALID_ARGUMENT for an ordinal that there is
/// not; HIPLAUNCH_STATUS_STRUCT_SIZE; HIPLAUNCH_STATUS_NULL_POINTER.
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

/// Begins the peaks of a pool anew, at what there is now.
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

/// Gives a pool's cached segments to the driver until at most `keep` bytes are held, or nothing is cached in whole
/// segments; `freed`, which may be null, gets how many bytes went. Waits for the streams whose segments go.
///
/// Threads: any. Errors: as hiplaunch_get_pool_stats; HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST: what the
/// driver did not take stays.
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

/// Limits a pool from now on: most bytes held from the driver, and bytes above which cached memory goes back there; 0
/// for no such limit.
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

/// A pool's counters, segments and blocks as JSON.
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
