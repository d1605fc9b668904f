"""Programs that say device="cuda", on the emulator: torch's device "cuda" is the emulated device.

Its tensors are torch's own, as _cuda_device.cpp says. This module has what torch.cuda asks its library in C for, and the
classes that are made of that. What the device does not have raises an exception that names hiplaunch.
"""

import ctypes
import os
import sys
import time
import types

from . import _benchmark, _cuda_build
from ._device import DeviceProperties, capability

GUIDE = 'see "What cuda is" in hiplaunch\'s docs/triton.md'


class NotOnEmulator(NotImplementedError):
    """torch.cuda has it on a GPU, and the emulated device has not."""

    def __init__(self, name):
        super().__init__(f"hiplaunch: {name} is not there on the emulated device; {GUIDE}")


class Library:
    """The functions at the end of _cuda_device.cpp."""

    def __init__(self, devices):
        self._devices = devices
        library = _cuda_build.load()
        library.hiplaunch_cuda_install.restype = ctypes.c_char_p
        self._library = library
        problem = library.hiplaunch_cuda_install(devices)
        if problem is not None:
            lines = [line.strip() for line in problem.decode().split("Exception raised from")[0].splitlines()]
            raise RuntimeError(f"hiplaunch: {' '.join(filter(None, lines))}")

    def device(self):
        """Returns the number of this thread's current device."""
        return self._library.hiplaunch_cuda_device()

    def exchange_device(self, device):
        """Makes a device current, if it is not negative. Returns the one that was."""
        previous = self.device()
        if device >= self._devices:
            raise RuntimeError(f"hiplaunch: there is no cuda:{device}; the emulator has {self._devices} devices")
        if device >= 0:
            self._library.hiplaunch_cuda_set_device(device)
        return previous

    def default_generator(self, device):
        """Returns the generator that is used for a device if no other is named."""
        import torch

        self._library.hiplaunch_cuda_next_generator_is_default()
        return torch.Generator(device=f"cuda:{device}")

    def memory(self, device):
        """Returns (allocated, peak, ever allocated, freed) bytes of a device's memory, and the number of blocks."""
        counts = (ctypes.c_int64 * 5)()
        self._library.hiplaunch_cuda_memory(device, counts)
        return tuple(counts)

    def reset_peak(self, device):
        """Makes what is allocated now the most that was."""
        self._library.hiplaunch_cuda_reset_peak(device)


def _memory_stats(library, device):
    allocated, peak, total, freed, blocks = library.memory(device)

    def three(**counts):
        none = dict.fromkeys(counts, 0)
        return {"all": counts, "small_pool": none, "large_pool": dict(counts)}

    nothing = {"current": 0, "peak": 0, "allocated": 0, "freed": 0}
    by_bytes = {"current": allocated, "peak": peak, "allocated": total, "freed": freed}
    by_block = {"current": blocks, "peak": blocks, "allocated": blocks, "freed": 0}
    stats = {name: three(**by_bytes) for name in ("allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes")}
    stats |= {name: three(**by_block) for name in ("allocation", "segment", "active")}
    stats |= {name: three(**nothing) for name in ("inactive_split", "inactive_split_bytes")}
    stats |= {name: dict(nothing) for name in ("oversize_allocations", "oversize_segments")}
    return stats | dict.fromkeys(("num_alloc_retries", "num_ooms", "num_sync_all_streams", "max_split_size"), 0)


class _Cudart:
    """The functions of CUDA's runtime that programs use."""

    class cudaError(int):
        success = 0

    def __init__(self, library, properties):
        self._library = library
        self._properties = properties

    def cudaMemGetInfo(self, device):
        total = self._properties[device].total_memory
        return total - self._library.memory(device)[0], total

    def cudaGetErrorString(self, code):
        return f"error {code}"

    def cudaProfilerStart(self):
        return 0

    def cudaProfilerStop(self):
        return 0

    def cudaHostRegister(self, *_):
        return 0

    def cudaHostUnregister(self, *_):
        return 0


def _classes(torch):
    """The classes of torch.cuda, over the general ones of torch."""

    def index_of(device):
        return torch.cuda._utils._get_device_index(device, optional=True)

    class Stream(torch.Stream):
        """A stream of the emulated device. All launches are complete when they return, so that there is nothing to order."""

        def __new__(cls, device=None, priority=0, **place):
            place.pop("stream_ptr", None)
            if place:
                return super().__new__(cls, **place)
            return super().__new__(cls, device=f"cuda:{index_of(device)}", priority=priority)

        def record_event(self, event=None):
            """Records `event`, or a new event."""
            event = Event() if event is None else event
            event.record(self)
            return event

        def wait_event(self, event):
            """Returns at once."""

        def wait_stream(self, stream):
            """Returns at once."""

        @property
        def cuda_stream(self):
            """The number of the stream; 0 for the default stream."""
            return self.stream_id

        @property
        def priority(self):
            """The priority, which has no effect."""
            return 0

        @property
        def _as_parameter_(self):
            return ctypes.c_void_p(self.cuda_stream)

        @staticmethod
        def priority_range():
            """Returns the least and the greatest priority."""
            return 0, -1

    class ExternalStream(Stream):
        """A stream of another library, which has nothing to order either."""

        def __new__(cls, stream_ptr, device=None, **_):
            return super().__new__(cls, device)

    class Event(torch.Event):
        """A point in time of the host."""

        def __new__(cls, enable_timing=False, blocking=False, interprocess=False, external=False):
            event = super().__new__(cls, device="cuda", enable_timing=enable_timing, blocking=blocking)
            event._time = None
            event._has_time = enable_timing
            return event

        def record(self, stream=None):
            """Takes the time."""
            self._time = time.perf_counter()

        def elapsed_time(self, end_event):
            """Returns the milliseconds between this event and `end_event`: of the host's time, not of a GPU's."""
            if not (self._has_time and end_event._has_time):
                raise RuntimeError("both events must be made with enable_timing=True")
            if self._time is None or end_event._time is None:
                raise RuntimeError("both events must be recorded first")
            return (end_event._time - self._time) * 1e3

        def query(self):
            """Returns that everything is complete."""
            return True

        def wait(self, stream=None):
            """Returns at once."""

        def synchronize(self):
            """Returns at once."""

        @property
        def cuda_event(self):
            """The event's address."""
            return self.event_id

        @classmethod
        def from_ipc_handle(cls, device, handle):
            """Refused: events are of one process."""
            raise NotOnEmulator("torch.cuda.Event.from_ipc_handle")

        def ipc_handle(self):
            """Refused: events are of one process."""
            raise NotOnEmulator("torch.cuda.Event.ipc_handle")

    return {"Stream": Stream, "ExternalStream": ExternalStream, "Event": Event}


def _refused(name):
    def refuse(*_, **__):
        raise NotOnEmulator(name)

    return refuse


def _refused_class(name):
    def new(cls, *_, **__):
        raise NotOnEmulator(name)

    return type(name, (), {"__new__": new})


def _functions(torch, properties, library):
    """What torch._C has for torch.cuda, under its names, without `_cuda_`."""

    def nothing(*_, **__):
        return None

    def set_stream(stream_id, device_index, device_type):
        torch._C._accelerator_setStream(torch.Stream(stream_id=stream_id, device_index=device_index, device_type=device_type))

    def current_stream(device):
        return torch._C._accelerator_getStream(device).stream_id, device, 1

    fractions = {}
    return {
        "init": nothing,
        "getDeviceCount": lambda: len(properties),
        "getDevice": library.device,
        "setDevice": library.exchange_device,
        "exchangeDevice": library.exchange_device,
        # Another function than `exchangeDevice`: torch's compiler tells them apart.
        "maybeExchangeDevice": lambda device: library.exchange_device(device),
        "hasPrimaryContext": lambda device: True,
        "canDeviceAccessPeer": lambda device, peer: device != peer,
        "getCurrentStream": current_stream,
        "getDefaultStream": lambda device: (0, device, 1),
        "getStreamFromExternal": lambda pointer, device: (0, device, 1),
        "getCurrentRawStream": lambda device: current_stream(device)[0],
        "setStream": set_stream,
        "synchronize": nothing,
        "ipc_collect": nothing,
        "sleep": nothing,
        "emptyCache": nothing,
        "isInBadFork": lambda: False,
        "isCurrentStreamCapturing": lambda: False,
        "getArchFlags": lambda: properties[0].gcnArchName.split(":")[0],
        "getCompiledVersion": lambda: 0,
        "memoryStats": lambda device: _memory_stats(library, device),
        "resetPeakMemoryStats": library.reset_peak,
        "resetAccumulatedMemoryStats": nothing,
        "setMemoryFraction": lambda fraction, device: fractions.__setitem__(device, fraction),
        "getMemoryFraction": lambda device: fractions.get(device, 1.0),
        "memorySnapshot": lambda *_: {"segments": [], "device_traces": [], "allocator_settings": {}},
        "record_memory_history": nothing,
        "record_memory_history_legacy": nothing,
        "getAllocatorBackend": lambda: "native",
        "getCurrentBlasHandle": lambda: 0,
        "getCurrentSolverHandle": lambda: 0,
        "set_sync_debug_mode": nothing,
        "get_sync_debug_mode": lambda: 0,
        "clearCublasWorkspaces": nothing,
        "isHistoryEnabled": lambda: False,
    }


def _replace_functions(torch, functions, replacements):
    """Replaces the functions of torch._C for CUDA, also where a module of torch has one under a name of its own."""
    replaced = {}
    for name in [*vars(torch._C), *(f"_cuda_{name}" for name in functions)]:
        if not name.startswith("_cuda_"):
            continue
        original = vars(torch._C).get(name)
        if not isinstance(original, type):
            function = functions.get(name.removeprefix("_cuda_")) or _refused(f"torch._C.{name}")
            replaced[name] = original, function
    for name, (_, function) in replaced.items():
        replacements.set(torch._C, name, function)
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("torch.") and module is not None]
    for module in modules:
        for name, value in list(vars(module).items()):
            if type(value) is types.BuiltinFunctionType and value.__name__ in replaced:
                original, function = replaced[value.__name__]
                if value is original:
                    replacements.set(module, name, function)


def _new_storage(torch):
    new = torch.UntypedStorage.__new__

    def new_storage(cls, *args, device=None, **kwargs):
        # torch asks CUDA's own allocator here.
        if device is None or torch.device(device).type != "cuda":
            return new(cls, *args, **kwargs) if device is None else new(cls, *args, device=device, **kwargs)
        if args and not isinstance(args[0], int):
            return torch.tensor(list(args[0]), dtype=torch.uint8, device=device).untyped_storage()
        return torch.empty(args[0] if args else kwargs.get("size", 0), dtype=torch.uint8, device=device).untyped_storage()

    return new_storage


def _replace_compilers(torch, replacements):
    # What torch.compile generates calls CUDA's allocator.
    def empty_strided(size, stride, dtype):
        return torch.empty_strided(size, stride, dtype=dtype, device="cuda")

    replacements.set(torch._C._dynamo.guards, "_empty_strided_cuda", empty_strided)
    # It also has a launcher in C that calls CUDA. Processes in which it compiles get the variable.
    os.environ["TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER"] = "0"
    replacements.when_imported("torch._inductor.config", _set_config)
    replacements.when_imported("torch._inductor.runtime.benchmarking", lambda module: _replace_benchmarks(module, replacements))


def _set_config(config):
    # It stays so: launchers in C call CUDA's library, which is not here.
    for name in ("use_static_cuda_launcher", "use_static_triton_launcher"):
        if hasattr(config, name):
            setattr(config, name, False)


def _replace_benchmarks(module, replacements):
    """torch.compile measures how long a kernel takes to choose one: as benchmarks of Triton do on the emulator."""

    def benchmark_gpu(self, fn, *_, return_mode="min", grad_to_none=None, **__):
        return _benchmark.do_bench(fn, grad_to_none=grad_to_none, return_mode=return_mode)

    for name in ("TritonBenchmarker", "InductorBenchmarker"):
        if hasattr(module, name):
            replacements.set(getattr(module, name), "benchmark_gpu", benchmark_gpu)


def map_cuda(driver, replacements):
    """Makes the emulated devices torch's devices of CUDA, in all threads.

    Their tensors work as long as the process runs; the functions of torch.cuda are as they were after `replacements.undo()`.
    """
    import torch
    import torch.cuda._utils

    if torch.cuda.is_initialized() and not getattr(torch.cuda, "_hiplaunch", False):
        raise RuntimeError("hiplaunch: torch uses a GPU already; activate hiplaunch before the program uses torch.cuda")
    # Processes that are forked, such as those of torch.compile, ask for them, too, and have no launcher.
    properties = [DeviceProperties(driver.properties(device)) for device in range(driver.device_count())]
    library = Library(len(properties))
    functions = _functions(torch, properties, library)
    _replace_functions(torch, functions, replacements)
    for name in ("_CUDAGraph", "_MemPool"):
        replacements.set(torch._C, name, _refused_class(f"torch._C.{name}"))
    replacements.set(torch.UntypedStorage, "__new__", _new_storage(torch))
    # What is sent to another process through torch.multiprocessing.
    for name in ("_share_cuda_", "_new_shared_cuda"):
        replacements.set(torch.UntypedStorage, name, _refused(f"torch.UntypedStorage.{name}"))
    of_module = {
        **_classes(torch),
        "_exchange_device": library.exchange_device,
        "_maybe_exchange_device": functions["maybeExchangeDevice"],
        "_is_in_bad_fork": functions["isInBadFork"],
        "_get_device_properties": lambda device: properties[device],
        "_CudaDeviceProperties": DeviceProperties,
        "_initialized": True,
        "_hiplaunch": True,
        "_cudart": _Cudart(library, properties),
        "cudart": lambda: torch.cuda._cudart,
        "_lazy_init": lambda: None,
        "device_count": functions["getDeviceCount"],
        "default_generators": tuple(library.default_generator(device) for device in range(len(properties))),
        "CUDAGraph": _refused_class("torch.cuda.CUDAGraph"),
        "graph": _refused_class("torch.cuda.graph"),
        "utilization": lambda device=None: 0,
        "get_device_capability": lambda device=None: capability(torch.cuda.get_device_properties(device).gcnArchName),
    }
    for name, value in of_module.items():
        replacements.set(torch.cuda, name, value)
    _replace_compilers(torch, replacements)
    # Programs ask this for the kind of GPU.
    for owner, name, value in (
        (torch.version, "hip", "0.0.0"),
        (torch.version, "rocm", "0.0.0"),
        (torch.version, "cuda", None),
        (torch._C, "_has_cuda", True),
        (torch._C, "_has_cudnn", False),
        (torch.backends.cudnn, "version", lambda: None),
    ):
        replacements.set(owner, name, value)
    return library
