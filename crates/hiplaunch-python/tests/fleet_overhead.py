"""Measures what a fleet of one worker adds to a small launch script:

    python fleet_overhead.py [COUNT]

It runs copies of one script, which differ by a comment, in this process and as a fleet, and in this process again. The overhead is the
difference for each script.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from hiplaunch._native import ScriptRunner
from hiplaunch.fleet import Fleet

SCRIPT = Path(__file__).resolve().parents[3] / "tests/data/saxpy.launch.toml"


def made(folder: Path, count: int) -> list[str]:
    """Makes the scripts and their files, and returns the paths of the scripts."""
    text = SCRIPT.read_text()
    for name in ScriptRunner(["none"]).files(SCRIPT):
        (folder / Path(name).name).write_bytes(Path(name).read_bytes())
        text = text.replace(os.path.relpath(name, SCRIPT.parent), Path(name).name)
    paths = [folder / f"{number:06}.launch.toml" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_text(f"{text}# {number}\n")
    return [str(path) for path in paths]


def one_process(paths: list[str]) -> float:
    runner = ScriptRunner(["--backend", "emulator", "--", "none"])
    begin = time.perf_counter()
    for path in paths:
        runner.run(path)
    return time.perf_counter() - begin


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    os.environ["HIPLAUNCH_EMULATOR_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        paths = made(Path(folder), count)
        before = one_process(paths)
        begin = time.perf_counter()
        with Fleet(workers=1) as fleet:
            report = fleet.run_scripts(paths).report()
            whole = time.perf_counter() - begin
        after = one_process(paths)
    assert report.totals["passed"] == count, report.totals
    alone = (before + after) / 2
    print(f"{count} scripts: {before:.1f} and {after:.1f} s in one process, {report.seconds:.1f} s as a fleet of one worker")
    print(f"overhead of a script: {(report.seconds - alone) / count * 1e3:.2f} ms; {(whole - alone) / count * 1e3:.2f} ms with Ray's start")


main()
