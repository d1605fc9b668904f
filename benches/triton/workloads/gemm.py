"""Matrix products: plain, split along k, and of groups, as the experts of a model have."""

import numpy
import triton
import triton.language as tl
from work import TYPES, Result, Work, wide


@triton.jit
def gemm_kernel(
    a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    across: tl.constexpr = (N + COLUMNS - 1) // COLUMNS
    row = (tl.program_id(0) // across * ROWS + tl.arange(0, ROWS))[:, None]
    column = (tl.program_id(0) % across * COLUMNS + tl.arange(0, COLUMNS))[None, :]
    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, K, STEP):
        k = start + tl.arange(0, STEP)
        x = tl.load(a + row * K + k[None, :], mask=(row < M) & (k[None, :] < K), other=0.0)
        y = tl.load(b + k[:, None] * N + column, mask=(k[:, None] < K) & (column < N), other=0.0)
        sums = tl.dot(x, y, sums)
    tl.store(c + row * N + column, sums.to(c.dtype.element_ty), mask=(row < M) & (column < N))


def gemm(inputs, m, n, k, dtype):
    a, b = inputs.normal((m, k), dtype), inputs.normal((k, n), dtype)
    c = numpy.empty((m, n), TYPES[dtype])
    grid = (triton.cdiv(m, 64) * triton.cdiv(n, 64),)

    def launch():
        gemm_kernel[grid](a, b, c, m, n, k, 64, 64, 32, num_warps=4, num_stages=2)

    return Work(launch, [Result("c", c, wide(a) @ wide(b))], m * n * k)


@triton.jit
def split_k_kernel(
    a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, STEP: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    across: tl.constexpr = N // COLUMNS
    row = (tl.program_id(0) // across * ROWS + tl.arange(0, ROWS))[:, None]
    column = (tl.program_id(0) % across * COLUMNS + tl.arange(0, COLUMNS))[None, :]
    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(tl.program_id(1) * STEP, K, SPLIT * STEP):
        k = start + tl.arange(0, STEP)
        sums = tl.dot(tl.load(a + row * K + k[None, :]), tl.load(b + k[:, None] * N + column), sums)
    tl.atomic_add(c + row * N + column, sums, sem="relaxed")


def split_k(inputs, m, n, k, split, dtype):
    a, b = inputs.normal((m, k), dtype), inputs.normal((k, n), dtype)
    c = numpy.empty((m, n), numpy.float32)
    grid = m // 64 * (n // 64), split

    def launch():
        split_k_kernel[grid](a, b, c, m, n, k, 64, 64, 32, split, num_warps=4, num_stages=2)

    return Work(launch, [Result("c", c, wide(a) @ wide(b), accumulates=True)], m * n * k)


@triton.jit
def grouped_kernel(
    a, b, c, tile_expert, tile_row, last_row, N: tl.constexpr, K: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    expert = tl.load(tile_expert + tl.program_id(0))
    row = (tl.load(tile_row + tl.program_id(0)) + tl.arange(0, ROWS))[:, None]
    mask = row < tl.load(last_row + expert)
    column = (tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS))[None, :]
    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, K, STEP):
        k = start + tl.arange(0, STEP)
        x = tl.load(a + row * K + k[None, :], mask=mask, other=0.0)
        y = tl.load(b + expert * (K * N) + k[:, None] * N + column)
        sums = tl.dot(x, y, sums)
    tl.store(c + row * N + column, sums.to(c.dtype.element_ty), mask=mask)


def grouped(inputs, tokens, experts, n, k, dtype):
    """Tokens in the order of their experts, of which each has a matrix; no tile has tokens of two."""
    chosen = inputs.integers(0, experts, tokens)
    counts = numpy.bincount(chosen, minlength=experts)
    last = numpy.cumsum(counts)
    tiles = [(expert, row) for expert in range(experts) for row in range(last[expert] - counts[expert], last[expert], 64)]
    tile_expert, tile_row = (numpy.array(part, numpy.int32) for part in zip(*tiles))
    last_row = last.astype(numpy.int32)
    a, b = inputs.normal((tokens, k), dtype), inputs.normal((experts, k, n), dtype)
    c = numpy.empty((tokens, n), TYPES[dtype])
    grid = len(tiles), n // 64

    def launch():
        grouped_kernel[grid](a, b, c, tile_expert, tile_row, last_row, n, k, 64, 64, 32, num_warps=4, num_stages=2)

    parts = [wide(a[stop - count : stop]) @ wide(b[e]) for e, (count, stop) in enumerate(zip(counts, last))]
    return Work(launch, [Result("c", c, numpy.concatenate(parts))], tokens * n * k)
