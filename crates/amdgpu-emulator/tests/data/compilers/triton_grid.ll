; What Triton 3.5 makes of a kernel whose workgroups wait for each other, with launch_cooperative_grid: a grid barrier of
; atomic additions. Without debug information.
;
;   @triton.jit
;   def grid_stencil(a, b, bar, n, steps, BLOCK: tl.constexpr):   # BLOCK = 128, num_warps = 2, gfx942
;       pid = tl.program_id(0); nb = tl.num_programs(0)
;       offs = pid * BLOCK + tl.arange(0, BLOCK)
;       m = offs < n
;       src = a; dst = b
;       for s in range(steps):
;           l = tl.load(src + tl.where(offs == 0, n - 1, offs - 1), mask=m, other=0, cache_modifier=".cv")
;           r = tl.load(src + tl.where(offs == n - 1, 0, offs + 1), mask=m, other=0, cache_modifier=".cv")
;           tl.store(dst + offs, l + r, mask=m, cache_modifier=".wt")
;           tl.debug_barrier()
;           tl.atomic_add(bar, 1, sem="acq_rel", scope="gpu")
;           while tl.atomic_add(bar, 0, sem="acq_rel", scope="gpu") < nb * (s + 1):
;               pass
;           t = src; src = dst; dst = t
target triple = "amdgcn-amd-amdhsa"

@global_smem = external local_unnamed_addr addrspace(3) global [0 x i8], align 16

define amdgpu_kernel void @grid_stencil(ptr addrspace(1) inreg %0, ptr addrspace(1) inreg %1, ptr addrspace(1) inreg captures(none) %2, i32 inreg %3, i32 inreg %4, ptr addrspace(1) inreg readnone captures(none) %5, ptr addrspace(1) inreg readnone captures(none) %6) local_unnamed_addr #0 {
  %8 = tail call i32 @llvm.amdgcn.workgroup.id.x()
  %9 = tail call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %10 = load i32, ptr addrspace(4) %9, align 4, !tbaa !4
  %11 = getelementptr inbounds nuw i8, ptr addrspace(4) %9, i64 18
  %12 = load i16, ptr addrspace(4) %11, align 2, !tbaa !8
  %13 = icmp ne i16 %12, 0
  %14 = zext i1 %13 to i32
  %15 = add i32 %10, %14
  %16 = shl i32 %8, 7
  %17 = tail call i32 @llvm.amdgcn.workitem.id.x()
  %18 = and i32 %17, 127
  %19 = or disjoint i32 %16, %18
  %20 = icmp slt i32 %19, %3
  %21 = icmp sgt i32 %4, 0
  br i1 %21, label %.lr.ph, label %._crit_edge

.lr.ph:                                           ; preds = %7
  %22 = add i32 %3, -1
  %23 = icmp eq i32 %19, %22
  %24 = add i32 %19, 1
  %25 = select i1 %23, i32 0, i32 %24
  %26 = icmp eq i32 %19, 0
  %27 = add i32 %19, -1
  %28 = select i1 %26, i32 %22, i32 %27
  %29 = sext i32 %28 to i64
  %30 = sext i32 %25 to i64
  %31 = sext i32 %19 to i64
  %32 = icmp eq i32 %17, 0
  br label %33

.loopexit:                                        ; preds = %55
  %exitcond.not = icmp eq i32 %50, %4
  br i1 %exitcond.not, label %._crit_edge, label %33

33:                                               ; preds = %.loopexit, %.lr.ph
  %34 = phi ptr addrspace(1) [ %1, %.lr.ph ], [ %35, %.loopexit ]
  %35 = phi ptr addrspace(1) [ %0, %.lr.ph ], [ %34, %.loopexit ]
  %36 = phi i32 [ 0, %.lr.ph ], [ %50, %.loopexit ]
  br i1 %20, label %37, label %.critedge

37:                                               ; preds = %33
  %38 = getelementptr i32, ptr addrspace(1) %35, i64 %29
  %39 = load volatile <1 x i32>, ptr addrspace(1) %38, align 4, !nontemporal !10
  %40 = getelementptr i32, ptr addrspace(1) %35, i64 %30
  %41 = load volatile <1 x i32>, ptr addrspace(1) %40, align 4, !nontemporal !10
  %42 = extractelement <1 x i32> %41, i64 0
  %43 = extractelement <1 x i32> %39, i64 0
  %44 = add i32 %42, %43
  %45 = insertelement <1 x i32> poison, i32 %44, i64 0
  %46 = getelementptr i32, ptr addrspace(1) %34, i64 %31
  store volatile <1 x i32> %45, ptr addrspace(1) %46, align 4, !nontemporal !10
  br label %.critedge

.critedge:                                        ; preds = %37, %33
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br i1 %32, label %47, label %49

47:                                               ; preds = %.critedge
  %48 = atomicrmw add ptr addrspace(1) %2, i32 1 syncscope("agent") acq_rel, align 4
  br label %49

49:                                               ; preds = %47, %.critedge
  %50 = add nuw nsw i32 %36, 1
  %51 = mul i32 %50, %15
  br label %52

52:                                               ; preds = %55, %49
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br i1 %32, label %53, label %55

53:                                               ; preds = %52
  %54 = atomicrmw or ptr addrspace(1) %2, i32 0 syncscope("agent") acq_rel, align 4
  store i32 %54, ptr addrspace(3) @global_smem, align 16
  br label %55

55:                                               ; preds = %53, %52
  fence syncscope("workgroup") release
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %56 = load i32, ptr addrspace(3) @global_smem, align 16
  %57 = icmp slt i32 %56, %51
  br i1 %57, label %52, label %.loopexit

._crit_edge:                                      ; preds = %.loopexit, %7
  ret void
}

declare noundef i32 @llvm.amdgcn.workgroup.id.x() #1

declare noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x() #1

declare void @llvm.amdgcn.s.barrier() #2

declare noundef align 4 ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr() #1

attributes #0 = { nofree norecurse nounwind "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="1,128" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-x" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-x" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "amdgpu-waves-per-eu"="1" "denormal-fp-math-f32"="ieee" "uniform-work-group-size"="false" }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { convergent nocallback nofree nounwind willreturn }

!llvm.module.flags = !{!0, !1, !2, !3}

!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{i32 1, !"amdhsa_code_object_version", i32 500}
!2 = !{i32 1, !"wchar_size", i32 4}
!3 = !{i32 8, !"PIC Level", i32 0}
!4 = !{!5, !5, i64 0}
!5 = !{!"int", !6, i64 0}
!6 = !{!"omnipotent char", !7, i64 0}
!7 = !{!"Simple C/C++ TBAA"}
!8 = !{!9, !9, i64 0}
!9 = !{!"short", !6, i64 0}
!10 = !{i32 1}
