"""Launches compiled HIP kernels: on AMD GPUs, or without a GPU in an emulator of gfx90a, gfx942, gfx950 and gfx11.

    import hiplaunch, numpy

    launcher = hiplaunch.Launcher()
    saxpy = launcher.register("vector.hipfb", "saxpy")
    x, y = numpy.arange(1000, dtype="f4"), numpy.ones(1000, dtype="f4")
    ticket = saxpy[4, 256](2.0, hiplaunch.In(x), hiplaunch.InOut(y), 1000)
    ticket.result()                 # y is 2 * x + 1 now

A compiled kernel is trusted with the memory of its device, and what it does with its arguments is not checked, except by the
emulator: register code that you trust.
"""

from ._native import (
    DESTINATION,
    BoundKernel,
    Buffer,
    ClosedError,
    CodeObject,
    CodeObjectError,
    CompiledGraph,
    CompileError,
    Device,
    DeviceLostError,
    DriverError,
    Error,
    Event,
    Fence,
    ForkedError,
    Graph,
    GraphError,
    GraphValue,
    HostMemory,
    In,
    InOut,
    Kernel,
    Launcher,
    LaunchError,
    Module,
    Out,
    OutOfMemoryError,
    PoolSnapshot,
    Stream,
    Ticket,
    Timeline,
    __version__,
    compile,
)

__all__ = [
    "DESTINATION",
    "BoundKernel",
    "Buffer",
    "ClosedError",
    "CodeObject",
    "CodeObjectError",
    "CompiledGraph",
    "CompileError",
    "Device",
    "DeviceLostError",
    "DriverError",
    "Error",
    "Event",
    "Fence",
    "ForkedError",
    "Graph",
    "GraphError",
    "GraphValue",
    "HostMemory",
    "In",
    "InOut",
    "Kernel",
    "Launcher",
    "LaunchError",
    "Module",
    "Out",
    "OutOfMemoryError",
    "PoolSnapshot",
    "Stream",
    "Ticket",
    "Timeline",
    "__version__",
    "compile",
]
