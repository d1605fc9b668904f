; A kernel without an instruction: rocPRIM has such for each processor that it is not compiled for. In a section of its own, as a
; template's code is, the linker puts it behind the last byte of code.
target triple = "amdgcn-amd-amdhsa"
$none = comdat any
define amdgpu_kernel void @some(ptr addrspace(1) %out) {
  store i32 7, ptr addrspace(1) %out
  ret void
}
define amdgpu_kernel void @none(ptr addrspace(1) %out) comdat {
  unreachable
}
