//! Closing a launcher from C frees all of its memory, streams and modules, also if objects of it are still open.

use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use hiplaunch::{Backend, Launcher};
use hiplaunch_capi::*;

const OK: hiplaunch_status = hiplaunch_status::Ok;

/// Returns the result of a call, which must succeed.
fn made<T>(call: impl FnOnce(Option<&mut MaybeUninit<T>>) -> hiplaunch_status) -> T {
    let mut place = MaybeUninit::uninit();
    assert_eq!(call(Some(&mut place)), OK);
    // SAFETY: the call succeeded, and so has written it.
    unsafe { place.assume_init() }
}

#[test]
fn closing_a_launcher_closes_everything_opened_from_it() {
    let launcher = Launcher::builder().backend(Backend::Emulator).validate(true).build().unwrap();
    let layer = launcher.validation().unwrap().clone();
    let launcher = hiplaunch_adopt(launcher).unwrap();
    let code = include_bytes!("../../../hip/vector.gfx90a.co");
    // SAFETY: a kernel of hip/, and arrays of their lengths.
    let saxpy = made(|out| unsafe {
        hiplaunch_register(launcher, 0, code.as_ptr().cast(), code.len(), c"saxpy".as_ptr(), null(), out)
    });
    let stream = made(|out| hiplaunch_stream_open(launcher, 0, out));
    let event = made(|out| hiplaunch_event_open(launcher, 0, true, out));
    assert_eq!(hiplaunch_event_record(event, stream), OK);
    let buffer = made(|out| hiplaunch_buffer_open(launcher, 0, stream, 256, out));
    assert_eq!(hiplaunch_buffer_fill(buffer, stream, 0, 256, 0), OK);
    let shape = 64usize;
    // SAFETY: one extent, and no strides.
    let view = made(|out| unsafe { hiplaunch_view_open(buffer, 0, 4, 1, &raw const shape, null(), out) });
    let host = [1.0f32; 64];
    let arg = |kind: hiplaunch_arg_kind, data: *const std::ffi::c_void, size: usize| hiplaunch_arg {
        kind: kind as u32,
        reserved: 0,
        bits: 1,
        data,
        size,
    };
    let args = [
        arg(hiplaunch_arg_kind::Scalar, null(), 4),
        arg(hiplaunch_arg_kind::View, view.cast(), 0),
        arg(hiplaunch_arg_kind::HostInout, host.as_ptr().cast(), 256),
        arg(hiplaunch_arg_kind::Scalar, null(), 4),
    ];
    let dims = hiplaunch_dims { grid: [1, 1, 1], block: [64, 1, 1], dynamic_lds: 0 };
    let launch = || {
        // SAFETY: a kernel of hip/, launched as its README says, with arrays of their lengths.
        made(|out| unsafe { hiplaunch_launch(saxpy, stream, Some(&dims), args.as_ptr(), 4, out) })
    };
    let (unread, read) = (launch(), launch());
    assert_eq!(hiplaunch_ticket_wait(read), OK);
    let download = made(|out| hiplaunch_buffer_read(buffer, stream, 0, 256, out));
    let graph = made(|out| hiplaunch_graph_open(launcher, 0, out));
    made(|out| hiplaunch_graph_buffer(graph, buffer, out));
    let copied = made(|out| hiplaunch_graph_open(launcher, 0, out));
    let value = made(|out| hiplaunch_graph_buffer(copied, buffer, out));
    assert_eq!(hiplaunch_graph_read(copied, value, None), OK);
    let compiled = made(|out| hiplaunch_graph_compile(copied, stream, out));
    assert_eq!(hiplaunch_compiled_graph_submit(compiled, 0, None), OK);
    let probe = include_bytes!("../../../hip/probe.gfx90a.co");
    // SAFETY: an array of its length; nothing of it is launched.
    let module =
        made(|out| unsafe { hiplaunch_module_open(launcher, 0, probe.as_ptr().cast(), probe.len(), out) });
    // SAFETY: a text; the module keeps the variable.
    let global =
        made(|out| unsafe { hiplaunch_module_global(module, 0, c"device_step".as_ptr(), out, None) });
    // SAFETY: the variable's four bytes.
    let variable = made(|out| unsafe { hiplaunch_buffer_borrow(launcher, 0, global, 4, out) });
    assert_eq!(hiplaunch_buffer_fill(variable, stream, 0, 4, 0), OK);

    assert_eq!(hiplaunch_close(launcher), OK);
    layer.assert_clean_and_empty().unwrap();
    let gone = hiplaunch_status::InvalidHandle;
    for ticket in [unread, read, download] {
        assert_eq!(hiplaunch_ticket_close(ticket), gone);
    }
    assert_eq!(hiplaunch_graph_close(graph), gone);
    assert_eq!(hiplaunch_compiled_graph_close(compiled), gone);
    assert_eq!(hiplaunch_module_close(module), gone);
    assert_eq!(hiplaunch_buffer_close(variable), gone);
    assert_eq!(hiplaunch_view_close(view), gone);
    assert_eq!(hiplaunch_buffer_close(buffer), gone);
    assert_eq!(hiplaunch_event_close(event), gone);
    assert_eq!(hiplaunch_unregister(saxpy), gone);
    assert_eq!(hiplaunch_stream_close(stream), gone);
    assert_eq!(hiplaunch_close(null_mut()), gone);
}

#[test]
fn launches_do_not_deadlock_with_threads_that_resize_or_close_their_buffers() {
    let launcher = Launcher::builder().backend(Backend::Emulator).validate(false).build().unwrap();
    let launcher = hiplaunch_adopt(launcher).unwrap();
    let code = include_bytes!("../../../hip/vector.gfx90a.co");
    // SAFETY: a kernel of hip/, and arrays of their lengths.
    let saxpy = made(|out| unsafe {
        hiplaunch_register(launcher, 0, code.as_ptr().cast(), code.len(), c"saxpy".as_ptr(), null(), out)
    });
    let stream = made(|out| hiplaunch_stream_open(launcher, 0, out));
    let buffers = [(); 2].map(|()| made(|out| hiplaunch_buffer_open(launcher, 0, stream, 256, out)));
    // Handles are numbers, which threads may share.
    let numbers = [saxpy.addr(), stream.addr(), buffers[0].addr(), buffers[1].addr()];
    let work = move |turn: usize| -> (usize, hiplaunch_status) {
        let [saxpy, stream, a, b] = numbers;
        let arg = |kind: hiplaunch_arg_kind, handle: usize| hiplaunch_arg {
            kind: kind as u32,
            reserved: 0,
            bits: 1,
            data: std::ptr::without_provenance(handle),
            size: 4,
        };
        let buffer = hiplaunch_arg_kind::Buffer;
        // The same buffer twice, or two in either order.
        let (x, y) = [(a, a), (a, b), (b, a)][turn % 3];
        let args = [
            arg(hiplaunch_arg_kind::Scalar, 0),
            arg(buffer, x),
            arg(buffer, y),
            arg(hiplaunch_arg_kind::Scalar, 0),
        ];
        let dims = hiplaunch_dims { grid: [1, 1, 1], block: [64, 1, 1], dynamic_lds: 0 };
        let (saxpy, stream) = (std::ptr::without_provenance(saxpy), std::ptr::without_provenance(stream));
        for launches in 0.. {
            // SAFETY: a kernel of hip/, launched as its README says on one element; the buffers never have less.
            let status = unsafe { hiplaunch_launch(saxpy, stream, Some(&dims), args.as_ptr(), 4, None) };
            if status != OK {
                return (launches, status);
            }
        }
        unreachable!("the buffers are closed in the end")
    };
    let launching: Vec<_> = (0..3).map(|turn| std::thread::spawn(move || work(turn))).collect();
    for bytes in [4096usize, 64, 1 << 16, 256].into_iter().cycle().take(100) {
        for buffer in buffers {
            assert_eq!(hiplaunch_buffer_resize(buffer, stream, bytes, None), OK);
        }
        // SAFETY: a kernel of hip/, and arrays of their lengths.
        let replaced =
            unsafe { hiplaunch_replace(saxpy, code.as_ptr().cast(), code.len(), c"saxpy".as_ptr()) };
        assert_eq!(replaced, OK);
    }
    assert_eq!(hiplaunch_buffer_close(buffers[0]), OK);
    for thread in launching {
        assert_eq!(thread.join().unwrap().1, hiplaunch_status::InvalidHandle);
    }
    assert_eq!(hiplaunch_close(launcher), OK);
}
