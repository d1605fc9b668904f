"""Kernels of hiplaunch get memory of CuPy, and kernels of CuPy memory of hiplaunch, on one stream and without a copy.

    python3 examples/python/with_cupy.py                        # with a GPU
    hiplaunch exec -- python3 examples/python/with_cupy.py      # without

Needs CuPy for ROCm (cupy-rocm-7-0) and the package. Without a GPU, both find hiplaunch's libamdhip64, and so the same device.
"""

import pathlib

import cupy
import numpy
from hiplaunch import Launcher

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "hip"
N = 1000

SQUARE = cupy.RawKernel(
    """extern "C" __global__ void square(float *x, int n) {
           int i = blockDim.x * blockIdx.x + threadIdx.x;
           if (i < n) x[i] *= x[i];
       }""",
    "square",
)


def main() -> None:
    expected = numpy.arange(N, dtype="f4")
    with Launcher("hip") as launcher, cupy.cuda.Stream(non_blocking=True) as stream:
        saxpy = launcher.register(KERNELS / "vector.hipfb", "saxpy")
        same_stream = launcher.stream_from_raw(stream.ptr)

        # An array of CuPy is an argument as it is: y = 2 * x + y.
        x, y = cupy.arange(N, dtype="f4"), cupy.ones(N, dtype="f4")
        saxpy[4, 256, same_stream](2.0, x, y, N)
        # A kernel of CuPy comes behind it on the stream.
        SQUARE((4,), (256,), (y, numpy.int32(N)))
        assert (y.get() == (2 * expected + 1) ** 2).all()

        # The same memory as a buffer, which the launcher checks and counts.
        of_cupy = launcher.from_dlpack(x)
        assert of_cupy.address == x.data.ptr

        # A buffer of hiplaunch as an array of CuPy, by DLPack and by the array interface.
        buffer = launcher.buffer(expected, stream=same_stream)
        for array in (cupy.from_dlpack(buffer), cupy.asarray(buffer)):
            assert array.data.ptr == buffer.address
            SQUARE((4,), (256,), (array, numpy.int32(N)))
        result = numpy.empty(N, dtype="f4")
        buffer.copy_to(result, stream=same_stream)
        assert (result == numpy.square(numpy.square(expected))).all()
        stream.synchronize()
    print("all results are right")


if __name__ == "__main__":
    main()
