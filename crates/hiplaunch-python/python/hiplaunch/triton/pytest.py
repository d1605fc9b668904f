"""A plug-in of pytest under which tests of Triton that say device="cuda" run on hiplaunch.

    pytest -p hiplaunch.triton.pytest --hiplaunch-target=gfx942 tests

Without an AMD GPU, torch's device "cuda" is its CPU, and kernels run on the emulator. With one, nothing is mapped.
"""

import pytest

from . import _programs


def pytest_addoption(parser):
    """Adds the option that chooses the target."""
    group = parser.getgroup("hiplaunch")
    group.addoption(
        "--hiplaunch-target",
        default=None,
        help="what the emulator emulates: gfx90a, gfx942, gfx950, gfx1100 ... (default: HIPLAUNCH_EMULATOR_TARGET, or gfx942)",
    )
    parser.addini("hiplaunch_target", "as --hiplaunch-target")


# First: modules of tests ask for the device when they are imported.
@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """Activates the driver, in this process and in programs that tests start."""
    target = config.getoption("--hiplaunch-target") or config.getini("hiplaunch_target") or None
    config.stash[_DRIVER] = _programs.activate(target)


def pytest_report_header(config):
    """Names the device at the top of pytest's output."""
    driver = config.stash[_DRIVER]
    device = driver.properties(0)
    return f"hiplaunch: {driver.session.launcher.backend}, {device['name']} ({device['target']})"


def pytest_unconfigure(config):
    """Gives Triton its own driver again."""
    if config.stash.get(_DRIVER, None) is not None:
        _programs.deactivate()


_DRIVER = pytest.StashKey()
