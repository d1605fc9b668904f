//! Tickets: reading, awaiting, polling and dropping them.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use hiplaunch::{Arg, Error, LaunchDims, Ticket};

use hiplaunch_testing::rig::*;

use crate::adopted::Owner;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A minimal executor: polls the future on this thread and parks it in between.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Launches a kernel that runs for `iterations`. Returns the value of all its output elements, and the ticket.
fn spin(rig: &Rig, iterations: u64) -> (u32, Ticket) {
    let kernel = rig.kernel(&PROBE, "spin");
    let mut want = 0u32;
    (0..iterations).for_each(|_| want = want.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    let ticket =
        rig.launch(kernel, LaunchDims::linear(1, 64), &[Arg::from(iterations), Arg::output::<u32>(64)]);
    (want, ticket.unwrap())
}

#[test]
fn an_awaited_ticket_returns_its_results() {
    on_each(|rig| {
        for iterations in [1, 20_000] {
            let (want, ticket) = spin(&rig, iterations);
            let output = block_on(ticket).unwrap();
            assert_eq!(output.slice::<u32>(0).unwrap(), [want; 64]);
        }
        // Many launches in flight, awaited in reverse order.
        let tickets: Vec<_> = (1..20).map(|i| spin(&rig, i * 10)).collect();
        for (want, ticket) in tickets.into_iter().rev() {
            assert_eq!(block_on(ticket).unwrap().slice::<u32>(0).unwrap(), [want; 64]);
        }
        rig.assert_clean();
    });
}

#[test]
fn is_ready_never_waits() {
    on_each(|rig| {
        // The launch can't finish while the stream is held: a call of `is_ready` that waited would not return.
        let hold = Owner::of(&rig).hold(rig.stream.as_raw());
        let (want, ticket) = spin(&rig, 1000);
        assert!(hold.is_none() || !ticket.is_ready());
        drop(hold);
        while !ticket.is_ready() {
            std::thread::yield_now();
        }
        let before = rig.validation().counts();
        assert_eq!(ticket.read().unwrap().slice::<u32>(0).unwrap(), [want; 64]);
        assert_eq!(
            rig.validation().counts().since(&before).device_calls(),
            0,
            "the host knows that the launch has finished"
        );
        rig.assert_clean();
    });
}

#[test]
fn tickets_read_in_any_order_return_their_own_results() {
    on_each(|rig| {
        let echo = rig.kernel(&JIT, "jit_echo");
        let mut tickets: Vec<_> = (0..300u32)
            .map(|i| {
                let payload: Vec<u8> = (0..(i % 90 + 1)).map(|j| (i * 7 + j) as u8).collect();
                let bytes = echo_bytes(&payload);
                let block = echo_block(&bytes, payload.len());
                let ticket =
                    rig.launch(echo, LaunchDims::linear(1, 64), &[Arg::ArgumentBlock(&block)]).unwrap();
                (payload, ticket)
            })
            .collect();
        // Shuffles the tickets, the same in each run.
        for i in 0..tickets.len() {
            let j = (i * 7919 + 13) % tickets.len();
            tickets.swap(i, j);
        }
        for (payload, ticket) in tickets {
            assert_eq!(ticket.outputs(), 1);
            let mut got = vec![0; payload.len()];
            ticket.read_into(&mut [&mut got]).unwrap();
            assert_eq!(got, payload);
        }
        rig.assert_clean();
    });
}

#[test]
fn the_memory_of_dropped_tickets_is_used_again() {
    on_each(|rig| {
        let echo = rig.kernel(&JIT, "jit_echo");
        let launch = |i: u32| {
            let payload = i.to_le_bytes();
            let bytes = echo_bytes(&payload);
            let block = echo_block(&bytes, 4);
            rig.launch(echo, LaunchDims::linear(1, 64), &[Arg::ArgumentBlock(&block)]).unwrap()
        };
        // What 100 launches need at once. The device is never further behind, however busy the machine is.
        let held: Vec<_> = (0..100).map(launch).collect();
        let pinned = rig.stream.pinned_bytes();
        drop(held);
        for _ in 0..4 {
            for i in 0..3000 {
                drop(launch(i));
                if i % 100 == 99 {
                    rig.stream.synchronize().unwrap();
                }
            }
            assert!(rig.stream.pinned_bytes() <= 2 * pinned, "{pinned} then {}", rig.stream.pinned_bytes());
        }
        // Without waits, launches wait for the oldest dropped ticket when there are too many.
        (0..3000).for_each(|i| drop(launch(i)));
        assert_eq!(launch(7).read().unwrap().value::<u32>(0).unwrap(), 7);
        rig.assert_clean();
    });
}

#[test]
fn reading_a_missing_output_or_a_wrong_length_is_an_error() {
    on_each(|rig| {
        let echo = rig.kernel(&JIT, "jit_echo");
        let bytes = echo_bytes(b"abc");
        let block = echo_block(&bytes, 3);
        let launch = || rig.launch(echo, LaunchDims::linear(1, 64), &[Arg::ArgumentBlock(&block)]).unwrap();
        let output = launch().read().unwrap();
        assert!(matches!(output.bytes(1), Err(Error::Invalid { .. })));
        assert!(matches!(output.slice::<u32>(0), Err(Error::Invalid { .. })));
        assert!(matches!(output.value::<u16>(0), Err(Error::Invalid { .. })));
        let mut short = [0u8; 2];
        assert!(matches!(launch().read_into(&mut [&mut short]), Err(Error::Invalid { .. })));
        assert!(matches!(launch().read_into(&mut []), Err(Error::Invalid { .. })));
        rig.assert_clean();
    });
}

#[test]
fn a_ticket_outlives_its_stream_and_launcher() {
    on_each(|rig| {
        let (want, ticket) = spin(&rig, 50_000);
        let Rig { launcher, device, stream } = rig;
        let validation = launcher.validation().cloned();
        drop((stream, device, launcher));
        assert_eq!(ticket.read().unwrap().slice::<u32>(0).unwrap(), [want; 64]);
        assert!(validation.unwrap().violations().is_empty());
    });
}
