//! Exchange that succeeds.

use std::time::Duration;

use hiplaunch::stream::CaptureMode;
use hiplaunch::{DeviceBuffer, LaunchDims, args};
use hiplaunch_mpi::{Communicator, Halo, Number, Options, Reduce};

use crate::rank::{Outcome, Rank};

const VECTOR: &[u8] = include_bytes!("../../../../hip/vector.hipfb");

pub(crate) fn devices(rank: Rank) -> Outcome {
    let choice = rank.mpi.device(&rank.launcher, false)?;
    let (size, devices) = (rank.mpi.size(), rank.launcher.devices().len());
    assert_eq!(devices, 2, "the emulator was asked for two devices");
    assert_eq!((choice.local_size, choice.local_rank), (size, rank.mpi.rank()));
    assert_eq!(choice.device.id().0 as usize, choice.local_rank % devices);
    assert_eq!(choice.sharing, size / devices);
    assert!(["OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"].contains(&choice.source), "{}", choice.source);
    Ok(())
}

/// One step of a heat equation on the inner cells of a field with a border of one cell.
fn step(field: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    let mut next = field.to_vec();
    for r in 1..rows - 1 {
        for c in 1..columns - 1 {
            let at = |r: usize, c: usize| field[r * columns + c];
            let sum = at(r - 1, c) + at(r + 1, c) + at(r, c - 1) + at(r, c + 1) - 4.0 * at(r, c);
            next[r * columns + c] = 0.1f32.mul_add(sum, at(r, c));
        }
    }
    next
}

/// A field in blocks of 2 columns of ranks: halos are rows, and columns with strides.
pub(crate) fn halos(rank: Rank) -> Outcome {
    const ROWS: usize = 12;
    const COLUMNS: usize = 20;
    const STEPS: usize = 9;
    rank.with_both_stagings(|comm| {
        let across = comm.size().min(2);
        let down = comm.size() / across;
        let (x, y) = (comm.rank() % across, comm.rank() / across);
        let (rows, columns) = (ROWS / down + 2, COLUMNS / across + 2);
        let start = |r: usize, c: usize| ((r * 31 + c * 17) % 23) as f32;
        let mut whole: Vec<f32> =
            (0..(ROWS + 2) * (COLUMNS + 2)).map(|i| start(i / (COLUMNS + 2), i % (COLUMNS + 2))).collect();
        let place = |r: usize, c: usize| (y * (rows - 2) + r) * (COLUMNS + 2) + x * (columns - 2) + c;
        let mine: Vec<f32> = (0..rows * columns).map(|i| whole[place(i / columns, i % columns)]).collect();

        let mut field = DeviceBuffer::from_slice(&rank.stream, &mine)?;
        let row = |r: usize| field.view_strided(r * columns + 1, &[1, columns - 2], &[columns as isize, 1]);
        let column = |c: usize| field.view_strided(columns + c, &[rows - 2, 1], &[columns as isize, 1]);
        let mut halos = Vec::new();
        let mut halo = |there: bool, peer: usize, direction: u16, send, recv| {
            if there {
                halos.push(Halo { peer, send, send_tag: direction, recv, recv_tag: direction ^ 1 });
            }
        };
        let me = comm.rank();
        halo(x > 0, me.wrapping_sub(1), 0, column(1)?, column(0)?);
        halo(x + 1 < across, me + 1, 1, column(columns - 2)?, column(columns - 1)?);
        halo(y > 0, me.wrapping_sub(across), 2, row(1)?, row(0)?);
        halo(y + 1 < down, me + across, 3, row(rows - 2)?, row(rows - 1)?);
        for _ in 0..STEPS {
            let next = step(&field.to_vec(&rank.stream)?, rows, columns);
            field.upload(&rank.stream, &next)?;
            comm.exchange(&rank.stream, &halos)?.before(&rank.stream)?;
            whole = step(&whole, ROWS + 2, COLUMNS + 2);
        }
        let got = field.to_vec(&rank.stream)?;
        for r in 1..rows - 1 {
            for c in 1..columns - 1 {
                let (got, expected) = (got[r * columns + c], whole[place(r, c)]);
                assert_eq!(got.to_bits(), expected.to_bits(), "cell {r}, {c} of rank {me}");
            }
        }
        let counters = comm.counters();
        assert_eq!(counters.messages_sent, (halos.len() * STEPS) as u64);
        assert_eq!(counters.messages_received, counters.messages_sent);
        Ok(())
    })
}

fn reduce<T: Number + PartialEq + std::fmt::Debug>(
    rank: &Rank,
    comm: &Communicator,
    of: impl Fn(usize, usize) -> T,
    add: impl Fn(T, T) -> T,
    less: impl Fn(&T, &T) -> bool,
) -> Outcome {
    const N: usize = 1000;
    let all = |how: &dyn Fn(T, T) -> T| -> Vec<T> {
        (0..N).map(|i| (0..comm.size()).map(|r| of(r, i)).reduce(how).expect("a rank")).collect()
    };
    let mine: Vec<T> = (0..N).map(|i| of(comm.rank(), i)).collect();
    let min = |a, b| if less(&a, &b) { a } else { b };
    let max = |a, b| if less(&a, &b) { b } else { a };
    let expected = [(Reduce::Sum, all(&add)), (Reduce::Min, all(&min)), (Reduce::Max, all(&max))];
    for (how, expected) in expected {
        let buffer = DeviceBuffer::from_slice(&rank.stream, &mine)?;
        comm.all_reduce(&rank.stream, &buffer, how)?.wait()?;
        assert_eq!(buffer.to_vec(&rank.stream)?, expected, "{how:?}");
        // Every other element alone.
        let buffer = DeviceBuffer::from_slice(&rank.stream, &mine)?;
        let even = buffer.view_strided(0, &[N / 2], &[2])?;
        comm.all_reduce(&rank.stream, &even, how)?.before(&rank.stream)?;
        for (i, got) in buffer.to_vec(&rank.stream)?.into_iter().enumerate() {
            assert_eq!(got, if i % 2 == 0 { expected[i] } else { mine[i] }, "{how:?} of element {i}");
        }
    }
    Ok(())
}

pub(crate) fn reductions(rank: Rank) -> Outcome {
    rank.with_both_stagings(|comm| {
        // Small whole numbers: their sums are exact in any order.
        let of = |r: usize, i: usize| (r * 7 + i * 3) % 101;
        reduce(&rank, comm, |r, i| of(r, i) as f32 - 50.0, |a, b| a + b, |a, b| a < b)?;
        reduce(&rank, comm, |r, i| of(r, i) as f64 * 0.5, |a, b| a + b, |a, b| a < b)?;
        reduce(&rank, comm, |r, i| of(r, i) as i32 - 50, |a, b| a + b, |a, b| a < b)?;
        reduce(&rank, comm, |r, i| (of(r, i) as i64 - 50) << 40, |a, b| a + b, |a, b| a < b)?;
        reduce(&rank, comm, |r, i| of(r, i) as u32 + (1 << 31) / 4, |a, b| a.wrapping_add(b), |a, b| a < b)?;
        reduce(&rank, comm, |r, i| (of(r, i) as u64) << 50, |a, b| a + b, |a, b| a < b)
    })
}

pub(crate) fn collectives(rank: Rank) -> Outcome {
    rank.with_both_stagings(|comm| {
        for root in 0..comm.size() {
            let value = if comm.rank() == root { [root as u32 + 7; 300] } else { [0; 300] };
            let buffer = DeviceBuffer::from_slice(&rank.stream, &value)?;
            comm.broadcast(&rank.stream, &buffer, root)?.before(&rank.stream)?;
            assert_eq!(buffer.to_vec(&rank.stream)?, [root as u32 + 7; 300]);
        }
        let mine = DeviceBuffer::from_slice(&rank.stream, &[comm.rank() as u16; 5])?;
        let all = DeviceBuffer::<u16>::from_slice(&rank.stream, &vec![99; 5 * comm.size()])?;
        comm.all_gather(&rank.stream, &mine, &all)?.before(&rank.stream)?;
        let expected: Vec<u16> = (0..comm.size() * 5).map(|i| (i / 5) as u16).collect();
        assert_eq!(all.to_vec(&rank.stream)?, expected);
        // The last rank comes to the barrier only after it has sent, so nobody is through before that.
        let last = comm.size() - 1;
        let token = DeviceBuffer::from_slice(&rank.stream, &[0u32])?;
        if comm.rank() == last {
            let barrier = {
                for to in 0..last {
                    comm.send(&rank.stream, &token, to, 1)?.wait()?;
                }
                comm.barrier(&rank.stream)?
            };
            barrier.wait()?;
        } else {
            let barrier = comm.barrier(&rank.stream)?;
            comm.recv(&rank.stream, &token, last, 1)?.wait()?;
            barrier.wait()?;
        }
        // Many at one time keep their order.
        let sums: Vec<_> = (0..50u64)
            .map(|i| DeviceBuffer::from_slice(&rank.stream, &vec![i; 1 + i as usize % 3]))
            .collect::<Result<_, _>>()?;
        let tickets: Vec<_> = sums
            .iter()
            .map(|sum| comm.all_reduce(&rank.stream, sum, Reduce::Sum))
            .collect::<Result<_, _>>()?;
        for ticket in tickets {
            ticket.wait()?;
        }
        for (i, sum) in sums.iter().enumerate() {
            assert!(sum.to_vec(&rank.stream)?.iter().all(|&v| v == (i * comm.size()) as u64), "sum {i}");
        }
        assert_eq!(comm.counters().collectives, comm.size() as u64 + 52);
        Ok(())
    })
}

/// Fills of one stream around a send: the message has what the fill before it wrote.
pub(crate) fn order(rank: Rank) -> Outcome {
    const N: usize = 1 << 16;
    let fill = rank.kernel(VECTOR, "fill_u32")?;
    let dims = LaunchDims::cover(N as u32, 256);
    rank.with_both_stagings(|comm| {
        let peer = comm.rank() ^ 1;
        let mine = DeviceBuffer::<u32>::from_slice(&rank.stream, &vec![0; N])?;
        let theirs = DeviceBuffer::<u32>::from_slice(&rank.stream, &vec![0; N])?;
        for round in 0..20u32 {
            let (before, after) = (round * 10 + comm.rank() as u32, 777u32);
            // SAFETY: the buffer has N elements.
            unsafe { rank.launcher.launch(fill, &rank.stream, dims, &args![&mine, before, N as i32]) }?;
            let sent = comm.send(&rank.stream, &mine, peer, 5)?;
            // SAFETY: as above.
            unsafe { rank.launcher.launch(fill, &rank.stream, dims, &args![&mine, after, N as i32]) }?;
            // Written before the message is: what arrives replaces it.
            // SAFETY: as above.
            unsafe { rank.launcher.launch(fill, &rank.stream, dims, &args![&theirs, 555u32, N as i32]) }?;
            comm.recv(&rank.stream, &theirs, peer, 5)?.before(&rank.stream)?;
            let expected = round * 10 + peer as u32;
            let got = theirs.to_vec(&rank.stream)?;
            assert!(got.iter().all(|&v| v == expected), "round {round}: {:?}", &got[..4]);
            sent.wait()?;
        }
        Ok(())
    })
}

/// A rank finishes its interior while a receive is pending, and only then lets the other rank send.
pub(crate) fn overlap(rank: Rank) -> Outcome {
    const N: usize = 1 << 12;
    let fill = rank.kernel(VECTOR, "fill_u32")?;
    rank.with_both_stagings(|comm| {
        let (even, peer) = (comm.rank() % 2 == 0, comm.rank() ^ 1);
        let halo = DeviceBuffer::<u32>::from_slice(&rank.stream, &[0; 64])?;
        let interior = DeviceBuffer::<u32>::from_slice(&rank.stream, &[0; N])?;
        if even {
            let exchange = comm.recv(&rank.stream, &halo, peer, 1)?;
            let dims = LaunchDims::cover(N as u32, 256);
            // SAFETY: the buffer has N elements.
            unsafe { rank.launcher.launch(fill, &rank.stream, dims, &args![&interior, 3u32, N as i32]) }?;
            // Would wait forever if the interior waited for the receive.
            assert_eq!(interior.to_vec(&rank.stream)?, [3; N]);
            assert!(!exchange.is_done()?, "nothing was sent");
            let go = comm.send(&rank.stream, &interior.view_strided(0, &[1], &[1])?, peer, 2)?;
            exchange.before(&rank.stream)?;
            assert_eq!(halo.to_vec(&rank.stream)?, [9; 64]);
            go.wait()?;
        } else {
            let go = DeviceBuffer::<u32>::from_slice(&rank.stream, &[0])?;
            comm.recv(&rank.stream, &go, peer, 2)?.wait()?;
            let halo = DeviceBuffer::<u32>::from_slice(&rank.stream, &[9; 64])?;
            comm.send(&rank.stream, &halo, peer, 1)?.wait()?;
        }
        Ok(())
    })
}

/// All ranks send large messages around a ring before they receive, and receive before they send.
pub(crate) fn head_to_head(rank: Rank) -> Outcome {
    const N: usize = 1 << 20;
    rank.with_both_stagings(|comm| {
        let (next, previous) =
            ((comm.rank() + 1) % comm.size(), (comm.rank() + comm.size() - 1) % comm.size());
        let mine = DeviceBuffer::from_slice(&rank.stream, &vec![comm.rank() as u64; N])?;
        let theirs = DeviceBuffer::from_slice(&rank.stream, &vec![99u64; N])?;
        for tag in 0..4 {
            let tickets = if tag % 2 == 0 {
                let sent = comm.send(&rank.stream, &mine, next, tag)?;
                sent.before(&rank.stream)?;
                [comm.recv(&rank.stream, &theirs, previous, tag)?, sent]
            } else {
                let received = comm.recv(&rank.stream, &theirs, previous, tag)?;
                [comm.send(&rank.stream, &mine, next, tag)?, received]
            };
            for ticket in tickets {
                ticket.wait()?;
            }
            assert!(theirs.to_vec(&rank.stream)?.iter().all(|&v| v == previous as u64), "tag {tag}");
        }
        Ok(())
    })
}

/// Sends a view and receives it into a contiguous buffer, and the other way round.
pub(crate) fn views(rank: Rank) -> Outcome {
    fn one<T: bytemuck::Pod + Send + PartialEq + std::fmt::Debug>(
        rank: &Rank,
        comm: &Communicator,
        of: impl Fn(usize) -> T,
        shape: &[usize],
        strides: &[isize],
        offset: usize,
    ) -> Outcome {
        const N: usize = 600;
        let peer = comm.rank() ^ 1;
        let data: Vec<T> = (0..N).map(&of).collect();
        let places: Vec<usize> = {
            let mut places = vec![offset as isize];
            for (&n, &stride) in shape.iter().zip(strides) {
                places = places.iter().flat_map(|p| (0..n as isize).map(move |i| p + i * stride)).collect();
            }
            places.into_iter().map(|p| p as usize).collect()
        };
        let source = DeviceBuffer::from_slice(&rank.stream, &data)?;
        let view = source.view_strided(offset, shape, strides)?;
        let packed = DeviceBuffer::from_slice(&rank.stream, &vec![of(9999); places.len()])?;
        let sent = comm.send(&rank.stream, &view, peer, 3)?;
        comm.recv(&rank.stream, &packed, peer, 3)?.before(&rank.stream)?;
        let expected: Vec<T> = places.iter().map(|&p| data[p]).collect();
        assert_eq!(packed.to_vec(&rank.stream)?, expected, "packed {shape:?} {strides:?}");
        let target = DeviceBuffer::from_slice(&rank.stream, &[of(5555); N])?;
        let back = comm.send(&rank.stream, &packed, peer, 4)?;
        let into = target.view_strided(offset, shape, strides)?;
        comm.recv(&rank.stream, &into, peer, 4)?.before(&rank.stream)?;
        for (i, got) in target.to_vec(&rank.stream)?.into_iter().enumerate() {
            let expected = if places.contains(&i) { data[i] } else { of(5555) };
            assert_eq!(got, expected, "element {i} of {shape:?} {strides:?}");
        }
        sent.wait()?;
        Ok(back.wait()?)
    }
    rank.with_both_stagings(|comm| {
        let layouts: [(&[usize], &[isize], usize); 6] = [
            (&[600], &[1], 0),
            (&[10], &[60], 7),
            (&[8, 5], &[-70, 3], 560),
            (&[3, 4, 5], &[200, 33, 6], 1),
            (&[2, 3, 2, 4], &[300, 70, 31, 7], 0),
            (&[0, 4], &[10, 1], 0),
        ];
        for (shape, strides, offset) in layouts {
            one(&rank, comm, |i| i as u8, shape, strides, offset)?;
            one(&rank, comm, |i| i as u16, shape, strides, offset)?;
            one(&rank, comm, |i| i as f32, shape, strides, offset)?;
            one(&rank, comm, |i| i as f64, shape, strides, offset)?;
            one(&rank, comm, |i| [i as u32, 1, 2, 3], shape, strides, offset)?;
            if shape.len() < 4 {
                one(&rank, comm, |i| [i as f32, 1.0, 2.0], shape, strides, offset)?;
            }
        }
        Ok(())
    })
}

pub(crate) fn many(rank: Rank) -> Outcome {
    const ROUNDS: usize = 500;
    rank.with_both_stagings(|comm| {
        let peer = comm.rank() ^ 1;
        let mine = DeviceBuffer::from_slice(&rank.stream, &[comm.rank() as u32; 64])?;
        let theirs = DeviceBuffer::from_slice(&rank.stream, &[0u32; 64])?;
        let (send, recv) = (mine.view(), theirs.view());
        let halo = [Halo { peer, send, send_tag: 0, recv, recv_tag: 0 }];
        let mut held = 0;
        for round in 0..ROUNDS {
            let ticket = comm.exchange(&rank.stream, &halo)?;
            if round % 10 == 9 {
                ticket.wait()?;
            } else {
                ticket.before(&rank.stream)?;
            }
            let now = rank.device.held_bytes();
            if round == ROUNDS / 2 {
                held = now;
            }
        }
        assert_eq!(rank.device.held_bytes(), held, "device memory grew in the second half");
        let counters = comm.counters();
        assert_eq!((counters.operations, counters.stream_waits), (ROUNDS as u64, ROUNDS as u64));
        assert_eq!(counters.bytes_sent, (ROUNDS * 256) as u64);
        Ok(())
    })
}

/// A span that all ranks begin and end at the same barriers is at the same time in the file, whenever their timelines began.
pub(crate) fn trace(rank: Rank) -> Outcome {
    let comm = rank.communicator(Options::default())?;
    // Timelines that begin at other times.
    std::thread::sleep(Duration::from_millis(30 * comm.rank() as u64));
    let timeline = hiplaunch::Timeline::default();
    comm.barrier(&rank.stream)?.wait()?;
    let span = timeline.span("together");
    std::thread::sleep(Duration::from_millis(50));
    comm.barrier(&rank.stream)?.wait()?;
    drop(span);
    let name = std::env::temp_dir().join(format!("hiplaunch-trace-{}.json", std::process::id()));
    rank.mpi.write_trace(&timeline, &name)?;
    if comm.rank() != 0 {
        return Ok(());
    }
    let text = std::fs::read(&name)?;
    std::fs::remove_file(&name)?;
    let json: serde_json::Value = serde_json::from_slice(&text)?;
    let events = json["traceEvents"].as_array().expect("events");
    let spans: Vec<_> = events.iter().filter(|event| event["name"] == "together").collect();
    assert_eq!(spans.len(), comm.size());
    let middle = |span: &serde_json::Value| {
        span["ts"].as_f64().expect("ts") + span["dur"].as_f64().expect("dur") / 2.0
    };
    for (other, span) in spans.iter().enumerate() {
        assert_eq!(span["pid"], 1000 * other + 1);
        let apart = (middle(span) - middle(spans[0])).abs();
        assert!(apart < 20_000.0, "rank {other} is {apart} us from rank 0");
    }
    Ok(())
}

/// The communicator asks the device now and then whether it is lost, which must not break a capture.
pub(crate) fn capture(rank: Rank) -> Outcome {
    let comm = rank.communicator(Options::default())?;
    let mut buffer = DeviceBuffer::<u32>::from_slice(&rank.stream, &[1; 8])?;
    let graph = rank.stream.capture(CaptureMode::Global, |stream| {
        buffer.fill(stream, 7)?;
        // Longer than the time between two questions.
        std::thread::sleep(Duration::from_millis(50));
        Ok(())
    })?;
    comm.check()?;
    // SAFETY: the graph fills a buffer that is alive.
    unsafe { graph.launch(&rank.stream) }?;
    comm.broadcast(&rank.stream, &buffer, 0)?.before(&rank.stream)?;
    assert_eq!(buffer.to_vec(&rank.stream)?, [7; 8]);
    Ok(())
}
