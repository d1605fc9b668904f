//! What an emulated machine is made of.

use std::time::Duration;

use crate::exec::level::SimdLevel;
use crate::host::hostcall::Printer;
use crate::observe::InstructionTrace;

/// Settings of a [`Machine`](crate::Machine).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// Bytes of device memory that may be allocated. Host memory is only taken as it is allocated and touched.
    pub device_memory: u64,
    /// Host threads that run workgroups, the dispatching one included; at least 1.
    pub threads: usize,
    /// How wide the host's vectors may be. [`Machine::new`](crate::Machine::new) refuses what the host can't run.
    pub level: SimdLevel,
    /// Bytes of scratch that each lane gets besides what the kernel declares, if it uses a dynamic stack (recursion,
    /// calls through pointers), whose need no compiler knows.
    pub dynamic_stack: u32,
    /// Wave instructions after which a dispatch faults; none by default.
    pub instruction_budget: Option<u64>,
    /// Time after which a dispatch faults; none by default.
    pub time_budget: Option<Duration>,
    /// Where kernels' `printf` goes.
    pub printer: Printer,
    /// Shuffles the order in which workgroups begin and go on, the order of a workgroup's waves, and after how many
    /// instructions the next wave runs, which may be any. A kernel without data races gives the same results with any
    /// seed; one with a race may give others. With one thread a seed gives one order. None by default: the usual order.
    pub schedule_seed: Option<u64>,
    /// Counts what each dispatch does: [`DispatchStats::profile`](crate::DispatchStats::profile). Kernels run much
    /// slower. Off by default.
    pub profile: bool,
    /// Looks for reads of bytes that nothing has written, and for data races; a dispatch that has either ends with
    /// [`Error::Sanitizer`](crate::Error::Sanitizer) after it has run. Kernels run very much slower, and memory of about
    /// twenty times what they access is taken while they run. WATCHING.md says what counts. Off by default.
    pub sanitize: bool,
    /// Is given the instructions that kernels execute; none by default.
    pub instruction_trace: Option<InstructionTrace>,
}

impl Default for Config {
    /// 16 GiB of device memory, a thread for each core, the widest vectors, 16 KiB of dynamic stack, no budgets, the
    /// process's standard output, the usual order, and
    /// nothing watched.
    fn default() -> Config {
        Config {
            device_memory: 16 << 30,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            level: SimdLevel::best(),
            dynamic_stack: 16 << 10,
            instruction_budget: None,
            time_budget: None,
            printer: Printer::default(),
            schedule_seed: None,
            profile: false,
            sanitize: false,
            instruction_trace: None,
        }
    }
}
