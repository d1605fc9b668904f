//! Measures launches and compiled graphs through the C API and through Rust, on a driver that does nothing.
//!
//! `cargo bench -p hiplaunch-capi --bench capi` prints the times side by side. With `-- --count CASE N`, it launches N
//! times and exits, for an instruction counter, as hiplaunch-cli's `benches/launch.rs` does.

use hip_driver::noop;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ptr::null;

use criterion::Criterion;
use hiplaunch::graph::{CompiledGraph, GraphArg, GraphValue, NodeId};
use hiplaunch::{
    Arg, ArgumentBlock, DeviceBuffer, KernelHandle, LaunchDims, Launcher, Patch, PatchTarget, Stream, args,
};
use hiplaunch_capi::*;

const VECTOR: &[u8] = include_bytes!("../../../hip/vector.gfx90a.co");
const JIT: &[u8] = include_bytes!("../../../hip/jit.gfx90a.co");
const PATCHES: [Patch; 1] = [Patch { offset: 0, target: PatchTarget::Result }];

struct Rust {
    launcher: Launcher,
    stream: Stream,
    saxpy: KernelHandle,
    polynomial: KernelHandle,
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
    graph: CompiledGraph,
    value: GraphValue,
}

struct C {
    launcher: *mut hiplaunch_launcher,
    stream: *mut hiplaunch_stream,
    saxpy: *mut hiplaunch_kernel,
    polynomial: *mut hiplaunch_kernel,
    x: *mut hiplaunch_buffer,
    y: *mut hiplaunch_buffer,
    graph: *mut hiplaunch_compiled_graph,
}

struct Bench {
    rust: Rust,
    c: C,
    bytes: [u8; 96],
    count: u32,
}

/// Returns the result of a call, which must succeed.
fn made<T>(call: impl FnOnce(Option<&mut MaybeUninit<T>>) -> hiplaunch_status) -> T {
    let mut place = MaybeUninit::uninit();
    assert_eq!(call(Some(&mut place)), hiplaunch_status::Ok);
    // SAFETY: the call succeeded, and so has written it.
    unsafe { place.assume_init() }
}

fn arg(kind: hiplaunch_arg_kind, bits: u64, data: *const std::ffi::c_void, size: usize) -> hiplaunch_arg {
    hiplaunch_arg { kind: kind as u32, reserved: 0, bits, data, size }
}

fn open() -> Result<Launcher, hiplaunch::Error> {
    Launcher::builder().driver(noop::NoopDriver::open()).validate(false).build()
}

impl Rust {
    fn new() -> Result<Rust, hiplaunch::Error> {
        let launcher = open()?;
        let device = launcher.device(0)?.clone();
        let stream = launcher.stream(&device)?;
        // SAFETY: the driver runs nothing.
        let (saxpy, polynomial) = unsafe {
            (launcher.register(&device, VECTOR, "saxpy")?, launcher.register(&device, JIT, "jit_polynomial")?)
        };
        let (x, y) = (DeviceBuffer::new(&device, 1024)?, DeviceBuffer::new(&device, 1024)?);
        let mut graph = launcher.graph(&device)?;
        let (value, to) = (graph.buffer(&x)?, DeviceBuffer::<f32>::new(&device, 1024)?);
        let args =
            [0f32.into(), GraphArg::Read(value), GraphArg::ReadWrite(graph.buffer(&to)?), 1024i32.into()];
        // SAFETY: the driver runs nothing.
        unsafe { graph.launch(saxpy, LaunchDims::linear(4, 256), &args) }?;
        let graph = graph.compile(&stream)?;
        Ok(Rust { launcher, stream, saxpy, polynomial, x, y, graph, value })
    }
}

impl C {
    fn new() -> Result<C, hiplaunch::Error> {
        let launcher = hiplaunch_adopt(open()?).expect("few launchers are open");
        let register = |code: &[u8], name: &std::ffi::CStr| {
            // SAFETY: the driver runs nothing; arrays of their lengths.
            made(|out| unsafe {
                hiplaunch_register(launcher, 0, code.as_ptr().cast(), code.len(), name.as_ptr(), null(), out)
            })
        };
        let buffer = || made(|out| hiplaunch_buffer_open(launcher, 0, null(), 4096, out));
        let stream = made(|out| hiplaunch_stream_open(launcher, 0, out));
        let (saxpy, polynomial) = (register(VECTOR, c"saxpy"), register(JIT, c"jit_polynomial"));
        let (x, y, to) = (buffer(), buffer(), buffer());
        let graph = made(|out| hiplaunch_graph_open(launcher, 0, out));
        let value = |buffer| made(|out| hiplaunch_graph_buffer(graph, buffer, out));
        let arg = |kind: hiplaunch_graph_arg_kind, value, bits| hiplaunch_graph_arg {
            kind: kind as u32,
            value,
            bits,
            data: null(),
            size: 4,
        };
        let args = [
            arg(hiplaunch_graph_arg_kind::Scalar, 0, 0),
            arg(hiplaunch_graph_arg_kind::Read, value(x), 0),
            arg(hiplaunch_graph_arg_kind::ReadWrite, value(to), 0),
            arg(hiplaunch_graph_arg_kind::Scalar, 0, 1024),
        ];
        let dims = hiplaunch_dims { grid: [4, 1, 1], block: [256, 1, 1], dynamic_lds: 0 };
        // SAFETY: the driver runs nothing; an array of its length.
        made(|out| unsafe { hiplaunch_graph_launch(graph, saxpy, Some(&dims), args.as_ptr(), 4, out) });
        let graph = made(|out| hiplaunch_graph_compile(graph, stream, out));
        Ok(C { launcher, stream, saxpy, polynomial, x, y, graph })
    }
}

impl Drop for C {
    fn drop(&mut self) {
        assert_eq!(hiplaunch_close(self.launcher), hiplaunch_status::Ok);
    }
}

impl Bench {
    fn new() -> Result<Bench, hiplaunch::Error> {
        let mut bytes = [0; 96];
        bytes[8..12].copy_from_slice(&16u32.to_le_bytes());
        Ok(Bench { rust: Rust::new()?, c: C::new()?, bytes, count: 0 })
    }

    fn by_value_rust(&mut self) {
        let Rust { launcher, stream, saxpy, x, y, .. } = &self.rust;
        let args = args![self.count as f32, x, y, 1024i32];
        // SAFETY: the driver runs nothing.
        black_box(unsafe { launcher.launch(*saxpy, stream, LaunchDims::linear(4, 256), &args) }.is_ok());
    }

    /// With `named`, the launch returns a ticket, which is closed. Otherwise it returns none, as Rust's `enqueue`.
    fn by_value_c(&mut self, named: bool) {
        let C { stream, saxpy, x, y, .. } = self.c;
        let args = [
            arg(hiplaunch_arg_kind::Scalar, u64::from((self.count as f32).to_bits()), null(), 4),
            arg(hiplaunch_arg_kind::Buffer, 0, x.cast(), 0),
            arg(hiplaunch_arg_kind::Buffer, 0, y.cast(), 0),
            arg(hiplaunch_arg_kind::Scalar, 1024, null(), 4),
        ];
        let dims = hiplaunch_dims { grid: [4, 1, 1], block: [256, 1, 1], dynamic_lds: 0 };
        let launch = |out: Option<&mut MaybeUninit<_>>| {
            // SAFETY: the driver runs nothing; arrays of their lengths.
            unsafe { hiplaunch_launch(saxpy, stream, Some(&dims), args.as_ptr(), 4, out) }
        };
        if named {
            black_box(hiplaunch_ticket_close(made(launch)));
        } else {
            black_box(launch(None));
        }
    }

    fn block_rust(&mut self) {
        let block = ArgumentBlock { bytes: &self.bytes, patches: &PATCHES, arrays: &[], result_bytes: 64 };
        let Rust { launcher, stream, polynomial, .. } = &self.rust;
        let dims = LaunchDims::linear(1, 64);
        // SAFETY: the driver runs nothing.
        let ticket = unsafe { launcher.launch(*polynomial, stream, dims, &[Arg::ArgumentBlock(&block)]) };
        if let Ok(output) = ticket.and_then(|t| t.read()) {
            black_box(output.bytes(0).map(|b| b[0]).ok());
        }
    }

    fn block_c(&mut self) {
        let patch = hiplaunch_patch {
            offset: 0,
            target: hiplaunch_patch_target::Result as u32,
            reserved: 0,
            value: 0,
        };
        let block = hiplaunch_argument_block {
            struct_size: size_of::<hiplaunch_argument_block>(),
            bytes: self.bytes.as_ptr().cast(),
            size: self.bytes.len(),
            patches: &raw const patch,
            patch_count: 1,
            arrays: null(),
            array_count: 0,
            result_bytes: 64,
        };
        let args = [arg(hiplaunch_arg_kind::ArgumentBlock, 0, (&raw const block).cast(), 0)];
        let C { stream, polynomial, .. } = self.c;
        let dims = hiplaunch_dims { grid: [1, 1, 1], block: [64, 1, 1], dynamic_lds: 0 };
        // SAFETY: the driver runs nothing; arrays of their lengths.
        let ticket =
            made(|out| unsafe { hiplaunch_launch(polynomial, stream, Some(&dims), args.as_ptr(), 1, out) });
        black_box(made(|out| hiplaunch_ticket_output(ticket, 0, out, None)));
        black_box(hiplaunch_ticket_close(ticket));
    }

    /// Sets a buffer and a scalar of a compiled graph, and submits it.
    fn rebind_rust(&mut self) {
        let Rust { graph, value, x, y, .. } = &mut self.rust;
        let from = if self.count.is_multiple_of(2) { x } else { y };
        black_box(graph.set_buffer(value, &*from).is_ok());
        // SAFETY: the driver runs nothing.
        black_box(unsafe { graph.set_scalar(NodeId(0), 0, self.count as f32) }.is_ok());
        black_box(graph.submit().is_ok());
    }

    fn rebind_c(&mut self) {
        let C { graph, x, y, .. } = self.c;
        let from = if self.count.is_multiple_of(2) { x } else { y };
        let a = self.count as f32;
        black_box(hiplaunch_compiled_graph_set_buffer(graph, 0, from));
        // SAFETY: the driver runs nothing; four bytes.
        black_box(unsafe { hiplaunch_compiled_graph_set_scalar(graph, 0, 0, (&raw const a).cast(), 4) });
        black_box(hiplaunch_compiled_graph_submit(graph, 0, None));
    }

    fn run(&mut self, case: &str) -> bool {
        self.count += 1;
        self.bytes[16..20].copy_from_slice(&self.count.to_le_bytes());
        match case {
            "by-value/rust" => self.by_value_rust(),
            "by-value/c" => self.by_value_c(false),
            "by-value+ticket/c" => self.by_value_c(true),
            "block+result/rust" => self.block_rust(),
            "block+result/c" => self.block_c(),
            "rebind/rust" => self.rebind_rust(),
            "rebind/c" => self.rebind_c(),
            _ => return false,
        }
        true
    }
}

const CASES: [&str; 7] = [
    "by-value/rust",
    "by-value/c",
    "by-value+ticket/c",
    "block+result/rust",
    "block+result/c",
    "rebind/rust",
    "rebind/c",
];

fn main() -> Result<(), hiplaunch::Error> {
    let words: Vec<String> = std::env::args().collect();
    let mut bench = Bench::new()?;
    if let Some(at) = words.iter().position(|w| w == "--count")
        && let (Some(case), Some(Ok(launches))) =
            (words.get(at + 1), words.get(at + 2).map(|n| n.parse::<u64>()))
    {
        for _ in 0..launches {
            if !bench.run(case) {
                eprintln!("no case `{case}`: use one of {CASES:?}");
                std::process::exit(2);
            }
        }
        return Ok(());
    }
    let mut criterion = Criterion::default().configure_from_args();
    for case in CASES {
        criterion.bench_function(case, |b| b.iter(|| bench.run(case)));
    }
    criterion.final_summary();
    Ok(())
}
