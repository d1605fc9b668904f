// Each work-item adds 1.0 to a float, with the hardware's atomic.
    .text
    .globl sum
    .p2align 8
    .type sum,@function
sum:
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    v_mov_b32 v1, 1.0
    v_mov_b32 v2, 0
    s_waitcnt lgkmcnt(0)
    global_atomic_add_f32 v2, v1, s[4:5]
    s_endpgm
    .size sum, .-sum

    .rodata
    .p2align 6
    .amdhsa_kernel sum
        .amdhsa_next_free_vgpr 8
        .amdhsa_accum_offset 8
        .amdhsa_next_free_sgpr 8
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .end_amdhsa_kernel

    .amdgpu_metadata
---
amdhsa.version: METADATA_VERSION
amdhsa.target: TARGET
amdhsa.kernels:
  - .name: sum
    .symbol: sum.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 8
    .vgpr_count: 8
    .max_flat_workgroup_size: 1024
    .args:
      - { .size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global }
...
    .end_amdgpu_metadata
