; A kernel that applies a function of another input to each element.
target triple = "amdgcn-amd-amdhsa"

declare i32 @llvm.amdgcn.workitem.id.x()
declare float @scale(float)

define amdgpu_kernel void @apply(ptr addrspace(1) %x) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr float, ptr addrspace(1) %x, i32 %i
  %v = load float, ptr addrspace(1) %p
  %w = call float @scale(float %v)
  store float %w, ptr addrspace(1) %p
  ret void
}
