"""Compiling LLVM IR, bitcode, assembly and object files, and running the result on the emulator."""

import pathlib

import numpy
import pytest

import hiplaunch

ROOT = pathlib.Path(__file__).resolve().parents[3]
DATA = ROOT / "crates/hip-compile/tests/data"
APPLY = (DATA / "apply.ll").read_text()
SCALE = (DATA / "scale.ll").read_text()


def compile(source, **keywords):
    try:
        return hiplaunch.compile(source, target="gfx90a", cache=False, **keywords)
    except hiplaunch.CompileError as error:
        if "no usable compiler" in str(error):
            pytest.skip(str(error))
        raise


def test_inputs_of_every_kind_are_linked_and_run():
    launcher = hiplaunch.Launcher("emulator", target="gfx90a", validate=True)
    for scale in [("llvm-ir", SCALE), (DATA / "scale.15.bc").read_bytes(), DATA / "scale.s", DATA / "scale.ll"]:
        code = compile([("llvm-ir", APPLY), scale])
        assert code.kernels == ["apply"] and code.target == "gfx90a" and code.log == ""
        apply = launcher.register(code, "apply")
        x = numpy.array([1, 2, -3.5, 0], "f4")
        apply[1, 4](hiplaunch.InOut(x)).result()
        assert x.tolist() == [2, 4, -7, 0]
    # One source, by its kind and by its extension.
    assert compile((DATA / "store.s").read_text(), kind="assembly").kernels == ["store"]
    assert compile(DATA / "store.s").kernels == ["store"]


def test_the_device_libraries_are_linked_on_request():
    inputs = [DATA / "apply.ll", DATA / "sine.ll"]
    with pytest.raises(hiplaunch.CompileError, match="undefined symbol: __ocml_sin_f32"):
        compile(inputs)
    try:
        assert compile(inputs, device_libraries=True).kernels == ["apply"]
    except hiplaunch.CompileError as error:
        if "no usable device libraries" not in str(error):
            raise
        pytest.skip(str(error))


def test_the_error_of_a_wrong_text_has_its_line():
    with pytest.raises(hiplaunch.CompileError, match="mine.ll:13:7: error: expected type") as caught:
        compile(APPLY.replace("ret void", "ret vod"), kind="llvm-ir", name="mine.ll")
    assert "mine.ll:13:7" in caught.value.log


def test_what_cannot_be_compiled_is_said_before_a_compiler_runs():
    other = APPLY.replace("amdgcn-amd-amdhsa", "x86_64-pc-linux-gnu")
    for source, keywords, error, text in [
        ([], {}, hiplaunch.CompileError, "the list of inputs is empty"),
        (b"", {"kind": "bitcode"}, hiplaunch.CompileError, "kernel.bc is empty"),
        (other, {"kind": "llvm-ir"}, hiplaunch.CompileError, "x86_64-pc-linux-gnu.*amdgcn-amd-amdhsa"),
        (DATA / "scale.gfx942.o", {}, hiplaunch.CompileError, "gfx942.*gfx90a"),
        (b"neither", {}, ValueError, "say their kind"),
        (DATA / "none.txt", {}, ValueError, "extension"),
        (DATA / "none.ll", {}, FileNotFoundError, "No such file"),
        (SCALE, {"kind": "ptx"}, ValueError, "none of hip, llvm-ir, bitcode, assembly, relocatable"),
        ([SCALE], {"name": "mine"}, ValueError, "name"),
        ([("ptx", SCALE)], {}, ValueError, "ptx"),
        ([("llvm-ir", SCALE, "mine")], {}, ValueError, "tuple"),
        (7, {}, TypeError, "str, bytes or a path"),
    ]:
        with pytest.raises(error, match=text):
            hiplaunch.compile(source, target="gfx90a", cache=False, **keywords)
    with pytest.raises(hiplaunch.CompileError, match="/nowhere/clang: "):
        hiplaunch.compile(SCALE, kind="llvm-ir", target="gfx90a", clang="/nowhere/clang", cache=False)
