// rocBLAS's gemm_ex beside a plain loop in double: shapes with odd k, every transposition, f16, bf16, f32 and f64.
//   gemm [--every N]
// Each comparison is made twice, the second time with one number changed, which it has to notice.
#include <hip/hip_runtime.h>
#include <rocblas/rocblas.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                  \
    do {                                                                             \
        int status = int(call);                                                      \
        if (status != 0) { std::printf("%s: %d\n", #call, status); std::exit(2); }   \
    } while (0)

// What each type holds, by hand: no conversion of HIP's or rocBLAS's takes part in the reference.
static double f16_value(uint16_t bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double size = exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24);
    if (exponent == 31) size = fraction ? NAN : INFINITY;
    return bits >> 15 ? -size : size;
}
static double bf16_value(uint16_t bits) {
    uint32_t wide = uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &wide, 4);
    return value;
}

struct Type {
    const char *name;
    rocblas_datatype data, compute;
    size_t bytes;
    double epsilon; // half the distance from 1 to the next number
};
static const Type types[] = {
    {"f16", rocblas_datatype_f16_r, rocblas_datatype_f32_r, 2, std::ldexp(1, -11)},
    {"bf16", rocblas_datatype_bf16_r, rocblas_datatype_f32_r, 2, std::ldexp(1, -8)},
    {"f32", rocblas_datatype_f32_r, rocblas_datatype_f32_r, 4, std::ldexp(1, -24)},
    {"f64", rocblas_datatype_f64_r, rocblas_datatype_f64_r, 8, std::ldexp(1, -53)},
};

static double value(const Type &type, const void *at, size_t i) {
    if (type.bytes == 8) return static_cast<const double *>(at)[i];
    if (type.bytes == 4) return static_cast<const float *>(at)[i];
    uint16_t bits = static_cast<const uint16_t *>(at)[i];
    return type.name[0] == 'b' ? bf16_value(bits) : f16_value(bits);
}

// Numbers that every type holds exactly: multiples of 1/8 from -2 to 2.
static void store(const Type &type, void *at, size_t i, double number) {
    if (type.bytes == 8) { static_cast<double *>(at)[i] = number; return; }
    float single = float(number);
    if (type.bytes == 4) { static_cast<float *>(at)[i] = single; return; }
    uint32_t bits;
    std::memcpy(&bits, &single, 4);
    uint16_t &half = static_cast<uint16_t *>(at)[i];
    if (type.name[0] == 'b') { half = uint16_t(bits >> 16); return; }
    half = number == 0 ? 0 : uint16_t(bits >> 16 & 0x8000 | ((bits >> 23 & 255) - 127 + 15) << 10 | (bits >> 13 & 1023));
}

struct Shape {
    int m, n, k, lda, ldb, ldc;
    bool a_transposed, b_transposed;
};

// Whether d is 1.5 a b - 0.5 c within what rounding allows, and what is between d's columns is as in c.
static bool is_right(const Type &type, const Shape &s, const void *a, const void *b, const void *c, const void *d, bool say) {
    for (int j = 0; j < s.n; j++)
        for (int i = 0; i < s.ldc; i++) {
            size_t at = i + size_t(j) * s.ldc;
            double got = value(type, d, at), expected = value(type, c, at), allowed = 0;
            if (i < s.m) {
                double sum = 0, magnitude = 0;
                for (int l = 0; l < s.k; l++) {
                    double product = value(type, a, s.a_transposed ? l + size_t(i) * s.lda : i + size_t(l) * s.lda) *
                                     value(type, b, s.b_transposed ? j + size_t(l) * s.ldb : l + size_t(j) * s.ldb);
                    sum += product;
                    magnitude += std::fabs(product);
                }
                magnitude = 1.5 * magnitude + 0.5 * std::fabs(expected);
                expected = 1.5 * sum - 0.5 * expected;
                // One rounding to the type, and sums in f32 or f64 in any order.
                allowed = type.epsilon * std::fabs(expected) + magnitude * std::ldexp(1, type.bytes == 8 ? -52 : -23);
            }
            if (std::fabs(got - expected) <= allowed) continue;
            if (say)
                std::printf("%s %d x %d x %d, transposed %d %d: at (%d, %d) %.17g, expected %.17g\n", type.name, s.m, s.n, s.k,
                            s.a_transposed, s.b_transposed, i, j, got, expected);
            return false;
        }
    return true;
}

int main(int count, char **words) {
    int every = 1;
    for (int i = 1; i < count; i++) {
        if (!std::strcmp(words[i], "--every") && i + 1 < count) every = std::atoi(words[++i]);
    }
    rocblas_handle handle;
    CHECK(rocblas_create_handle(&handle));
    const int sizes[][2] = {{1, 1}, {3, 5}, {16, 16}, {33, 17}, {64, 127}, {130, 65}};
    const int depths[] = {1, 3, 7, 15, 17, 31, 33, 63, 65, 127, 129, 255, 257};
    const rocblas_operation operations[] = {rocblas_operation_none, rocblas_operation_transpose};
    uint64_t random = 1;
    auto next = [&] {
        random = random * 6364136223846793005u + 1442695040888963407u;
        return (int(random >> 40) % 33 - 16) / 8.0;
    };
    int ran = 0, failed = 0, number = 0;
    for (const Type &type : types) {
        int of_type = 0, failed_of_type = 0;
        for (auto &size : sizes)
            for (int k : depths)
                for (auto trans_a : operations)
                    for (auto trans_b : operations) {
                        if (number++ % every) continue;
                        int m = size[0], n = size[1];
                        // Leading dimensions with something behind each column, which must not be read into a result.
                        int lda = (trans_a == rocblas_operation_none ? m : k) + 1;
                        int ldb = (trans_b == rocblas_operation_none ? k : n) + 2, ldc = m + 3;
                        size_t in_a = size_t(lda) * (trans_a == rocblas_operation_none ? k : m);
                        size_t in_b = size_t(ldb) * (trans_b == rocblas_operation_none ? n : k), in_c = size_t(ldc) * n;
                        std::vector<char> a(in_a * type.bytes), b(in_b * type.bytes), c(in_c * type.bytes), d(in_c * type.bytes);
                        for (size_t i = 0; i < in_a; i++) store(type, a.data(), i, next());
                        for (size_t i = 0; i < in_b; i++) store(type, b.data(), i, next());
                        for (size_t i = 0; i < in_c; i++) store(type, c.data(), i, next());
                        char *at_a, *at_b, *at_c;
                        CHECK(hipMalloc(&at_a, a.size()));
                        CHECK(hipMalloc(&at_b, b.size()));
                        CHECK(hipMalloc(&at_c, c.size()));
                        CHECK(hipMemcpy(at_a, a.data(), a.size(), hipMemcpyHostToDevice));
                        CHECK(hipMemcpy(at_b, b.data(), b.size(), hipMemcpyHostToDevice));
                        CHECK(hipMemcpy(at_c, c.data(), c.size(), hipMemcpyHostToDevice));
                        double alpha64 = 1.5, beta64 = -0.5;
                        float alpha32 = 1.5f, beta32 = -0.5f;
                        const void *alpha = type.bytes == 8 ? (void *)&alpha64 : &alpha32;
                        const void *beta = type.bytes == 8 ? (void *)&beta64 : &beta32;
                        CHECK(rocblas_gemm_ex(handle, trans_a, trans_b, m, n, k, alpha, at_a, type.data, lda, at_b, type.data, ldb, beta, at_c,
                                              type.data, ldc, at_c, type.data, ldc, type.compute, rocblas_gemm_algo_standard, 0, 0));
                        CHECK(hipMemcpy(d.data(), at_c, d.size(), hipMemcpyDeviceToHost));
                        CHECK(hipFree(at_a));
                        CHECK(hipFree(at_b));
                        CHECK(hipFree(at_c));
                        auto right = [&](bool say) {
                            bool transposed[] = {trans_a != rocblas_operation_none, trans_b != rocblas_operation_none};
                            Shape shape{m, n, k, lda, ldb, ldc, transposed[0], transposed[1]};
                            return is_right(type, shape, a.data(), b.data(), c.data(), d.data(), say);
                        };
                        bool fails = !right(true);
                        double last = value(type, d.data(), m - 1);
                        store(type, d.data(), m - 1, last == 0 ? 2 : 0);
                        if (!fails && right(false)) {
                            std::printf("%s %d x %d x %d: a changed number is not noticed\n", type.name, m, n, k);
                            fails = true;
                        }
                        ran++, of_type++;
                        failed += fails, failed_of_type += fails;
                    }
        std::printf("gemm %s: %d, failed %d\n", type.name, of_type, failed_of_type);
    }
    CHECK(rocblas_destroy_handle(handle));
    std::printf("gemm: %d, failed %d\n", ran, failed);
    return failed || !ran;
}
