//! Measures what a launch through this library costs, over a driver that does nothing.
//!
//! `cargo bench -p hip-dropin --bench launch` prints nanoseconds: of the driver alone, and of each kind of launch, taken in
//! turns. With `-- --count CASE N`, it launches N times and exits, for an instruction counter: the difference of two runs is
//! the cost of the launches alone (see BENCHMARKS.md).
//!
//! Without `--bench`, as `cargo test` runs it, each case runs once.

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::time::Instant;

use hip_driver::noop::NoopDriver;
use hip_driver::{Capabilities, DeviceId, Driver, KernelLaunch, RawFunction, RawStream, Work};

static VECTOR: &[u8] = include_bytes!("../../../hip/vector.gfx90a.co");

#[derive(Clone, Copy)]
#[repr(C)]
struct Dim3 {
    x: u32,
    y: u32,
    z: u32,
}

const GRID: Dim3 = Dim3 { x: 4, y: 1, z: 1 };
const BLOCK: Dim3 = Dim3 { x: 256, y: 1, z: 1 };

/// The structure that compilers emit for a fat binary.
#[repr(C)]
struct Wrapper {
    magic: u32,
    version: u32,
    binary: *const u8,
    unused: *const c_void,
}

// The functions over the driver, to which the exported ones jump.
unsafe extern "C" {
    #[link_name = "emulated_hipStreamCreate"]
    fn hipStreamCreate(stream: *mut *mut c_void) -> i32;
    #[link_name = "emulated_hipModuleLoadData"]
    fn hipModuleLoadData(module: *mut *mut c_void, image: *const u8) -> i32;
    #[link_name = "emulated_hipModuleGetFunction"]
    fn hipModuleGetFunction(function: *mut *mut c_void, module: *mut c_void, name: *const i8) -> i32;
    #[link_name = "emulated_hipModuleLaunchKernel"]
    fn hipModuleLaunchKernel(
        function: *mut c_void,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        lds: u32,
        stream: *mut c_void,
        parameters: *const *const c_void,
        extra: *const *const c_void,
    ) -> i32;
    #[link_name = "emulated___hipRegisterFatBinary"]
    fn __hipRegisterFatBinary(wrapper: *const Wrapper) -> *mut c_void;
    #[link_name = "emulated___hipRegisterFunction"]
    fn __hipRegisterFunction(
        binary: *mut c_void,
        function: *const c_void,
        device_function: *const i8,
        name: *const i8,
        thread_limit: u32,
        thread: *const c_void,
        block: *const c_void,
        block_size: *const c_void,
        grid_size: *const c_void,
        wave_size: *const i32,
    );
    #[link_name = "emulated___hipPushCallConfiguration"]
    fn __hipPushCallConfiguration(grid: Dim3, block: Dim3, lds: usize, stream: *mut c_void) -> i32;
    #[link_name = "emulated___hipPopCallConfiguration"]
    fn __hipPopCallConfiguration(
        grid: *mut Dim3,
        block: *mut Dim3,
        lds: *mut usize,
        stream: *mut *mut c_void,
    ) -> i32;
    #[link_name = "emulated_hipLaunchKernel"]
    fn hipLaunchKernel(
        function: *const c_void,
        grid: Dim3,
        block: Dim3,
        parameters: *const *const c_void,
        lds: usize,
        stream: *mut c_void,
    ) -> i32;
}

/// The addresses of host functions, which name kernels.
static SAXPY: u8 = 0;
static VADD: u8 = 0;

struct Bench {
    driver: Arc<dyn Driver>,
    stream: *mut c_void,
    saxpy: *mut c_void,
    vadd: *mut c_void,
    count: u32,
}

impl Bench {
    fn new() -> Bench {
        let target = "gfx90a".parse().expect("a target");
        let driver = NoopDriver::of(target, Capabilities::NONE);
        hip_dropin::open_over(Arc::clone(&driver)).expect("nothing has opened it");
        let (mut stream, mut module, mut saxpy, mut vadd) = (null_mut(), null_mut(), null_mut(), null_mut());
        // SAFETY: the functions are HIP's, and the pointers are to variables and to a whole code object.
        unsafe {
            assert_eq!(hipStreamCreate(&mut stream), 0);
            assert_eq!(hipModuleLoadData(&mut module, VECTOR.as_ptr()), 0);
            assert_eq!(hipModuleGetFunction(&mut saxpy, module, c"saxpy".as_ptr()), 0);
            assert_eq!(hipModuleGetFunction(&mut vadd, module, c"vadd_f32".as_ptr()), 0);
            let wrapper = Wrapper { magic: 0x4849_5046, version: 1, binary: VECTOR.as_ptr(), unused: null() };
            let binary = __hipRegisterFatBinary(&wrapper);
            for (function, name) in [(&raw const SAXPY, c"saxpy"), (&raw const VADD, c"vadd_f32")] {
                __hipRegisterFunction(
                    binary,
                    function.cast(),
                    name.as_ptr(),
                    name.as_ptr(),
                    0,
                    null(),
                    null(),
                    null(),
                    null(),
                    null(),
                );
            }
        }
        Bench { driver, stream, saxpy, vadd, count: 0 }
    }

    /// The driver's part of a launch.
    fn driver(&mut self) {
        self.count += 1;
        let mut kernarg = [0; 28];
        kernarg[..4].copy_from_slice(&self.count.to_le_bytes());
        let (grid, block) = ([GRID.x, GRID.y, GRID.z], [BLOCK.x, BLOCK.y, BLOCK.z]);
        let function = RawFunction(1);
        let launch = KernelLaunch { function, grid, block, dynamic_lds: 0, kernarg: &kernarg, accesses: &[] };
        // SAFETY: the driver runs nothing.
        let done = unsafe {
            self.driver.enqueue(DeviceId(0), RawStream(self.stream as u64), &Work::Kernel(&launch))
        };
        assert!(black_box(done).is_ok());
    }

    fn module_launch(&mut self, function: *mut c_void, stream: *mut c_void) {
        self.count += 1;
        let (a, x, y, n) = (self.count as f32, 4096_u64, 8192_u64, 1024_i32);
        let parameters: [*const c_void; 4] =
            [(&raw const a).cast(), (&raw const x).cast(), (&raw const y).cast(), (&raw const n).cast()];
        // SAFETY: the kernel has these four parameters.
        let status = unsafe {
            hipModuleLaunchKernel(
                function,
                GRID.x,
                GRID.y,
                GRID.z,
                BLOCK.x,
                BLOCK.y,
                BLOCK.z,
                0,
                stream,
                black_box(&parameters).as_ptr(),
                null(),
            )
        };
        assert_eq!(status, 0);
    }

    /// What a compiler makes of `kernel<<<grid, block, 0, stream>>>(...)`.
    fn triple_chevron(&mut self, function: *const u8, stream: *mut c_void) {
        self.count += 1;
        let (a, x, y, n) = (self.count as f32, 4096_u64, 8192_u64, 1024_i32);
        let parameters: [*const c_void; 4] =
            [(&raw const a).cast(), (&raw const x).cast(), (&raw const y).cast(), (&raw const n).cast()];
        let (mut grid, mut block, mut lds, mut popped) = (GRID, BLOCK, 0, null_mut());
        // SAFETY: the pointers are to variables, and the kernel has these four parameters.
        let status = unsafe {
            assert_eq!(__hipPushCallConfiguration(GRID, BLOCK, 0, stream), 0);
            assert_eq!(__hipPopCallConfiguration(&mut grid, &mut block, &mut lds, &mut popped), 0);
            hipLaunchKernel(function.cast(), grid, block, black_box(&parameters).as_ptr(), lds, popped)
        };
        assert_eq!(status, 0);
    }

    /// One kernel, and then the other.
    fn next<T>(&self, one: T, other: T) -> T {
        if self.count.is_multiple_of(2) { one } else { other }
    }
}

type Case = (&'static str, fn(&mut Bench));

const CASES: [Case; 7] = [
    ("driver", Bench::driver),
    ("module, null stream", |bench| bench.module_launch(bench.saxpy, null_mut())),
    ("module", |bench| bench.module_launch(bench.saxpy, bench.stream)),
    ("module, two kernels", |bench| bench.module_launch(bench.next(bench.saxpy, bench.vadd), bench.stream)),
    ("<<<>>>, null stream", |bench| bench.triple_chevron(&raw const SAXPY, null_mut())),
    ("<<<>>>", |bench| bench.triple_chevron(&raw const SAXPY, bench.stream)),
    ("<<<>>>, two kernels", |bench| {
        bench.triple_chevron(bench.next(&raw const SAXPY, &raw const VADD), bench.stream);
    }),
];

/// The launches of one measurement, and the measurements of each case, of which the fastest counts.
const LAUNCHES: u32 = 20_000;
const ROUNDS: usize = 200;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut bench = Bench::new();
    if let [first, case, number, ..] = arguments.as_slice()
        && first == "--count"
    {
        let launches: u64 = number.parse().expect("a number of launches");
        let Some((_, run)) = CASES.iter().find(|(name, _)| name == case) else {
            eprintln!("no case `{case}`: use one of {:?}", CASES.map(|(name, _)| name));
            std::process::exit(2);
        };
        (0..launches).for_each(|_| run(&mut bench));
        return;
    }
    if !arguments.iter().any(|argument| argument == "--bench") {
        CASES.iter().for_each(|(_, run)| run(&mut bench));
        return;
    }
    let mut fastest = [f64::INFINITY; CASES.len()];
    for _ in 0..ROUNDS {
        for ((_, run), fastest) in CASES.iter().zip(&mut fastest) {
            let start = Instant::now();
            (0..LAUNCHES).for_each(|_| run(&mut bench));
            *fastest = fastest.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(LAUNCHES));
        }
    }
    for ((case, _), nanoseconds) in CASES.iter().zip(fastest) {
        println!("{case:<20} {nanoseconds:6.1} ns, {:6.1} above the driver's", nanoseconds - fastest[0]);
    }
}
