"""Runs a program of Triton on hiplaunch: python -m hiplaunch.triton [--target TARGET] PROGRAM [ARGUMENTS]"""

import argparse
import runpy
import sys

from . import _programs


def main():
    """Runs the program that the command line names, as Python does."""
    parser = argparse.ArgumentParser(
        prog="python -m hiplaunch.triton",
        description="Runs a Python program whose Triton kernels hiplaunch launches. Without an AMD GPU, torch's device "
        '"cuda" is its CPU, and kernels run on the emulator.',
    )
    parser.add_argument("--target", help="what the emulator emulates: gfx90a, gfx942 (default), gfx950, gfx1100 or another of gfx11")
    parser.add_argument("program", help="the program's file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's arguments")
    options = parser.parse_args()
    _programs.activate(options.target)
    sys.argv = [options.program, *options.arguments]
    runpy.run_path(options.program, run_name="__main__")


if __name__ == "__main__":
    main()
