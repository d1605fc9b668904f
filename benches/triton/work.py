"""What a case is made of: its inputs, its launch, and what its results have to be."""

from __future__ import annotations

import dataclasses
import functools
import typing

import ml_dtypes
import numpy

TYPES = {
    "f32": numpy.dtype(numpy.float32),
    "f16": numpy.dtype(numpy.float16),
    "bf16": numpy.dtype(ml_dtypes.bfloat16),
    "i32": numpy.dtype(numpy.int32),
    "i64": numpy.dtype(numpy.int64),
}

# The f8 with four bits of exponent that a target's matrix instructions take. gfx942's has no negative zero, and its bias is one more.
E4M3 = {"gfx942": numpy.dtype(ml_dtypes.float8_e4m3fnuz), "gfx950": numpy.dtype(ml_dtypes.float8_e4m3fn)}


class Unsupported(Exception):
    """A case that a target has no instructions for, or that Triton does not compile for it."""


class Inputs:
    """Random arrays of a case: the same in each run and for each target."""

    def __init__(self, target):
        self.target = target.split(":")[0]
        self._rng = numpy.random.default_rng(20261127)

    def normal(self, shape, dtype="f32"):
        """Returns an array of standard normal values, rounded to the type."""
        return self._rng.standard_normal(shape, dtype=numpy.float32).astype(TYPES.get(dtype, dtype))

    def integers(self, low, high, shape, dtype="i32"):
        """Returns an array of integers from `low` to `high - 1`."""
        return self._rng.integers(low, high, shape).astype(TYPES.get(dtype, dtype))

    def permutation(self, count):
        """Returns the numbers up to `count - 1` in random order."""
        return self._rng.permutation(count)

    def e4m3(self):
        """Returns the target's type of f8."""
        if self.target not in E4M3:
            raise Unsupported(f"{self.target} has no matrix instructions of f8")
        return E4M3[self.target]


@dataclasses.dataclass
class Result:
    """An array that a launch writes, and what it has to be, computed by numpy in double precision or exactly."""

    name: str
    array: numpy.ndarray
    expected: numpy.ndarray
    # Whether the kernel adds to what is there, which is zero then. What others don't write is no number.
    accumulates: bool = False
    # What a value's rounding errors are in proportion to, besides its own size, if that is not the same for all.
    scale: numpy.ndarray | None = None

    @functools.cached_property
    def _sizes(self):
        sizes = numpy.abs(wide(self.expected))
        return sizes + (numpy.median(sizes) if self.scale is None else self.scale)

    def reset(self):
        """Overwrites what an earlier launch wrote."""
        self.array.view(numpy.uint8).fill(0 if self.accumulates else 0xFF)

    def defect(self, tolerance):
        """Returns what is wrong with the array, or None.

        A value may differ by `tolerance` times the sum of its own size and of `scale`, or of the median size of all.
        """
        if not tolerance:
            wrong = self.array != self.expected
        else:
            wrong = ~(numpy.abs(wide(self.array) - self.expected) <= tolerance * self._sizes)
        count = int(numpy.count_nonzero(wrong))
        if not count:
            return None
        at = tuple(int(i) for i in numpy.unravel_index(int(numpy.argmax(wrong)), wrong.shape))
        return f"{self.name}: {count} of {wrong.size} values, first {at}: {self.array[at]}, not {self.expected[at]}"


@dataclasses.dataclass
class Work:
    """A case with its arrays, ready to be launched as often as one likes."""

    launch: typing.Callable[[], None]
    results: list
    # The multiply-adds of matrix products that the case asks for, without those of padding.
    macs: int = 0

    def reset(self):
        """Overwrites the results of an earlier launch."""
        for result in self.results:
            result.reset()

    def defects(self, tolerance):
        """Returns what is wrong with the results of the last launch."""
        return [defect for defect in (result.defect(tolerance) for result in self.results) if defect]


def wide(array):
    """Returns an array in double precision."""
    return array.astype(numpy.float64)
