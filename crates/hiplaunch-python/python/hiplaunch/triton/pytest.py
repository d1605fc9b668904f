"""A plug-in of pytest under which tests of Triton that say device="cuda" run on hiplaunch.

    pytest -p hiplaunch.triton.pytest --hiplaunch-target=gfx942 tests

Without an AMD GPU, torch's device "cuda" is the emulated device, and kernels run on the emulator. With one, nothing is mapped.
"""

import pytest

from . import _programs

_driver = None
# The tests that passed without a launch.
_without_launch = []


def pytest_addoption(parser):
    """Adds the options of `python -m hiplaunch.triton`."""
    _programs.add_options(parser.getgroup("hiplaunch").addoption, "--hiplaunch-")
    parser.addini("hiplaunch_target", "as --hiplaunch-target")


# Before the first conftest.py is imported: many ask for the device.
@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config):
    """Activates the driver, in this process and in programs that tests start."""
    _activate(early_config, early_config.known_args_namespace)


# Where the plug-in is named in a conftest.py, and in workers of xdist, whose configuration is another process's.
@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """Activates the driver if it is not yet."""
    _activate(config, config.option)


def _activate(config, options):
    global _driver
    if _driver is None:
        target = options.hiplaunch_target or config.getini("hiplaunch_target") or None
        _driver = _programs.activate(target, options.hiplaunch_autotune, options.hiplaunch_time_budget)


def pytest_report_header():
    """Names the device at the top of pytest's output."""
    device = _driver.properties(0)
    return f"hiplaunch: {_driver.session.launcher.backend}, {device['name']} ({device['target']})"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Counts the launches of a test."""
    before = _driver.session.launches
    try:
        return (yield)
    finally:
        item.user_properties.append(("hiplaunch_launches", _driver.session.launches - before))


def pytest_runtest_logreport(report):
    """Notes a test that launched nothing, also one of a worker of xdist."""
    if report.when == "call" and report.passed and ("hiplaunch_launches", 0) in map(tuple, report.user_properties):
        _without_launch.append(report.nodeid)


def pytest_terminal_summary(terminalreporter):
    """Names the tests that passed and launched nothing: all of them with -v."""
    if _without_launch and _driver.is_emulated:
        shown = _without_launch if terminalreporter.verbosity > 0 else _without_launch[:3]
        more = "" if len(shown) == len(_without_launch) else f" and {len(_without_launch) - len(shown)} more (-v names them)"
        terminalreporter.write_line(
            f"hiplaunch: {len(_without_launch)} passed without a launch of this process: {', '.join(shown)}{more}"
        )


def pytest_unconfigure():
    """Gives Triton its own driver again."""
    global _driver
    if _driver is not None:
        _driver = None
        _without_launch.clear()
        _programs.deactivate()
