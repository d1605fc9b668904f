"""Comparisons of results with expected numbers, for the programs of this folder."""

import sys

import numpy as np

_failures = _count = 0


def compare(name, result, expected, tolerance=0.0):
    """Fails where a number is further from the expected one than the tolerance, relative to the largest.

    Each comparison is made twice, the second time with one number changed, which it has to notice.
    """
    global _failures, _count
    _count += 1
    result, expected = np.asarray(result).astype("f8"), np.asarray(expected, "f8")
    largest = np.abs(expected).max() or 1
    changed = result.copy()
    changed.flat[-1] += largest
    far, changed_far = (np.abs(numbers - expected).max() / largest for numbers in (result, changed))
    if result.shape != expected.shape or not far <= tolerance:
        _failures += 1
        print(f"{name}: off by {far:.3g}, allowed {tolerance:.3g}")
    elif changed_far <= tolerance:
        _failures += 1
        print(f"{name}: a changed number is not noticed")


def finish(what):
    """Says how many comparisons of the program failed, and ends it. It fails if one did, or if there was none."""
    print(f"{what}: {_count}, failed {_failures}")
    sys.exit(_failures > 0 or _count == 0)
