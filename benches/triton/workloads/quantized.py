"""Matrix products of small types: i8 with a scale for each row and column, f8, and MXFP4 with a scale for each 32 values."""

import numpy
import triton
import triton.language as tl
from work import Result, Work, wide

from .gemm import gemm_kernel


@triton.jit
def i8_kernel(
    a, b, a_scale, b_scale, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    row, column = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    sums = tl.zeros((ROWS, COLUMNS), tl.int32)
    for start in range(0, K, STEP):
        k = start + tl.arange(0, STEP)
        sums = tl.dot(tl.load(a + row[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + column[None, :]), sums)
    scaled = sums.to(tl.float32) * tl.load(a_scale + row)[:, None] * tl.load(b_scale + column)[None, :]
    tl.store(c + row[:, None] * N + column[None, :], scaled.to(c.dtype.element_ty))


def i8(inputs, m, n, k):
    a, b = (inputs.integers(-128, 128, shape, numpy.int8) for shape in ((m, k), (k, n)))
    a_scale, b_scale = (numpy.abs(inputs.normal(count)) / 1000 for count in (m, n))
    c = numpy.empty((m, n), numpy.float16)
    grid = m // 64, n // 64

    def launch():
        i8_kernel[grid](a, b, a_scale, b_scale, c, m, n, k, 64, 64, 64, num_warps=4, num_stages=2)

    expected = (wide(a) @ wide(b)) * wide(a_scale)[:, None] * wide(b_scale)
    return Work(launch, [Result("c", c, expected)], m * n * k)


def f8(inputs, m, n, k):
    a, b = (inputs.normal(shape, inputs.e4m3()) for shape in ((m, k), (k, n)))
    c = numpy.empty((m, n), numpy.float16)
    grid = (m // 64 * (n // 64),)

    def launch():
        gemm_kernel[grid](a, b, c, m, n, k, 64, 64, 64, num_warps=4, num_stages=2)

    return Work(launch, [Result("c", c, wide(a) @ wide(b))], m * n * k)


@triton.jit
def mxfp4_kernel(
    a, b, a_scale, b_scale, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    row, column = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, K, STEP):
        pair, block = start // 2 + tl.arange(0, STEP // 2), start // 32 + tl.arange(0, STEP // 32)
        x = tl.load(a + row[:, None] * (K // 2) + pair[None, :])
        y = tl.load(b + column[None, :] * (K // 2) + pair[:, None])
        x_scale = tl.load(a_scale + row[:, None] * (K // 32) + block[None, :])
        y_scale = tl.load(b_scale + column[:, None] * (K // 32) + block[None, :])
        sums = tl.dot_scaled(x, x_scale, "e2m1", y, y_scale, "e2m1", sums)
    tl.store(c + row[:, None] * N + column[None, :], sums.to(c.dtype.element_ty))


# What the codes of OCP's FP4 (E2M1) stand for.
E2M1 = numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def mxfp4(inputs, m, n, k):
    codes = [inputs.integers(0, 16, (count, k), numpy.uint8) for count in (m, n)]
    scales = [inputs.integers(124, 129, (count, k // 32), numpy.uint8) for count in (m, n)]
    a, b = (numpy.ascontiguousarray(code[:, 0::2] | code[:, 1::2] << 4) for code in codes)
    c = numpy.empty((m, n), numpy.float32)
    grid = m // 64, n // 64

    def launch():
        mxfp4_kernel[grid](a, b, *scales, c, m, n, k, 64, 64, 128, num_warps=4, num_stages=2)

    x, y = (E2M1[code] * numpy.repeat(2.0 ** (wide(scale) - 127), 32, 1) for code, scale in zip(codes, scales))
    return Work(launch, [Result("c", c, x @ y.T)], m * n * k)
