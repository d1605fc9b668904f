//! Delivers the results of memory instructions as late as `s_waitcnt` allows, to show what depends on a missing wait.
//!
//! Memory is accessed when the instruction is executed. Only its registers, and the bytes of LDS that a load to LDS
//! writes, keep their old values until a wait, or a counter that is full, makes the result certain.

use amdgpu_isa::Row;

use crate::exec::inst::{ExecContext, Inst};
use crate::memory::lds::Lds;
use crate::observe::accesses::AccessedBytes;
use crate::observe::class::Info;
use crate::observe::operands::{RegisterUse, SCALAR};
use crate::observe::waits::{Begun, Counting, Outstanding, begun, bits_written, counters, limits};
use crate::report::access::MemorySpace;
use crate::state::wave::{Lanes, Wave, lanes_of};

/// The values of registers and of bytes of LDS.
#[derive(Clone, Default)]
struct Values {
    vectors: Vec<Lanes>,
    scalars: Vec<u32>,
    /// Addresses and bytes.
    lds: Vec<(usize, Vec<u8>)>,
}

/// A result that has not been delivered.
struct Result {
    row: &'static Row,
    registers: Option<RegisterUse>,
    lanes: u64,
    values: Values,
}

/// The instruction that is being executed, and the values that it will overwrite.
struct Executing {
    row: &'static Row,
    registers: Option<RegisterUse>,
    begins: [Option<Begun>; 2],
    before: Values,
}

/// The results of a workgroup's waves that have not been delivered.
pub(crate) struct Late {
    waves: Vec<Outstanding<Result>>,
    executing: Option<Executing>,
}

impl Late {
    pub(crate) fn new(waves: usize) -> Late {
        Late { waves: std::iter::repeat_with(Outstanding::default).take(waves).collect(), executing: None }
    }

    /// Called before `w` executes `i`. Delivers the results that are certain then.
    pub(crate) fn deliver(&mut self, w: &mut Wave, cx: &mut ExecContext, i: &Inst, info: &Info) {
        let Some(outstanding) = self.waves.get_mut(w.id as usize) else { return };
        if let Counting::Wait(waiting) = info.counting {
            outstanding.wait(limits(waiting, w, i), |result| result.deliver(w, &mut cx.lds));
        }
        for counter in counters(info.counting, cx.code.target) {
            outstanding.make_room(*counter, cx.code.target, |result| result.deliver(w, &mut cx.lds));
        }
    }

    /// Called after [`deliver`](Self::deliver), with what `i` accesses.
    pub(crate) fn before(
        &mut self,
        w: &Wave,
        cx: &ExecContext,
        i: &Inst,
        info: &Info,
        accesses: &[AccessedBytes],
    ) {
        let begins = begun(info.counting, w.exec(), accesses, cx.code.target);
        if begins[0].is_none() {
            return;
        }
        let registers = info.operands.result();
        let to_lds = accesses
            .iter()
            .filter(|accessed| info.counting == Counting::Memory && accessed.space == MemorySpace::Lds)
            .flat_map(|accessed| {
                accessed.each().map(|(_, at)| (at as usize, vec![0; accessed.size as usize]))
            });
        let mut before = Values { lds: to_lds.collect(), ..Values::default() };
        before.take(w, &cx.lds, registers);
        self.executing = Some(Executing { row: i.row, registers, begins, before });
    }

    /// Called after the instruction was executed.
    pub(crate) fn after(&mut self, w: &mut Wave, cx: &mut ExecContext) {
        let Some(Executing { row, registers, begins, before }) = self.executing.take() else { return };
        let Some(outstanding) = self.waves.get_mut(w.id as usize) else { return };
        let mut values = before.clone();
        values.take(w, &cx.lds, registers);
        let old = Result { row, registers, lanes: !0, values: before };
        old.deliver(w, &mut cx.lds);
        for begun in begins.iter().flatten() {
            let result = Result { row, registers, lanes: begun.lanes, values: values.clone() };
            outstanding.issue(begun.counter, begun.order, result);
        }
    }
}

impl Values {
    /// Replaces the values by the current ones.
    fn take(&mut self, w: &Wave, lds: &Lds, registers: Option<RegisterUse>) {
        let numbers = || registers.into_iter().flat_map(RegisterUse::registers);
        self.vectors = numbers().filter(|n| *n < SCALAR).map(|n| *w.v(n)).collect();
        self.scalars = numbers().filter(|n| *n >= SCALAR).map(|n| w.s32(n - SCALAR)).collect();
        for (at, value) in &mut self.lds {
            if let Some(bytes) = lds.bytes().get(*at..*at + value.len()) {
                value.copy_from_slice(bytes);
            }
        }
    }
}

impl Result {
    /// Writes the values.
    fn deliver(self, w: &mut Wave, lds: &mut Lds) {
        for (at, value) in &self.values.lds {
            if let Some(bytes) = lds.bytes_mut().get_mut(*at..*at + value.len()) {
                bytes.copy_from_slice(value);
            }
        }
        let Some(registers) = self.registers else { return };
        for (n, value) in (registers.first..).zip(&self.values.scalars) {
            w.set_s32(n - SCALAR, *value);
        }
        for (n, value) in (0..registers.count).zip(&self.values.vectors) {
            let bits = bits_written(self.row, n, registers.count, w.d16_kept);
            let to = w.v_mut(registers.first + u16::from(n)).flat_mut();
            for lane in lanes_of(self.lanes) {
                to[lane] = to[lane] & !bits | value.flat()[lane] & bits;
            }
        }
    }
}
