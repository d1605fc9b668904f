"""The actors of a fleet: they are started, replaced when they die, and ended."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import hiplaunch

from ._actor import device_class
from ._errors import ClusterError, VersionError, ray
from ._files import node_folder

# Actors that die one after the other before they answer: then no more are started.
FAILED_STARTS = 5


@dataclass
class Node:
    """A node of the cluster, as the report shows it."""

    id: str
    address: str
    workers: int = 0
    items: int = 0
    files_written: int = 0
    bytes_written: int = 0
    error: str | None = None


@dataclass
class Device:
    """An actor, and the batches that it was given and has not answered, in order."""

    actor: Any
    hello: Any
    node: Node | None = None
    pid: int = 0
    batches: deque[tuple[Any, list[Any]]] = field(default_factory=deque)


class Devices:
    """The actors of a fleet."""

    def __init__(self, fleet: str, workers: int, options: dict[str, Any]) -> None:
        self.fleet = fleet
        self.workers = workers
        self.nodes: dict[str, Node] = {}
        self.ready: list[Device] = []
        self.starting: list[Device] = []
        self._actors = ray().remote(device_class()).options(max_restarts=0, **options)
        environment = {name: value for name, value in os.environ.items() if name.startswith("HIPLAUNCH_")}
        # Devices of one machine share its cores.
        environment.setdefault("HIPLAUNCH_EMULATOR_THREADS", "1")
        self._environment = environment
        self._failed_starts = 0
        self._why = ""
        self._refused = 0

    def fill(self) -> None:
        """Starts actors until there are as many as there should be."""
        while len(self.ready) + len(self.starting) + self._refused < self.workers:
            if self._failed_starts >= FAILED_STARTS:
                return
            actor = self._actors.remote(self._environment)
            self.starting.append(Device(actor, actor.hello.remote(hiplaunch.__version__)))

    def poll(self) -> None:
        """Takes the answers of actors that have started."""
        for device in list(self.starting):
            if ray().wait([device.hello], timeout=0)[0]:
                self.starting.remove(device)
                self._started(device)

    def _started(self, device: Device) -> None:
        try:
            said = ray().get(device.hello)
        except ray().exceptions.RayError as error:
            self._failed_starts += 1
            self._why = str(error)
            self.fill()
            return
        node = self.nodes.setdefault(said["id"], Node(said["id"], said["address"]))
        if said["error"] is not None:
            # It keeps its resources until the end, so that no other actor starts there.
            node.error = said["error"]
            self._refused += 1
            return
        self._failed_starts = 0
        node.workers += 1
        device.node, device.pid = node, said["pid"]
        self.ready.append(device)

    def retire(self, device: Device) -> None:
        """Ends an actor, which may be dead, and starts another one."""
        self.ready.remove(device)
        device.batches.clear()
        ray().kill(device.actor)
        self.fill()

    @property
    def none_left(self) -> ClusterError | None:
        """Why there is no actor, and none is starting."""
        if self.ready or self.starting:
            return None
        wrong = [node.error for node in self.nodes.values() if node.error]
        if wrong:
            return VersionError("; ".join(wrong) + ": install the same version of hiplaunch on every node")
        return ClusterError(f"no worker could be started: {self._why}")

    def folder(self, node: Node) -> str:
        """Returns the folder of the fleet's files on a node."""
        return node_folder(self.fleet, node.id)

    def close(self) -> None:
        """Removes the nodes' folders, and ends the actors."""
        removals = []
        left = {node.id: node for node in self.nodes.values() if node.workers}
        for device in self.ready:
            if device.node is not None and not device.batches and device.node.id in left:
                del left[device.node.id]
                removals.append(device.actor.clean.remote(self.folder(device.node)))
        for node in left.values():
            removals.append(self._remover(node.id).remote(self.folder(node)))
        if removals:
            # A node that is gone needs no cleaning, and no end waits for a slow one.
            ray().wait(removals, num_returns=len(removals), timeout=10)
        for device in [*self.ready, *self.starting]:
            ray().kill(device.actor)
        self.ready, self.starting = [], []

    @staticmethod
    def _remover(node: str) -> Any:
        def remove(folder: str) -> None:
            import shutil

            shutil.rmtree(folder, ignore_errors=True)

        there = ray().util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)
        return ray().remote(remove).options(num_cpus=0, scheduling_strategy=there, max_retries=0)
