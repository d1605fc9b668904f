"""Exchange between ranks of MPI that is ordered with HIP streams: libhiplaunch_mpi.so for Python, with mpi4py's communicators.

Arrays are device arrays with ``__cuda_array_interface__``: those of PyTorch, CuPy and hiplaunch. They may have strides, as a
:class:`View` of a hiplaunch buffer has, and stay alive until the operation is done: a ticket keeps them. A stream is the number of a
hipStream_t, or an object that has it as ``raw`` (hiplaunch), ``cuda_stream`` (PyTorch) or ``ptr`` (CuPy).

An operation returns at once, with a ticket. It reads what it sends in the order of the stream; work that uses what is received
comes after ``ticket.before(stream)`` or ``ticket.wait()``.

The environment variable HIPLAUNCH_MPI_LIBRARY names the library (default: libhiplaunch_mpi.so). It is built for one MPI, which
is that of mpi4py.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any, NamedTuple, Sequence

__all__ = ["Communicator", "Halo", "MpiError", "Ticket", "View"]

_STATUSES = (
    "ok invalid environment mpi no_device size code_differs rank_failed timeout device internal".split()
)
_TYPES = {"f4": 0, "f8": 1, "i4": 2, "i8": 3, "u4": 4, "u8": 5}
_REDUCTIONS = {"sum": 0, "min": 1, "max": 2}


class MpiError(RuntimeError):
    """An operation failed. ``status`` is the kind of the error, such as 'rank_failed' or 'timeout'."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = _STATUSES[status] if status < len(_STATUSES) else str(status)


class _View(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("element", ctypes.c_size_t),
        ("rank", ctypes.c_size_t),
        ("shape", ctypes.POINTER(ctypes.c_size_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
    ]


class _Halo(ctypes.Structure):
    _fields_ = [
        ("peer", ctypes.c_int32),
        ("send_tag", ctypes.c_int32),
        ("recv_tag", ctypes.c_int32),
        ("send", _View),
        ("recv", _View),
    ]


class Halo(NamedTuple):
    """What one rank exchanges with a neighbour. ``send_tag`` is the neighbour's ``recv_tag``; tags are 0 to 32767."""

    peer: int
    send: Any
    send_tag: int
    recv: Any
    recv_tag: int


def _interface(array: Any) -> dict[str, Any]:
    interface: dict[str, Any] | None = getattr(array, "__cuda_array_interface__", None)
    if interface is None:
        raise TypeError(f"{array!r} is not in the memory of HIP; without a GPU, start the program by `hiplaunch exec`")
    return interface


class View:
    """A part of a device array, for arrays that can't be indexed: ``View(buffer)[1:-1, 0]``.

    A key has integers and slices, as numpy's basic indexing has. The view keeps the array.
    """

    def __init__(self, array: Any) -> None:
        interface = _interface(array)
        shape, strides = interface["shape"], interface.get("strides")
        if strides is None:
            strides, size = [], int(interface["typestr"][2:])
            for extent in reversed(shape):
                strides.insert(0, size)
                size *= extent
        self._array = array
        self.__cuda_array_interface__ = {**interface, "shape": tuple(shape), "strides": tuple(strides)}

    def __getitem__(self, key: Any) -> View:
        part = View(self)
        shape, strides = part.__cuda_array_interface__["shape"], part.__cuda_array_interface__["strides"]
        (address, read_only), kept = part.__cuda_array_interface__["data"], []
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) > len(shape):
            raise IndexError(f"{len(keys)} indices of an array with {len(shape)} axes")
        for index, extent, stride in zip(keys + (slice(None),) * len(shape), shape, strides):
            if isinstance(index, slice):
                chosen = range(extent)[index]
                address += chosen.start * stride if chosen else 0
                kept.append((len(chosen), chosen.step * stride))
            else:
                address += range(extent)[index] * stride
        part.__cuda_array_interface__ |= {
            "data": (address, read_only),
            "shape": tuple(extent for extent, _ in kept),
            "strides": tuple(stride for _, stride in kept),
        }
        return part


def _load() -> ctypes.CDLL:
    library = ctypes.CDLL(os.environ.get("HIPLAUNCH_MPI_LIBRARY", "libhiplaunch_mpi.so"))
    handle, number, place = ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)
    view = ctypes.POINTER(_View)
    library.hiplaunch_mpi_error.restype = ctypes.c_char_p
    library.hiplaunch_mpi_error.argtypes = []
    signatures: dict[str, tuple[Any, ...]] = {
        "open": (number, number, ctypes.c_double, place),
        "close": (handle,),
        "device": (handle, ctypes.POINTER(number)),
        "check": (handle,),
        "fail": (handle, ctypes.c_char_p),
        "check_code": (handle, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t),
        "send": (handle, handle, view, number, number, place),
        "recv": (handle, handle, view, number, number, place),
        "exchange": (handle, handle, ctypes.POINTER(_Halo), ctypes.c_size_t, place),
        "all_reduce": (handle, handle, view, number, number, place),
        "broadcast": (handle, handle, view, number, place),
        "all_gather": (handle, handle, view, view, place),
        "barrier": (handle, handle, place),
        "before": (handle, handle, handle),
        "wait": (handle,),
        "is_done": (handle, ctypes.POINTER(number)),
        "ticket_close": (handle,),
    }
    for name, arguments in signatures.items():
        function = getattr(library, "hiplaunch_mpi_" + name)
        function.argtypes, function.restype = arguments, ctypes.c_int
    return library


_library = _load()


def _call(name: str, *arguments: Any) -> None:
    status = getattr(_library, "hiplaunch_mpi_" + name)(*arguments)
    if status:
        raise MpiError(status, _library.hiplaunch_mpi_error().decode(errors="replace"))


def _stream(stream: Any) -> ctypes.c_void_p:
    for name in ("raw", "cuda_stream", "ptr"):
        stream = getattr(stream, name, stream)
    return ctypes.c_void_p(int(stream))


def _view(array: Any) -> tuple[_View, str]:
    interface = _interface(array)
    # Without the order of bytes, if it is this machine's.
    kind, element = interface["typestr"].removeprefix("<"), int(interface["typestr"][2:])
    shape, strides = interface["shape"], interface.get("strides")
    rank = len(shape)
    if strides is not None:
        if any(stride % element for stride in strides):
            raise ValueError(f"strides {strides} are not whole elements of {element} bytes")
        strides = (ctypes.c_ssize_t * rank)(*(stride // element for stride in strides))
    # The structure keeps the arrays that its pointers point to.
    return _View(interface["data"][0], element, rank, (ctypes.c_size_t * rank)(*shape), strides), kind


class Ticket:
    """An operation that was enqueued. It goes on if the ticket is closed or dropped; its arrays must then be kept."""

    def __init__(self, communicator: Communicator, handle: ctypes.c_void_p, arrays: Any) -> None:
        self._communicator, self._arrays = communicator, arrays
        self._handle: ctypes.c_void_p | None = handle

    def before(self, stream: Any) -> None:
        """Makes work that is enqueued on a stream from now on wait for the operation. The host does not wait."""
        _call("before", self._communicator._handle, self._handle, _stream(stream))

    def wait(self) -> None:
        """Waits for the operation. To be called once."""
        handle, self._handle = self._handle, None
        _call("wait", handle)
        self._arrays = None

    @property
    def is_done(self) -> bool:
        """Whether the operation is done."""
        done = ctypes.c_int32()
        _call("is_done", self._handle, ctypes.byref(done))
        return bool(done.value)

    def __del__(self) -> None:
        if self._handle is not None:
            _library.hiplaunch_mpi_ticket_close(self._handle)


class Communicator:
    """The ranks of a communicator of mpi4py, and the device of this one. Making and closing it is collective.

    ``device`` is the device's number; None: that of the local rank. ``timeout`` is in seconds; None: forever.
    """

    def __init__(self, comm: Any, device: int | None = None, timeout: float | None = None) -> None:
        self._handle: ctypes.c_void_p | None = ctypes.c_void_p()
        number = -1 if device is None else device
        _call("open", comm.py2f(), number, timeout or 0.0, ctypes.byref(self._handle))

    def close(self) -> None:
        """Waits for what was enqueued. To be called before MPI is finalized."""
        handle, self._handle = self._handle, None
        if handle:
            _call("close", handle)

    def __enter__(self) -> Communicator:
        return self

    def __exit__(self, *exception: Any) -> None:
        if exception[1] is not None and not isinstance(exception[1], MpiError):
            self.fail(repr(exception[1]))
        self.close()

    @property
    def device(self) -> int:
        """The number of the device."""
        number = ctypes.c_int32()
        _call("device", self._handle, ctypes.byref(number))
        return number.value

    def check(self) -> None:
        """Raises if the communicator has failed, here or on another rank."""
        _call("check", self._handle)

    def fail(self, report: str) -> None:
        """Fails the communicator on all ranks."""
        _call("fail", self._handle, report.encode())

    def check_code(self, kernel: str, code: bytes) -> None:
        """Raises unless all ranks have the same code object for a kernel. Waits for all ranks."""
        _call("check_code", self._handle, kernel.encode(), code, len(code))

    def _operation(self, name: str, stream: Any, arrays: Any, *arguments: Any) -> Ticket:
        handle = ctypes.c_void_p()
        _call(name, self._handle, _stream(stream), *arguments, ctypes.byref(handle))
        return Ticket(self, handle, arrays)

    def send(self, stream: Any, array: Any, to: int, tag: int = 0) -> Ticket:
        """Sends an array to another rank."""
        return self._operation("send", stream, array, ctypes.byref(_view(array)[0]), to, tag)

    def recv(self, stream: Any, array: Any, source: int, tag: int = 0) -> Ticket:
        """Receives an array from another rank."""
        return self._operation("recv", stream, array, ctypes.byref(_view(array)[0]), source, tag)

    def exchange(self, stream: Any, halos: Sequence[Halo]) -> Ticket:
        """Sends to and receives from neighbours at once."""
        all_halos = (_Halo * len(halos))(
            *(_Halo(h.peer, h.send_tag, h.recv_tag, _view(h.send)[0], _view(h.recv)[0]) for h in halos)
        )
        return self._operation("exchange", stream, halos, all_halos, len(halos))

    def all_reduce(self, stream: Any, array: Any, how: str = "sum") -> Ticket:
        """Replaces each element by the 'sum', 'min' or 'max' over all ranks."""
        view, kind = _view(array)
        if kind not in _TYPES:
            raise TypeError(f"all_reduce of {kind}; it takes {', '.join(_TYPES)}, in this machine's order of bytes")
        return self._operation("all_reduce", stream, array, ctypes.byref(view), _TYPES[kind], _REDUCTIONS[how])

    def broadcast(self, stream: Any, array: Any, root: int = 0) -> Ticket:
        """Copies the array of one rank to all."""
        return self._operation("broadcast", stream, array, ctypes.byref(_view(array)[0]), root)

    def all_gather(self, stream: Any, array: Any, into: Any) -> Ticket:
        """Gathers the arrays of all ranks, in their order, on all ranks."""
        views = ctypes.byref(_view(array)[0]), ctypes.byref(_view(into)[0])
        return self._operation("all_gather", stream, (array, into), *views)

    def barrier(self, stream: Any) -> Ticket:
        """Is done when the streams of all ranks have come to it."""
        return self._operation("barrier", stream, None)
