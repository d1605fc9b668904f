//! A batch as a driver graph that is instantiated once: what launching it costs without a launcher.

use hip_driver::{RawGraph, RawGraphExec, RawGraphNode, Work as DriverWork};
use hiplaunch::{Error, Stream};

use super::raw::{Memory, Raw, Slots};
use super::work::{Sink, WORDS_AT, Work};
use super::{Job, LaunchMethod, MethodStream, Setup, Stop};

/// A stream that launches a driver graph: one call copies the blocks in, launches, and copies the results out.
pub(super) struct Replayed {
    exec: RawGraphExec,
    // Dropped before the memory. The drop of this struct waits before.
    raw: Raw,
    work: Work,
    sink: Sink,
    staged: Slots,
    read: Slots,
    // The memory that the graph's nodes use.
    _blocks: Memory,
    _out: Memory,
    /// The bytes from one block to the next.
    stride: usize,
    results: usize,
}

impl Replayed {
    pub(super) fn prepare(job: &Job, setup: &Setup<'_>) -> Result<Replayed, Error> {
        let mut raw = Raw::new(LaunchMethod::RawGraph, job, setup)?;
        let sink = Sink::new(job, &raw.stream)?;
        raw.set_rest(1, job, &sink);
        let count = job.in_flight();
        let stride = (WORDS_AT + job.arguments).next_multiple_of(256);
        let staged = Slots::new(&raw, 1, count * stride)?;
        let read = Slots::new(&raw, 1, count * job.results)?;
        let (blocks, out) = (Memory::new(&raw, count * stride)?, Memory::new(&raw, count * job.results)?);
        for slot in 0..count {
            let address = out.ptr.offset((slot * job.results) as u64);
            staged.write(0, slot * stride, &address.0.to_le_bytes());
        }
        let driver = raw.driver.clone();
        let graph = driver.graph_create(raw.device)?;
        let exec = fill(&mut raw, graph, job, (&staged, &blocks, count * stride, stride), (&read, &out));
        // SAFETY: only this function has the graph; what was instantiated from it stays valid.
        let gone = unsafe { driver.graph_destroy(raw.device, graph) };
        let exec = exec?;
        if let Err(e) = gone {
            log::warn!("the bench's graph: {e}");
        }
        let work = Work::new(job, true);
        Ok(Replayed {
            exec,
            raw,
            work,
            sink,
            staged,
            read,
            _blocks: blocks,
            _out: out,
            stride,
            results: job.results,
        })
    }
}

/// Adds the nodes, each after the one before, and instantiates the graph.
fn fill(
    raw: &mut Raw,
    graph: RawGraph,
    job: &Job,
    (staged, blocks, bytes, stride): (&Slots, &Memory, usize, usize),
    (read, out): (&Slots, &Memory),
) -> Result<RawGraphExec, Error> {
    let (driver, device) = (raw.driver.clone(), raw.device);
    let mut last: Option<RawGraphNode> = None;
    if job.arguments > 0 {
        // SAFETY: nodes of this graph; memory of that size on both sides, which outlives what is instantiated.
        let node = unsafe {
            driver.graph_add(
                device,
                graph,
                &[],
                &DriverWork::CopyToDevice { dst: blocks.ptr, src: staged.host(0), bytes },
            )
        }?;
        last = Some(node);
    }
    for slot in 0..job.in_flight() {
        raw.set(0, &blocks.ptr.offset((slot * stride) as u64).0.to_le_bytes());
        // SAFETY: nodes of this graph; the segment as for a launch; the module outlives what is instantiated.
        let node = unsafe {
            driver.graph_add(device, graph, last.as_slice(), &DriverWork::Kernel(&raw.as_launch()))
        }?;
        last = Some(node);
    }
    if job.results > 0 {
        let bytes = job.in_flight() * job.results;
        // SAFETY: as for the first copy.
        unsafe {
            driver.graph_add(
                device,
                graph,
                last.as_slice(),
                &DriverWork::CopyToHost { dst: read.host(0), src: out.ptr, bytes },
            )
        }?;
    }
    // SAFETY: only the caller has the graph.
    Ok(unsafe { driver.graph_instantiate(device, graph) }?)
}

impl Drop for Replayed {
    fn drop(&mut self) {
        let Raw { driver, device, .. } = &self.raw;
        // SAFETY: no launch of it is in flight after the wait, or the device is lost.
        let gone = self.raw.wait().and_then(|()| {
            // SAFETY: as above.
            unsafe { driver.graph_exec_destroy(*device, self.exec) }.map_err(Error::from)
        });
        if let Err(e) = gone {
            log::warn!("the bench's graph: {e}");
        }
    }
}

impl MethodStream for Replayed {
    fn launch(&mut self) -> Result<(), Error> {
        let (slot, block) = self.work.next();
        if block.len() > WORDS_AT {
            self.staged.write(0, slot * self.stride + WORDS_AT, &block[WORDS_AT..]);
        }
        Ok(())
    }

    fn submit(&mut self) -> Result<(), Error> {
        let Raw { driver, device, stream, .. } = &self.raw;
        // SAFETY: the nodes' memory is this stream's; the launch before it was waited for.
        unsafe { driver.enqueue(*device, stream.raw(), &DriverWork::Graph(self.exec)) }?;
        Ok(())
    }

    fn collect(&mut self) -> Result<(), Error> {
        self.raw.wait()?;
        if self.results > 0 {
            self.read.read(0, self.work.results());
        }
        self.work.collected();
        Ok(())
    }

    fn check_results(&self) -> Result<(), Stop> {
        self.work.check_results()
    }

    fn check_sum(&self) -> Result<(), Stop> {
        self.work.check_sum(self.sink.read(&self.raw.stream)?)
    }

    fn stream(&self) -> &Stream {
        &self.raw.stream
    }
}
