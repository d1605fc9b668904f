//! Happens-before: a vector clock for each stream, and one for the host.
//!
//! Work on a stream is numbered from 1. A clock says, for each stream, up to which number its work has happened before.
//! The host has one clock, however many threads it has: what one thread knows counts as known to all of them.

use hip_driver::{DeviceId, RawStream};

/// For each slot, the number of the last work that has happened before; 0 for none.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock(Vec<u64>);

impl Clock {
    #[inline]
    pub(super) fn get(&self, slot: u32) -> u64 {
        self.0.get(slot as usize).copied().unwrap_or(0)
    }

    pub(super) fn raise(&mut self, slot: u32, seq: u64) {
        if self.0.len() <= slot as usize {
            self.0.resize(slot as usize + 1, 0);
        }
        let entry = &mut self.0[slot as usize];
        *entry = (*entry).max(seq);
    }

    /// Raises each number of this clock to that of `other` if that is higher. Returns whether anything changed.
    pub(super) fn merge(&mut self, other: &Clock) -> bool {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut changed = false;
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            if *mine < *theirs {
                *mine = *theirs;
                changed = true;
            }
        }
        changed
    }

    /// Lowers each number of this clock to that of `other` if that is lower: what both know.
    pub(super) fn meet(&mut self, other: &Clock) {
        for (slot, mine) in (0..).zip(&mut self.0) {
            *mine = (*mine).min(other.get(slot));
        }
    }
}

/// A piece of work: its stream's slot and its number in that slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct WorkPosition {
    pub(super) slot: u32,
    pub(super) seq: u64,
}

/// Which streams wait for each other without being told to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamKind {
    /// A device's null stream, which waits for blocking streams.
    Null,
    /// A stream that waits for the null stream.
    Blocking,
    /// Any other stream.
    NonBlocking,
}

#[derive(Debug)]
struct StreamClock {
    device: DeviceId,
    kind: StreamKind,
    stream: RawStream,
    /// The number of the last work in the slot.
    seq: u64,
    /// The number of the slot's last work before this stream used the slot.
    base: u64,
    /// What happens before the stream's next work, besides the work in the same slot.
    clock: Clock,
    /// The version of the host's clock that was last merged into `clock`.
    host_version: u64,
    /// The number of the first work behind a wait for a value in memory. Nothing says who writes the value, so it is not known
    /// what happens before.
    behind_value: Option<u64>,
    live: bool,
}

/// The known order of all work.
#[derive(Debug, Default)]
pub(super) struct HappensBefore {
    slots: Vec<StreamClock>,
    host: Clock,
    host_version: u64,
}

impl HappensBefore {
    /// Returns a slot for a new stream. The slot of a destroyed stream is used again, with higher numbers, only if the
    /// host knows that all its work has finished: then the new stream's work does happen after it.
    pub(super) fn add_stream(&mut self, device: DeviceId, stream: RawStream, kind: StreamKind) -> u32 {
        let free = (0..self.slots.len() as u32)
            .find(|&i| !self.slots[i as usize].live && self.host.get(i) >= self.slots[i as usize].seq);
        let seq = free.map_or(0, |i| self.slots[i as usize].seq);
        let slot = StreamClock {
            device,
            kind,
            stream,
            seq,
            base: seq,
            clock: Clock::default(),
            host_version: u64::MAX,
            behind_value: None,
            live: true,
        };
        match free {
            Some(i) => {
                self.slots[i as usize] = slot;
                i
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        }
    }

    /// Marks a stream as destroyed. Its work still runs.
    pub(super) fn remove_stream(&mut self, slot: u32) {
        self.slots[slot as usize].live = false;
    }

    /// Returns the stream of work and the work's number there, from 1. The slot must not have been used again since.
    pub(super) fn place(&self, work: WorkPosition) -> (RawStream, u64) {
        let slot = &self.slots[work.slot as usize];
        (slot.stream, work.seq.saturating_sub(slot.base))
    }

    /// All work on streams of the device for which `waited_for` holds.
    fn all_work(&self, device: DeviceId, waited_for: impl Fn(StreamKind) -> bool) -> Clock {
        let mut all = Clock::default();
        for (i, slot) in self.slots.iter().enumerate() {
            if slot.device == device && waited_for(slot.kind) {
                all.merge(&slot.clock);
                all.raise(i as u32, slot.seq);
            }
        }
        all
    }

    /// What happens before everything enqueued from now on: what the host knows, and by the rule of the null stream.
    fn order(&mut self, slot: u32) -> &mut StreamClock {
        let StreamClock { device, kind, .. } = self.slots[slot as usize];
        let other = match kind {
            StreamKind::Null => StreamKind::Blocking,
            StreamKind::Blocking => StreamKind::Null,
            StreamKind::NonBlocking => return self.take_host(slot),
        };
        let before = self.all_work(device, |kind| kind == other);
        let slot = self.take_host(slot);
        slot.clock.merge(&before);
        slot
    }

    /// Merges what the host knows into the stream's clock, and returns the stream.
    fn take_host(&mut self, slot: u32) -> &mut StreamClock {
        let slot = &mut self.slots[slot as usize];
        if slot.host_version != self.host_version {
            slot.clock.merge(&self.host);
            slot.host_version = self.host_version;
        }
        slot
    }

    /// The number of the next work on a stream.
    pub(super) fn next(&self, slot: u32) -> u64 {
        self.slots[slot as usize].seq + 1
    }

    /// Numbers new work on a stream.
    pub(super) fn enqueue(&mut self, slot: u32) -> WorkPosition {
        let s = self.order(slot);
        s.seq += 1;
        WorkPosition { slot, seq: s.seq }
    }

    /// Lets the stream know what happens before everything enqueued on it from now on.
    pub(super) fn catch_up(&mut self, slot: u32) {
        self.order(slot);
    }

    /// Returns whether `earlier` happens before everything that is enqueued on `slot` from now on, or may do so for all that is
    /// known, as one of the two is behind a wait for a value. Call [`catch_up`](HappensBefore::catch_up) for the stream first.
    #[inline]
    pub(super) fn is_before(&self, earlier: WorkPosition, slot: u32) -> bool {
        earlier.slot == slot
            || earlier.seq <= self.slots[slot as usize].clock.get(earlier.slot)
            || self.slots[earlier.slot as usize].behind_value.is_some_and(|first| earlier.seq >= first)
            || self.slots[slot as usize].behind_value.is_some()
    }

    /// Returns whether the host knows that `work` has finished.
    #[inline]
    pub(super) fn is_known(&self, work: WorkPosition) -> bool {
        work.seq <= self.host.get(work.slot)
    }

    /// Puts into `into` all that happens before an event that is recorded on the stream now.
    pub(super) fn record_into(&mut self, slot: u32, into: &mut Clock) {
        self.order(slot);
        self.snapshot_into(slot, into);
    }

    /// Puts into `into` all that has happened when the stream is idle. The null stream's work is not in it where no work
    /// of a blocking stream has waited for it.
    pub(super) fn snapshot_into(&mut self, slot: u32, into: &mut Clock) {
        let is_null = self.slots[slot as usize].kind == StreamKind::Null;
        let s = if is_null { self.order(slot) } else { self.take_host(slot) };
        into.0.clone_from(&s.clock.0);
        let (seq, behind_value) = (s.seq, s.behind_value);
        into.raise(slot, seq);
        if behind_value.is_some() {
            into.merge(&self.everything(|_| true));
        }
    }

    /// Returns what happens before the present end of all streams of the device.
    pub(super) fn snapshot_device(&self, device: DeviceId) -> Clock {
        self.all_work(device, |_| true)
    }

    /// All that happens before a blocking copy.
    pub(super) fn snapshot_null(&self, device: DeviceId) -> Clock {
        self.all_work(device, |kind| kind != StreamKind::NonBlocking)
    }

    /// Marks all work of a lost device as finished: none of it runs any more.
    pub(super) fn abandon(&mut self, device: DeviceId) {
        let all = self.everything(|other| other == device);
        self.host_learns(&all);
    }

    /// All work so far of the devices for which `of` holds.
    fn everything(&self, of: impl Fn(DeviceId) -> bool) -> Clock {
        let mut all = Clock::default();
        for (i, slot) in self.slots.iter().enumerate().filter(|(_, slot)| of(slot.device)) {
            all.raise(i as u32, slot.seq);
        }
        all
    }

    /// Records that later work on the stream waits for a value in memory of which nobody knows who writes it: any other stream may,
    /// behind any work.
    pub(super) fn wait_for_value(&mut self, slot: u32) {
        let all = self.everything(|_| true);
        let stream = self.order(slot);
        stream.clock.merge(&all);
        stream.behind_value.get_or_insert(stream.seq + 1);
    }

    /// Records that the host has waited for everything in `clock`, or knows that it has finished.
    pub(super) fn host_learns(&mut self, clock: &Clock) {
        if self.host.merge(clock) {
            self.host_version += 1;
        }
    }

    /// Records that later work on the stream waits for everything in `clock`.
    pub(super) fn stream_waits(&mut self, slot: u32, clock: &Clock) {
        self.order(slot).clock.merge(clock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: DeviceId = DeviceId(0);

    fn streams<const N: usize>() -> (HappensBefore, [u32; N]) {
        let mut order = HappensBefore::default();
        let slots =
            std::array::from_fn(|i| order.add_stream(DEVICE, RawStream(i as u64), StreamKind::NonBlocking));
        (order, slots)
    }

    #[test]
    fn events_order_transitively() {
        let (mut order, [a, b, c]) = streams();
        let first = order.enqueue(a);
        let mut event = Clock::default();
        order.snapshot_into(a, &mut event);
        let after_event = order.enqueue(a);
        order.stream_waits(b, &event);
        order.snapshot_into(b, &mut event);
        order.stream_waits(c, &event);
        assert!(order.is_before(first, b) && order.is_before(first, c));
        assert!(!order.is_before(after_event, b) && !order.is_before(after_event, c));
        assert!(!order.is_known(first));
    }

    #[test]
    fn what_the_host_learned_orders_every_stream() {
        let (mut order, [a, b]) = streams();
        let work = order.enqueue(a);
        let mut seen = Clock::default();
        order.snapshot_into(a, &mut seen);
        let later = order.enqueue(a);
        order.host_learns(&seen);
        order.enqueue(b);
        assert!(order.is_known(work) && order.is_before(work, b));
        assert!(!order.is_known(later) && !order.is_before(later, b));
    }

    #[test]
    fn work_behind_a_wait_for_a_value_is_not_judged_and_other_work_is() {
        let (mut order, [a, b, c]) = streams();
        let (early, before) = (order.enqueue(a), order.enqueue(b));
        order.wait_for_value(a);
        let behind = order.enqueue(a);
        // What other streams do next may come before the value is written.
        assert!(order.is_before(before, a) && order.is_before(behind, b) && order.is_before(behind, c));
        assert!(!order.is_before(early, b) && !order.is_before(before, c));
        // And what they do next may come before what the stream does next.
        let next = order.enqueue(c);
        assert!(order.is_before(next, a));
        // Who has waited for the stream may know all that was enqueued by then.
        let later = order.enqueue(b);
        let mut seen = Clock::default();
        order.snapshot_into(a, &mut seen);
        order.host_learns(&seen);
        assert!(order.is_known(behind) && order.is_known(later));
    }

    #[test]
    fn a_destroyed_streams_slot_waits_for_its_work() {
        let (mut order, [a]) = streams();
        let work = order.enqueue(a);
        order.remove_stream(a);
        let b = order.add_stream(DEVICE, RawStream(7), StreamKind::NonBlocking);
        assert_ne!(a, b);
        assert!(!order.is_before(work, b));
        let all = order.snapshot_device(DEVICE);
        order.host_learns(&all);
        let c = order.add_stream(DEVICE, RawStream(8), StreamKind::NonBlocking);
        assert_eq!(a, c);
        assert_eq!(order.enqueue(c).seq, 2);
    }
}
