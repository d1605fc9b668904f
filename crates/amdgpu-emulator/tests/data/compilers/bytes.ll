; Atomics on a byte and a half: LLVM makes loops of dword loads and cmpswap of them, here on the last bytes of LDS and of
; a buffer, whose lengths are no multiples of 4.
@bytes = internal addrspace(3) global [3 x i8] poison, align 1

define amdgpu_kernel void @bytes_and_halves(ptr addrspace(1) %out, ptr addrspace(1) %halves) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %first = icmp eq i32 %id, 0
  %last = getelementptr [3 x i8], ptr addrspace(3) @bytes, i32 0, i32 2
  br i1 %first, label %clear, label %all
clear:
  store i8 0, ptr addrspace(3) %last
  br label %all
all:
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %a = atomicrmw add ptr addrspace(3) %last, i8 3 monotonic
  %half = getelementptr i16, ptr addrspace(1) %halves, i32 2
  %b = atomicrmw add ptr addrspace(1) %half, i16 5 syncscope("agent") monotonic
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %sum = load i8, ptr addrspace(3) %last
  %to = getelementptr i8, ptr addrspace(1) %out, i32 %id
  store i8 %sum, ptr addrspace(1) %to
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
