// A kernel for any processor: nothing but its end, and with IMAGE an image instruction before that which is not executed. Objects for
// other processors, and with such an instruction, must not load.
    .text
    .globl empty
    .p2align 8
    .type empty,@function
empty:
#ifdef IMAGE
    image_msaa_load v[0:3], v[0:2], s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_2D_MSAA
#endif
    s_endpgm
    .size empty, .-empty

    .rodata
    .p2align 6
    .amdhsa_kernel empty
        .amdhsa_next_free_vgpr 8
        .amdhsa_next_free_sgpr 8
    .end_amdhsa_kernel

    .amdgpu_metadata
---
amdhsa.version: METADATA_VERSION
amdhsa.target: TARGET
amdhsa.kernels:
  - .name: empty
    .symbol: empty.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 4
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: WAVE
    .sgpr_count: 8
    .vgpr_count: 8
    .max_flat_workgroup_size: 1024
...
    .end_amdgpu_metadata
