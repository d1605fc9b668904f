"""The report of a run: JSON, JUnit XML, or a page in HTML. docs/json.md lists the fields."""

from __future__ import annotations

import html
import json as json_module
import os
import re
import tempfile
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from typing import Any

import hiplaunch

from ._devices import Node
from ._engine import Death, Result

STATUSES = ("passed", "failed", "unusable", "skipped")
# Characters that XML 1.0 does not allow.
NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass
class Report:
    """What a run did.

    what: `scripts`, `tests`, `bench` or `functions`.
    results: in the order of the items.
    nodes: that the fleet has used.
    deaths: of workers.
    seconds: from the begin of the run to its last result.
    address: of the cluster; `local` for one that belongs to the fleet.
    """

    what: str
    results: list[Result]
    nodes: list[Node]
    deaths: list[Death]
    seconds: float
    address: str

    @property
    def totals(self) -> dict[str, int]:
        """The number of results of each status."""
        return {status: sum(result.status == status for result in self.results) for status in STATUSES}

    @property
    def status(self) -> int:
        """The exit status that stands for the results: 0, 1 if one failed, 2 if one was unusable and none failed."""
        totals = self.totals
        return 1 if totals["failed"] else 2 if totals["unusable"] else 0

    def document(self) -> dict[str, Any]:
        """Returns the JSON document."""
        return {
            "version": hiplaunch.__version__,
            "what": self.what,
            "address": self.address,
            "seconds": self.seconds,
            "results": [self._result(result) for result in self.results],
            "nodes": [dict(vars(node)) for node in self.nodes],
            "deaths": [dict(vars(death)) for death in self.deaths],
            "totals": self.totals,
        }

    def _result(self, result: Result) -> dict[str, Any]:
        value = dict(vars(result))
        del value["index"], value["value"]
        # A function's value is any object of Python's.
        value["report"] = result.value if self.what in ("scripts", "bench") else None
        return value

    def json(self) -> str:
        """Returns the JSON document as text."""
        return json_module.dumps(self.document(), indent=2) + "\n"

    def junit(self) -> str:
        """Returns JUnit XML, as CI systems read it: an unusable item is an error."""
        totals = self.totals
        suite = ElementTree.Element(
            "testsuite",
            name=f"hiplaunch {self.what}",
            tests=str(len(self.results)),
            failures=str(totals["failed"]),
            errors=str(totals["unusable"]),
            skipped=str(totals["skipped"]),
            time=f"{self.seconds:.3f}",
        )
        tags = {"failed": "failure", "unusable": "error", "skipped": "skipped"}
        for result in self.results:
            folder, name = named(result.name)
            case = ElementTree.SubElement(
                suite, "testcase", classname=clean(folder), name=clean(name), time=f"{result.seconds:.4f}"
            )
            tag = tags.get(result.status)
            if tag is not None:
                error = clean(result.error or "")
                first = error.strip().splitlines()[-1 if self.what == "functions" else 0 :][:1]
                wrong = ElementTree.SubElement(case, tag, message=first[0] if first else result.status)
                wrong.text = error
        root = ElementTree.Element("testsuites")
        root.append(suite)
        return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"

    def html(self) -> str:
        """Returns a page, one file without dependencies. What did not pass is at its top."""
        rank = {"failed": 0, "unusable": 1, "skipped": 2, "passed": 3}
        results = sorted(self.results, key=lambda result: (rank[result.status], result.index))
        totals = ", ".join(f"{count:,} {status}" for status, count in self.totals.items() if count)
        return PAGE.format(
            what=text(self.what),
            totals=text(totals or "nothing was run"),
            about=text(f"hiplaunch {hiplaunch.__version__}, cluster {self.address}, {self.seconds:.1f} s"),
            rows="\n".join(row(result) for result in results),
            nodes="\n".join(
                cells(node.address, node.workers, node.items, node.files_written, node.bytes_written, node.error or "")
                for node in self.nodes
            ),
            deaths="\n".join(
                cells(death.node, death.worker, ", ".join(death.running[:5]), death.reason) for death in self.deaths
            ),
        )

    def write(self, *, json: str | None = None, junit: str | None = None, html: str | None = None) -> None:
        """Writes files, each completely or not at all. Raises OSError if one can't be written."""
        for path, make in ((json, self.json), (junit, self.junit), (html, self.html)):
            if path is not None:
                write_whole(path, make())


def named(name: str) -> tuple[str, str]:
    """Splits a name into its class and its name in JUnit's sense."""
    if "::" in name:
        file, _, test = name.partition("::")
        return file, test
    folder, _, file = name.rpartition("/")
    return folder or ".", file


def clean(value: str) -> str:
    return NO_XML.sub("\ufffd", value)


def text(value: object) -> str:
    return html.escape(str(value))


def cells(*values: object) -> str:
    return "<tr>" + "".join(f"<td>{text(value)}</td>" for value in values) + "</tr>"


def row(result: Result) -> str:
    error = f"<pre>{text(result.error)}</pre>" if result.error else ""
    return (
        f'<tr class="{result.status}"><td>{result.status}</td><td>{text(result.name)}{error}</td>'
        f"<td>{result.seconds * 1e3:.1f}</td><td>{text(result.node or '')}</td><td>{result.worker or ''}</td></tr>"
    )


def write_whole(path: str, content: str) -> None:
    folder = os.path.dirname(os.path.abspath(path))
    number, own = tempfile.mkstemp(dir=folder, prefix=os.path.basename(path))
    try:
        with os.fdopen(number, "w", encoding="utf-8", errors="replace") as file:
            file.write(content)
        # The rights of a file that is created in the usual way.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(own, 0o666 & ~mask)
        os.replace(own, path)
    except BaseException:
        os.unlink(own)
        raise


PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>hiplaunch fleet: {totals}</title>
<style>
body {{ font: 14px/1.4 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color: #1c1c1c; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ text-align: left; vertical-align: top; padding: 0.25em 0.75em; border-bottom: 1px solid #ddd; }}
td:first-child {{ white-space: nowrap; }}
pre {{ margin: 0.25em 0; white-space: pre-wrap; font-size: 12px; }}
.passed td:first-child {{ color: #17692d; }}
.failed td:first-child, .unusable td:first-child {{ color: #b3261e; font-weight: bold; }}
</style>
<h1>{totals}</h1>
<p>{what}: {about}</p>
<table>
<tr><th>status</th><th>name</th><th>ms</th><th>node</th><th>worker</th></tr>
{rows}
</table>
<h2>Nodes</h2>
<table>
<tr><th>address</th><th>workers started</th><th>items</th><th>files written</th><th>bytes written</th><th>error</th></tr>
{nodes}
</table>
<h2>Workers that died</h2>
<table>
<tr><th>node</th><th>worker</th><th>it ran</th><th>reason</th></tr>
{deaths}
</table>
</html>
"""
