"""tinygrad on hiplaunch: its HIP device, with memory, launches and the compiler of hiplaunch.

tinygrad renders its kernels as HIP C++ (its HIPRenderer). Here hiprtc compiles them through hiplaunch.compile, with the cache on disk,
and hiplaunch launches them: on an AMD GPU, or in the emulator on a machine without one. The device of tinygrad is what its
`tinygrad/runtime/ops_*.py` are: an allocator, a program and a renderer.

    pip install hiplaunch tinygrad numpy
    HIPLAUNCH_EMULATOR_TARGET=gfx90a python examples/python/hosts/tinygrad_hip.py
"""

import os
import sys
import time
import types

import hiplaunch

os.environ.setdefault("DEV", "HIP")
os.environ.setdefault("PARALLEL", "0")  # Compile in this process, which has the device and the cache.
from tinygrad import device as tiny  # noqa: E402
from tinygrad.renderer import cstyle  # noqa: E402


class Compiler(tiny.Compiler):
    """HIP C++ to a code object."""

    def __init__(self, arch):
        super().__init__()
        self.arch = arch

    def compile(self, source):
        # tinygrad declares the vector types itself, and hiprtc has them, too. A namespace does not change the kernel's name.
        source = f"namespace tinygrad {{\n{source}\n}}\n"
        try:
            return bytes(hiplaunch.compile(source, ["-O3"], target=self.arch, name="tinygrad.hip"))
        except hiplaunch.CompileError as error:
            raise tiny.CompileError(str(error)) from error


class HIPRenderer(cstyle.HIPRenderer):
    def __init__(self, target):
        super().__init__(target)
        self.compiler = Compiler(target.arch)


class Memory:
    """Bytes of a hiplaunch.Buffer from an offset on."""

    def __init__(self, buffer, offset=0):
        self.buffer, self.offset = buffer, offset


class Allocator(tiny.LRUAllocator):
    def _alloc(self, size, options):
        return Memory(self.dev.launcher.empty(size))

    def _free(self, memory, options):
        memory.buffer.close()  # Work in flight keeps it.

    def _copyin(self, target, source):
        target.buffer.copy_from(source, offset=target.offset)

    def _copyout(self, target, source):
        source.buffer.copy_to(target, offset=source.offset)

    def _offset(self, memory, size, offset):
        return Memory(memory.buffer, memory.offset + offset)


class Program(tiny.Program):
    def __init__(self, dev, program):
        self.dev = dev
        self.kernel = dev.launcher.register(program.lib, program.name)

    def __call__(self, *memory, global_size=(1, 1, 1), local_size=(1, 1, 1), vals=(), wait=False, **_):
        arguments = [part.buffer.address + part.offset for part in memory]
        began = time.perf_counter()
        self.kernel[global_size, local_size or (1, 1, 1)](*arguments, *vals)
        if wait:  # tinygrad wants the seconds that it took.
            self.dev.synchronize()
            return time.perf_counter() - began


class HIPDevice(tiny.Compiled):
    def __init__(self, device=""):
        self.launcher = hiplaunch.Launcher()
        arch = self.launcher.devices[0].target.split(":")[0]
        super().__init__(device, Allocator(self), [HIPRenderer], Program, arch=arch)

    def synchronize(self):
        self.launcher.synchronize()


def install():
    """Makes tinygrad's device HIP this one. Call it before the device is first used."""
    module = types.ModuleType("tinygrad.runtime.ops_hip")
    module.HIPDevice = HIPDevice
    sys.modules[module.__name__] = module


def main():
    install()
    import numpy
    from tinygrad import Tensor

    random = numpy.random.default_rng(0)
    x, w = random.standard_normal((32, 64), "f4"), random.standard_normal((64, 16), "f4")
    got = (Tensor(x) @ Tensor(w)).relu().softmax().numpy()
    hidden = numpy.maximum(x @ w, 0)
    wanted = numpy.exp(hidden - hidden.max(1, keepdims=True))
    wanted /= wanted.sum(1, keepdims=True)
    difference = abs(got - wanted).max()
    print(f"{tiny.Device['HIP'].launcher}: softmax(relu(x @ w)) differs by at most {difference:.1e} from numpy")
    if difference > 1e-5:
        sys.exit("it differs too much")

    # A step of gradient descent, whose kernels tinygrad makes too.
    weight = Tensor(w).requires_grad_() if hasattr(Tensor, "requires_grad_") else Tensor(w)
    loss = (Tensor(x) @ weight).square().mean()
    loss.backward()
    gradient = 2 * x.T @ (x @ w) / (32 * 16)
    difference = abs(weight.grad.numpy() - gradient).max()
    print(f"the gradient differs by at most {difference:.1e}")
    if difference > 1e-4:
        sys.exit("it differs too much")


if __name__ == "__main__":
    main()
