//! Timelines: what host and device did, and when.

use std::mem::MaybeUninit;

use super::input::wanted;
use super::launcher::{hiplaunch_launcher, timeline_of};
use super::status::{Failure, call, hiplaunch_status};
use super::text::{hiplaunch_text, new_text};

/// The driver calls and the device's work of a launcher that was opened with a timeline, as JSON: a Chrome trace, which
/// <https://ui.perfetto.dev> opens. Work in flight is not included; wait for the streams first to include it. The first
/// 1,048,576 calls, and as much work, are kept; later ones are only counted.
///
/// Ownership: the caller closes the text. Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT for a launcher without
/// a timeline; HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn hiplaunch_timeline_json(
    launcher: *const hiplaunch_launcher,
    json: Option<&mut MaybeUninit<*mut hiplaunch_text>>,
) -> hiplaunch_status {
    call("hiplaunch_timeline_json", || {
        let json = wanted(json, "json")?;
        let Some(timeline) = timeline_of(launcher)? else {
            return Err(Failure::invalid(
                "the launcher has no timeline; open it with one (hiplaunch_options)",
            ));
        };
        let mut bytes = Vec::new();
        hiplaunch_reports::write_chrome_trace(&timeline.snapshot(), &mut bytes)
            .map_err(|error| Failure::new(hiplaunch_status::Internal, error.to_string()))?;
        json.write(new_text(String::from_utf8_lossy(&bytes).into_owned())?);
        Ok(())
    })
}
