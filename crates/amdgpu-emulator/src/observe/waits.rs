//! The counters of outstanding memory operations, for which `s_waitcnt` waits (CDNA2 and CDNA3 ISA, "Manually inserted
//! wait states"; RDNA3 ISA, 5.6; LLVM, `SIInsertWaitcnts`).
//!
//! An operation is added to a counter when its instruction is issued, and ends at any time later. After a wait until a
//! counter is at most `n`, an operation has certainly ended if at least `n` later ones, of those that end in the same
//! order, were outstanding: had it not ended, none of these would have, and the counter would be larger.

use std::collections::VecDeque;

use amdgpu_isa::flags::{ATOMIC, GWS, HALF, HIGH, STORE};
use amdgpu_isa::{Encoding, Row, SampleForm, Target, Ty};

use crate::exec::inst::{Inst, flag};
use crate::observe::accesses::AccessedBytes;
use crate::report::access::MemorySpace;
use crate::state::wave::{Wave, sreg};

/// A counter that `s_waitcnt` waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Counter {
    /// vmcnt: vector loads, stores and atomics; on gfx11 loads, and atomics that return a value.
    Vector,
    /// vscnt, of gfx11: vector stores, and atomics that return no value.
    Store,
    /// lgkmcnt: LDS, scalar memory, global wave sync; on gfx12 dscnt: LDS.
    Scalar,
    /// kmcnt, of gfx12: scalar memory, and messages that return a value.
    Constants,
    /// samplecnt, of gfx12: images read with a sampler.
    Sample,
    /// expcnt: data that global wave sync has not read yet.
    Export,
}

impl Counter {
    /// Returns the name on a target.
    pub(crate) fn name(self, target: Target) -> &'static str {
        match (self, target.is_gfx12()) {
            (Counter::Vector, false) => "vmcnt",
            (Counter::Store, false) => "vscnt",
            (Counter::Scalar, false) => "lgkmcnt",
            (Counter::Vector, true) => "loadcnt",
            (Counter::Store, true) => "storecnt",
            (Counter::Scalar, true) => "dscnt",
            (Counter::Constants, _) => "kmcnt",
            (Counter::Sample, _) => "samplecnt",
            (Counter::Export, _) => "expcnt",
        }
    }

    /// Returns the largest value. If it is reached, the next instruction that increments the counter waits.
    pub(crate) const fn largest(self, target: Target) -> usize {
        match self {
            Counter::Vector | Counter::Store | Counter::Sample => 63,
            Counter::Scalar if target.is_rdna() => 63,
            Counter::Scalar => 15,
            Counter::Constants => 31,
            Counter::Export => 7,
        }
    }
}

/// The other operations of the same counter among which an operation ends in the order of issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Operations on memory.
    Memory,
    /// Operations on LDS.
    Lds,
    /// None: the operation may end before earlier ones and after later ones.
    Any,
}

/// What an instruction does to the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Counting {
    /// Nothing that another instruction has to wait for.
    #[default]
    Nothing,
    /// Waits for counters.
    Wait(Waiting),
    /// Increments vmcnt: MUBUF, MTBUF, MIMG, GLOBAL, SCRATCH.
    Memory,
    /// Increments vscnt: the same that return no value, on gfx11.
    Store,
    /// Increments vmcnt, on gfx12 samplecnt: MIMG with a sampler.
    Sample,
    /// FLAT: increments vmcnt and lgkmcnt. Lanes that access memory end with vmcnt, others with lgkmcnt.
    Flat,
    /// FLAT that returns no value, on gfx11: increments vscnt and lgkmcnt.
    FlatStore,
    /// Increments lgkmcnt, in order: DS.
    Lds,
    /// Increments lgkmcnt, in no order: SMEM with a result, and messages that return a value.
    ScalarMemory,
    /// Increments expcnt until the data has been read, and lgkmcnt: global wave sync.
    GlobalSync,
}

/// The counters that an instruction waits for, and where it has the counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// `s_waitcnt` of gfx9.
    Gfx9,
    /// `s_waitcnt` of gfx10.
    Gfx10,
    /// `s_waitcnt` of gfx11.
    Gfx11,
    /// `s_waitcnt_vscnt` and similar instructions: one counter, whose count is the sum of a register and the constant.
    One(Counter),
    /// `s_wait_loadcnt` and similar instructions of gfx12: the constant is the count.
    Gfx12(Counter),
    /// `s_wait_loadcnt_dscnt` and `s_wait_storecnt_dscnt`: the count of this counter is in bits 8 to 13, that of dscnt in bits 0 to 5.
    WithLds(Counter),
    /// `s_wait_idle`: until all counters are 0.
    Idle,
}

/// Returns whether a row is one of RDNA's, which count stores apart.
pub(crate) fn is_rdna(row: &Row) -> bool {
    Target::ALL.into_iter().any(|target| target.is_rdna() && row.opcode(target).is_some())
}

impl Counting {
    /// Returns what an instruction does to the counters. On gfx11 that depends on whether an atomic returns a value (LLVM,
    /// `SIInsertWaitcnts::getVmemWaitEventType`).
    pub(crate) fn of_instruction(i: &Inst) -> Counting {
        let inner = i.ext.as_ref().map_or(i, |ext| &ext.inner);
        match Counting::of(i.row) {
            counting if !(is_rdna(i.row) && i.row.is(ATOMIC)) || inner.flags & flag::GLC != 0 => counting,
            Counting::Memory => Counting::Store,
            Counting::Flat => Counting::FlatStore,
            counting => counting,
        }
    }

    /// Returns what the instruction of a row does to the counters, if it is an atomic one that returns a value.
    ///
    /// Cache invalidations and scalar stores are left out: nothing depends on when they end.
    pub(crate) fn of(row: &Row) -> Counting {
        let name = row.name;
        let stores = is_rdna(row) && row.is(STORE);
        match row.encoding() {
            Some(Encoding::Sopp) if name == "s_waitcnt" => {
                Counting::Wait(match (is_rdna(row), row.opcode(Target::Gfx103)) {
                    (false, _) => Waiting::Gfx9,
                    (true, Some(_)) => Waiting::Gfx10,
                    (true, None) => Waiting::Gfx11,
                })
            }
            Some(Encoding::Sopp) => match name {
                "s_wait_idle" => Counting::Wait(Waiting::Idle),
                "s_wait_loadcnt" => Counting::Wait(Waiting::Gfx12(Counter::Vector)),
                "s_wait_storecnt" => Counting::Wait(Waiting::Gfx12(Counter::Store)),
                "s_wait_dscnt" => Counting::Wait(Waiting::Gfx12(Counter::Scalar)),
                "s_wait_kmcnt" => Counting::Wait(Waiting::Gfx12(Counter::Constants)),
                "s_wait_samplecnt" => Counting::Wait(Waiting::Gfx12(Counter::Sample)),
                "s_wait_expcnt" => Counting::Wait(Waiting::Gfx12(Counter::Export)),
                "s_wait_loadcnt_dscnt" => Counting::Wait(Waiting::WithLds(Counter::Vector)),
                "s_wait_storecnt_dscnt" => Counting::Wait(Waiting::WithLds(Counter::Store)),
                _ => Counting::Nothing,
            },
            Some(Encoding::Sopk) => match name {
                "s_waitcnt_vscnt" => Counting::Wait(Waiting::One(Counter::Store)),
                "s_waitcnt_vmcnt" => Counting::Wait(Waiting::One(Counter::Vector)),
                "s_waitcnt_expcnt" => Counting::Wait(Waiting::One(Counter::Export)),
                "s_waitcnt_lgkmcnt" => Counting::Wait(Waiting::One(Counter::Scalar)),
                _ => Counting::Nothing,
            },
            Some(Encoding::Sop1) if matches!(name, "s_sendmsg_rtn_b32" | "s_sendmsg_rtn_b64") => {
                Counting::ScalarMemory
            }
            Some(Encoding::Smem) if row.dst != Ty::None || row.is(ATOMIC) => Counting::ScalarMemory,
            Some(Encoding::Ds) if name == "ds_nop" => Counting::Nothing,
            Some(Encoding::Ds) if row.is(GWS) => Counting::GlobalSync,
            Some(Encoding::Ds) => Counting::Lds,
            Some(Encoding::Flat) if stores => Counting::FlatStore,
            Some(Encoding::Flat) => Counting::Flat,
            Some(Encoding::Global | Encoding::Scratch | Encoding::Mubuf | Encoding::Mtbuf)
                if row.access().is_some() || name == "buffer_wbl2" =>
            {
                if stores {
                    Counting::Store
                } else {
                    Counting::Memory
                }
            }
            Some(Encoding::Mimg) if stores => Counting::Store,
            // Also `image_get_resinfo` and `image_get_lod`, which read no memory.
            Some(Encoding::Mimg) if SampleForm::of(row).is_some() => Counting::Sample,
            Some(Encoding::Mimg) => Counting::Memory,
            _ => Counting::Nothing,
        }
    }
}

/// Returns the value of each counter down to which an instruction waits.
pub(crate) fn limits(waiting: Waiting, w: &Wave, i: &Inst) -> Limits {
    let register = match waiting {
        Waiting::One(_) if i.dst != sreg::NULL => w.s32(i.dst),
        _ => 0,
    };
    waiting.limits(i.imm.wrapping_add(register))
}

/// The values of counters down to which an instruction waits.
pub(crate) type Limits = [(Counter, usize); 6];

impl Waiting {
    /// Returns the limits that an operand gives (gfx10: LLVM, `AMDGPU::decodeLgkmcnt`; gfx11: RDNA3 ISA, `S_WAITCNT`, `S_WAITCNT_VSCNT`).
    fn limits(self, operand: u32) -> Limits {
        let field = |at: u32, bits: u32| (operand >> at & ((1 << bits) - 1)) as usize;
        match self {
            Waiting::Gfx9 | Waiting::Gfx10 => [
                (Counter::Vector, field(0, 4) | field(14, 2) << 4),
                (Counter::Scalar, field(8, if self == Waiting::Gfx9 { 4 } else { 6 })),
                (Counter::Export, field(4, 3)),
                (Counter::Store, usize::MAX),
                (Counter::Constants, usize::MAX),
                (Counter::Sample, usize::MAX),
            ],
            Waiting::Gfx11 => [
                (Counter::Vector, field(10, 6)),
                (Counter::Scalar, field(4, 6)),
                (Counter::Export, field(0, 3)),
                (Counter::Store, usize::MAX),
                (Counter::Constants, usize::MAX),
                (Counter::Sample, usize::MAX),
            ],
            Waiting::One(Counter::Export) => [(Counter::Export, field(0, 3)); 6],
            Waiting::One(counter) => [(counter, field(0, 6)); 6],
            Waiting::Gfx12(Counter::Export) => [(Counter::Export, field(0, 3)); 6],
            Waiting::Gfx12(Counter::Constants) => [(Counter::Constants, field(0, 5)); 6],
            Waiting::Gfx12(counter) => [(counter, field(0, 6)); 6],
            Waiting::WithLds(counter) => {
                let (own, lds) = ((counter, field(8, 6)), (Counter::Scalar, field(0, 6)));
                [own, lds, lds, lds, lds, lds]
            }
            Waiting::Idle => [
                (Counter::Vector, 0),
                (Counter::Store, 0),
                (Counter::Sample, 0),
                (Counter::Scalar, 0),
                (Counter::Constants, 0),
                (Counter::Export, 0),
            ],
        }
    }
}

#[derive(Debug)]
struct Operation<T> {
    counter: Counter,
    order: Order,
    has_ended: bool,
    item: T,
}

/// The outstanding operations of a wave, with an item for each.
#[derive(Debug)]
pub(crate) struct Outstanding<T> {
    operations: VecDeque<Operation<T>>,
}

impl<T> Default for Outstanding<T> {
    fn default() -> Outstanding<T> {
        Outstanding { operations: VecDeque::new() }
    }
}

impl<T> Outstanding<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Returns the items, and the counter and order of each, in the order of issue.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (Counter, Order, &mut T)> {
        self.operations.iter_mut().map(|operation| (operation.counter, operation.order, &mut operation.item))
    }

    /// Returns the items, and the counter of each, in the order of issue.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Counter, &T)> {
        self.operations.iter().map(|operation| (operation.counter, &operation.item))
    }

    /// Waits until counters are at most their limits. Calls `ended` with the item of each operation that has certainly ended then.
    pub(crate) fn wait(&mut self, limits: Limits, mut ended: impl FnMut(T)) {
        for (counter, limit) in limits {
            self.end(counter, limit, &mut ended);
        }
    }

    /// Waits as the hardware does before an instruction that increments a counter. If no operation has certainly ended,
    /// one of them has nevertheless: the oldest is taken for it.
    pub(crate) fn make_room(&mut self, counter: Counter, target: Target, mut ended: impl FnMut(T)) {
        let largest = counter.largest(target);
        let full = |operations: &VecDeque<Operation<T>>| {
            let count = operations.iter().filter(|operation| operation.counter == counter).count();
            count >= largest
        };
        if full(&self.operations) {
            self.end(counter, largest - 1, &mut ended);
        }
        while full(&self.operations)
            && let Some(oldest) = self.operations.iter().position(|operation| operation.counter == counter)
        {
            self.operations.remove(oldest).into_iter().for_each(|operation| ended(operation.item));
        }
    }

    /// Adds an operation.
    pub(crate) fn issue(&mut self, counter: Counter, order: Order, item: T) {
        self.operations.push_back(Operation { counter, order, has_ended: false, item });
    }

    /// Returns the largest operand of a wait after which an operation has ended, as text. `number` is its position
    /// in [`iter_mut`](Self::iter_mut).
    pub(crate) fn needed(&self, number: usize, target: Target) -> Option<String> {
        let operation = self.operations.get(number)?;
        let same =
            |later: &&Operation<T>| later.counter == operation.counter && later.order == operation.order;
        let later = self.operations.iter().skip(number + 1).filter(same).count();
        let limit =
            if operation.order == Order::Any { 0 } else { later.min(operation.counter.largest(target) - 1) };
        Some(match operation.counter {
            counter if target.is_gfx12() => format!("s_wait_{} {limit:#x}", counter.name(target)),
            Counter::Store => format!("s_waitcnt_vscnt null, {limit:#x}"),
            counter => format!("s_waitcnt {}({limit})", counter.name(target)),
        })
    }

    fn end(&mut self, counter: Counter, limit: usize, ended: &mut impl FnMut(T)) {
        let (mut memory, mut lds, mut any) = (0, 0, false);
        for operation in self.operations.iter_mut().rev().filter(|operation| operation.counter == counter) {
            let later = match operation.order {
                Order::Memory => &mut memory,
                Order::Lds => &mut lds,
                Order::Any => &mut 0,
            };
            operation.has_ended = *later >= limit;
            any |= operation.has_ended;
            *later += 1;
        }
        if !any {
            return;
        }
        for _ in 0..self.operations.len() {
            match self.operations.pop_front() {
                Some(operation) if operation.has_ended => ended(operation.item),
                Some(operation) => self.operations.push_back(operation),
                None => {}
            }
        }
    }
}

/// Returns the counters that an instruction increments.
pub(crate) fn counters(counting: Counting, target: Target) -> &'static [Counter] {
    match counting {
        Counting::Nothing | Counting::Wait(_) => &[],
        Counting::Sample if target.is_gfx12() => &[Counter::Sample],
        Counting::Memory | Counting::Sample => &[Counter::Vector],
        Counting::Store => &[Counter::Store],
        Counting::Flat => &[Counter::Vector, Counter::Scalar],
        Counting::FlatStore => &[Counter::Store, Counter::Scalar],
        Counting::ScalarMemory if target.is_gfx12() => &[Counter::Constants],
        Counting::Lds | Counting::ScalarMemory => &[Counter::Scalar],
        Counting::GlobalSync => &[Counter::Export, Counter::Scalar],
    }
}

/// An operation that an instruction begins, for some of its lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Begun {
    pub(crate) counter: Counter,
    pub(crate) order: Order,
    /// The mask of lanes. For scalar operations, all.
    pub(crate) lanes: u64,
}

/// Returns the operations that an instruction begins for the lanes in `exec`. `accesses` is what it accesses. On gfx11, FLAT always counts
/// both, and each in the order of issue (LLVM, `GCNSubtarget::hasFlatLgkmVMemCountInOrder`).
pub(crate) fn begun(
    counting: Counting,
    exec: u64,
    accesses: &[AccessedBytes],
    target: Target,
) -> [Option<Begun>; 2] {
    let one = |counter, order, lanes| [Some(Begun { counter, order, lanes }), None];
    match counting {
        Counting::Nothing | Counting::Wait(_) => [None; 2],
        Counting::Sample if target.is_gfx12() => one(Counter::Sample, Order::Memory, exec),
        Counting::Memory | Counting::Sample => one(Counter::Vector, Order::Memory, exec),
        Counting::Store => one(Counter::Store, Order::Memory, exec),
        Counting::Lds => one(Counter::Scalar, Order::Lds, exec),
        Counting::ScalarMemory if target.is_gfx12() => one(Counter::Constants, Order::Any, !0),
        Counting::ScalarMemory => one(Counter::Scalar, Order::Any, !0),
        // Nothing depends on the end of the instruction itself.
        Counting::GlobalSync => one(Counter::Export, Order::Any, exec),
        Counting::Flat | Counting::FlatStore => {
            let memory_counter = if counting == Counting::Flat { Counter::Vector } else { Counter::Store };
            let in_lds = accesses
                .iter()
                .filter(|accessed| accessed.space == MemorySpace::Lds)
                .fold(0, |lanes, accessed| lanes | accessed.lanes);
            let in_order = target.is_rdna();
            // On gfx9, an instruction that accesses both ends in no order.
            let (memory, lds) = match (exec & !in_lds, in_lds) {
                _ if in_order => (Order::Memory, Order::Lds),
                (_, 0) => (Order::Memory, Order::Any),
                (0, _) => (Order::Any, Order::Lds),
                _ => (Order::Any, Order::Any),
            };
            [
                Some(Begun { counter: memory_counter, order: memory, lanes: exec & !in_lds }),
                (in_order || in_lds != 0).then_some(Begun {
                    counter: Counter::Scalar,
                    order: lds,
                    lanes: in_lds,
                }),
            ]
        }
    }
}

/// The bits of a register that a load writes.
pub(crate) const ALL_BITS: u32 = !0;

/// Returns the bits that a load writes of register `number` of `count`. Loads of 16 bits keep `d16_kept` of the other half.
pub(crate) fn bits_written(row: &Row, number: u8, count: u8, d16_kept: u32) -> u32 {
    if d16_kept == 0 || !row.is(HALF) || number + 1 != count {
        ALL_BITS
    } else if row.is(HIGH) {
        0xffff_0000
    } else {
        0xffff
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the items that have ended after a wait.
    fn waited(outstanding: &mut Outstanding<u32>, operand: u32) -> Vec<u32> {
        let mut all = Vec::new();
        outstanding.wait(Waiting::Gfx9.limits(operand), |item| all.push(item));
        all
    }

    const NO_WAIT: u32 = 0xcf7f;

    #[test]
    fn a_wait_ends_the_oldest_of_an_order() {
        let mut outstanding = Outstanding::default();
        for item in 0..5 {
            outstanding.issue(Counter::Vector, Order::Memory, item);
        }
        assert_eq!(waited(&mut outstanding, NO_WAIT), []);
        // vmcnt(3)
        assert_eq!(waited(&mut outstanding, NO_WAIT & !15 & !0xc000 | 3), [0, 1]);
        assert_eq!(outstanding.needed(0, Target::Gfx90a).unwrap(), "s_waitcnt vmcnt(2)");
        assert_eq!(waited(&mut outstanding, 0x0f70), [2, 3, 4]);
        assert!(outstanding.is_empty());
    }

    #[test]
    fn operations_without_order_end_with_a_wait_for_zero() {
        let mut outstanding = Outstanding::default();
        outstanding.issue(Counter::Scalar, Order::Lds, 1);
        outstanding.issue(Counter::Scalar, Order::Any, 2);
        outstanding.issue(Counter::Scalar, Order::Lds, 3);
        // lgkmcnt(1): if the first had not ended, neither would the third.
        assert_eq!(waited(&mut outstanding, 0xc17f), [1]);
        assert_eq!(waited(&mut outstanding, 0xc07f), [2, 3]);
        outstanding.issue(Counter::Scalar, Order::Lds, 1);
        outstanding.issue(Counter::Scalar, Order::Any, 2);
        assert_eq!(waited(&mut outstanding, 0xc17f), []);
    }

    #[test]
    fn a_counter_has_a_largest_value() {
        let mut outstanding = Outstanding::default();
        let mut ended = Vec::new();
        for item in 0..70 {
            outstanding.make_room(Counter::Vector, Target::Gfx90a, |item| ended.push(item));
            outstanding.issue(Counter::Vector, Order::Memory, item);
        }
        assert_eq!(ended, (0..7).collect::<Vec<u32>>());
        assert_eq!(outstanding.needed(0, Target::Gfx90a).unwrap(), "s_waitcnt vmcnt(62)");
        for item in 0..70 {
            outstanding.make_room(Counter::Scalar, Target::Gfx90a, |_| ());
            outstanding.issue(Counter::Scalar, Order::Any, item);
        }
        assert_eq!(outstanding.iter().count(), 63 + 15);
    }

    /// The operands that LLVM's assembler gives these instructions of gfx11.
    #[test]
    fn operands_of_gfx11() {
        let limits = |operand| [0, 1, 2].map(|n| Waiting::Gfx11.limits(operand)[n].1);
        // s_waitcnt vmcnt(5); s_waitcnt lgkmcnt(9); s_waitcnt expcnt(2) vmcnt(62)
        assert_eq!(limits(0x17f7), [5, 63, 7]);
        assert_eq!(limits(0xfc97), [63, 9, 7]);
        assert_eq!(limits(0xfbf2), [62, 63, 2]);
        // Stores are in their own counter.
        let mut outstanding = Outstanding::default();
        outstanding.issue(Counter::Store, Order::Memory, 1);
        outstanding.issue(Counter::Vector, Order::Memory, 2);
        let mut all = Vec::new();
        outstanding.wait(Waiting::Gfx11.limits(0x03f7), |item| all.push(item));
        assert_eq!(all, [2]);
        assert_eq!(outstanding.needed(0, Target::Gfx11).unwrap(), "s_waitcnt_vscnt null, 0x0");
        outstanding.wait(Waiting::One(Counter::Store).limits(0), |item| all.push(item));
        assert_eq!(all, [2, 1]);
    }

    /// Each memory instruction is counted, by the rules of LLVM's `SIInsertWaitcnts::updateEventWaitcntAfter`.
    #[test]
    fn every_memory_instruction_is_counted() {
        let mut seen = 0;
        for encoding in Encoding::ALL {
            for row in encoding.rows() {
                let name = row.name;
                let gfx11 = row.op[3..].iter().any(|op| *op >= 0);
                let expected = match name.split('_').next().unwrap_or_default() {
                    "global" if matches!(name, "global_inv" | "global_wb" | "global_wbinv") => {
                        Counting::Nothing
                    }
                    "global" | "scratch" | "tbuffer" | "buffer" if gfx11 && name.contains("_store_") => {
                        Counting::Store
                    }
                    "image" if gfx11 && name.contains("_store") => Counting::Store,
                    "image" if ["sample", "gather", "lod"].iter().any(|part| name.contains(part)) => {
                        Counting::Sample
                    }
                    "image" => Counting::Memory,
                    "flat" if gfx11 && name.contains("_store_") => Counting::FlatStore,
                    "global" | "scratch" | "tbuffer" => Counting::Memory,
                    "flat" => Counting::Flat,
                    "buffer" if name.contains("inv") => Counting::Nothing,
                    "buffer" => Counting::Memory,
                    "ds" if name.contains("_gws_") => Counting::GlobalSync,
                    "ds" if name != "ds_nop" => Counting::Lds,
                    "s" if encoding == Encoding::Smem
                        && ["load", "atomic", "time"].iter().any(|part| name.contains(part)) =>
                    {
                        Counting::ScalarMemory
                    }
                    "s" if name == "s_waitcnt" && row.opcode(Target::Gfx103).is_some() => {
                        Counting::Wait(Waiting::Gfx10)
                    }
                    "s" if name == "s_waitcnt" && gfx11 => Counting::Wait(Waiting::Gfx11),
                    "s" if name == "s_waitcnt" => Counting::Wait(Waiting::Gfx9),
                    "s" if name == "s_wait_idle" => Counting::Wait(Waiting::Idle),
                    "s" if name == "s_waitcnt_vscnt" => Counting::Wait(Waiting::One(Counter::Store)),
                    "s" if name == "s_waitcnt_vmcnt" => Counting::Wait(Waiting::One(Counter::Vector)),
                    "s" if name == "s_waitcnt_expcnt" => Counting::Wait(Waiting::One(Counter::Export)),
                    "s" if name == "s_waitcnt_lgkmcnt" => Counting::Wait(Waiting::One(Counter::Scalar)),
                    "s" if name.starts_with("s_sendmsg_rtn_") => Counting::ScalarMemory,
                    "s" if name.starts_with("s_wait_") && name.contains("cnt") => match name {
                        "s_wait_loadcnt" => Counting::Wait(Waiting::Gfx12(Counter::Vector)),
                        "s_wait_storecnt" => Counting::Wait(Waiting::Gfx12(Counter::Store)),
                        "s_wait_dscnt" => Counting::Wait(Waiting::Gfx12(Counter::Scalar)),
                        "s_wait_kmcnt" => Counting::Wait(Waiting::Gfx12(Counter::Constants)),
                        "s_wait_expcnt" => Counting::Wait(Waiting::Gfx12(Counter::Export)),
                        "s_wait_loadcnt_dscnt" => Counting::Wait(Waiting::WithLds(Counter::Vector)),
                        "s_wait_storecnt_dscnt" => Counting::Wait(Waiting::WithLds(Counter::Store)),
                        "s_wait_samplecnt" => Counting::Wait(Waiting::Gfx12(Counter::Sample)),
                        // Ray tracing.
                        _ => Counting::Nothing,
                    },
                    _ => Counting::Nothing,
                };
                assert_eq!(Counting::of(row), expected, "{name}");
                seen += usize::from(expected != Counting::Nothing);
            }
        }
        assert!(seen > 400, "{seen}");
    }
}
