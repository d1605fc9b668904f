"""Triton kernels on hiplaunch: compiled by Triton's AMD compiler, and run by the emulator if there is no AMD GPU.

    import hiplaunch.triton
    hiplaunch.triton.activate(target="gfx942")

From then on, `kernel[grid](...)` compiles for the target and launches with hiplaunch. On the emulator, the arguments are
tensors of torch's CPU and numpy arrays: kernels access their memory itself, so nothing is copied, and each launch is
complete when it returns. On an AMD GPU, with torch for ROCm, kernels are launched on torch's current stream.

`pytest -p hiplaunch.triton.pytest` and `python -m hiplaunch.triton program.py` also run programs that say device="cuda".
"""

import gc
import os
import shutil

from ._fault import KernelFault
from ._replace import Replacements

__all__ = ["KernelFault", "activate", "deactivate"]

# The active driver and what was replaced for it.
_active = None


def activate(target=None, **options):
    """Makes hiplaunch the active driver of Triton, and returns the driver.

    On the emulator, `target` is what it emulates: "gfx90a", "gfx942", "gfx950", "gfx1100" or another of gfx11. Without it,
    HIPLAUNCH_EMULATOR_TARGET says it, and gfx942 is the default. `options` are those of `hiplaunch.Launcher`. The backend is
    "hip" if torch for ROCm has a device, and else "emulator", unless `backend` or HIPLAUNCH_BACKEND says it.
    HIPLAUNCH_EMULATOR_SANITIZE=1 is `sanitize=True`: races, uses of memory that was never written, and missing waits are
    exceptions of the launch.

    A driver that was activated before is deactivated first: tensors need not be made again, and kernels are compiled for
    the new target when they are used.
    """
    global _active
    from triton.runtime import driver as triton_driver

    from ._arrays import accept_arrays, register_on_data_ptr
    from ._driver import Driver

    deactivate()
    options.setdefault("backend", os.environ.get("HIPLAUNCH_BACKEND") or ("hip" if _has_rocm_device() else "emulator"))
    if options["backend"] == "emulator":
        options["target"] = target or os.environ.get("HIPLAUNCH_EMULATOR_TARGET") or "gfx942"
    elif target is not None:
        raise ValueError("a target can be chosen for the emulator only; a GPU has its own")
    _name_linker()
    driver = Driver(options)
    replacements = Replacements()
    if driver.is_emulated:
        accept_arrays(replacements)
        register_on_data_ptr(replacements, driver)
    _replace_backend(replacements)
    _forget_kernels()
    triton_driver.set_active(driver)
    _active = driver, replacements
    return driver


def deactivate():
    """Gives Triton its own driver again, which it looks for when it is used next. Without an active driver, does nothing."""
    global _active
    if _active is None:
        return
    from triton.runtime import driver as triton_driver

    driver, replacements = _active
    _active = None
    replacements.undo()
    # Before the driver goes, which they tell that they are unloaded.
    _forget_kernels()
    if not hasattr(triton_driver, "_active"):
        # Triton 3.2, which looks for its own driver when that is used.
        triton_driver.reset_active()
    elif triton_driver._active is driver:
        # Its own `reset_active` fails without a GPU.
        triton_driver._active = None
    driver.session.close()


def _replace_backend(replacements):
    # torch.compile asks whether the active driver is that of a backend, and activates the backend's if it is not.
    import dataclasses

    import triton.backends

    from ._driver import Driver

    of_amd = triton.backends.backends["amd"]
    replacements.set(
        triton.backends, "backends", {**triton.backends.backends, "amd": dataclasses.replace(of_amd, driver=Driver)}
    )


def _has_rocm_device():
    try:
        import torch
    except ModuleNotFoundError:
        return False
    return torch.version.hip is not None and torch.cuda.is_available()


def _name_linker():
    # Triton has a linker since 3.5. Before, it looks for one of ROCm, or one without a version in its name.
    if "TRITON_HIP_LLD_PATH" not in os.environ:
        names = ["ld.lld", *(f"ld.lld-{version}" for version in range(40, 13, -1))]
        path = next(filter(None, map(shutil.which, names)), None)
        if path is not None:
            os.environ["TRITON_HIP_LLD_PATH"] = path


def _forget_kernels():
    # A function keeps what was compiled for a device's number, whichever driver the device was of. A compiled kernel keeps what
    # the driver loaded; without it, the kernel is loaded again when it is used.
    from triton.compiler import CompiledKernel, compiler
    from triton.runtime.jit import JITFunction

    # How much LDS a device has. Older versions of Triton ask each time.
    getattr(getattr(compiler, "max_shared_mem", None), "cache_clear", lambda: None)()
    for thing in gc.get_objects():
        if issubclass(type(thing), JITFunction):
            # `cache` is its name up to 3.2.
            caches = getattr(thing, "device_caches", None)
            (thing.cache if caches is None else caches).clear()
        elif issubclass(type(thing), CompiledKernel):
            thing.module = thing.function = None
            if hasattr(thing, "_run"):
                thing._run = None
