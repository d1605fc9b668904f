"""torch's own table of operators (`op_db` of torch.testing), on the emulated device: as on the CPU, and as torch.compile runs them.

    python -m hiplaunch.triton tests/torch/operators.py [--compile] [--samples N] [--only TEXT] [--every N]

Each operator gets its first samples of float32 from the table. Without --compile, its results and gradients on "cuda" are those on
the CPU; with it, what inductor compiles gives what the operator gives. The last line has the counts; the status is 1 if one differs.
"""

import argparse
import collections
import sys
import traceback
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves, tree_map

# Results that are not determined: uninitialised memory, random numbers, or factors of signs that are free.
UNDETERMINED = {
    *("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"),
    *("bernoulli", "cauchy", "exponential", "geometric", "log_normal", "normal", "uniform", "multinomial", "randint", "rand_like"),
    *("randint_like", "randn", "randn_like", "nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d"),
    *("nn.functional.alpha_dropout", "nn.functional.feature_alpha_dropout", "nn.functional.rrelu", "nn.functional.fractional_max_pool2d"),
    *("nn.functional.fractional_max_pool3d", "pca_lowrank", "svd_lowrank", "svd", "linalg.svd", "linalg.eig", "linalg.eigh", "qr"),
    *("linalg.qr", "geqrf", "torch.ops.aten._efficient_attention_forward", "torch.ops.aten._flash_attention_forward"),
}
# What CUDA refuses on a GPU, too: indices on the device, and a product that only the CPU has.
REFUSED_BY_CUDA = {"tensor_split", "sparse.mm"}


def moved(value, device):
    """The same value with its tensors on a device; those that had gradients are leaves again."""

    def one(item):
        if isinstance(item, torch.Tensor):
            copy = item.detach().to(device, copy=True)
            return copy.requires_grad_(item.requires_grad)
        return torch.device(device) if isinstance(item, torch.device) else item

    return tree_map(one, value)


def results(function, sample, device):
    """What a function returns for a sample on a device, and the gradients of the first tensors, on the CPU."""
    input_, args, kwargs = (moved(part, device) for part in (sample.input, sample.args, sample.kwargs))
    if kwargs.get("device") is not None:
        kwargs["device"] = device
    output = function(input_, *args, **kwargs)
    tensors = [leaf for leaf in tree_leaves(output) if isinstance(leaf, torch.Tensor)]
    assert all(tensor.device.type == device for tensor in tensors), f"a result is not on {device}"
    differentiable = [t for t in tensors if t.requires_grad and t.dtype.is_floating_point]
    leaves = [t for t in tree_leaves((input_, args, kwargs)) if isinstance(t, torch.Tensor) and t.is_leaf and t.requires_grad]
    gradients = []
    if differentiable and leaves:
        gradients = torch.autograd.grad([t.sum() for t in differentiable], leaves, allow_unused=True)
    other = [leaf for leaf in tree_leaves(output) if not isinstance(leaf, torch.Tensor)]
    return [None if t is None else t.detach().cpu() for t in (*tensors, *gradients)], other


def compare(op, sample, compiled):
    """Raises AssertionError if the two ways differ; returns "same", or "refused" if both raise."""
    ways = [(op, "cuda"), (torch.compile(op.op, dynamic=False), "cuda")] if compiled else [(op, "cpu"), (op, "cuda")]
    try:
        expected = results(*(ways[0][0], sample, ways[0][1]))
    except Exception:
        return "refused"
    actual = results(*(ways[1][0], sample, ways[1][1]))
    assert len(expected[0]) == len(actual[0])
    for a, b in zip(actual[0], expected[0]):
        torch.testing.assert_close(a, b, rtol=2e-4, atol=2e-4, equal_nan=True, check_stride=False)
    assert all(a == b or a != a for a, b in zip(actual[1], expected[1])), (actual[1], expected[1])
    return "same"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    counts = collections.Counter()
    ops = [op for op in op_db if torch.float32 in op.dtypes and options.only in op.name and op.name not in UNDETERMINED | REFUSED_BY_CUDA]
    for op in ops[:: options.every]:
        outcome = "no samples"
        try:
            for index, sample in enumerate(op.sample_inputs("cpu", torch.float32, requires_grad=op.supports_autograd)):
                if index == options.samples:
                    break
                if options.compile:
                    torch._dynamo.reset()
                outcome = compare(op, sample, options.compile)
        except Exception as error:
            outcome = "differs" if isinstance(error, AssertionError) else "fails"
            text = next((line.strip() for line in str(error).splitlines() if line.strip()), traceback.format_exc().splitlines()[-1])
            print(f"{outcome}: {op.name} {op.variant_test_name}: {type(error).__name__}: {text[:220]}", flush=True)
        counts[outcome] += 1
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    sys.exit(counts["differs"] + counts["fails"] > 0)


main()
