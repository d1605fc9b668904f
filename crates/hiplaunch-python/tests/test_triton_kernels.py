"""Kernels that Triton compiles for each processor, compared with numpy: attention, products of small floats, sorts, scans,
atomics. Without Triton, these tests are skipped."""

import math

import numpy
import pytest

pytest.importorskip("triton", reason="Triton is not installed")

import hiplaunch.triton
import triton
import triton.language as tl


@pytest.fixture(params=["gfx90a", "gfx942", "gfx950"], autouse=True)
def target(request):
    hiplaunch.triton.activate(target=request.param)
    yield request.param
    hiplaunch.triton.deactivate()


def floats(shape, seed, scale=1.0):
    return (numpy.random.default_rng(seed).standard_normal(shape) * scale).astype(numpy.float32)


def small_value(code, exponent_bits, fraction_bits, bias):
    """The value of each code of a small float without infinities; NaN codes must not occur."""
    sign = numpy.where(code >> (exponent_bits + fraction_bits) & 1, -1.0, 1.0)
    field = (code >> fraction_bits & ((1 << exponent_bits) - 1)).astype(numpy.int64)
    fraction = (code & ((1 << fraction_bits) - 1)) / (1 << fraction_bits)
    normal = numpy.ldexp(1 + fraction, field - bias)
    return (sign * numpy.where(field == 0, numpy.ldexp(fraction, 1 - bias), normal)).astype(numpy.float64)


@triton.jit
def matmul(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TYPE: tl.constexpr, STEP: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, STEP)
    sums = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, K, STEP):
        x = tl.load(a + m[:, None] * K + start + k[None, :])
        y = tl.load(b + (start + k[:, None]) * N + n[None, :])
        if TYPE is not None:
            x, y = x.to(TYPE, bitcast=True), y.to(TYPE, bitcast=True)
        sums = tl.dot(x, y, sums)
    tl.store(c + m[:, None] * N + n[None, :], sums)


@pytest.mark.parametrize("size", [(32, 32, 64), (64, 128, 128), (16, 64, 256)])
def test_halves(size):
    m, n, k = size
    a, b = floats((m, k), 1).astype(numpy.float16), floats((k, n), 2).astype(numpy.float16)
    c = numpy.zeros((m, n), numpy.float32)
    matmul[(1,)](a, b, c, m, n, k, None, 64)
    numpy.testing.assert_allclose(c, a.astype(numpy.float64) @ b, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("size", [(32, 32, 64), (64, 128, 128)])
def test_bfloat16(size):
    m, n, k = size
    a, b = (floats(s, 3 + i).view(numpy.uint32) >> 16 for i, s in enumerate([(m, k), (k, n)]))
    wide = [(x << 16).astype(numpy.uint32).view(numpy.float32).astype(numpy.float64) for x in (a, b)]
    c = numpy.zeros((m, n), numpy.float32)
    matmul[(1,)](a.astype(numpy.uint16), b.astype(numpy.uint16), c, m, n, k, tl.bfloat16, 64)
    numpy.testing.assert_allclose(c, wide[0] @ wide[1], rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("name", ["e4m3", "e5m2"])
@pytest.mark.parametrize("size", [(32, 32, 128), (64, 64, 256), (128, 128, 128)])
def test_eight_bits(target, name, size):
    if target == "gfx90a":
        pytest.skip("Triton has no products of 8-bit floats for it")
    m, n, k = size
    # gfx942 has the formats without negative zero, whose bias is one more.
    ocp = target == "gfx950"
    kind = {"e4m3": (4, 3, 7), "e5m2": (5, 2, 15)}[name]
    types = {"e4m3": tl.float8e4nv if ocp else tl.float8e4b8, "e5m2": tl.float8e5 if ocp else tl.float8e5b16}
    rng = numpy.random.default_rng(5)
    exponent, fraction, bias = kind
    # Neither the largest exponents, where infinities and NaNs are, nor negative zero.
    codes = rng.integers(1, 0x60 if name == "e4m3" else 0x48, (m, k)), rng.integers(1, 0x48, (k, n))
    codes = [x | (rng.integers(0, 2, x.shape) << 7) for x in codes]
    want = [small_value(x, exponent, fraction, bias + (not ocp)) for x in codes]
    c = numpy.zeros((m, n), numpy.float32)
    matmul[(1,)](*(x.astype(numpy.uint8) for x in codes), c, m, n, k, types[name], 64)
    want = want[0] @ want[1]
    numpy.testing.assert_allclose(c, want, rtol=1e-3, atol=1e-3 * numpy.abs(want).max())


@triton.jit
def scaled_matmul(a, a_scale, b, b_scale, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TYPE: tl.constexpr):
    packed: tl.constexpr = 2 if TYPE == "e2m1" else 1
    m, n, k, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // packed), tl.arange(0, K // 32)
    x = tl.load(a + m[:, None] * (K // packed) + k[None, :])
    y = tl.load(b + n[None, :] * (K // packed) + k[:, None])
    x_scale = tl.load(a_scale + m[:, None] * (K // 32) + s[None, :])
    y_scale = tl.load(b_scale + n[:, None] * (K // 32) + s[None, :])
    sums = tl.dot_scaled(x, x_scale, TYPE, y, y_scale, TYPE)
    tl.store(c + m[:, None] * N + n[None, :], sums)


@pytest.mark.parametrize("name", ["e2m1", "e4m3", "e5m2"])
@pytest.mark.parametrize("size", [(32, 32, 128), (64, 64, 128), (16, 16, 256), (128, 128, 256)])
def test_microscaling(target, name, size):
    if target == "gfx90a" or (target == "gfx942" and name != "e2m1"):
        pytest.skip("Triton does not lower it for the target, or to other formats")
    m, n, k = size
    rng = numpy.random.default_rng(7)
    limit = {"e2m1": 8, "e4m3": 0x60, "e5m2": 0x50}[name]
    kind = {"e2m1": (2, 1, 1), "e4m3": (4, 3, 7), "e5m2": (5, 2, 15)}[name]
    sign = {"e2m1": 3, "e4m3": 7, "e5m2": 7}[name]
    codes = [rng.integers(0, limit, s) | (rng.integers(0, 2, s) << sign) for s in [(m, k), (n, k)]]
    scales = [rng.integers(120, 132, (s, k // 32)).astype(numpy.uint8) for s in (m, n)]
    wide = [small_value(x, *kind) * numpy.repeat(numpy.ldexp(1.0, e.astype(int) - 127), 32, axis=1) for x, e in zip(codes, scales)]
    bytes_of = [x.astype(numpy.uint8) for x in codes]
    if name == "e2m1":
        bytes_of = [numpy.ascontiguousarray(x[:, 0::2] | (x[:, 1::2] << 4)) for x in bytes_of]
    c = numpy.zeros((m, n), numpy.float32)
    scaled_matmul[(1,)](bytes_of[0], scales[0], bytes_of[1], scales[1], c, m, n, k, name)
    want = wide[0] @ wide[1].T
    numpy.testing.assert_allclose(c, want, rtol=1e-3, atol=1e-4 * numpy.abs(want).max())


@triton.jit
def attention(q, k, v, out, scale, LENGTH: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows, width = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, WIDTH)
    query = tl.load(q + rows[:, None] * WIDTH + width[None, :])
    most = tl.full((ROWS,), float("-inf"), dtype=tl.float32)
    total = tl.zeros((ROWS,), dtype=tl.float32)
    sums = tl.zeros((ROWS, WIDTH), dtype=tl.float32)
    for start in range(0, LENGTH, COLUMNS):
        columns = start + tl.arange(0, COLUMNS)
        key = tl.load(k + columns[None, :] * WIDTH + width[:, None])
        scores = tl.dot(query, key) * scale
        scores = tl.where(rows[:, None] >= columns[None, :], scores, float("-inf"))
        now = tl.maximum(most, tl.max(scores, 1))
        weights = tl.exp(scores - now[:, None])
        keep = tl.exp(most - now)
        total = total * keep + tl.sum(weights, 1)
        value = tl.load(v + columns[:, None] * WIDTH + width[None, :])
        sums = sums * keep[:, None] + tl.dot(weights.to(value.dtype), value)
        most = now
    tl.store(out + rows[:, None] * WIDTH + width[None, :], sums / total[:, None])


@pytest.mark.parametrize("width", [64, 128])
def test_attention(width):
    length, scale = 256, 1 / math.sqrt(width)
    q, k, v = (floats((length, width), 10 + n).astype(numpy.float16) for n in range(3))
    out = numpy.zeros((length, width), numpy.float32)
    attention[(length // 64,)](q, k, v, out, scale, length, width, 64, 64)
    q, k, v = (x.astype(numpy.float64) for x in (q, k, v))
    scores = numpy.where(numpy.tri(length, dtype=bool), q @ k.T * scale, -numpy.inf)
    weights = numpy.exp(scores - scores.max(1, keepdims=True))
    want = weights @ v / weights.sum(1, keepdims=True)
    numpy.testing.assert_allclose(out, want, rtol=5e-3, atol=5e-3)


@triton.jit
def sort(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.sort(tl.load(x + i)))


@pytest.mark.parametrize("count", [64, 512, 2048])
def test_sort(count):
    x, out = floats(count, 20), numpy.zeros(count, numpy.float32)
    sort[(1,)](x, out, count)
    numpy.testing.assert_array_equal(out, numpy.sort(x))


@triton.jit
def scan(x, out, ROWS: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, ROWS)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + i, tl.cumsum(tl.load(x + i), 1))


@pytest.mark.parametrize("size", [(4, 64), (16, 1024)])
def test_scan(size):
    x = numpy.random.default_rng(21).integers(-1000, 1000, size).astype(numpy.int32)
    out = numpy.zeros(size, numpy.int32)
    scan[(1,)](x, out, *size)
    numpy.testing.assert_array_equal(out, numpy.cumsum(x, 1))


@triton.jit
def histogram(x, bins, total, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    value = tl.load(x + i)
    tl.atomic_add(bins + value % 16, 1)
    tl.atomic_add(total, tl.sum(value.to(tl.float32)))
    tl.atomic_max(bins + 16, tl.max(value, 0))


def test_atomics():
    x = numpy.random.default_rng(22).integers(0, 1000, 4096).astype(numpy.int32)
    bins, total = numpy.zeros(17, numpy.int32), numpy.zeros(1, numpy.float32)
    histogram[(16,)](x, bins, total, 256)
    numpy.testing.assert_array_equal(bins[:16], numpy.bincount(x % 16, minlength=16))
    assert (bins[16], total[0]) == (x.max(), x.sum())


@triton.jit
def softmax(x, out, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    value = tl.load(x + i)
    weights = tl.exp(value - tl.max(value, 0))
    tl.store(out + i, weights / tl.sum(weights, 0))


def test_softmax():
    x = floats((8, 1024), 23)
    out = numpy.zeros_like(x)
    softmax[(8,)](x, out, 1024)
    weights = numpy.exp(x.astype(numpy.float64) - x.max(1, keepdims=True))
    numpy.testing.assert_allclose(out, weights / weights.sum(1, keepdims=True), rtol=1e-5)
