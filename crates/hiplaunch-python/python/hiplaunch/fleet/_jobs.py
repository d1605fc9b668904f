"""What each kind of item needs on the worker."""

from __future__ import annotations

import glob
import os
import subprocess
import sys
from typing import Any, Callable, Iterable, Sequence

from .._native import ScriptRunner
from ._engine import Item, Job
from ._errors import NothingToRunError, ray

# What pytest and Python write beside tests, and what is no test's.
LEFT_OUT = {"__pycache__", ".git", ".pytest_cache", ".mypy_cache"}
# Files of pytest's settings, which hold for the folders below theirs.
SETTINGS = ("conftest.py", "pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")


def matching(patterns: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Returns the files that patterns match, sorted for each pattern, each once. `**` stands for folders of any depth. A path that
    exists is itself."""
    found: dict[str, None] = {}
    for path in patterns:
        pattern = os.fspath(path)
        files = [pattern] if os.path.exists(pattern) else sorted(glob.glob(pattern, recursive=True))
        if not files:
            raise NothingToRunError(f"no file matches `{pattern}`")
        found.update(dict.fromkeys(files))
    return list(found)


def below(path: str) -> list[str]:
    """Returns the absolute paths of a file, or of all files of a folder."""
    path = os.path.abspath(path)
    if os.path.isfile(path):
        return [path]
    found: list[str] = []
    for folder, folders, files in os.walk(path):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        found += [os.path.join(folder, name) for name in files]
    if not found:
        raise NothingToRunError(f"{path}: no such file, or a folder without files")
    return found


class ScriptJob(Job):
    """Launch scripts, with options of `hiplaunch run`."""

    kind = "script"

    def __init__(self, options: Sequence[str]) -> None:
        self.options = list(options)
        self.folder = os.getcwd()
        # It refuses wrong options before a worker gets them.
        self._reader = ScriptRunner([*self.options, "--", "scripts"])

    def items(self, paths: Sequence[str]) -> list[Item]:
        # Relative to the working folder, which has another place on a worker. Reports then name files as here.
        return [Item(index, path, os.path.relpath(path)) for index, path in enumerate(paths)]

    def needs(self, item: Item) -> Sequence[str]:
        return [os.path.abspath(path) for path in [item.payload, *self._reader.files(item.payload)]]


class FunctionJob(Job):
    """Calls of a Python function."""

    kind = "function"

    def __init__(self, function: Callable[[Any], Any], files: Iterable[str | os.PathLike[str]]) -> None:
        self.options = ray().cloudpickle.dumps(function)
        self.files = [file for path in files for file in below(os.fspath(path))]
        self.folder = os.getcwd() if self.files else None

    def items(self, arguments: Iterable[Any]) -> list[Item]:
        pickle = ray().cloudpickle.dumps
        return [Item(index, shortened(repr(value)), pickle(value)) for index, value in enumerate(arguments)]

    def value(self, raw: Any) -> Any:
        return ray().cloudpickle.loads(raw)


def shortened(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."


class BenchJob(Job):
    """Cases of `hiplaunch bench`."""

    kind = "bench"

    def __init__(self, options: Sequence[str]) -> None:
        self.options = list(options)

    def items(self, filters: Sequence[str]) -> list[Item]:
        chosen = [word for name in filters for word in ("--filter", name)]
        quick = [option for option in self.options if option == "--quick"]
        command = [sys.executable, "-m", "hiplaunch", "bench", "--list", *quick, *chosen]
        listed = subprocess.run(command, capture_output=True, text=True)
        if listed.returncode:
            raise NothingToRunError(listed.stderr.strip())
        cases = [line.split()[0] for line in listed.stdout.splitlines() if line.strip()]
        return [Item(index, case, case) for index, case in enumerate(cases)]


class TestJob(Job):
    """pytest items, or with `collection` their collection."""

    def __init__(self, paths: Sequence[str], options: Sequence[str], files: Iterable[str], collection: bool) -> None:
        self.kind = "collection" if collection else "test"
        self.options = list(options)
        self.folder = os.getcwd()
        needed: dict[str, None] = {}
        for path in [*(path.split("::")[0] for path in paths), *files]:
            needed.update(dict.fromkeys(below(path)))
            folder = os.path.dirname(os.path.abspath(path))
            while True:
                settings = [os.path.join(folder, name) for name in SETTINGS]
                needed.update((file, None) for file in settings if os.path.isfile(file))
                if folder == self.folder or folder == os.path.dirname(folder):
                    break
                folder = os.path.dirname(folder)
        self.files = list(needed)
