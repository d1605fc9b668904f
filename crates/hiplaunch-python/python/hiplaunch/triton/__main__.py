"""Runs a program of Triton on hiplaunch: python -m hiplaunch.triton [--target TARGET] PROGRAM | -m MODULE | -c CODE [ARGUMENTS]"""

import argparse
import pathlib
import runpy
import sys

from . import _programs


def main():
    """Runs the program, the module or the code that the command line names, as Python does."""
    parser = argparse.ArgumentParser(
        prog="python -m hiplaunch.triton",
        description="Runs a Python program whose Triton kernels hiplaunch launches. Without an AMD GPU, torch's device "
        '"cuda" is the emulated device, and kernels run on the emulator.',
        usage="%(prog)s [--target TARGET] [--autotune WHICH] [--time-budget SECONDS] (PROGRAM | -m MODULE | -c CODE) [ARGUMENTS ...]",
    )
    _programs.add_options(parser.add_argument)
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is the name of a module")
    parser.add_argument("-c", dest="code", action="store_true", help="PROGRAM is the text of a program")
    parser.add_argument("program", help="the program's file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's arguments")
    options = parser.parse_args()
    _programs.activate(options.target, options.autotune, options.time_budget)
    sys.argv = [options.program, *options.arguments]
    # Python has put the current folder first, where a module's or a text's neighbours are.
    if options.module:
        runpy.run_module(options.program, run_name="__main__", alter_sys=True)
    elif options.code:
        sys.argv[0] = "-c"
        exec(compile(options.program, "<string>", "exec"), sys.modules["__main__"].__dict__)
    else:
        sys.path[0] = str(pathlib.Path(options.program).resolve().parent)
        runpy.run_path(options.program, run_name="__main__")


if __name__ == "__main__":
    main()
