"""What a worker does with a batch of items. It runs in the actor's process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from typing import Any, Callable, Protocol, Sequence

from .._native import ScriptRunner
from ._errors import ray
from ._files import NodeFiles

# An item's result on its way to the driver: index, status, seconds, error, value.
Outcome = tuple[int, str, float, "str | None", Any]


class Work(Protocol):
    """Runs the items of one run."""

    def __call__(self, items: Sequence[tuple[int, Any]]) -> list[Outcome]: ...


class Worker:
    """Runs batches, of one run after the other."""

    def __init__(self) -> None:
        self._run = ""
        self._files: NodeFiles | None = None
        self._work: Work | None = None
        self._home = os.getcwd()

    def work(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Runs a batch, and returns its outcomes and what was written to the node's folder."""
        begin = time.perf_counter()
        if batch["run"] != self._run or self._work is None or self._files is None:
            os.chdir(self._home)
            self._run = ""
            setup = ray().get(batch["setup"][0])
            self._files = NodeFiles(batch["folder"], batch["run"])
            self._files.receive(setup["shipped"])
            if setup["folder"] is not None:
                folder = self._files.path(setup["folder"])
                os.makedirs(folder, exist_ok=True)
                os.chdir(folder)
            self._work = KINDS[setup["kind"]](setup["options"], self._files)
            self._run = batch["run"]
        files = self._files
        files.receive(batch["shipped"])
        written = (files.written, files.written_bytes)
        files.written = files.written_bytes = 0
        outcomes = self._work(batch["items"])
        return {"outcomes": outcomes, "written": written, "seconds": time.perf_counter() - begin}


def one_by_one(function: Callable[[Any], tuple[str, str | None, Any]]) -> Work:
    """Makes work of a function that returns an item's status, error and value. What it raises is the item's error."""

    def work(items: Sequence[tuple[int, Any]]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for index, payload in items:
            begin = time.perf_counter()
            try:
                status, error, value = function(payload)
            except (Exception, SystemExit):
                status, error, value = "failed", traceback.format_exc(), None
            outcomes.append((index, status, time.perf_counter() - begin, error, value))
        return outcomes

    return work


def scripts(options: list[str], files: NodeFiles) -> Work:
    """Runs launch scripts. Their names are relative to the folder that stands for the driver's."""
    runner = ScriptRunner([*options, "--", "scripts"])

    def script(path: str) -> tuple[str, str | None, Any]:
        try:
            text = runner.run(path)
        except RuntimeError as error:
            return "unusable", f"no device: {error}", None
        report = json.loads(text)
        return report["status"], reason(report), report

    return one_by_one(script)


def reason(report: dict[str, Any]) -> str | None:
    """Says in one text why a script did not pass."""
    lines = [report["error"]] if "error" in report else []
    lines += [f"validation: {violation}" for violation in report["violations"]]
    for expected in report.get("expectations", []):
        if expected["mismatches"]:
            lines.append(
                f"buffer `{expected['buffer']}`: {expected['mismatches']:,} of {expected['elements']:,} "
                f"{expected['dtype']} elements differ from {expected['file']}"
            )
            lines += [f"  [{d['index']}]  got {d['got']}  want {d['want']}" for d in expected["first"]]
    return "\n".join(lines) or None


def functions(options: bytes, files: NodeFiles) -> Work:
    """Calls a function with each item. Values are pickled here, so that one that can't be is its item's error."""
    cloudpickle = ray().cloudpickle
    function = cloudpickle.loads(options)

    def call(payload: bytes) -> tuple[str, str | None, Any]:
        return "passed", None, cloudpickle.dumps(function(cloudpickle.loads(payload)))

    return one_by_one(call)


def bench(options: list[str], files: NodeFiles) -> Work:
    """Measures benchmark cases, each in a process of its own, which measures nothing else."""

    def case(name: str) -> tuple[str, str | None, Any]:
        with tempfile.TemporaryDirectory() as folder:
            document = os.path.join(folder, "bench.json")
            command = [sys.executable, "-m", "hiplaunch", "bench", "--filter", name, "--json", document, *options]
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if not os.path.exists(document):
                return ("failed" if done.returncode == 1 else "unusable"), done.stderr, None
            with open(document) as file:
                value = json.load(file)
            if done.returncode:
                return "failed", done.stderr, value
            return "passed", None, value

    return one_by_one(case)


def tests(options: list[str], files: NodeFiles) -> Work:
    """Runs pytest items."""
    from ._pytest import run

    return lambda items: run(options, items)


def collection(options: list[str], files: NodeFiles) -> Work:
    """Collects pytest items: an item's payload is pytest's arguments, and its value the node ids."""
    from ._pytest import collect

    return one_by_one(lambda arguments: collect(options, arguments))


KINDS: dict[str, Callable[[Any, NodeFiles], Work]] = {
    "script": scripts,
    "function": functions,
    "bench": bench,
    "test": tests,
    "collection": collection,
}
