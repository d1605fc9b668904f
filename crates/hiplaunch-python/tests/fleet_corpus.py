"""Runs a corpus of launch scripts as a fleet of three workers, one of which is killed on the way, and prints figures:

    python fleet_corpus.py CORPUS [OPTIONS OF `hiplaunch run`]

It fails if a script does not pass, if a result is missing or comes twice, or if no worker died. A worker that dies before the kill
has had its results taken.
"""

import collections
import os
import signal
import sys
import time

from hiplaunch._native import ScriptRunner
from hiplaunch.fleet import Fleet


def main() -> None:
    corpus, *options = sys.argv[1:]
    begin = time.perf_counter()
    with Fleet(workers=3) as fleet:
        run = fleet.run_scripts([os.path.join(corpus, "**", "*.launch.toml")], options)
        seen: collections.Counter[int] = collections.Counter()
        killed = None
        for result in run:
            seen[result.index] += 1
            if killed is None and len(seen) > run.count // 3:
                killed = result.worker
                os.kill(killed, signal.SIGKILL)
        report = run.report()
    whole = time.perf_counter() - begin
    for result in report.results:
        if result.status != "passed":
            print(f"{result.name}: {result.status}: {result.error}")
    workers = collections.Counter(result.worker for result in report.results)
    (node,) = report.nodes
    print(f"{len(report.results)} scripts on three workers: {', '.join(f'{n} {what}' for what, n in report.totals.items() if n)}")
    print(f"worker {killed} was killed after {run.count // 3 + 1} results; a new one took its place")
    for death in report.deaths:
        print(f"  it ran {len(death.running)} scripts, which ran again: {', '.join(map(os.path.basename, death.running[:4]))}")
    print(f"results by worker: {', '.join(f'{worker}: {count}' for worker, count in workers.items())}")
    print(f"{report.seconds:.1f} s for the scripts, {whole:.1f} s with Ray's start and end")
    print(f"{node.files_written} files, {node.bytes_written:,} bytes, written to the node once")

    # The same scripts in this process, for comparison.
    os.environ["HIPLAUNCH_EMULATOR_THREADS"] = "1"
    runner = ScriptRunner(["--backend", "emulator", *options, "--", "scripts"])
    begin = time.perf_counter()
    for result in report.results:
        runner.run(result.name)
    print(f"{time.perf_counter() - begin:.1f} s for the same scripts in one process")

    assert sorted(seen) == list(range(run.count)) and set(seen.values()) == {1}, "a result is missing, or came twice"
    assert report.totals["passed"] == run.count, "a script did not pass"
    assert [death.worker for death in report.deaths] == [killed], "another worker died"


main()
