"""torch's device "cuda" on the emulator: torch's own tensors, autograd, autocast, generators, and torch.compile."""

import gc
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")

from hiplaunch.triton import _programs

# In another process on the emulator alone: with an AMD GPU, nothing is mapped.
pytestmark = pytest.mark.skipif(torch.version.hip is not None, reason="torch for ROCm has its own device")


@pytest.fixture(autouse=True, scope="module")
def cuda():
    _programs.activate("gfx942")
    yield
    _programs.deactivate()


def run(arguments, text=None, cwd=None, **variables):
    """Runs a Python program under hiplaunch.triton. Returns its standard output."""
    command = [sys.executable, "-m", "hiplaunch.triton", *map(str, arguments)]
    result = subprocess.run(command, input=text, cwd=cwd, env={**os.environ, **variables}, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    return result.stdout


def twin(function, *shapes, **options):
    """The results of a function, and the gradients, on both devices, from the same numbers."""
    results = []
    for device in ("cpu", "cuda"):
        torch.manual_seed(7)
        inputs = [torch.randn(shape).to(device).requires_grad_() for shape in shapes]
        output = function(*inputs, **options)
        assert output.device.type == device
        output.sum().backward()
        assert all(tensor.grad.device == tensor.device for tensor in inputs)
        results.append([output.detach().cpu(), *(tensor.grad.cpu() for tensor in inputs)])
    for of_cpu, of_cuda in zip(*results):
        torch.testing.assert_close(of_cuda, of_cpu, rtol=2e-5, atol=2e-5)


def test_tensors_say_that_they_are_of_cuda():
    x = torch.ones(3, device="cuda")
    assert (x.device, x.is_cuda, x.get_device(), x.type()) == (torch.device("cuda", 0), True, 0, "torch.cuda.FloatTensor")
    assert not torch.ones(3).is_cuda
    assert x.to("cpu").device.type == "cpu" and torch.ones(2).cuda().is_cuda
    with pytest.raises(RuntimeError, match="same device"):
        torch.ones(3) @ x
    with pytest.raises(TypeError, match="numpy"):
        x.numpy()
    with pytest.raises(AssertionError, match="cuda:0 != cpu"):
        torch.testing.assert_close(x, torch.ones(3))


def test_copies_between_the_devices_are_copies():
    host = torch.zeros(4)
    device = host.cuda()
    device += 1
    assert host.sum() == 0 and device.sum() == 4
    back = device.cpu()
    device.zero_()
    assert back.sum() == 4


def test_views_share_their_tensors_memory():
    x = torch.arange(12.0, device="cuda").view(3, 4)
    x.t()[1].fill_(-1)
    x.unfold(1, 2, 2)[0, 1, 0] = 50
    assert x[:, 1].tolist() == [-1, -1, -1] and x[0, 2] == 50
    pair = torch.zeros(3, dtype=torch.complex64, device="cuda")
    torch.view_as_real(pair)[:, 1] = 2
    assert pair[1] == 2j and torch.view_as_real(pair).is_cuda
    assert x.untyped_storage().device.type == "cuda"


def test_results_that_change_their_size():
    out = torch.empty(0, device="cuda")
    torch.add(torch.ones(5, device="cuda"), 1, out=out)
    assert out.tolist() == [2] * 5
    x = torch.ones(2, device="cuda")
    x.resize_(4)
    x.set_()
    assert x.numel() == 0 and x.is_cuda
    assert torch.nonzero(torch.tensor([0, 1, 1], device="cuda")).flatten().tolist() == [1, 2]


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda a, b: (a @ b).softmax(-1) * 3, [(4, 5), (5, 6)]),
        (lambda x, w: torch.nn.functional.conv2d(x, w, padding=1), [(2, 3, 8, 8), (4, 3, 3, 3)]),
        (lambda x, w: torch.nn.functional.conv2d(x, w, groups=4), [(1, 4, 6, 6), (4, 1, 3, 3)]),
        (lambda x: torch.nn.functional.layer_norm(x, (8,)).square(), [(4, 8)]),
        (lambda x: torch.nn.functional.batch_norm(x, None, None, training=True).square(), [(4, 8, 3)]),
        (lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True), [(1, 2, 6, 8)] * 3),
        (lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=torch.eye(6, dtype=torch.bool, device=q.device)), [(1, 2, 6, 8)] * 3),
        (lambda x: torch.cumsum(x, 0).sort(descending=True).values[:2], [(9,)]),
        (lambda x: torch.fft.rfft(x).abs(), [(8,)]),
        (lambda x: torch.nn.functional.max_pool2d(x, 2), [(1, 2, 6, 6)]),
        (lambda x: torch.linalg.inv(x @ x.T + torch.eye(4, device=x.device)), [(4, 4)]),
    ],
)
def test_operators_and_their_gradients_are_the_cpus(function, shapes):
    twin(function, *shapes)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN", "TransformerEncoderLayer"])
def test_modules(kind):
    results = []
    for device in ("cpu", "cuda"):
        torch.manual_seed(3)
        options = {"d_model": 8, "nhead": 2, "dropout": 0.0} if kind.startswith("Tr") else {"input_size": 8, "hidden_size": 8}
        module = getattr(torch.nn, kind)(**options).to(device)
        x = torch.randn(5, 2, 8).to(device)
        output = module(x)
        output = output[0] if isinstance(output, tuple) else output
        output.square().sum().backward()
        results.append([output.detach().cpu(), *(p.grad.cpu() for p in module.parameters())])
    for of_cpu, of_cuda in zip(*results):
        torch.testing.assert_close(of_cuda, of_cpu, rtol=1e-4, atol=1e-5)


def test_a_step_of_training():
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)).cuda()
    for optimizer in (torch.optim.AdamW(model.parameters(), fused=True), torch.optim.SGD(model.parameters(), 0.1, foreach=True)):
        scaler = torch.amp.GradScaler("cuda", init_scale=64.0)
        before = [p.detach().clone() for p in model.parameters()]
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(torch.randn(16, 4, device="cuda")).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        assert any(not torch.equal(p, q) for p, q in zip(before, model.parameters()))
        optimizer.zero_grad()


def test_autocast_acts_on_cuda_alone():
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert (torch.ones(2, 2, device="cuda") @ torch.ones(2, 2, device="cuda")).dtype == torch.bfloat16
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32
    assert torch.is_autocast_enabled("cuda") is False


@pytest.mark.parametrize("function", [torch.softmax, torch.log_softmax])
def test_softmax_of_halves_in_floats(function):
    x = torch.randn(4, 8).half()
    on_cuda = x.cuda().requires_grad_()
    result = function(on_cuda, -1, dtype=torch.float32)
    result[:, 0].sum().backward()
    on_cpu = x.float().requires_grad_()
    expected = function(on_cpu, -1)
    expected[:, 0].sum().backward()
    assert result.dtype == torch.float32 and on_cuda.grad.dtype == torch.float16
    torch.testing.assert_close(result.cpu(), expected)
    torch.testing.assert_close(on_cuda.grad.cpu().float(), on_cpu.grad, rtol=1e-3, atol=1e-3)


def test_kernels_for_halves_that_only_cuda_has():
    x = torch.randn(1, 2, 4, 4, 4, device="cuda")
    halves = torch.nn.functional.avg_pool3d(x.half(), 2)
    assert halves.dtype == torch.float16 and halves.is_cuda
    torch.testing.assert_close(halves.float(), torch.nn.functional.avg_pool3d(x.half().float(), 2), rtol=1e-3, atol=1e-3)


def _of_many_rows(function):
    def of_rows(x):
        rows = torch.arange(1500, device=x.device) % 3
        return function(x, rows)

    return of_rows


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda x, w, b: torch.nn.functional.layer_norm(x, (16,), w, b), [(1500, 16), (16,), (16,)]),
        (_of_many_rows(lambda x, rows: torch.nn.functional.embedding(rows, x)), [(3, 16)]),
        (_of_many_rows(lambda x, rows: x[rows]), [(3, 16)]),
        (lambda x: x.clamp(1 - 1 / 128, 1 + 1 / 128).prod(0), [(1500, 4)]),
        (lambda x, w: torch.nn.functional.conv_transpose2d(x, w), [(1, 64, 9, 9), (64, 4, 3, 3)]),
        (lambda x, w: torch.nn.functional.conv2d(x, w), [(1, 64, 9, 9), (4, 64, 3, 3)]),
        (lambda x: torch.nn.functional.interpolate(x, scale_factor=3.3, mode="bilinear"), [(1, 2, 9, 9)]),
        (lambda x: torch.nn.functional.fold(x, 12, 5), [(1, 50, 64)]),
        (lambda x, y: x @ y, [(9, 1500), (1500, 5)]),
    ],
)
def test_halves_are_added_in_floats(function, shapes, dtype):
    torch.manual_seed(5)
    halves = [torch.randn(shape).to(dtype).cuda().requires_grad_() for shape in shapes]
    doubles = [tensor.detach().cpu().double().requires_grad_() for tensor in halves]
    output, expected = function(*halves), function(*doubles)
    grad = torch.randn(expected.shape).to(dtype)
    output.backward(grad.cuda())
    expected.backward(grad.double())
    for of_halves, exact in [(output.detach(), expected.detach()), *((h.grad, d.grad) for h, d in zip(halves, doubles))]:
        assert of_halves.dtype == dtype
        # Two roundings, the first of a number that may be larger.
        allowed = 2 * torch.finfo(dtype).eps
        torch.testing.assert_close(of_halves.cpu().double(), exact, rtol=allowed, atol=allowed * exact.abs().max().item() / 8)


def test_halves_that_are_changed_in_place():
    x = torch.zeros(2, device="cuda", dtype=torch.float16)
    ones = torch.ones(3000, device="cuda", dtype=torch.float16)
    assert x.index_put_((torch.zeros(3000, dtype=torch.long, device="cuda"),), ones, accumulate=True) is x
    assert x.tolist() == [3000, 0]
    matrix, out = torch.eye(3, device="cuda", dtype=torch.bfloat16), torch.empty(0, device="cuda", dtype=torch.bfloat16)
    assert torch.mm(matrix, 2 * matrix, out=out) is out and out.tolist() == (2 * matrix).tolist()
    assert out.addmm_(matrix, matrix) is out and out.tolist() == (3 * matrix).tolist()
    assert torch.prod(matrix, 0, dtype=torch.float32).dtype == torch.float32
    with pytest.raises(RuntimeError, match="same dtype|should be the same|same type"):
        matrix @ matrix.float()


def test_the_statistics_of_a_layer_norm_are_floats():
    _, mean, scale = torch.native_layer_norm(torch.ones(2, 3, device="cuda", dtype=torch.float16), (3,), None, None, 1e-5)
    assert {mean.dtype, scale.dtype} == {torch.float32} and mean.is_cuda


def test_the_gradient_of_label_smoothing_is_exact():
    torch.manual_seed(5)
    x = torch.randn(2, 32000)
    target = torch.tensor([3, 4])
    grads = []
    for tensor in (x.cuda(), x.double()):
        tensor.requires_grad_()
        torch.nn.functional.cross_entropy(tensor, target.to(tensor.device), label_smoothing=0.2, reduction="sum").backward()
        grads.append(tensor.grad.cpu().double())
    torch.testing.assert_close(*grads, rtol=1e-6, atol=1e-8)


@pytest.mark.skipif(not hasattr(torch.ops.aten.mm, "dtype"), reason="this torch has no such products")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_products_of_halves_in_floats(dtype):
    torch.manual_seed(5)
    a, b = torch.randn(8, 70).to(dtype), torch.randn(70, 6).to(dtype)
    c, exact = torch.randn(8, 6), a.double() @ b.double()
    on_cuda = a.cuda(), b.cuda()
    out = torch.empty(0, device="cuda")
    assert torch.addmm(c.cuda(), *on_cuda, beta=2, alpha=0.5, out_dtype=torch.float32, out=out) is out
    for result, expected in [
        (torch.mm(*on_cuda, out_dtype=torch.float32), exact),
        (torch.bmm(on_cuda[0][None], on_cuda[1][None], out_dtype=torch.float32)[0], exact),
        (out, 2 * c + 0.5 * exact),
    ]:
        assert result.dtype == torch.float32 and result.is_cuda
        torch.testing.assert_close(result.cpu().double(), expected.double(), rtol=1e-5, atol=1e-5)
    with pytest.raises(RuntimeError, match="out_dtype must be"):
        torch.mm(*(tensor.float() for tensor in on_cuda), out_dtype=dtype)


def test_backward_is_on_the_device():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return torch.empty(grad.shape, device="cuda").fill_(2)

    x = torch.ones(3, device="cuda", requires_grad=True)
    seen = []
    x.register_hook(lambda grad: seen.append(grad.device.type))
    Twice.apply(x).sum().backward()
    torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False).sum().backward()
    assert x.grad.is_cuda and seen == ["cuda"] * 2


def test_generators():
    first, second = (torch.Generator(device="cuda").manual_seed(3) for _ in range(2))
    assert torch.equal(torch.randn(4, device="cuda", generator=first), torch.randn(4, device="cuda", generator=second))
    torch.cuda.manual_seed(5)
    state = torch.cuda.get_rng_state()
    x = torch.rand(4, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.rand(4, device="cuda"), x)
    # The CPU's generator is another one.
    torch.manual_seed(1)
    y = torch.rand(4)
    torch.manual_seed(1)
    torch.rand(4, device="cuda")
    assert torch.equal(torch.rand(4), y)
    with torch.random.fork_rng():
        torch.rand(4, device="cuda")
    with pytest.raises(RuntimeError, match="generator"):
        torch.randn(4, device="cuda", generator=torch.Generator(device="cpu"))


def test_the_state_of_a_generator_is_a_seed_and_an_offset():
    generator = torch.Generator(device="cuda").manual_seed(11)
    first = torch.rand(3, device="cuda", generator=generator)
    assert not torch.equal(torch.rand(3, device="cuda", generator=generator), first)
    seed, offset = generator.get_state().view(torch.int64).tolist()
    assert seed == generator.initial_seed() == 11 and offset == generator.get_offset() > 0
    # Libraries take numbers for their own kernels.
    generator.set_state(torch.tensor([11, 4000]).view(torch.uint8))
    assert generator.get_offset() == 4000
    third = torch.rand(3, device="cuda", generator=generator)
    generator.set_offset(4000)
    assert torch.equal(torch.rand(3, device="cuda", generator=generator), third)
    generator.set_state(torch.tensor([11]).view(torch.uint8))
    assert torch.equal(torch.rand(3, device="cuda", generator=generator), first)
    with pytest.raises(RuntimeError, match="wrong size"):
        generator.set_state(torch.zeros(5000, dtype=torch.uint8))
    few = torch.stack([torch.rand(2, device="cuda", generator=generator) for _ in range(2000)])
    assert abs(few.mean() - 0.5) < 0.03 and len(few.unique()) > 3900


def test_dropout_takes_the_devices_numbers():
    x, results = torch.ones(64, device="cuda"), []
    for _ in range(2):
        torch.cuda.manual_seed(5)
        results.append(torch.nn.functional.dropout(x.requires_grad_(), 0.25))
    before = torch.get_rng_state()
    assert torch.equal(*results) and set(results[0].tolist()) == {0, torch.tensor(4 / 3).item()}
    results[1].sum().backward()
    assert torch.equal(x.grad, results[1]) and torch.equal(torch.get_rng_state(), before)
    assert torch.equal(torch.nn.functional.dropout(x, 0.25, training=False), x)
    assert torch.native_dropout(x, 0.25, False)[1].all()


def test_an_operator_that_is_registered_for_cuda_is_called():
    library = torch.library.Library("aten", "IMPL")
    library.impl("erfinv", lambda x: torch.full_like(x, 7.0), "CUDA")
    assert torch.erfinv(torch.zeros(2, device="cuda"))[0] == 7 and torch.erfinv(torch.zeros(2))[0] == 0
    library._destroy()


def test_the_default_device_and_loading(tmp_path):
    torch.set_default_device("cuda")
    try:
        assert torch.empty(3).is_cuda
    finally:
        torch.set_default_device(None)
    torch.save({"a": torch.ones(2, device="cuda"), "b": torch.zeros(1)}, tmp_path / "saved")
    assert torch.load(tmp_path / "saved")["a"].is_cuda
    loaded = torch.load(tmp_path / "saved", map_location="cuda")
    assert loaded["a"].tolist() == [1, 1] and loaded["b"].is_cuda
    assert torch.load(tmp_path / "saved", map_location="cpu")["a"].device.type == "cpu"


def test_memory_is_counted():
    gc.collect()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    x = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
    assert torch.cuda.memory_allocated() - before == 1 << 20
    free, total = torch.cuda.mem_get_info()
    assert total - free == torch.cuda.memory_allocated()
    del x
    assert torch.cuda.memory_allocated() == before and torch.cuda.max_memory_allocated() >= before + (1 << 20)
    assert "GPU reserved memory" in torch.cuda.memory_summary()


def test_streams_events_and_pinned_memory():
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream
        begin = torch.cuda.Event(enable_timing=True)
        begin.record()
        end = stream.record_event(torch.cuda.Event(enable_timing=True))
    assert torch.cuda.current_stream() == torch.cuda.default_stream() and begin.elapsed_time(end) >= 0
    torch.ones(2, device="cuda").record_stream(stream)
    torch.accelerator.synchronize()
    assert torch.ones(3).pin_memory().is_pinned() and not torch.ones(3).is_pinned()
    assert torch.accelerator.current_accelerator().type == "cuda"


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.cuda.CUDAGraph(),
        lambda: torch.cuda.graph(None),
        lambda: torch.cuda.Event().ipc_handle(),
        lambda: torch.multiprocessing.reductions.reduce_tensor(torch.ones(2, device="cuda")),
        lambda: torch._C._cuda_attach_out_of_memory_observer(None),
        lambda: torch._cudnn_init_dropout_state(0.5, True, 1, device="cuda", dtype=torch.uint8),
        lambda: torch.cuda.set_device(7),
        lambda: torch.ones(2, device="cuda:7"),
    ],
)
def test_what_is_not_there_names_hiplaunch(call):
    if not hasattr(torch._C, "_cuda_attach_out_of_memory_observer"):
        pytest.skip("this torch has no kernels of CUDA")
    with pytest.raises(RuntimeError, match="hiplaunch") as raised:
        call()
    assert "NVIDIA" not in str(raised.value)


@triton.jit
def add_one(x, y, n, BLOCK: triton.language.constexpr):
    i = triton.language.program_id(0) * BLOCK + triton.language.arange(0, BLOCK)
    triton.language.store(y + i, triton.language.load(x + i, mask=i < n) + 1, mask=i < n)


def test_kernels_take_tensors_of_the_device_alone():
    x, y = torch.arange(100.0, device="cuda"), torch.empty(100, device="cuda")
    add_one[(2,)](x, y, 100, BLOCK=64)
    assert torch.equal(y, x + 1)
    add_one[(2,)](torch.arange(100.0).pin_memory(), y, 100, BLOCK=64)
    assert torch.equal(y, x + 1)
    with pytest.raises(ValueError, match="cpu tensor"):
        add_one[(2,)](torch.arange(100.0), y, 100, BLOCK=64)


def test_objects_with_an_address_are_arguments():
    class Pointer:
        def __init__(self, tensor):
            self.tensor, self.dtype = tensor, tensor.dtype

        def data_ptr(self):
            return self.tensor.data_ptr()

        def untyped_storage(self):
            return self.tensor.untyped_storage()

    x = torch.zeros(64, device="cuda")
    add_one[(1,)](Pointer(x), Pointer(x), 64, BLOCK=64)
    assert x.sum() == 64


def test_a_pointer_that_is_its_own_storage_is_an_argument():
    class Pointer:
        dtype = torch.float32

        def __init__(self, address):
            self.address = address

        def data_ptr(self):
            return self.address

        def untyped_storage(self):
            return self

    x = torch.zeros(64, device="cuda")
    add_one[(1,)](Pointer(x.data_ptr()), Pointer(x.data_ptr()), 64, BLOCK=64)
    assert x.sum() == 64


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_torch_compile(backend):
    def with_kernel(x):
        y = torch.empty_like(x)
        add_one[(1,)](x, y, x.numel(), BLOCK=64)
        return y * 2

    functions = [lambda x: torch.sin(x) + 1, with_kernel, lambda x: torch.softmax(x.view(4, 16), 1) @ torch.ones(16, 2, device="cuda")]
    x = torch.linspace(-1, 1, 64, device="cuda")
    for function in functions:
        torch._dynamo.reset()
        result = torch.compile(function, backend=backend)(x)
        assert result.is_cuda
        torch.testing.assert_close(result, function(x), rtol=1e-5, atol=1e-5)


def test_inductor_launches_kernels_and_trains():
    driver = triton.runtime.driver.active
    before = driver.session.launches
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 1)).cuda()
    x = torch.randn(4, 8, device="cuda")
    model(x).square().sum().backward()
    expected = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    torch._dynamo.reset()
    torch.compile(model)(x).square().sum().backward()
    for p, gradient in zip(model.parameters(), expected):
        torch.testing.assert_close(p.grad, gradient, rtol=1e-4, atol=1e-5)
    assert driver.session.launches > before


def test_programs_modules_and_texts(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "neighbour.py").write_text("VALUE = 3\n")
    (tmp_path / "sub" / "program.py").write_text("import sys, neighbour; print(neighbour.VALUE, __name__, sys.argv[1:])\n")
    expected = "3 __main__ ['a', '--b']\n"
    assert run(["sub/program.py", "a", "--b"], cwd=tmp_path) == expected
    assert run(["-m", "program", "a", "--b"], cwd=tmp_path / "sub") == expected
    assert run(["-c", "import sys; print(3, __name__, sys.argv[1:])", "a", "--b"], cwd=tmp_path) == expected


SPIN = """
import torch, triton, triton.language as tl
@triton.jit
def spin(x, n):
    a = tl.load(x)
    for i in range(n): a = a * 1.0001 + 1
    tl.store(x, a)
x = torch.zeros(1, device="cuda")
# Compiled for multiples of 16, as the next launch needs, which then begins at once.
spin[(1,)](x, 16)
print("begins", flush=True)
try: spin[(64,)](x, 200000000)
except KeyboardInterrupt: print("interrupted")
except RuntimeError as error: print(error)
spin[(1,)](x.zero_(), 1)
print(x.item())
"""


def test_control_c_ends_a_kernel(tmp_path):
    program = tmp_path / "spin.py"
    program.write_text(SPIN)
    with subprocess.Popen([sys.executable, "-m", "hiplaunch.triton", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begins\n"
        time.sleep(0.5)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "interrupted\n1.0\n"
    # A kernel of minutes; the limit is for machines that are busy.
    assert time.monotonic() - begin < 20 and process.returncode == 0


BETWEEN = """
import linecache, sys
def interrupt(frame, event, _):
    if event == "line" and "queue.synchronize()" in linecache.getline(frame.f_code.co_filename, frame.f_lineno):
        sys.settrace(None)
        raise KeyboardInterrupt
    return interrupt
sys.settrace(interrupt)
"""


def test_control_c_between_a_launch_and_its_wait_ends_the_kernel(tmp_path):
    program = tmp_path / "spin.py"
    program.write_text(SPIN.replace('print("begins", flush=True)', BETWEEN))
    assert run([program]) == "interrupted\n1.0\n"


def test_an_exception_of_a_signals_handler_ends_a_kernel(tmp_path):
    handler = """
import signal
def late(*_): raise TimeoutError
signal.signal(signal.SIGALRM, late)
"""
    program = tmp_path / "spin.py"
    spin = SPIN.replace('print("begins", flush=True)', "signal.alarm(1)")
    program.write_text(handler + spin.replace("KeyboardInterrupt", "TimeoutError"))
    assert run([program]) == "interrupted\n1.0\n"


def test_a_time_budget_ends_a_kernel(tmp_path):
    program = tmp_path / "spin.py"
    program.write_text(SPIN)
    text = run(["--time-budget", "1", program])
    assert "over its budget" in text and text.endswith("\n1.0\n"), text


TESTS = """
import pytest, torch, triton, triton.language as tl
from conftest import DEVICE

tried = []

@triton.autotune([triton.Config({}, num_warps=w) for w in (1, 2, 4, 8)], key=[])
@triton.jit
def fill(x):
    tl.store(x + tl.arange(0, 64), 5.0)

def test_launches():
    x = torch.zeros(64, device=DEVICE)
    fill[(1,)](x)
    assert x.sum() == 320 and DEVICE == "cuda"
    (device,) = fill.fn.device_caches.values()
    assert len(device[0]) == COMPILED

def test_launches_nothing():
    pass
"""


@pytest.mark.parametrize("workers", [[], ["-n", "1"]])
@pytest.mark.parametrize(("autotune", "compiled"), [("first", 1), ("all", 4)])
def test_the_plug_in(tmp_path, workers, autotune, compiled):
    if workers:
        pytest.importorskip("xdist")
    (tmp_path / "conftest.py").write_text('import torch\nDEVICE = "cuda" if torch.cuda.is_available() else "cpu"\n')
    (tmp_path / "test_it.py").write_text(TESTS.replace("COMPILED", str(compiled)))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "hiplaunch.triton.pytest", *workers]
    command.append(f"--hiplaunch-autotune={autotune}")
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "hiplaunch: 1 passed without a launch of this process: test_it.py::test_launches_nothing" in result.stdout


COUNTING = """
import hiplaunch

opened = []
Launcher = hiplaunch.Launcher
hiplaunch.Launcher = lambda **options: opened.append(options) or Launcher(**options)
"""
ONCE = """
import counting, pytest, torch
from hiplaunch.triton import _programs

@pytest.mark.parametrize("number", range(4))
def test_it(number):
    replacements, *_ = _programs._mapped
    originals = [original for owner, name, original in replacements._originals if (owner, name) == (torch.cuda, "device_count")]
    assert [original.__module__ for original in originals] == ["torch.cuda"]
    assert [options["target"] for options in counting.opened] == ["gfx90a"]
"""


# A worker of xdist is a program that an activated one starts: importing Triton activates it, too.
@pytest.mark.parametrize("workers", [[], ["-n", "1"], ["-n", "2"]])
def test_each_process_is_activated_once(tmp_path, workers):
    if workers:
        pytest.importorskip("xdist")
    (tmp_path / "counting.py").write_text(COUNTING)
    (tmp_path / "test_it.py").write_text(ONCE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "counting", "-p", "hiplaunch.triton.pytest"]
    result = subprocess.run(
        [*command, *workers, "--hiplaunch-target=gfx90a"], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_without_a_compiler_the_error_says_what_to_install(tmp_path):
    text = "import hiplaunch.triton._programs as programs\ntry: programs.activate()\nexcept RuntimeError as error: print(error)"
    folder = pathlib.Path(shutil.which("sh")).parent
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sh").symlink_to(folder / "sh")
    variables = {**os.environ, "PATH": str(tmp_path / "bin"), "HIPLAUNCH_CACHE_DIR": str(tmp_path / "cache")}
    variables.pop("CXX", None)
    result = subprocess.run([sys.executable, "-c", text], env=variables, capture_output=True, text=True, timeout=120)
    assert "needs a C++ compiler" in result.stdout and "apt install g++" in result.stdout, result.stdout + result.stderr


def test_tritons_tests_know_the_target():
    from triton import _internal_testing

    assert _internal_testing.is_hip() and not _internal_testing.is_cuda()
    assert _internal_testing.is_hip_cdna3()


def test_results_are_on_the_tensors_device(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        """\
import torch
from torch.nn import functional as F

x = torch.randn(3, 4, device="cuda:1", dtype=torch.half, requires_grad=True)
for function in (
    lambda x: x.softmax(1),
    lambda x: x.log_softmax(1),
    lambda x: F.layer_norm(x, (4,)),
    lambda x: F.dropout(x, 0.5),
    lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    lambda x: torch.tensor(2.0) * x,
    lambda x: torch.where(x > 0, torch.tensor(1.0), x),
):
    result = function(x)
    (grad,) = torch.autograd.grad(result.float().sum(), x)
    assert result.device == grad.device == x.device, (result.device, grad.device)

# The numbers are of the tensor's device, too.
torch.cuda.manual_seed_all(7)
torch.empty(4, device="cuda:1").normal_()
offsets = [torch.cuda.get_rng_state(device).view(torch.int64)[1].item() for device in range(2)]
assert offsets[0] == 0 < offsets[1], offsets
print("right")
"""
    )
    assert run([program], HIPLAUNCH_EMULATOR_DEVICES="2") == "right\n"
