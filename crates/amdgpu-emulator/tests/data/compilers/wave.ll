; Waves, stacks and memory in ways that HIP has no words for.
target triple = "amdgcn-amd-amdhsa"

declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.readfirstlane(i32)
declare i32 @llvm.amdgcn.set.inactive.i32(i32, i32)
declare i32 @llvm.amdgcn.strict.wwm.i32(i32)
declare i32 @llvm.amdgcn.update.dpp.i32(i32, i32, i32, i32, i32, i1)
declare void @llvm.amdgcn.raw.buffer.store.i32(i32, <4 x i32>, i32, i32, i32)
declare i32 @llvm.amdgcn.raw.buffer.load.i32(<4 x i32>, i32, i32, i32)
declare i32 @llvm.amdgcn.ds.append.p3(ptr addrspace(3), i1)
declare void @llvm.amdgcn.s.barrier()

@counter = internal addrspace(3) global i32 undef
@functions = internal addrspace(1) constant [4 x ptr] [ptr @plus, ptr @times, ptr @flip, ptr @shift]

; Whole wave mode: an inclusive sum in which lanes with an even number count as 7.
define amdgpu_kernel void @whole_wave(ptr addrspace(1) %in, ptr addrspace(1) %out) #0 {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %id
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %id
  %x = load i32, ptr addrspace(1) %pi
  %bit = and i32 %x, 1
  %odd = icmp eq i32 %bit, 1
  br i1 %odd, label %then, label %end
then:
  %s = call i32 @llvm.amdgcn.set.inactive.i32(i32 %x, i32 7)
  %d1 = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %s, i32 273, i32 15, i32 15, i1 true)
  %s1 = add i32 %s, %d1
  %d2 = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %s1, i32 274, i32 15, i32 15, i1 true)
  %s2 = add i32 %s1, %d2
  %d3 = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %s2, i32 276, i32 15, i32 15, i1 true)
  %s3 = add i32 %s2, %d3
  %d4 = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %s3, i32 280, i32 15, i32 15, i1 true)
  %s4 = add i32 %s3, %d4
  %d5 = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %s4, i32 322, i32 10, i32 15, i1 false)
  %s5 = add i32 %s4, %d5
  %d6 = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %s5, i32 323, i32 12, i32 15, i1 false)
  %s6 = add i32 %s5, %d6
  %w = call i32 @llvm.amdgcn.strict.wwm.i32(i32 %s6)
  br label %end
end:
  %r = phi i32 [ -1, %0 ], [ %w, %then ]
  store i32 %r, ptr addrspace(1) %po
  ret void
}

; A function that each lane picks for itself, and one that calls itself.
define amdgpu_kernel void @calls(ptr addrspace(1) %in, ptr addrspace(1) %out) #0 {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %id
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %id
  %x = load i32, ptr addrspace(1) %pi
  %k = and i32 %x, 3
  %pf = getelementptr [4 x ptr], ptr addrspace(1) @functions, i32 0, i32 %k
  %f = load ptr, ptr addrspace(1) %pf
  %y = call i32 %f(i32 %x)
  %n = and i32 %x, 7
  %z = call i32 @fibonacci(i32 %n)
  %r = add i32 %y, %z
  store i32 %r, ptr addrspace(1) %po
  ret void
}
define internal i32 @plus(i32 %x) noinline {
  %r = add i32 %x, 1
  ret i32 %r
}
define internal i32 @times(i32 %x) noinline {
  %r = mul i32 %x, 3
  ret i32 %r
}
define internal i32 @flip(i32 %x) noinline {
  %r = xor i32 %x, 85
  ret i32 %r
}
define internal i32 @shift(i32 %x) noinline {
  %r = lshr i32 %x, 3
  ret i32 %r
}
define internal i32 @fibonacci(i32 %n) noinline {
  %small = icmp slt i32 %n, 2
  br i1 %small, label %end, label %recurse
recurse:
  %a = sub i32 %n, 1
  %b = sub i32 %n, 2
  %x = call i32 @fibonacci(i32 %a)
  %y = call i32 @fibonacci(i32 %b)
  %s = add i32 %x, %y
  ret i32 %s
end:
  ret i32 %n
}

; A buffer of 128 bytes: what is past its end reads 0 and isn't written.
define amdgpu_kernel void @buffer(ptr addrspace(1) %in, ptr addrspace(1) %out) #0 {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %address = ptrtoint ptr addrspace(1) %out to i64
  %low = trunc i64 %address to i32
  %above = lshr i64 %address, 32
  %high = trunc i64 %above to i32
  %v0 = insertelement <4 x i32> <i32 0, i32 0, i32 128, i32 159744>, i32 %low, i32 0
  %resource = insertelement <4 x i32> %v0, i32 %high, i32 1
  %offset = shl i32 %id, 2
  call void @llvm.amdgcn.raw.buffer.store.i32(i32 %id, <4 x i32> %resource, i32 %offset, i32 0, i32 0)
  call void @llvm.amdgcn.s.barrier()
  %next = add i32 %offset, 4
  %x = call i32 @llvm.amdgcn.raw.buffer.load.i32(<4 x i32> %resource, i32 %next, i32 0, i32 0)
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %id
  store i32 %x, ptr addrspace(1) %pi
  ret void
}

; Counters and cells: ds_append, compare-and-swap of bytes, and an atomic at a pointer that may be to LDS or not.
define amdgpu_kernel void @cells(ptr addrspace(1) %in, ptr addrspace(1) %out) #0 {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  store i32 0, ptr addrspace(3) @counter
  call void @llvm.amdgcn.s.barrier()
  %pi = getelementptr i32, ptr addrspace(1) %in, i32 %id
  %x = load i32, ptr addrspace(1) %pi
  %negative = icmp slt i32 %x, 0
  br i1 %negative, label %then, label %end
then:
  %n = call i32 @llvm.amdgcn.ds.append.p3(ptr addrspace(3) @counter, i1 false)
  br label %end
end:
  call void @llvm.amdgcn.s.barrier()
  %count = load volatile i32, ptr addrspace(3) @counter
  call void @llvm.amdgcn.s.barrier()
  %byte = trunc i32 %x to i8
  %id8 = trunc i32 %id to i8
  %pb = getelementptr i8, ptr addrspace(1) %out, i32 %id
  %old = cmpxchg ptr addrspace(1) %pb, i8 90, i8 %id8 syncscope("agent") monotonic monotonic
  %total = getelementptr i8, ptr addrspace(1) %out, i32 64
  %near = addrspacecast ptr addrspace(3) @counter to ptr
  %far = addrspacecast ptr addrspace(1) %total to ptr
  %where = select i1 %negative, ptr %near, ptr %far
  %was = atomicrmw add ptr %where, i32 %count syncscope("agent") monotonic
  call void @llvm.amdgcn.s.barrier()
  %sum = load volatile i32, ptr addrspace(3) @counter
  %ps = getelementptr i8, ptr addrspace(1) %out, i32 68
  store i32 %sum, ptr addrspace(1) %ps
  ret void
}

attributes #0 = { "amdgpu-flat-work-group-size"="1,64" }
