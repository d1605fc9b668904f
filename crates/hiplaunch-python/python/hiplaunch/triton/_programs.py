"""Programs that know nothing of hiplaunch: the driver is activated for them, and for Python programs that they start."""

import os
import pathlib
import sys

import hiplaunch.triton

from . import _benchmark
from ._replace import Replacements

# Python imports `sitecustomize` from here before anything else in programs that this one starts.
_STARTUP = str(pathlib.Path(__file__).with_name("_startup"))

# What was replaced for the active driver, the driver, and the options that it was activated with.
_mapped = None


# The options of the command and of the plug-in of pytest: the name, what it is for, and the variable that child processes get.
_OPTIONS = {
    "target": ("TARGET", "what the emulator emulates: gfx90a, gfx942 (default), gfx950, gfx1100, gfx1201 ...", "HIPLAUNCH_EMULATOR_TARGET"),
    "autotune": ("WHICH", "which configurations Triton's autotuner tries: all (default), or the first alone", "HIPLAUNCH_AUTOTUNE"),
    "time-budget": ("SECONDS", "fail a kernel that the emulator runs for longer", "HIPLAUNCH_EMULATOR_TIME_BUDGET"),
}


def add_options(add, prefix="--"):
    """Adds the options to a parser, whose function `add` is."""
    for name, (value, help_, variable) in _OPTIONS.items():
        choices = {"choices": ["all", "first"]} if name == "autotune" else {}
        add(prefix + name, metavar=value, default=None, help=f"{help_}; also {variable}", **choices)


def _options():
    return [os.environ.get(variable) for _, _, variable in _OPTIONS.values()]


def activate(target=None, autotune=None, time_budget=None):
    """Activates the driver and makes the emulated device torch's "cuda", unless there is an AMD GPU. Returns the driver.

    A driver that is active with the same options stays.
    """
    # A program that another one started is activated when it imports Triton, with the options of the variables.
    for (_, _, variable), value in zip(_OPTIONS.values(), (target, autotune, time_budget)):
        if value is not None:
            os.environ[variable] = str(value)
    import triton  # noqa: F401

    global _mapped
    if _mapped is not None:
        _, driver, options = _mapped
        active = hiplaunch.triton._active
        if options == _options() and active is not None and active[0] is driver:
            return driver
        deactivate()
    driver = hiplaunch.triton.activate(target)
    replacements = Replacements()
    if driver.is_emulated:
        from ._cuda import map_cuda

        try:
            map_cuda(driver, replacements)
        except BaseException:
            replacements.undo()
            hiplaunch.triton.deactivate()
            raise
        driver.has_cuda = True
        if os.environ.get("HIPLAUNCH_AUTOTUNE") == "first":
            _benchmark.take_first(replacements)
        os.environ["HIPLAUNCH_EMULATOR_TARGET"] = driver.properties(0)["target"]
        os.environ["HIPLAUNCH_BACKEND"] = "emulator"
        paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        if _STARTUP not in paths:
            os.environ["PYTHONPATH"] = os.pathsep.join([_STARTUP, *filter(None, paths)])
        # torch.compile gives the processes in which it compiles this process's path. The first entry is the program's folder.
        if _STARTUP not in sys.path:
            sys.path.insert(1, _STARTUP)
    _mapped = replacements, driver, _options()
    return driver


def deactivate():
    """Undoes `activate`. Programs that are started from now on are still activated."""
    global _mapped
    if _mapped is None:
        return
    replacements, *_ = _mapped
    _mapped = None
    replacements.undo()
    hiplaunch.triton.deactivate()
