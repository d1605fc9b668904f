// Kernels whose accesses the sanitizer has to follow. Build them with build.sh.
#define GLOBAL extern "C" __attribute__((global))
typedef __attribute__((ext_vector_type(4))) float float4;
static __attribute__((device)) unsigned item() {
    return __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
}
static __attribute__((device)) void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// Neighboring dwords.
GLOBAL void add(const float *a, const float *b, float *out) {
    unsigned i = item();
    out[i] = a[i] + b[i];
}

// 16 bytes of each lane.
GLOBAL void copy16(const float4 *a, float4 *out) {
    out[item()] = a[item()];
}

// Halves of dwords.
GLOBAL void add16(const _Float16 *a, const _Float16 *b, _Float16 *out) {
    unsigned i = item();
    out[i] = a[i] + b[i];
}

// Addresses all over the memory.
GLOBAL void gather(const float *a, float *out) {
    unsigned i = item();
    out[i] = a[i * 7919 & 65535];
}

// Columns: each lane reads a row of 64 floats.
GLOBAL void rows(const float *a, float *out) {
    unsigned i = item();
    float sum = 0;
    for (unsigned n = 0; n < 64; n++) sum += a[(i * 64 + n) & 65535];
    out[i] = sum;
}

// A row of 4096 floats by each workgroup: the maximum and the sum in LDS.
GLOBAL void softmax(const float *a, float *out) {
    __attribute__((shared)) static float part[256];
    unsigned t = __builtin_amdgcn_workitem_id_x(), row = __builtin_amdgcn_workgroup_id_x() * 4096;
    float most = -1e30f, sum = 0;
    for (unsigned n = t; n < 4096; n += 256) most = __builtin_fmaxf(most, a[(row + n) & 65535]);
    part[t] = most;
    barrier();
    for (unsigned n = 128; n > 0; n /= 2) {
        if (t < n) part[t] = __builtin_fmaxf(part[t], part[t + n]);
        barrier();
    }
    most = part[0];
    barrier();
    for (unsigned n = t; n < 4096; n += 256) sum += __builtin_amdgcn_exp2f(a[(row + n) & 65535] - most);
    part[t] = sum;
    barrier();
    for (unsigned n = 128; n > 0; n /= 2) {
        if (t < n) part[t] += part[t + n];
        barrier();
    }
    sum = part[0];
    for (unsigned n = t; n < 4096; n += 256)
        out[row + n] = __builtin_amdgcn_exp2f(a[(row + n) & 65535] - most) / sum;
}

// Atomics to LDS and to memory.
GLOBAL void histogram(const unsigned *a, unsigned *out) {
    __attribute__((shared)) static unsigned count[256];
    unsigned t = __builtin_amdgcn_workitem_id_x();
    count[t] = 0;
    barrier();
    for (unsigned n = 0; n < 16; n++)
        __hip_atomic_fetch_add(&count[a[(item() + n * 4096) & 65535] >> 8 & 255], 1, __ATOMIC_RELAXED,
                               __HIP_MEMORY_SCOPE_WORKGROUP);
    barrier();
    __hip_atomic_fetch_add(&out[t], count[t], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
