// The type __hip_bfloat16 with the functions that CubeCL's code calls. HIP's own hip/hip_bf16.h, of HIP 5.7 and later, is not
// compiled into every hiprtc; this takes its place with all of them. Arithmetic is that of float, rounded to nearest even.
#pragma once

struct __hip_bfloat16 {
    unsigned short bits;

    __hip_bfloat16() = default;
    __device__ __hip_bfloat16(float value) {
        unsigned int word = __builtin_bit_cast(unsigned int, value);
        if (value != value) {
            bits = (word >> 16) | 0x40;
        } else {
            bits = (word + 0x7fff + ((word >> 16) & 1)) >> 16;
        }
    }
    template <typename T, typename = decltype(static_cast<float>(T()))>
    __device__ __hip_bfloat16(T value) : __hip_bfloat16(static_cast<float>(value)) {}
    __device__ operator float() const { return __builtin_bit_cast(float, (unsigned int)bits << 16); }
};

#define HIPLAUNCH_BF16_OPERATOR(op)                                                              \
    static __device__ __hip_bfloat16 operator op(__hip_bfloat16 a, __hip_bfloat16 b) {           \
        return float(a) op float(b);                                                             \
    }                                                                                            \
    static __device__ __hip_bfloat16& operator op##=(__hip_bfloat16 & a, __hip_bfloat16 b) {     \
        return a = a op b;                                                                       \
    }
HIPLAUNCH_BF16_OPERATOR(+)
HIPLAUNCH_BF16_OPERATOR(-)
HIPLAUNCH_BF16_OPERATOR(*)
HIPLAUNCH_BF16_OPERATOR(/)
#undef HIPLAUNCH_BF16_OPERATOR

#define HIPLAUNCH_BF16_COMPARISON(op)                                                            \
    static __device__ bool operator op(__hip_bfloat16 a, __hip_bfloat16 b) {                     \
        return float(a) op float(b);                                                             \
    }
HIPLAUNCH_BF16_COMPARISON(==)
HIPLAUNCH_BF16_COMPARISON(!=)
HIPLAUNCH_BF16_COMPARISON(<)
HIPLAUNCH_BF16_COMPARISON(<=)
HIPLAUNCH_BF16_COMPARISON(>)
HIPLAUNCH_BF16_COMPARISON(>=)
#undef HIPLAUNCH_BF16_COMPARISON

static __device__ __hip_bfloat16 operator-(__hip_bfloat16 a) { return -float(a); }

#define HIPLAUNCH_BF16_FUNCTION(name, of_float)                                                  \
    static __device__ __hip_bfloat16 name(__hip_bfloat16 a) { return of_float(float(a)); }
HIPLAUNCH_BF16_FUNCTION(__habs, fabsf)
HIPLAUNCH_BF16_FUNCTION(hceil, ceilf)
HIPLAUNCH_BF16_FUNCTION(hcos, cosf)
HIPLAUNCH_BF16_FUNCTION(hexp, expf)
HIPLAUNCH_BF16_FUNCTION(hfloor, floorf)
HIPLAUNCH_BF16_FUNCTION(hlog, logf)
HIPLAUNCH_BF16_FUNCTION(hrint, rintf)
HIPLAUNCH_BF16_FUNCTION(hrsqrt, rsqrtf)
HIPLAUNCH_BF16_FUNCTION(hsin, sinf)
HIPLAUNCH_BF16_FUNCTION(hsqrt, sqrtf)
HIPLAUNCH_BF16_FUNCTION(htrunc, truncf)
#undef HIPLAUNCH_BF16_FUNCTION

static __device__ bool __hisnan(__hip_bfloat16 a) { return isnan(float(a)); }
static __device__ bool __hisinf(__hip_bfloat16 a) { return isinf(float(a)); }
static __device__ __hip_bfloat16 __hfma(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
    return fmaf(float(a), float(b), float(c));
}
static __device__ __hip_bfloat16 __hmin(__hip_bfloat16 a, __hip_bfloat16 b) {
    return fminf(float(a), float(b));
}
static __device__ __hip_bfloat16 __hmax(__hip_bfloat16 a, __hip_bfloat16 b) {
    return fmaxf(float(a), float(b));
}
static __device__ __hip_bfloat16 __hmin_nan(__hip_bfloat16 a, __hip_bfloat16 b) {
    return __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b);
}
static __device__ __hip_bfloat16 __hmax_nan(__hip_bfloat16 a, __hip_bfloat16 b) {
    return __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b);
}
