//! Timelines and snapshots of memory pools.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hiplaunch::driver::timeline::TimelineSnapshot;
use hiplaunch::memory;
use hiplaunch_reports::{pool_json, pool_svg, write_chrome_trace};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::dict::dict;
use crate::live::{Live, Shared};

/// The calls and the work of a launcher since it was opened with timeline=True. Launcher.timeline returns it.
#[pyclass(frozen, module = "hiplaunch")]
pub(crate) struct Timeline(Live<hiplaunch::Timeline>);

/// The rows that `_repr_html_` shows.
const ROWS: usize = 30;

impl Timeline {
    pub(crate) fn new(shared: &Arc<Shared>, timeline: hiplaunch::Timeline) -> Timeline {
        Timeline(Live::new(shared, timeline))
    }

    fn snapshot(&self) -> PyResult<TimelineSnapshot> {
        Ok(self.0.own()?.snapshot())
    }
}

#[pymethods]
impl Timeline {
    /// Returns what was recorded as a Chrome trace in JSON, which ui.perfetto.dev opens. Work in flight is not in it: synchronize
    /// first.
    fn to_json(&self) -> PyResult<String> {
        let mut text = Vec::new();
        write_chrome_trace(&self.snapshot()?, &mut text)?;
        Ok(String::from_utf8(text)?)
    }

    /// Writes what `to_json` returns to a file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        let mut file = BufWriter::new(File::create(path)?);
        write_chrome_trace(&self.snapshot()?, &mut file)?;
        Ok(file.flush()?)
    }

    /// Returns the work that has run, in the order in which it began on each stream: a list of dicts with device, stream, name,
    /// kind ('kernel', 'copy', 'fill', ...), begin and duration in seconds since the launcher was opened.
    fn work<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let snapshot = self.snapshot()?;
        let mut all = Vec::new();
        for device in &snapshot.devices {
            for stream in &device.streams {
                for span in &stream.spans {
                    let dict = PyDict::new(py);
                    dict.set_item("device", device.device.0)?;
                    dict.set_item("stream", stream.number)?;
                    dict.set_item("name", span.work.to_string())?;
                    dict.set_item("kind", span.work.category())?;
                    dict.set_item("begin", span.begin.as_secs_f64())?;
                    dict.set_item("duration", span.end.saturating_sub(span.begin).as_secs_f64())?;
                    all.push(dict);
                }
            }
        }
        Ok(all)
    }

    /// A table of the work by name, the longest first, for notebooks.
    fn _repr_html_(&self) -> PyResult<String> {
        let snapshot = self.snapshot()?;
        let mut by_name: BTreeMap<(String, &str), (usize, Duration)> = BTreeMap::new();
        for span in snapshot.devices.iter().flat_map(|d| &d.streams).flat_map(|s| &s.spans) {
            let (count, time) = by_name.entry((span.work.to_string(), span.work.category())).or_default();
            *count += 1;
            *time += span.end.saturating_sub(span.begin);
        }
        let mut rows: Vec<_> = by_name.into_iter().collect();
        rows.sort_by_key(|(_, (_, time))| std::cmp::Reverse(*time));
        let mut html = String::from(
            "<table><tr><th>work</th><th>kind</th><th>count</th><th>total (µs)</th><th>mean (µs)</th></tr>",
        );
        for ((name, kind), (count, time)) in rows.iter().take(ROWS) {
            let name = name.replace('&', "&amp;").replace('<', "&lt;");
            let total = time.as_secs_f64() * 1e6;
            // Writing to a string does not fail.
            let _ = write!(
                html,
                "<tr><td>{name}</td><td>{kind}</td><td>{count}</td><td>{total:.1}</td><td>{:.1}</td></tr>",
                total / *count as f64
            );
        }
        html.push_str("</table>");
        if rows.len() > ROWS {
            let _ = write!(html, "<p>and {} more</p>", rows.len() - ROWS);
        }
        Ok(html)
    }

    fn __repr__(&self) -> PyResult<String> {
        let snapshot = self.snapshot()?;
        let calls: usize = snapshot.threads.iter().map(|thread| thread.spans.len()).sum();
        let work: usize = snapshot.devices.iter().flat_map(|d| &d.streams).map(|s| s.spans.len()).sum();
        Ok(format!("<hiplaunch.Timeline: {calls} calls, {work} pieces of work>"))
    }
}

/// What the memory pool of a device held when Device.pool_snapshot was called.
#[pyclass(frozen, module = "hiplaunch")]
pub(crate) struct PoolSnapshot(memory::PoolSnapshot);

impl PoolSnapshot {
    pub(crate) fn new(snapshot: memory::PoolSnapshot) -> PoolSnapshot {
        PoolSnapshot(snapshot)
    }
}

#[pymethods]
impl PoolSnapshot {
    /// The counters, as a dict: bytes requested, in_use, held_back, cached, reserved and the peaks of them; the number of
    /// live_blocks, segments, hits, misses, steals and frees.
    #[getter]
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        Ok(dict!(py, self.0.counters =>
            requested, in_use, held_back, cached, reserved, peak_reserved, peak_in_use, peak_requested, largest_free,
            hits, misses, steals, frees, live_blocks, segments))
    }

    /// Returns all of it in JSON: the counters, and the segments with their blocks. Sizes are in bytes.
    fn to_json(&self) -> String {
        pool_json(&self.0).to_string()
    }

    /// Returns a picture in SVG: a bar for each segment, with its blocks by state.
    fn to_svg(&self) -> String {
        pool_svg(&self.0)
    }

    /// The picture, for notebooks.
    fn _repr_html_(&self) -> String {
        self.to_svg()
    }

    fn __repr__(&self) -> String {
        format!("<hiplaunch.PoolSnapshot of device {}: {}>", self.0.device.0, self.0.totals().join("; "))
    }
}
