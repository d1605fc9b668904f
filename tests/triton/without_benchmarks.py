"""Runs a tutorial of Triton without its benchmarks: python -m hiplaunch.triton without_benchmarks.py TUTORIAL"""

import runpy
import sys

import triton.testing


def _skip(*_, **__):
    return None


# The benchmarks that `perf_report` makes of functions, and those that a tutorial calls itself. The sizes are for GPUs.
triton.testing.Mark.run = _skip
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
