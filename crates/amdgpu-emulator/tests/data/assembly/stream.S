// A kernel with room for code: what the fuzz target `stream` fills with instructions. All registers there are, scratch,
// static LDS, three arguments.
    .text
    .globl stream
    .p2align 8
    .type stream,@function
stream:
    .fill 512, 4, 0xbf810000 // s_endpgm
    .size stream, .-stream

    .rodata
    .p2align 6
    .amdhsa_kernel stream
        .amdhsa_next_free_vgpr 512
        .amdhsa_accum_offset 256
        .amdhsa_next_free_sgpr 100
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_system_sgpr_workgroup_id_y 1
        .amdhsa_system_vgpr_workitem_id 2
        .amdhsa_group_segment_fixed_size 1024
        .amdhsa_private_segment_fixed_size 256
#ifdef GFX90A
        .amdhsa_user_sgpr_private_segment_buffer 1
        .amdhsa_user_sgpr_flat_scratch_init 1
        .amdhsa_system_sgpr_private_segment_wavefront_offset 1
#else
        .amdhsa_enable_private_segment 1
#endif
    .end_amdhsa_kernel

    .amdgpu_metadata
---
amdhsa.version: METADATA_VERSION
amdhsa.target: TARGET
amdhsa.kernels:
  - .name: stream
    .symbol: stream.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 256
    .wavefront_size: 64
    .sgpr_count: 106
    .vgpr_count: 512
    .agpr_count: 256
    .max_flat_workgroup_size: 1024
    .args:
      - { .size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global }
      - { .size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global }
      - { .size: 8, .offset: 16, .value_kind: by_value }
...
    .end_amdgpu_metadata
