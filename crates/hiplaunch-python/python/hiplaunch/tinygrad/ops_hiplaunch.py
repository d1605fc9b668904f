"""tinygrad's device HIPLAUNCH: memory of the pool, launches by handle, copies and times. tinygrad imports it by its own name for it."""

import contextlib
import functools

import hiplaunch

try:
    from hiplaunch.tinygrad._graph import Graph
    from hiplaunch.tinygrad._renderers import HIPRenderer, LLVMRenderer
    from tinygrad.device import Compiled, LRUAllocator, Program
    from tinygrad.helpers import DEV
except ImportError as error:
    raise ImportError("the device HIPLAUNCH is for tinygrad 0.14.0, whose interface for devices this version does not have") from error


@functools.cache
def _launcher():
    """The launcher of all devices, so that they can copy to each other. DEV=HIPLAUNCH:HIP:gfx942 names the emulator's target."""
    launcher = hiplaunch.Launcher(target=DEV.target("HIPLAUNCH").arch or None)
    # From about so many kernels on, a graph of HIP's costs less than their launches (BENCHMARKS.md).
    launcher.set_graph_break_even(8)
    return launcher


class HIPLAUNCHAllocator(LRUAllocator):
    """Device memory; tinygrad's handle of it is a hiplaunch.Buffer."""

    def _alloc(self, size, options):
        if options.external_ptr:
            raise ValueError("HIPLAUNCH does not use memory that others allocated (external_ptr)")
        try:
            return self.dev.launcher.empty(size, stream=self.dev.stream)
        except hiplaunch.OutOfMemoryError as error:  # tinygrad frees what it keeps, and tries again.
            raise MemoryError(str(error)) from error

    def _free(self, buffer, options):
        # Work in flight keeps the memory. At the end of the program the launcher may be gone before.
        with contextlib.suppress(hiplaunch.ClosedError):
            buffer.close()

    def _offset(self, buffer, size, offset):
        return buffer.part(offset, size)

    def _copyin(self, target, source):
        target.copy_from(source)

    def _copyout(self, target, source):
        source.copy_to(target)

    def _transfer(self, target, source, size, src_dev, dest_dev):
        if src_dev is not dest_dev:
            dest_dev.wait_for(src_dev)
        target.copy_from(source)
        if src_dev is not dest_dev:  # What writes the source next waits for the copy.
            src_dev.wait_for(dest_dev)


class HIPLAUNCHProgram(Program):
    """A registered kernel."""

    def __init__(self, dev, obj):
        self.dev, self.name = dev, obj.name
        self.kernel = dev.launcher.register(obj.lib, obj.name)

    def __call__(self, *buffers, global_size=(1, 1, 1), local_size=(1, 1, 1), vals=(), wait=False, **_):
        try:
            launch = self.kernel[global_size, local_size or (1, 1, 1), self.dev.stream]
            if not wait:
                launch(*buffers, *vals)
                return None
            return self.dev.timed(lambda: launch(*buffers, *vals))
        except hiplaunch.LaunchError as error:  # The exception that tinygrad's search expects of a launch that can't be.
            raise RuntimeError(str(error)) from error


class HIPLAUNCHDevice(Compiled):
    """One device of the launcher: HIPLAUNCH is the first, HIPLAUNCH:1 the next."""

    def __init__(self, device=""):
        self.launcher = _launcher()
        number = int(device.split(":")[1]) if ":" in device else 0
        if number >= self.count():
            how = "" if self.launcher.backend in ("hip", "hsa") else "; HIPLAUNCH_EMULATOR_DEVICES says how many are emulated"
            raise RuntimeError(f"there is no device {device}: the launcher has {self.count()}{how}")
        self.place = self.launcher.devices[number]
        self.stream = self.place.default_stream
        self._start, self._end = (self.launcher.event(number) for _ in range(2))
        self._done = self.launcher.event(number, timing=False)
        target = self.place.target.split(":")[0]
        super().__init__(
            device, HIPLAUNCHAllocator(self), [HIPRenderer, LLVMRenderer], HIPLAUNCHProgram, graph=Graph, arch=target
        )

    def count(self):
        return len(self.launcher.devices)

    def synchronize(self):
        self.place.synchronize()

    def wait_for(self, other):
        """Lets work that is enqueued from now on wait for what another device was given so far."""
        other._done.record(other.stream)
        self.stream.wait(other._done)

    def timed(self, enqueue):
        """Enqueues work, waits for it, and returns the seconds that it took."""
        self._start.record(self.stream)
        enqueue()
        self._end.record(self.stream)
        self._end.synchronize()
        return self._start.elapsed_ms(self._end) * 1e-3
