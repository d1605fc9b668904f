"""`python -m hiplaunch fleet`: its help, its exit statuses, and what it writes."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def fleet(*arguments, **options):
    command = [sys.executable, "-m", "hiplaunch", "fleet", *map(str, arguments)]
    options = {"cwd": ROOT, **options}
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, **options)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def cluster():
    """The address of a cluster that the commands of several tests use."""
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=80 << 20)
    yield ray.get_runtime_context().gcs_address
    ray.shutdown()


def test_the_help_says_what_there_is():
    status, out, err = fleet("--help")
    assert (status, err) == (0, "")
    for name in ("run", "pytest", "bench"):
        assert re.search(rf"^    {name} ", out, re.MULTILINE), out
        status, out_of_it, _ = fleet(name, "--help")
        assert status == 0 and "--address" in out_of_it and "Exit status:" in out_of_it
    whole = subprocess.run([sys.executable, "-m", "hiplaunch", "--help"], capture_output=True, text=True).stdout
    assert re.search(r"^  fleet +Run launch scripts, pytest items", whole, re.MULTILINE)


def test_without_ray_it_says_what_to_install(tmp_path):
    (tmp_path / "ray.py").write_text("raise ImportError('no ray here')\n")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    status, out, err = fleet("run", "x.launch.toml", env={**os.environ, "PYTHONPATH": path})
    assert (status, out) == (2, "")
    assert err == "hiplaunch: fleets need Ray (no ray here): pip install 'hiplaunch[ray]'\n"


def test_scripts_run_and_reports_are_written(tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed")
    files = [tmp_path / name for name in ("report.json", "report.xml", "report.html")]
    written = [word for pair in zip(("--json", "--junit", "--html"), files) for word in pair]
    # There is no cluster, so `auto` is a local one. An option of `hiplaunch run` with a value is before a script.
    environment = {**os.environ, "RAY_TMPDIR": str(tmp_path)}
    given = ["--address", "auto", "--workers", 2, "--target", "gfx942", "--code-object", "hip/vector.gfx942.co"]
    status, out, err = fleet(
        "run", *given, *written, "--validate", "tests/data/sax*.launch.toml", "tests/data/wrong.launch.toml", env=environment
    )
    assert status == 1, err
    assert "no Ray cluster here: a local one is started" in err
    lines = out.splitlines()
    assert [line for line in lines if re.match(r"PASS  tests/data/saxpy.launch.toml  [0-9.]+ ms  [0-9.]+ [0-9]+$", line)]
    assert [line for line in lines if line.startswith("FAIL  tests/data/wrong.launch.toml  ")]
    assert any("elements differ from" in line for line in lines)
    assert lines[-1] == "1 passed, 1 failed"
    document = json.loads(files[0].read_text())
    assert {result["report"]["target"] for result in document["results"]} == {"gfx942:sramecc+:xnack-"}
    assert ElementTree.parse(files[1]).getroot()[0].get("failures") == "1"
    assert "1 passed, 1 failed" in files[2].read_text()


def test_exit_statuses(tmp_path, cluster):
    status, out, err = fleet("run", "none/**/*.launch.toml", "--address", cluster)
    assert (status, out) == (2, "") and err.endswith("no file matches `none/**/*.launch.toml`\n")
    status, out, err = fleet("run", "tests/data/saxpy.launch.toml", "--address", cluster, "--frob")
    assert (status, out) == (2, "") and "--frob" in err
    (tmp_path / "broken.launch.toml").write_text("version = \n")
    nowhere = tmp_path / "none" / "report.json"
    status, out, err = fleet("run", tmp_path / "broken.launch.toml", "--address", cluster, "--quiet", "--json", nowhere)
    assert status == 3 and "the report can't be written" in err
    assert "broken.launch.toml:1" in out and out.endswith("0 passed, 0 failed, 1 unusable\n")


def test_tests_run(tmp_path, cluster):
    (tmp_path / "test_it.py").write_text("def test_a():\n    pass\ndef test_b():\n    assert 1 == 2\n")
    status, out, err = fleet("pytest", "test_it.py", "--address", cluster, "--quiet", cwd=tmp_path)
    assert status == 1, err
    assert "FAIL  test_it.py::test_b" in out and "assert 1 == 2" in out and out.endswith("1 passed, 1 failed\n")
