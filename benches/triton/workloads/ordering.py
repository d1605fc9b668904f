"""Kernels in which values of a row meet: sort, top-k, scans."""

import numpy
import triton
import triton.language as tl
from work import Result, Work, wide


@triton.jit
def sort_kernel(x, out, COLUMNS: tl.constexpr):
    at = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    tl.store(out + at, tl.sort(tl.load(x + at)))


def sort(inputs, rows, columns, dtype):
    x = inputs.normal((rows, columns), dtype)
    out = numpy.empty_like(x)

    def launch():
        sort_kernel[(rows,)](x, out, columns, num_warps=8)

    return Work(launch, [Result("out", out, numpy.sort(x, 1))])


@triton.jit
def top_k_kernel(x, indices, weights, COLUMNS: tl.constexpr, K: tl.constexpr, ROWS: tl.constexpr):
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    column = tl.arange(0, COLUMNS)[None, :]
    bits = tl.load(x + row * COLUMNS + column).to(tl.int32, bitcast=True)
    # Integers in the order of the floats, and beside each its column, of which a smaller one comes first.
    key = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    best = tl.topk((key.to(tl.int64) << 32) | (COLUMNS - 1 - column), K)
    key = (best >> 32).to(tl.int32)
    value = (key ^ ((key >> 31) & 0x7FFFFFFF)).to(tl.float32, bitcast=True)
    weight = tl.exp(value - tl.max(value, 1)[:, None])
    at = row * K + tl.arange(0, K)[None, :]
    tl.store(indices + at, COLUMNS - 1 - (best & 0xFFFFFFFF).to(tl.int32))
    tl.store(weights + at, weight / tl.sum(weight, 1)[:, None])


def top_k(inputs, rows, columns, k):
    """The experts of each token and their weights, as a router of GPT-OSS chooses them."""
    x = inputs.normal((rows, columns))
    indices, weights = numpy.empty((rows, k), numpy.int32), numpy.empty((rows, k), numpy.float32)

    def launch():
        top_k_kernel[(rows // 16,)](x, indices, weights, columns, k, 16, num_warps=4)

    order = numpy.argsort(-x, 1, kind="stable")[:, :k]
    weight = numpy.exp(wide(numpy.take_along_axis(x, order, 1)))
    return Work(launch, [Result("indices", indices, order), Result("weights", weights, weight / weight.sum(1, keepdims=True))])


@triton.jit
def scan_kernel(x, out, COLUMNS: tl.constexpr):
    at = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    tl.store(out + at, tl.cumsum(tl.load(x + at), 0))


def scan(inputs, rows, columns, dtype):
    x = inputs.normal((rows, columns), dtype)
    out = numpy.empty_like(x)

    def launch():
        scan_kernel[(rows,)](x, out, columns, num_warps=8)

    return Work(launch, [Result("out", out, numpy.cumsum(wide(x), 1))])


@triton.jit
def compose(a, x, b, y):
    return a * b, x * b + y


@triton.jit
def recurrence_kernel(decay, x, out, COLUMNS: tl.constexpr):
    at = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    _, state = tl.associative_scan((tl.load(decay + at), tl.load(x + at)), 0, compose)
    tl.store(out + at, state)


def recurrence(inputs, rows, columns, dtype):
    """The states `s[i] = decay[i] * s[i - 1] + x[i]` of a state-space model."""
    decay = 1 / (1 + numpy.exp(-inputs.normal((rows, columns), dtype)))
    x = inputs.normal((rows, columns), dtype)
    out = numpy.empty_like(x)

    def launch():
        recurrence_kernel[(rows,)](decay, x, out, columns, num_warps=8)

    expected, state = numpy.empty((rows, columns)), numpy.zeros(rows)
    for i in range(columns):
        state = wide(decay[:, i]) * state + wide(x[:, i])
        expected[:, i] = state
    return Work(launch, [Result("out", out, expected)])
