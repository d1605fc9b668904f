"""What can go wrong with a fleet, and Ray, which may be missing."""

from __future__ import annotations

import importlib
from typing import Any

from hiplaunch import Error


class FleetError(Error):
    """A fleet can't begin, or can't go on. What is wrong with one item is in its result instead."""


class RayMissingError(FleetError):
    """Ray is not installed."""


class ClusterError(FleetError):
    """There is no cluster at the address, or it has no device for the fleet."""


class VersionError(ClusterError):
    """No node of the cluster has this version of hiplaunch. The message names nodes and versions."""


class NothingToRunError(FleetError):
    """No file matches the patterns, or no test or case is chosen."""


class ItemError(FleetError):
    """An item did not pass, and its value is asked for. The message has its name and the reason."""


def ray() -> Any:
    """Returns the module `ray`."""
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise RayMissingError(f"fleets need Ray ({error}): pip install 'hiplaunch[ray]'") from error
