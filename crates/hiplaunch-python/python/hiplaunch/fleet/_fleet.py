"""A fleet: devices of this machine, or of a Ray cluster, and what runs on them."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import time
import uuid
from types import TracebackType
from typing import Any, Callable, Iterable, Iterator, Sequence

import hiplaunch

from ._devices import Devices
from ._engine import Engine, Item, Job, Result
from ._errors import ClusterError, FleetError, ItemError, NothingToRunError, ray
from ._files import Shipment
from ._jobs import BenchJob, FunctionJob, ScriptJob, TestJob, matching
from ._report import Report

# The resource of a node that says how many devices it has for fleets.
RESOURCE = "hip_device"
# A local cluster's memory for files and large results.
STORE_BYTES = 128 << 20
# Ray's sockets are below its folder, and a socket's path has at most 107 bytes.
LONGEST_FOLDER = 40


def answers(address: str) -> None:
    """Raises OSError if nothing answers at an address such as `host:6379`. Ray itself tries for a minute."""
    host, colon, port = address.rpartition(":")
    if address.startswith("ray://"):
        raise ValueError("this is Ray's client protocol; run on a machine of the cluster, and name HOST:PORT or auto")
    if colon and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


def wants_token(error: BaseException | None) -> bool:
    """Whether a cluster refused a connection for want of a token. Of Ray's own error, only the text is left."""
    while error is not None:
        if "InvalidAuthToken" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


class Run:
    """Items that run on a fleet. To iterate over it gives their results as they come; `report` waits for all of them."""

    def __init__(self, fleet: Fleet, what: str, job: Job, items: list[Item]) -> None:
        self.count = len(items)
        self._what = what
        self._fleet = fleet
        self._engine = Engine(fleet._devices, fleet._shipment, job, items, fleet.tries)
        self._results: list[Result] = []
        self._begin = time.perf_counter()
        self._seconds = 0.0
        self._coming = self._engine.results()

    def __iter__(self) -> Iterator[Result]:
        """Gives each result once, when it comes."""
        for result in self._coming:
            self._results.append(result)
            self._seconds = time.perf_counter() - self._begin
            yield result

    def report(self) -> Report:
        """Waits for the results that are left, and returns the report of all, in the order of the items."""
        for _ in self:
            pass
        nodes = list(self._fleet._devices.nodes.values())
        results = sorted(self._results, key=lambda result: result.index)
        return Report(self._what, results, nodes, self._engine.deaths, self._seconds, self._fleet.address)

    def values(self) -> list[Any]:
        """Waits for the results that are left, and returns all values in the order of the items. Raises ItemError, after all have
        run, if an item did not pass."""
        results = self.report().results
        for result in results:
            if result.status not in ("passed", "skipped"):
                raise ItemError(f"{result.name}: {result.status}: {result.error}")
        return [result.value for result in results]


class Fleet:
    """Devices, each held by a Ray actor.

    address: of a Ray cluster. `None` for a local cluster, which ends with the fleet, or for the cluster that the program is
        connected to. `auto` for the cluster that this machine belongs to, and a local one if there is none.
    workers: how many devices to use. By default all of the cluster; of a local one, one for each core.
    devices: `emulated`, or `hip` for AMD GPUs.
    tries: how often an item that kills its worker is run alone before it is given up.
    runtime_env: of the actors, as Ray defines it.

    A node of the cluster says how many devices it has with the resource `hip_device`: `ray start --resources '{"hip_device": 8}'`.
    In a cluster without this resource an emulated device takes a core. A real one takes one of Ray's GPUs in any case, so that Ray
    chooses which.

    Raises RayMissingError if Ray is not installed, and ClusterError if there is no cluster or it has no such devices.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        workers: int | None = None,
        devices: str = "emulated",
        tries: int = 3,
        runtime_env: dict[str, Any] | None = None,
    ) -> None:
        if devices not in ("emulated", "hip"):
            raise ValueError(f"devices={devices!r}: emulated or hip")
        if tries < 1 or (workers is not None and workers < 1):
            raise ValueError("workers and tries are 1 or more")
        self.devices = devices
        self.tries = tries
        self.address = "local"
        self._owned = False
        self._folder: str | None = None
        self._open = False
        self._connect(address, workers)
        try:
            options, available = self._resources()
            self._shipment = Shipment()
            if runtime_env is not None:
                options["runtime_env"] = runtime_env
            self._devices = Devices(uuid.uuid4().hex[:12], workers or available, options)
            self._devices.fill()
        except BaseException:
            self._disconnect()
            raise
        self._open = True

    def _connect(self, address: str | None, workers: int | None) -> None:
        if ray().is_initialized():
            self.address = ray().get_runtime_context().gcs_address
            return
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        if address is not None:
            try:
                answers(address)
                context = ray().init(address=address, **quiet)
                self.address, self._owned = context.address_info["gcs_address"], True
                return
            except (OSError, RuntimeError, ValueError, ray().exceptions.RayError) as error:
                if wants_token(error):
                    raise ClusterError(
                        f"the Ray cluster at {address} wants a token: set RAY_AUTH_MODE=token on every machine, each of which needs "
                        "the file ~/.ray/auth_token of the first"
                    ) from error
                if address != "auto":
                    raise ClusterError(f"no Ray cluster at {address}: {error}") from error
        count = workers or os.cpu_count() or 1
        resources = {RESOURCE: count}
        if self.devices == "hip":
            resources = {}
        folder = tempfile.mkdtemp(prefix="ray-")
        self._folder = folder
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray().init(
            address="local",
            num_cpus=count,
            resources=resources,
            object_store_memory=STORE_BYTES,
            include_dashboard=False,
            _temp_dir=folder if len(folder) <= LONGEST_FOLDER else None,
            **quiet,
        )
        self._owned = True

    def _resources(self) -> tuple[dict[str, Any], int]:
        """Returns what an actor asks for, and how many actors the cluster has room for."""
        there = ray().cluster_resources()
        options: dict[str, Any] = {"num_cpus": 0}
        counts = []
        if there.get(RESOURCE, 0) >= 1:
            options["resources"] = {RESOURCE: 1}
            counts.append(there[RESOURCE])
        elif self.devices == "emulated":
            options["num_cpus"] = 1
            counts.append(there.get("CPU", 0))
        if self.devices == "hip":
            options["num_gpus"] = 1
            counts.append(there.get("GPU", 0))
        available = int(min(counts))
        if available < 1:
            what = "GPU" if self.devices == "hip" else f"{RESOURCE} or CPU"
            raise ClusterError(f"the cluster at {self.address} has no {what}: it has {there}")
        return options, available

    def map(
        self, function: Callable[[Any], Any], items: Iterable[Any], *, files: Iterable[str | os.PathLike[str]] = ()
    ) -> Run:
        """Calls a function with each item.

        files: files and folders that the function opens, such as code objects. A worker then works in a folder that stands for this
            one, so their relative paths hold.
        """
        job = FunctionJob(function, files)
        return self._begin("functions", job, job.items(items))

    def run_scripts(self, patterns: Sequence[str | os.PathLike[str]], options: Sequence[str] = ()) -> Run:
        """Runs launch scripts: files, and patterns such as `corpus/**/*.launch.toml`. A result's value is the script's report, an
        item of `scripts` in the document of `hiplaunch run --json`.

        options: of `hiplaunch run`, such as `["--validate"]`; scripts among them are ignored. Paths in `--code-object` are relative.
        """
        job = ScriptJob(self._with_backend(options))
        return self._begin("scripts", job, job.items(matching(patterns)))

    def run_bench(self, filters: Sequence[str] = (), options: Sequence[str] = ()) -> Run:
        """Runs cases of `hiplaunch bench` whose names contain a filter, each alone in a process. A result's value is the document of
        `hiplaunch bench --json`. Devices of one machine disturb each other's measurements.

        options: of `hiplaunch bench`, such as `["--quick"]`.
        """
        job = BenchJob(self._with_backend(options))
        return self._begin("bench", job, job.items(filters))

    def run_tests(
        self, paths: Sequence[str], options: Sequence[str] = (), *, files: Iterable[str | os.PathLike[str]] = ()
    ) -> Run:
        """Runs pytest items. A worker collects them, and then each runs on any worker: what a fixture of a module or a session
        makes, every worker makes.

        paths: tests as on pytest's command line: files, folders, `FILE::NAME`. Folders and pytest's settings are sent to the nodes.
        options: other options of pytest, such as `["-k", "saxpy"]`.
        files: files and folders that the tests open.
        """
        needed = [os.fspath(path) for path in files]
        collection = TestJob(paths, options, needed, collection=True)
        (ids,) = self._begin("collection", collection, [Item(0, " ".join(paths), list(paths))]).values()
        # What chooses items has done so.
        job = TestJob(paths, [], needed, collection=False)
        return self._begin("tests", job, [Item(index, name, name) for index, name in enumerate(ids)])

    def _with_backend(self, options: Sequence[str]) -> list[str]:
        given = any(option.split("=")[0] == "--backend" for option in options)
        backend = "hip" if self.devices == "hip" else "emulator"
        return [*options] if given else ["--backend", backend, *options]

    def _begin(self, what: str, job: Job, items: list[Item]) -> Run:
        if not self._open:
            raise FleetError("the fleet is closed")
        if not items and what != "functions":
            raise NothingToRunError(f"no {what} to run")
        return Run(self, what, job, items)

    def close(self) -> None:
        """Ends the workers, removes their files, and ends a local cluster."""
        if self._open:
            self._open = False
            try:
                self._devices.close()
            finally:
                self._disconnect()

    def _disconnect(self) -> None:
        if self._owned:
            ray().shutdown()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Fleet:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<hiplaunch.fleet.Fleet at {self.address}: {self._devices.workers} devices, hiplaunch {hiplaunch.__version__}>"
