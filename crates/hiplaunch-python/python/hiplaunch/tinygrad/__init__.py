"""tinygrad on hiplaunch: its device HIPLAUNCH, on AMD GPUs, or without a GPU in the emulator.

    DEV=HIPLAUNCH python program.py

or, without the variable, in the program:

    import hiplaunch.tinygrad
    from tinygrad import Tensor

    x = Tensor([1, 2, 3], device="HIPLAUNCH")

tinygrad looks for a device NAME in the module tinygrad.runtime.ops_NAME. Importing this package lets Python find that module for
HIPLAUNCH. A line in the folder of installed packages imports it in every Python program that is started with DEV=HIPLAUNCH.
"""

import importlib.abc
import importlib.util
import os
import pathlib
import sys

_MODULE = "tinygrad.runtime.ops_hiplaunch"


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the device's module, which is no file of tinygrad's."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname != _MODULE:
            return None
        return importlib.util.spec_from_file_location(fullname, pathlib.Path(__file__).with_name("ops_hiplaunch.py"))


sys.meta_path.append(_Finder())

# tinygrad selects a default device in every program, and fails if there is none. A machine without a GPU and without a C compiler has
# no other device than this one.
if not os.environ.get("DEV"):
    from tinygrad.device import ALL_DEVICES

    ALL_DEVICES.append("HIPLAUNCH")
