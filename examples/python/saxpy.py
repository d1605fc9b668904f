"""Launches kernels of hip/ from Python and checks them against Python: python3 examples/python/saxpy.py

Needs the C library: cargo build --release -p libhiplaunch, then HIPLAUNCH_LIBRARY=target/release/libhiplaunch.so.
"""

import pathlib
from ctypes import c_float, c_int32

import hiplaunch
from hiplaunch import Error, In, InOut, Launcher, Out

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "hip"


def main():
    n = 1000
    with Launcher() as launcher:
        device = launcher.properties()
        processor = device.processor.decode()
        print(f"hiplaunch {hiplaunch.version()} on {device.name.decode()} ({processor})")
        stream = launcher.stream()
        vector = (KERNELS / "vector.hipfb").read_bytes()
        reduce = (KERNELS / "reduce.hipfb").read_bytes()
        saxpy = launcher.register(vector, "saxpy")
        total = launcher.register(reduce, "reduce_sum_f32")

        # Host arrays in and out: tickets have the results. All launches are enqueued before any result is read.
        x = (c_float * n)(*range(n))
        y = (c_float * n)(*[1.0] * n)
        grid, block = ((n + 63) // 64,), (64,)
        tickets = [
            saxpy.launch(stream, grid, block, [c_float(a), In(x), InOut(y), c_int32(n)]) for a in range(5)
        ]
        for a, ticket in enumerate(tickets):
            assert ticket.read(0, c_float) == [a * i + 1.0 for i in range(n)]

        # A device buffer that two kernels use, without a copy between them.
        buffer = launcher.buffer(4 * n, stream)
        buffer.upload(stream, y)
        saxpy.launch(stream, grid, block, [c_float(2.0), In(x), buffer, c_int32(n)])
        ticket = total.launch(stream, (1,), (256,), [buffer, Out(4), c_int32(n)])
        assert ticket.read(0, c_float) == [sum(2.0 * i + 1.0 for i in range(n))]
        assert list(buffer.download(stream, c_float))[:3] == [1.0, 3.0, 5.0]

        # A launch that does not fit the kernel is refused before any driver call, and the error says why.
        try:
            saxpy.launch(stream, grid, block, [c_float(2.0), buffer])
        except Error as error:
            print(error)
        else:
            raise AssertionError("a launch with two arguments of four went through")
    print("all results are right")


if __name__ == "__main__":
    main()
