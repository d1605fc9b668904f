"""The Python in the README, in the guide and in the examples runs."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("numpy")

ROOT = pathlib.Path(__file__).resolve().parents[3]


def blocks(page):
    text = (ROOT / page).read_text()
    return re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def run(*arguments, folder=ROOT):
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_readmes_example():
    (program,) = blocks("README.md")
    run("-c", program)


def test_the_guides_chapter_is_one_program():
    own = (ROOT / "examples/histogram/histogram.py").read_text()
    programs = blocks("docs/python.md")
    assert own in programs and len(programs) >= 5
    run("-c", "\n".join(program for program in programs if program != own))


def test_the_guides_chapter_on_fleets(tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed")
    (program,) = blocks("docs/fleets.md")
    for name in ("hip", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    said = run("-c", program, folder=tmp_path)
    assert "passed tests/data/saxpy.launch.toml" in said
    assert (tmp_path / "report.html").exists()


def test_the_guides_own_kernel(tmp_path):
    if shutil.which("hipcc") is None:
        pytest.skip("no hipcc")
    folder = ROOT / "examples/histogram"
    compile_it = ["hipcc", "--genco", "--offload-arch=gfx90a", "-O3", "-o", tmp_path / "histogram.co"]
    subprocess.run([*compile_it, folder / "histogram.hip"], check=True, timeout=300)
    assert run(folder / "histogram.py", folder=tmp_path) == f"{[400] * 10}\n"


def test_examples():
    assert "all results are right" in run("examples/python/saxpy.py")
