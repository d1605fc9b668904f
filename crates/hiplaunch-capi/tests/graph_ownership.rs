//! Every status of hiplaunch_graph_compute and hiplaunch_graph_compile closes the graph, and nothing leaks.

use std::mem::MaybeUninit;
use std::ptr::null;
use std::sync::Arc;

use hiplaunch::driver::ErrorCode;
use hiplaunch::driver::validation::{CallKind, ValidationDriver};
use hiplaunch::{Backend, Launcher};
use hiplaunch_capi::*;

const OK: hiplaunch_status = hiplaunch_status::Ok;
const N: usize = 64;

/// What a call that succeeds writes.
fn made<T>(call: impl FnOnce(Option<&mut MaybeUninit<T>>) -> hiplaunch_status) -> T {
    let mut place = MaybeUninit::uninit();
    assert_eq!(call(Some(&mut place)), OK);
    // SAFETY: the call succeeded, and so has written it.
    unsafe { place.assume_init() }
}

/// A launcher, and what graphs are recorded with.
struct Rig {
    layer: Arc<ValidationDriver>,
    launcher: *mut hiplaunch_launcher,
    stream: *mut hiplaunch_stream,
    vadd: *mut hiplaunch_kernel,
    buffer: *mut hiplaunch_buffer,
}

impl Rig {
    fn open() -> Rig {
        let launcher = Launcher::builder().backend(Backend::Emulator).validate(true).build().unwrap();
        let layer = launcher.validation().unwrap().clone();
        let launcher = hiplaunch_adopt(launcher).unwrap();
        let code = include_bytes!("../../../hip/vector.gfx90a.co");
        let (code, bytes, name) = (code.as_ptr().cast(), code.len(), c"vadd_f32");
        // SAFETY: a kernel of hip/, and arrays of their lengths.
        let vadd =
            made(|out| unsafe { hiplaunch_register(launcher, 0, code, bytes, name.as_ptr(), null(), out) });
        let stream = made(|out| hiplaunch_stream_open(launcher, 0, out));
        let buffer = made(|out| hiplaunch_buffer_open(launcher, 0, stream, 4 * N, out));
        assert_eq!(hiplaunch_buffer_fill(buffer, stream, 0, 4 * N, 0), OK);
        Rig { layer, launcher, stream, vadd, buffer }
    }

    /// Records x + x, to the first bytes of a temporary of `bytes` bytes, which the host reads.
    fn recorded(&self, bytes: usize) -> *mut hiplaunch_graph {
        let graph = made(|out| hiplaunch_graph_open(self.launcher, 0, out));
        let x = made(|out| hiplaunch_graph_buffer(graph, self.buffer, out));
        let all = made(|out| hiplaunch_graph_temporary(graph, bytes, out));
        let sum = made(|out| hiplaunch_graph_slice(graph, all, 0, 4 * N, out));
        let arg = |kind: hiplaunch_graph_arg_kind, value| hiplaunch_graph_arg {
            kind: kind as u32,
            value,
            bits: N as u64,
            data: null(),
            size: 4,
        };
        let args = [
            arg(hiplaunch_graph_arg_kind::Read, x),
            arg(hiplaunch_graph_arg_kind::Read, x),
            arg(hiplaunch_graph_arg_kind::Write, sum),
            arg(hiplaunch_graph_arg_kind::Scalar, 0),
        ];
        let dims = hiplaunch_dims { grid: [1, 1, 1], block: [64, 1, 1], dynamic_lds: 0 };
        // SAFETY: a kernel of hip/, launched as its README says.
        let node = made(|out| unsafe {
            hiplaunch_graph_launch(graph, self.vadd, Some(&dims), args.as_ptr(), 4, out)
        });
        assert_eq!(node, 0);
        assert_eq!(hiplaunch_graph_read(graph, sum, None), OK);
        graph
    }

    /// Computes the graph, which must fail with a status and close it.
    fn refuses_to_compute(&self, graph: *mut hiplaunch_graph, status: hiplaunch_status) {
        let mut ticket = MaybeUninit::new(std::ptr::null_mut());
        assert_eq!(hiplaunch_graph_compute(graph, self.stream, 0, Some(&mut ticket)), status);
        // SAFETY: it was a pointer before.
        assert!(unsafe { ticket.assume_init() }.is_null());
        assert_eq!(hiplaunch_graph_close(graph), hiplaunch_status::InvalidHandle);
    }

    /// Compiles the graph, which must fail with a status and close it.
    fn refuses_to_compile(&self, graph: *mut hiplaunch_graph, status: hiplaunch_status) {
        let mut compiled = MaybeUninit::new(std::ptr::null_mut());
        assert_eq!(hiplaunch_graph_compile(graph, self.stream, Some(&mut compiled)), status);
        // SAFETY: as above.
        assert!(unsafe { compiled.assume_init() }.is_null());
        assert_eq!(hiplaunch_graph_close(graph), hiplaunch_status::InvalidHandle);
    }

    /// Once the objects of the program are closed, no memory is in use.
    fn has_kept_nothing(self) {
        assert_eq!(hiplaunch_buffer_close(self.buffer), OK);
        assert_eq!(hiplaunch_forget_graphs(self.launcher, None), OK);
        // SAFETY: integers.
        let mut stats: hiplaunch_pool_stats = unsafe { std::mem::zeroed() };
        stats.struct_size = size_of::<hiplaunch_pool_stats>();
        // SAFETY: a struct of its size.
        assert_eq!(unsafe { hiplaunch_get_pool_stats(self.launcher, 0, &raw mut stats) }, OK);
        assert_eq!((stats.live_blocks, stats.in_use), (0, 0));
        assert_eq!(hiplaunch_close(self.launcher), OK);
        self.layer.assert_clean_and_empty().unwrap();
    }
}

#[test]
fn a_graph_that_finds_no_memory_is_closed() {
    let rig = Rig::open();
    let graphs = [rig.recorded(64 << 20), rig.recorded(64 << 20)];
    rig.layer.inject_repeating(CallKind::Malloc, 1, ErrorCode::OUT_OF_MEMORY);
    rig.refuses_to_compute(graphs[0], hiplaunch_status::OutOfMemory);
    rig.refuses_to_compile(graphs[1], hiplaunch_status::OutOfMemory);
    rig.layer.clear_injections();
    rig.has_kept_nothing();
}

#[test]
fn a_graph_of_which_the_driver_refuses_a_node_is_closed() {
    let rig = Rig::open();
    for call in [CallKind::LaunchKernel, CallKind::MemcpyDtohAsync] {
        let graph = rig.recorded(4 * N);
        rig.layer.inject(call, 1, ErrorCode::INVALID_VALUE);
        rig.refuses_to_compute(graph, hiplaunch_status::Driver);
        rig.layer.clear_injections();
    }
    rig.has_kept_nothing();
}

#[test]
fn a_compiled_graph_of_which_the_driver_refuses_a_node_stays_open() {
    let rig = Rig::open();
    let compiled = made(|out| hiplaunch_graph_compile(rig.recorded(4 * N), rig.stream, out));
    rig.layer.inject(CallKind::LaunchKernel, 1, ErrorCode::INVALID_VALUE);
    assert_eq!(hiplaunch_compiled_graph_submit(compiled, 0, None), hiplaunch_status::Driver);
    rig.layer.clear_injections();
    let ticket = made(|out| hiplaunch_compiled_graph_submit(compiled, 0, out));
    assert_eq!(hiplaunch_ticket_wait(ticket), OK);
    assert_eq!(hiplaunch_ticket_close(ticket), OK);
    assert_eq!(hiplaunch_compiled_graph_close(compiled), OK);
    rig.has_kept_nothing();
}

#[test]
fn a_graph_on_a_lost_device_is_closed() {
    let rig = Rig::open();
    let graphs = [rig.recorded(4 * N), rig.recorded(4 * N)];
    let compiled = made(|out| hiplaunch_graph_compile(rig.recorded(4 * N), rig.stream, out));
    rig.layer.inject(CallKind::StreamSynchronize, 1, ErrorCode::ILLEGAL_ADDRESS);
    assert_eq!(hiplaunch_stream_synchronize(rig.stream), hiplaunch_status::DeviceLost);
    rig.refuses_to_compute(graphs[0], hiplaunch_status::DeviceLost);
    rig.refuses_to_compile(graphs[1], hiplaunch_status::DeviceLost);
    assert_eq!(hiplaunch_compiled_graph_submit(compiled, 0, None), hiplaunch_status::DeviceLost);
    assert_eq!(hiplaunch_compiled_graph_close(compiled), OK);
    assert_eq!(hiplaunch_close(rig.launcher), OK);
}

#[test]
fn a_graph_with_an_invalid_submission_stream_or_result_is_closed() {
    let rig = Rig::open();
    let closed = |graph| assert_eq!(hiplaunch_graph_close(graph), hiplaunch_status::InvalidHandle);
    let graph = rig.recorded(4 * N);
    assert_eq!(hiplaunch_graph_compute(graph, rig.stream, 3, None), hiplaunch_status::InvalidArgument);
    closed(graph);
    let gone = made(|out| hiplaunch_stream_open(rig.launcher, 0, out));
    assert_eq!(hiplaunch_stream_close(gone), OK);
    let graph = rig.recorded(4 * N);
    assert_eq!(hiplaunch_graph_compute(graph, gone, 0, None), hiplaunch_status::InvalidHandle);
    closed(graph);
    let graph = rig.recorded(4 * N);
    assert_eq!(hiplaunch_graph_compile(graph, rig.stream, None), hiplaunch_status::NullPointer);
    closed(graph);
    rig.has_kept_nothing();
}

#[test]
fn a_graph_that_succeeds_is_closed() {
    let rig = Rig::open();
    let graph = rig.recorded(4 * N);
    assert_eq!(hiplaunch_graph_compute(graph, rig.stream, 0, None), OK);
    assert_eq!(hiplaunch_graph_close(graph), hiplaunch_status::InvalidHandle);
    let graph = rig.recorded(4 * N);
    let compiled = made(|out| hiplaunch_graph_compile(graph, rig.stream, out));
    assert_eq!(hiplaunch_graph_close(graph), hiplaunch_status::InvalidHandle);
    assert_eq!(hiplaunch_compiled_graph_close(compiled), OK);
    rig.has_kept_nothing();
}
