//! The times of dispatches and copies, which every signal has, and settings that change nothing on the emulator.

use std::sync::atomic::Ordering::SeqCst;

use super::agent::Agent;
use super::queue::QueuePointer;
use super::runtime::machine;
use super::signal::Signal;
use super::status::Status;
use crate::abi::{Ignored, Out};

/// When something began and ended, in nanoseconds.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Period {
    start: u64,
    end: u64,
}

fn times(signal: Signal, time: Out<Period>) -> Result<(), Status> {
    let slot = signal.slot()?;
    time.set(Period { start: slot.start.load(SeqCst), end: slot.end.load(SeqCst) })
}

pub(crate) fn hsa_amd_profiling_get_dispatch_time(
    agent: Agent,
    signal: Signal,
    time: Out<Period>,
) -> Result<(), Status> {
    agent.kind(machine()?)?;
    times(signal, time)
}

pub(crate) fn hsa_amd_profiling_get_async_copy_time(signal: Signal, time: Out<Period>) -> Result<(), Status> {
    times(signal, time)
}

/// Agents' ticks are those of the system.
pub(crate) fn hsa_amd_profiling_convert_tick_to_system_domain(
    agent: Agent,
    tick: u64,
    system: Out<u64>,
) -> Result<(), Status> {
    agent.kind(machine()?)?;
    system.set(tick)
}

/// Times are taken always.
pub(crate) fn hsa_amd_profiling_set_profiler_enabled(
    _queue: QueuePointer,
    _enable: i32,
) -> Result<(), Status> {
    machine().map(drop)
}

pub(crate) fn hsa_amd_profiling_async_copy_enable(_enable: bool) -> Result<(), Status> {
    machine().map(drop)
}

/// Private memory is the emulator's own.
pub(crate) fn hsa_amd_agent_set_async_scratch_limit(agent: Agent, _bytes: usize) -> Result<(), Status> {
    agent.kind(machine()?).map(drop)
}

/// All memory is coherent (`HSA_AMD_COHERENCY_TYPE_COHERENT`).
pub(crate) fn hsa_amd_coherency_get_type(agent: Agent, kind: Out<u32>) -> Result<(), Status> {
    agent.kind(machine()?)?;
    kind.set(0)
}

pub(crate) fn hsa_amd_coherency_set_type(agent: Agent, kind: u32) -> Result<(), Status> {
    agent.kind(machine()?)?;
    if kind > 1 { Err(Status::INVALID_ARGUMENT) } else { Ok(()) }
}

/// What this library logs, it logs by itself.
pub(crate) fn hsa_amd_enable_logging(_flags: Ignored, _file: Ignored) -> Result<(), Status> {
    machine().map(drop)
}
