"""Compiling, timelines and pool snapshots."""

import json
import xml.dom.minidom

import numpy
import pytest

import hiplaunch

SOURCE = """
extern "C" __global__ void twice(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= FACTOR;
}
"""


@pytest.fixture
def one():
    """A launcher for a target that every hiprtc knows."""
    with hiplaunch.Launcher("emulator", target="gfx90a") as launcher:
        yield launcher


@pytest.fixture
def compile():
    """Compiles, if there is a compiler."""

    def run(*args, **keywords):
        try:
            return hiplaunch.compile(*args, **keywords)
        except hiplaunch.CompileError as error:
            if "no usable HIP runtime compiler" in str(error):
                assert error.log is None
                pytest.skip("there is no hiprtc on this machine")
            raise

    return run


def test_compile(one, compile):
    code = compile(SOURCE, ["-DFACTOR=2"], target=one.devices[0], cache=False)
    assert code.kernels == ["twice"] and code.target.startswith("gfx90a") and not code.from_cache
    assert bytes(code)[:4] == b"\x7fELF" and len(code) == len(bytes(code))
    for given in (code, bytes(code)):
        x = one.buffer(numpy.ones(64, "f4"))
        one.register(given)[1, 64](x, 64)
        assert numpy.asarray(x).tolist() == [2.0] * 64


def test_compile_error(compile):
    with pytest.raises(hiplaunch.CompileError) as caught:
        compile("__global__ void f( {", target="gfx90a", name="wrong.hip")
    assert "wrong.hip" in caught.value.log and "error" in caught.value.log


def test_compile_names_and_headers(one, compile):
    source = '#include "factor.h"\ntemplate <typename T> __global__ void set(T* x) { *x = FACTOR; }'
    code = compile(
        source, headers={"factor.h": "#define FACTOR 7"}, name_expressions=["set<int>"], target="gfx90a"
    )
    out = one.empty(1, "int32")
    one.register(code, code.lowered_name("set<int>"))[1, 1](out)
    assert numpy.asarray(out).tolist() == [7]
    with pytest.raises(KeyError):
        code.lowered_name("set<float>")


def test_the_cache_on_disk(compile, python, tmp_path, monkeypatch):
    compile(SOURCE, ["-DFACTOR=2"], target="gfx90a")
    monkeypatch.setenv("HIPLAUNCH_CACHE_DIR", str(tmp_path / "cache"))
    program = f"import hiplaunch; print(hiplaunch.compile({SOURCE!r}, ['-DFACTOR=2'], target='gfx90a').from_cache)"
    assert [python(program).strip() for _ in range(2)] == ["False", "True"]


@pytest.mark.parametrize("target", ["gfx", "", "sm_80", 5])
def test_compile_for_an_unknown_target(target):
    with pytest.raises((ValueError, AttributeError)):
        hiplaunch.compile(SOURCE, target=target)


def test_timeline(code, tmp_path):
    with hiplaunch.Launcher("emulator", timeline=True) as launcher:
        saxpy = launcher.register(code("vector"), "saxpy")
        x = launcher.buffer(numpy.ones(64, "f4"))
        for _ in range(3):
            saxpy[1, 64](2.0, x, x, 64)
        launcher.synchronize()
        timeline = launcher.timeline
        kernels = [work for work in timeline.work() if work["kind"] == "kernel"]
        assert [work["name"].split("<")[0] for work in kernels] == ["saxpy"] * 3
        assert all(work["duration"] > 0 and work["device"] == 0 for work in kernels)
        trace = json.loads(timeline.to_json())
        assert sum(event["ph"] == "X" and "saxpy" in event["name"] for event in trace["traceEvents"]) >= 3
        timeline.save(tmp_path / "trace.json")
        assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
        html = timeline._repr_html_()
        assert "saxpy" in html and xml.dom.minidom.parseString(html)
        assert "pieces of work" in repr(timeline)
        with pytest.raises(OSError):
            timeline.save(tmp_path / "no" / "folder.json")


def test_no_timeline(one):
    assert one.timeline is None


def test_pool_snapshot(one):
    before = one.devices[0].pool_snapshot()
    buffer = one.empty(1 << 20)
    after = one.devices[0].pool_snapshot()
    assert after.counters["requested"] - before.counters["requested"] == 1 << 20
    assert after.counters["live_blocks"] - before.counters["live_blocks"] == 1
    document = json.loads(after.to_json())
    assert document["segments"]
    assert xml.dom.minidom.parseString(after.to_svg()).documentElement.tagName == "svg"
    assert after._repr_html_() == after.to_svg()
    assert "device 0" in repr(after)
    buffer.close()
    assert after.counters["requested"] != one.devices[0].pool_snapshot().counters["requested"]
