// Products of 16 x 128 by 128 x 16 matrices with a scale for each 32 elements: fp8 by fp4, by gfx950's scaled matrix
// instruction. Each work-item of a wave loads its operands from arrays of one element for each lane.
typedef int v8i __attribute__((ext_vector_type(8)));
typedef float v4f __attribute__((ext_vector_type(4)));

extern "C" __attribute__((global)) void scaled(const v8i *a, const v8i *b, const int *a_scale, const int *b_scale,
                                               v4f *d) {
    unsigned lane = __builtin_amdgcn_workitem_id_x();
    // E4M3 and E2M1; the scales are byte 2 of A's and byte 1 of B's.
    v4f once = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a[lane], b[lane], v4f{}, 0, 4, 2, a_scale[lane], 1,
                                                                b_scale[lane]);
    d[lane] = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a[lane], b[lane], once, 0, 4, 2, a_scale[lane], 1,
                                                               b_scale[lane]);
}
