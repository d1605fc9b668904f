"""A launcher's kernels and buffers with the exchange: each rank doubles a matrix, gets the neighbours' columns, and adds up a sum.

    mpirun -n 4 hiplaunch exec -- python capi/tests/launch.py    without a GPU
    mpirun -n 4 python capi/tests/launch.py                      on AMD GPUs

`hiplaunch_mpi.py` has to be on PYTHONPATH, and HIPLAUNCH_MPI_LIBRARY to name libhiplaunch_mpi.so. Run by test.sh.
"""

from pathlib import Path

import hiplaunch
import numpy
from hiplaunch_mpi import Communicator, Halo, View
from mpi4py import MPI

KERNELS = Path(__file__).resolve().parents[4] / "hip/vector.hipfb"
ROWS, COLUMNS = 64, 48


def matrix(rank):
    return (rank * 10000 + numpy.arange(ROWS * COLUMNS)).reshape(ROWS, COLUMNS).astype("f4")


world = MPI.COMM_WORLD
rank, size = world.rank, world.size
left, right = (rank - 1) % size, (rank + 1) % size
with Communicator(world, timeout=30) as comm:  # on the device of the local rank
    launcher = hiplaunch.Launcher()
    stream = launcher.stream(comm.device)
    code = KERNELS.read_bytes()
    comm.check_code("vscale", code)
    scale = launcher.register(code, "vscale")
    field = launcher.buffer(matrix(rank), stream=stream)
    scale[12, 256, stream](2.0, field, field, ROWS * COLUMNS)

    cells = View(field)
    halos = [
        Halo(left, cells[:, 1], 0, cells[:, 0], 1),
        Halo(right, cells[:, -2], 1, cells[:, -1], 0),
    ]
    ticket = comm.exchange(stream, halos)  # reads what the kernel wrote, and returns at once
    total = launcher.buffer(numpy.array([rank + 1.0]), stream=stream)
    comm.all_reduce(stream, total).before(stream)
    ticket.before(stream)  # what is enqueued from now on sees the neighbours' columns
    scale[12, 256, stream](0.5, field, field, ROWS * COLUMNS)

    expected = matrix(rank)
    expected[:, 0], expected[:, -1] = matrix(left)[:, -2], matrix(right)[:, 1]
    assert (numpy.frombuffer(field.tobytes(stream=stream), "f4").reshape(ROWS, COLUMNS) == expected).all()
    assert numpy.frombuffer(total.tobytes(stream=stream), "f8") == [size * (size + 1) / 2]

    # Views as numpy makes them.
    for key in ((3,), (slice(1, -1), 0), (slice(None, None, -2), slice(5, 2)), (-1, slice(2, 9, 3)), ()):
        mine, its = cells[key].__cuda_array_interface__, expected[key].__array_interface__
        assert mine["shape"] == its["shape"], key
        if 0 not in its["shape"]:
            offset = its["data"][0] - expected.__array_interface__["data"][0]
            assert (mine["data"][0] - field.address, mine["strides"]) == (offset, expected[key].strides), key
