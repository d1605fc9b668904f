"""Gives items to workers in batches, and takes their results.

A worker gets two batches, so that it has work while a result is on its way. A batch is as long as its items are short: about a
tenth of a second. Its results come together, and the driver takes them once. If a worker dies, its items without a result run
again: those of the batch that it ran one at a time and last, since one of them may have killed it, the others as before. An item
that is alone with its worker when the worker dies has used one of its tries.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Iterator, Sequence

from ._devices import Device, Devices, Node
from ._errors import FleetError, ray
from ._files import Shipment

LOG = logging.getLogger("hiplaunch.fleet")

SLOW_SECONDS = 30
BATCH_SECONDS = 0.1
BATCH_ITEMS = 512
BATCHES_OF_A_WORKER = 2


@dataclass
class Item:
    """What a worker does at once: a script, a call, a test, a case."""

    index: int
    name: str
    payload: Any
    tries: int = 0
    alone: bool = False
    nodes: set[str] = field(default_factory=set)


@dataclass
class Result:
    """What became of an item.

    index: its place among the items.
    name: the script, the pytest id, the case, or the text of the function's argument.
    status: `passed`, `failed`, `skipped` (a test), or `unusable` (the input can't be used).
    seconds: that it took, on the worker's clock.
    error: why it did not pass.
    value: what the function returned, or the JSON document of a script or of a benchmark case.
    node: the address of the node that ran it, `None` if none did.
    worker: the process id of the worker there.
    tries: how many workers it was given to alone, and which died.
    """

    index: int
    name: str
    status: str
    seconds: float
    error: str | None
    value: Any
    node: str | None
    worker: int | None
    tries: int


@dataclass
class Death:
    """A worker that died, and what it was running."""

    node: str
    worker: int
    reason: str
    running: list[str]


class Job:
    """What is to be run: the kind of the items, and what all of them need."""

    kind: str = ""
    # What the worker's side of the kind gets.
    options: Any = None
    # The driver's working folder, if the items depend on it.
    folder: str | None = None
    # Files that all items need: absolute paths.
    files: Sequence[str] = ()

    def needs(self, item: Item) -> Sequence[str]:
        """Returns the absolute paths of the files of an item. Raises ValueError or OSError if it can't be used."""
        return ()

    def value(self, raw: Any) -> Any:
        """Returns a value as the caller gets it."""
        return raw


def short(error: str) -> str:
    """Returns what Ray's message of a dead worker says about it, without advice."""
    message = " ".join(error.split())
    detail = re.search(r"Worker exit detail: (.*?)(?: Some common causes|$)", message)
    return detail[1] if detail else message[:300]


class Engine:
    """Runs the items of one job on the devices of a fleet."""

    def __init__(self, devices: Devices, shipment: Shipment, job: Job, items: Sequence[Item], tries: int) -> None:
        self.deaths: list[Death] = []
        self._devices = devices
        self._shipment = shipment
        self._job = job
        self._tries = tries
        self._run = uuid.uuid4().hex[:8]
        self._fresh = deque(items)
        self._alone: deque[Item] = deque()
        self._done: deque[Result] = deque()
        self._batch_size = 1
        setup = {"kind": job.kind, "options": job.options, "folder": job.folder, "shipped": shipment.ship(job.files)}
        self._setup = ray().put(setup)

    def results(self) -> Iterator[Result]:
        """Runs everything, and returns results as they come. To close it early ends the workers that are at work."""
        devices = self._devices
        if any(device.batches for device in devices.ready):
            raise FleetError("another run of this fleet has not ended: take its results first, or open another fleet")
        try:
            devices.fill()
            while True:
                devices.poll()
                for device in list(devices.ready):
                    self._feed(device)
                while self._done:
                    yield self._done.popleft()
                waiting = [batch for device in devices.ready for batch, _ in device.batches]
                if not waiting and not self._fresh and not self._alone:
                    return
                why = devices.none_left
                if why is not None:
                    if not any(node.workers for node in devices.nodes.values()):
                        raise why
                    self._give_up(str(why))
                    continue
                starting = [device.hello for device in devices.starting]
                ended = ray().wait(waiting + starting, num_returns=1, timeout=SLOW_SECONDS)[0]
                if not ended and not devices.ready:
                    LOG.warning("no worker yet: the cluster's devices are in use, or its nodes are slow to start")
                for device in list(devices.ready):
                    self._take(device)
        finally:
            for device in [device for device in devices.ready if device.batches]:
                devices.retire(device)

    def _feed(self, device: Device) -> None:
        while len(device.batches) < BATCHES_OF_A_WORKER:
            items = self._next(device)
            if not items:
                return
            needed: dict[str, None] = {}
            usable: list[Item] = []
            for item in items:
                try:
                    files = self._job.needs(item)
                    for path in files:
                        self._shipment.digest(path)
                except (ValueError, OSError) as error:
                    self._done.append(Result(item.index, item.name, "unusable", 0.0, str(error), None, None, None, 0))
                else:
                    needed.update(dict.fromkeys(files))
                    usable.append(item)
            if not usable:
                continue
            assert device.node is not None
            batch = {
                "run": self._run,
                "folder": self._devices.folder(device.node),
                "setup": [self._setup],
                "items": [(item.index, item.payload) for item in usable],
                "shipped": self._shipment.ship(needed),
            }
            device.batches.append((device.actor.work.remote(batch), usable))

    def _next(self, device: Device) -> list[Item]:
        """Returns the items of the next batch of a worker; none if there is nothing for it now."""
        if self._fresh:
            fair = len(self._fresh) // (2 * max(1, len(self._devices.ready)))
            size = max(1, min(self._batch_size, fair))
            return [self._fresh.popleft() for _ in range(min(size, len(self._fresh)))]
        # An item that may kill its worker has the worker for itself.
        if device.batches:
            return []
        nodes = {other.node.id for other in self._devices.ready if other.node is not None}
        assert device.node is not None
        for item in self._alone:
            if device.node.id not in item.nodes or nodes <= item.nodes:
                self._alone.remove(item)
                return [item]
        return []

    def _take(self, device: Device) -> None:
        """Takes the results of a worker's batches that have ended."""
        while device.batches:
            batch, items = device.batches[0]
            if not ray().wait([batch], timeout=0)[0]:
                return
            try:
                reply = ray().get(batch)
            except ray().exceptions.RayTaskError as error:
                # The worker lives, but could not begin or end the batch, as with a full disk.
                device.batches.popleft()
                self._again(items, device, f"the worker failed: {error.cause!r}")
                continue
            except ray().exceptions.RayError as error:
                self._died(device, str(error))
                return
            device.batches.popleft()
            self._took(device, items, reply)

    def _took(self, device: Device, items: list[Item], reply: dict[str, Any]) -> None:
        node = device.node
        assert node is not None
        by_index = {item.index: item for item in items}
        for index, status, seconds, error, value in reply["outcomes"]:
            item = by_index[index]
            if value is not None:
                try:
                    value = self._job.value(value)
                except Exception as wrong:
                    status, error, value = "failed", f"its value can't be read here: {wrong!r}", None
            result = Result(index, item.name, status, seconds, error, value, node.address, device.pid, item.tries)
            self._done.append(result)
        node.items += len(items)
        node.files_written += reply["written"][0]
        node.bytes_written += reply["written"][1]
        each = max(reply["seconds"] / len(items), 1e-6)
        if not items[0].alone:
            wanted = min(int(BATCH_SECONDS / each), 2 * self._batch_size, BATCH_ITEMS)
            self._batch_size = max(1, wanted)

    def _died(self, device: Device, error: str) -> None:
        assert device.node is not None
        batches = [items for _, items in device.batches]
        reason = short(error)
        running = [item.name for item in batches[0]]
        self.deaths.append(Death(device.node.address, device.pid, reason, running))
        # The worker runs its batches in order, so only the first was begun.
        for items in reversed(batches[1:]):
            if items[0].alone:
                self._alone.extendleft(reversed(items))
            else:
                self._fresh.extendleft(reversed(items))
        self._again(batches[0], device, f"its worker died: {reason}")
        self._devices.retire(device)

    def _again(self, items: list[Item], device: Device, reason: str) -> None:
        """Queues the items of a batch that ended without results."""
        node: Node | None = device.node
        assert node is not None
        only = items[0] if len(items) == 1 else None
        for item in items:
            item.alone = True
            item.nodes.add(node.id)
        if only is not None:
            only.tries += 1
            if only.tries >= self._tries:
                error = f"given up after {only.tries} tries: {reason}"
                result = Result(only.index, only.name, "failed", 0.0, error, None, node.address, device.pid, only.tries)
                self._done.append(result)
                return
        self._alone.extend(items)

    def _give_up(self, reason: str) -> None:
        for item in [*self._fresh, *self._alone]:
            self._done.append(Result(item.index, item.name, "failed", 0.0, reason, None, None, None, item.tries))
        self._fresh.clear()
        self._alone.clear()
