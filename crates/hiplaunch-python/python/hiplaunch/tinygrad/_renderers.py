"""What makes code objects of tinygrad's kernels: HIP C++ by hiprtc, or LLVM IR by libLLVM and its linker.

tinygrad takes the first of them that can be made. Each compiles an empty kernel then, so one that lacks a library, or whose compiler
does not know the target, is passed over.
"""

import os
import shutil
import subprocess
import tempfile

import hiplaunch
from tinygrad.codegen.opt import tc
from tinygrad.device import CompileError, Compiler
from tinygrad.renderer import cstyle, llvmir
from tinygrad.runtime.support.compiler_llvm import AMDLLVMCompiler


class HiprtcCompiler(Compiler):
    """HIP C++ to a code object. The cache is hiplaunch's."""

    def __init__(self, target):
        super().__init__()
        self.target = target
        self.compile('extern "C" __attribute__((global)) void nothing() {}')

    def compile(self, src):
        # tinygrad declares the vector types itself, and hiprtc has them, too. A namespace does not change the kernel's name.
        source = f"namespace tinygrad {{\n{src}\n}}\n"
        try:
            return bytes(hiplaunch.compile(source, ["-O3"], target=self.target, name="tinygrad.hip"))
        except hiplaunch.CompileError as error:
            raise CompileError(str(error)) from error


class HIPRenderer(cstyle.HIPRenderer):
    """HIP C++."""

    def __init__(self, target):
        # Else it makes a compiler that needs a library in one of tinygrad's places.
        super().__init__(target, use_hipcc=True)
        self.compiler = HiprtcCompiler(target.arch)
        self.tensor_cores = _tensor_cores(target.arch)


_NOTHING = """define amdgpu_kernel void @nothing() {
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  ret void
}"""


class LLVMCompiler(AMDLLVMCompiler):
    """LLVM IR to a code object. LLVM_PATH names a libLLVM that tinygrad does not find, LLD_PATH a linker."""

    def __init__(self, target):
        super().__init__(target)
        # tinygrad has a loader of its own for AMD, and keeps what is not linked under this key.
        self.cachekey = self.cachekey and f"hiplaunch_{self.cachekey}"
        self._linker = os.environ.get("LLD_PATH") or _linker()
        # A libLLVM before 18 refuses what is not declared, and one that does not know the target compiles for another one.
        if target.encode() not in self.compile(_NOTHING):
            raise CompileError(f"libLLVM does not know {target}; LLVM_PATH names another one, such as libLLVM.so.21.1")

    def __reduce__(self):
        return LLVMCompiler, (self.arch,)

    def compile(self, src):
        relocatable = super().compile(src)
        with tempfile.TemporaryDirectory(prefix="hiplaunch-") as folder:
            source, target = os.path.join(folder, "kernel.o"), os.path.join(folder, "kernel.so")
            with open(source, "wb") as file:
                file.write(relocatable)
            done = subprocess.run([self._linker, "-shared", source, "-o", target], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise CompileError(f"{self._linker}: {done.stderr}")
            with open(target, "rb") as file:
                return file.read()


class LLVMRenderer(llvmir.AMDLLVMRenderer):
    """LLVM IR."""

    def __init__(self, target):
        super().__init__(target)
        self.compiler = LLVMCompiler(target.arch)
        self.tensor_cores = _tensor_cores(target.arch)


def _tensor_cores(target):
    # For a target that it does not know, such as gfx90a, tinygrad takes those of another family.
    return tc.get_amd(target) if cstyle.HIPRenderer.is_cdna(target) else []


def _linker():
    names = ["ld.lld", *(f"ld.lld-{version}" for version in range(40, 17, -1))]
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise CompileError("there is no LLVM linker: install the package lld, or let LLD_PATH name one")
    return found
