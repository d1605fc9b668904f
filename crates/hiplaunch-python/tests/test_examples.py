"""The examples of other hosts of kernels, each run as a program."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hiplaunch

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "python" / "hosts"


def run(name):
    environment = {**os.environ, "HIPLAUNCH_EMULATOR_TARGET": "gfx90a", "HIPLAUNCH_BACKEND": "emulator"}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)], capture_output=True, text=True, timeout=300, env=environment
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


@pytest.fixture(autouse=True)
def compiler():
    try:
        hiplaunch.compile('extern "C" __global__ void nothing() {}', target="gfx90a")
    except hiplaunch.CompileError as error:
        if error.log is None:
            pytest.skip("there is no hiprtc on this machine")
        raise


def test_decorated_kernels():
    assert "clamp: -1.0 to 1.0" in run("decorated_kernels.py")
