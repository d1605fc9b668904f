"""Compiles _cuda_device.cpp and the headers beside it for the torch that is installed, and keeps what was compiled."""

import ctypes
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile

_SOURCE = pathlib.Path(__file__).with_name("_cuda_device.cpp")
_HEADERS = sorted(_SOURCE.parent.glob("_cuda_*.h"))


def load():
    """Returns the compiled library, as ctypes loads it. Compiles it if the cache has none: that takes about ten seconds."""
    import torch

    if tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2]) < (2, 8):
        raise RuntimeError(f'hiplaunch: torch {torch.__version__} is too old for the device "cuda"; install torch 2.8 or later')
    if os.environ.get("HIPLAUNCH_CACHE_DIR") == "off":
        with tempfile.TemporaryDirectory() as folder:
            return _load(torch, pathlib.Path(folder))
    return _load(torch, _cache_folder())


def _load(torch, folder):
    library = folder / _file_name(torch)
    if not library.exists():
        _compile(torch, library)
    return ctypes.CDLL(str(library))


def _cache_folder():
    named = os.environ.get("HIPLAUNCH_CACHE_DIR")
    return pathlib.Path(named or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "hiplaunch"))


def _file_name(torch):
    # Two builds of torch can have the same version.
    torch_file = os.stat(torch._C.__file__)
    of = f"{torch.__version__} {torch.__file__} {torch_file.st_size} {torch_file.st_mtime_ns}"
    sources = b"".join(path.read_bytes() for path in (_SOURCE, *_HEADERS))
    key = hashlib.sha256(of.encode() + sources).hexdigest()[:16]
    return f"torch-cuda-{key}.so"


def _compiler():
    names = [os.environ.get("CXX"), "g++", "c++", "clang++", *(f"clang++-{version}" for version in range(30, 13, -1))]
    path = next(filter(None, (shutil.which(name) for name in names if name)), None)
    if path is None:
        raise RuntimeError(
            'hiplaunch: the device "cuda" of torch needs a C++ compiler once, to be built for this torch, and there is none; install '
            "g++ (Debian: apt install g++), or name a compiler in CXX"
        )
    return path


def _compile(torch, library):
    root = pathlib.Path(torch.__file__).parent
    library.parent.mkdir(parents=True, exist_ok=True)
    # Several processes may do this at once: each has a file of its own, and the last one's stays.
    handle, output = tempfile.mkstemp(suffix=".so", dir=library.parent)
    os.close(handle)
    abi = int(torch.compiled_with_cxx11_abi())
    command = [
        *[_compiler(), "-O1", "-std=c++20", "-w", "-shared", "-fPIC", f"-D_GLIBCXX_USE_CXX11_ABI={abi}"],
        *["-I", str(root / "include"), "-I", str(root / "include/torch/csrc/api/include")],
        *[str(_SOURCE), "-o", output, "-L", str(root / "lib"), "-lc10", "-ltorch_cpu"],
    ]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            errors = "\n".join(line for line in result.stderr.splitlines() if "error" in line)[:2000]
            raise RuntimeError(
                f'hiplaunch: the device "cuda" could not be built for torch {torch.__version__}: {" ".join(command)}\n{errors}'
            )
        os.replace(output, library)
    finally:
        pathlib.Path(output).unlink(missing_ok=True)
