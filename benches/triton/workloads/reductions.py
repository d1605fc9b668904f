"""Kernels that reduce rows: softmax, RMS norm, layer norm backward, cross-entropy."""

import numpy
import triton
import triton.language as tl
from work import TYPES, Result, Work, wide


@triton.jit
def softmax_kernel(x, out, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    at = tl.program_id(0) * COLUMNS + column
    value = tl.load(x + at, mask=column < COLUMNS, other=float("-inf")).to(tl.float32)
    weight = tl.exp(value - tl.max(value, 0))
    tl.store(out + at, weight / tl.sum(weight, 0), mask=column < COLUMNS)


def softmax(inputs, rows, columns, dtype):
    x = inputs.normal((rows, columns), dtype)
    out = numpy.empty_like(x)

    def launch():
        softmax_kernel[(rows,)](x, out, columns, triton.next_power_of_2(columns), num_warps=8)

    weight = numpy.exp(wide(x))
    return Work(launch, [Result("out", out, weight / weight.sum(1, keepdims=True))])


@triton.jit
def rms_norm_kernel(x, out, EPSILON: tl.constexpr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    at = tl.program_id(0) * COLUMNS + column
    value = tl.load(x + at, mask=column < COLUMNS, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, 0) / COLUMNS + EPSILON)
    tl.store(out + at, value * scale, mask=column < COLUMNS)


def rms_norm(inputs, rows, columns, epsilon, dtype):
    x = inputs.normal((rows, columns), dtype)
    out = numpy.empty_like(x)

    def launch():
        rms_norm_kernel[(rows,)](x, out, epsilon, columns, triton.next_power_of_2(columns), num_warps=8)

    expected = wide(x) / numpy.sqrt(numpy.mean(numpy.square(wide(x)), 1, keepdims=True) + epsilon)
    return Work(launch, [Result("out", out, expected)])


@triton.jit
def layer_norm_backward_kernel(
    x, dy, weight, mean, rstd, dx, dw, db, rows, COLUMNS: tl.constexpr, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr
):
    column = tl.arange(0, BLOCK)
    mask = column < COLUMNS
    w = tl.load(weight + column, mask=mask, other=0.0).to(tl.float32)
    sum_w = tl.zeros((BLOCK,), tl.float32)
    sum_b = tl.zeros((BLOCK,), tl.float32)
    for row in range(tl.program_id(0), rows, PROGRAMS):
        at = row * COLUMNS + column
        gradient = tl.load(dy + at, mask=mask, other=0.0).to(tl.float32)
        scale = tl.load(rstd + row)
        normal = (tl.load(x + at, mask=mask, other=0.0).to(tl.float32) - tl.load(mean + row)) * scale
        normal = tl.where(mask, normal, 0.0)
        weighted = w * gradient
        along, average = tl.sum(normal * weighted, 0) / COLUMNS, tl.sum(weighted, 0) / COLUMNS
        tl.store(dx + at, (weighted - normal * along - average) * scale, mask=mask)
        sum_w += gradient * normal
        sum_b += gradient
    at = tl.program_id(0) * COLUMNS + column
    tl.store(dw + at, sum_w, mask=mask)
    tl.store(db + at, sum_b, mask=mask)


@triton.jit
def column_sums_kernel(x, y, sum_x, sum_y, COLUMNS: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + column[None, :]
    mask = column < COLUMNS
    tl.store(sum_x + column, tl.sum(tl.load(x + at, mask=mask[None, :], other=0.0), 0), mask=mask)
    tl.store(sum_y + column, tl.sum(tl.load(y + at, mask=mask[None, :], other=0.0), 0), mask=mask)


def layer_norm_backward(inputs, rows, columns, programs, dtype):
    x, dy, weight = (inputs.normal(shape, dtype) for shape in ((rows, columns), (rows, columns), columns))
    mean = numpy.mean(wide(x), 1)
    rstd = 1 / numpy.sqrt(numpy.var(wide(x), 1) + 1e-5)
    dx = numpy.empty_like(x)
    dw, db = (numpy.empty(columns, numpy.float32) for _ in range(2))
    part_w, part_b = (numpy.empty((programs, columns), numpy.float32) for _ in range(2))
    mean32, rstd32 = mean.astype(numpy.float32), rstd.astype(numpy.float32)
    block, sums = triton.next_power_of_2(columns), (triton.cdiv(columns, 64),)

    def launch():
        layer_norm_backward_kernel[(programs,)](
            x, dy, weight, mean32, rstd32, dx, part_w, part_b, rows, columns, block, programs, num_warps=8
        )
        column_sums_kernel[sums](part_w, part_b, dw, db, columns, programs, 64, num_warps=4)

    normal = (wide(x) - mean[:, None]) * rstd[:, None]
    weighted = wide(dy) * wide(weight)
    along = (normal * weighted).mean(1, keepdims=True)
    want_dx = (weighted - normal * along - weighted.mean(1, keepdims=True)) * rstd[:, None]
    results = [Result("dx", dx, want_dx), Result("dw", dw, (wide(dy) * normal).sum(0)), Result("db", db, wide(dy).sum(0))]
    return Work(launch, results)


@triton.jit
def cross_entropy_kernel(logits, labels, losses, gradient, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    # Each lane keeps the largest logit and the sum of weights of its own columns, of which there are as many in each block.
    tl.static_assert(COLUMNS % BLOCK == 0)
    row = tl.program_id(0)
    label = tl.load(labels + row)
    most = tl.full((BLOCK,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, COLUMNS, BLOCK):
        value = tl.load(logits + row * COLUMNS + start + tl.arange(0, BLOCK)).to(tl.float32)
        now = tl.maximum(most, value)
        total = total * tl.exp(most - now) + tl.exp(value - now)
        most = now
    largest = tl.max(most, 0)
    log_sum = largest + tl.log(tl.sum(total * tl.exp(most - largest), 0))
    tl.store(losses + row, log_sum - tl.load(logits + row * COLUMNS + label).to(tl.float32))
    for start in range(0, COLUMNS, BLOCK):
        column = start + tl.arange(0, BLOCK)
        weight = tl.exp(tl.load(logits + row * COLUMNS + column).to(tl.float32) - log_sum)
        tl.store(gradient + row * COLUMNS + column, weight - tl.where(column == label, 1.0, 0.0))


def cross_entropy(inputs, rows, columns, dtype):
    logits = inputs.normal((rows, columns), dtype)
    labels = inputs.integers(0, columns, rows, "i64")
    losses, gradient = numpy.empty(rows, numpy.float32), numpy.empty((rows, columns), TYPES[dtype])

    def launch():
        cross_entropy_kernel[(rows,)](logits, labels, losses, gradient, columns, 4096, num_warps=8)

    weight = numpy.exp(wide(logits))
    total = weight.sum(1, keepdims=True)
    want = weight / total
    want[numpy.arange(rows), labels] -= 1
    want_losses = numpy.log(total[:, 0]) - wide(logits)[numpy.arange(rows), labels]
    return Work(launch, [Result("losses", losses, want_losses), Result("gradient", gradient, want)])
