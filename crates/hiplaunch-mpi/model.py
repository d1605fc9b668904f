#!/usr/bin/env python3
"""A model of a step of the application heat: what it says of the runs of scaling.py, and of many GPUs.

    crates/hiplaunch-mpi/scaling.py openmpi --json runs.json
    crates/hiplaunch-mpi/model.py runs.json

A rank's step takes max(interior, exchange) + border: the exchange runs beside the interior. After every hundredth step the host adds
up the sums of its tiles, and all ranks reduce 1,088 bytes. On emulated devices nothing runs beside anything else once there are more
ranks than cores, so there the parts are added, and the ranks take turns.

The model's constants for these runs are fitted to them. Those for GPUs are options; the defaults are from data sheets and not
measured: MI300X has 5.3 TB/s and 64 GB/s to its host, and a Slingshot 11 port 25 GB/s. What the host takes to add was measured.
"""

import argparse
import json
import math
import os
import pathlib

# f64, read once and written once; the neighbours come from caches.
BYTES_OF_A_CELL = 16
# What the host of a rank adds up for each tile of 16 x 16 cells: two f64.
SUMS_OF_A_TILE = 2
STEPS_OF_A_SUM = 100


def solve(matrix, right):
    """Returns the solution of two linear equations, by Cramer's rule."""
    (a, b), (c, d) = matrix
    determinant = a * d - b * c
    return [(right[0] * d - b * right[1]) / determinant, (a * right[1] - c * right[0]) / determinant]


def fitted(runs, cores):
    """Prints the constants that fit the runs best, by relative least squares, and what they give for each run."""
    rows, times = [], []
    for run in runs:
        steps = run["last_step"] - run["first_step"]
        turns = max(1.0, run["ranks"] / cores)
        cells = run["width"] * run["height"] / run["ranks"]
        rows.append([turns * cells, turns * run["counts_a_step"]["messages_sent"]])
        times.append(run["seconds"] / steps)
    weighted = [[x / time for x in row] for row, time in zip(rows, times)]
    normal = [[sum(row[i] * row[j] for row in weighted) for j in range(2)] for i in range(2)]
    constants = solve(normal, [sum(row[i] for row in weighted) for i in range(2)])
    cell, message = constants
    print(f"Fitted on {cores} cores: {1e9 * cell:.1f} ns a cell, {1e6 * message:.0f} us a message.\n")
    print("| ranks | field | ms a step | the model says |")
    print("|---|---|---|---|")
    for run, row, time in zip(runs, rows, times):
        said = sum(x * constant for x, constant in zip(row, constants))
        print(f"| {run['ranks']} | {run['width']}x{run['height']} | {1e3 * time:.2f} | {1e3 * said:.2f} ({100 * (said / time - 1):+.0f} %) |")


def predicted(options):
    """Prints what a step takes on many GPUs, each with a square block."""
    exchange_floor = options.latency + options.enqueue
    print(
        f"\nFor {options.gpus} GPUs: {options.memory / 1e12:.1f} TB/s of memory, {options.network / 1e9:.0f} GB/s of network each, "
        f"{1e6 * options.latency:.0f} us of latency, {1e6 * options.enqueue:.0f} us for copies, events and host functions, "
        f"{options.link / 1e9:.0f} GB/s to the host, which adds a number in {1e9 * options.add:.1f} ns.\n"
    )
    print("| block | interior, us | exchange, us | hidden | sums, us a step | step, us | efficiency |")
    print("|---|---|---|---|---|---|---|")
    for edge in (256, 512, 1024, 2048, 4096, 8192, 16384):
        interior = (edge - 2) ** 2 * BYTES_OF_A_CELL / options.memory + options.launch
        border = 4 * edge * BYTES_OF_A_CELL / options.memory + options.launch
        exchange = exchange_floor + 4 * edge * 8 / options.network
        numbers = (edge / 16) ** 2 * SUMS_OF_A_TILE
        reduction = math.log2(options.gpus) * options.latency + options.enqueue
        sums = (numbers * (8 / options.link + options.add) + reduction) / STEPS_OF_A_SUM
        step = max(interior, exchange) + border + sums
        alone = edge**2 * BYTES_OF_A_CELL / options.memory + options.launch
        hidden = "all" if interior >= exchange else f"{100 * interior / exchange:.0f} %"
        print(
            f"| {edge}x{edge} | {1e6 * interior:.1f} | {1e6 * exchange:.1f} | {hidden} | {1e6 * sums:.1f} | {1e6 * step:.1f} "
            f"| {100 * alone / step:.0f} % |"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=pathlib.Path, help="what scaling.py --json wrote")
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)), help="that all ranks of the runs shared")
    parser.add_argument("--gpus", type=int, default=10_000)
    parser.add_argument("--memory", type=float, default=5.3e12, help="bytes a second of a GPU's memory")
    parser.add_argument("--network", type=float, default=25e9, help="bytes a second of a GPU's network port")
    parser.add_argument("--latency", type=float, default=5e-6, help="seconds of a message between nodes")
    parser.add_argument("--enqueue", type=float, default=20e-6, help="seconds for copies, events and host functions of an exchange")
    parser.add_argument("--link", type=float, default=64e9, help="bytes a second from a GPU to its host")
    parser.add_argument("--add", type=float, default=4.4e-9, help="seconds in which a host adds a number to an exact sum")
    parser.add_argument("--launch", type=float, default=5e-6, help="seconds from one kernel's end to the next one's begin")
    options = parser.parse_args()
    fitted(json.loads(options.runs.read_text()), options.cores)
    predicted(options)


if __name__ == "__main__":
    main()
