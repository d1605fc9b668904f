; The tests' module: module.15.bc and module.22.bc are its bitcode, by llvm-as of these versions of LLVM.
source_filename = "module.ll"
target triple = "amdgcn-amd-amdhsa"

module asm ".section .note"

define float @twice(float %x) #0 {
  %y = fadd float %x, %x
  ret float %y
}

attributes #0 = { noinline nounwind "target-cpu"="gfx90a" }
