//! The machine: one emulated device with its memory and the threads that run its dispatches.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use code_object::CodeObject;

use crate::host::config::MachineConfig;
use crate::host::launch::{Dispatch, DispatchSetup, QueuePacket};
use crate::host::program::LoadedProgram;
use crate::host::run::{DispatchStats, Job};
use crate::host::workgroup::WorkgroupCache;
use crate::memory::AddressSpace;
use crate::memory::blocks::BlockTable;
use crate::observe::{Observers, Sanitizer, Tracing};
use crate::report::error::{Error, Result};
use crate::state::gws::CounterTable;

/// One emulated device: memory, and threads that run dispatches.
///
/// It runs programs for gfx90a and for gfx942. Any number of threads may use a machine at the same time; their
/// dispatches run concurrently.
pub struct Machine {
    config: MachineConfig,
    memory: Arc<AddressSpace>,
    cache: Arc<WorkgroupCache>,
    gws: Arc<CounterTable>,
    queue: Arc<Queue>,
    helpers: Vec<JoinHandle<()>>,
}

/// The dispatches that the machine's threads may help to run.
#[derive(Default)]
struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    jobs: VecDeque<Arc<Job>>,
    closed: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn help(&self, thread: usize) {
        loop {
            let mut state = self.lock();
            let job = loop {
                if let Some(job) = state.jobs.pop_front() {
                    break job;
                }
                if state.closed {
                    return;
                }
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            };
            drop(state);
            job.work(thread, None);
        }
    }
}

impl Machine {
    /// Creates a machine with its own memory, and starts its threads.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the host doesn't have the SIMD level, if the number of threads is 0, or if a
    /// thread can't be started.
    pub fn new(config: MachineConfig) -> Result<Machine> {
        let memory = Arc::new(AddressSpace::new(config.memory_bytes));
        Machine::with_memory(config, memory)
    }

    /// Creates a machine that uses the given memory. [`MachineConfig::memory_bytes`] is ignored.
    ///
    /// # Errors
    /// The same as those of [`new`](Self::new).
    pub fn with_memory(config: MachineConfig, memory: Arc<AddressSpace>) -> Result<Machine> {
        if !config.level.is_available() {
            return Err(Error::InvalidArgument(format!(
                "this processor doesn't have the SIMD level {:?}",
                config.level
            )));
        }
        if config.threads == 0 {
            return Err(Error::InvalidArgument("0 threads; a machine needs at least 1".into()));
        }
        if config.sanitize {
            memory.track_writes();
        }
        memory.set_bounds(config.bounds);
        let mut machine = Machine {
            memory,
            cache: Arc::new(WorkgroupCache::new(config.threads)),
            gws: crate::state::gws::counter_table(),
            queue: Arc::default(),
            helpers: Vec::new(),
            config,
        };
        for n in 1..machine.config.threads {
            let queue = Arc::clone(&machine.queue);
            // If a thread can't be started, dropping the machine ends those that were.
            let helper = std::thread::Builder::new()
                .name(format!("amdgpu-emulator-{n}"))
                .spawn(move || queue.help(n))
                .map_err(|e| Error::InvalidArgument(format!("thread {n} can't be started: {e}")))?;
            machine.helpers.push(helper);
        }
        Ok(machine)
    }

    /// Returns the settings that the machine was created with.
    pub fn config(&self) -> &MachineConfig {
        &self.config
    }

    /// Returns the machine's memory.
    pub fn memory(&self) -> &Arc<AddressSpace> {
        &self.memory
    }

    /// Copies a code object into the machine's memory and applies its relocations.
    ///
    /// # Errors
    /// - [`Error::UnsupportedTarget`] if the code object is for another processor.
    /// - [`Error::ImageInstruction`] if a function has an image instruction that is not executed.
    /// - [`Error::BadCodeObject`] if there is nothing to load.
    /// - [`Error::OutOfMemory`] if it doesn't fit into device memory.
    pub fn load(&self, object: &CodeObject) -> Result<LoadedProgram> {
        LoadedProgram::load(object, &self.memory, self.config.level)
    }

    /// Runs a kernel, and returns when it has ended.
    ///
    /// The machine can be used again after any error.
    ///
    /// # Errors
    /// - [`Error::InvalidArgument`] if the program has no kernel with this number, and [`Error::InvalidLaunch`] if the
    ///   dispatch breaks a limit of the kernel or the device. The kernel has not run.
    /// - [`Error::BadCodeObject`] or [`Error::OutOfMemory`] if the dispatch can't be set up. The kernel has not run.
    /// - [`Error::Fault`] if the kernel faults. It was stopped.
    /// - [`Error::Sanitizer`] if [`MachineConfig::sanitize`] is set and finds defects. The kernel has run to its end.
    /// - [`Error::Incomplete`] if a thread that runs the kernel panics. The kernel was stopped.
    pub fn dispatch(&self, program: &LoadedProgram, dispatch: &Dispatch<'_>) -> Result<DispatchStats> {
        self.dispatch_partial(program, dispatch, [0; 3], self.memory.blocks().capture())
    }

    /// As [`dispatch`](Self::dispatch), where the last workgroups along x, y and z have `remainder` work-items there; 0 for as many
    /// as the others. Of divided allocations, the kernel may access the given blocks, and blocks that came later where there was
    /// none.
    ///
    /// # Errors
    /// The same as those of [`dispatch`](Self::dispatch).
    pub fn dispatch_partial(
        &self,
        program: &LoadedProgram,
        dispatch: &Dispatch<'_>,
        remainder: [u32; 3],
        blocks: Arc<BlockTable>,
    ) -> Result<DispatchStats> {
        self.run(program, dispatch, remainder, blocks, None)
    }

    /// As [`dispatch`](Self::dispatch), for a packet of a queue, of which `dispatch` and `remainder` are the sizes. The kernel gets the
    /// arguments that are in the memory of the packet; those of `dispatch` are ignored.
    ///
    /// # Errors
    /// The same as those of [`dispatch`](Self::dispatch).
    pub fn dispatch_packet(
        &self,
        program: &LoadedProgram,
        dispatch: &Dispatch<'_>,
        remainder: [u32; 3],
        at: &QueuePacket,
    ) -> Result<DispatchStats> {
        self.run(program, dispatch, remainder, self.memory.blocks().capture(), Some(at))
    }

    /// Returns what observes a dispatch; `None` if nothing does.
    #[inline]
    fn observers(
        &self,
        program: &LoadedProgram,
        dispatch: &Dispatch<'_>,
        setup: &DispatchSetup,
    ) -> Option<Observers> {
        let MachineConfig { profile, sanitize, hazards, late_results, instruction_trace, .. } = &self.config;
        if !(*profile || *sanitize || *late_results || instruction_trace.is_some()) {
            return None;
        }
        let sanitizer = sanitize.then(|| {
            let (image, memory) = (Arc::clone(program.inner.image()), Arc::clone(&self.memory));
            Arc::new(Sanitizer::new(image, memory, dispatch.grid, *hazards))
        });
        let tracing = instruction_trace.as_ref().map(|trace| {
            let name = program.kernels().get(dispatch.kernel).map_or("", |kernel| &kernel.name);
            Arc::new(Tracing::new(trace.clone(), name, Arc::clone(program.inner.image())))
        });
        Observers::new(|| setup.decoded.infos(), *profile, sanitizer, tracing, *late_results)
    }

    fn run(
        &self,
        program: &LoadedProgram,
        dispatch: &Dispatch<'_>,
        remainder: [u32; 3],
        blocks: Arc<BlockTable>,
        at: Option<&QueuePacket>,
    ) -> Result<DispatchStats> {
        let (inner, memory) = (&program.inner, &self.memory);
        let setup = DispatchSetup::new(inner, &self.config, memory, dispatch, remainder, at)?;
        let observers = self.observers(program, dispatch, &setup);
        let job = Job::new(
            program.clone(),
            dispatch.kernel,
            setup,
            Arc::clone(&self.memory),
            blocks,
            Arc::clone(&self.cache),
            dispatch.grid,
            &self.config,
            observers,
            Arc::clone(&self.gws),
        );
        let helpers = (self.helpers.len() as u64).min(job.total().saturating_sub(1));
        if helpers == 0 {
            job.work(0, None);
            job.print();
            return job.result();
        }
        let job = Arc::new(job);
        let call = || {
            self.queue.lock().jobs.extend((0..helpers).map(|_| Arc::clone(&job)));
            self.queue.changed.notify_all();
        };
        job.work(0, Some(&call));
        // No workgroups are left to begin, so no other thread has to join.
        self.queue.lock().jobs.retain(|other| !Arc::ptr_eq(other, &job));
        job.wait();
        job.print();
        job.result()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.queue.lock().closed = true;
        self.queue.changed.notify_all();
        for helper in self.helpers.drain(..) {
            // A helper that panicked needs no cleanup.
            let _ = helper.join();
        }
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").field("config", &self.config).finish_non_exhaustive()
    }
}
