"""What a wheel must be: small, and for the systems that its name says."""

import importlib.metadata
import re

import pytest


def files():
    try:
        distribution = importlib.metadata.distribution("hiplaunch")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package is not installed")
    return distribution, [file.locate() for file in distribution.files]


def test_the_libraries_of_exec_are_in_it():
    names = {file.name for file in files()[1]}
    libraries = {"hiplaunch-libamdhip64", "hiplaunch-libhsa-runtime64", "hiplaunch-audit"}
    assert libraries | {"py.typed", "_native.pyi"} <= names


def test_nothing_needs_a_newer_system_than_the_name_says():
    distribution, paths = files()
    promised = re.search(r"manylinux_2_(\d+)", distribution.read_text("WHEEL"))
    if promised is None:
        pytest.skip("the wheel is for this system alone")
    binaries = [path for path in paths if path.read_bytes()[:4] == b"\x7fELF"]
    assert len(binaries) == 4
    for path in binaries:
        needed = [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", path.read_bytes())]
        assert needed and max(needed) <= int(promised[1]), path
