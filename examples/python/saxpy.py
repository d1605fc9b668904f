"""Launches kernels of hip/ from Python and checks them: python3 examples/python/saxpy.py

Needs numpy and the package: pip install . numpy
"""

import pathlib

import hiplaunch
import numpy
from hiplaunch import In, InOut, Launcher, Out

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "hip"


def main() -> None:
    n = 1000
    with Launcher() as launcher:
        device = launcher.devices[0]
        print(f"hiplaunch {hiplaunch.__version__} on {device.name} ({device.target})")
        saxpy = launcher.register(KERNELS / "vector.hipfb", "saxpy")
        total = launcher.register(KERNELS / "reduce.hipfb", "reduce_sum_f32")

        # Host arrays in and out: tickets have the results. All launches are enqueued before any result is read.
        x = numpy.arange(n, dtype="f4")
        ys = [numpy.ones(n, dtype="f4") for _ in range(5)]
        tickets = [saxpy[16, 64](float(a), In(x), InOut(y), n) for a, y in enumerate(ys)]
        for a, ticket in enumerate(tickets):
            ticket.result()
            assert (ys[a] == a * x + 1).all()

        # Device memory that two kernels use, without a copy between them.
        device_x, device_y = launcher.buffer(x), launcher.buffer(numpy.ones(n, dtype="f4"))
        saxpy[16, 64](2.0, device_x, device_y, n)
        sums = numpy.zeros(1, dtype="f4")
        total[1, 256](device_y, Out(sums), n).result()
        assert sums[0] == (2 * x + 1).sum()
        y = numpy.empty(n, dtype="f4")
        device_y.copy_to(y)
        assert (y == 2 * x + 1).all()

        # A launch that does not fit the kernel is refused before any driver call, and the error says why.
        try:
            saxpy[16, 64](2.0, device_x)
        except TypeError as error:
            print(error)
        else:
            raise AssertionError("a launch with two arguments of four went through")
    print("all results are right")


if __name__ == "__main__":
    main()
