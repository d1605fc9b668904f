"""Ranks of mpi4py exchange columns in a ring, reduce and gather, and get errors. Run by test.sh."""

import ctypes

import numpy
from hiplaunch_mpi import Communicator, Halo, MpiError, View
from mpi4py import MPI

hip = ctypes.CDLL("libamdhip64.so.5")


class DeviceArray:
    """Device memory with numpy's shape and strides."""

    def __init__(self, host, memory=None, view=None):
        self.host = numpy.ascontiguousarray(host)
        self.view = self.host if view is None else view
        self.memory = memory
        if memory is None:
            self.memory = ctypes.c_void_p()
            assert hip.hipMalloc(ctypes.byref(self.memory), ctypes.c_size_t(self.host.nbytes)) == 0
            assert hip.hipMemcpy(self.memory, self.host.ctypes, ctypes.c_size_t(self.host.nbytes), 1) == 0

    def __getitem__(self, key):
        return DeviceArray(self.host, self.memory, self.host[key])

    def get(self, stream):
        assert hip.hipStreamSynchronize(stream) == 0
        host = numpy.empty_like(self.host)
        assert hip.hipMemcpy(host.ctypes, self.memory, ctypes.c_size_t(host.nbytes), 2) == 0
        return host

    @property
    def __cuda_array_interface__(self):
        offset = self.view.ctypes.data - self.host.ctypes.data
        return {
            "shape": self.view.shape,
            "strides": self.view.strides,
            "typestr": self.view.dtype.str,
            "data": (self.memory.value + offset, False),
            "version": 3,
        }


world = MPI.COMM_WORLD
rank, size = world.rank, world.size
with Communicator(world, timeout=30) as comm:
    assert hip.hipSetDevice(comm.device) == 0
    stream = ctypes.c_void_p()
    assert hip.hipStreamCreate(ctypes.byref(stream)) == 0
    number = stream.value

    left, right = (rank - 1) % size, (rank + 1) % size
    of = lambda r: r * 10000.0 + numpy.arange(200, dtype="f8").reshape(20, 10)
    field = DeviceArray(of(rank))
    for key in (-2, (), slice(1, 9, 3), (slice(None, 4, -5), slice(2, None)), (slice(1, -1), 0)):
        assert View(field)[key].__cuda_array_interface__ == field[key].__cuda_array_interface__, key
    assert View(field)[1:][2, 1:].__cuda_array_interface__ == field[3, 1:].__cuda_array_interface__
    halos = [
        Halo(left, field[:, 1], 0, field[:, 0], 1),
        Halo(right, field[:, -2], 1, field[:, -1], 0),
    ]
    comm.exchange(number, halos).before(number)
    expected = of(rank)
    expected[:, 0], expected[:, -1] = of(left)[:, -2], of(right)[:, 1]
    assert (field.get(stream) == expected).all()

    for how, of_all in (("sum", sum), ("min", min), ("max", max)):
        numbers = DeviceArray(numpy.array([rank, -rank], dtype="i4"))
        comm.all_reduce(number, numbers, how).wait()
        assert list(numbers.get(stream)) == [of_all(range(size)), of_all(-r for r in range(size))], how

    one, into = DeviceArray(numpy.full(3, rank, "u8")), DeviceArray(numpy.zeros(3 * size, "u8"))
    comm.all_gather(number, one, into).before(number)
    assert list(into.get(stream)) == [r for r in range(size) for _ in range(3)]
    comm.broadcast(number, one, size - 1).before(number)
    assert list(one.get(stream)) == [size - 1] * 3
    comm.send(number, one, right, 7).wait()
    comm.recv(number, one, left, 7).wait()
    comm.barrier(number).wait()

    try:
        comm.check_code("step", b"other" if rank == 1 else b"code")
        raise SystemExit("the code differs")
    except MpiError as error:
        assert error.status == "code_differs" and "[1]" in str(error), error
    try:
        if rank == 1:
            comm.fail("the field has a NaN")
        comm.recv(number, one, 1, 99).wait()
        raise SystemExit("nothing was sent")
    except MpiError as error:
        assert error.status == "rank_failed" and "NaN" in str(error), error
