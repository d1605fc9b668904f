//! The settings of a machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kernel_services::Printer;

use crate::exec::level::SimdLevel;
use crate::memory::bounds::Bounds;
use crate::memory::grain::FineGrainedAtomics;
use crate::observe::InstructionTrace;

/// Settings of a [`Machine`](crate::Machine).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineConfig {
    /// Capacity of the device memory in bytes; 16 GiB by default. The host's memory is used only as kernels or the host
    /// write to what is allocated.
    pub memory_bytes: u64,
    /// Number of host threads that run workgroups, including the one that calls
    /// [`Machine::dispatch`](crate::Machine::dispatch); at least 1. One for each core by default.
    pub threads: usize,
    /// The width of the host's vector instructions that are used; by default the widest that the host has.
    /// [`Machine::new`](crate::Machine::new) fails if the host doesn't have them.
    pub level: SimdLevel,
    /// Bytes of private memory that each lane has in addition to what the kernel declares, if the kernel uses a dynamic
    /// stack (recursion, calls through pointers). Compilers can't compute how much such a kernel needs. 16 KiB by
    /// default.
    pub dynamic_stack: u32,
    /// The number of wave instructions after which a dispatch faults with
    /// [`FaultCause::OverBudget`](crate::FaultCause::OverBudget); `None`, the default, is no limit.
    pub instruction_budget: Option<u64>,
    /// The time after which a dispatch faults with [`FaultCause::OverBudget`](crate::FaultCause::OverBudget); `None`,
    /// the default, is no limit.
    pub time_budget: Option<Duration>,
    /// Ends dispatches from another thread. The default never does.
    pub interrupt: Interrupt,
    /// Receives the text that kernels print. The default writes it to the process's standard output and error.
    pub printer: Printer,
    /// Shuffles the order in which workgroups begin and continue, the order of a workgroup's waves, and the lengths of
    /// time slices. A kernel without data races has the same results with every seed; a kernel with a race may not.
    /// With one thread, a seed always gives the same order. `None`, the default, does not shuffle.
    pub schedule_seed: Option<u64>,
    /// Counts what each dispatch does, in [`DispatchStats::profile`](crate::DispatchStats::profile). Kernels run much
    /// slower. Off by default.
    pub profile: bool,
    /// Looks for data races, for reads of bytes that were never written, and for missing waits. A dispatch that has one
    /// of these runs to its end and then fails with [`Error::Sanitizer`](crate::Error::Sanitizer); OBSERVING.md defines them. Kernels run a
    /// few times slower, and use about four bytes of host memory for each byte that they access. Off by default.
    pub sanitize: bool,
    /// Whether the sanitizer also looks for hazards: pairs of instructions that need more wait states between them than
    /// there are. Only code that no compiler has scheduled can have any. Off by default; without
    /// [`sanitize`](Self::sanitize) it has no effect.
    pub hazards: bool,
    /// Which bytes behind an allocation kernels can access. It holds for memory that is allocated once the machine is
    /// created. [`Bounds::Strict`] by default.
    pub bounds: Bounds,
    /// What floating-point atomics to fine-grained memory do on gfx90a, whose hardware does not perform them.
    /// [`DispatchStats::notices`](crate::DispatchStats::notices) has them in any case.
    /// [`FineGrainedAtomics::Perform`] by default.
    pub fine_grained_atomics: FineGrainedAtomics,
    /// The number of compute units. With the kernel's occupancy, it says how many workgroups are resident: have begun and not
    /// ended, and can wait for each other. 104 by default, those of one die of an MI250.
    pub compute_units: u32,
    /// The most LDS of a workgroup in bytes; at most [`MAX_LDS`](crate::MAX_LDS). `None`, the default, is as much as the processor has for
    /// which the code is, and that of gfx942 for gfx9-4-generic, whose code a gfx950 runs with more.
    pub lds_bytes: Option<u32>,
    /// Whether SRAM-ECC is on. Where it is, a load of 16 bits writes 0 to the other half of its register. gfx942 and gfx950 have it
    /// on always, gfx11 never. On by default.
    pub sram_ecc: bool,
    /// Receives the instructions that kernels execute; `None`, the default, traces nothing.
    pub instruction_trace: Option<InstructionTrace>,
    /// Delivers the results of loads, and of atomics with a result, as late as `s_waitcnt` allows, which is later than
    /// hardware does. A kernel has the same results unless a wait is missing. Off by default.
    pub late_results: bool,
}

/// Ends the dispatches of machines from another thread, as when a user stops a program. Clones are the same interrupt. The default
/// is none.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Option<Arc<AtomicBool>>);

impl Interrupt {
    /// Returns an interrupt, of which a machine gets a clone.
    pub fn new() -> Interrupt {
        Interrupt(Some(Arc::default()))
    }

    /// Makes every dispatch that runs, and every later one, fault with
    /// [`FaultCause::Interrupted`](crate::FaultCause::Interrupted). Does nothing to a default.
    pub fn end_dispatches(&self) {
        if let Some(is_set) = &self.0 {
            is_set.store(true, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        self.0.as_ref().is_some_and(|is_set| is_set.load(Ordering::Relaxed))
    }
}

/// Clones are equal, and so are defaults.
impl PartialEq for Interrupt {
    fn eq(&self, other: &Interrupt) -> bool {
        self.0.as_ref().map(Arc::as_ptr) == other.0.as_ref().map(Arc::as_ptr)
    }
}

impl Eq for Interrupt {}

impl Default for MachineConfig {
    /// Returns the default that each field documents.
    fn default() -> MachineConfig {
        MachineConfig {
            memory_bytes: 16 << 30,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            level: SimdLevel::best(),
            dynamic_stack: 16 << 10,
            instruction_budget: None,
            time_budget: None,
            interrupt: Interrupt::default(),
            printer: Printer::default(),
            schedule_seed: None,
            profile: false,
            sanitize: false,
            hazards: false,
            bounds: Bounds::default(),
            fine_grained_atomics: FineGrainedAtomics::default(),
            compute_units: 104,
            lds_bytes: None,
            sram_ecc: true,
            instruction_trace: None,
            late_results: false,
        }
    }
}
