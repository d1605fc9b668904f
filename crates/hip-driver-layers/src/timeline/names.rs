//! What handles and numbers refer to, and since when: a driver may use a handle again.

use std::collections::HashMap;
use std::sync::Arc;

use hip_driver::{DeviceId, RawFunction, RawGraphExec, RawStream, WorkSummary};

use super::work::DeviceWork;

/// The maximum number of kernels, of streams, of names of spans, and of nodes of graphs that are kept.
const MOST: usize = 1 << 20;

/// The number of a stream in the timeline, with its driver and device.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamName {
    /// The number of the stream among those of the timeline, from 1.
    pub(super) number: u32,
    pub(super) driver: u32,
    pub(super) device: DeviceId,
}

/// The values of handles. Each value holds from a time on.
#[derive(Debug)]
struct History<T> {
    values: HashMap<(u32, u64), Vec<(u64, T)>>,
    len: usize,
}

impl<T> Default for History<T> {
    fn default() -> Self {
        History { values: HashMap::new(), len: 0 }
    }
}

impl<T> History<T> {
    /// Records what a driver's handle refers to from `since` on. `weight` is the number of entries that the value
    /// counts as. Returns `false` if there are too many.
    fn add(&mut self, (driver, handle): (u32, u64), since: u64, value: T, weight: usize) -> bool {
        if self.len.saturating_add(weight) > MOST {
            return false;
        }
        self.len += weight;
        let values = self.values.entry((driver, handle)).or_default();
        // The end, except when two threads come here in another order than they read the clock.
        let place = values.partition_point(|(earlier, _)| *earlier <= since);
        values.insert(place, (since, value));
        true
    }

    /// Returns what the handle referred to at a time.
    fn at(&self, driver: u32, handle: u64, time: u64) -> Option<&T> {
        let values = self.values.get(&(driver, handle))?;
        let later = values.partition_point(|(since, _)| *since <= time);
        values.get(later.checked_sub(1)?).map(|(_, value)| value)
    }
}

/// All names of a timeline.
#[derive(Debug, Default)]
pub(super) struct Names {
    kernels: History<Arc<str>>,
    streams: History<StreamName>,
    graphs: History<Arc<[DeviceWork]>>,
    streams_made: u32,
    spans: Vec<Arc<str>>,
    span_numbers: HashMap<Arc<str>, u32>,
    /// The names of the devices that have streams, by driver and device.
    pub(super) devices: HashMap<(u32, DeviceId), String>,
}

impl Names {
    pub(super) fn add_kernel(&mut self, driver: u32, function: RawFunction, since: u64, name: &str) {
        // A kernel that is looked up again is not added again.
        let known = self.kernels.at(driver, function.0, since).is_some_and(|known| **known == *name);
        if !known {
            self.kernels.add((driver, function.0), since, name.into(), 1);
        }
    }

    pub(super) fn kernel(&self, driver: u32, function: RawFunction, time: u64) -> Arc<str> {
        match self.kernels.at(driver, function.0, time) {
            Some(name) => Arc::clone(name),
            None => format!("kernel {:#x}", function.0).into(),
        }
    }

    pub(super) fn add_stream(&mut self, driver: u32, device: DeviceId, stream: RawStream, since: u64) {
        let name = StreamName { number: self.streams_made + 1, driver, device };
        if self.streams.add((driver, stream.0), since, name, 1) {
            self.streams_made += 1;
        }
    }

    pub(super) fn stream(&self, driver: u32, stream: RawStream, time: u64) -> Option<StreamName> {
        self.streams.at(driver, stream.0, time).copied()
    }

    pub(super) fn add_graph(
        &mut self,
        driver: u32,
        exec: RawGraphExec,
        since: u64,
        nodes: Arc<[DeviceWork]>,
    ) {
        let weight = nodes.len().max(1);
        self.graphs.add((driver, exec.0), since, nodes, weight);
    }

    /// Returns the number of a span's name; `None` if there are too many names.
    pub(super) fn span(&mut self, name: &str) -> Option<u32> {
        if let Some(number) = self.span_numbers.get(name) {
            return Some(*number);
        }
        let number = u32::try_from(self.spans.len()).ok().filter(|number| (*number as usize) < MOST)?;
        let name: Arc<str> = name.into();
        self.spans.push(Arc::clone(&name));
        self.span_numbers.insert(name, number);
        Some(number)
    }

    pub(super) fn span_name(&self, number: u32) -> Option<&Arc<str>> {
        self.spans.get(number as usize)
    }

    /// Returns the work with its names as they were at `time`.
    pub(super) fn work(&self, driver: u32, work: WorkSummary, time: u64) -> DeviceWork {
        match work {
            WorkSummary::Kernel { function, grid, block, dynamic_lds } => {
                DeviceWork::Kernel { name: self.kernel(driver, function, time), grid, block, dynamic_lds }
            }
            WorkSummary::Copy { direction, bytes } => DeviceWork::Copy { direction, bytes },
            WorkSummary::Fill { bytes } => DeviceWork::Fill { bytes },
            WorkSummary::HostFunction => DeviceWork::HostFunction,
            WorkSummary::WriteValue => DeviceWork::WriteValue,
            WorkSummary::WaitValue => DeviceWork::WaitValue,
            WorkSummary::Empty => DeviceWork::Empty,
            WorkSummary::Graph(exec) => {
                let nodes = self.graphs.at(driver, exec.0, time);
                DeviceWork::Graph { nodes: nodes.map_or_else(|| Arc::from([]), Arc::clone) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_has_the_value_of_its_time() {
        let mut names = Names::default();
        names.add_kernel(0, RawFunction(5), 10, "old");
        names.add_kernel(0, RawFunction(5), 15, "old");
        names.add_kernel(0, RawFunction(5), 30, "newest");
        names.add_kernel(0, RawFunction(5), 20, "new");
        let kernel = |driver, time| names.kernel(driver, RawFunction(5), time).to_string();
        assert_eq!(
            [kernel(0, 10), kernel(0, 19), kernel(0, 20), kernel(0, 29), kernel(0, 99)],
            ["old", "old", "new", "new", "newest"]
        );
        assert_eq!([kernel(0, 9), kernel(1, 30)], ["kernel 0x5", "kernel 0x5"]);
        assert_eq!(names.kernels.len, 3);
    }

    #[test]
    fn names_beyond_the_limit_are_not_kept() {
        let mut history = History::default();
        assert!(history.add((0, 1), 0, 'a', MOST - 1));
        assert!(!history.add((0, 2), 0, 'b', 2));
        assert!(history.add((0, 2), 5, 'c', 1));
        assert_eq!(
            (history.at(0, 1, 0), history.at(0, 2, 4), history.at(0, 2, 5)),
            (Some(&'a'), None, Some(&'c'))
        );
    }
}
