"""Programs that know nothing of hiplaunch: the driver is activated for them, and for Python programs that they start."""

import os
import pathlib

import hiplaunch.triton

from ._replace import Replacements

# Python imports `sitecustomize` from here before anything else in programs that this one starts.
_STARTUP = str(pathlib.Path(__file__).with_name("_startup"))

_mapped = None


def activate(target=None):
    """Activates the driver and maps torch's "cuda" to the CPU, unless there is an AMD GPU. Returns the driver."""
    global _mapped
    if _mapped is not None:
        deactivate()
    driver = hiplaunch.triton.activate(target)
    replacements = Replacements()
    mode = None
    if driver.is_emulated:
        from ._cuda import map_cuda

        mode = map_cuda(driver, replacements)
        os.environ["HIPLAUNCH_EMULATOR_TARGET"] = driver.properties(0)["target"]
        os.environ["HIPLAUNCH_BACKEND"] = "emulator"
        paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        if _STARTUP not in paths:
            os.environ["PYTHONPATH"] = os.pathsep.join([_STARTUP, *filter(None, paths)])
    _mapped = mode, replacements
    return driver


def deactivate():
    """Undoes `activate`. Programs that are started from now on are still activated."""
    global _mapped
    if _mapped is None:
        return
    mode, replacements = _mapped
    _mapped = None
    replacements.undo()
    if mode is not None:
        mode.__exit__(None, None, None)
    hiplaunch.triton.deactivate()
