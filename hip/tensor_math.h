// What the elements of lazy tensors are computed with: built into tensor.hip, and put before the sources that are generated
// and compiled at run time, so that both give the same bits. A host can repeat every operation, but for which NaN it is.
#ifndef HIPLAUNCH_TENSOR_MATH
#define HIPLAUNCH_TENSOR_MATH

// A product and a sum are two roundings unless they say `fma`; HIP's default would join them.
#pragma clang fp contract(off)

// Integers wrap around: the arithmetic is that of unsigned numbers, the bits are the same.
static __device__ inline int tensor_add(int a, int b) { return (int)((unsigned)a + (unsigned)b); }
static __device__ inline int tensor_sub(int a, int b) { return (int)((unsigned)a - (unsigned)b); }
static __device__ inline int tensor_mul(int a, int b) { return (int)((unsigned)a * (unsigned)b); }
static __device__ inline int tensor_neg(int a) { return (int)(0u - (unsigned)a); }
static __device__ inline int tensor_fma(int a, int b, int c) { return (int)((unsigned)a * (unsigned)b + (unsigned)c); }
static __device__ inline int tensor_max(int a, int b) { return a < b ? b : a; }
static __device__ inline int tensor_min(int a, int b) { return b < a ? b : a; }
// Towards 0; x / 0 is 0, and the least number / -1 is itself.
static __device__ inline int tensor_div(int a, int b) {
  if (b == 0) return 0;
  return b == -1 ? tensor_neg(a) : a / b;
}

// Quotients are correctly rounded: HIP asks for that unless told otherwise.
#define TENSOR_FLOAT(T)                                                                       \
  static __device__ inline T tensor_add(T a, T b) { return a + b; }                           \
  static __device__ inline T tensor_sub(T a, T b) { return a - b; }                           \
  static __device__ inline T tensor_mul(T a, T b) { return a * b; }                           \
  static __device__ inline T tensor_div(T a, T b) { return a / b; }                           \
  static __device__ inline T tensor_neg(T a) { return -a; }                                   \
  /* A NaN gives way to a number; of two that are equal (0 and -0) it is the first. */        \
  static __device__ inline T tensor_max(T a, T b) { return a < b || a != a ? b : a; }         \
  static __device__ inline T tensor_min(T a, T b) { return b < a || a != a ? b : a; }
TENSOR_FLOAT(float)
TENSOR_FLOAT(double)

static __device__ inline float tensor_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static __device__ inline double tensor_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

// Correctly rounded. Compilers before LLVM 18 make `__builtin_sqrt` the bare instruction, which is not; these are the
// steps that later ones take (SIISelLowering.cpp, lowerFSQRTF32 and lowerFSQRTF64).
static __device__ inline float tensor_sqrt(float x) {
  // v_sqrt_f32 is within 1 ulp, of numbers that are not denormal.
  bool small = x < 0x1p-96f;
  float scaled = small ? x * 0x1p+32f : x;
  float root = __builtin_amdgcn_sqrtf(scaled);
  int bits = __builtin_bit_cast(int, root);
  float below = __builtin_bit_cast(float, bits - 1), above = __builtin_bit_cast(float, bits + 1);
  float low = __builtin_fmaf(-below, root, scaled), high = __builtin_fmaf(-above, root, scaled);
  float nearest = low <= 0.0f ? below : root;
  nearest = high > 0.0f ? above : nearest;
  nearest = small ? nearest * 0x1p-16f : nearest;
  return x == 0.0f || x == __builtin_inff() ? x : nearest;
}
static __device__ inline double tensor_sqrt(double x) {
  // Goldschmidt's steps from v_rsq_f64.
  bool small = x < 0x1p-767;
  double scaled = small ? x * 0x1p+256 : x;
  double y = __builtin_amdgcn_rsq(scaled);
  double root = scaled * y, half = 0.5 * y;
  double error = __builtin_fma(-half, root, 0.5);
  root = __builtin_fma(root, error, root);
  half = __builtin_fma(half, error, half);
  root = __builtin_fma(__builtin_fma(-root, root, scaled), half, root);
  root = __builtin_fma(__builtin_fma(-root, root, scaled), half, root);
  root = small ? root * 0x1p-128 : root;
  return x == 0.0 || x == __builtin_inf() ? x : root;
}

// e^x within 1 ulp: x = n ln 2 + r with |r| <= ln 2 / 2, and the Taylor series of e^r to r^13 (the rest is below 2^-57).
static __device__ inline double tensor_exp(double x) {
  if (x != x) return x;
  if (x > 709.79) return __builtin_inf();
  if (x < -745.14) return 0.0;
  double n = __builtin_rint(x * 0x1.71547652b82fep+0);
  double r = __builtin_fma(-n, 0x1.62e42fefa39efp-1, x);
  r = __builtin_fma(-n, 0x1.abc9e3b39803fp-56, r);
  double y = 0x1.6124613a86d09p-33;              // 1/13!
  y = __builtin_fma(y, r, 0x1.1eed8eff8d898p-29);  // 1/12!
  y = __builtin_fma(y, r, 0x1.ae64567f544e4p-26);
  y = __builtin_fma(y, r, 0x1.27e4fb7789f5cp-22);
  y = __builtin_fma(y, r, 0x1.71de3a556c734p-19);
  y = __builtin_fma(y, r, 0x1.a01a01a01a01ap-16);
  y = __builtin_fma(y, r, 0x1.a01a01a01a01ap-13);
  y = __builtin_fma(y, r, 0x1.6c16c16c16c17p-10);
  y = __builtin_fma(y, r, 0x1.1111111111111p-7);
  y = __builtin_fma(y, r, 0x1.5555555555555p-5);
  y = __builtin_fma(y, r, 0x1.5555555555555p-3);
  y = __builtin_fma(y, r, 0.5);
  y = __builtin_fma(y, r, 1.0);
  y = __builtin_fma(y, r, 1.0);
  // Times 2^n in two steps, as 2^n may be no normal number; only the second one rounds.
  int power = (int)n, first = power >> 1;
  double one = __builtin_bit_cast(double, (long long)(first + 1023) << 52);
  double two = __builtin_bit_cast(double, (long long)(power - first + 1023) << 52);
  return y * one * two;
}
// Rounded once more: within 0.5 ulp and a little.
static __device__ inline float tensor_exp(float x) { return (float)tensor_exp((double)x); }

#endif
