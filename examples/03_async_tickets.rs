//! Tickets: the results of launches in flight, read later, polled without waiting, awaited as futures, or never read.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use hiplaunch::{Arg, FatBinary, LaunchDims, Launcher, Ticket};

const N: usize = 256;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let launcher = Launcher::new()?;
    let device = launcher.device(0)?;
    let stream = launcher.stream(device)?;
    let code = FatBinary::read("hip/vector.hipfb")?.for_device(device)?;
    // SAFETY: a kernel of this project.
    let vadd = unsafe { launcher.register(device, code.elf(), "vadd_f32")? };

    // The launcher copies host arrays to staging memory. So the launch does not wait, and borrows nothing when it
    // returns.
    let launch = |k: f32| -> Result<Ticket, hiplaunch::Error> {
        let (x, y) = ([k; N], [0.5f32; N]);
        let args = [Arg::input(&x), Arg::input(&y), Arg::output::<f32>(N), Arg::from(N as i32)];
        // SAFETY: the arrays have N elements, as the last argument says.
        unsafe { launcher.launch(vadd, &stream, LaunchDims::cover(N as u32, 64), &args) }
    };

    // Several launches in flight can be read in any order.
    let tickets = (0..8).map(|k| launch(k as f32)).collect::<Result<Vec<_>, _>>()?;
    for (k, ticket) in tickets.into_iter().enumerate().rev() {
        assert_eq!(ticket.read()?.slice::<f32>(0)?, [k as f32 + 0.5; N]);
    }

    // `is_ready` never waits.
    let ticket = launch(100.0)?;
    let mut other_work = 0;
    while !ticket.is_ready() {
        other_work += 1;
        thread::yield_now();
    }
    println!("looked {other_work} times before the result was there");
    assert_eq!(ticket.read()?.slice::<f32>(0)?[N - 1], 100.5);

    // A ticket is a future for any executor.
    let output = block_on(launch(200.0)?)?;
    assert_eq!(output.slice::<f32>(0)?[0], 200.5);

    // A ticket may be dropped unread.
    drop(launch(300.0)?);
    Ok(())
}

/// A minimal executor: polls the future on this thread and parks it in between.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn runs() {
    main().unwrap();
}
