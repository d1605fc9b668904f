#!/usr/bin/env python3
"""Strong and weak scaling of the application heat, over 1 to 8 ranks on emulated devices, as two tables in Markdown.

    crates/hiplaunch-mpi/scaling.py openmpi [--steps 200]      after crates/hiplaunch-mpi/heat.sh openmpi, which builds it
    crates/hiplaunch-mpi/scaling.py mpich

Times are of this machine's cores, on which the emulator runs the devices of all ranks. The other columns do not depend on
the machine: they are counts of the rank that has the most, for each step.
"""

import argparse
import json
import os
import pathlib
import subprocess

COUNTS = ["messages_sent", "bytes_sent", "stream_waits_for_ranks", "host_waits", "launches", "pack_kernels", "driver_calls"]


def run(mpi, heat, ranks, size, steps):
    """Returns the report of a run."""
    many = ["--oversubscribe"] if mpi == "openmpi" else []
    command = [os.environ.get("MPIRUN", f"mpirun.{mpi}"), *many, "-n", str(ranks), heat]
    command += ["--size", size, "--steps", str(steps), "--json"]
    # More ranks than cores, also as root in a container.
    settings = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    # An emulated device has one core, so that two ranks have twice as much as one.
    settings["HIPLAUNCH_EMULATOR_THREADS"] = "1"
    done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}:\n{done.stderr}")
    return json.loads(done.stdout)


def table(title, reports):
    print(f"\n{title}\n")
    columns = ["ranks", "field", "of ranks", "ms a step", "steps/s x cells"] + [name.replace("_", " ") for name in COUNTS]
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for report in reports:
        steps = report["last_step"] - report["first_step"]
        cells = report["width"] * report["height"]
        row = [
            report["ranks"],
            f"{report['width']}x{report['height']}",
            f"{report['ranks_across']}x{report['ranks_down']}",
            f"{1000 * report['seconds'] / steps:.2f}",
            f"{cells * steps / report['seconds'] / 1e6:.1f} M",
        ]
        row += [f"{report['counts_a_step'][name]:.2f}".rstrip("0").rstrip(".") for name in COUNTS]
        print("| " + " | ".join(map(str, row)) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mpi", choices=["openmpi", "mpich"])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5, help="of which the fastest run of each case counts")
    parser.add_argument("--json", metavar="FILE", help="write the reports of all runs, for model.py")
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[2]
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", root / "target")) / "mpi"
    heat = target / "debug" / "examples" / "heat"
    built_with = target / "of"
    if not heat.is_file() or options.mpi not in built_with.read_text():
        raise SystemExit(f"no {heat}: build it with crates/hiplaunch-mpi/heat.sh {options.mpi}")
    print(f"{options.steps} steps; {options.mpi}; {len(os.sched_getaffinity(0))} cores for all ranks; the fastest of {options.rounds} runs.")
    fields = {1: "128x128", 2: "256x128", 4: "256x256", 8: "512x256"}
    cases = [(ranks, "256") for ranks in (1, 2, 4, 8)] + list(fields.items())
    # Rounds, so that what else the machine does falls on all cases; of each the fastest run.
    rounds = [[run(options.mpi, heat, *case, options.steps) for case in cases] for _ in range(options.rounds)]
    fastest = [min(reports, key=lambda report: report["seconds"]) for reports in zip(*rounds)]
    strong, weak = fastest[:4], fastest[4:]
    if len({report["checksum"] for report in strong}) != 1:
        raise SystemExit("the ranks do not agree")
    table("Strong scaling: one field", strong)
    table("Weak scaling: 128x128 cells a rank", weak)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(strong + weak))


if __name__ == "__main__":
    main()
