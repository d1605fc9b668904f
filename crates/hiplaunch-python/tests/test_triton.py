"""Triton kernels over hiplaunch's driver, on the emulator. Without Triton and torch, these tests are skipped."""

import gc
import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="Triton is not installed")

import hiplaunch.triton
import numpy
import torch
import triton
import triton.language as tl
from hiplaunch.triton import _programs
from hiplaunch.triton._benchmark import take_first
from hiplaunch.triton._replace import Replacements


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


@triton.jit
def sum_kernel(x, out, BLOCK: tl.constexpr):
    tl.store(out, tl.sum(tl.load(x + tl.arange(0, BLOCK))))


@triton.jit
def dot_kernel(a, b, c, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))


@triton.jit
def fill_kernel(out, value, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), value)


@triton.jit
def convert_kernel(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i).to(tl.float32))


@triton.jit
def scalars_kernel(out, i, f, b, none):
    tl.store(out, i.to(tl.float64))
    tl.store(out + 1, f.to(tl.float64))
    tl.store(out + 2, b.to(tl.float64))


@triton.jit
def gather_kernel(addresses, out, BLOCK: tl.constexpr):
    x = tl.load(addresses + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    i = tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0) * BLOCK + i, tl.load(x + i))


@triton.jit
def print_kernel(x):
    tl.device_print("x is", x)


@triton.jit
def assert_kernel(x, BLOCK: tl.constexpr):
    tl.device_assert(tl.load(x + tl.arange(0, BLOCK)) != 0, "x must not be zero")


@triton.jit
def race_kernel(out):
    tl.store(out, tl.program_id(0))


def line_of(function, text):
    """The line of a kernel's source that has `text`."""
    source = pathlib.Path(__file__).read_text().splitlines()
    start = source.index(f"def {function}(" + next(s for s in source if s.startswith(f"def {function}("))[len(f"def {function}(") :])
    return next(n for n, line in enumerate(source[start:], start + 1) if text in line)


@pytest.fixture(params=["gfx90a", "gfx942", "gfx950"])
def driver(request):
    yield hiplaunch.triton.activate(target=request.param)
    hiplaunch.triton.deactivate()


def added(n=1000, device="cpu"):
    x, y, out = torch.rand(n, device=device), torch.rand(n, device=device), torch.empty(n, device=device)
    add_kernel[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK=256)
    return torch.equal(out, x + y)


def test_tensors(driver):
    assert added()
    assert driver.get_current_target().arch == driver.properties(0)["target"].split(":")[0]


def test_arrays(driver):
    x = numpy.arange(1000, dtype="f4")
    out = numpy.zeros(1000, "f4")
    add_kernel[(4,)](x, x, out, 1000, BLOCK=256)
    assert (out == 2 * x).all()


def test_arrays_of_types_with_one_hash(driver):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    values = numpy.arange(16, dtype="f4")
    for name in ("float8_e4m3fnuz", "float8_e4m3fn"):
        x = values.astype(getattr(ml_dtypes, name))
        out = numpy.zeros(16, "f4")
        convert_kernel[(1,)](x, out, 16)
        assert (out == x.astype("f4")).all(), name


def test_views_and_their_owners(driver):
    # A tensor and an array of the same memory, and views of both.
    x = numpy.arange(512, dtype="f4")
    tensor = torch.from_numpy(x)
    out = torch.zeros(512)
    add_kernel[(1,)](x[256:], tensor[:256], out, 256, BLOCK=256)
    assert torch.equal(out[:256], tensor[256:] + tensor[:256])
    add_kernel[(1,)](tensor[256:], out.numpy()[:256], out, 256, BLOCK=256)
    assert torch.equal(out[:256], 2 * tensor[256:] + tensor[:256])


def test_kinds_of_arguments(driver):
    out = torch.zeros(3, dtype=torch.float64)
    scalars_kernel[(1,)](out, -7, 0.5, True, None)
    assert out.tolist() == [-7, 0.5, 1]
    scalars_kernel[(1,)](out, 2**40, 1e300, False, None)
    assert out.tolist()[0] == 2**40
    with pytest.raises(Exception, match="(?i)argument|type"):
        scalars_kernel[(1,)](object(), 1, 1.0, True, None)


def test_reduction_and_dot(driver):
    x = torch.rand(1024)
    out = torch.zeros(1)
    sum_kernel[(1,)](x, out, BLOCK=1024)
    torch.testing.assert_close(out[0], x.sum())
    a, b, c = torch.rand(32, 32).half(), torch.rand(32, 32).half(), torch.empty(32, 32)
    dot_kernel[(1,)](a, b, c, N=32)
    torch.testing.assert_close(c, a.float() @ b.float(), rtol=1e-2, atol=1e-2)


def test_addresses_in_memory(driver):
    parts = [torch.rand(64) for _ in range(3)]
    out = torch.empty(3 * 64)
    gather_kernel[(3,)](torch.tensor([part.data_ptr() for part in parts]), out, BLOCK=64)
    assert torch.equal(out, torch.cat(parts))


def test_freed_memory_is_registered_no_more(driver):
    ranges = driver.session.ranges._ranges
    for size in range(1, 300):
        x = torch.rand(size * 64)
        fill_kernel[(1,)](x, 3.0, BLOCK=64)
        assert torch.equal(x[:64], torch.full((64,), 3.0))
    del x
    gc.collect()
    assert added()
    # Those of the last launch may be left.
    assert len(ranges) <= 3


def test_storage_that_moves(driver):
    x = torch.zeros(64)
    fill_kernel[(1,)](x, 1.0, BLOCK=64)
    x.untyped_storage().resize_(1 << 22)
    y = x.new_empty(0).set_(x.untyped_storage(), 0, (1 << 20,))
    fill_kernel[(1,)](y[-64:], 2.0, BLOCK=64)
    assert torch.equal(y[-64:], torch.full((64,), 2.0))


def test_an_access_outside_of_a_tensor_names_the_line(driver):
    x = torch.zeros(100)
    with pytest.raises(RuntimeError) as raised:
        fill_kernel[(1,)](x, 1.0, BLOCK=128)
    assert isinstance(raised.value, hiplaunch.DeviceLostError)
    assert "out-of-bounds write" in str(raised.value)
    assert f"test_triton.py:{line_of('fill_kernel', 'tl.store')}" in str(raised.value)
    # The next launch works.
    assert added()


def test_an_assertion_fails_in_its_launch(driver, capfd):
    x = torch.ones(64)
    assert_kernel[(1,)](x, BLOCK=64, debug=True)
    x[3] = 0
    with pytest.raises(RuntimeError, match="device-side assert"):
        assert_kernel[(1,)](x, BLOCK=64, debug=True)
    assert "x must not be zero" in "".join(capfd.readouterr())
    assert added()


def test_print(driver, capfd):
    print_kernel[(1,)](42, num_warps=1)
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == 64 and all("x is" in line and "42" in line for line in lines)


def test_a_race_names_the_line():
    hiplaunch.triton.activate(target="gfx942", sanitize=True)
    try:
        assert added()
        out = torch.zeros(1, dtype=torch.int32)
        with pytest.raises(RuntimeError, match="data race") as raised:
            race_kernel[(4,)](out)
        assert f"test_triton.py:{line_of('race_kernel', 'tl.store')}" in str(raised.value)
        assert added()
    finally:
        hiplaunch.triton.deactivate()


def test_the_first_of_equal_configurations_is_taken(driver):
    @triton.jit
    def fill(out, BLOCK: tl.constexpr, EVEN: tl.constexpr):
        tl.static_assert(BLOCK <= 64)
        tl.store(out + tl.arange(0, BLOCK), BLOCK)

    replacements = Replacements()
    take_first(replacements)
    try:
        # The second and the last are equal.
        configs = [triton.Config({"BLOCK": block, "EVEN": even}) for block, even in ((128, False), (64, False), (32, True), (64, 0))]
        out = torch.zeros(128)
        tuned = triton.autotune(configs=configs, key=[])(fill)
        tuned[(1,)](out)
    finally:
        replacements.undo()
    assert out.sum() == 64 * 64 and tuned.best_config.kwargs["BLOCK"] == 64


def test_autotune_and_do_bench(driver):
    configs = [triton.Config({"BLOCK": size}) for size in (128, 256)]
    tuned = triton.autotune(configs=configs, key=["n"])(add_kernel)
    x, out = torch.rand(1000), torch.empty(1000)
    tuned[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, x, out, 1000)
    assert torch.equal(out, 2 * x)
    assert tuned.best_config in configs
    milliseconds = triton.testing.do_bench(lambda: sum_kernel[(1,)](x[:512], out, BLOCK=512), warmup=1, rep=1)
    assert milliseconds > 0
    times = driver.get_benchmarker()(lambda: None, quantiles=(0.5, 0.2, 0.8), rep=1)
    assert times[1] <= times[0] <= times[2]


def test_hooks_and_attributes(driver):
    seen = []
    try:
        from triton import knobs

        runtime, enter, leave = knobs.runtime, "launch_enter_hook", "launch_exit_hook"
    except ImportError:
        from triton.compiler import CompiledKernel as runtime

        enter, leave = "launch_enter_hook", "launch_exit_hook"
    before = getattr(runtime, enter), getattr(runtime, leave)

    def note(metadata):
        seen.append(metadata.get()["name"])

    try:
        setattr(runtime, enter, note)
        setattr(runtime, leave, note)
        compiled = fill_kernel[(1,)](torch.zeros(64), 1.0, BLOCK=64)
    finally:
        setattr(runtime, enter, before[0])
        setattr(runtime, leave, before[1])
    assert seen == ["fill_kernel"] * 2
    assert compiled.n_regs > 0 and compiled.n_spills == 0


def test_an_empty_grid_launches_nothing(driver):
    x = torch.zeros(64)
    fill_kernel[(0,)](x, 1.0, BLOCK=64)
    assert x.sum() == 0


def test_a_tensor_of_another_device_is_refused(driver):
    with pytest.raises(ValueError, match="meta"):
        fill_kernel[(1,)](torch.empty(64, device="meta"), 1.0, BLOCK=64)


def test_the_target_belongs_to_the_emulator():
    with pytest.raises(ValueError, match="emulator"):
        hiplaunch.triton.activate(target="gfx942", backend="hip")


def test_deactivate_restores(driver):
    from triton.runtime import driver as active

    hiplaunch.triton.deactivate()
    # Without a GPU, asking for its own driver is an error.
    assert (active._active if hasattr(active, "_active") else active.active) is not driver
    assert "data_ptr" not in vars(torch.Tensor)


@pytest.fixture
def program():
    environment = dict(os.environ)
    yield _programs.activate("gfx942")
    _programs.deactivate()
    os.environ.clear()
    os.environ.update(environment)


def test_cuda_is_the_cpu(program):
    x = torch.rand(64, device="cuda")
    assert x.is_cuda and torch.cuda.is_available() and torch.cuda.current_device() == 0
    assert torch.cuda.get_device_capability() == (9, 4)
    y = x.to("cuda", torch.float16)
    assert y.dtype == torch.float16
    fill_kernel[(1,)](x, 2.0, BLOCK=64)
    torch.cuda.synchronize()
    assert x.cpu().sum() == 128


def test_copies_between_devices_are_copies(program):
    host = torch.zeros(64)
    for device in (host.cuda(), host.to("cuda"), host.to(torch.device("cuda", 0)), torch.as_tensor(host, device="cuda")):
        fill_kernel[(1,)](device, 2.0, BLOCK=64)
        assert host.sum() == 0 and device.sum() == 128
    back = device.cpu()
    device.zero_()
    assert back.sum() == 128


def test_events_measure_time(program):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with torch.cuda.stream(torch.cuda.Stream()):
        start.record()
        assert added(device="cuda")
        end.record()
    torch.cuda.synchronize()
    assert start.elapsed_time(end) > 0
    with pytest.raises(RuntimeError, match="enable_timing"):
        torch.cuda.Event().elapsed_time(end)


PROGRAM = """
import torch, triton, triton.language as tl

@triton.jit
def kernel(x):
    tl.store(x + tl.arange(0, 64), 5.0)

x = torch.zeros(64, device="cuda")
kernel[(1,)](x)
print(x.sum().item(), triton.runtime.driver.active.get_current_target().arch)
"""


def run(path, *arguments, **environment):
    command = [sys.executable, *arguments, str(path)]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True).stdout


def test_a_program_that_was_started(program, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    assert run(path) == "320.0 gfx942\n"


def test_the_command(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    assert run(path, "-m", "hiplaunch.triton", "--target", "gfx90a") == "320.0 gfx90a\n"


TEST = """
import pytest, torch, triton, triton.language as tl

@triton.jit
def race(x):
    tl.store(x, tl.program_id(0))

def test_cuda():
    x = torch.zeros(1, dtype=torch.int32, device="cuda")
    race[(4,)](x)
"""


def test_the_plug_in(tmp_path):
    path = tmp_path / "test_it.py"
    path.write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "hiplaunch.triton.pytest", str(path)]
    for sanitize, status, text in (("0", 0, "1 passed"), ("1", 1, "data race in global memory")):
        environment = {**os.environ, "HIPLAUNCH_EMULATOR_SANITIZE": sanitize}
        result = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert result.returncode == status and text in result.stdout
    assert "test_it.py:6" in result.stdout


class TensorOfGpu:
    """What a native launcher needs of a tensor on a GPU."""

    dtype = torch.float32
    is_cpu = False

    def data_ptr(self):
        return 4096


def test_the_native_launcher():
    # The backend "noop" takes launches as a GPU does, and runs nothing.
    driver = hiplaunch.triton.activate(backend="noop")
    try:
        x = TensorOfGpu()
        compiled = add_kernel[(4,)](x, x, x, 1000, BLOCK=256)
        launcher = driver.session.launcher
        buffer = launcher.buffer(4096)
        seen = []
        # Triton 3.2 does not pass constants.
        constants = (256,) if hasattr(add_kernel, "device_caches") else ()

        def launch(*arguments, grid=4):
            base = grid, 1, 1, 0, compiled.function, None, "metadata", seen.append, seen.append
            compiled.run(*base, *arguments, *constants)

        launch(x, buffer, None, 1000)
        launch(4096, buffer, x, True, grid=0)
        assert seen == ["metadata"] * 4
        with pytest.raises(TypeError):
            launch(x, x, x, "1000")
        with pytest.raises(TypeError, match="pointer"):
            launch(x, x, "a text", 1000)
        buffer.close()
        with pytest.raises(hiplaunch.ClosedError):
            launch(x, x, buffer, 1000)
    finally:
        hiplaunch.triton.deactivate()
