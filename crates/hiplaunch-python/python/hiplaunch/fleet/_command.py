"""The command line: `hiplaunch fleet run`, `hiplaunch fleet pytest` and `hiplaunch fleet bench`."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from typing import NoReturn, Sequence

from .._native import ScriptRunner
from ._engine import Result
from ._errors import FleetError, ItemError, ray
from ._fleet import Fleet, Run
from ._jobs import matching
from ._progress import Progress

WORDS = {"passed": "PASS ", "failed": "FAIL ", "unusable": "ERROR", "skipped": "SKIP "}

STATUS = """Exit status:
  0  everything passed
  1  an item failed, or killed its worker each time
  2  unusable input: the command line, a script, a test that can't be collected; no cluster, no device, or no Ray
  3  a report could not be written
"""


def parser(program: str) -> argparse.ArgumentParser:
    """Returns the parser of the command line. What it does not know is for the command that runs the items."""
    whole = argparse.ArgumentParser(
        prog=f"{program} fleet",
        description="Run launch scripts, pytest items or benchmark cases on many devices, of this machine or of a Ray cluster.",
        epilog=f"`{program} fleet COMMAND --help` has the options of a command.\n\n{STATUS}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, what, usage, more in (
        (
            "run",
            "run launch scripts and compare their results",
            "PATTERN... [OPTIONS] [OPTIONS OF `hiplaunch run`]",
            "PATTERN is a launch script, or a pattern such as 'corpus/**/*.launch.toml', in which ** stands for folders of any\n"
            "depth. Every option of `hiplaunch run` that concerns a script can be given too, such as --validate.",
        ),
        (
            "pytest",
            "run the tests that pytest collects, each on a device",
            "[OPTIONS] [PATH...] [OPTIONS OF pytest]",
            "PATH is a test file, a folder, or FILE::NAME. Options of pytest that choose tests can be given too, such as\n"
            "-kNAME; the value of one belongs in the same word.",
        ),
        (
            "bench",
            "measure benchmark cases, each alone in a process",
            "[OPTIONS] [OPTIONS OF `hiplaunch bench`]",
            "Options of `hiplaunch bench` can be given too, such as --quick. Its document is in the report of each case.",
        ),
    ):
        sub = commands.add_parser(
            name,
            help=what,
            usage=f"{program} fleet {name} {usage}",
            description=f"{what[0].upper()}{what[1:]}.\n\n{more}",
            epilog=STATUS,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        options(sub)
        if name == "run":
            sub.add_argument("--code-object", metavar="OTHER", help="as of `hiplaunch run`")
        if name == "pytest":
            sub.add_argument("--send", metavar="PATH", action="append", default=[], help="a file or folder that tests open")
        if name == "bench":
            sub.add_argument("--filter", metavar="WORD", action="append", default=[], help="only cases with WORD in the name")
    return whole


def options(sub: argparse.ArgumentParser) -> None:
    """Adds the options that all commands have."""
    sub.add_argument(
        "--address",
        metavar="ADDRESS",
        help="the Ray cluster; `auto` for the one that this machine belongs to. Without one, a local cluster is started",
    )
    sub.add_argument("--workers", metavar="N", type=positive, help="devices to use (default: all; of this machine, its cores)")
    sub.add_argument("--devices", choices=["emulated", "hip"], default="emulated", help="default: emulated")
    sub.add_argument("--tries", metavar="N", type=positive, default=3, help="for an item that kills its worker (default: 3)")
    sub.add_argument("--quiet", action="store_true", help="print no line for what passed")
    sub.add_argument("--json", metavar="FILE", help="write the report as JSON")
    sub.add_argument("--junit", metavar="FILE", help="write the report as JUnit XML")
    sub.add_argument("--html", metavar="FILE", help="write the report as a page")


def positive(word: str) -> int:
    number = int(word)
    if number < 1:
        raise argparse.ArgumentTypeError("1 or more")
    return number


def started(fleet: Fleet, given: argparse.Namespace, rest: Sequence[str]) -> Run:
    """Begins what the command line asks for."""
    if given.command == "run":
        if given.code_object is not None:
            # The working folder has another place on a worker, and `{dir}` is the script's there.
            other = given.code_object
            rest = [*rest, "--code-object", os.path.relpath(other) if os.path.isabs(other) else other]
        # Options and patterns may be in any order, and which options have values is known to the parser of `hiplaunch run`.
        return fleet.run_scripts(ScriptRunner(rest).scripts, rest)
    if given.command == "bench":
        return fleet.run_bench(given.filter, rest)
    paths = [word for word in rest if not word.startswith("-")]
    return fleet.run_tests(paths or ["."], [word for word in rest if word.startswith("-")], files=given.send)


def show(result: Result, progress: Progress, quiet: bool) -> None:
    good = result.status in ("passed", "skipped")
    progress.step(good)
    if quiet and good:
        return
    where = f"{result.node} {result.worker}" if result.node else "not run"
    progress.line(f"{WORDS[result.status]} {result.name}  {result.seconds * 1e3:.1f} ms  {where}")
    if result.error and result.status != "passed":
        for line in result.error.splitlines():
            progress.line(f"      {line}")


def main(arguments: Sequence[str], program: str) -> NoReturn:
    """Runs a command line and ends the process."""
    given, rest = parser(program).parse_known_args(arguments)
    sys.exit(run(given, rest))


def run(given: argparse.Namespace, rest: Sequence[str]) -> int:
    """Runs a command, and returns the exit status."""
    out = sys.stdout
    try:
        ray()
        if given.command == "run":
            # What is wrong is said before Ray is started.
            matching(ScriptRunner(rest).scripts)
        settings = {"workers": given.workers, "devices": given.devices, "tries": given.tries}
        # Ray prints its messages to standard output.
        with contextlib.redirect_stdout(sys.stderr), Fleet(given.address, **settings) as fleet:
            if given.address == "auto" and fleet.address == "local":
                print("hiplaunch: no Ray cluster here: a local one is started", file=sys.stderr)
            run = started(fleet, given, rest)
            progress = Progress(run.count, given.command, out)
            try:
                for result in run:
                    show(result, progress, given.quiet)
            finally:
                progress.close()
            report = run.report()
    except (FleetError, ItemError, ValueError) as error:
        print(f"hiplaunch: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # What is left in the buffer can't be written when the process ends, either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
        return 3
    except KeyboardInterrupt:
        return 130
    for death in report.deaths:
        print(f"hiplaunch: worker {death.worker} on {death.node} died: {death.reason}", file=sys.stderr)
    for node in report.nodes:
        if node.error:
            print(f"hiplaunch: {node.error}", file=sys.stderr)
    totals = [f"{count:,} {status}" for status, count in report.totals.items() if count or status in ("passed", "failed")]
    print(", ".join(totals), flush=True)
    try:
        report.write(json=given.json, junit=given.junit, html=given.html)
    except OSError as error:
        print(f"hiplaunch: the report can't be written: {error}", file=sys.stderr)
        return 3
    return report.status
