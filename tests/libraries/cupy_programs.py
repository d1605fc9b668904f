"""CuPy beside numpy: kernels that CuPy compiles, reductions, products, sorting, and a kernel of the program's own."""

import cupy
import numpy as np

import comparison
from comparison import finish

random = np.random.default_rng(1)


def compare(name, result, *expected):
    comparison.compare(name, cupy.asnumpy(result), *expected)


SAXPY = """
extern "C" __global__ void saxpy(float a, const float *x, const float *y, float *result, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) result[i] = a * x[i] + y[i];
}
"""

for dtype, epsilon in [("f4", 2**-21), ("f8", 2**-50)]:
    x, y = random.standard_normal((2, 37, 41)).astype(dtype)
    at_x, at_y = cupy.asarray(x), cupy.asarray(y)
    wide_x, wide_y = x.astype("f8"), y.astype("f8")
    compare(f"sum of squares {dtype}", (at_x**2).sum(axis=1), (wide_x**2).sum(axis=1), epsilon)
    compare(f"exp {dtype}", cupy.exp(at_x) - at_y, np.exp(wide_x) - wide_y, epsilon)
    compare(f"product {dtype}", at_x @ at_y.T, wide_x @ wide_y.T, epsilon * 8)
    compare(f"running sum {dtype}", cupy.cumsum(at_x), np.cumsum(wide_x), epsilon * 64)
    compare(f"sort {dtype}", cupy.sort(at_x, axis=None), np.sort(x, axis=None))
    compare(f"where {dtype}", cupy.where(at_x > at_y, at_x, 0), np.where(x > y, x, 0))
    square = x[:31, :31] + 10 * np.eye(31, dtype=dtype)
    solved = cupy.linalg.solve(cupy.asarray(square), at_y[:31, 0])
    compare(f"solve {dtype}", solved, np.linalg.solve(square.astype("f8"), wide_y[:31, 0]), epsilon * 64)
numbers = random.integers(0, 100, 5000)
compare("unique", cupy.unique(cupy.asarray(numbers)), np.unique(numbers))
compare("histogram", cupy.bincount(cupy.asarray(numbers)), np.bincount(numbers))
x, y = random.standard_normal((2, 1000)).astype("f4")
result = cupy.empty(1000, "f4")
cupy.RawKernel(SAXPY, "saxpy")((4,), (256,), (np.float32(3), cupy.asarray(x), cupy.asarray(y), result, np.int32(1000)))
compare("saxpy", result, 3 * x.astype("f8") + y, 2**-22)

finish("cupy")
