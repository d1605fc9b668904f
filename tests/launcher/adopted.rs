//! Streams and events that others made: one order with their owners' work, and nothing of them destroyed.

use std::sync::{Arc, Mutex, PoisonError, mpsc};

use hiplaunch::driver::{
    Capability, DeviceId, DevicePtr, Driver, ErrorCode, EventOptions, HostFunction, RawStream, StreamOptions,
    Work,
};
use hiplaunch::{Arg, DeviceBuffer, Error, Event, Launch, LaunchDims, Stream};

use hiplaunch_testing::rig::{self, *};

/// Runs a test on each backend, one test at a time. The null stream waits for the streams of all tests, of which some are
/// held until a call of their test returns; and on HIP 7 one thread's wait for the device blocks the calls of others.
pub(crate) fn on_each(test: impl Fn(Rig)) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    rig::on_each(test);
}

/// Somebody else: a program that uses the driver below the launcher's layers.
pub(crate) struct Owner {
    driver: Arc<dyn Driver>,
    device: DeviceId,
}

// SAFETY of the calls: live handles and memory, as the tests see to.
impl Owner {
    pub(crate) fn of(rig: &Rig) -> Owner {
        Owner { driver: rig.validation().inner().clone(), device: rig.device.id() }
    }

    fn stream(&self, blocking: bool) -> RawStream {
        self.driver
            .stream_create(self.device, StreamOptions { blocking, ..StreamOptions::default() })
            .unwrap()
    }

    fn enqueue(&self, stream: RawStream, work: &Work<'_>) {
        // SAFETY: see above.
        unsafe { self.driver.enqueue(self.device, stream, work) }.unwrap();
    }

    fn copy(&self, dst: DevicePtr, src: DevicePtr, words: usize, stream: RawStream) {
        self.enqueue(stream, &Work::CopyWithin { dst, src, bytes: 4 * words });
    }

    /// Holds the stream until the sender is dropped, where there are host functions.
    pub(crate) fn hold(&self, stream: RawStream) -> Option<mpsc::Sender<()>> {
        let (sender, receiver) = mpsc::channel::<()>();
        let wait = move || {
            // An error: the sender is dropped, which lets go.
            let _ = receiver.recv();
        };
        let can = self.driver.capabilities().has(Capability::HostFunc);
        can.then(|| self.enqueue(stream, &Work::HostFunction(&HostFunction::new(wait))))?;
        Some(sender)
    }

    fn destroy(&self, stream: RawStream) {
        // SAFETY: see above.
        unsafe { self.driver.stream_destroy(self.device, stream) }.unwrap();
    }
}

fn adopt(rig: &Rig, stream: RawStream) -> Stream {
    // SAFETY: the tests keep their streams alive as long.
    unsafe { rig.launcher.stream_from_raw(&rig.device, stream) }.unwrap()
}

fn bump(rig: &Rig, stream: &Stream, buffer: &DeviceBuffer<u32>) -> hiplaunch::Result<()> {
    let kernel = rig.kernel(&PROBE, "bump");
    let args = [Arg::from(buffer), Arg::from(buffer.len() as i32)];
    let dims = LaunchDims::cover(buffer.len() as u32, 64);
    // SAFETY: as the kernel takes it.
    unsafe { rig.launcher.enqueue(kernel, stream, Launch::new(dims).args(&args)) }
}

/// Launches, copies of the owner's and copies of ours on `raw`, each of which needs the one before it.
fn alternate(rig: &Rig, raw: RawStream) {
    let (owner, stream) = (Owner::of(rig), adopt(rig, raw));
    let mut a = DeviceBuffer::<u32>::on(&stream, 100).unwrap();
    let b = DeviceBuffer::<u32>::on(&stream, 100).unwrap();
    let echo = rig.kernel(&JIT, "jit_echo");
    a.upload(&stream, &[7; 100]).unwrap();
    for round in 0..20u32 {
        bump(rig, &stream, &a).unwrap();
        owner.copy(b.ptr(), a.ptr(), 100, raw);
        let payload = [round as u8; 40];
        let bytes = echo_bytes(&payload);
        let block = echo_block(&bytes, payload.len());
        let args = [Arg::ArgumentBlock(&block)];
        // SAFETY: as the kernel takes it.
        let ticket =
            unsafe { rig.launcher.submit(echo, &stream, Launch::new(LaunchDims::linear(1, 64)).args(&args)) };
        bump(rig, &stream, &b).unwrap();
        owner.copy(a.ptr(), b.ptr(), 100, raw);
        assert_eq!(ticket.unwrap().read().unwrap().bytes(0).unwrap(), payload);
    }
    assert_eq!(a.to_vec(&stream).unwrap(), [47; 100]);
    assert!(stream.is_adopted() && stream.as_raw() == raw);
}

#[test]
fn launches_and_their_owners_work_stand_in_one_order() {
    on_each(|rig| {
        let owner = Owner::of(&rig);
        for blocking in [false, true] {
            let raw = owner.stream(blocking);
            alternate(&rig, raw);
            // It is still the owner's.
            owner.enqueue(raw, &Work::CopyWithin { dst: DevicePtr::NULL, src: DevicePtr::NULL, bytes: 0 });
            owner.destroy(raw);
        }
        rig.assert_clean();
    });
}

#[test]
fn default_streams_are_adopted_as_well() {
    on_each(|rig| {
        alternate(&rig, RawStream::NULL);
        let (null, legacy) = (adopt(&rig, RawStream::NULL), adopt(&rig, RawStream::LEGACY));
        assert_eq!(null, legacy);
        rig.assert_clean();
    });
}

#[test]
fn a_threads_own_stream_is_used_on_that_thread_alone() {
    on_each(|rig| {
        if !rig.launcher.driver().capabilities().has(Capability::PerThreadStream) {
            // SAFETY: it is refused.
            let refused = unsafe { Stream::from_raw(&rig.device, RawStream::PER_THREAD) };
            assert_eq!(refused.unwrap_err().code(), Some(ErrorCode::NOT_SUPPORTED));
            return;
        }
        alternate(&rig, RawStream::PER_THREAD);
        let own = adopt(&rig, RawStream::PER_THREAD);
        assert_ne!(adopt(&rig, RawStream::NULL), own);
        let buffer = DeviceBuffer::<u32>::on(&own, 16).unwrap();
        bump(&rig, &own, &buffer).unwrap();
        std::thread::scope(|scope| {
            let there = scope.spawn(|| {
                assert_ne!(adopt(&rig, RawStream::PER_THREAD), own);
                let refused = [
                    bump(&rig, &own, &buffer),
                    buffer.to_vec(&own).map(drop),
                    DeviceBuffer::<u32>::on(&own, 16).map(drop),
                    Event::new(&rig.device, EventOptions::default()).unwrap().record(&own),
                ];
                assert!(refused.iter().all(|r| matches!(r, Err(Error::Invalid { .. }))), "{refused:?}");
                // What needs no handle of the stream works anywhere.
                own.synchronize().unwrap();
            });
            there.join().unwrap();
        });
        rig.assert_clean();
    });
}

#[test]
fn a_raw_stream_has_one_state() {
    on_each(|rig| {
        let owner = Owner::of(&rig);
        let raw = owner.stream(false);
        let first = adopt(&rig, raw);
        let all: Vec<Stream> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| adopt(&rig, raw))).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert!(all.iter().all(|stream| *stream == first));
        let number = first.number();
        drop((first, all));
        assert_ne!(adopt(&rig, raw).number(), number, "the state went with the last clone");
        // One of our own stays one of our own.
        let own = adopt(&rig, rig.stream.as_raw());
        assert!(own == rig.stream && !own.is_adopted());
        drop(own);
        rig.stream.synchronize().unwrap();
        owner.destroy(raw);
        rig.assert_clean();
    });
}

#[test]
fn a_ticket_does_not_wait_for_what_the_owner_enqueued_behind_it() {
    on_each(|rig| {
        let owner = Owner::of(&rig);
        let raw = owner.stream(false);
        let (stream, echo) = (adopt(&rig, raw), rig.kernel(&JIT, "jit_echo"));
        let bytes = echo_bytes(&[9; 40]);
        let block = echo_block(&bytes, 40);
        let args = [Arg::ArgumentBlock(&block)];
        for _ in 0..3 {
            // SAFETY: as the kernel takes it.
            let ticket = unsafe {
                rig.launcher.submit(echo, &stream, Launch::new(LaunchDims::linear(1, 64)).args(&args))
            };
            let hold = owner.hold(raw);
            assert_eq!(ticket.unwrap().read().unwrap().bytes(0).unwrap(), [9; 40]);
            drop(hold);
            stream.synchronize().unwrap();
        }
        drop(stream);
        owner.destroy(raw);
        rig.assert_clean();
    });
}

#[test]
fn memory_is_used_again_only_after_the_owners_work() {
    on_each(|rig| {
        let owner = Owner::of(&rig);
        let raw = owner.stream(false);
        let stream = adopt(&rig, raw);
        for on_owner in [true, false] {
            let buffer =
                DeviceBuffer::<u32>::on(if on_owner { &stream } else { &rig.stream }, 1 << 16).unwrap();
            let ptr = buffer.ptr();
            rig.stream.synchronize().unwrap();
            stream.record_use(buffer.block().unwrap());
            let hold = owner.hold(raw);
            owner.enqueue(raw, &Work::FillWords { dst: ptr, value: 0xdead, count: 1 << 16 });
            // The owner's work still uses it.
            drop(buffer);
            let mut next = DeviceBuffer::<u32>::on(&rig.stream, 1 << 16).unwrap();
            next.fill(&rig.stream, 5).unwrap();
            drop(hold);
            assert_eq!(next.to_vec(&rig.stream).unwrap(), vec![5; 1 << 16]);
            stream.synchronize().unwrap();
            assert_eq!(next.to_vec(&rig.stream).unwrap(), vec![5; 1 << 16]);
        }
        drop(stream);
        owner.destroy(raw);
        rig.assert_clean();
    });
}

#[test]
fn a_stream_that_its_owner_destroyed_is_refused() {
    on_each(|rig| {
        // HIP may crash; the layer does not see a stream destroyed beneath it.
        if ["hip", "hsa"].iter().any(|name| rig.launcher.driver().info().name.ends_with(name)) {
            return;
        }
        let kernel = rig.kernel(&JIT, "jit_echo");
        let bytes = echo_bytes(&[9; 40]);
        let block = echo_block(&bytes, 40);
        let args = [Arg::ArgumentBlock(&block)];
        // By means of the driver below the layers, and through them.
        for below in [true, false] {
            let owner = Owner::of(&rig);
            let driver = if below { owner.driver.clone() } else { rig.launcher.driver().clone() };
            let owner = Owner { driver, ..owner };
            let raw = owner.stream(false);
            let stream = adopt(&rig, raw);
            let launch = || Launch::new(LaunchDims::linear(1, 64)).args(&args);
            // SAFETY: as the kernel takes it.
            let ticket = unsafe { rig.launcher.submit(kernel, &stream, launch()) }.unwrap();
            let buffer = DeviceBuffer::<u32>::on(&stream, 100).unwrap();
            owner.destroy(raw);
            // SAFETY: as the kernel takes it, but for the stream.
            let refused = unsafe { rig.launcher.submit(kernel, &stream, launch()) };
            assert!(
                matches!(&refused, Err(Error::Driver { source: e, .. }) if e.code == ErrorCode::INVALID_HANDLE),
                "{refused:?}"
            );
            assert!(stream.synchronize().is_err());
            // What was enqueued before runs to its end, and the device goes on.
            assert_eq!(ticket.read().unwrap().bytes(0).unwrap(), [9; 40]);
            drop((buffer, refused, stream));
            bump(&rig, &rig.stream, &DeviceBuffer::on(&rig.stream, 64).unwrap()).unwrap();
            rig.stream.synchronize().unwrap();
        }
        rig.validation().take_violations();
    });
}

#[test]
fn events_go_both_ways() {
    on_each(|rig| {
        let owner = Owner::of(&rig);
        let theirs = owner.stream(false);
        let raw = owner.driver.event_create(owner.device, EventOptions::default()).unwrap();
        // SAFETY: alive until the end of the test.
        let event = unsafe { Event::from_raw(&rig.device, raw) };
        assert_eq!(event.as_raw(), raw);
        let buffer = DeviceBuffer::<u32>::on(&rig.stream, 100).unwrap();
        rig.stream.synchronize().unwrap();
        for round in 0..10u32 {
            // Their work, then ours, by an event of theirs.
            let hold = owner.hold(theirs);
            owner.enqueue(theirs, &Work::FillWords { dst: buffer.ptr(), value: round, count: 100 });
            // SAFETY: live handles.
            unsafe { owner.driver.event_record(owner.device, raw, theirs) }.unwrap();
            event.wait_on(&rig.stream).unwrap();
            bump(&rig, &rig.stream, &buffer).unwrap();
            // Our work, then theirs, by an event of ours.
            let ours = Event::new(&rig.device, EventOptions::default()).unwrap();
            ours.record(&rig.stream).unwrap();
            // SAFETY: live handles.
            unsafe { owner.driver.stream_wait_event(owner.device, theirs, ours.as_raw()) }.unwrap();
            drop(hold);
            assert_eq!(buffer.to_vec(&rig.stream).unwrap(), [round + 1; 100]);
        }
        drop(event);
        // SAFETY: still the owner's, as adopting owns nothing.
        unsafe { owner.driver.event_destroy(owner.device, raw) }.unwrap();
        drop(buffer);
        owner.destroy(theirs);
        rig.assert_clean();
    });
}
