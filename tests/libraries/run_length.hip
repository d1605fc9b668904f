// hipCUB's RunLengthEncode, by decoupled look-back: workgroups wait for those before them. Beside a plain loop.
// Each comparison is made twice, the second time with one number changed, which it has to notice.
#include <hip/hip_runtime.h>
#include <hipcub/hipcub.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                         \
    do {                                                                                                    \
        hipError_t status = call;                                                                           \
        if (status != hipSuccess) { std::printf("%s: %s\n", #call, hipGetErrorName(status)); std::exit(2); } \
    } while (0)

template <class T> static bool encode(const char *name, size_t length, uint64_t longest) {
    uint64_t random = length * 31 + longest;
    auto next = [&] { return (random = random * 6364136223846793005u + 1442695040888963407u) >> 33; };
    std::vector<T> input;
    while (input.size() < length) {
        T value = T(next() % 100);
        for (uint64_t left = 1 + next() % longest; left > 0 && input.size() < length; left--) input.push_back(value);
    }
    std::vector<T> values;
    std::vector<int> lengths;
    for (T value : input) {
        if (values.empty() || values.back() != value) values.push_back(value), lengths.push_back(0);
        lengths.back()++;
    }
    T *in, *unique;
    int *counts, *runs;
    CHECK(hipMalloc(&in, length * sizeof(T)));
    CHECK(hipMalloc(&unique, length * sizeof(T)));
    CHECK(hipMalloc(&counts, length * sizeof(int)));
    CHECK(hipMalloc(&runs, sizeof(int)));
    CHECK(hipMemcpy(in, input.data(), length * sizeof(T), hipMemcpyHostToDevice));
    size_t bytes = 0;
    CHECK(hipcub::DeviceRunLengthEncode::Encode(nullptr, bytes, in, unique, counts, runs, int(length)));
    void *space;
    CHECK(hipMalloc(&space, bytes));
    CHECK(hipcub::DeviceRunLengthEncode::Encode(space, bytes, in, unique, counts, runs, int(length)));
    int found;
    CHECK(hipMemcpy(&found, runs, sizeof found, hipMemcpyDeviceToHost));
    bool right = found == int(values.size());
    if (right) {
        std::vector<T> got(values.size());
        std::vector<int> got_lengths(values.size());
        CHECK(hipMemcpy(got.data(), unique, got.size() * sizeof(T), hipMemcpyDeviceToHost));
        CHECK(hipMemcpy(got_lengths.data(), counts, got.size() * sizeof(int), hipMemcpyDeviceToHost));
        right = got == values && got_lengths == lengths;
        got_lengths.back()++;
        right = right && got_lengths != lengths;
    }
    for (void *at : {(void *)in, (void *)unique, (void *)counts, (void *)runs, space}) CHECK(hipFree(at));
    if (!right) std::printf("%s, %zu values in runs of up to %llu: %d runs, expected %zu\n", name, length, (unsigned long long)longest, found, values.size());
    return right;
}

int main() {
    int ran = 0, failed = 0;
    for (size_t length : {1, 63, 1000, 12345, 262147})
        for (uint64_t longest : {1, 7, 500}) {
            failed += !encode<int>("int", length, longest);
            failed += !encode<double>("double", length, longest);
            failed += !encode<uint8_t>("uint8_t", length, longest);
            ran += 3;
        }
    std::printf("run_length: %d, failed %d\n", ran, failed);
    return failed || !ran;
}
