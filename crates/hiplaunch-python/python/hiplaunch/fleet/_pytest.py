"""Collects and runs pytest items in a worker's process."""

from __future__ import annotations

import contextlib
import io
import sys
from typing import Any, Sequence

# Ids are relative to the working folder. A cache and byte code would be written to the node's folder, for nobody.
QUIET = ["-q", "-p", "no:cacheprovider", "--rootdir=."]


def main(arguments: Sequence[str], plugin: object) -> tuple[int, str]:
    """Runs pytest, and returns its exit status and what it said."""
    try:
        import pytest
    except ImportError as error:
        return 4, f"this node has no pytest: {error}"
    sys.dont_write_bytecode = True
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = int(pytest.main([*QUIET, *arguments], plugins=[plugin]))
    return status, said.getvalue()


class Collected:
    """A plugin that notes the ids of the items."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    def pytest_collection_finish(self, session: Any) -> None:
        self.ids = [item.nodeid for item in session.items]


def collect(options: Sequence[str], arguments: Sequence[str]) -> tuple[str, str | None, Any]:
    """Returns the status, the error and the ids of the items that the arguments choose."""
    plugin = Collected()
    status, said = main([*options, "--collect-only", *arguments], plugin)
    # 5: nothing was collected.
    if status in (0, 5):
        return "passed", None, plugin.ids
    return "unusable", said, None


class Noted:
    """A plugin that notes what became of each item."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[str, float, str | None]] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        status, seconds, error = self.found.get(report.nodeid, ("passed", 0.0, None))
        if report.failed:
            status, error = "failed", report.longreprtext
        elif report.skipped and status == "passed":
            status = "skipped"
            error = report.longrepr[2] if isinstance(report.longrepr, tuple) else getattr(report, "wasxfail", None)
        self.found[report.nodeid] = (status, seconds + report.duration, error)


def run(options: Sequence[str], items: Sequence[tuple[int, str]]) -> list[tuple[int, str, float, str | None, Any]]:
    """Runs items in one session of pytest."""
    plugin = Noted()
    status, said = main([*options, *[node for _, node in items]], plugin)
    lost = ("unusable", 0.0, f"pytest did not run it (exit status {status}):\n{said}")
    return [(index, *plugin.found.get(node, lost), None) for index, node in items]
