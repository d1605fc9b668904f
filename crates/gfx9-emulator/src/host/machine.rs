//! The emulated device: memory, programs, and threads that run dispatches.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use code_object::CodeObject;

use crate::host::config::Config;
use crate::host::launch::{Dispatch, DispatchSetup};
use crate::host::program::Program;
use crate::host::run::{DispatchStats, Job, WorkgroupCache};
use crate::memory::AddressSpace;
use crate::observe::{Observers, Sanitizer, Tracing};
use crate::report::error::{Error, Result};
use crate::state::gws::CounterTable;

/// An emulated gfx90a or gfx942: whichever a program is compiled for.
///
/// Any number of threads may use it at once; dispatches on it run concurrently.
pub struct Machine {
    config: Config,
    memory: Arc<AddressSpace>,
    cache: Arc<WorkgroupCache>,
    gws: Arc<CounterTable>,
    queue: Arc<Queue>,
    helpers: Vec<JoinHandle<()>>,
}

/// Jobs that helpers may join.
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
    /// A machine with these settings, and memory of its own.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the host can't run the level, for 0 threads, or if a thread can't be started.
    pub fn new(config: Config) -> Result<Machine> {
        let memory = Arc::new(AddressSpace::new(config.device_memory));
        Machine::with_memory(config, memory)
    }

    /// A machine with these settings but for [`Config::device_memory`], and that memory.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_memory(config: Config, memory: Arc<AddressSpace>) -> Result<Machine> {
        if !config.level.is_available() {
            return Err(Error::InvalidArgument(format!("this processor can't run {:?}", config.level)));
        }
        if config.threads == 0 {
            return Err(Error::InvalidArgument("0 threads".into()));
        }
        if config.sanitize {
            memory.track_writes();
        }
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
            // Dropping the machine on failure ends those already started.
            let helper = std::thread::Builder::new()
                .name(format!("gfx9-emulator-{n}"))
                .spawn(move || queue.help(n))
                .map_err(|e| Error::InvalidArgument(format!("thread {n} can't be started: {e}")))?;
            machine.helpers.push(helper);
        }
        Ok(machine)
    }

    /// Its settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Its memory.
    pub fn memory(&self) -> &Arc<AddressSpace> {
        &self.memory
    }

    /// Maps a code object into memory.
    ///
    /// # Errors
    /// [`Error::UnsupportedTarget`], [`Error::ImageInstruction`], [`Error::BadCodeObject`], or [`Error::OutOfMemory`].
    pub fn load(&self, object: &CodeObject) -> Result<Program> {
        Program::load(object, &self.memory, self.config.level)
    }

    /// Runs a kernel and waits for it. It sees the allocations that are live at the call.
    ///
    /// # Errors
    /// [`Error::InvalidLaunch`] before anything runs; [`Error::Fault`] when the kernel does what it must not,
    /// [`Error::Sanitizer`] when it has run and [`Config::sanitize`] found defects, and [`Error::Incomplete`] when a thread
    /// panics that runs it, after which the machine goes on as before.
    pub fn dispatch(&self, program: &Program, dispatch: &Dispatch<'_>) -> Result<DispatchStats> {
        let setup = DispatchSetup::new(&program.inner, &self.config, &self.memory, dispatch)?;
        let infos = || program.inner.infos(&setup.code);
        let sanitizer = self.config.sanitize.then(|| {
            Arc::new(Sanitizer::new(
                Arc::clone(program.inner.image()),
                Arc::clone(&self.memory),
                dispatch.grid,
            ))
        });
        let tracing = self.config.instruction_trace.as_ref().map(|trace| {
            let name = program.kernels().get(dispatch.kernel).map_or("", |kernel| &kernel.name);
            Arc::new(Tracing::new(trace.clone(), name, Arc::clone(program.inner.image())))
        });
        let observers = Observers::new(infos, self.config.profile, sanitizer, tracing);
        let job = Arc::new(Job::new(
            program.clone(),
            dispatch.kernel,
            setup,
            Arc::clone(&self.memory),
            Arc::clone(&self.cache),
            dispatch.grid,
            self.config.instruction_budget,
            self.config.time_budget.map(|budget| Instant::now() + budget),
            self.config.schedule_seed,
            observers,
            Arc::clone(&self.gws),
        ));
        let helpers = (self.helpers.len() as u64).min(job.total().saturating_sub(1));
        let call = || {
            self.queue.lock().jobs.extend((0..helpers).map(|_| Arc::clone(&job)));
            self.queue.changed.notify_all();
        };
        job.work(0, if helpers > 0 { Some(&call) } else { None });
        if helpers > 0 {
            // Nobody has to join any more.
            self.queue.lock().jobs.retain(|other| !Arc::ptr_eq(other, &job));
            job.wait();
        }
        job.print();
        job.result()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.queue.lock().closed = true;
        self.queue.changed.notify_all();
        for helper in self.helpers.drain(..) {
            // A helper that panicked has nothing left to clean up.
            let _ = helper.join();
        }
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").field("config", &self.config).finish_non_exhaustive()
    }
}
