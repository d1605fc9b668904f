"""Fleets that have a cluster of their own: nodes, the files on them, and how a fleet ends."""

import os
import signal
import time
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="Ray is not installed")

import hiplaunch
from hiplaunch import fleet as fleets
from hiplaunch.fleet._files import node_folder

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "tests/data"


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="module")
def ray_here():
    """A cluster that this process is connected to, which a fleet without an address uses. The tests that need another come before."""
    import ray

    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=80 << 20)
    yield
    ray.shutdown()


def started(fleet, count):
    """Waits until that many workers of a fleet have started."""
    for _ in range(100):
        fleet.map(lambda _: time.sleep(0.2), range(2)).values()
        if len(fleet._devices.ready) == count:
            return
    pytest.fail("the workers don't start")


def scripts(folder, count):
    """Makes scripts with one code object and data of their own folder."""
    text = (DATA / "saxpy.launch.toml").read_text()
    for name in hiplaunch._native.ScriptRunner(["none"]).files(str(DATA / "saxpy.launch.toml")):
        (folder / Path(name).name).write_bytes(Path(name).read_bytes())
        text = text.replace(os.path.relpath(name, DATA), Path(name).name)
    for number in range(count):
        (folder / f"{number:05}.launch.toml").write_text(text)
    return str(folder / "*.launch.toml")


def test_an_item_runs_again_on_another_node(tmp_path):
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    import ray

    cluster = cluster_utils.Cluster()
    try:
        for _ in range(2):
            cluster.add_node(num_cpus=2, resources={"hip_device": 1}, object_store_memory=80 << 20)
        with fleets.Fleet(cluster.address) as fleet:
            started(fleet, 2)
            pattern = scripts(tmp_path, 30)
            report = fleet.run_scripts([pattern]).report()
            assert report.totals["passed"] == 30 and len(report.nodes) == 2
            # Each node got the script, which is one content, and its files.
            contents = {path.read_bytes() for path in tmp_path.iterdir()}
            assert [node.files_written for node in report.nodes] == [len(contents)] * 2

            flag = tmp_path / "flag"

            def once(number):
                here = ray.get_runtime_context().get_node_id()
                if number == 0 and not flag.exists():
                    flag.write_text(here)
                    os.kill(os.getpid(), signal.SIGKILL)
                time.sleep(0.2 if number else 0)
                return here

            values = fleet.map(once, range(8)).values()
            assert values[0] != flag.read_text() and len(values) == 8
    finally:
        cluster.shutdown()


def test_a_closed_fleet_leaves_nothing_and_refuses_work():
    closed = fleets.Fleet(workers=1)
    folder = closed._folder
    assert closed.map(abs, [-1]).values() == [1] and os.path.exists(folder)
    closed.close()
    closed.close()
    assert not os.path.exists(folder)
    with pytest.raises(fleets.FleetError, match="closed"):
        closed.map(abs, [1])


def test_no_cluster_at_the_address():
    with pytest.raises(fleets.ClusterError, match="no Ray cluster at 127.0.0.1:1"):
        fleets.Fleet("127.0.0.1:1")


def test_a_cluster_with_a_token_says_what_to_set(monkeypatch):
    import ray

    def refuse(**_):
        try:
            raise RuntimeError("Failed to connect to GCS: RPC error: InvalidAuthToken: Authentication token is missing")
        except RuntimeError as error:
            raise ConnectionError("Failed to connect to Ray cluster") from error

    monkeypatch.setattr(ray, "init", refuse)
    for address in ("auto", "10.0.0.1"):
        with pytest.raises(fleets.ClusterError, match=f"at {address} wants a token: set RAY_AUTH_MODE=token"):
            fleets.Fleet(address)


def test_files_are_written_once_a_node(tmp_path, ray_here):
    pattern = scripts(tmp_path, 50)
    for number, script in enumerate(sorted(tmp_path.glob("*.launch.toml"))):
        script.write_text(script.read_text() + f"# {number}\n")
    with fleets.Fleet(workers=2) as fleet:
        started(fleet, 2)
        report = fleet.run_scripts([pattern]).report()
        again = fleet.run_scripts([pattern]).report()
    (node,) = report.nodes
    files = [path for path in tmp_path.iterdir()]
    assert report.totals["passed"] == again.totals["passed"] == 50
    assert len({result.worker for result in report.results}) == 2
    contents = {path.read_bytes() for path in files}
    assert (node.files_written, node.bytes_written) == (len(contents), sum(map(len, contents)))
    folder = node_folder(fleet._devices.fleet, node.id)
    assert not os.path.exists(folder)


def test_a_cluster_without_the_package_is_named(tmp_path, ray_here):
    (tmp_path / "hiplaunch").mkdir()
    environment = {"env_vars": {"PYTHONPATH": str(tmp_path)}}
    for text, error in (
        ("__version__ = '0.0.1'\n", rf"has hiplaunch 0\.0\.1, and the driver {hiplaunch.__version__}"),
        ("raise ImportError('no wheel here')\n", "can't import hiplaunch .*no wheel here"),
    ):
        (tmp_path / "hiplaunch/__init__.py").write_text(text)
        with fleets.Fleet(workers=1, runtime_env=environment) as fleet:
            with pytest.raises(fleets.VersionError, match=error):
                fleet.map(abs, [1]).values()
