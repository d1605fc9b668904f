; A variable that a constructor sets, and a kernel that reads it.
target triple = "amdgcn-amd-amdhsa"
@value = addrspace(1) global i32 5
@llvm.global_ctors = appending addrspace(1) global [1 x { i32, ptr, ptr addrspace(1) }] [{ i32, ptr, ptr addrspace(1) } { i32 1, ptr @construct, ptr addrspace(1) null }]
define internal void @construct() {
  %x = load i32, ptr addrspace(1) @value
  %y = add i32 %x, 37
  store i32 %y, ptr addrspace(1) @value
  ret void
}
define amdgpu_kernel void @read(ptr addrspace(1) %out) {
  %x = load i32, ptr addrspace(1) @value
  store i32 %x, ptr addrspace(1) %out
  ret void
}
