// Functions that CubeCL's code calls and that versions of HIP before 6.2 lack. They are macros, so that they do not meet
// the functions of later versions.
#pragma once

#define __activemask() __ballot(1)
#define __hmin hiplaunch_hmin
#define __hmax hiplaunch_hmax
#define __hmin_nan hiplaunch_hmin_nan
#define __hmax_nan hiplaunch_hmax_nan

static __device__ __half hiplaunch_half(_Float16 value) {
    __half_raw raw;
    raw.data = value;
    return raw;
}
static __device__ _Float16 hiplaunch_raw(__half value) { return static_cast<__half_raw>(value).data; }
static __device__ __half hiplaunch_hmin(__half a, __half b) {
    return hiplaunch_half(__builtin_fminf16(hiplaunch_raw(a), hiplaunch_raw(b)));
}
static __device__ __half hiplaunch_hmax(__half a, __half b) {
    return hiplaunch_half(__builtin_fmaxf16(hiplaunch_raw(a), hiplaunch_raw(b)));
}
static __device__ __half hiplaunch_hmin_nan(__half a, __half b) {
    return __hisnan(a) ? a : __hisnan(b) ? b : hiplaunch_hmin(a, b);
}
static __device__ __half hiplaunch_hmax_nan(__half a, __half b) {
    return __hisnan(a) ? a : __hisnan(b) ? b : hiplaunch_hmax(a, b);
}

// Halves are shuffled as their bits.
#define HIPLAUNCH_SHUFFLE(name)                                                          \
    template <typename T>                                                                \
    static __device__ T hiplaunch_##name(T value, int lane) {                             \
        return __##name(value, lane);                                                    \
    }                                                                                    \
    static __device__ __half hiplaunch_##name(__half value, int lane) {                   \
        unsigned short bits = __builtin_bit_cast(unsigned short, hiplaunch_raw(value));  \
        bits = __##name(int(bits), lane);                                                \
        return hiplaunch_half(__builtin_bit_cast(_Float16, bits));                       \
    }
HIPLAUNCH_SHUFFLE(shfl)
HIPLAUNCH_SHUFFLE(shfl_up)
HIPLAUNCH_SHUFFLE(shfl_down)
HIPLAUNCH_SHUFFLE(shfl_xor)
#undef HIPLAUNCH_SHUFFLE
#define __shfl hiplaunch_shfl
#define __shfl_up hiplaunch_shfl_up
#define __shfl_down hiplaunch_shfl_down
#define __shfl_xor hiplaunch_shfl_xor

#if HIP_VERSION_MAJOR < 6
// That of HIP 5.2 is NaN for every finite number.
static __device__ __half hiplaunch_hsin(__half value) { return __float2half(sinf(__half2float(value))); }
#define hsin hiplaunch_hsin
#endif
