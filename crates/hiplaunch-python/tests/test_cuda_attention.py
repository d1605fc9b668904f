"""The fused kernels of attention on torch's device "cuda", beside sums of doubles that are written out here."""

import math

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from hiplaunch.triton import _programs

pytestmark = pytest.mark.skipif(torch.version.hip is not None, reason="torch for ROCm has its own device")
aten = torch.ops.aten
flash, flash_of_heads = aten._flash_attention_forward, aten._scaled_dot_product_flash_attention
efficient, efficient_of_heads = aten._efficient_attention_forward, aten._scaled_dot_product_efficient_attention


@pytest.fixture(autouse=True, scope="module")
def cuda():
    _programs.activate("gfx942")
    yield
    _programs.deactivate()


def exact(q, k, v, sees=lambda i, j: True, bias=lambda h, i, j: 0.0, scale=None, factor=1.0):
    """Attention of one sequence in doubles: q is [queries, heads, size]. Returns the result and [heads, queries] logarithms of sums.

    `sees` says whether query i sees key j, `bias` what is added, and `factor` is dropout's, [heads, queries, keys].
    """
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    group, results, sums = q.shape[1] // k.shape[1], [], []
    for h in range(q.shape[1]):
        rows = []
        for i in range(q.shape[0]):
            seen = [j for j in range(k.shape[0]) if sees(i, j)]
            if not seen:
                rows.append(torch.zeros(v.shape[-1], dtype=torch.float64))
                sums.append(torch.tensor(math.inf, dtype=torch.float64))
                continue
            of_query = torch.stack([scale * (q[i, h] * k[j, h // group]).sum() + bias(h, i, j) for j in seen])
            top = of_query.max().detach()
            sums.append(top + (of_query - top).exp().sum().log())
            weights = (of_query - sums[-1]).exp()
            if not isinstance(factor, float):
                weights = weights * factor[h, i, seen]
            rows.append(sum(weights[n] * v[j, h // group] for n, j in enumerate(seen)))
        results.append(torch.stack(rows))
    return torch.stack(results, 1), torch.stack(sums).view(q.shape[1], q.shape[0])


def made(*shapes, dtype=torch.float16):
    """Random numbers as leaves of the device, and the same as doubles of the CPU."""
    torch.manual_seed(5)
    on_cuda = [torch.randn(shape).to(dtype).cuda().requires_grad_() for shape in shapes]
    return on_cuda, [tensor.detach().cpu().double().requires_grad_() for tensor in on_cuda]


def assert_same(result, expected, allowed=None):
    """A result of the device is what it is in doubles, but for a rounding or two of its type."""
    assert result.is_cuda and result.shape == expected.shape
    allowed = (2 if result.dtype == torch.float32 else 3) * torch.finfo(result.dtype).eps if allowed is None else allowed
    allowed = max(allowed, 3e-6)
    torch.testing.assert_close(result.detach().cpu().double(), expected.detach().double(), rtol=allowed, atol=allowed)


def assert_same_gradients(output, expected, on_cuda, doubles):
    """The gradients of both, of which the kernel's lose what `output` lost when it was rounded."""
    grad = torch.randn(expected.shape).to(output.dtype)
    output.backward(grad.cuda())
    expected.backward(grad.double())
    for result, exact_one in zip(on_cuda, doubles):
        assert result.grad.dtype == result.dtype
        assert_same(result.grad, exact_one.grad, 8 * torch.finfo(output.dtype).eps)


def bottom_right(queries, keys, left=-1, right=-1):
    """What a query sees where the last one is at the last key's place."""

    def sees(i, j):
        ahead = j - (i + keys - queries)
        return (left < 0 or ahead >= -left) and (right < 0 or ahead <= right)

    return sees


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("queries", "keys", "heads", "key_heads", "causal", "window"),
    [
        (7, 7, 2, 2, False, (None, None)),
        (5, 9, 2, 2, True, (None, None)),
        (9, 5, 2, 2, True, (None, None)),
        (1, 6, 4, 2, True, (None, None)),
        (6, 8, 4, 1, False, (2, 1)),
        (8, 6, 2, 1, True, (3, None)),
        (8, 8, 2, 2, False, (-1, 2)),
        (3, 1, 2, 2, False, (0, 0)),
    ],
)
def test_flash_attention(queries, keys, heads, key_heads, causal, window, dtype):
    on_cuda, doubles = made((2, queries, heads, 8), (2, keys, key_heads, 8), (2, keys, key_heads, 8), dtype=dtype)
    output, sums, seed, offset, encoded = flash(
        *on_cuda, None, None, queries, keys, 0.0, causal, False, window_size_left=window[0], window_size_right=window[1]
    )
    left, right = (-1 if side is None else side for side in window)
    sees = bottom_right(queries, keys, left, 0 if causal else right)
    expected = [exact(*(tensor[b] for tensor in doubles), sees) for b in range(2)]
    assert_same(output, torch.stack([of_batch[0] for of_batch in expected]))
    assert_same(sums, torch.stack([of_batch[1] for of_batch in expected]))
    assert output.dtype == dtype and sums.dtype == torch.float32
    # As torch for ROCm has them, which the device is one of.
    assert (seed.dtype, seed.shape, offset.dtype, offset.shape) == (torch.int64, (), torch.int64, ())
    assert encoded.shape == (0,) and encoded.dtype == dtype
    assert_same_gradients(output, torch.stack([of_batch[0] for of_batch in expected]), on_cuda, doubles)


@pytest.mark.parametrize("by_batch", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_alibi(causal, by_batch):
    on_cuda, doubles = made((2, 4, 4, 8), (2, 6, 2, 8), (2, 6, 2, 8))
    slopes = torch.rand(2, 4) if by_batch else torch.rand(4)
    with torch.no_grad():
        output, sums, *_ = flash(*on_cuda, None, None, 4, 6, 0.0, causal, False, scale=0.3, alibi_slopes=slopes.cuda())
    sees = bottom_right(4, 6, -1, 0 if causal else -1)
    for b in range(2):
        of_heads = (slopes[b] if by_batch else slopes).tolist()
        expected, of_sums = exact(*(t[b] for t in doubles), sees, lambda h, i, j: -of_heads[h] * abs(i + 2 - j), scale=0.3)
        assert_same(output[b], expected)
        # CUDA's kernel leaves out what the numbers of a row have in common if it is causal.
        common = torch.tensor([[of_heads[h] * (i + 2) if causal else 0.0 for i in range(4)] for h in range(4)])
        assert_same(sums[b], of_sums + common)


def test_sequences_behind_one_another():
    starts_q, starts_k, used = [0, 3, 3, 8], [0, 4, 7, 12], [4, 2, 3]
    on_cuda, doubles = made((9, 4, 8), (12, 2, 8), (12, 2, 8))
    starts = [torch.tensor(each, dtype=torch.int32, device="cuda") for each in (starts_q, starts_k)]
    for lengths in (None, used):
        used_k = None if lengths is None else torch.tensor(lengths, dtype=torch.int32, device="cuda")
        output, sums, *_ = flash(*on_cuda, *starts, 5, 5, 0.0, True, False, seqused_k=used_k)
        assert output.shape == (9, 4, 8) and sums.shape == (4, 9)
        parts = []
        for b in range(3):
            q = doubles[0][starts_q[b] : starts_q[b + 1]]
            length = starts_k[b + 1] - starts_k[b] if lengths is None else lengths[b]
            k, v = (tensor[starts_k[b] : starts_k[b] + length] for tensor in doubles[1:])
            if len(q) == 0:
                continue
            parts.append(exact(q, k, v, bottom_right(len(q), length, -1, 0)))
            assert_same(output[starts_q[b] : starts_q[b + 1]], parts[-1][0])
            assert_same(sums[:, starts_q[b] : starts_q[b + 1]], parts[-1][1])
        if lengths is None:
            # No sequence has the last row.
            expected = torch.cat([*(part[0] for part in parts), torch.zeros(1, 4, 8, dtype=torch.float64)])
            assert_same_gradients(output, expected, on_cuda, doubles)


def _has(operator, argument):
    return any(each.name == argument for each in operator.default._schema.arguments)


@pytest.mark.skipif(not _has(flash, "block_table"), reason="this torch has no pages of keys")
def test_pages_of_keys():
    (q, k, v), doubles = made((5, 2, 8), (6, 4, 1, 8), (6, 4, 1, 8))
    pages, used = [[5, 0], [2, 4]], [7, 4]
    starts = torch.tensor([0, 2, 5], dtype=torch.int32, device="cuda")
    lengths, table = (torch.tensor(each, dtype=torch.int32, device="cuda") for each in (used, pages))
    with torch.no_grad():
        output, *_ = flash(q, k, v, starts, None, 3, 8, 0.0, True, False, seqused_k=lengths, block_table=table)
    for b, (first, end) in enumerate(((0, 2), (2, 5))):
        of_pages = [tensor[pages[b]].flatten(0, 1)[: used[b]] for tensor in doubles[1:]]
        expected, _ = exact(doubles[0][first:end], *of_pages, bottom_right(end - first, used[b], -1, 0))
        assert_same(output[first:end], expected)


@pytest.mark.skipif(not hasattr(aten, "_flash_attention_forward_no_dropout_inplace"), reason="this torch has no such operator")
def test_a_result_in_memory_that_is_there():
    (q, k, v), _ = made((1, 4, 2, 8), (1, 4, 2, 8), (1, 4, 2, 8))
    out = torch.empty_like(q)
    with torch.no_grad():
        sums = aten._flash_attention_forward_no_dropout_inplace(out, q, k, v, None, None, 4, 4, 0.0, True, False)
        expected = flash(q, k, v, None, None, 4, 4, 0.0, True, False)
    assert torch.equal(out, expected[0]) and torch.equal(sums, expected[1])


def test_torchs_own_functions_of_sequences():
    varlen = pytest.importorskip("torch.nn.attention.varlen")
    on_cuda, doubles = made((6, 2, 8), (6, 2, 8), (6, 2, 8))
    starts = torch.tensor([0, 2, 6], dtype=torch.int32, device="cuda")
    output = varlen.varlen_attn(*on_cuda, starts, starts, 4, 4)
    expected = torch.cat([exact(*(tensor[a:b] for tensor in doubles))[0] for a, b in ((0, 2), (2, 6))])
    assert_same(output, expected)
    assert_same_gradients(output, expected, on_cuda, doubles)


def heads_first(tensors):
    return [tensor.transpose(1, 2) for tensor in tensors]


@pytest.mark.parametrize("causal", [False, True])
def test_flash_attention_with_heads_first(causal):
    on_cuda, doubles = made((2, 2, 5, 8), (2, 2, 5, 8), (2, 2, 5, 8))
    output, sums, starts_q, starts_k, max_q, max_k, *_ = flash_of_heads(*on_cuda, 0.0, causal)
    assert (starts_q, starts_k, max_q, max_k) == (None, None, 5, 5)
    expected = [exact(*(t[b] for t in heads_first(doubles)), bottom_right(5, 5, -1, 0 if causal else -1)) for b in range(2)]
    whole = torch.stack([of_batch[0] for of_batch in expected]).transpose(1, 2)
    assert_same(output, whole)
    assert_same(sums, torch.stack([of_batch[1] for of_batch in expected]))
    assert_same_gradients(output, whole, on_cuda, doubles)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("mask", "window"), [(0, None), (1, None), (2, None), (2, 2)])
def test_efficient_attention(mask, window, dtype):
    on_cuda, doubles = made((2, 4, 2, 8), (2, 6, 2, 8), (2, 6, 2, 12), (2, 2, 4, 6), dtype=dtype)
    q, k, v, bias = (tensor.detach() for tensor in on_cuda)
    output, sums, seed, offset, max_q, max_k = efficient(
        q, k, v, bias, None, None, None, None, 0.0, mask, compute_log_sumexp=True, window_size=window
    )
    shift = 2 if mask == 2 else 0

    def sees(i, j):
        return (mask == 0 or j <= i + shift) and (window is None or j > i + shift - window)

    expected = [exact(*(t[b] for t in doubles[:3]), sees, lambda h, i, j: doubles[3][b, h, i, j]) for b in range(2)]
    whole = torch.stack([of_batch[0] for of_batch in expected])
    assert_same(output, whole)
    assert_same(sums, torch.stack([of_batch[1] for of_batch in expected]))
    assert (seed.dtype, max_q, max_k) == (torch.int64, 4, 6)
    # Called here, as torch 2.9 forgets the window in its formula.
    grad = torch.randn(whole.shape).to(dtype)
    whole.backward(grad.double())
    of_inputs = aten._efficient_attention_backward(
        *(grad.cuda(), q, k, v, bias, output, None, None, max_q, max_k, sums, 0.0, seed, offset, mask, True), window_size=window
    )
    for result, tensor in zip(of_inputs, doubles):
        assert result.dtype == dtype
        assert_same(result, tensor.grad, 8 * torch.finfo(dtype).eps)


def test_gradients_in_one_memory():
    (q, k, v), _ = made((2, 4, 2, 8), (2, 4, 2, 8), (2, 4, 2, 8), dtype=torch.float32)
    with torch.no_grad():
        output, sums, seed, offset, max_q, max_k = efficient(q, k, v, None, None, None, None, None, 0.0, 1, True)
        arguments = q, q, k, v, None, output, None, None, max_q, max_k, sums, 0.0, seed, offset, 1, False
        expected = aten._efficient_attention_backward(*arguments)
        results = aten._efficient_attention_backward(*arguments, shared_storage_dqdkdv=True)
    assert all(map(torch.equal, results[:3], expected[:3])) and results[3] is expected[3] is None
    assert len({tensor.untyped_storage().data_ptr() for tensor in results[:3]}) == 1


def test_efficient_attention_of_sequences_behind_one_another():
    on_cuda, doubles = made((1, 6, 2, 8), (1, 7, 2, 8), (1, 7, 2, 8), dtype=torch.float32)
    starts = [torch.tensor(each, dtype=torch.int32, device="cuda") for each in ([0, 2, 6], [0, 3, 7])]
    output, sums, *_ = efficient(*on_cuda, None, *starts, 4, 4, 0.0, 2, compute_log_sumexp=True)
    expected = []
    for b, (of_q, of_k) in enumerate((((0, 2), (0, 3)), ((2, 6), (3, 7)))):
        q, k, v = doubles[0][0, slice(*of_q)], doubles[1][0, slice(*of_k)], doubles[2][0, slice(*of_k)]
        expected.append(exact(q, k, v, bottom_right(len(q), len(k), -1, 0)))
        assert_same(sums[b, :, : len(q)], expected[b][1])
    whole = torch.cat([of_sequence[0] for of_sequence in expected])[None]
    assert_same(output, whole)
    assert_same_gradients(output, whole, on_cuda, doubles)


def test_efficient_attention_with_heads_first():
    on_cuda, doubles = made((2, 2, 4, 8), (2, 2, 6, 8), (2, 2, 6, 8), (2, 2, 4, 6), dtype=torch.float32)
    output, sums, *_ = efficient_of_heads(*on_cuda, True, is_causal=True)
    expected = [
        exact(*(t[b] for t in heads_first(doubles[:3])), lambda i, j: j <= i, lambda h, i, j: doubles[3][b, h, i, j])
        for b in range(2)
    ]
    whole = torch.stack([of_batch[0] for of_batch in expected]).transpose(1, 2)
    assert_same(output, whole)
    assert_same_gradients(output, whole, on_cuda, doubles)
    assert efficient_of_heads(*(t.detach() for t in on_cuda), False)[1].shape == (2, 2, 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("kind", ["plain", "causal", "boolean", "added", "groups"])
def test_torchs_function_and_its_gradients(kind, dtype):
    key_heads = 1 if kind == "groups" else 2
    on_cuda, doubles = made((2, 2, 4, 8), (2, key_heads, 6, 8), (2, key_heads, 6, 8), dtype=dtype)
    options = {"causal": {"is_causal": True}, "groups": {"enable_gqa": True}}.get(kind, {})
    visible, added = torch.rand(4, 6) < 0.7, torch.randn(4, 6).to(dtype)
    visible[:, 0] = True
    if kind in ("boolean", "added"):
        options = {"attn_mask": (visible if kind == "boolean" else added).cuda()}
    output = torch.nn.functional.scaled_dot_product_attention(*on_cuda, **options)

    def sees(i, j):
        return (kind != "causal" or j <= i) and (kind != "boolean" or bool(visible[i, j]))

    def bias(h, i, j):
        return added[i, j].double() if kind == "added" else 0.0

    whole = torch.stack([exact(*(t[b] for t in heads_first(doubles)), sees, bias)[0] for b in range(2)]).transpose(1, 2)
    assert_same(output, whole)
    assert_same_gradients(output, whole, on_cuda, doubles)


def test_dropout_is_the_same_in_both_directions():
    on_cuda, doubles = made((1, 8, 2, 8), (1, 40, 2, 8), (1, 40, 2, 8))
    torch.cuda.manual_seed(3)
    output, _, seed, offset, encoded = flash(*on_cuda, None, None, 8, 40, 0.25, False, True)
    assert seed == 3 and torch.cuda.default_generators[0].get_offset() > offset == 0
    assert encoded.shape == (1, 2, 8, 40) and abs((encoded < 0).float().mean() - 0.25) < 0.05
    kept = (encoded[0] > 0).cpu().double() / 0.75
    expected, _ = exact(*(tensor[0] for tensor in doubles), factor=kept)
    assert_same(output, expected[None])
    assert_same_gradients(output, expected[None], on_cuda, doubles)
    torch.cuda.manual_seed(3)
    again, *_ = flash(*on_cuda, None, None, 8, 40, 0.25, False, False)
    assert torch.equal(output, again) and not torch.equal(flash(*on_cuda, None, None, 8, 40, 0.25, False, False)[0], again)


def test_dropout_of_efficient_attention():
    on_cuda, doubles = made((1, 3, 2, 8), (1, 5, 2, 8), (1, 5, 2, 8), dtype=torch.float32)
    torch.cuda.manual_seed(3)
    output, *_ = efficient(*on_cuda, None, None, None, None, None, 0.5, 0, compute_log_sumexp=True)
    torch.cuda.manual_seed(3)
    # The weights are the results for values that are the rows of an identity.
    rows = torch.eye(5, device="cuda")[None, :, None].expand(1, 5, 2, 5)
    with torch.no_grad():
        weights, *_ = efficient(*on_cuda[:2], rows, None, None, None, None, None, 0.5, 0)
    factor = 2 * (weights[0] > 0).transpose(0, 1).cpu().double()
    expected, _ = exact(*(tensor[0] for tensor in doubles), factor=factor)
    assert_same(output, expected[None])
    assert_same_gradients(output, expected[None], on_cuda, doubles)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dtype": torch.float32}, "FlashAttention only support fp16 and bf16 data type"),
        ({"size": 12}, "head_size that is a multiple of 8"),
        ({"key_heads": 3}, "Number of heads in key/value must divide number of heads in query"),
        ({"batch": 3}, "query has 2 sequences"),
        ({"encoded": True}, "only supported when p_dropout > 0.0"),
        ({"alibi_slopes": torch.ones(3)}, "alibi_slopes must have the shape"),
        ({"alibi_slopes": torch.ones(4).half()}, "ALiBi slopes must have dtype fp32"),
        ({"seqused_k": torch.ones(2)}, "seqused_k must have dtype int32"),
        ({"seqused_k": torch.tensor([6, 7], dtype=torch.int32)}, "sequence 1 has 6 keys, and 7 are to be used"),
    ],
)
def test_what_is_wrong(change, message):
    change = {name: value.cuda() if isinstance(value, torch.Tensor) else value for name, value in change.items()}
    dtype, size = change.pop("dtype", torch.float16), change.pop("size", 8)
    q = torch.ones(2, 5, 4, size, dtype=dtype, device="cuda")
    k = torch.ones(change.pop("batch", 2), 6, change.pop("key_heads", 2), size, dtype=dtype, device="cuda")
    with pytest.raises(RuntimeError, match=message):
        flash(q, k, k, None, None, 5, 6, 0.0, False, change.pop("encoded", False), **change)


def test_starts_that_are_wrong():
    q = torch.ones(5, 2, 8, dtype=torch.float16, device="cuda")
    for starts, longest, message in (([0, 3, 6], 3, "over 5"), ([0, 3, 2], 3, "must not fall"), ([0, 1, 5], 3, "longer than max_q")):
        starts = torch.tensor(starts, dtype=torch.int32, device="cuda")
        with pytest.raises(RuntimeError, match=message):
            flash(q, q, q, starts, starts, longest, longest, 0.0, False, False)
    with pytest.raises(RuntimeError, match="same device"):
        flash(q, q.cpu(), q, starts, starts, 4, 4, 0.0, False, False)
    with pytest.raises(NotImplementedError, match="hiplaunch.*_scaled_dot_product_cudnn_attention"):
        aten._scaled_dot_product_cudnn_attention(*(q[None],) * 3, None, False)
