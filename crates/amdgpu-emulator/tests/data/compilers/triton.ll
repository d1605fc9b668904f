; What Triton's backend for AMD GPUs makes of kernels: dynamic LDS as an external array without a size, arguments in
; registers (inreg), buffer accesses whose masked lanes have an offset past the end, reductions with DPP, matrix
; instructions, flushed denormals, no hidden arguments.
target triple = "amdgcn-amd-amdhsa"
@global_smem = external local_unnamed_addr addrspace(3) global [0 x i8], align 16
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) readnone, i16, i64, i32)
declare i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8), i32, i32, i32 immarg)
declare void @llvm.amdgcn.raw.ptr.buffer.store.i32(i32, ptr addrspace(8), i32, i32, i32 immarg)
declare void @llvm.amdgcn.s.barrier()
declare void @llvm.amdgcn.s.setprio(i16)
declare void @llvm.amdgcn.sched.barrier(i32)
declare i32 @llvm.amdgcn.update.dpp.i32(i32, i32, i32, i32, i32, i1)
declare i32 @llvm.amdgcn.readlane.i32(i32, i32)
declare float @llvm.exp2.f32(float)
declare float @llvm.maxnum.f32(float, float)
declare <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half>,<4 x half>,<4 x float>,i32 immarg,i32 immarg,i32 immarg)

define amdgpu_kernel void @softmax_kernel_0d1d2d34(ptr addrspace(1) inreg %out, ptr addrspace(1) inreg %in, i32 inreg %si, i32 inreg %so, i32 inreg %n, ptr addrspace(1) inreg %scratch, ptr addrspace(1) inreg %prof) #0 {
  %row = call i32 @llvm.amdgcn.workgroup.id.x()
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %lane = and i32 %id, 63
  %w = lshr i32 %id, 6
  %rsi = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %in, i16 16448, i64 2147483646, i32 159744)
  %rso = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %out, i16 16448, i64 2147483646, i32 159744)
  %base = mul i32 %row, %si
  %e = add i32 %base, %id
  %c = icmp slt i32 %id, %n
  %b = shl i32 %e, 2
  %o = select i1 %c, i32 %b, i32 -2147483648
  %vi = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %rsi, i32 %o, i32 0, i32 0)
  %vs = select i1 %c, i32 %vi, i32 -8388608
  %x0 = bitcast i32 %vs to float
  %maxi0 = bitcast float %x0 to i32
  %maxd0 = call i32 @llvm.amdgcn.update.dpp.i32(i32 -8388608, i32 %maxi0, i32 273, i32 15, i32 15, i1 false)
  %maxf0 = bitcast i32 %maxd0 to float
  %maxx0 = call float @llvm.maxnum.f32(float %x0, float %maxf0)
  %maxi1 = bitcast float %maxx0 to i32
  %maxd1 = call i32 @llvm.amdgcn.update.dpp.i32(i32 -8388608, i32 %maxi1, i32 274, i32 15, i32 15, i1 false)
  %maxf1 = bitcast i32 %maxd1 to float
  %maxx1 = call float @llvm.maxnum.f32(float %maxx0, float %maxf1)
  %maxi2 = bitcast float %maxx1 to i32
  %maxd2 = call i32 @llvm.amdgcn.update.dpp.i32(i32 -8388608, i32 %maxi2, i32 276, i32 15, i32 15, i1 false)
  %maxf2 = bitcast i32 %maxd2 to float
  %maxx2 = call float @llvm.maxnum.f32(float %maxx1, float %maxf2)
  %maxi3 = bitcast float %maxx2 to i32
  %maxd3 = call i32 @llvm.amdgcn.update.dpp.i32(i32 -8388608, i32 %maxi3, i32 280, i32 15, i32 15, i1 false)
  %maxf3 = bitcast i32 %maxd3 to float
  %maxx3 = call float @llvm.maxnum.f32(float %maxx2, float %maxf3)
  %maxi4 = bitcast float %maxx3 to i32
  %maxd4 = call i32 @llvm.amdgcn.update.dpp.i32(i32 -8388608, i32 %maxi4, i32 322, i32 10, i32 15, i1 false)
  %maxf4 = bitcast i32 %maxd4 to float
  %maxx4 = call float @llvm.maxnum.f32(float %maxx3, float %maxf4)
  %maxi5 = bitcast float %maxx4 to i32
  %maxd5 = call i32 @llvm.amdgcn.update.dpp.i32(i32 -8388608, i32 %maxi5, i32 323, i32 12, i32 15, i1 false)
  %maxf5 = bitcast i32 %maxd5 to float
  %maxx5 = call float @llvm.maxnum.f32(float %maxx4, float %maxf5)
  %maxli = bitcast float %maxx5 to i32
  %maxrl = call i32 @llvm.amdgcn.readlane.i32(i32 %maxli, i32 63)
  %maxr = bitcast i32 %maxrl to float
  %sm = getelementptr float, ptr addrspace(3) @global_smem, i32 %w
  store float %maxr, ptr addrspace(3) %sm
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %lm = and i32 %lane, 3
  %sl = getelementptr float, ptr addrspace(3) @global_smem, i32 %lm
  %pm = load float, ptr addrspace(3) %sl
  %pmi = bitcast float %pm to i32
  %sw = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %pmi, i32 177, i32 15, i32 15, i1 true)
  %swf = bitcast i32 %sw to float
  %m1 = call float @llvm.maxnum.f32(float %pm, float %swf)
  %m1i = bitcast float %m1 to i32
  %sw2 = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %m1i, i32 78, i32 15, i32 15, i1 true)
  %sw2f = bitcast i32 %sw2 to float
  %mm = call float @llvm.maxnum.f32(float %m1, float %sw2f)
  %d = fsub float %x0, %mm
  %dl = fmul float %d, 0x3FF7154760000000
  %ex = call float @llvm.exp2.f32(float %dl)
  %sumi0 = bitcast float %ex to i32
  %sumd0 = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %sumi0, i32 273, i32 15, i32 15, i1 false)
  %sumf0 = bitcast i32 %sumd0 to float
  %sumx0 = fadd float %ex, %sumf0
  %sumi1 = bitcast float %sumx0 to i32
  %sumd1 = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %sumi1, i32 274, i32 15, i32 15, i1 false)
  %sumf1 = bitcast i32 %sumd1 to float
  %sumx1 = fadd float %sumx0, %sumf1
  %sumi2 = bitcast float %sumx1 to i32
  %sumd2 = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %sumi2, i32 276, i32 15, i32 15, i1 false)
  %sumf2 = bitcast i32 %sumd2 to float
  %sumx2 = fadd float %sumx1, %sumf2
  %sumi3 = bitcast float %sumx2 to i32
  %sumd3 = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %sumi3, i32 280, i32 15, i32 15, i1 false)
  %sumf3 = bitcast i32 %sumd3 to float
  %sumx3 = fadd float %sumx2, %sumf3
  %sumi4 = bitcast float %sumx3 to i32
  %sumd4 = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %sumi4, i32 322, i32 10, i32 15, i1 false)
  %sumf4 = bitcast i32 %sumd4 to float
  %sumx4 = fadd float %sumx3, %sumf4
  %sumi5 = bitcast float %sumx4 to i32
  %sumd5 = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %sumi5, i32 323, i32 12, i32 15, i1 false)
  %sumf5 = bitcast i32 %sumd5 to float
  %sumx5 = fadd float %sumx4, %sumf5
  %sumli = bitcast float %sumx5 to i32
  %sumrl = call i32 @llvm.amdgcn.readlane.i32(i32 %sumli, i32 63)
  %sumr = bitcast i32 %sumrl to float
  call void @llvm.amdgcn.s.barrier()
  store float %sumr, ptr addrspace(3) %sm
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %t4 = load <4 x float>, ptr addrspace(3) @global_smem, align 16
  %t0 = extractelement <4 x float> %t4, i32 0
  %t1 = extractelement <4 x float> %t4, i32 1
  %t2 = extractelement <4 x float> %t4, i32 2
  %t3 = extractelement <4 x float> %t4, i32 3
  %u0 = fadd float %t0, %t1
  %u1 = fadd float %t2, %t3
  %u = fadd float %u0, %u1
  %q = fdiv float %ex, %u
  %qi = bitcast float %q to i32
  %ob = mul i32 %row, %so
  %oe = add i32 %ob, %id
  %oo = shl i32 %oe, 2
  %of = select i1 %c, i32 %oo, i32 -2147483648
  call void @llvm.amdgcn.raw.ptr.buffer.store.i32(i32 %qi, ptr addrspace(8) %rso, i32 %of, i32 0, i32 0)
  ret void
}

define amdgpu_kernel void @matmul_kernel(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c, i32 %kb, i32 %ldc) #0 {
e:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %px = call i32 @llvm.amdgcn.workgroup.id.x()
  %py = call i32 @llvm.amdgcn.workgroup.id.y()
  %ra = and i32 %id, 15
  %g = lshr i32 %id, 4
  %go = mul i32 %g, 8
  %ar0 = shl i32 %px, 4
  %ar = add i32 %ar0, %ra
  %aof0 = mul i32 %ar, %kb
  %aof = add i32 %aof0, %go
  %br0 = shl i32 %py, 4
  %br = add i32 %br0, %ra
  %bof0 = mul i32 %br, %kb
  %bof = add i32 %bof0, %go
  call void @llvm.amdgcn.s.setprio(i16 1)
  br label %l
l:
  %k = phi i32 [ 0, %e ], [ %k1, %l ]
  %acc = phi <4 x float> [ zeroinitializer, %e ], [ %acc1, %l ]
  %ao = add i32 %aof, %k
  %bo = add i32 %bof, %k
  %ap = getelementptr i8, ptr addrspace(1) %a, i32 %ao
  %bp = getelementptr i8, ptr addrspace(1) %b, i32 %bo
  %av = load <4 x half>, ptr addrspace(1) %ap
  %bv = load <4 x half>, ptr addrspace(1) %bp
  %l0 = mul i32 %id, 8
  %sa = getelementptr i8, ptr addrspace(3) @global_smem, i32 %l0
  %sb0 = getelementptr i8, ptr addrspace(3) @global_smem, i32 1024
  %sb = getelementptr i8, ptr addrspace(3) %sb0, i32 %l0
  store <4 x half> %av, ptr addrspace(3) %sa
  store <4 x half> %bv, ptr addrspace(3) %sb
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %sav = load <4 x half>, ptr addrspace(3) %sa
  %sbv = load <4 x half>, ptr addrspace(3) %sb
  call void @llvm.amdgcn.sched.barrier(i32 0)
  %acc1 = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %sav, <4 x half> %sbv, <4 x float> %acc, i32 0, i32 0, i32 0)
  call void @llvm.amdgcn.s.barrier()
  %k1 = add i32 %k, 32
  %cc = icmp ult i32 %k1, %kb
  br i1 %cc, label %l, label %d
d:
  %co = add i32 %br0, %ra
  %r0 = mul i32 %g, 4
  %rr0 = add i32 %r0, 0
  %rw0 = add i32 %rr0, %ar0
  %i0 = mul i32 %rw0, %ldc
  %ix0 = add i32 %i0, %co
  %cp0 = getelementptr float, ptr addrspace(1) %c, i32 %ix0
  %v0 = extractelement <4 x float> %acc1, i32 0
  store float %v0, ptr addrspace(1) %cp0
  %r1 = mul i32 %g, 4
  %rr1 = add i32 %r1, 1
  %rw1 = add i32 %rr1, %ar0
  %i1 = mul i32 %rw1, %ldc
  %ix1 = add i32 %i1, %co
  %cp1 = getelementptr float, ptr addrspace(1) %c, i32 %ix1
  %v1 = extractelement <4 x float> %acc1, i32 1
  store float %v1, ptr addrspace(1) %cp1
  %r2 = mul i32 %g, 4
  %rr2 = add i32 %r2, 2
  %rw2 = add i32 %rr2, %ar0
  %i2 = mul i32 %rw2, %ldc
  %ix2 = add i32 %i2, %co
  %cp2 = getelementptr float, ptr addrspace(1) %c, i32 %ix2
  %v2 = extractelement <4 x float> %acc1, i32 2
  store float %v2, ptr addrspace(1) %cp2
  %r3 = mul i32 %g, 4
  %rr3 = add i32 %r3, 3
  %rw3 = add i32 %rr3, %ar0
  %i3 = mul i32 %rw3, %ldc
  %ix3 = add i32 %i3, %co
  %cp3 = getelementptr float, ptr addrspace(1) %c, i32 %ix3
  %v3 = extractelement <4 x float> %acc1, i32 3
  store float %v3, ptr addrspace(1) %cp3
  ret void
}

attributes #0 = { nounwind "amdgpu-flat-work-group-size"="1,256" "amdgpu-waves-per-eu"="0,0" "denormal-fp-math-f32"="preserve-sign,preserve-sign" "uniform-work-group-size"="false" "amdgpu-no-implicitarg-ptr" "amdgpu-no-dispatch-ptr" "amdgpu-no-queue-ptr" "amdgpu-no-dispatch-id" "amdgpu-no-hostcall-ptr" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "amdgpu-no-lds-kernel-id" }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
