; Doubles each of n floats.
target triple = "amdgcn-amd-amdhsa"

declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workitem.id.x()

define amdgpu_kernel void @twice(ptr addrspace(1) %x, i32 %n) #0 {
  %block = call i32 @llvm.amdgcn.workgroup.id.x()
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %first = mul i32 %block, 256
  %i = add i32 %first, %lane
  %inside = icmp ult i32 %i, %n
  br i1 %inside, label %store, label %end

store:
  %p = getelementptr float, ptr addrspace(1) %x, i32 %i
  %v = load float, ptr addrspace(1) %p
  %w = fadd float %v, %v
  store float %w, ptr addrspace(1) %p
  br label %end

end:
  ret void
}

attributes #0 = { "amdgpu-flat-work-group-size"="1,256" }
