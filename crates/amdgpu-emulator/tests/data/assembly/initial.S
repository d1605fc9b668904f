// A kernel for gfx11 that asks for all that a wave can get at its start, in waves of WAVE lanes: tests of the initial state
// read the registers before its first instruction.
    .text
    .globl initial
    .p2align 8
    .type initial,@function
initial:
    s_endpgm
    .size initial, .-initial

    .rodata
    .p2align 6
    .amdhsa_kernel initial
        .amdhsa_next_free_vgpr 100
        .amdhsa_next_free_sgpr 32
        .amdhsa_group_segment_fixed_size 512
        .amdhsa_private_segment_fixed_size 32
        .amdhsa_kernarg_size 16
        .amdhsa_user_sgpr_dispatch_ptr 1
        .amdhsa_user_sgpr_queue_ptr 1
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_user_sgpr_dispatch_id 1
        .amdhsa_user_sgpr_private_segment_size 1
        .amdhsa_enable_private_segment 1
        .amdhsa_system_sgpr_workgroup_id_x 1
        .amdhsa_system_sgpr_workgroup_id_y 1
        .amdhsa_system_sgpr_workgroup_id_z 1
        .amdhsa_system_sgpr_workgroup_info 1
        .amdhsa_system_vgpr_workitem_id 2
    .end_amdhsa_kernel

    .amdgpu_metadata
---
amdhsa.version: METADATA_VERSION
amdhsa.target: TARGET
amdhsa.kernels:
  - .name: initial
    .symbol: initial.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 512
    .private_segment_fixed_size: 32
    .wavefront_size: WAVE
    .sgpr_count: 34
    .vgpr_count: 100
    .max_flat_workgroup_size: 1024
...
    .end_amdgpu_metadata
