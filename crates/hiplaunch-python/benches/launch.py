"""What a launch costs from Python: python crates/hiplaunch-python/benches/launch.py [ROUNDS]

Measures the package, a hand-written ctypes call, and the launcher that Triton compiles, where Triton is installed. None runs a kernel: the
package is over its driver 'noop', the others are over a libamdhip64 whose functions do nothing, which is compiled here. So the times are
those of the host alone. The ways take turns, round by round; the table has the fastest and the median round of each, in nanoseconds a
launch, without the loop's own time.

Each launch has four arguments: two device pointers and two scalars.
"""

import ctypes
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import types

import hiplaunch

LAUNCHES = 20_000
CODE = pathlib.Path(__file__).resolve().parents[3] / "hip" / "vector.hipfb"

# The functions that ctypes, Triton's launcher and tinygrad's device HIP call. `hipGetProcAddress` finds the others by name.
NOTHING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
int hipGetProcAddress(const char *name, void **f, int version, unsigned long long flags, void *status) {
  *f = dlsym(RTLD_DEFAULT, name); return *f ? 0 : 500;
}
int hipGetLastError(void) { return 0; }
const char *hipGetErrorString(int e) { return "none"; }
int hipDriverGetVersion(int *v) { *v = 60443482; return 0; }
int hipRuntimeGetVersion(int *v) { *v = 60443482; return 0; }
int hipModuleLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned lds, void *s,
                          void **args, void **extra) { return 0; }
int hipModuleLaunchCooperativeKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned lds,
                                     void *s, void **args) { return 0; }
int hipDrvLaunchKernelEx(const void *config, void *f, void **args, void **extra) { return 0; }
int hipModuleLoadDataEx(void **m, const void *image, unsigned n, void *options, void **values) { *m = (void *)1; return 0; }
int hipModuleGetFunction(void **f, void *m, const char *name) { *f = (void *)2; return 0; }
int hipModuleLoadData(void **m, const void *image) { *m = (void *)1; return 0; }
int hipModuleUnload(void *m) { return 0; }
int hipSetDevice(int n) { return 0; }
int hipDeviceSynchronize(void) { return 0; }
int hipEventCreate(void **e) { *e = (void *)3; return 0; }
int hipMalloc(void **p, size_t n) { *p = (void *)4096; return 0; }
int hipFree(void *p) { return 0; }
int hipMemcpy(void *to, const void *from, size_t n, int kind) { return 0; }
int hipFuncGetAttribute(int *value, int attribute, void *f) { *value = 256; return 0; }
int hipFuncSetAttribute(const void *f, int attribute, int value) { return 0; }
int hipGetDeviceCount(int *n) { *n = 1; return 0; }
int hipGetDevice(int *n) { *n = 0; return 0; }
int hipDeviceGet(int *d, int n) { *d = n; return 0; }
int hipDeviceGetAttribute(int *value, int attribute, int d) { *value = 64; return 0; }
int hipGetDeviceProperties(void *p, int d) { memset(p, 0, 792); return 0; }
int hipGetDevicePropertiesR0600(void *p, int d) { memset(p, 0, 1472); return 0; }
int hipPointerGetAttribute(void *data, int attribute, void *p) { *(void **)data = p; return 0; }
"""


def do_nothing(folder):
    source, library = folder / "nothing.c", folder / "libamdhip64.so"
    source.write_text(NOTHING)
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def ways_of_hiplaunch():
    launcher = hiplaunch.Launcher("noop")
    kernel = launcher.register(CODE, "saxpy")
    x, y = launcher.empty(1000, "f4"), launcher.empty(1000, "f4")

    def indexed(count):
        for _ in range(count):
            kernel[4, 256](2.0, x, y, 1000)

    bound = kernel[4, 256]

    def bound_once(count):
        for _ in range(count):
            bound(2.0, x, y, 1000)

    block, result = hiplaunch.In(bytes(64)), hiplaunch.Out(64)

    def with_result(count):
        for _ in range(count):
            bound(2.0, block, result, 1000).result()

    def with_ticket(count):
        for _ in range(count):
            kernel.launch(4, 256, 2.0, x, y, 1000)

    yield "hiplaunch: kernel[grid, block](...)", indexed
    yield "hiplaunch: the same, grid and block bound before", bound_once
    yield "hiplaunch: kernel.launch(...), a ticket", with_ticket
    yield "hiplaunch: 64 bytes in, 64 bytes out and read", with_result


def way_of_ctypes(library):
    launch = ctypes.CDLL(str(library)).hipModuleLaunchKernel
    launch.argtypes = [ctypes.c_void_p] + 7 * [ctypes.c_uint] + 3 * [ctypes.c_void_p]

    def by_hand(count):
        for _ in range(count):
            a, x, y, n = ctypes.c_float(2.0), ctypes.c_void_p(4096), ctypes.c_void_p(8192), ctypes.c_int(1000)
            args = (ctypes.c_void_p * 4)(*map(ctypes.addressof, (a, x, y, n)))
            launch(2, 4, 1, 1, 256, 1, 1, 0, None, args, None)

    yield "ctypes: hipModuleLaunchKernel", by_hand


def way_of_triton(library):
    os.environ["TRITON_LIBHIP_PATH"] = str(library)
    try:
        import triton
        from triton.backends.amd import driver
    except ImportError:
        return
    active = driver.HIPDriver()
    triton.runtime.driver.set_active(active)
    signature = {"a": "fp32", "x": "*fp32", "y": "*fp32", "n": "i32"}
    source = types.SimpleNamespace(signature=signature, constants={}, fn=types.SimpleNamespace(arg_names=list(signature)))
    metadata = types.SimpleNamespace(
        launch_cooperative_grid=False, warp_size=64, global_scratch_size=0, global_scratch_align=1, profile_scratch_size=0,
        profile_scratch_align=1, tensordesc_meta=None,
    )
    launcher = active.launcher_cls(source, metadata)
    # num_warps, num_ctas, shared; older versions have the cluster's three extents, too.
    for packed in ((4, 1, 0), (4, 1, 0, 1, 1, 1)):

        def compiled(count):
            for _ in range(count):
                launcher(4, 1, 1, 0, 2, packed, None, None, None, 2.0, 4096, 8192, 1000)

        try:
            compiled(1)
            break
        except TypeError as error:
            problem = error
    else:
        print(f"left out: Triton {triton.__version__}'s launcher: {problem}", file=sys.stderr)
        return
    yield f"Triton {triton.__version__}: its compiled launcher", compiled


class Tensor:
    """What Triton needs of a tensor on a GPU."""

    dtype = "float32"
    is_cpu = False

    def data_ptr(self):
        return 4096


def ways_of_hiplaunch_triton():
    global tl
    try:
        import triton
        import triton.language as tl
    except ImportError:
        return
    import hiplaunch.triton

    driver = hiplaunch.triton.activate(backend="noop")

    @triton.jit
    def scale(a, x, y, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, a * tl.load(x + i, mask=i < n), mask=i < n)

    tensor = Tensor()
    kernel = scale[(4,)](2.0, tensor, tensor, 1000, BLOCK=256)
    launcher, function = kernel.run, kernel.function
    x, y = driver.session.launcher.buffer(4096), driver.session.launcher.buffer(4096)
    # Triton 3.2 does not pass constants.
    constants = (256,) if hasattr(scale, "device_caches") else ()

    def native(count):
        for _ in range(count):
            launcher(4, 1, 1, 0, function, None, None, None, None, 2.0, x, y, 1000, *constants)

    def whole(count):
        for _ in range(count):
            scale[(4,)](2.0, tensor, tensor, 1000, BLOCK=256)

    yield "hiplaunch.triton: its launcher", native
    yield f"hiplaunch.triton: kernel[grid](...), Triton {triton.__version__}'s own work included", whole


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    with tempfile.TemporaryDirectory() as folder:
        library = do_nothing(pathlib.Path(folder))
        ways = [*ways_of_hiplaunch(), *way_of_ctypes(library), *way_of_triton(library), *ways_of_hiplaunch_triton()]

        def loop(count):
            for _ in range(count):
                pass

        times = {name: [] for name, _ in ways}
        for round in range(rounds + 1):
            for name, way in ways:
                start = time.perf_counter_ns()
                way(LAUNCHES)
                middle = time.perf_counter_ns()
                loop(LAUNCHES)
                end = time.perf_counter_ns()
                if round:  # the first warms up
                    times[name].append(((middle - start) - (end - middle)) / LAUNCHES)
    print(f"Python {sys.version.split()[0]}, {rounds} rounds of {LAUNCHES} launches")
    print(f"{'fastest':>9} {'median':>9}  ns a launch")
    for name, of in times.items():
        print(f"{min(of):9.0f} {statistics.median(of):9.0f}  {name}")


if __name__ == "__main__":
    main()
