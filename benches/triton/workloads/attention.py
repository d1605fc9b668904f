"""Attention: of a whole sequence with a window and learned sinks, as GPT-OSS has, and of one token over a cache in pages."""

import numpy
import triton
import triton.language as tl
from work import Result, Work, wide

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def window_kernel(
    q, k, v, sinks, out, SCALE: tl.constexpr, HEADS: tl.constexpr, GROUP: tl.constexpr, SEQUENCE: tl.constexpr,
    WINDOW: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    first, head = tl.program_id(0) * ROWS, tl.program_id(1)
    row, lane = first + tl.arange(0, ROWS), tl.arange(0, WIDTH)
    here = head * (SEQUENCE * WIDTH) + row[:, None] * WIDTH + lane[None, :]
    of_group = head // GROUP * (SEQUENCE * WIDTH)
    query = tl.load(q + here)
    # The sink is a score without a value: it is in the sum of the weights from the start.
    most = tl.zeros((ROWS,), tl.float32) + tl.load(sinks + head % HEADS).to(tl.float32) * LOG2_E
    total = tl.full((ROWS,), 1.0, tl.float32)
    sums = tl.zeros((ROWS, WIDTH), tl.float32)
    for start in range(tl.maximum(first - WINDOW + 1, 0) // COLUMNS * COLUMNS, first + ROWS, COLUMNS):
        column = start + tl.arange(0, COLUMNS)
        key = tl.load(k + of_group + column[None, :] * WIDTH + lane[:, None])
        distance = row[:, None] - column[None, :]
        score = tl.where((distance >= 0) & (distance < WINDOW), tl.dot(query, key) * (SCALE * LOG2_E), float("-inf"))
        now = tl.maximum(most, tl.max(score, 1))
        weight = tl.exp2(score - now[:, None])
        keep = tl.exp2(most - now)
        total = total * keep + tl.sum(weight, 1)
        value = tl.load(v + of_group + column[:, None] * WIDTH + lane[None, :])
        sums = tl.dot(weight.to(value.dtype), value, sums * keep[:, None])
        most = now
    tl.store(out + here, (sums / total[:, None]).to(out.dtype.element_ty))


def weighted(scores, values, sinks=None):
    """Softmax of the scores, with a further one for each head that has no value, times the values."""
    weights = numpy.exp(scores)
    total = weights.sum(-1, keepdims=True)
    return weights @ values / (total if sinks is None else total + numpy.exp(sinks))


def window(inputs, batch, heads, kv_heads, sequence, window, width, dtype):
    q = inputs.normal((batch, heads, sequence, width), dtype)
    k, v = (inputs.normal((batch, kv_heads, sequence, width), dtype) for _ in range(2))
    sinks = inputs.normal(heads, dtype)
    out = numpy.empty_like(q)
    group, scale, grid = heads // kv_heads, width**-0.5, (sequence // 64, batch * heads)

    def launch():
        window_kernel[grid](q, k, v, sinks, out, scale, heads, group, sequence, window, width, 64, 64, num_warps=4, num_stages=1)

    distance = numpy.subtract.outer(numpy.arange(sequence), numpy.arange(sequence))
    seen = (distance >= 0) & (distance < window)
    keys, values = (numpy.repeat(wide(x), group, 1) for x in (k, v))
    scores = numpy.where(seen, wide(q) @ keys.transpose(0, 1, 3, 2) * scale, -numpy.inf)
    # The weights are rounded to the type before they meet the values, whose signs differ.
    expected, sizes = (weighted(scores, x, wide(sinks)[:, None, None]) for x in (values, numpy.abs(values)))
    return Work(launch, [Result("out", out, expected, scale=sizes)], 2 * batch * heads * int(seen.sum()) * width)


@triton.jit
def paged_kernel(
    q, keys, values, pages, lengths, out, SCALE: tl.constexpr, KV_HEADS: tl.constexpr, GROUP: tl.constexpr,
    WIDTH: tl.constexpr, PAGE: tl.constexpr, MOST_PAGES: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    sequence, head = tl.program_id(0), tl.program_id(1)
    # The heads of a group are the rows of a matrix, which has at least 16.
    row, lane = tl.arange(0, 16)[:, None], tl.arange(0, WIDTH)
    here = (sequence * KV_HEADS + head) * (GROUP * WIDTH) + row * WIDTH + lane[None, :]
    query = tl.load(q + here, mask=row < GROUP, other=0.0)
    length = tl.load(lengths + sequence)
    most = tl.full((16,), float("-inf"), tl.float32)
    total = tl.zeros((16,), tl.float32)
    sums = tl.zeros((16, WIDTH), tl.float32)
    for start in range(0, length, COLUMNS):
        token = start + tl.arange(0, COLUMNS)
        page = tl.load(pages + sequence * MOST_PAGES + token // PAGE, mask=token < length, other=0)
        at = ((page * PAGE + token % PAGE) * KV_HEADS + head) * WIDTH
        key = tl.load(keys + at[None, :] + lane[:, None], mask=token[None, :] < length, other=0.0)
        score = tl.where(token[None, :] < length, tl.dot(query, key) * (SCALE * LOG2_E), float("-inf"))
        now = tl.maximum(most, tl.max(score, 1))
        weight = tl.exp2(score - now[:, None])
        keep = tl.exp2(most - now)
        total = total * keep + tl.sum(weight, 1)
        value = tl.load(values + at[:, None] + lane[None, :], mask=token[:, None] < length, other=0.0)
        sums = tl.dot(weight.to(value.dtype), value, sums * keep[:, None])
        most = now
    tl.store(out + here, (sums / total[:, None]).to(out.dtype.element_ty), mask=row < GROUP)


def paged(inputs, sequences, heads, kv_heads, longest, width, page, dtype):
    """One token of each sequence, over tokens whose keys and values lie in pages that are anywhere in memory."""
    lengths = inputs.integers(longest // 4, longest + 1, sequences)
    most_pages, group = longest // page, heads // kv_heads
    pages = inputs.permutation(sequences * most_pages).astype(numpy.int32).reshape(sequences, most_pages)
    q = inputs.normal((sequences, kv_heads, group, width), dtype)
    keys, values = (inputs.normal((pages.size, page, kv_heads, width), dtype) for _ in range(2))
    out, scale, grid = numpy.empty_like(q), width**-0.5, (sequences, kv_heads)

    def launch():
        paged_kernel[grid](q, keys, values, pages, lengths, out, scale, kv_heads, group, width, page, most_pages, 64, num_warps=4)

    expected, sizes = numpy.empty(q.shape), numpy.empty(q.shape)
    for s, length in enumerate(lengths):
        key, value = (wide(x[pages[s]]).reshape(-1, kv_heads, width)[:length].transpose(1, 0, 2) for x in (keys, values))
        scores = wide(q[s]) @ key.transpose(0, 2, 1) * scale
        expected[s], sizes[s] = weighted(scores, value), weighted(scores, numpy.abs(value))
    return Work(launch, [Result("out", out, expected, scale=sizes)], 2 * heads * int(lengths.sum()) * width)
