"""hiplaunch's C library for Python, by ctypes: no package to install.

    with Launcher() as launcher:
        stream = launcher.stream()
        saxpy = launcher.register(code, "saxpy")
        ticket = saxpy.launch(stream, (16,), (64,), [c_float(2), In(x), InOut(y), c_int32(1000)])
        y = ticket.read(0, c_float)

Python closes objects when it destroys them, in any order. Closing an object whose launcher was closed before is no
error here. The environment variable HIPLAUNCH_LIBRARY names the library; without it, the loader finds libhiplaunch.so.
"""

import ctypes
import os
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p, sizeof

_INVALID_HANDLE = 2

# hiplaunch_backend
AUTO, HIP, EMULATOR = range(3)
# hiplaunch_arg_kind
_SCALAR, _VALUE, _ADDRESS, _BUFFER, _VIEW, _DESTINATION, _HOST_IN, _HOST_INOUT, _HOST_OUT = range(9)


class _Options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("backend", c_uint32),
        ("validate", c_uint32),
        ("staging_buffer_bytes", c_size_t),
        ("max_staging_buffers", c_size_t),
        ("pool", c_uint32),
        ("emulator_devices", c_uint32),
        ("pool_cap", c_uint64),
        ("pool_soft_target", c_uint64),
        ("emulator_target", c_char_p),
    ]


class DeviceProperties(Structure):
    """The properties of a device. Texts are bytes."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char * 256),
        ("target", c_char * 64),
        ("processor", c_char * 32),
        ("pci_bus_id", c_char * 32),
        ("total_memory", c_uint64),
        ("compute_units", c_uint32),
        ("wavefront_size", c_uint32),
        ("max_threads_per_block", c_uint32),
        ("max_lds_per_block", c_uint32),
        ("max_block", c_uint32 * 3),
        ("max_grid", c_uint32 * 3),
        ("clock_khz", c_uint32),
        ("is_lost", c_uint32),
    ]


class _Dims(Structure):
    _fields_ = [("grid", c_uint32 * 3), ("block", c_uint32 * 3), ("dynamic_lds", c_uint32)]


class _Arg(Structure):
    _fields_ = [
        ("kind", c_uint32),
        ("reserved", c_uint32),
        ("bits", c_uint64),
        ("data", c_void_p),
        ("size", c_size_t),
    ]


def _load():
    library = ctypes.CDLL(os.environ.get("HIPLAUNCH_LIBRARY", "libhiplaunch.so"))
    handle, out = c_void_p, POINTER(c_void_p)
    functions = {
        "open": [POINTER(_Options), out],
        "close": [handle],
        "get_device_properties": [handle, c_uint32, POINTER(DeviceProperties)],
        "stream_open": [handle, c_uint32, out],
        "stream_synchronize": [handle],
        "stream_close": [handle],
        "register": [handle, c_uint32, c_char_p, c_size_t, c_char_p, handle, out],
        "unregister": [handle],
        "buffer_open": [handle, c_uint32, handle, c_size_t, out],
        "buffer_upload": [handle, handle, c_size_t, c_void_p, c_size_t],
        "buffer_download": [handle, handle, c_size_t, c_void_p, c_size_t],
        "buffer_close": [handle],
        "launch": [handle, handle, POINTER(_Dims), POINTER(_Arg), c_size_t, out],
        "ticket_output": [handle, c_size_t, out, POINTER(c_size_t)],
        "ticket_close": [handle],
    }
    for name, arguments in functions.items():
        function = getattr(library, "hiplaunch_" + name)
        function.argtypes, function.restype = arguments, c_int
    library.hiplaunch_last_error_message.restype = c_char_p
    library.hiplaunch_version.restype = c_char_p
    return library


_library = _load()


class Error(Exception):
    """The error of a failed call, with the library's message. `status` is its hiplaunch_status."""

    def __init__(self, status):
        super().__init__(_library.hiplaunch_last_error_message().decode())
        self.status = status


def _call(name, *arguments):
    status = getattr(_library, "hiplaunch_" + name)(*arguments)
    if status != 0:
        raise Error(status)


def version():
    """Returns the library's version."""
    return _library.hiplaunch_version().decode()


class _Object:
    """An object of the library, which is closed once."""

    def __init__(self, close, *arguments):
        self._close, self._handle = close, c_void_p()
        _call(*arguments, byref(self._handle))

    def close(self):
        """Closes the object, unless it or its launcher was closed before."""
        handle, self._handle = self._handle, c_void_p()
        if handle:
            try:
                _call(self._close, handle)
            except Error as error:
                if error.status != _INVALID_HANDLE:
                    raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close()


class Launcher(_Object):
    """A driver and its devices."""

    def __init__(self, backend=AUTO, validate=False, target=None):
        """Opens a driver. `target` is the target of the emulator, if it is opened: "gfx90a" (default) or "gfx942"."""
        options = _Options(struct_size=sizeof(_Options), backend=backend, validate=2 if validate else 0)
        options.emulator_target = target.encode() if target else None
        super().__init__("close", "open", byref(options))

    def properties(self, device=0):
        """Returns the properties of a device."""
        properties = DeviceProperties(struct_size=sizeof(DeviceProperties))
        _call("get_device_properties", self._handle, device, byref(properties))
        return properties

    def stream(self, device=0):
        """Opens a stream on a device."""
        return Stream("stream_close", "stream_open", self._handle, device)

    def register(self, code, name, device=0):
        """Registers a kernel of a code object, which is given as bytes."""
        return Kernel("unregister", "register", self._handle, device, code, len(code), name.encode(), None)

    def buffer(self, size, stream=None, device=0):
        """Allocates a device buffer of `size` bytes."""
        of = stream._handle if stream else None
        buffer = Buffer("buffer_close", "buffer_open", self._handle, device, of, size)
        buffer.size = size
        return buffer


class Stream(_Object):
    """A stream of a device."""

    def synchronize(self):
        """Waits for all work on the stream."""
        _call("stream_synchronize", self._handle)


class Buffer(_Object):
    """Device memory."""

    def upload(self, stream, array, offset=0):
        """Copies a ctypes array or structure to the buffer, to its byte `offset` and after."""
        _call("buffer_upload", self._handle, stream._handle, offset, ctypes.addressof(array), sizeof(array))

    def download(self, stream, element, offset=0):
        """Returns the buffer's bytes from `offset` on as a ctypes array of `element`. Waits for the copy."""
        array = (element * ((self.size - offset) // sizeof(element)))()
        _call("buffer_download", self._handle, stream._handle, offset, ctypes.addressof(array), sizeof(array))
        return array


class In:
    """A ctypes array that a kernel reads."""

    def __init__(self, array):
        self.array = array  # keeps the memory of the address alive
        self.arg = _Arg(_HOST_IN, 0, 0, ctypes.addressof(array), sizeof(array))


class InOut:
    """A ctypes array that a kernel reads and writes; an output of the ticket."""

    def __init__(self, array):
        self.array = array
        self.arg = _Arg(_HOST_INOUT, 0, 0, ctypes.addressof(array), sizeof(array))


class Out:
    """An array of `size` bytes that a kernel writes; an output of the ticket."""

    def __init__(self, size):
        self.arg = _Arg(_HOST_OUT, 0, 0, None, size)


def _arg(value):
    if isinstance(value, (In, InOut, Out)):
        return value.arg
    if value is None:
        return _Arg(_ADDRESS, 0, 0, None, 0)
    if isinstance(value, Buffer):
        return _Arg(_BUFFER, 0, 0, value._handle, 0)
    if isinstance(value, Structure):
        return _Arg(_VALUE, 0, 0, ctypes.addressof(value), sizeof(value))
    if isinstance(value, ctypes._SimpleCData):
        return _Arg(_SCALAR, 0, int.from_bytes(bytes(value), "little"), None, sizeof(value))
    raise TypeError(f"{value!r}: a number or structure of ctypes, a Buffer, In, InOut, Out, or None for null")


class Kernel(_Object):
    """A registered kernel."""

    def launch(self, stream, grid, block, values, dynamic_lds=0):
        """Launches the kernel: grid in workgroups, block in work-items. Never waits; the call copies host arrays."""
        fill = lambda extents: (c_uint32 * 3)(*(tuple(extents) + (1, 1, 1))[:3])
        dims = _Dims(fill(grid), fill(block), dynamic_lds)
        args = (_Arg * len(values))(*map(_arg, values))
        return Ticket("ticket_close", "launch", self._handle, stream._handle, byref(dims), args, len(values))


class Ticket(_Object):
    """The results of a launch."""

    def read(self, index, element):
        """Waits for the launch, and returns output `index` as a list of the values of ctypes type `element`."""
        data, size = c_void_p(), c_size_t()
        _call("ticket_output", self._handle, index, byref(data), byref(size))
        return list((element * (size.value // sizeof(element))).from_address(data.value))
