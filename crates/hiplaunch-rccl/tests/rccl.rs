//! The calls that reach RCCL, and their results on the emulator's memory, with a stand-in for the library.
#![cfg(unix)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use hiplaunch::driver::{DevicePtr, HostFunction, RawStream, Work};
use hiplaunch::{Backend, DeviceBuffer, Launcher, Stream};
use hiplaunch_rccl::{Collectives, Communicator, Error, Rccl, Reduce, UniqueId};

/// The one launcher of the process: the stand-in has one place for its callbacks.
fn launcher() -> &'static Launcher {
    static LAUNCHER: OnceLock<Launcher> = OnceLock::new();
    LAUNCHER.get_or_init(|| Launcher::builder().backend(Backend::Emulator).build().unwrap())
}

extern "C" fn enqueue(stream: *mut c_void, work: extern "C" fn(*mut c_void), data: *mut c_void) {
    let data = data as usize;
    let function = HostFunction::new(move || work(data as *mut c_void));
    let device = launcher().device(0).unwrap();
    // SAFETY: a live stream of the device; the function calls no driver.
    unsafe {
        device
            .driver()
            .enqueue(device.id(), RawStream(stream as u64), &Work::HostFunction(&function))
            .unwrap();
    }
}

extern "C" fn host(ptr: *const c_void, bytes: usize) -> *mut c_void {
    let found = launcher().device(0).unwrap().host_address(DevicePtr(ptr as u64), bytes).unwrap();
    found.expect("the emulator's memory is the host's").as_ptr().cast()
}

/// The stand-in, compiled and loaded.
struct StandIn {
    file: PathBuf,
    log: unsafe extern "C" fn(*mut c_char, usize),
    fail: unsafe extern "C" fn(*const c_char, c_int),
    rccl: Rccl,
}

fn compile(source: &Path, name: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O1", "-pthread", "-Wall", "-Wextra", "-o"]).arg(&file).arg(source);
    assert!(cc.status().expect("cc, with which Rust links").success());
    file
}

fn stand_in() -> &'static StandIn {
    static STAND_IN: OnceLock<StandIn> = OnceLock::new();
    STAND_IN.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_in.c");
        let file = compile(&source, "librccl_stand_in.so");
        // SAFETY: the library and its functions are those of stand_in.c, and it is never unloaded.
        unsafe {
            let library = Box::leak(Box::new(libloading::Library::new(&file).unwrap()));
            type Enqueue = extern "C" fn(*mut c_void, extern "C" fn(*mut c_void), *mut c_void);
            type Host = extern "C" fn(*const c_void, usize) -> *mut c_void;
            library.get::<unsafe extern "C" fn(Enqueue, Host)>("stand_in_start").unwrap()(enqueue, host);
            StandIn {
                log: *library.get("stand_in_log").unwrap(),
                fail: *library.get("stand_in_fail").unwrap(),
                rccl: Rccl::open(&file).unwrap(),
                file,
            }
        }
    })
}

impl StandIn {
    /// Only one test at a time reads the log.
    fn alone(&self) -> MutexGuard<'static, ()> {
        static ONE: Mutex<()> = Mutex::new(());
        let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        self.take_log();
        guard
    }

    /// What was called since the last time, one call a line.
    fn take_log(&self) -> String {
        let mut text = vec![0u8; 1 << 20];
        // SAFETY: as many bytes as it says.
        unsafe { (self.log)(text.as_mut_ptr().cast(), text.len()) };
        let end = text.iter().position(|byte| *byte == 0).unwrap();
        String::from_utf8(text[..end].to_vec()).unwrap()
    }

    fn fail_next(&self, name: &str, code: c_int) {
        let name = CString::new(name).unwrap();
        // SAFETY: a C string.
        unsafe { (self.fail)(name.as_ptr(), code) };
    }

    /// Runs a function on ranks that are threads, each with a stream of its own.
    fn ranks<T: Send>(&self, size: usize, body: impl Fn(&Communicator, &Stream) -> T + Sync) -> Vec<T> {
        let id = self.rccl.unique_id().unwrap().to_bytes();
        let body = &body;
        std::thread::scope(|scope| {
            let start = |rank| {
                scope.spawn(move || {
                    let device = launcher().device(0).unwrap();
                    let stream = launcher().stream(device).unwrap();
                    // SAFETY: the stand-in uses the emulator, and all ranks run the same function.
                    let comm = unsafe {
                        Communicator::new(&self.rccl, device, size, UniqueId::from_bytes(id), rank).unwrap()
                    };
                    body(&comm, &stream)
                })
            };
            let threads: Vec<_> = (0..size).map(start).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }
}

const N: usize = 1000;

fn numbers(rank: usize, n: usize) -> Vec<f32> {
    (0..n).map(|i| (rank * 10_000 + i) as f32).collect()
}

#[test]
fn collectives_compute_in_the_order_of_the_stream() {
    let stand_in = stand_in();
    let _alone = stand_in.alone();
    const SIZE: usize = 4;
    stand_in.ranks(SIZE, |comm, stream| {
        let rank = comm.rank();
        let buffer = |n| DeviceBuffer::from_slice(stream, &numbers(rank, n)).unwrap();
        let new = |n| DeviceBuffer::<f32>::on(stream, n).unwrap();
        let of_all = |i: usize| (0..SIZE).map(move |rank| (rank * 10_000 + i) as f32);

        let (x, y) = (buffer(N), new(N));
        comm.all_reduce(stream, &x, &y, Reduce::Sum).unwrap();
        // Nothing but the stream orders the copy to the host behind the collective.
        let sums: Vec<f32> = (0..N).map(|i| of_all(i).sum()).collect();
        assert_eq!(y.to_vec(stream).unwrap(), sums);
        comm.all_reduce(stream, &x, &x, Reduce::Max).unwrap();
        assert_eq!(x.to_vec(stream).unwrap(), numbers(SIZE - 1, N));

        let x = buffer(N);
        comm.broadcast(stream, &x, 2).unwrap();
        assert_eq!(x.to_vec(stream).unwrap(), numbers(2, N));

        let (x, all) = (buffer(N), new(SIZE * N));
        comm.all_gather(stream, &x, &all).unwrap();
        let expected: Vec<f32> = (0..SIZE).flat_map(|rank| numbers(rank, N)).collect();
        assert_eq!(all.to_vec(stream).unwrap(), expected);

        let (all, mine) = (buffer(SIZE * N), new(N));
        comm.reduce_scatter(stream, &all, &mine, Reduce::Min).unwrap();
        let expected: Vec<f32> = (rank * N..(rank + 1) * N).map(|i| i as f32).collect();
        assert_eq!(mine.to_vec(stream).unwrap(), expected);
        comm.check().unwrap();
    });
}

#[test]
fn a_ring_in_a_group_and_messages_of_two_ranks() {
    let stand_in = stand_in();
    let _alone = stand_in.alone();
    stand_in.ranks(3, |comm, stream| {
        let (rank, size) = (comm.rank(), comm.size());
        let x = DeviceBuffer::from_slice(stream, &[rank as u64; 8]).unwrap();
        let y = DeviceBuffer::<u64>::on(stream, 8).unwrap();
        stand_in
            .rccl
            .group(|group| {
                group.on(comm).recv(stream, &y, (rank + size - 1) % size)?;
                group.on(comm).send(stream, &x, (rank + 1) % size)
            })
            .unwrap();
        assert_eq!(y.to_vec(stream).unwrap(), [((rank + size - 1) % size) as u64; 8]);
        match rank {
            0 => comm.send(stream, &x, 2).unwrap(),
            2 => comm.recv(stream, &y, 0).unwrap(),
            _ => {}
        }
        if rank == 2 {
            assert_eq!(y.to_vec(stream).unwrap(), [0; 8]);
        }
    });
}

#[test]
fn every_argument_reaches_rccl_as_the_header_numbers_it() {
    let stand_in = stand_in();
    let _alone = stand_in.alone();
    let raw = stand_in.ranks(1, |comm, stream| {
        let f = DeviceBuffer::<f64>::on(stream, 6).unwrap();
        let h = DeviceBuffer::<half::bf16>::on(stream, 5).unwrap();
        let i = DeviceBuffer::<i8>::on(stream, 4).unwrap();
        comm.all_reduce(stream, &f, &f, Reduce::Product).unwrap();
        comm.broadcast(stream, &h, 0).unwrap();
        stand_in
            .rccl
            .group(|group| {
                group.on(comm).all_gather(stream, &i, &i.view())?;
                group.on(comm).send(stream, &f.view_strided(2, &[3], &[1]).unwrap(), 0)?;
                group.on(comm).recv(stream, &f.view_strided(0, &[3], &[1]).unwrap(), 0)
            })
            .unwrap();
        comm.reduce_scatter(stream, &f, &f, Reduce::Min).unwrap();
        stream.as_raw().0
    })[0];
    let log = stand_in.take_log();
    let (init, calls) = log.split_once('\n').unwrap();
    assert!(init.starts_with("0 init of 1: communicator"), "{init}");
    let expected = format!(
        "0 ncclAllReduce 6 type 8 op 1 peer -1 on {raw}\n\
         0 ncclBroadcast 5 type 9 op -1 peer 0 on {raw}\n\
         group\n\
         0 ncclAllGather 4 type 0 op -1 peer -1 on {raw} grouped\n\
         0 ncclSend 3 type 8 op -1 peer 0 on {raw} grouped\n\
         0 ncclRecv 3 type 8 op -1 peer 0 on {raw} grouped\n\
         end of group\n\
         0 ncclReduceScatter 6 type 8 op 3 peer -1 on {raw}\n\
         0 destroy\n"
    );
    assert_eq!(calls, expected);
}

#[test]
fn a_buffer_may_be_dropped_before_its_work_runs() {
    let stand_in = stand_in();
    let _alone = stand_in.alone();
    stand_in.ranks(2, |comm, stream| {
        let result = DeviceBuffer::<f32>::on(stream, N).unwrap();
        let other = launcher().stream(comm.device()).unwrap();
        let x = DeviceBuffer::from_slice(&other, &[1.0f32; N]).unwrap();
        other.synchronize().unwrap();
        if comm.rank() == 1 {
            // The work of rank 0 waits for this rank, while rank 0 drops its buffer and allocates.
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        comm.all_reduce(stream, &x, &result, Reduce::Sum).unwrap();
        drop(x);
        // It would be the dropped block, if that were free on its stream.
        let next = DeviceBuffer::from_slice(&other, &[100.0f32; N]).unwrap();
        assert_eq!(result.to_vec(stream).unwrap(), [2.0; N]);
        drop(next);
    });
}

#[test]
fn a_buffer_may_be_dropped_before_its_group_ends() {
    let stand_in = stand_in();
    let _alone = stand_in.alone();
    stand_in.ranks(2, |comm, stream| {
        let result = DeviceBuffer::<f32>::on(stream, N).unwrap();
        let x = DeviceBuffer::from_slice(stream, &[1.0f32; N]).unwrap();
        let next = stand_in.rccl.group(|group| {
            group.on(comm).all_reduce(stream, &x, &result, Reduce::Sum)?;
            drop(x);
            // Nothing is enqueued yet. It would be the dropped block, if that were free.
            Ok(DeviceBuffer::from_slice(stream, &[100.0f32; N]).unwrap())
        });
        assert_eq!(result.to_vec(stream).unwrap(), [2.0; N]);
        drop(next.unwrap());
    });
}

#[test]
fn what_does_not_fit_is_refused_before_rccl_sees_it() {
    let stand_in = stand_in();
    let _alone = stand_in.alone();
    let device = launcher().device(0).unwrap();
    let id = stand_in.rccl.unique_id().unwrap();
    // SAFETY: refused.
    let error = unsafe { Communicator::new(&stand_in.rccl, device, 2, id, 2) }.unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error}");
    stand_in.ranks(2, |comm, stream| {
        let x = DeviceBuffer::<f32>::on(stream, 10).unwrap();
        let y = DeviceBuffer::<f32>::on(stream, 11).unwrap();
        let gaps = x.view_strided(0, &[5], &[2]).unwrap();
        let refused = |result: hiplaunch_rccl::Result<()>, says: &str| match result {
            Err(Error::Invalid { problem, .. }) => assert!(problem.contains(says), "{problem}"),
            other => panic!("{other:?}"),
        };
        refused(comm.all_reduce(stream, &x, &y, Reduce::Sum), "10 elements into 11");
        refused(comm.all_gather(stream, &x, &y), "10 elements into 11");
        refused(comm.reduce_scatter(stream, &y, &x, Reduce::Sum), "11 elements into 10");
        refused(comm.broadcast(stream, &x, 2), "rank 2 of 2");
        refused(comm.send(stream, &x, 2), "rank 2 of 2");
        refused(comm.all_reduce(stream, &gaps, &gaps, Reduce::Sum), "gaps");
        let nested = stand_in.rccl.group(|_| {
            refused(comm.all_reduce(stream, &x, &x, Reduce::Sum), "group");
            stand_in.rccl.group(|_| Ok(()))
        });
        refused(nested, "group");
        let captured = stream.capture(hiplaunch::driver::CaptureMode::ThreadLocal, |stream| {
            refused(comm.all_reduce(stream, &x, &x, Reduce::Sum), "captured");
            Ok(())
        });
        captured.unwrap();
    });
    assert!(!stand_in.take_log().contains("nccl"));
}

#[test]
fn errors_of_rccl_have_rank_call_code_and_text() {
    let stand_in = stand_in();
    let _alone = stand_in.alone();
    let device = launcher().device(0).unwrap();
    stand_in.fail_next("ncclCommInitRank", 4);
    let id = stand_in.rccl.unique_id().unwrap();
    // SAFETY: it fails.
    let error = unsafe { Communicator::new(&stand_in.rccl, device, 1, id, 0) }.unwrap_err();
    assert_eq!(error.to_string(), "rank 0: ncclCommInitRank failed with 4: invalid argument");
    stand_in.ranks(1, |comm, stream| {
        let x = DeviceBuffer::<f32>::on(stream, 4).unwrap();
        stand_in.fail_next("ncclAllReduce", 5);
        let error = comm.all_reduce(stream, &x, &x, Reduce::Sum).unwrap_err();
        assert!(
            matches!(error, Error::Rccl { rank: Some(0), call: "ncclAllReduce", code: 5, .. }),
            "{error}"
        );
        stand_in.fail_next("ncclGroupEnd", 3);
        let error = stand_in.rccl.group(|_| Ok(())).unwrap_err();
        assert!(matches!(error, Error::Rccl { call: "ncclGroupEnd", code: 3, .. }), "{error}");
        // The thread is in no group any more.
        comm.all_reduce(stream, &x, &x, Reduce::Sum).unwrap();
    });
}

#[test]
fn a_failed_communicator_is_aborted_and_a_good_one_destroyed() {
    let stand_in = stand_in();
    let _alone = stand_in.alone();
    stand_in.ranks(1, |comm, _| {
        stand_in.fail_next("async", 7); // still at work
        comm.check().unwrap();
        stand_in.fail_next("async", 6);
        assert_eq!(
            comm.check().unwrap_err().to_string(),
            "rank 0: ncclCommGetAsyncError failed with 6: remote process exited"
        );
    });
    stand_in.fail_next("async", 0);
    assert!(stand_in.take_log().ends_with("0 abort\n"));
    stand_in.ranks(1, |_, _| ());
    assert!(stand_in.take_log().ends_with("0 destroy\n"));
    let device = launcher().device(0).unwrap();
    let id = stand_in.rccl.unique_id().unwrap();
    // SAFETY: as in `ranks`.
    unsafe { Communicator::new(&stand_in.rccl, device, 1, id, 0) }.unwrap().abort().unwrap();
    let log = stand_in.take_log();
    assert!(log.ends_with("0 abort\n") && !log.contains("destroy"), "{log}");
}

#[test]
fn a_group_that_fails_or_panics_is_ended() {
    let stand_in = stand_in();
    let _alone = stand_in.alone();
    let failed: hiplaunch_rccl::Result<()> =
        stand_in.rccl.group(|_| Err(Error::NotFound { tried: Vec::new() }));
    assert!(matches!(failed, Err(Error::NotFound { .. })));
    let panicked =
        std::panic::catch_unwind(|| stand_in.rccl.group(|_| -> hiplaunch_rccl::Result<()> { panic!() }));
    assert!(panicked.is_err());
    assert_eq!(stand_in.take_log(), "group\nend of group\n".repeat(2));
    stand_in.rccl.group(|_| Ok(())).unwrap();
}

/// In a process of its own, which gets another environment.
#[test]
fn amds_library_is_found_in_rocm_path_and_is_not_used_with_the_emulator() {
    const NAME: &str = "amds_library_is_found_in_rocm_path_and_is_not_used_with_the_emulator";
    const CHILD: &str = "RCCL_TEST_CHILD";
    if std::env::var_os(CHILD).is_some() {
        let rccl = Rccl::load().unwrap();
        let device = launcher().device(0).unwrap();
        let id = UniqueId::from_bytes([0; UniqueId::BYTES]);
        // SAFETY: refused.
        let error = unsafe { Communicator::new(&rccl, device, 1, id, 0) }.unwrap_err();
        assert!(matches!(&error, Error::Invalid { problem, .. } if problem.contains("emulator")), "{error}");
        return;
    }
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rocm");
    std::fs::create_dir_all(root.join("lib")).unwrap();
    std::fs::copy(&stand_in().file, root.join("lib/librccl.so.1")).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args([NAME, "--exact"]).env(CHILD, "1").env("ROCM_PATH", &root);
    let output = child.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn libraries_that_are_not_rccl_are_named_with_the_reason() {
    let stand_in = stand_in();
    assert!(stand_in.file.is_file());
    // SAFETY: there is no such file.
    let error = unsafe { Rccl::open("/no/librccl.so.1") }.unwrap_err().to_string();
    assert!(error.contains("/no/librccl.so.1"), "{error}");
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("old.c");
    std::fs::write(&source, "int ncclGroupStart(void) { return 0; }\n").unwrap();
    let old = compile(&source, "librccl_old.so");
    // SAFETY: nothing of it is called.
    let error = unsafe { Rccl::open(&old) }.unwrap_err().to_string();
    assert!(error.contains("ncclAllReduce, ncclBroadcast") && !error.contains("ncclGroupStart"), "{error}");
}
