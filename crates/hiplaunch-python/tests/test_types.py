"""The type stubs agree with the module, and with programs that are checked by them."""

import pathlib
import pydoc
import re
import subprocess
import sys

import hiplaunch
import pytest

pytest.importorskip("mypy")

ROOT = pathlib.Path(__file__).resolve().parents[3]


def mypy(module, *arguments, folder):
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_agree_with_the_module(tmp_path):
    # pyo3 lists all names of the module, which nobody imports by `*`.
    allowed = tmp_path / "allowed.txt"
    allowed.write_text("hiplaunch._native.__all__\n")
    mypy("mypy.stubtest", "--allowlist", str(allowed), "hiplaunch._native", folder=tmp_path)


def test_the_package_and_examples_are_typed(tmp_path):
    pytest.importorskip("numpy")
    programs = [ROOT / "examples/python/saxpy.py", ROOT / "examples/histogram/histogram.py"]
    programs.append(ROOT / "crates/hiplaunch-mpi/capi/python/hiplaunch_mpi.py")
    modules = ["hiplaunch", "hiplaunch.__main__", "hiplaunch._native"]
    mypy("mypy", "--strict", *[f"-m{module}" for module in modules], "-phiplaunch.fleet", folder=tmp_path)
    mypy("mypy", "--strict", *map(str, programs), folder=tmp_path)


def test_a_wrong_program_is_refused(tmp_path):
    (tmp_path / "wrong.py").write_text(
        "import hiplaunch\n"
        "launcher = hiplaunch.Launcher(backend='cuda')\n"
        "launcher.register('code', 'name')[1](2)\n"
        "launcher.stream(device='0')\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "wrong.py"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert said.returncode == 1 and [f"wrong.py:{line}: error" in said.stdout for line in (2, 3, 4)] == [True] * 3


def public(value):
    return [name for name in vars(value) if not name.startswith("_")]


def test_everything_public_is_documented():
    missing = []
    for name in hiplaunch.__all__:
        value = getattr(hiplaunch, name)
        if not isinstance(value, type):
            continue
        missing += [name] if not value.__doc__ else []
        missing += [f"{name}.{member}" for member in public(value) if not getattr(value, member).__doc__]
    assert not missing


def test_help_shows_each_signature_once():
    text = pydoc.plain(pydoc.render_doc(hiplaunch.Launcher))
    assert text.count("register(self, /, code, name=None, *, signature=None)") == 1
    # A docstring whose own first line is a signature has this line after it.
    assert not re.search(r"^[ |]*--$", text, re.MULTILINE)
