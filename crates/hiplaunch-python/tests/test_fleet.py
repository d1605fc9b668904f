"""Fleets on a local Ray cluster: what comes back, what a dead worker changes, and what is refused."""

import collections
import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="Ray is not installed")

from hiplaunch import fleet as fleets

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "tests/data"
SAXPY = "tests/data/saxpy.launch.toml"


@pytest.fixture(scope="module")
def fleet():
    with fleets.Fleet(workers=2) as fleet:
        yield fleet


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch):
    monkeypatch.chdir(ROOT)


def test_functions_return_values_in_order(fleet):
    offset = 3
    run = fleet.map(lambda x: x * x + offset, range(300))
    assert run.values() == [x * x + 3 for x in range(300)]
    report = run.report()
    assert report.totals["passed"] == 300 and report.status == 0


def test_what_a_function_raises_is_its_items_error(fleet):
    run = fleet.map(lambda x: 1 // x, [1, 0, 2])
    report = run.report()
    assert [result.status for result in report.results] == ["passed", "failed", "passed"]
    assert "ZeroDivisionError" in report.results[1].error
    with pytest.raises(fleets.ItemError, match="(?s)0: failed: .*ZeroDivisionError"):
        fleet.map(lambda x: 1 // x, [1, 0, 2]).values()


def test_one_run_at_a_time_has_the_devices(fleet):
    first = fleet.map(lambda x: x, range(1000))
    taken = iter(first)
    next(taken)
    with pytest.raises(fleets.FleetError, match="another run of this fleet has not ended"):
        fleet.map(abs, [1]).values()
    assert first.values() == list(range(1000))
    assert fleet.map(abs, [-1]).values() == [1]


def test_functions_launch_kernels_of_files_that_were_sent(fleet):
    def saxpy(a):
        import array

        import hiplaunch

        with hiplaunch.Launcher("emulator") as launcher:
            x, y = array.array("f", range(64)), array.array("f", [1.0] * 64)
            kernel = launcher.register("hip/vector.hipfb", "saxpy")
            kernel[1, 64](a, hiplaunch.In(x), hiplaunch.InOut(y), 64).result()
            return os.getcwd(), list(y)

    values = fleet.map(saxpy, [2.0, 3.0, 4.0], files=["hip/vector.hipfb"]).values()
    for a, (folder, y) in zip([2.0, 3.0, 4.0], values):
        assert folder != str(ROOT) and folder.endswith(str(ROOT))
        assert y == [a * i + 1 for i in range(64)]


def test_scripts_have_the_reports_of_run(fleet):
    report = fleet.run_scripts(["tests/data/*.launch.toml"]).report()
    command = [sys.executable, "-m", "hiplaunch", "run", "--backend", "emulator", "--json"]
    names = sorted(str(path.relative_to(ROOT)) for path in DATA.glob("*.launch.toml"))
    alone = json.loads(subprocess.run([*command, *names], capture_output=True, text=True).stdout)["scripts"]
    assert [result.name for result in report.results] == names and len(names) > 3
    assert [result.status for result in report.results] == [script["status"] for script in alone]
    assert {"passed", "failed"} <= {result.status for result in report.results}
    for result, script in zip(report.results, alone):
        if result.value is not None:
            for timed in (result.value, script):
                timed.pop("milliseconds"), timed.pop("launch_milliseconds", None)
                # A stream's number depends on what ran before.
                timed["error"] = re.sub(r"stream \d+", "stream", timed.get("error", ""))
            assert result.value == script
        else:
            assert (result.status, result.error) == ("unusable", script["error"])
    assert report.status == 1


def noted(path):
    return [int(line) for line in path.read_text().split()]


def test_a_worker_killed_in_the_middle_loses_and_repeats_nothing(fleet, tmp_path):
    log = tmp_path / "log"

    def note(number):
        with open(log, "a") as file:
            file.write(f"{number}\n")
        time.sleep(0.01)
        return number

    seen, reported_before, killed = [], set(), None
    run = fleet.map(note, range(400))
    for result in run:
        seen.append(result.index)
        if len(seen) == 100:
            reported_before, killed = set(seen), result.worker
            os.kill(killed, signal.SIGKILL)
    assert sorted(seen) == list(range(400))
    assert run.values() == list(range(400))
    times = collections.Counter(noted(log))
    assert all(times[number] == 1 for number in reported_before)
    # At most the two batches that the worker had have run again; none, if it was killed between two.
    again = [number for number, count in times.items() if count > 1]
    assert set(times) == set(range(400)) and len(again) <= 40 and max(times.values()) <= 2
    (death,) = run.report().deaths
    assert death.worker == killed and len(run.report().results) == 400


def test_an_item_that_kills_its_worker_is_given_up_and_the_others_finish(fleet):
    def deadly(number):
        if number == 37:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    report = fleet.map(deadly, range(100)).report()
    (failed,) = [result for result in report.results if result.status != "passed"]
    assert (failed.index, failed.status, failed.tries) == (37, "failed", 3)
    assert failed.error.startswith("given up after 3 tries: its worker died")
    assert report.totals == {"passed": 99, "failed": 1, "unusable": 0, "skipped": 0}
    # Three tries, and before them the batches that it was in.
    assert 3 <= len(report.deaths) < 8


def test_tests_run_as_items(fleet, tmp_path, monkeypatch):
    (tmp_path / "conftest.py").write_text("import pytest\n@pytest.fixture\ndef two():\n    return 2\n")
    (tmp_path / "test_it.py").write_text(
        "import pathlib, pytest\n"
        "def test_good(two):\n    assert two == 2\n"
        "@pytest.mark.parametrize('x', [1, 2])\ndef test_some(x):\n    assert x == 1\n"
        "def test_skipped():\n    pytest.skip('not today')\n"
        "def test_file():\n    assert pathlib.Path(__file__).with_name('data').read_text() == 'sent'\n"
    )
    (tmp_path / "data").write_text("sent")
    monkeypatch.chdir(tmp_path)
    report = fleet.run_tests(["."]).report()
    assert [(result.name, result.status) for result in report.results] == [
        ("test_it.py::test_good", "passed"),
        ("test_it.py::test_some[1]", "passed"),
        ("test_it.py::test_some[2]", "failed"),
        ("test_it.py::test_skipped", "skipped"),
        ("test_it.py::test_file", "passed"),
    ]
    assert "assert 2 == 1" in report.results[2].error
    chosen = fleet.run_tests(["test_it.py"], ["-kgood"]).report()
    assert [result.name for result in chosen.results] == ["test_it.py::test_good"]
    with pytest.raises(fleets.NothingToRunError, match="no tests"):
        fleet.run_tests(["test_it.py"], ["-knone"])
    (tmp_path / "test_broken.py").write_text("import no_such_module\n")
    with pytest.raises(fleets.ItemError, match="no_such_module"):
        fleet.run_tests(["."])


def test_benchmark_cases_run_as_items(fleet):
    report = fleet.run_bench(["empty/1/value", "empty/1/block"], ["--quick", "--rounds", "2"]).report()
    assert [result.name for result in report.results] == ["empty/1/value", "empty/1/block"]
    assert report.totals["passed"] == 2, report.results
    for result in report.results:
        (point,) = result.value["points"]
        assert [method["method"] for method in point["methods"]] == [result.name.rpartition("/")[2]]
    with pytest.raises(fleets.NothingToRunError, match="no-such-case"):
        fleet.run_bench(["no-such-case"])


def test_reports_can_be_read(fleet, tmp_path):
    names = ["tests/data/saxpy.launch.toml", "tests/data/wrong.launch.toml", str(tmp_path / "broken.launch.toml")]
    Path(names[2]).write_text("version = <&\x01")
    report = fleet.run_scripts(names).report()
    files = {kind: str(tmp_path / f"report.{kind}") for kind in ("json", "junit", "html")}
    report.write(**files)
    assert report.status == 1 and fleet.run_scripts(names[2:]).report().status == 2
    document = json.loads(Path(files["json"]).read_text())
    assert document["totals"] == {"passed": 1, "failed": 1, "unusable": 1, "skipped": 0}
    assert [result["name"] for result in document["results"]] == names
    assert document["results"][1]["report"]["expectations"][0]["mismatches"] > 0
    (suite,) = ElementTree.parse(files["junit"]).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    assert [len(case) for case in suite] == [0, 1, 1]
    assert "differ from" in suite[1][0].text
    page = Path(files["html"]).read_text()
    assert "1 passed, 1 failed, 1 unusable" in page and "version = <&" not in page
    with pytest.raises(OSError):
        report.write(json=str(tmp_path / "none" / "report.json"))
    assert set(os.listdir(tmp_path)) == {"broken.launch.toml", "report.json", "report.junit", "report.html"}


def fields(value, at=""):
    """The paths of a document's fields, such as `a.b[].c`."""
    if isinstance(value, dict):
        for name, inner in value.items():
            path = f"{at}.{name}" if at else name
            yield path
            yield from fields(inner, path)
    elif isinstance(value, list):
        for inner in value:
            yield from fields(inner, at + "[]")


def test_the_fields_of_the_report_are_documented(fleet):
    (section,) = [part for part in (ROOT / "docs/json.md").read_text().split("\n## ") if part.startswith("fleet\n")]
    documented = {line[3:].split("`")[0] for line in section.splitlines() if line.startswith("- `")}
    run = fleet.map(lambda number: os.kill(os.getpid(), signal.SIGKILL), [0])
    found = set(fields(run.report().document()))
    assert found == documented


def test_what_cannot_be_run_is_said(fleet, tmp_path, monkeypatch):
    with pytest.raises(fleets.NothingToRunError, match=r"no file matches `none/\*\*/x.launch.toml`"):
        fleet.run_scripts(["none/**/x.launch.toml"])
    with pytest.raises(ValueError, match="--frob"):
        fleet.run_scripts([SAXPY], ["--frob"])
    with pytest.raises(ValueError, match="--trace writes one file for all scripts"):
        fleet.run_scripts([SAXPY], ["--trace", "t.json"])
    with pytest.raises(ValueError, match="emulated or hip"):
        fleets.Fleet(devices="cuda")
    with pytest.raises(fleets.ClusterError, match="no GPU"):
        fleets.Fleet(devices="hip")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(fleets.RayMissingError, match=r"pip install 'hiplaunch\[ray\]'"):
        fleets.Fleet()
