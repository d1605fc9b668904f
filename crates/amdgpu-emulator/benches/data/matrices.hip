// Matrix products whose operands stay in registers: 32 instructions in each iteration. Compiled without HIP's headers.
typedef float f4 __attribute__((ext_vector_type(4)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
typedef short s4 __attribute__((ext_vector_type(4)));

typedef _Float16 h8 __attribute__((ext_vector_type(8)));
typedef __bf16 b8 __attribute__((ext_vector_type(8)));
typedef int i8 __attribute__((ext_vector_type(8)));

#define KERNEL(name, A, value, product)                                                     \
    extern "C" __attribute__((global)) void name(float *out, int n) {                       \
        unsigned lane = __builtin_amdgcn_workitem_id_x();                                   \
        A a = value(lane), b = value(lane + 7);                                             \
        f4 c[4] = {};                                                                       \
        for (int i = 0; i < n; ++i) {                                                       \
            for (int j = 0; j < 8; ++j) {                                                   \
                for (int k = 0; k < 4; ++k) {                                               \
                    c[k] = product(a, b, c[k], 0, 0, 0);                                    \
                }                                                                           \
            }                                                                               \
        }                                                                                   \
        f4 sum = c[0] + c[1] + c[2] + c[3];                                                 \
        out[__builtin_amdgcn_workgroup_id_x() * 64 + lane] = sum[0] + sum[1] + sum[2] + sum[3]; \
    }

__attribute__((device)) static float as_f32(unsigned n) { return 1.0f / (n + 1); }
__attribute__((device)) static h4 as_f16(unsigned n) {
    return h4{(_Float16)as_f32(n), (_Float16)as_f32(n + 1), (_Float16)as_f32(n + 2), (_Float16)as_f32(n + 3)};
}
__attribute__((device)) static s4 as_bf16(unsigned n) {
    s4 out;
    for (int i = 0; i < 4; ++i) {
        out[i] = (short)(__builtin_bit_cast(unsigned, as_f32(n + i)) >> 16);
    }
    return out;
}
__attribute__((device)) static h8 as_f16x8(unsigned n) {
    h4 low = as_f16(n), high = as_f16(n + 4);
    return h8{low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]};
}
__attribute__((device)) static b8 as_bf16x8(unsigned n) {
    s4 parts[2] = {as_bf16(n), as_bf16(n + 4)};
    return __builtin_bit_cast(b8, parts);
}
// Finite in all formats of 8 bits.
__attribute__((device)) static long as_f8(unsigned n) {
    return 0x3030303030303030 | (0x0706050403020100 + n * 0x0101010101010101) & 0x0f0f0f0f0f0f0f0f;
}

__attribute__((device)) static i8 as_f8x32(unsigned n) {
    long parts[4] = {as_f8(n), as_f8(n + 1), as_f8(n + 2), as_f8(n + 3)};
    return __builtin_bit_cast(i8, parts);
}
#define F8F6F4(a, b, c, ...) __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a, b, c, 0, 0, 0, 0, 0, 0)
#define SCALED(a, b, c, ...) __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a, b, c, 0, 0, 0, 126, 0, 126)
#define F4(a, b, c, ...) __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a, b, c, 4, 4, 0, 126, 0, 126)

#ifndef GFX11
KERNEL(matrix_f32, float, as_f32, __builtin_amdgcn_mfma_f32_16x16x4f32)
KERNEL(matrix_f16, h4, as_f16, __builtin_amdgcn_mfma_f32_16x16x16f16)
KERNEL(matrix_bf16, s4, as_bf16, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k)
#endif
#ifdef FP8
KERNEL(matrix_f8, long, as_f8, __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8)
#endif
#ifdef GFX950
KERNEL(matrix_f16x2, h8, as_f16x8, __builtin_amdgcn_mfma_f32_16x16x32_f16)
KERNEL(matrix_bf16x2, b8, as_bf16x8, __builtin_amdgcn_mfma_f32_16x16x32_bf16)
KERNEL(matrix_f8f6f4, i8, as_f8x32, F8F6F4)
KERNEL(matrix_scaled_f8, i8, as_f8x32, SCALED)
KERNEL(matrix_scaled_f4, i8, as_f8x32, F4)
#endif
#ifdef GFX11
typedef _Float16 h16 __attribute__((ext_vector_type(16)));
typedef short s16 __attribute__((ext_vector_type(16)));
typedef float f8 __attribute__((ext_vector_type(8)));
typedef int i4 __attribute__((ext_vector_type(4)));

#define WMMA(name, A, C, value, product)                                                    \
    extern "C" __attribute__((global)) void name(float *out, int n) {                       \
        unsigned lane = __builtin_amdgcn_workitem_id_x();                                   \
        A a = value(lane), b = value(lane + 7);                                             \
        C c[4] = {};                                                                        \
        for (int i = 0; i < n; ++i) {                                                       \
            for (int j = 0; j < 8; ++j) {                                                   \
                for (int k = 0; k < 4; ++k) {                                               \
                    c[k] = product;                                                         \
                }                                                                           \
            }                                                                               \
        }                                                                                   \
        C sum = c[0] + c[1] + c[2] + c[3];                                                  \
        out[__builtin_amdgcn_workgroup_id_x() * 32 + lane] = sum[0] + sum[1] + sum[2] + sum[7]; \
    }
__attribute__((device)) static h16 as_f16x16(unsigned n) {
    h16 out;
    for (int i = 0; i < 16; ++i) out[i] = (_Float16)as_f32(n + i);
    return out;
}
__attribute__((device)) static s16 as_bf16x16(unsigned n) {
    s16 out;
    for (int i = 0; i < 16; ++i) out[i] = (short)(__builtin_bit_cast(unsigned, as_f32(n + i)) >> 16);
    return out;
}
__attribute__((device)) static i4 as_i8x16(unsigned n) { return i4{(int)n, (int)n + 1, (int)n + 2, (int)n + 3}; }
WMMA(wmma_f16, h16, f8, as_f16x16, __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c[k]))
WMMA(wmma_bf16, s16, f8, as_bf16x16, __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, c[k]))
WMMA(wmma_i8, i4, i8, as_i8x16, __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, a, true, b, c[k], false))
#endif
