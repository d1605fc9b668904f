; The function of the kernel in apply.ll. scale.15.bc is its bitcode by llvm-as-15, scale.22.bc by llvm-as-22; scale.v4.o is its
; object file by clang-15, and scale.v5.o and scale.v6.o are by clang-22, each of a version of code objects.
target triple = "amdgcn-amd-amdhsa"

define float @scale(float %v) nounwind {
  %w = fmul float %v, 2.0
  ret float %w
}
