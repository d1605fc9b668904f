// The definitions that random programs use: types, operations that are defined for all operands, and what the device does
// with many lanes at once (barriers, LDS, operations across lanes), with a model of that for the host. The same program
// is compiled with them for both.
//
// On the device, a kernel is a sequence of operations on a `struct Lane`. On the host, the same text runs a workgroup:
// PHASE calls a function for one lane after the other, and CROSS computes the results of all lanes of a wave from the
// operands of all lanes.

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned u32;
typedef long long i64;
typedef unsigned long long u64;
typedef __int128 i128;
typedef unsigned __int128 u128;
#define ODD(W) typedef _BitInt(W) i##W; typedef unsigned _BitInt(W) u##W;
ODD(7) ODD(24) ODD(33) ODD(48) ODD(96)
typedef _Float16 f16;
typedef float f32;
typedef double f64;

#define VECTORS(T) \
  typedef T T##x2 __attribute__((ext_vector_type(2))); \
  typedef T T##x3 __attribute__((ext_vector_type(3))); \
  typedef T T##x4 __attribute__((ext_vector_type(4))); \
  typedef T T##x8 __attribute__((ext_vector_type(8)));
VECTORS(i8) VECTORS(u8) VECTORS(i16) VECTORS(u16) VECTORS(i32) VECTORS(u32) VECTORS(i64) VECTORS(u64)
VECTORS(f16) VECTORS(f32) VECTORS(f64)

#ifdef __AMDGCN__
#define GLOB __attribute__((address_space(1)))
#define LDS __attribute__((address_space(3)))
#define UNINITIALISED __attribute__((loader_uninitialized))
#else
#define GLOB
#define LDS
#define UNINITIALISED
#endif
#define NOINLINE __attribute__((noinline))
#define HELP static inline __attribute__((unused))

#define OWN_WORDS 16  // words of global memory for each work-item
#define LDS_WORDS 8   // words of LDS for each work-item
#define SHARED 16     // shared counters for each operation
#define BLOCK (BLOCK_X * BLOCK_Y * BLOCK_Z)
#define GROUPS (GRID_X * GRID_Y * GRID_Z)


struct Lane;

// Hides from clang 15 that an operand of a division is sign-extended (see `known`).
#if defined(__AMDGCN__) && __clang_major__ < 18
#define HIDE_u32(x) __asm__("" : "+v"(x))
#define HIDE_u64(x) __asm__("" : "+v"(x))
#else
#define HIDE_u32(x)
#define HIDE_u64(x)
#endif
#define HIDE_u8(x)
#define HIDE_u16(x)
#define HIDE_u128(x)
#define HIDE_u7(x)
#define HIDE_u24(x)
#define HIDE_u33(x)
#define HIDE_u48(x)
#define HIDE_u96(x)

// Hides the origin of a sum, which clang 22 gets wrong in overflow checks; only for recognising that mistake (see `known`).
#if defined(__AMDGCN__) && defined(HIDE_SUMS)
#define HIDE_32(x) __asm__("" : "+v"(x));
#define HIDE_64(x) __asm__("" : "+v"(x));
#else
#define HIDE_32(x)
#define HIDE_64(x)
#endif
#define HIDE_8(x)
#define HIDE_16(x)
#define HIDE_128(x)
#define HIDE_7(x)
#define HIDE_24(x)
#define HIDE_33(x)
#define HIDE_48(x)
#define HIDE_96(x)

// ---- integers
#define INTEGER(T, U, W) \
  HELP T rotl_##T(T a, u32 n) { n %= W; return n ? (T)(((U)a << n) | ((U)a >> (W - n))) : a; } \
  HELP T fshl_##T(T a, T b, u32 n) { n %= W; return n ? (T)(((U)a << n) | ((U)b >> (W - n))) : a; } \
  HELP T min_##T(T a, T b) { return a < b ? a : b; } \
  HELP T max_##T(T a, T b) { return a > b ? a : b; } \
  HELP T clamp_##T(T a, T b, T c) { return min_##T(max_##T(a, b), max_##T(b, c)); } \
  HELP T absdiff_##T(T a, T b) { return a > b ? (T)((U)a - (U)b) : (T)((U)b - (U)a); } \
  HELP T carry_##T(T a, T b, T c) { HIDE_##W(a) HIDE_##W(b) HIDE_##W(c) \
    U s, t; u32 o = __builtin_add_overflow((U)a, (U)b, &s); HIDE_##W(s) o += __builtin_add_overflow(s, (U)c, &t); \
    return (T)((U)t ^ (U)o); } \
  HELP T borrow_##T(T a, T b, T c) { HIDE_##W(a) HIDE_##W(b) HIDE_##W(c) \
    U s, t; u32 o = __builtin_sub_overflow((U)a, (U)b, &s); HIDE_##W(s) o += __builtin_sub_overflow(s, (U)c, &t); \
    return (T)((U)t ^ (U)o); } \
  HELP u32 popcount_##T(T a) { return (u32)__builtin_popcountll((u64)(U)a) + (W > 64 ? (u32)__builtin_popcountll((u64)((u128)(U)a >> 64)) : 0u); } \
  HELP u32 clz_##T(T a) { \
    u64 high = (u64)((u128)(U)a >> 64), low = (u64)(U)a; \
    return W > 64 && high ? (u32)__builtin_clzll(high) - (128u - W) : low ? (u32)__builtin_clzll(low) + W - 64u : W; } \
  HELP u32 ctz_##T(T a) { \
    u64 high = (u64)((u128)(U)a >> 64), low = (u64)(U)a; \
    return low ? (u32)__builtin_ctzll(low) : W > 64 && high ? 64u + (u32)__builtin_ctzll(high) : W; }
#define SIGNED(T, U, W) INTEGER(T, U, W) \
  HELP T div_##T(T a, T b) { return b == 0 ? a : b == (T)-1 ? (T)(0 - (U)a) : (T)(a / b); } \
  HELP T rem_##T(T a, T b) { return b == 0 || b == (T)-1 ? (T)0 : (T)(a % b); } \
  HELP T addsat_##T(T a, T b) { T r; HIDE_##W(a) HIDE_##W(b) return __builtin_add_overflow(a, b, &r) ? (a < 0 ? (T)((U)1 << (W - 1)) : (T)(((U)1 << (W - 1)) - (U)1)) : r; } \
  HELP T subsat_##T(T a, T b) { T r; HIDE_##W(a) HIDE_##W(b) return __builtin_sub_overflow(a, b, &r) ? (a < 0 ? (T)((U)1 << (W - 1)) : (T)(((U)1 << (W - 1)) - (U)1)) : r; } \
  HELP T abs_##T(T a) { return a < 0 ? (T)(0 - (U)a) : a; }
#define UNSIGNED(T, W) INTEGER(T, T, W) \
  HELP T hidden_##T(T a) { HIDE_##T(a); return a; } \
  HELP T div_##T(T a, T b) { HIDE_##T(a); HIDE_##T(b); return b == 0 ? a : (T)(a / b); } \
  HELP T rem_##T(T a, T b) { HIDE_##T(a); HIDE_##T(b); return b == 0 ? a : (T)(a % b); } \
  HELP T addsat_##T(T a, T b) { T r; HIDE_##W(a) HIDE_##W(b) return __builtin_add_overflow(a, b, &r) ? (T)~(T)0 : r; } \
  HELP T subsat_##T(T a, T b) { T r; HIDE_##W(a) HIDE_##W(b) return __builtin_sub_overflow(a, b, &r) ? (T)0 : r; } \
  HELP T abs_##T(T a) { return a; }
#define BOTH(W) SIGNED(i##W, u##W, W) UNSIGNED(u##W, W)
BOTH(8) BOTH(16) BOTH(32) BOTH(64) BOTH(128) BOTH(7) BOTH(24) BOTH(33) BOTH(48) BOTH(96)

#define NARROW(T, WIDE, W) \
  HELP T mulhi_##T(T a, T b) { return (T)(((WIDE)a * (WIDE)b) >> W); } \
  HELP T mulsat_##T(T a, T b) { T r; return __builtin_mul_overflow(a, b, &r) ? (T)(a ^ b) : r; }
NARROW(i8, i32, 8) NARROW(u8, u32, 8) NARROW(i16, i32, 16) NARROW(u16, u32, 16)
NARROW(i32, i64, 32) NARROW(u32, u64, 32) NARROW(i64, i128, 64) NARROW(u64, u128, 64)

// ---- floats. Where an operation may return a zero of either sign, the sign is fixed, without `x + 0` (see `known`). The
// sign and payload of a NaN differ between machines, so bits are only read after each NaN was replaced with the same one.
#define FLOATS(F, U, NAN, SUFFIX) \
  HELP u64 bits_##F(F x) { U u; __builtin_memcpy(&u, &x, sizeof u); return x != x ? NAN : u; } \
  HELP F frombits_##F(U u) { F x; __builtin_memcpy(&x, &u, sizeof u); return x != x ? (F)1.5 : x; } \
  HELP F some_##F(F x) { return x != x ? (F)1 : x; } \
  HELP F finite_##F(F x) { return x - x != 0 ? (F)1.25 : x; } \
  HELP F nonzero_##F(F x) { return x == 0 ? (F)0 : some_##F(x); } \
  HELP F min_##F(F a, F b) { return __builtin_fmin##SUFFIX(nonzero_##F(a), nonzero_##F(b)); } \
  HELP F max_##F(F a, F b) { return __builtin_fmax##SUFFIX(nonzero_##F(a), nonzero_##F(b)); } \
  HELP F clamp_##F(F a, F b, F c) { return min_##F(max_##F(a, b), max_##F(b, c)); } \
  HELP F copysign_##F(F a, F b) { return __builtin_copysign##SUFFIX(a, some_##F(b)); }
FLOATS(f32, u32, 0x7fc00000u, f)
FLOATS(f64, u64, 0x7ff8000000000000ull, )

#define TO_INTEGER(T, F, LOW, HIGH) HELP T T##_from_##F(F x) { return x > (F)LOW && x < (F)HIGH ? (T)x : x > (F)0 ? (T)77 : (T)5; }
#define TO_INTEGERS(F) \
  TO_INTEGER(i8, F, -129, 128) TO_INTEGER(u8, F, -1, 256) TO_INTEGER(i16, F, -32769, 32768) TO_INTEGER(u16, F, -1, 65536) \
  TO_INTEGER(i32, F, -2147483000.0, 2147483000.0) TO_INTEGER(u32, F, -1, 4294967000.0) \
  TO_INTEGER(i64, F, -9.2e18, 9.2e18) TO_INTEGER(u64, F, -1, 1.8e19)
TO_INTEGERS(f32) TO_INTEGERS(f64)
HELP i32 i32_from_f16(f16 x) { return x > (f16)-65505.0 && x < (f16)65505.0 ? (i32)x : 3; }
#if defined(__AMDGCN__) && __clang_major__ < 18 // these call a library for ldexp
HELP f32 ldexp_f32(f32 x, i32 n) { return __builtin_amdgcn_ldexpf(x, n % 300); }
HELP f64 ldexp_f64(f64 x, i32 n) { return __builtin_amdgcn_ldexp(x, n % 2100); }
#else
HELP f32 ldexp_f32(f32 x, i32 n) { return __builtin_ldexpf(x, n % 300); }
HELP f64 ldexp_f64(f64 x, i32 n) { return __builtin_ldexp(x, n % 2100); }
#endif

HELP u64 bits_f16(f16 x) { u16 u; __builtin_memcpy(&u, &x, 2); return x != x ? 0x7e00u : u; }
HELP f16 frombits_f16(u16 u) { f16 x; __builtin_memcpy(&x, &u, 2); return x != x ? (f16)1.5 : x; }
HELP f16 some_f16(f16 x) { return x != x ? (f16)1 : x; }
HELP f16 copysign_f16(f16 a, f16 b) { return frombits_f16((u16)((bits_f16(a) & 0x7fff) | (bits_f16(some_f16(b)) & 0x8000))); }
HELP f16 abs_f16(f16 a) { return frombits_f16((u16)(bits_f16(a) & 0x7fff)); }
#ifdef __AMDGCN__
HELP f16 fma_f16(f16 a, f16 b, f16 c) { return __builtin_fmaf16(a, b, c); }
HELP f16 nonzero_f16(f16 x) { return x == 0 ? (f16)0 : some_f16(x); }
HELP f16 min_f16(f16 a, f16 b) { return __builtin_fminf16(nonzero_f16(a), nonzero_f16(b)); }
HELP f16 max_f16(f16 a, f16 b) { return __builtin_fmaxf16(nonzero_f16(a), nonzero_f16(b)); }
HELP f16 floor_f16(f16 a) { return __builtin_floorf16(a); }
HELP f16 trunc_f16(f16 a) { return __builtin_truncf16(a); }
HELP f16 rint_f16(f16 a) { return __builtin_rintf16(a); }
HELP f16 sqrt_f16(f16 a) { return __builtin_sqrtf16(a); }
#else
// Rounds to f16 once. The double is first rounded to odd as a float, which hosts can convert to f16, and which has enough
// bits that the last rounding is right.
HELP f16 half_of(f64 x) {
  f32 y = (f32)x;
  u32 u; __builtin_memcpy(&u, &y, 4);
  if (x == x && (f64)y != x && !(u & 1)) { u += (f64)__builtin_fabsf(y) < __builtin_fabs(x) ? 1 : -1; __builtin_memcpy(&y, &u, 4); }
  return (f16)y;
}
HELP f16 fma_f16(f16 a, f16 b, f16 c) {
  f64 p = (f64)a * (f64)b, d = (f64)c, s = p + d;
  if (s == s && __builtin_fabs(s) < 1e300) {
    f64 t = s - p, lost = (p - (s - t)) + (d - t);
    u64 u; __builtin_memcpy(&u, &s, 8);
    if (lost != 0 && !(u & 1)) { u += (lost > 0) == (s > 0) ? 1 : -1; __builtin_memcpy(&s, &u, 8); }
  }
  return half_of(s);
}
HELP f16 min_f16(f16 a, f16 b) { return (f16)min_f32((f32)a, (f32)b); }
HELP f16 max_f16(f16 a, f16 b) { return (f16)max_f32((f32)a, (f32)b); }
HELP f16 floor_f16(f16 a) { return (f16)__builtin_floorf((f32)a); }
HELP f16 trunc_f16(f16 a) { return (f16)__builtin_truncf((f32)a); }
HELP f16 rint_f16(f16 a) { return (f16)__builtin_rintf((f32)a); }
// A float has enough bits that its own rounding doesn't matter, as in divisions.
HELP f16 sqrt_f16(f16 a) { return (f16)__builtin_sqrtf((f32)a); }
#endif
HELP f16 f16_from_f64(f64 x) {
#ifdef __AMDGCN__
  return (f16)x;
#else
  return half_of(x);
#endif
}

// ---- vectors: each lane from one of two, as a mask says
#define BLEND(V, M, A, B) ((V)((M) & (A)) | (V)(~(M) & (B)))

// ---- operations of the processor
#ifdef __AMDGCN__
HELP u32 alignbit(u32 a, u32 b, u32 c) { return __builtin_amdgcn_alignbit(a, b, c); }
HELP u32 alignbyte(u32 a, u32 b, u32 c) { return __builtin_amdgcn_alignbyte(a, b, c); }
HELP u32 perm(u32 a, u32 b, u32 c) { return __builtin_amdgcn_perm(a, b, c); }
HELP u32 sad_u8(u32 a, u32 b, u32 c) { return __builtin_amdgcn_sad_u8(a, b, c); }
HELP u32 sad_hi_u8(u32 a, u32 b, u32 c) { return __builtin_amdgcn_sad_hi_u8(a, b, c); }
HELP u32 sad_u16(u32 a, u32 b, u32 c) { return __builtin_amdgcn_sad_u16(a, b, c); }
HELP u32 lerp(u32 a, u32 b, u32 c) { return __builtin_amdgcn_lerp(a, b, c); }
HELP u32 ubfe(u32 a, u32 b, u32 c) { return __builtin_amdgcn_ubfe(a, b & 31, 1 + c % 31); }
HELP i32 sbfe(i32 a, u32 b, u32 c) { return __builtin_amdgcn_sbfe(a, b & 31, 1 + c % 31); }
HELP u32 udot4(u32 a, u32 b, u32 c) { return __builtin_amdgcn_udot4(a, b, c, 0); }
HELP u32 udot8(u32 a, u32 b, u32 c) { return __builtin_amdgcn_udot8(a, b, c, 0); }
#ifdef __GFX11__
HELP i32 sdot4(i32 a, i32 b, i32 c) { return __builtin_amdgcn_sudot4(1, a, 1, b, c, 0); }
HELP i32 sdot8(i32 a, i32 b, i32 c) { return __builtin_amdgcn_sudot8(1, a, 1, b, c, 0); }
#else
HELP i32 sdot4(i32 a, i32 b, i32 c) { return __builtin_amdgcn_sdot4(a, b, c, 0); }
HELP i32 sdot8(i32 a, i32 b, i32 c) { return __builtin_amdgcn_sdot8(a, b, c, 0); }
#endif
HELP u32 mbcnt(u64 mask, u32 add) { return __builtin_amdgcn_mbcnt_hi((u32)(mask >> 32), __builtin_amdgcn_mbcnt_lo((u32)mask, add)); }
HELP f32 fract_f32(f32 x) { return __builtin_amdgcn_fractf(finite_f32(x)); }
HELP f64 fract_f64(f64 x) { return __builtin_amdgcn_fract(finite_f64(x)); }
HELP f32 mantissa_f32(f32 x) { return __builtin_amdgcn_frexp_mantf(some_f32(x)); }
HELP f64 mantissa_f64(f64 x) { return __builtin_amdgcn_frexp_mant(some_f64(x)); }
HELP i32 exponent_f32(f32 x) { return __builtin_amdgcn_frexp_expf(some_f32(x)); }
HELP i32 exponent_f64(f64 x) { return __builtin_amdgcn_frexp_exp(some_f64(x)); }
HELP u32 class_f32(f32 x, u32 mask) { return __builtin_amdgcn_classf(x, (mask & 0x3fc) | (mask & 1) * 3); }
HELP u32 class_f64(f64 x, u32 mask) { return __builtin_amdgcn_class(x, (mask & 0x3fc) | (mask & 1) * 3); }
HELP f32 median_f32(f32 a, f32 b, f32 c) { return __builtin_amdgcn_fmed3f(nonzero_f32(a), nonzero_f32(b), nonzero_f32(c)); }
HELP f32 ubyte(u32 x, u32 n) { return (f32)((x >> (8 * (n & 3))) & 255); }
#else
static u32 host_lane;
HELP u32 alignbit(u32 a, u32 b, u32 c) { return (u32)((((u64)a << 32) | b) >> (c & 31)); }
HELP u32 alignbyte(u32 a, u32 b, u32 c) { return (u32)((((u64)a << 32) | b) >> (8 * (c & 3))); }
HELP u32 perm(u32 a, u32 b, u32 c) {
  u64 both = ((u64)a << 32) | b; u32 r = 0;
  for (u32 n = 0; n < 4; n++) {
    u32 s = (c >> (8 * n)) & 255, sign = s - 8 < 4 ? (u32)(both >> (16 * (s - 8) + 15)) & 1 : 0;
    r |= (s < 8 ? (u32)(both >> (8 * s)) & 255 : s < 12 ? sign * 255 : s == 12 ? 0 : 255) << (8 * n);
  }
  return r;
}
HELP u32 sad_u8(u32 a, u32 b, u32 c) { for (u32 n = 0; n < 32; n += 8) c += absdiff_u8((u8)(a >> n), (u8)(b >> n)); return c; }
HELP u32 sad_hi_u8(u32 a, u32 b, u32 c) { return (sad_u8(a, b, 0) << 16) + c; }
HELP u32 sad_u16(u32 a, u32 b, u32 c) { return c + absdiff_u16((u16)a, (u16)b) + absdiff_u16((u16)(a >> 16), (u16)(b >> 16)); }
HELP u32 lerp(u32 a, u32 b, u32 c) {
  u32 r = 0;
  for (u32 n = 0; n < 32; n += 8) r |= ((((a >> n) & 255) + ((b >> n) & 255) + ((c >> n) & 1)) >> 1) << n;
  return r;
}
HELP u32 ubfe(u32 a, u32 b, u32 c) { return (a >> (b & 31)) & ((1u << (1 + c % 31)) - 1); }
HELP i32 sbfe(i32 a, u32 b, u32 c) {
  u32 at = b & 31, width = 1 + c % 31;
  if (at + width > 32) return a >> at;
  return (i32)((u32)a << (32 - at - width)) >> (32 - width);
}
HELP u32 udot4(u32 a, u32 b, u32 c) { for (u32 n = 0; n < 32; n += 8) c += (u32)(u8)(a >> n) * (u8)(b >> n); return c; }
HELP i32 sdot4(i32 a, i32 b, i32 c) { for (u32 n = 0; n < 32; n += 8) c += (i32)(i8)(a >> n) * (i8)(b >> n); return c; }
HELP u32 udot8(u32 a, u32 b, u32 c) { for (u32 n = 0; n < 32; n += 4) c += ((a >> n) & 15) * ((b >> n) & 15); return c; }
HELP i32 sdot8(i32 a, i32 b, i32 c) { for (u32 n = 0; n < 32; n += 4) c += ((i32)((u32)a << (28 - n)) >> 28) * ((i32)((u32)b << (28 - n)) >> 28); return c; }
HELP u32 mbcnt(u64 mask, u32 add) { return add + (u32)__builtin_popcountll(mask & ((1ull << host_lane) - 1)); }
#define FLOAT_PARTS(F, SUFFIX, ONE_BELOW, U, W, M) \
  HELP F fract_##F(F x) { x = finite_##F(x); F r = x - __builtin_floor##SUFFIX(x); return r < ONE_BELOW ? r : ONE_BELOW; } \
  HELP F mantissa_##F(F x) { int e; x = some_##F(x); return x - x != 0 ? x : __builtin_frexp##SUFFIX(x, &e); } \
  HELP i32 exponent_##F(F x) { int e; x = some_##F(x); if (x - x != 0 || x == 0) return 0; __builtin_frexp##SUFFIX(x, &e); return e; } \
  HELP u32 class_##F(F x, u32 mask) { \
    U u; __builtin_memcpy(&u, &x, sizeof u); u32 minus = (u32)(u >> (W - 1)), n; \
    U magnitude = u & ~((U)1 << (W - 1)), exponent = magnitude >> M; \
    if (x != x) return mask & 1; \
    n = x - x != 0 ? 2 : exponent ? 3 : magnitude ? 4 : 5; \
    return (mask >> (minus ? n : 11 - n)) & 1; }
FLOAT_PARTS(f32, f, 0x1.fffffep-1f, u32, 32, 23)
FLOAT_PARTS(f64, , 0x1.fffffffffffffp-1, u64, 64, 52)
HELP f32 median_f32(f32 a, f32 b, f32 c) { return max_f32(min_f32(a, b), min_f32(max_f32(a, b), c)); }
HELP f32 ubyte(u32 x, u32 n) { return (f32)(u8)(x >> (8 * (n & 3))); }
#endif

// ---- memory: words at any address; a word of any type at a generic address; the shared counters, a region each
#define UNALIGNED(T) \
  struct __attribute__((packed)) packed_##T { T v; }; \
  HELP T peek_##T(const GLOB u32 *p, u32 at) { return ((const GLOB struct packed_##T *)((const GLOB u8 *)p + at))->v; } \
  HELP T peek_lds_##T(LDS u32 *p, u32 at) { return ((LDS struct packed_##T *)((LDS u8 *)p + at))->v; }
UNALIGNED(i16) UNALIGNED(u16) UNALIGNED(u32) UNALIGNED(u64) UNALIGNED(u128)
#define PLAIN(T) \
  static NOINLINE __attribute__((unused)) T load_##T(T *p) { return *p; } \
  static NOINLINE __attribute__((unused)) T swap_##T(T *p, T v) { T old = *p; *p = v; return old; }
PLAIN(u8) PLAIN(i8) PLAIN(u16) PLAIN(i16) PLAIN(u32) PLAIN(u64)

enum { ADD, SUB, AND, OR, XOR, UMIN, UMAX, IMIN, IMAX, CAS, FADD, OPERATIONS };
#define SHARED_WORDS (OPERATIONS * SHARED * 2)
HELP u32 cas_mix(u32 old, u32 v) { return old + v * 2654435761u; }
#ifdef __AMDGCN__
#define RMW(NAME, T, OP, AT) HELP T NAME##_##OP##_##T(AT T *p, T v) { return __atomic_fetch_##OP(p, v, __ATOMIC_RELAXED); }
#define LOOPED(NAME, AT) HELP void NAME##_cas_u32(AT u32 *p, u32 v) { \
  u32 old = __atomic_load_n(p, __ATOMIC_RELAXED); \
  while (!__atomic_compare_exchange_n(p, &old, cas_mix(old, v), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {} } \
  HELP u32 NAME##_xchg_u32(AT u32 *p, u32 v) { return __atomic_exchange_n(p, v, __ATOMIC_RELAXED); } \
  HELP u64 NAME##_xchg_u64(AT u64 *p, u64 v) { return __atomic_exchange_n(p, v, __ATOMIC_RELAXED); } \
  HELP u32 NAME##_cmp_u32(AT u32 *p, u32 v, u32 e) { __atomic_compare_exchange_n(p, &e, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED); return e; } \
  HELP u64 NAME##_cmp_u64(AT u64 *p, u64 v, u64 e) { __atomic_compare_exchange_n(p, &e, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED); return e; }
#else
HELP u32 op_add(u32 a, u32 b) { return a + b; }
#define OP_add(a, b) ((a) + (b))
#define OP_sub(a, b) ((a) - (b))
#define OP_and(a, b) ((a) & (b))
#define OP_or(a, b) ((a) | (b))
#define OP_xor(a, b) ((a) ^ (b))
#define OP_min(a, b) ((a) < (b) ? (a) : (b))
#define OP_max(a, b) ((a) > (b) ? (a) : (b))
#define RMW(NAME, T, OP, AT) HELP T NAME##_##OP##_##T(AT T *p, T v) { T old = *p; *p = OP_##OP(old, v); return old; }
#define LOOPED(NAME, AT) HELP void NAME##_cas_u32(AT u32 *p, u32 v) { *p = cas_mix(*p, v); } \
  HELP u32 NAME##_xchg_u32(AT u32 *p, u32 v) { u32 old = *p; *p = v; return old; } \
  HELP u64 NAME##_xchg_u64(AT u64 *p, u64 v) { u64 old = *p; *p = v; return old; } \
  HELP u32 NAME##_cmp_u32(AT u32 *p, u32 v, u32 e) { u32 old = *p; if (old == e) *p = v; return old; } \
  HELP u64 NAME##_cmp_u64(AT u64 *p, u64 v, u64 e) { u64 old = *p; if (old == e) *p = v; return old; }
#endif
#define RMWS(NAME, T, AT) RMW(NAME, T, add, AT) RMW(NAME, T, sub, AT) RMW(NAME, T, and, AT) RMW(NAME, T, or, AT) \
  RMW(NAME, T, xor, AT) RMW(NAME, T, min, AT) RMW(NAME, T, max, AT)
#define PLACES(NAME, AT) RMWS(NAME, u32, AT) RMWS(NAME, i32, AT) RMWS(NAME, u64, AT) RMWS(NAME, i64, AT) LOOPED(NAME, AT) \
  RMW(NAME, f32, add, AT) RMW(NAME, f64, add, AT)
#define NONE
PLACES(glob, GLOB)
PLACES(lds, LDS)
PLACES(flat, NONE)

static LDS u32 lds[BLOCK * LDS_WORDS] UNINITIALISED;
static LDS u64 counters[OPERATIONS * SHARED] UNINITIALISED;

// ---- operations across lanes
#define PARAMETERS struct Lane *s, const GLOB u32 *in, GLOB u32 *own, GLOB u64 *shared, u32 param
#define ARGUMENTS(lane) lane, in, own, shared, param
#define SWIZZLE(AND, OR, XOR) ((AND) | (OR) << 5 | (XOR) << 10)

#ifdef __AMDGCN__
#define KERNEL_BEGIN \
  __attribute__((amdgpu_kernel, used, visibility("default"))) KERNEL_ATTRIBUTES \
  void k(const GLOB u32 *in, GLOB u64 *out, GLOB u32 *own, GLOB u64 *shared, u32 param) { \
    struct Lane lane; \
    u32 group = __builtin_amdgcn_workgroup_id_x() + GRID_X * (__builtin_amdgcn_workgroup_id_y() + GRID_Y * __builtin_amdgcn_workgroup_id_z()); \
    u32 item = __builtin_amdgcn_workitem_id_x() + BLOCK_X * (__builtin_amdgcn_workitem_id_y() + BLOCK_Y * __builtin_amdgcn_workitem_id_z()); \
    lane.tid = group * BLOCK + item; lane.lid = item; \
    start(&lane, in); \
    own += lane.tid * OWN_WORDS; \
    for (u32 n = 0; n < LDS_WORDS; n++) lds[item * LDS_WORDS + n] = n * item; \
    for (u32 n = item; n < OPERATIONS * SHARED; n += BLOCK) counters[n] = 0; \
    BARRIER
#define KERNEL_END out[lane.tid] = finish(&lane); }
#define BARRIER { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); }
#define PHASE(n) phase##n(ARGUMENTS(&lane));
#define CROSS(n, OPERATION) { if (guard##n(&lane)) put##n(&lane, OPERATION(a##n(&lane), b##n(&lane))); }
HELP u32 device_lane(void) { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }
// Keeps a value where it is computed: clang 15 moves comparisons for a ballot out of loops, where EXEC is different.
HELP u32 opaque(u32 x) { __asm__ volatile("" : "+v"(x)); return x; }
#define READ_FIRST(a, b) ((u64)(u32)__builtin_amdgcn_readfirstlane((i32)(a)))
#define READ_LAST(a, b) ((u64)(u32)__builtin_amdgcn_readlane((i32)(a), 63 - __builtin_clzll(ACTIVE)))
#define BALLOT(a, b) (__builtin_amdgcn_uicmp(opaque(a), (u32)(b), 36))
#define BALLOT_SIGNED(a, b) (__builtin_amdgcn_sicmp((i32)opaque(a), (i32)(b), 39))
#define BALLOT_EQUAL(a, b) (__builtin_amdgcn_uicmp(opaque((a) & 3), (u32)(b) & 3, 32))
#define ACTIVE __builtin_amdgcn_uicmp(opaque(device_lane()), 64u, 36)
// Reads active lanes only: values of inactive lanes are undefined to compilers, which read their registers if `b` is uniform.
HELP u32 device_from(u32 b, u64 active) { return active >> (b & 63) & 1 ? b : device_lane(); }
#define GATHER(a, b) ((u64)(u32)__builtin_amdgcn_ds_bpermute((i32)device_from(b, ACTIVE) * 4, (i32)(a)))
#define SCATTER(a, b) ((u64)(u32)__builtin_amdgcn_ds_permute((i32)(device_lane() ^ (SCATTER_KEY)) * 4, (i32)(a)))
#define DS_SWIZZLE(a, b, PATTERN) ((u64)(u32)__builtin_amdgcn_ds_swizzle((i32)(a), PATTERN))
#define DPP(a, b, CONTROL, ROWS, BANKS, BOUND) ((u64)(u32)__builtin_amdgcn_update_dpp((i32)(b), (i32)(a), CONTROL, ROWS, BANKS, BOUND))
// A value that no compiler considers uniform, so that inactive lanes are not ignored.
#define VARYING(a) ((a) ^ device_lane())
#define CROSS_SWIZZLE(n, PATTERN) { if (guard##n(&lane)) put##n(&lane, DS_SWIZZLE(VARYING(a##n(&lane)), 0, PATTERN)); }
#define CROSS_DPP(n, CONTROL, ROWS, BANKS, BOUND) { if (guard##n(&lane)) put##n(&lane, DPP(VARYING(a##n(&lane)), b##n(&lane), CONTROL, ROWS, BANKS, BOUND)); }
#define SCATTER_KEY 21
#else
#include <stdio.h>
#include <stdlib.h>
static void run_group(u32 group, struct Lane *lanes, const u32 *in, u64 *out, u32 *own_all, u64 *shared, u32 param);
#define KERNEL_BEGIN \
  static void run_group(u32 group, struct Lane *lanes, const u32 *in, u64 *out, u32 *own_all, u64 *shared, u32 param) { \
    for (u32 item = 0; item < BLOCK; item++) { \
      lanes[item].tid = group * BLOCK + item; lanes[item].lid = item; \
      start(&lanes[item], in); \
      for (u32 n = 0; n < LDS_WORDS; n++) lds[item * LDS_WORDS + n] = n * item; \
    } \
    for (u32 n = 0; n < OPERATIONS * SHARED; n++) counters[n] = 0;
#define KERNEL_END for (u32 item = 0; item < BLOCK; item++) out[lanes[item].tid] = finish(&lanes[item]); }
#define BARRIER
#define PHASE(n) \
  for (u32 item = 0; item < BLOCK; item++) { \
    u32 *own = own_all + lanes[item].tid * OWN_WORDS; host_lane = item % 64; \
    phase##n(ARGUMENTS(&lanes[item])); }
// The active lanes of each wave, their operands, the results of all lanes, and back.
#define EACH_WAVE(n, MODEL) \
  for (u32 wave = 0; wave < BLOCK; wave += 64) { \
    u64 active = 0; u32 a[64] = {0}, b[64] = {0}; u64 r[64] = {0}; \
    for (u32 l = 0; l < 64 && wave + l < BLOCK; l++) { \
      host_lane = l; \
      if (guard##n(&lanes[wave + l])) { active |= 1ull << l; a[l] = a##n(&lanes[wave + l]); b[l] = b##n(&lanes[wave + l]); } } \
    if (active) { MODEL; } \
    for (u32 l = 0; l < 64; l++) if (active >> l & 1) put##n(&lanes[wave + l], r[l]); \
  }
#define CROSS(n, OPERATION) EACH_WAVE(n, OPERATION(active, a, b, r))
#define CROSS_SWIZZLE(n, PATTERN) EACH_WAVE(n, swizzle(active, a, r, PATTERN))
#define CROSS_DPP(n, CONTROL, ROWS, BANKS, BOUND) EACH_WAVE(n, dpp(active, a, b, r, CONTROL, ROWS, BANKS, BOUND))
#define MODEL(NAME) static __attribute__((unused)) void NAME(u64 active, const u32 *a, const u32 *b, u64 *r)
MODEL(READ_FIRST) { for (u32 l = 0; l < 64; l++) r[l] = a[__builtin_ctzll(active)]; }
MODEL(READ_LAST) { for (u32 l = 0; l < 64; l++) r[l] = a[63 - __builtin_clzll(active)]; }
#define MASK(NAME, TEST) MODEL(NAME) { u64 m = 0; for (u32 l = 0; l < 64; l++) m |= (u64)((active >> l & 1) && (TEST)) << l; for (u32 l = 0; l < 64; l++) r[l] = m; }
MASK(BALLOT, a[l] < b[l])
MASK(BALLOT_SIGNED, (i32)a[l] >= (i32)b[l])
MASK(BALLOT_EQUAL, (a[l] & 3) == (b[l] & 3))
MODEL(GATHER) { for (u32 l = 0; l < 64; l++) r[l] = active >> (b[l] & 63) & 1 ? a[b[l] & 63] : a[l]; }
MODEL(SCATTER) { for (u32 l = 0; l < 64; l++) if (active >> l & 1) r[l ^ 21] = a[l]; }
static __attribute__((unused)) void swizzle(u64 active, const u32 *a, u64 *r, u32 pattern) {
  for (u32 l = 0; l < 64; l++) {
    u32 from = pattern & 0x8000 ? (l & ~3u) | (pattern >> (2 * (l & 3)) & 3)
                                : (l & 32) | ((((l & 31) & (pattern & 31)) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31));
    r[l] = active >> from & 1 ? a[from] ^ from : 0;
  }
}
// Returns the lane from which a lane reads; -1 if there is none.
static i32 dpp_source(u32 l, u32 control) {
  u32 row = l & ~15u, at = l & 15, n = control & 15;
  if (control < 0x100) return (i32)((l & ~3u) | (control >> (2 * (l & 3)) & 3));
  if (control < 0x110) return at + n < 16 ? (i32)(l + n) : -1;
  if (control < 0x120) return at >= n ? (i32)(l - n) : -1;
  if (control < 0x130) return (i32)(row | ((at + 16 - n) & 15));
  switch (control) {
  case 0x130: return l < 63 ? (i32)l + 1 : -1;
  case 0x134: return (i32)((l + 1) & 63);
  case 0x138: return (i32)l - 1;
  case 0x13c: return (i32)((l + 63) & 63);
  case 0x140: return (i32)(row | (15 - at));
  case 0x141: return (i32)((l & ~7u) | (7 - (l & 7)));
  case 0x142: return l >= 16 ? (i32)(row - 1) : -1;
  default: return l >= 32 ? 31 : -1;
  }
}
static __attribute__((unused)) void dpp(u64 active, const u32 *a, const u32 *b, u64 *r, u32 control, u32 rows, u32 banks, u32 bound) {
  for (u32 l = 0; l < 64; l++) {
    i32 from = dpp_source(l, control);
    int enabled = (rows >> (l >> 4) & 1) && (banks >> (l >> 2 & 3) & 1);
    int valid = from >= 0 && (active >> from & 1);
    r[l] = !enabled ? b[l] : valid ? a[from] ^ (u32)from : bound ? 0 : b[l];
  }
}

static u32 in[1024];
static u64 out[GROUPS * BLOCK];
static u32 own[GROUPS * BLOCK * OWN_WORDS];
static u64 shared[OPERATIONS * SHARED];
int main(int count, char **files);
#endif
