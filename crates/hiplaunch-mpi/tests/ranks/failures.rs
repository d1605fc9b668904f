//! Exchange that fails: each rank gets an error that says which rank failed, and why; none waits forever.

use std::time::Duration;

use hiplaunch::stream::CaptureMode;
use hiplaunch::{DeviceBuffer, LaunchDims, args};
use hiplaunch_mpi::{Communicator, Error, Options, Reduce};

use crate::rank::{Outcome, Rank};

const PROBE: &[u8] = include_bytes!("../../../../hip/probe.hipfb");

/// Receives what nobody sends.
fn receive_nothing(rank: &Rank, comm: &Communicator) -> Error {
    let received = DeviceBuffer::<u32>::new(&rank.device, 4).expect("memory");
    let from = (comm.rank() + 1) % comm.size();
    match comm.recv(&rank.stream, &received, from, 99).and_then(hiplaunch_mpi::Ticket::wait) {
        Ok(()) => panic!("nothing was sent"),
        Err(error) => error,
    }
}

pub(crate) fn arguments(rank: Rank) -> Outcome {
    let comm = rank.communicator(Options::default())?;
    let buffer = DeviceBuffer::<u32>::from_slice(&rank.stream, &[1; 8])?;
    let of = |result: hiplaunch_mpi::Result<hiplaunch_mpi::Ticket>| match result {
        Err(Error::Invalid { problem, .. }) => problem.into_string(),
        other => panic!("not refused: {other:?}"),
    };
    assert!(of(comm.send(&rank.stream, &buffer, comm.size(), 0)).contains("ranks"));
    assert!(of(comm.recv(&rank.stream, &buffer, 0, 40000)).contains("32767"));
    assert!(of(comm.broadcast(&rank.stream, &buffer, 77)).contains("rank 77"));
    assert!(of(comm.all_gather(&rank.stream, &buffer, &buffer)).contains("8 elements"));
    let other = rank.launcher.device(1 - rank.device.id().0)?;
    let there = DeviceBuffer::<u32>::new(other, 8)?;
    assert!(of(comm.send(&rank.stream, &there, 0, 0)).contains("another device"));
    let captured = rank.launcher.stream(&rank.device)?;
    captured.begin_capture(CaptureMode::ThreadLocal)?;
    assert!(of(comm.barrier(&captured)).contains("captured"));
    captured.end_capture()?;
    // None of them failed the communicator.
    comm.barrier(&rank.stream)?.wait()?;
    Ok(())
}

/// Two devices: two ranks have one each, four do not.
pub(crate) fn exclusive(rank: Rank) -> Outcome {
    match rank.mpi.device(&rank.launcher, true) {
        Ok(choice) => {
            assert_eq!((rank.mpi.size(), choice.sharing), (2, 1));
        }
        Err(error @ Error::NoDevice { .. }) => {
            assert_eq!(rank.mpi.size(), 4);
            let text = error.to_string();
            assert!(text.contains(&format!("rank {} on {}", rank.mpi.rank(), rank.mpi.host())), "{text}");
            assert!(text.contains("start at most 2 ranks on this machine"), "{text}");
        }
        Err(other) => panic!("{other}"),
    }
    Ok(())
}

fn other_size(rank: &Rank, sent: usize, announced: usize) -> Outcome {
    let comm = rank.communicator(Options::default())?;
    let buffer = DeviceBuffer::<u32>::from_slice(&rank.stream, &[7; 64])?;
    let view = |n: usize| buffer.view_strided(0, &[n], &[1]);
    if comm.rank() == 1 {
        comm.send(&rank.stream, &view(sent)?, 0, 6)?.wait()?;
        let error = receive_nothing(rank, &comm);
        let Error::RankFailed { rank: 0, report } = &error else { panic!("{error}") };
        assert!(report.contains("recv of tag 6 from rank 1"), "{report}");
    } else if comm.rank() == 0 {
        let error = comm.recv(&rank.stream, &view(announced)?, 1, 6)?.wait().expect_err("another size");
        let Error::MessageSize { rank: 0, from: 1, tag: 6, announced: bytes, got } = error else {
            panic!("{error}")
        };
        assert_eq!(bytes, announced * 4);
        assert!(got.is_none_or(|got| got == sent * 4), "{got:?}");
        assert!(got.is_some() || sent > announced);
    } else {
        let error = receive_nothing(rank, &comm);
        assert!(matches!(error, Error::RankFailed { rank: 0, .. }), "{error}");
    }
    Ok(())
}

pub(crate) fn longer_message(rank: Rank) -> Outcome {
    other_size(&rank, 32, 8)
}

pub(crate) fn shorter_message(rank: Rank) -> Outcome {
    other_size(&rank, 8, 32)
}

/// One rank reduces fewer elements, in the other order, or otherwise.
pub(crate) fn other_collective(rank: Rank) -> Outcome {
    for difference in 0..3 {
        let comm = rank.communicator(Options { check_collectives: true, ..Options::default() })?;
        let buffer = DeviceBuffer::<u32>::from_slice(&rank.stream, &[7; 64])?;
        comm.all_reduce(&rank.stream, &buffer, Reduce::Sum)?.wait()?;
        let is_other = comm.rank() == 1;
        let n = if is_other && difference == 0 { 32 } else { 64 };
        let how = if is_other && difference == 1 { Reduce::Max } else { Reduce::Sum };
        let view = buffer.view_strided(0, &[n], &[1])?;
        let result = match is_other && difference == 2 {
            true => comm.broadcast(&rank.stream, &view, 0),
            false => comm.all_reduce(&rank.stream, &view, how),
        };
        match result.and_then(hiplaunch_mpi::Ticket::wait).expect_err("they differ") {
            Error::CollectiveDiffers { rank, bytes, .. } => {
                assert_eq!((rank, bytes), (comm.rank(), n * 4));
            }
            // Another rank was faster to say so.
            Error::RankFailed { report, .. } => {
                assert!(report.contains("same collective operations"), "{report}")
            }
            other => panic!("{other}"),
        }
    }
    Ok(())
}

pub(crate) fn other_code(rank: Rank) -> Outcome {
    let comm = rank.communicator(Options::default())?;
    comm.check_code("step", PROBE)?;
    let last = comm.size() - 1;
    let mine = if comm.rank() == last { &PROBE[1..] } else { PROBE };
    let error = comm.check_code("step", mine).expect_err("other code");
    let Error::CodeDiffers { kernel, ranks } = &error else { panic!("{error}") };
    assert_eq!((&**kernel, &ranks[..]), ("step", &[last][..]));
    // All ranks go on.
    comm.check_code("step", PROBE)?;
    Ok(comm.barrier(&rank.stream)?.wait()?)
}

pub(crate) fn told(rank: Rank) -> Outcome {
    let comm = rank.communicator(Options::default())?;
    if comm.rank() == 1 {
        comm.fail("the field has a NaN");
        assert!(matches!(comm.barrier(&rank.stream), Err(Error::RankFailed { rank: 1, .. })));
        return Ok(());
    }
    let error = receive_nothing(&rank, &comm);
    let Error::RankFailed { rank: 1, report } = &error else { panic!("{error}") };
    assert!(report.contains("the field has a NaN"), "{report}");
    // Later operations return it too.
    assert!(matches!(comm.barrier(&rank.stream), Err(Error::RankFailed { rank: 1, .. })));
    Ok(())
}

/// Launches a kernel that stores far outside of its buffer.
fn fault_here(rank: &Rank) -> hiplaunch::Result<()> {
    let stray = rank.kernel(PROBE, "oob_store")?;
    let buffer = DeviceBuffer::<f32>::new(&rank.device, 16)?;
    let args = args![&buffer, 1i64 << 40];
    // SAFETY: the emulator checks every access, and refuses this one.
    unsafe { rank.launcher.launch(stray, &rank.stream, LaunchDims::linear(1, 64), &args) }.map(drop)
}

/// The rank whose kernel faults makes no call any more until the others have failed.
pub(crate) fn fault(rank: Rank) -> Outcome {
    let comm = rank.communicator(Options::default())?;
    if comm.rank() == 1 {
        fault_here(&rank)?;
        while comm.check().is_ok() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(matches!(comm.check(), Err(Error::Launcher { rank: 1, .. })), "{:?}", comm.check());
        return Ok(());
    }
    let error = receive_nothing(&rank, &comm);
    let Error::RankFailed { rank: 1, report } = &error else { panic!("{error}") };
    assert!(report.contains("oob_store"), "the report names the kernel: {report}");
    Ok(())
}

pub(crate) fn fault_in_collective(rank: Rank) -> Outcome {
    let comm = rank.communicator(Options::default())?;
    let sum = DeviceBuffer::<f32>::from_slice(&rank.stream, &[1.0; 8])?;
    if comm.rank() == 1 {
        fault_here(&rank)?;
    }
    let result = comm.all_reduce(&rank.stream, &sum, Reduce::Sum).and_then(hiplaunch_mpi::Ticket::wait);
    match result {
        Err(Error::Launcher { rank: 1, .. }) if comm.rank() == 1 => Ok(()),
        Err(Error::RankFailed { rank: 1, report }) if comm.rank() != 1 => {
            assert!(report.contains("oob_store"), "{report}");
            Ok(())
        }
        other => panic!("{other:?}"),
    }
}

pub(crate) fn timeout(rank: Rank) -> Outcome {
    let timeout = Some(Duration::from_millis(if rank.mpi.rank() == 0 { 200 } else { 60_000 }));
    let comm = rank.communicator(Options { timeout, ..Options::default() })?;
    let error = receive_nothing(&rank, &comm);
    match (comm.rank(), error) {
        (0, Error::Timeout { rank: 0, call: "recv", peer: Some(1), .. }) => Ok(()),
        (1.., Error::RankFailed { rank: 0, report }) if report.contains("within 0.2 s") => Ok(()),
        (_, error) => panic!("{error}"),
    }
}

pub(crate) fn panics(rank: Rank) -> Outcome {
    let comm = rank.communicator(Options::default())?;
    assert_ne!(comm.rank(), 1, "rank 1 panics");
    Err(receive_nothing(&rank, &comm).into())
}

/// The others wait for rank 1 in a call of MPI that can't be told.
pub(crate) fn panics_before_a_communicator(rank: Rank) -> Outcome {
    assert_ne!(rank.mpi.rank(), 1, "rank 1 panics");
    rank.communicator(Options::default()).map(drop)?;
    Ok(())
}

/// Ends a process of rank 1; the others wait for it.
fn killed(rank: &Rank, process: fn() -> i32) -> Outcome {
    let comm = rank.communicator(Options::default())?;
    if comm.rank() == 1 {
        // SAFETY: a signal to a process of this rank.
        unsafe { libc::kill(process(), libc::SIGKILL) };
    }
    Err(receive_nothing(rank, &comm).into())
}

pub(crate) fn process_killed(rank: Rank) -> Outcome {
    // SAFETY: a plain query.
    killed(&rank, || unsafe { libc::getpid() })
}

pub(crate) fn supervisor_killed(rank: Rank) -> Outcome {
    // SAFETY: a plain query.
    killed(&rank, || unsafe { libc::getppid() })
}
