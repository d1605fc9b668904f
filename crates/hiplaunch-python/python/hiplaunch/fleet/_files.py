"""Files that go to each node once: code objects, scripts, their data, tests.

The driver reads a file, and stores its bytes in Ray's object store under their SHA-256. A node's workers fetch bytes that the
node does not have, and write them to the node's folder. A file gets the path that it has on the driver, below the folder of the
run, so relative paths between files hold.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from typing import Any, Iterable

from ._errors import ray


class Shipment:
    """The driver's side: the files of one fleet."""

    def __init__(self) -> None:
        self._digests: dict[str, tuple[tuple[int, int], str]] = {}
        self._new: dict[str, bytes] = {}
        self._bundles: dict[str, Any] = {}

    def digest(self, path: str) -> str:
        """Returns the hash of a file, and reads it if it was not read before. Raises OSError if it can't be read."""
        status = os.stat(path)
        version = (status.st_mtime_ns, status.st_size)
        known = self._digests.get(path)
        if known is not None and known[0] == version:
            return known[1]
        with open(path, "rb") as file:
            content = file.read()
        digest = hashlib.sha256(content).hexdigest()
        if digest not in self._bundles:
            self._new[digest] = content
        self._digests[path] = (version, digest)
        return digest

    def ship(self, paths: Iterable[str]) -> dict[str, Any]:
        """Returns what a worker needs to have these files. The paths are absolute."""
        files = {path: self.digest(path) for path in paths}
        if self._new:
            bundle = ray().put(self._new)
            self._bundles.update(dict.fromkeys(self._new, bundle))
            self._new = {}
        bundles: dict[Any, int] = {}
        where = {digest: bundles.setdefault(self._bundles[digest], len(bundles)) for digest in files.values()}
        return {"files": files, "where": where, "bundles": list(bundles)}


def node_folder(fleet: str, node: str) -> str:
    """Returns the folder of a fleet's files on a node. Nodes of one machine have a folder each."""
    return os.path.join(tempfile.gettempdir(), f"hiplaunch-fleet-{fleet}-{node[:12]}")


class NodeFiles:
    """A worker's side: the files of one run, in the folder that the node's workers share."""

    def __init__(self, folder: str, run: str) -> None:
        self.written = 0
        self.written_bytes = 0
        self._contents = os.path.join(folder, "contents")
        self._tree = os.path.join(folder, run)
        self._placed: set[str] = set()
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.makedirs(self._contents, exist_ok=True)

    def path(self, path: str) -> str:
        """Returns where a file or folder of the driver is here."""
        return self._tree + os.path.abspath(path)

    def receive(self, shipped: dict[str, Any]) -> None:
        """Makes files exist. Bytes that this node has are not fetched."""
        missing = [path for path in shipped["files"] if path not in self._placed]
        if not missing:
            return
        bundles: dict[int, dict[str, bytes]] = {}
        for path in missing:
            digest = shipped["files"][path]
            content = os.path.join(self._contents, digest)
            if not os.path.exists(content):
                number = shipped["where"][digest]
                if number not in bundles:
                    bundles[number] = ray().get(shipped["bundles"][number])
                self._write(content, bundles[number][digest])
            self._link(content, self.path(path))
            self._placed.add(path)

    def _write(self, path: str, content: bytes) -> None:
        """Writes a file completely or not at all. Of workers that write it at once, one counts."""
        own = f"{path}.{os.getpid()}"
        try:
            with open(own, "wb") as file:
                file.write(content)
            try:
                os.link(own, path)
                self.written += 1
                self.written_bytes += len(content)
            except FileExistsError:
                pass
        finally:
            os.unlink(own)

    @staticmethod
    def _link(content: str, path: str) -> None:
        try:
            os.link(content, path)
        except FileExistsError:
            pass
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            NodeFiles._link(content, path)
