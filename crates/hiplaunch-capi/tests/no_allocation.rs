//! In the steady state, a launch through the C API makes no heap allocation on the caller's thread, and neither does a
//! compiled graph that gets other buffers, scalars and argument blocks.
//!
//! A thread that waits for the emulator runs kernels, which need memory of the heap. So the tests wait, uncounted, before they read.

use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use hiplaunch::{Backend, Launcher};
use hiplaunch_capi::*;
use hiplaunch_testing::counting::{Counting, heap_allocations, uncounted};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const OK: hiplaunch_status = hiplaunch_status::Ok;

/// Waits until the stream has no work left.
fn idle(stream: *const hiplaunch_stream) {
    uncounted(|| {
        while !made(|out| hiplaunch_stream_is_idle(stream, out)) {
            std::thread::yield_now();
        }
    });
}

/// Returns the result of a call, which must succeed.
fn made<T>(call: impl FnOnce(Option<&mut MaybeUninit<T>>) -> hiplaunch_status) -> T {
    let mut place = MaybeUninit::uninit();
    assert_eq!(call(Some(&mut place)), OK);
    // SAFETY: the call succeeded, and so has written it.
    unsafe { place.assume_init() }
}

fn arg(kind: hiplaunch_arg_kind, bits: u64, data: *const std::ffi::c_void, size: usize) -> hiplaunch_arg {
    hiplaunch_arg { kind: kind as u32, reserved: 0, bits, data, size }
}

#[test]
fn launches_and_reads_through_the_c_api_allocate_nothing() {
    let launcher = Launcher::builder().backend(Backend::Emulator).validate(false).build().unwrap();
    let launcher = hiplaunch_adopt(launcher).unwrap();
    let register = |code: &[u8], name: &std::ffi::CStr| {
        // SAFETY: a kernel of hip/, and arrays of their lengths.
        made(|out| unsafe {
            hiplaunch_register(launcher, 0, code.as_ptr().cast(), code.len(), name.as_ptr(), null(), out)
        })
    };
    let saxpy = register(include_bytes!("../../../hip/vector.gfx90a.co"), c"saxpy");
    let polynomial = register(include_bytes!("../../../hip/jit.gfx90a.co"), c"jit_polynomial");
    let stream = made(|out| hiplaunch_stream_open(launcher, 0, out));
    let x = made(|out| hiplaunch_buffer_open(launcher, 0, stream, 256, out));
    assert_eq!(hiplaunch_buffer_fill(x, stream, 0, 256, 0), OK);
    let shape = 64usize;
    // SAFETY: one extent, and no strides.
    let view = made(|out| unsafe { hiplaunch_view_open(x, 0, 4, 1, &raw const shape, null(), out) });

    let host = [1.0f32; 64];
    let dims = hiplaunch_dims { grid: [1, 1, 1], block: [64, 1, 1], dynamic_lds: 0 };
    let patch =
        hiplaunch_patch { offset: 0, target: hiplaunch_patch_target::Result as u32, reserved: 0, value: 0 };
    let mut bytes = [0u8; 96];
    bytes[8..12].copy_from_slice(&16u32.to_le_bytes());
    let scalar = |bits: u64| arg(hiplaunch_arg_kind::Scalar, bits, null(), 4);
    let mut round = |i: u32| {
        bytes[16..20].copy_from_slice(&(i as f32).to_le_bytes());
        let block = hiplaunch_argument_block {
            struct_size: size_of::<hiplaunch_argument_block>(),
            bytes: bytes.as_ptr().cast(),
            size: bytes.len(),
            patches: &raw const patch,
            patch_count: 1,
            arrays: null(),
            array_count: 0,
            result_bytes: 64,
        };
        let by_buffers = [
            scalar(0),
            arg(hiplaunch_arg_kind::Buffer, 0, x.cast(), 0),
            arg(hiplaunch_arg_kind::View, 0, view.cast(), 0),
            scalar(64),
        ];
        // SAFETY: kernels of hip/, launched as their README says, with arrays of their lengths; the same holds for the
        // calls below.
        let launched = unsafe { hiplaunch_launch(saxpy, stream, Some(&dims), by_buffers.as_ptr(), 4, None) };
        assert_eq!(launched, OK);
        let by_block = [arg(hiplaunch_arg_kind::ArgumentBlock, 0, (&raw const block).cast(), 0)];
        for staging in [hiplaunch_staging::Copy, hiplaunch_staging::Mapped] {
            let options = hiplaunch_launch_options {
                cooperative: 0,
                struct_size: size_of::<hiplaunch_launch_options>(),
                dims,
                staging: staging as u32,
                args: by_block.as_ptr(),
                arg_count: 1,
                packed: null(),
                packed_size: 0,
                destination: null(),
                destination_view: null(),
                destination_parameter: 0,
                shape: null(),
                rank: 0,
                element: 0,
            };
            // SAFETY: as above.
            let ticket = made(|out| unsafe { hiplaunch_submit(polynomial, stream, &raw const options, out) });
            idle(stream);
            let mut result = [0f32; 16];
            // SAFETY: the result's 64 bytes.
            let read = unsafe { hiplaunch_ticket_read(ticket, 0, result.as_mut_ptr().cast(), 64) };
            assert_eq!((read, result[3]), (OK, i as f32));
            assert_eq!(hiplaunch_ticket_close(ticket), OK);
        }
        let by_host = [
            scalar(u64::from(1f32.to_bits())),
            arg(hiplaunch_arg_kind::HostIn, 0, host.as_ptr().cast(), 256),
            arg(hiplaunch_arg_kind::HostInout, 0, host.as_ptr().cast(), 256),
            scalar(64),
        ];
        // SAFETY: as above.
        let ticket =
            made(|out| unsafe { hiplaunch_launch(saxpy, stream, Some(&dims), by_host.as_ptr(), 4, out) });
        idle(stream);
        let data = made(|out| hiplaunch_ticket_output(ticket, 0, out, None));
        // SAFETY: the output's 64 floats, until the ticket is closed.
        assert_eq!(unsafe { *data.cast::<f32>().add(63) }, 2.0);
        assert_eq!(hiplaunch_ticket_close(ticket), OK);
    };
    (0..100).for_each(&mut round);
    let before = heap_allocations();
    (100..400).for_each(&mut round);
    assert_eq!(heap_allocations() - before, 0, "heap allocations in 1200 launches");
    assert_eq!(hiplaunch_close(launcher), OK);
    assert_eq!(hiplaunch_close(null_mut()), hiplaunch_status::InvalidHandle);
    assert!(heap_allocations() > before, "a message is one");
}

#[test]
fn binding_and_submitting_a_compiled_graph_through_the_c_api_allocates_nothing() {
    let launcher = Launcher::builder().backend(Backend::Emulator).validate(false).build().unwrap();
    let launcher = hiplaunch_adopt(launcher).unwrap();
    let stream = made(|out| hiplaunch_stream_open(launcher, 0, out));
    let register = |code: &[u8], name: &std::ffi::CStr| {
        // SAFETY: a kernel of hip/, and arrays of their lengths.
        made(|out| unsafe {
            hiplaunch_register(launcher, 0, code.as_ptr().cast(), code.len(), name.as_ptr(), null(), out)
        })
    };
    let vscale = register(include_bytes!("../../../hip/vector.gfx90a.co"), c"vscale");
    let polynomial = register(include_bytes!("../../../hip/jit.gfx90a.co"), c"jit_polynomial");
    let buffers = [1u8, 2].map(|byte| {
        let buffer = made(|out| hiplaunch_buffer_open(launcher, 0, stream, 256, out));
        assert_eq!(hiplaunch_buffer_fill(buffer, stream, 0, 256, byte), OK);
        buffer
    });
    let shape = 64usize;
    // SAFETY: one extent, and no strides.
    let view = made(|out| unsafe { hiplaunch_view_open(buffers[1], 0, 4, 1, &raw const shape, null(), out) });

    // A scaled buffer, and a polynomial in an argument block; the host reads both.
    let graph = made(|out| hiplaunch_graph_open(launcher, 0, out));
    let from = made(|out| hiplaunch_graph_buffer(graph, buffers[0], out));
    let to = made(|out| hiplaunch_graph_temporary(graph, 256, out));
    let arg = |kind: hiplaunch_graph_arg_kind, value, bits| hiplaunch_graph_arg {
        kind: kind as u32,
        value,
        bits,
        data: null(),
        size: 4,
    };
    let dims = hiplaunch_dims { grid: [1, 1, 1], block: [64, 1, 1], dynamic_lds: 0 };
    let args = [
        arg(hiplaunch_graph_arg_kind::Scalar, 0, 0),
        arg(hiplaunch_graph_arg_kind::Read, from, 0),
        arg(hiplaunch_graph_arg_kind::Write, to, 0),
        arg(hiplaunch_graph_arg_kind::Scalar, 0, 64),
    ];
    // SAFETY: kernels of hip/, launched as their README says, with arrays of their lengths; the same holds for the
    // calls below.
    let scale =
        made(|out| unsafe { hiplaunch_graph_launch(graph, vscale, Some(&dims), args.as_ptr(), 4, out) });
    assert_eq!(hiplaunch_graph_read(graph, to, None), OK);
    let result = made(|out| hiplaunch_graph_temporary(graph, 64, out));
    let patch = hiplaunch_graph_patch { offset: 0, value: result, reserved: 0 };
    let mut bytes = [0u8; 96];
    bytes[8..12].copy_from_slice(&16u32.to_le_bytes());
    // SAFETY: as above.
    let block = made(|out| unsafe {
        hiplaunch_graph_argument_block(graph, bytes.as_ptr().cast(), 96, &raw const patch, 1, out)
    });
    let by_block = arg(hiplaunch_graph_arg_kind::Read, block, 0);
    // SAFETY: as above.
    let launched =
        unsafe { hiplaunch_graph_launch(graph, polynomial, Some(&dims), &raw const by_block, 1, None) };
    assert_eq!(launched, OK);
    assert_eq!(hiplaunch_graph_uses(graph, result, false, true), OK);
    assert_eq!(hiplaunch_graph_read(graph, result, None), OK);
    let compiled = made(|out| hiplaunch_graph_compile(graph, stream, out));

    let mut round = |i: u32| {
        let factor = i as f32;
        bytes[16..20].copy_from_slice(&factor.to_le_bytes());
        let bound = match i % 2 {
            0 => hiplaunch_compiled_graph_set_buffer(compiled, from, buffers[0]),
            _ => hiplaunch_compiled_graph_set_view(compiled, from, view),
        };
        assert_eq!(bound, OK);
        // SAFETY: as above.
        unsafe {
            let factor = (&raw const factor).cast();
            assert_eq!(hiplaunch_compiled_graph_set_scalar(compiled, scale, 0, factor, 4), OK);
            let data = bytes.as_ptr().cast();
            assert_eq!(hiplaunch_compiled_graph_set_argument_block(compiled, block, data, 96), OK);
        }
        let ticket = made(|out| hiplaunch_compiled_graph_submit(compiled, 0, out));
        idle(stream);
        let (mut scaled, mut value) = ([0f32; 64], [0f32; 16]);
        // SAFETY: the outputs' 256 and 64 bytes.
        unsafe {
            assert_eq!(hiplaunch_ticket_read(ticket, 0, scaled.as_mut_ptr().cast(), 256), OK);
            assert_eq!(hiplaunch_ticket_read(ticket, 1, value.as_mut_ptr().cast(), 64), OK);
        }
        let x = f32::from_le_bytes([[1; 4], [2; 4]][i as usize % 2]);
        assert_eq!((scaled[63], value[7]), (factor * x, factor));
        assert_eq!(hiplaunch_ticket_close(ticket), OK);
    };
    (0..100).for_each(&mut round);
    let before = heap_allocations();
    (100..400).for_each(&mut round);
    assert_eq!(heap_allocations() - before, 0, "heap allocations in 300 submissions");
    assert_eq!(hiplaunch_close(launcher), OK);
}
