"""Kernels that move memory: copy, sum of vectors, transpose, gather, atomic sums, dropout."""

import numpy
import triton
import triton.language as tl
from work import TYPES, Result, Work


@triton.jit
def copy_kernel(x, out, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < N), mask=i < N)


def copy(inputs, elements, dtype):
    x = inputs.normal(elements, dtype)
    out = numpy.empty_like(x)
    grid = (triton.cdiv(elements, 1024),)

    def launch():
        copy_kernel[grid](x, out, elements, 1024, num_warps=4)

    return Work(launch, [Result("out", out, x)])


@triton.jit
def add_kernel(x, y, out, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < N
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


def vector_add(inputs, elements, dtype):
    x, y = inputs.normal(elements, dtype), inputs.normal(elements, dtype)
    out = numpy.empty_like(x)
    grid = (triton.cdiv(elements, 1024),)

    def launch():
        add_kernel[grid](x, y, out, elements, 1024, num_warps=4)

    return Work(launch, [Result("out", out, x + y)])


@triton.jit
def transpose_kernel(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr, TILE: tl.constexpr):
    row = (tl.program_id(0) * TILE + tl.arange(0, TILE))[:, None]
    column = (tl.program_id(1) * TILE + tl.arange(0, TILE))[None, :]
    mask = (row < ROWS) & (column < COLUMNS)
    tl.store(out + column * ROWS + row, tl.load(x + row * COLUMNS + column, mask=mask), mask=mask)


def transpose(inputs, rows, columns, dtype):
    x = inputs.normal((rows, columns), dtype)
    out = numpy.empty((columns, rows), x.dtype)
    grid = triton.cdiv(rows, 32), triton.cdiv(columns, 32)

    def launch():
        transpose_kernel[grid](x, out, rows, columns, 32, num_warps=8)

    return Work(launch, [Result("out", out, x.T)])


@triton.jit
def gather_kernel(x, index, out, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < N
    tl.store(out + i, tl.load(x + tl.load(index + i, mask=mask, other=0), mask=mask), mask=mask)


def gather(inputs, source, elements, first, step, dtype):
    x = inputs.normal(source, dtype)
    index = (first + numpy.arange(elements, dtype=numpy.int64) * step) % source
    out = numpy.empty(elements, x.dtype)
    grid = (triton.cdiv(elements, 512),)

    def launch():
        gather_kernel[grid](x, index, out, elements, 512, num_warps=4)

    return Work(launch, [Result("out", out, numpy.take(x, index))])


@triton.jit
def atomic_add_kernel(x, out, N: tl.constexpr, BUCKETS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + i % BUCKETS, tl.load(x + i, mask=i < N), mask=i < N)


def atomic_add(inputs, elements, buckets, dtype):
    # Integers, whose sums are exact in any order.
    x = inputs.integers(-100, 100, elements, dtype)
    out = numpy.empty(buckets, x.dtype)
    grid = (triton.cdiv(elements, 256),)

    def launch():
        atomic_add_kernel[grid](x, out, elements, buckets, 256, num_warps=8)

    return Work(launch, [Result("out", out, x.reshape(-1, buckets).sum(0), accumulates=True)])


@triton.jit
def dropout_kernel(x, out, seed, p, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < N)
    tl.store(out + i, tl.where(tl.rand(seed, i) >= p, value / (1 - p), 0.0), mask=i < N)


def philox(key, counter):
    """Philox4x32-10 of Salmon and others (2011), first word, of counters whose other three words are zero."""
    low = numpy.uint64(0xFFFFFFFF)
    c = [counter.astype(numpy.uint64), *(numpy.zeros(counter.shape, numpy.uint64) for _ in range(3))]
    k = [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        a, b = c[0] * numpy.uint64(0xD2511F53), c[2] * numpy.uint64(0xCD9E8D57)
        c = [b >> 32 ^ c[1] ^ numpy.uint64(k[0]), b & low, a >> 32 ^ c[3] ^ numpy.uint64(k[1]), a & low]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c[0].astype(numpy.uint32)


def dropout(inputs, elements, p, dtype):
    x = inputs.normal(elements, dtype)
    out = numpy.empty_like(x)
    grid = (triton.cdiv(elements, 1024),)
    # Triton's uniform number: a negative word's complement, in steps a little less than 2 ** -31.
    word = philox(7, numpy.arange(elements)).view(numpy.int32)
    uniform = numpy.where(word < 0, ~word, word).astype(numpy.float32) * numpy.float32(4.6566127342e-10)
    expected = numpy.where(uniform >= numpy.float32(p), x.astype(numpy.float64) / (1 - p), 0)

    def launch():
        dropout_kernel[grid](x, out, 7, p, elements, 1024, num_warps=4)

    return Work(launch, [Result("out", out, expected.astype(TYPES[dtype]))])
