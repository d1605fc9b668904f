"""tinygrad's device HIPLAUNCH: kernels, copies, graphs, several devices. Its own tests are those of tests/tinygrad."""

import importlib.metadata
import importlib.util
import os
import pathlib
import pickle
import re
import subprocess
import sys

import numpy
import pytest

import hiplaunch

if importlib.util.find_spec("tinygrad") is None:
    pytest.skip("tinygrad is not installed", allow_module_level=True)

import hiplaunch.tinygrad  # noqa: E402
from tinygrad import GlobalCounters, Tensor, TinyJit, Variable, dtypes  # noqa: E402
from tinygrad.device import Buffer, BufferSpec, Device  # noqa: E402
from tinygrad.helpers import Context  # noqa: E402

FIRST, SECOND = DEVICES = "HIPLAUNCH", "HIPLAUNCH:1"


@pytest.fixture(scope="module", autouse=True)
def device():
    """The first of two devices, which is the default one. tinygrad opens a device once in a process."""
    with pytest.MonkeyPatch.context() as patch, Context(DEV=FIRST):
        patch.setenv("HIPLAUNCH_EMULATOR_DEVICES", "2")
        device = Device[FIRST]
        try:
            _ = device.renderer
        except Exception as error:
            pytest.skip(f"neither hiprtc nor LLVM compiles for {device.arch}: {error!r}")
        yield device


def array(*shape):
    return numpy.random.default_rng(0).standard_normal(shape).astype("f4")


def wanted(x, w):
    hidden = numpy.maximum(x @ w, 0)
    exponentials = numpy.exp(hidden - hidden.max(1, keepdims=True))
    return exponentials / exponentials.sum(1, keepdims=True)


def model(x, w):
    return (x @ w).relu().softmax()


def graphs_of(jit):
    """The batches that a TinyJit replays, and how many calls it makes beside them."""
    calls = jit.captured.linear.src
    batches = [call for call in calls if str(call.src[0].arg) == "graph"]
    return batches, len(calls) - len(batches)


def test_forward():
    x, w = array(32, 64), array(64, 16)
    got = model(Tensor(x), Tensor(w)).numpy()
    numpy.testing.assert_allclose(got, wanted(x, w), atol=1e-5)


def test_backward():
    x, w = array(32, 64), array(64, 16)
    weight = Tensor(w).requires_grad_() if hasattr(Tensor, "requires_grad_") else Tensor(w)
    (Tensor(x) @ weight).square().mean().backward()
    numpy.testing.assert_allclose(weight.grad.numpy(), 2 * x.T @ (x @ w) / (32 * 16), atol=1e-4)


@pytest.mark.parametrize("name", ["half", "double", "int8", "uint64", "bool"])
def test_element_types(name):
    x = Tensor(numpy.arange(-4, 60).astype("f4")).cast(getattr(dtypes, name))
    expected = numpy.arange(-4, 60).astype("f4").astype({"half": "f2", "double": "f8"}.get(name, name))
    if name != "uint64":  # What a negative number becomes is undefined.
        assert numpy.array_equal(x.numpy(), expected)
    assert numpy.array_equal((x + x).numpy()[4:], (expected + expected)[4:])


def test_views_share_memory():
    whole = Tensor(array(64)).realize()
    assert numpy.array_equal(whole[16:48].contiguous().numpy(), array(64)[16:48])
    buffer = whole.uop.buffer
    part = buffer.view(8, dtypes.float, 16).ensure_allocated()
    assert part.numpy().tolist() == array(64)[4:12].tolist()
    part.copy_from(Buffer("PYTHON", 8, dtypes.float, opaque=memoryview(bytearray(32))))
    assert whole.numpy().tolist() == [*array(64)[:4], *[0.0] * 8, *array(64)[12:]]


def test_copies_between_devices():
    x = array(1000)
    there = (Tensor(x) * 2).to(SECOND) + 1
    back = there.to(FIRST) * 3
    numpy.testing.assert_allclose(back.numpy(), (x * 2 + 1) * 3, rtol=1e-6)
    assert there.device == SECOND


def test_a_copy_waits_for_the_other_device():
    # The kernels before it take long enough that a copy without order would be early.
    x = Tensor(array(256, 256)).realize()
    for _ in range(3):
        x = (x @ x).tanh().realize()
    copied = x.to(SECOND).realize()
    x.assign(Tensor.zeros(256, 256).contiguous()).realize()
    assert numpy.abs(copied.numpy()).max() > 0.5
    assert not x.numpy().any()


def test_sharded_over_devices():
    x, w = array(32, 64), array(64, 16)
    got = model(Tensor(x).shard(DEVICES, axis=0), Tensor(w).shard(DEVICES))
    # Without `to`, tinygrad puts the parts together on its device CPU, which needs a C compiler.
    numpy.testing.assert_allclose(got.to(FIRST).numpy(), wanted(x, w), atol=1e-5)
    sums = Tensor(x).shard(DEVICES, axis=0).sum(0)
    numpy.testing.assert_allclose(sums.to(FIRST).numpy(), x.sum(0), atol=1e-4)


def test_a_jit_replays_one_graph_with_other_inputs():
    step = TinyJit(lambda x, w: model(x, w).realize())
    x, w = array(32, 64), array(64, 16)
    for factor in range(5):
        got = step(Tensor(x * factor).realize(), Tensor(w).realize())
        numpy.testing.assert_allclose(got.numpy(), wanted(x * factor, w), atol=1e-5)
    batches, others = graphs_of(step)
    assert (len(batches), others) == (1, 0)


def test_a_jit_with_a_part_of_an_input():
    step = TinyJit(lambda x: ((x[16:32] + 1).contiguous() * 2).realize())
    for factor in range(5):
        got = step(Tensor(array(64, 8) * factor).realize())
        numpy.testing.assert_allclose(got.numpy(), (array(64, 8)[16:32] * factor + 1) * 2, rtol=1e-5)


def test_a_jit_whose_result_is_its_next_input():
    step = TinyJit(lambda x: ((x * 2).contiguous() + 1).realize())
    x, expected = Tensor([1.0]).realize(), 1.0
    for _ in range(6):
        x, expected = step(x).clone().realize(), expected * 2 + 1
        assert x.item() == expected


def test_a_jit_with_a_variable():
    step = TinyJit(lambda x, n: ((x * n).contiguous() + n).realize())
    for number in range(1, 6):
        n = Variable("n", 1, 10).bind(number)
        got = step(Tensor(array(64)).realize(), n)
        numpy.testing.assert_allclose(got.numpy(), array(64) * number + number, rtol=1e-5)
    assert len(graphs_of(step)[0]) == 1


def test_a_jit_with_a_symbolic_shape():
    # The grid depends on the variable, so these are launches.
    step = TinyJit(lambda x: ((x * 2).contiguous() + 1).realize())
    for number in range(2, 7):
        n = Variable("n", 1, 10).bind(number)
        got = step(Tensor(array(10, 8)).realize()[:n])
        numpy.testing.assert_allclose(got[:number].numpy(), array(10, 8)[:number] * 2 + 1, rtol=1e-5)


def test_a_jit_over_devices():
    step = TinyJit(lambda x: ((x * 2).contiguous() + 1).realize())
    for factor in range(5):
        x = Tensor(array(32, 8) * factor).shard(DEVICES, axis=0).realize()
        numpy.testing.assert_allclose(step(x).to(FIRST).numpy(), array(32, 8) * factor * 2 + 1, rtol=1e-6)
    assert graphs_of(step)[1] == 0


def test_a_jit_that_copies_between_devices():
    def there_and_back(x):
        there = ((x * 2).contiguous() + 1).contiguous().to(SECOND).contiguous()
        return (((there * 3).contiguous() + 1).to(FIRST).contiguous() - 1).realize()

    step = TinyJit(there_and_back)
    for factor in range(6):
        got = step(Tensor(array(64) * factor).realize())
        numpy.testing.assert_allclose(got.numpy(), (array(64) * factor * 2 + 1) * 3, rtol=1e-5)
    batches, others = graphs_of(step)
    assert (len(batches), others) == (1, 0)
    with Context(DEBUG=2):
        before = GlobalCounters.time_sum_s
        step(Tensor(array(64)).realize())
        assert GlobalCounters.time_sum_s > before


def test_times(device):
    before = GlobalCounters.time_sum_s
    with Context(DEBUG=2):
        (Tensor(array(64)) + 1).realize()
    assert 0 < GlobalCounters.time_sum_s - before < 60
    assert device.timed(lambda: None) < 60


def test_a_launch_that_can_not_be(device):
    source = 'extern "C" __attribute__((global)) void nothing() {}'
    from tinygrad.device import TinyELF

    try:
        code = bytes(hiplaunch.compile(f'#define __global__ __attribute__((global))\n{source}', target=device.arch))
    except hiplaunch.CompileError:
        pytest.skip("there is no hiprtc on this machine")
    program = device.runtime(TinyELF(code, "nothing", device.renderer.target, ()))
    program(global_size=(1, 1, 1), local_size=(64, 1, 1), wait=True)
    with pytest.raises(RuntimeError):
        program(global_size=(1, 1, 1), local_size=(4096, 1, 1))


def test_too_much_memory(device):
    with pytest.raises(MemoryError):
        Buffer(FIRST, 1 << 60, dtypes.uint8).allocate()
    with pytest.raises(ValueError, match="external_ptr"):
        Buffer(FIRST, 16, dtypes.uint8, options=BufferSpec(external_ptr=4096)).allocate()


def test_a_device_that_is_not_there():
    with pytest.raises(RuntimeError, match="has 2; HIPLAUNCH_EMULATOR_DEVICES says"):
        Device["HIPLAUNCH:7"]


def test_a_renderer_goes_to_processes_that_compile(device):
    renderer = pickle.loads(pickle.dumps(device.renderer))
    assert type(renderer) is type(device.renderer) and renderer.target == device.renderer.target


PROGRAM = """
import numpy
from tinygrad import Tensor, Device
x = numpy.arange(64, dtype="f4").reshape(8, 8)
numpy.testing.assert_allclose((Tensor(x) @ Tensor(x)).numpy(), x @ x, rtol=1e-5)
print(Device.DEFAULT, Device[Device.DEFAULT].arch, type(Device[Device.DEFAULT].renderer).__name__)
"""


def run(program, **environment):
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, env={**os.environ, **environment}
    )
    return done.returncode, done.stdout, done.stderr


def test_the_environment_names_the_device():
    try:
        files = importlib.metadata.distribution("hiplaunch").files
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package is not installed")
    assert "hiplaunch_tinygrad.pth" in {file.name for file in files}
    status, out, err = run(PROGRAM, DEV="HIPLAUNCH")
    assert status == 0 and out.startswith("HIPLAUNCH gfx"), (out, err)


@pytest.mark.parametrize("environment", [{}, {"CC": "no-compiler-has-this-name"}], ids=["", "no C compiler"])
def test_the_guides_program(environment):
    page = pathlib.Path(__file__).resolve().parents[3] / "docs" / "tinygrad.md"
    (program,) = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    status, out, err = run(program, **environment)
    assert status == 0 and out == "[2, 4, 6]\n", (out, err)


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950"])
def test_llvm_for_each_target(target):
    status, out, err = run("import hiplaunch.tinygrad\n" + PROGRAM, DEV=f"HIPLAUNCH:LLVM:{target}", HIPLAUNCH_BACKEND="emulator")
    if status != 0 and ("CompileError" in err or "failed to load library llvm" in err):
        pytest.skip(f"LLVM does not compile for {target} here: {err.splitlines()[-1]}")
    assert status == 0 and out == f"HIPLAUNCH {target} LLVMRenderer\n", (out, err)
