//! The instruction trace: each executed instruction, its wave, and the values of its operands.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use amdgpu_isa::disassemble_words;

use crate::exec::inst::{Code, Inst};
use crate::memory::image::Image;
use crate::observe::registers::{Register, named};
use crate::state::wave::{LANES, Wave};

/// The number of instructions that a trace reports if its filter has no limit.
const LIMIT: u64 = 100_000;

/// Selects the instructions that a trace reports. The default selects all, and reports the first 100,000.
///
/// An instruction has to match every field that is set. The text form is a list of `KEY=VALUE`, separated by commas:
/// `kernel=NAME`, `workgroup=X:Y:Z` (or `X`, or `X:Y`), `wave=N`, `pc=FROM..TO` (ELF virtual addresses),
/// `mnemonic=NAME` (or `v_mfma*` for all that begin with `v_mfma`), `lane=N`, `limit=N`.
///
/// ```
/// use amdgpu_emulator::TraceFilter;
///
/// let filter: TraceFilter = "kernel=saxpy,workgroup=3,mnemonic=global_*,lane=5".parse()?;
/// assert_eq!(filter.workgroup, Some([3, 0, 0]));
/// # Ok::<(), amdgpu_emulator::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceFilter {
    /// The name of the kernel.
    pub kernel: Option<String>,
    /// The position of the workgroup in the grid: x, y, z.
    pub workgroup: Option<[u32; 3]>,
    /// The number of the wave in its workgroup, from 0.
    pub wave: Option<u32>,
    /// The range of addresses: ELF virtual addresses, as in the disassembly.
    pub pc: Option<Range<u64>>,
    /// The mnemonic, without `_e32`, `_e64`, `_sdwa` or `_dpp`. A `*` at the end matches any ending.
    pub mnemonic: Option<String>,
    /// The lane, 0 to 63, whose values of vector registers are reported; by default the first active one.
    pub lane: Option<u8>,
    /// The largest number of instructions that are reported; 100,000 by default.
    pub limit: Option<u64>,
}

impl TraceFilter {
    fn takes_workgroup(&self, kernel: &str, workgroup: [u32; 3]) -> bool {
        self.kernel.as_ref().is_none_or(|name| name == kernel)
            && self.workgroup.is_none_or(|w| w == workgroup)
    }

    fn takes(&self, wave: u32, pc: u64, mnemonic: &str) -> bool {
        self.wave.is_none_or(|w| w == wave)
            && self.pc.as_ref().is_none_or(|range| range.contains(&pc))
            && self.mnemonic.as_ref().is_none_or(|pattern| match pattern.strip_suffix('*') {
                Some(start) => mnemonic.starts_with(start),
                None => mnemonic == pattern,
            })
    }
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

impl FromStr for TraceFilter {
    type Err = crate::Error;

    fn from_str(text: &str) -> Result<TraceFilter, crate::Error> {
        let mut filter = TraceFilter::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let wrong = |why: &str| {
                crate::Error::InvalidArgument(format!(
                    "`{part}` in a trace filter: {why}; parts are kernel=NAME, workgroup=X:Y:Z, wave=N, pc=FROM..TO, \
                     mnemonic=NAME or mnemonic=START*, lane=N, limit=N"
                ))
            };
            let Some((key, value)) = part.split_once('=') else { return Err(wrong("it has no `=`")) };
            let small =
                |text: &str| number(text).and_then(|n| u32::try_from(n).ok()).ok_or(wrong("not a number"));
            match key.trim() {
                "kernel" => filter.kernel = Some(value.into()),
                "workgroup" => {
                    let mut workgroup = [0; 3];
                    let parts: Vec<&str> = value.split(':').collect();
                    if parts.len() > 3 {
                        return Err(wrong("more than three numbers"));
                    }
                    for (to, part) in workgroup.iter_mut().zip(parts) {
                        *to = small(part)?;
                    }
                    filter.workgroup = Some(workgroup);
                }
                "wave" => filter.wave = Some(small(value)?),
                "pc" => {
                    let range = value.split_once("..").and_then(|(a, b)| Some(number(a)?..number(b)?));
                    filter.pc = Some(range.ok_or(wrong("not a range of addresses"))?);
                }
                "mnemonic" => filter.mnemonic = Some(value.into()),
                "lane" => match u8::try_from(small(value)?) {
                    Ok(lane) if usize::from(lane) < LANES => filter.lane = Some(lane),
                    _ => return Err(wrong("lanes are 0 to 63")),
                },
                "limit" => filter.limit = Some(number(value).ok_or(wrong("not a number"))?),
                _ => return Err(wrong("no such key")),
            }
        }
        Ok(filter)
    }
}

/// The value of a register before and after an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedRegister {
    /// The name of the register, such as `v3`, `s10`, `a0`, `vcc` or `exec`.
    pub name: String,
    /// The value before the instruction: 64 bits for `vcc` and `exec`, else 32. For a vector register, the value of
    /// [`TracedInstruction::lane`].
    pub before: u64,
    /// The value after the instruction.
    pub after: u64,
}

/// An instruction that a wave has executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedInstruction {
    /// The name of the kernel.
    pub kernel: Arc<str>,
    /// The position of the workgroup in the grid: x, y, z.
    pub workgroup: [u32; 3],
    /// The number of the wave in its workgroup, from 0.
    pub wave: u32,
    /// The ELF virtual address of the instruction.
    pub pc: u64,
    /// The disassembled instruction.
    pub text: String,
    /// The mask of active lanes before the instruction.
    pub exec: u64,
    /// The lane, 0 to 63, whose values of vector registers are in `registers`.
    pub lane: u8,
    /// The registers that the text names; and VCC, EXEC and SCC if the instruction changed them.
    pub registers: Vec<TracedRegister>,
}

impl fmt::Display for TracedInstruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.workgroup;
        write!(f, "{} ({x},{y},{z}) wave {} {:#x}: {:<44}", self.kernel, self.wave, self.pc, self.text)?;
        write!(f, " ; exec {:016x}, lane {}", self.exec, self.lane)?;
        for TracedRegister { name, before, after } in &self.registers {
            write!(f, ", {name} {before:#x}")?;
            if before != after {
                write!(f, " -> {after:#x}")?;
            }
        }
        Ok(())
    }
}

struct Inner {
    filter: TraceFilter,
    limit: u64,
    /// The number of instructions that the filter has selected.
    passed: AtomicU64,
    sink: Box<dyn Fn(&TracedInstruction) + Send + Sync>,
}

/// An instruction trace, for [`MachineConfig::instruction_trace`](crate::MachineConfig::instruction_trace).
///
/// Clones share the filter, the sink and the number of instructions reported.
#[derive(Clone)]
pub struct InstructionTrace(Arc<Inner>);

impl InstructionTrace {
    /// Creates a trace that calls `sink` with each instruction that `filter` selects. The instructions of one wave come
    /// in the order of execution. Any thread that runs a wave may call `sink`, and several may call it at the same
    /// time.
    pub fn new(
        filter: TraceFilter,
        sink: impl Fn(&TracedInstruction) + Send + Sync + 'static,
    ) -> InstructionTrace {
        let limit = filter.limit.unwrap_or(LIMIT);
        InstructionTrace(Arc::new(Inner { filter, limit, passed: AtomicU64::new(0), sink: Box::new(sink) }))
    }

    /// Returns the number of instructions that the filter has selected but the limit excluded.
    pub fn left_out(&self) -> u64 {
        self.0.passed.load(Relaxed).saturating_sub(self.0.limit)
    }
}

impl fmt::Debug for InstructionTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InstructionTrace").field("filter", &self.0.filter).finish_non_exhaustive()
    }
}

/// Two traces are equal if one is a clone of the other.
impl PartialEq for InstructionTrace {
    fn eq(&self, other: &InstructionTrace) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for InstructionTrace {}

/// Traces one dispatch.
pub(crate) struct Tracing {
    trace: InstructionTrace,
    kernel: Arc<str>,
    image: Arc<Image>,
}

impl Tracing {
    pub(crate) fn new(trace: InstructionTrace, kernel: &str, image: Arc<Image>) -> Tracing {
        Tracing { trace, kernel: kernel.into(), image }
    }

    /// Returns the tracer of a workgroup; `None` if the filter selects none of its instructions.
    pub(crate) fn begin(self: &Arc<Self>, workgroup: [u32; 3]) -> Option<Tracer> {
        let takes = self.trace.0.filter.takes_workgroup(&self.kernel, workgroup);
        takes.then(|| Tracer { tracing: Arc::clone(self), workgroup, pending: None })
    }
}

/// Traces one workgroup.
pub(crate) struct Tracer {
    tracing: Arc<Tracing>,
    workgroup: [u32; 3],
    /// The instruction that is being executed, with the values before it.
    pending: Option<(TracedInstruction, Vec<Register>)>,
}

impl Tracer {
    /// Called before an instruction is executed.
    pub(crate) fn before(&mut self, w: &Wave, code: &Code, i: &Inst) {
        let Tracing { trace, kernel, image } = &*self.tracing;
        let pc = image.vaddr(code.base + 4 * u64::from(i.pc));
        let filter = &trace.0.filter;
        if !filter.takes(w.id, pc, i.row.name) || trace.0.passed.fetch_add(1, Relaxed) >= trace.0.limit {
            return;
        }
        let text = disassemble_words(code.isa(), &i.raw, pc)
            .map_or_else(|| i.row.name.into(), |instruction| instruction.text);
        let exec = w.exec();
        let lane = filter.lane.unwrap_or(exec.trailing_zeros() as u8 % LANES as u8);
        let mut registers = named(&text);
        // Many instructions change these registers without naming them.
        registers
            .extend(Register::FLAGS.into_iter().filter(|flag| !registers.contains(flag)).collect::<Vec<_>>());
        let values = registers.iter().map(|register| TracedRegister {
            name: register.to_string(),
            before: register.value(w, lane.into()),
            after: 0,
        });
        let traced = TracedInstruction {
            kernel: Arc::clone(kernel),
            workgroup: self.workgroup,
            wave: w.id,
            pc,
            exec,
            lane,
            registers: values.collect(),
            text,
        };
        self.pending = Some((traced, registers));
    }

    /// Called after the instruction was executed.
    pub(crate) fn after(&mut self, w: &Wave) {
        let Some((mut traced, registers)) = self.pending.take() else { return };
        let explicit = named(&traced.text);
        for (value, register) in traced.registers.iter_mut().zip(&registers) {
            value.after = register.value(w, traced.lane.into());
        }
        let mut shown = registers.iter().map(|register| explicit.contains(register));
        traced.registers.retain(|value| shown.next().unwrap_or(false) || value.before != value.after);
        (self.tracing.trace.0.sink)(&traced);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_parsed_from_text() {
        let filter: TraceFilter =
            "kernel=k, workgroup=1:2:3,wave=4,pc=0x10..32,mnemonic=v_mfma*,lane=63,limit=5".parse().unwrap();
        let expected = TraceFilter {
            kernel: Some("k".into()),
            workgroup: Some([1, 2, 3]),
            wave: Some(4),
            pc: Some(16..32),
            mnemonic: Some("v_mfma*".into()),
            lane: Some(63),
            limit: Some(5),
        };
        assert_eq!(filter, expected);
        assert!(filter.takes_workgroup("k", [1, 2, 3]) && !filter.takes_workgroup("k", [1, 2, 4]));
        assert!(filter.takes(4, 16, "v_mfma_f32_4x4x1f32") && !filter.takes(4, 32, "v_mfma_f32_4x4x1f32"));
        assert!(!filter.takes(4, 16, "v_add_f32") && !filter.takes(3, 16, "v_mfma_x"));
        assert_eq!("".parse::<TraceFilter>().unwrap(), TraceFilter::default());
        for bad in ["x=1", "wave", "wave=x", "pc=1", "lane=64", "workgroup=1:2:3:4", "limit=-1"] {
            let error = bad.parse::<TraceFilter>().unwrap_err().to_string();
            assert!(error.contains(bad) && error.contains("limit=N"), "{error}");
        }
    }
}
