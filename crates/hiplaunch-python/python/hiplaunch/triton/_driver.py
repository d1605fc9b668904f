"""The driver that Triton uses: AMD's compiler, and hiplaunch to load and launch what it compiled."""

import contextlib
import os
import threading

import hiplaunch
from hiplaunch._native import TritonLauncher as NativeLauncher
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from . import _benchmark
from ._arguments import Packer, flatten, native_slots
from ._arrays import Array
from ._device import DeviceInterface
from ._fault import KernelFault
from ._memory import HostRanges


def _triton_version():
    import triton

    return tuple(int(part) for part in triton.__version__.split(".")[:2])


class Session:
    """An open launcher, and the memory that is registered with it.

    A fault or a failed assertion loses the device. Then a new launcher is opened, and what was registered with the old one
    is registered again when it is used: `launcher` is the current one, and an object keeps its own next to what it made.
    """

    def __init__(self, options):
        self._options = options
        self._process = os.getpid()
        # One launch at a time: on the emulator, each uses all cores and is waited for.
        self.lock = threading.RLock()
        # How many kernels were launched.
        self.launches = 0
        self._open()

    def _open(self):
        self.launcher = hiplaunch.Launcher(**self._options)
        self.ranges = HostRanges(self.launcher)
        self._streams = {}

    def current(self):
        """Returns the launcher: a new one in a forked process, which can't use that of its parent."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self.lock = threading.RLock()
            self._open()
        return self.launcher

    def replace(self):
        """Opens a new launcher, as the device of the old one is lost, or will be: its kernels are ended."""
        lost = self.launcher
        # A signal's exception can come between a launch and its wait.
        lost.end_kernels()
        self.ranges.close()
        self._open()
        # It raises the fault again.
        with contextlib.suppress(hiplaunch.Error):
            lost.close()

    def close(self):
        """Ends all registrations and closes the launcher."""
        self.ranges.close()
        self.launcher.close()

    def stream(self, handle, device):
        """Returns the stream that torch knows by `handle`, on a GPU, and the device's default stream on the emulator."""
        key = handle, device
        stream = self._streams.get(key)
        if stream is None:
            launcher = self.launcher
            if launcher.backend in ("hip", "hsa"):
                stream = launcher.stream_from_raw(handle, device=device)
            else:
                stream = launcher.devices[device].default_stream
            self._streams[key] = stream
        return stream


class Function:
    """A compiled kernel. It is registered with the launcher when it is first used there."""

    def __init__(self, session, name, code):
        self.name = name
        self._session = session
        self._code = code
        self._launcher = None
        self._kernel = None

    def kernel(self):
        """Returns the kernel in the current launcher."""
        launcher = self._session.current()
        if self._launcher is not launcher:
            self._kernel = launcher.register(self._code, self.name)
            self._launcher = launcher
        return self._kernel


class Utils:
    """What Triton asks the driver about devices and code objects."""

    def __init__(self, driver):
        self._driver = driver
        # Since 3.4, Triton takes the largest block that the kernel can have, too.
        self._has_max_threads = _triton_version() >= (3, 4)

    def load_binary(self, name, code, shared, device):
        """Returns (module, function, registers, spilled words, and the largest block if this Triton wants it)."""
        function = Function(self._driver.session, name, code)
        attributes = function.kernel().attributes(device)
        loaded = function, function, attributes["vgprs"], attributes["private_bytes"] // 4
        return (*loaded, attributes["max_threads_per_block"]) if self._has_max_threads else loaded

    def unload_module(self, module):
        """Does nothing: the code object is unloaded with the last reference to it."""

    def get_device_properties(self, device):
        """Returns the properties of a device, under Triton's names. Clocks are in kHz, the bus width in bits."""
        properties = self._driver.properties(device)
        return {
            "arch": properties["target"],
            "warpSize": properties["wavefront_size"],
            "max_shared_mem": properties["max_lds_per_block"],
            "max_num_regs": properties["registers_per_block"],
            "multiprocessor_count": properties["compute_units"],
            "sm_clock_rate": properties["clock_khz"],
            "mem_clock_rate": properties["memory_clock_khz"],
            "mem_bus_width": properties["memory_bus_bits"],
            # A compute unit holds 32 wavefronts of 64, what HIP counts as one on gfx11 64 of 32. All ROCm versions for these GPUs
            # launch cooperatively.
            "max_threads_per_sm": 2048,
            "cooperativeLaunch": 1,
        }


class TritonLauncher:
    """Launches one compiled kernel: Triton calls it with the grid and all arguments.

    On a GPU, a native launcher is called in its place, which calls this for what it was not prepared for.
    """

    def __init__(self, driver, source, metadata):
        constants = getattr(source, "constants", {})
        names = source.fn.arg_names if hasattr(source, "fn") else []
        constants = {names.index(key) if isinstance(key, str) else key for key in constants}
        # Triton 3.2 leaves constants out of the arguments but for those that it found itself; these have a type.
        types = []
        for key, type_ in source.signature.items():
            position = names.index(key) if isinstance(key, str) and key in names else key
            types.append("constexpr" if position in constants or (position,) in constants else type_)
        self._types = types
        self._driver = driver
        self._block = metadata.num_warps * metadata.target.warp_size
        self._lds = metadata.shared
        self._cooperative = bool(getattr(metadata, "launch_cooperative_grid", False))
        self._global_scratch = getattr(metadata, "global_scratch_size", 0), getattr(metadata, "global_scratch_align", 1)
        self._profile_scratch = getattr(metadata, "profile_scratch_size", 0), getattr(metadata, "profile_scratch_align", 1)
        self._packer = None

    def __call__(
        self, grid_x, grid_y, grid_z, stream, function, packed_metadata, launch_metadata, enter_hook, exit_hook, *args
    ):
        if enter_hook is not None:
            enter_hook(launch_metadata)
        if grid_x * grid_y * grid_z > 0:
            self._driver.session.launches += 1
            self._launch((grid_x, grid_y, grid_z), stream, function, args)
        if exit_hook is not None:
            exit_hook(launch_metadata)

    def launch_for(self, native, *args):
        """Launches for a native launcher, and prepares it to do so itself the next time."""
        self(*args)
        function = args[4]
        kernel = function.kernel()
        if not self._global_scratch[0] and not self._profile_scratch[0]:
            slots = native_slots(self._types, kernel.parameters)
            if slots is not None:
                session = self._driver.session
                native.prepare(
                    kernel=kernel,
                    function=function,
                    slots=slots,
                    nbytes=max((p["offset"] + p["size"] for p in kernel.parameters), default=0),
                    block=self._block,
                    lds=self._lds,
                    cooperative=self._cooperative,
                    stream_of=lambda handle: session.stream(handle, self._driver.get_current_device()),
                    one_device=self._driver.device_count() == 1,
                )

    def _launch(self, grid, stream, function, args):
        session = self._driver.session
        kernel = function.kernel()
        arguments = []
        flatten(self._types, args, arguments)
        workgroups = grid[0] * grid[1] * grid[2]
        scratch = [
            self._scratch("_allocator", *self._global_scratch, workgroups, stream),
            self._scratch("_profile_allocator", *self._profile_scratch, workgroups, stream),
        ]
        with session.lock:
            if self._packer is None:
                self._packer = Packer(kernel.parameters, self._driver.address_of)
            packed = self._packer.pack(arguments, scratch)
            session.ranges.drop_dead()
            try:
                queue = session.stream(stream, self._driver.get_current_device())
                kernel.launch(grid, self._block, packed=packed, stream=queue, lds=self._lds, cooperative=self._cooperative)
                if self._driver.is_emulated:
                    # Host code looks at the tensors when it likes.
                    queue.synchronize()
            except hiplaunch.DeviceLostError as error:
                if self._driver.is_emulated:
                    session.replace()
                text = error.report["detail"] or str(error)
                if "trap 2 (" in text:
                    # What programs look for in the message of a failed assertion.
                    text = f"device-side assert triggered: {text}"
                raise KernelFault(text, error.report) from None
            except hiplaunch.Error:
                raise
            except BaseException:
                # That of a signal's handler: Ctrl-C, or a limit of time.
                if self._driver.is_emulated:
                    session.replace()
                raise

    def _scratch(self, allocator, size, alignment, workgroups, stream):
        if not size:
            return None
        from triton.runtime import _allocation

        if allocator == "_profile_allocator" and not getattr(_allocation, "has_profile_allocator", lambda: True)():
            return self._driver.allocate_default_profile_scratch(size * workgroups, alignment, stream)
        allocate = getattr(_allocation, allocator)
        allocate = allocate.get() if hasattr(allocate, "get") else allocate
        return allocate(size * workgroups, alignment, stream)


class Driver(DriverBase):
    """A driver of Triton over a launcher of hiplaunch."""

    def __init__(self, options):
        super().__init__()
        self.session = Session(options)
        # The backend "noop", for benchmarks, has no GPU either.
        self.is_emulated = self.session.launcher.backend not in ("hip", "hsa")
        self.utils = Utils(self)
        self.interface = DeviceInterface(self)
        self._device = 0
        # Whether torch's device "cuda" is the emulated device.
        self.has_cuda = False
        target = self.properties(0)["target"].split(":")[0]
        self._target = GPUTarget("hip", target, self.properties(0)["wavefront_size"])

    @classmethod
    def is_active(cls):
        """Returns True: this is asked while `activate` has put the driver in the place of AMD's."""
        return True

    def launcher_cls(self, source, metadata):
        """Returns what launches a compiled kernel."""
        launcher = TritonLauncher(self, source, metadata)
        # The emulator's launches are complete when they return, and a fault is dealt with then. They need not be fast.
        return launcher if self.session.launcher.backend == "emulator" else NativeLauncher(launcher.launch_for)

    def device_count(self):
        """Returns the number of devices."""
        return len(self.session.current().devices)

    def properties(self, device):
        """Returns the properties of a device, of the current one for None, as hiplaunch names them."""
        return self.session.current().devices[self._device if device is None else device].properties

    def get_current_target(self):
        """Returns what Triton compiles for."""
        return self._target

    def get_current_device(self):
        """Returns the number of the current device: torch's, on a GPU."""
        if self.is_emulated and not self.has_cuda:
            return self._device
        import torch

        return torch.cuda.current_device()

    def set_current_device(self, device):
        """Makes a device current."""
        if self.has_cuda or not self.is_emulated:
            import torch

            torch.cuda.set_device(device)
        elif 0 <= device < self.device_count():
            self._device = device
        else:
            raise ValueError(f"device {device} is not one of the {self.device_count()} devices")

    def get_current_stream(self, device=None):
        """Returns the handle of torch's current stream, on a GPU, and 0 on the emulator."""
        if self.is_emulated:
            return 0
        import torch

        return torch.cuda.current_stream(device).cuda_stream

    def get_device_capability(self, device=None):
        """Returns the version that torch for ROCm gives a device's target."""
        return self.get_device_interface().get_device_capability(device)

    def get_device_interface(self):
        """Returns torch.cuda, or what stands for it where torch has the CPU alone."""
        if self.is_emulated and not self.has_cuda:
            return self.interface
        import torch

        return torch.cuda

    def get_active_torch_device(self):
        """Returns the device whose tensors kernels get."""
        import torch

        is_cpu = self.is_emulated and not self.has_cuda
        return torch.device("cpu") if is_cpu else torch.device("cuda", self.get_current_device())

    def map_python_to_cpp_type(self, ty):
        """Returns the C++ type of a type of Triton."""
        from triton.backends.amd.driver import ty_to_cpp

        return ty_to_cpp(ty)

    def get_benchmarker(self):
        """Returns the function that times kernels: the host's time, on the emulator."""
        if self.is_emulated:
            return _benchmark.do_bench
        from triton.testing import do_bench

        return do_bench

    def get_empty_cache_for_benchmark(self):
        """Returns memory as large as the caches, which benchmarks overwrite; on the emulator, there are none."""
        import torch

        words = 0 if self.is_emulated else 256 * 1024 * 1024 // 4
        return torch.empty(words, dtype=torch.int, device=self.get_active_torch_device())

    def clear_cache(self, cache):
        """Overwrites the memory of `get_empty_cache_for_benchmark`."""
        cache.zero_()

    def allocate_default_profile_scratch(self, size, alignment, stream):
        """Returns memory for a profiler that set no allocator."""
        import torch

        return torch.zeros(size, dtype=torch.int8, device=self.get_active_torch_device())

    def assemble_tensormap_to_arg(self, tensormaps_info, args):
        """Returns `args`: there are no tensor maps on AMD's GPUs."""
        return args

    def address_of(self, value):
        """Returns the address that a kernel gets for an argument, whose memory it can access from now on."""
        if value is None:
            return 0
        if isinstance(value, int):
            return value
        if isinstance(value, (hiplaunch.Buffer, hiplaunch.HostMemory)):
            return value.address
        if isinstance(value, Array):
            self.session.ranges.add_array(value.array)
            return value.data_ptr()
        # Triton's TensorWrapper shows a tensor as of another type.
        tensor = value
        while not hasattr(tensor, "untyped_storage") and hasattr(tensor, "base"):
            tensor = tensor.base
        if hasattr(tensor, "untyped_storage"):
            self._check_tensor(tensor)
        elif not hasattr(value, "data_ptr"):
            raise TypeError(f"{type(value).__name__} can't be the argument of a pointer; pass a tensor or an array")
        return value.data_ptr()

    def _check_tensor(self, tensor):
        # Libraries wrap tensors in objects that have no device.
        kind = tensor.device.type if hasattr(tensor, "device") else None
        if kind == "cpu" and (self.has_cuda or not self.is_emulated) and not tensor.is_pinned():
            raise ValueError("Pointer argument cannot be accessed from Triton (cpu tensor?)")
        if not self.is_emulated:
            return
        if kind not in (None, "cpu", "cuda"):
            raise ValueError(f"the emulator's kernels access tensors of the CPU and of cuda; this one is on {tensor.device}")
        # A library's pointer may say that it is its own storage. The tensor whose address it has was registered then.
        if hasattr(tensor.untyped_storage(), "nbytes"):
            self.session.ranges.add_tensor(tensor)
