"""Launchers, and code objects of the repository.

The package is the one that is installed, or the one that PYTHONPATH names. With HIPLAUNCH_TEST_BACKEND=hip the launchers are of AMD's
library instead of the emulator.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hiplaunch

KERNELS = Path(__file__).resolve().parents[3] / "hip"


ON_HIP = os.environ.get("HIPLAUNCH_TEST_BACKEND") == "hip"


def opened(target):
    return hiplaunch.Launcher("hip") if ON_HIP else hiplaunch.Launcher("emulator", target=target)


def pytest_configure(config):
    config.addinivalue_line("markers", "emulator: needs what not every version of AMD's library has, or makes a kernel fault")


def pytest_collection_modifyitems(items):
    for item in items:
        if ON_HIP and item.get_closest_marker("emulator"):
            item.add_marker(pytest.mark.skip(reason="for the emulator"))


@pytest.fixture(params=["hip"] if ON_HIP else ["gfx90a", "gfx942"])
def launcher(request):
    """A launcher of the emulator, for each target; or of AMD's library."""
    with opened(request.param) as launcher:
        yield launcher


@pytest.fixture
def one():
    """A launcher for tests that do not depend on the target. It may fault."""
    launcher = opened("gfx942")
    yield launcher
    try:
        launcher.close()
    except hiplaunch.DeviceLostError:
        pass


@pytest.fixture
def noop():
    """A launcher that runs nothing."""
    with hiplaunch.Launcher("noop") as launcher:
        yield launcher


@pytest.fixture
def code():
    """Returns the path of a code object by its name."""
    return lambda name: str(KERNELS / f"{name}.hipfb")


@pytest.fixture
def python():
    """Runs a program in a Python of its own and returns what it wrote. It has to end well, in time and without a word of a crash."""

    def run(source, *arguments, timeout=120):
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", source, *arguments],
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
        assert "Fatal Python error" not in done.stderr and "panicked" not in done.stderr, done.stderr
        return done.stdout

    return run
