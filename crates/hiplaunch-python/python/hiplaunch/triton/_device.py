"""What torch.cuda is on a GPU: streams, events and the current device, of the emulator.

A launch on the emulator is complete when it returns, as host code may look at its memory at once. So nothing here waits.
"""

import contextlib
import time
import uuid


class Stream:
    """A stream of the emulated device. All launches are complete when they return, so that there is nothing to order."""

    def __init__(self, device=None, priority=0, **_):
        self.device = device
        self.priority = priority
        self.cuda_stream = 0
        self._entered = []

    def synchronize(self):
        """Returns at once."""

    def query(self):
        """Returns that everything is complete."""
        return True

    def wait_stream(self, stream):
        """Returns at once."""

    def wait_event(self, event):
        """Returns at once."""

    def record_event(self, event=None):
        """Records `event`, or a new event."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


class Event:
    """A point in time of the host."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False, external=False):
        self.enable_timing = enable_timing
        self._time = None

    def record(self, stream=None):
        """Takes the time."""
        self._time = time.perf_counter()

    def elapsed_time(self, end_event):
        """Returns the milliseconds between this event and `end_event`: of the host's time, not of a GPU's."""
        if not (self.enable_timing and end_event.enable_timing):
            raise RuntimeError("both events must be made with enable_timing=True")
        if self._time is None or end_event._time is None:
            raise RuntimeError("both events must be recorded first")
        return (end_event._time - self._time) * 1e3

    def synchronize(self):
        """Returns at once."""

    def query(self):
        """Returns that everything is complete."""
        return True

    def wait(self, stream=None):
        """Returns at once."""


class DeviceProperties:
    """The properties of the emulated device, under the names that torch gives them. Sizes are in bytes, clocks in kHz."""

    def __init__(self, properties):
        target = properties["target"]
        self.name = properties["name"]
        self.gcnArchName = target
        self.major, self.minor = capability(target)
        self.total_memory = properties["total_memory"]
        self.multi_processor_count = properties["compute_units"]
        self.warp_size = properties["wavefront_size"]
        self.shared_memory_per_block = properties["max_lds_per_block"]
        self.shared_memory_per_block_optin = properties["max_lds_per_block"]
        self.shared_memory_per_multiprocessor = properties["max_lds_per_block"]
        self.regs_per_multiprocessor = properties["registers_per_block"]
        self.max_threads_per_block = properties["max_threads_per_block"]
        # A compute unit holds 32 wavefronts of 64, what HIP counts as one on RDNA 64 of 32.
        self.max_threads_per_multi_processor = 2048
        self.L2_cache_size = properties["l2_bytes"] or 0
        self.clock_rate = properties["clock_khz"]
        self.memory_clock_rate = properties["memory_clock_khz"]
        self.memory_bus_width = properties["memory_bus_bits"]
        self.is_integrated = 0
        self.is_multi_gpu_board = 0
        self.pci_bus_id = self.pci_device_id = self.pci_domain_id = 0
        self.uuid = uuid.uuid5(uuid.NAMESPACE_OID, f"{self.name} {target}")

    def __repr__(self):
        fields = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"_CudaDeviceProperties({fields})"


def capability(target):
    """Returns the version that torch for ROCm gives a target: (9, 4) for gfx942."""
    digits = target.split(":")[0].removeprefix("gfx")
    return int(digits[:-2]), int(digits[-2], 16)


class DeviceInterface:
    """The functions and classes of torch.cuda that programs use to ask for devices and to wait for them."""

    Stream = Stream
    Event = Event

    def __init__(self, driver):
        self._driver = driver
        self._stream = Stream()

    def is_available(self):
        """Returns True: there is an emulated device."""
        return True

    def is_initialized(self):
        """Returns True."""
        return True

    def init(self):
        """Does nothing."""

    def device_count(self):
        """Returns the number of emulated devices."""
        return self._driver.device_count()

    def current_device(self):
        """Returns the number of the current device."""
        return self._driver.get_current_device()

    def set_device(self, device):
        """Makes a device current."""
        self._driver.set_current_device(self._number(device))

    @contextlib.contextmanager
    def device(self, device):
        """Makes a device current while the context is entered."""
        previous = self.current_device()
        self.set_device(device)
        try:
            yield
        finally:
            self.set_device(previous)

    def synchronize(self, device=None):
        """Returns at once."""

    def current_stream(self, device=None):
        """Returns the current stream."""
        return self._stream

    def default_stream(self, device=None):
        """Returns the stream that is current at first."""
        return self._stream

    def set_stream(self, stream):
        """Makes a stream current."""
        self._stream = stream

    @contextlib.contextmanager
    def stream(self, stream):
        """Makes a stream current while the context is entered."""
        previous = self._stream
        if stream is not None:
            self._stream = stream
        try:
            yield
        finally:
            self._stream = previous

    def get_device_properties(self, device=None):
        """Returns the properties of a device."""
        return DeviceProperties(self._driver.properties(self._number(device)))

    def get_device_name(self, device=None):
        """Returns the name of a device."""
        return self.get_device_properties(device).name

    def get_device_capability(self, device=None):
        """Returns the version that torch for ROCm gives the device's target: (9, 4) for gfx942."""
        return capability(self._driver.properties(self._number(device))["target"])

    def is_bf16_supported(self, including_emulation=True):
        """Returns True: the targets have bfloat16."""
        return True

    def empty_cache(self):
        """Does nothing: torch's memory is the host's."""

    def _number(self, device):
        if device is None:
            return self.current_device()
        if isinstance(device, int):
            return device
        index = getattr(device, "index", None)
        if isinstance(device, str) and ":" in device:
            index = int(device.split(":")[1])
        return self.current_device() if index is None or callable(index) else index
