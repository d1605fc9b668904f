"""Runs launch scripts, pytest items, benchmark cases and Python functions on many devices: of this machine, or of a Ray cluster.

    from hiplaunch.fleet import Fleet

    with Fleet(workers=2) as fleet:
        run = fleet.run_scripts(["tests/data/sax*.launch.toml"])
        for result in run:
            print(result.status, result.name)
        run.report().write(json="report.json", junit="report.xml", html="report.html")

An actor of Ray holds each device. It needs `pip install 'hiplaunch[ray]'`.
"""

from ._devices import Node
from ._engine import Death, Result
from ._errors import ClusterError, FleetError, ItemError, NothingToRunError, RayMissingError, VersionError
from ._fleet import Fleet, Run
from ._report import Report

__all__ = [
    "ClusterError",
    "Death",
    "Fleet",
    "FleetError",
    "ItemError",
    "Node",
    "NothingToRunError",
    "RayMissingError",
    "Report",
    "Result",
    "Run",
    "VersionError",
]
