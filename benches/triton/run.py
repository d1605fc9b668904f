#!/usr/bin/env python3
"""What launches of Triton's kernels cost on the emulator, each with its result checked:

    python benches/triton/run.py --target gfx942,gfx950 --threads 1,2

Needs hiplaunch, triton, numpy and ml_dtypes. The table has one column for each target and number of threads, and AMD's published
figures. README.md says what is measured. The exit status is 1 if a result is wrong or a launch fails.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import fnmatch
import gc
import json
import os
import statistics
import sys
import time

# Before Triton is imported: products and sums become one operation, as they do by default up to 3.9.
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")

import hiplaunch
import hiplaunch.triton
import triton
from cases import CASES, MACHINES
from triton.compiler.errors import CompilationError
from work import Inputs, Unsupported

# A launch that takes longer is a failure.
BUDGET_SECONDS = 300


@dataclasses.dataclass(frozen=True)
class Setup:
    """A column of the table."""

    target: str
    threads: int
    sanitize: bool = False

    def __str__(self):
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        return f"{self.target}, {threads}{', sanitized' if self.sanitize else ''}"


@dataclasses.dataclass
class Measurement:
    """A case in one setup: seconds of each launch and its wait, on the clock and of the processor; or why there are none."""

    wall: list = dataclasses.field(default_factory=list)
    cpu: list = dataclasses.field(default_factory=list)
    macs: int = 0
    # "ok", "wrong", "failed" or "unsupported", and the reason.
    state: str = "ok"
    detail: str | None = None

    def seconds(self, figure):
        """Returns the figure that the table shows, or None."""
        if self.state != "ok":
            return None
        return FIGURES[figure][1](self)


# What the table can show of the samples.
FIGURES = {
    "median": ("Seconds a launch with its wait, median", lambda found: statistics.median(found.wall)),
    "fastest": ("Seconds a launch with its wait, fastest", lambda found: min(found.wall)),
    "cpu": ("Seconds of the processor for a launch, all threads together, least", lambda found: min(found.cpu)),
}


def measure(case, setup, samples, warmups):
    """Runs a case in a setup whose driver is active."""
    measurement = Measurement()
    try:
        work = case.workload(Inputs(setup.target), **case.parameters)
        measurement.macs = work.macs
        for number in range(warmups + samples):
            work.reset()
            wall, cpu = time.perf_counter(), time.process_time()
            # A launch is complete when it returns.
            work.launch()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            defects = work.defects(case.tolerance)
            if defects:
                measurement.state, measurement.detail = "wrong", "; ".join(defects)
                break
            if number >= warmups:
                measurement.wall.append(wall)
                measurement.cpu.append(cpu)
    except Unsupported as error:
        measurement.state, measurement.detail = "unsupported", str(error)
    except (hiplaunch.Error, CompilationError, RuntimeError) as error:
        measurement.state, measurement.detail = "failed", f"{type(error).__name__}: {error}"
    return measurement


def progress(text):
    """Shows what runs, where somebody looks."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def run(cases, setups, samples, warmups):
    """Returns the measurement of each case in each setup, by name and setup."""
    measured = {}
    for setup in setups:
        hiplaunch.triton.activate(
            setup.target, backend="emulator", threads=setup.threads, sanitize=setup.sanitize, time_budget=BUDGET_SECONDS
        )
        for case in cases:
            progress(f"{setup}: {case.name}")
            measured[case.name, setup] = measure(case, setup, *((1, 1) if setup.sanitize else (samples, warmups)))
            gc.collect()
        hiplaunch.triton.deactivate()
    progress("")
    return measured


def three_digits(number):
    """Returns a number with three digits that count, and no exponent."""
    digits = max(0, 2 - int(f"{number:.2e}".split("e")[1]))
    return f"{number:.{digits}f}"


def cell(measurement, plain, figure):
    """Returns a cell: seconds, 10^9 multiply-adds a second in parentheses; of a sanitized launch, its factor over a plain one."""
    seconds = measurement.seconds(figure)
    if seconds is None:
        return measurement.state
    text = three_digits(seconds)
    if plain is not None:
        usual = plain.seconds(figure)
        return text if usual is None else f"{text} ({seconds / usual:.1f} times)"
    return f"{text} ({three_digits(measurement.macs / seconds / 1e9)})" if measurement.macs else text


def table(cases, setups, measured, figure):
    """Returns the lines of the table, in Markdown."""
    lines = [f"| case | {' | '.join(map(str, setups))} | published |", "|---" * (len(setups) + 2) + "|"]
    for case in cases:
        cells = []
        for setup in setups:
            plain = measured.get((case.name, dataclasses.replace(setup, sanitize=False))) if setup.sanitize else None
            cells.append(cell(measured[case.name, setup], plain, figure))
        published = "" if case.published is None else "{} ({})".format(*case.published)
        lines.append(f"| {case.name} | {' | '.join(cells)} | {published} |")
    return lines


def machine():
    """Returns what the figures were measured with."""
    processor = "unknown processor"
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as file:
            processor = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), processor)
    return {
        "date": datetime.date.today().isoformat(),
        "processor": processor,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "hiplaunch": hiplaunch.__version__,
        "triton": triton.__version__,
    }


def as_json(cases, setups, measured):
    """Returns all that was measured."""
    return {
        "machine": machine(),
        "cases": [
            {
                "name": case.name,
                "parameters": case.parameters,
                "published": case.published and {"seconds": case.published[0], "machine": MACHINES[case.published[1]]},
                "runs": [dataclasses.asdict(setup) | dataclasses.asdict(measured[case.name, setup]) for setup in setups],
            }
            for case in cases
        ],
    }


def options():
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="Times Triton's kernels on the emulator, and checks their results.")
    parser.add_argument("--target", type=lambda text: text.split(","), default=["gfx942", "gfx950"], help="such as gfx942,gfx950")
    parser.add_argument(
        "--threads",
        type=lambda text: [int(part) for part in text.split(",")],
        default=[1, 2],
        help="numbers of host threads, such as 1,2",
    )
    parser.add_argument("--cases", metavar="PATTERN", default="*", help="names, with * and ?, such as 'GEMM*'")
    parser.add_argument("--samples", type=int, default=9, help="timed launches of each case (default: 9)")
    parser.add_argument("--warmups", type=int, default=3, help="launches before them (default: 3)")
    parser.add_argument("--figure", choices=FIGURES, default="median", help="what the table shows of the samples")
    parser.add_argument(
        "--sanitize", action="store_true", help="a further column for each target, with the sanitizer, of one launch after another"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small cases, two threads, one sample after one launch: whether results are right"
    )
    parser.add_argument("--json", metavar="FILE", help="writes all samples to a file")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.threads, chosen.samples, chosen.warmups = [2], 1, 1
    if chosen.samples < 1 or chosen.warmups < 0:
        parser.error("at least one sample is needed")
    return chosen


def main():
    """Measures, prints the table and what went wrong, and returns the exit status."""
    chosen = options()
    cases = [case for case in CASES if fnmatch.fnmatchcase(case.name, chosen.cases) and (case.quick or not chosen.quick)]
    if not cases:
        sys.exit(f"no case has a name like {chosen.cases}")
    setups = []
    for target in chosen.target:
        setups += [Setup(target, threads) for threads in chosen.threads]
        if chosen.sanitize:
            setups.append(Setup(target, chosen.threads[-1], sanitize=True))
    measured = run(cases, setups, chosen.samples, chosen.warmups)
    if chosen.json:
        with open(chosen.json, "w") as file:
            json.dump(as_json(cases, setups, measured), file, indent=1)
    here = machine()
    print("{date}: {processor}, {cores} cores; hiplaunch {hiplaunch}, Triton {triton}".format(**here))
    print(f"{FIGURES[chosen.figure][0]} of {chosen.samples} (10^9 multiply-adds a second).\n")
    print("\n".join(table(cases, setups, measured, chosen.figure)))
    keys = {case.published[1] for case in cases if case.published}
    print("".join(f"\n({key}) {text}." for key, text in MACHINES.items() if key in keys))
    bad = [(key, found) for key, found in measured.items() if found.detail]
    for (name, setup), found in bad:
        print(f"\n{found.state}: {name} on {setup}: {found.detail}")
    return any(found.state != "unsupported" for _, found in bad)


if __name__ == "__main__":
    sys.exit(main())
