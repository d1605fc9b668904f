// Kernels with a defect each, and ones that look like it but are right, for tests of the sanitizer and of schedule
// seeds. Freestanding: builtins, no headers. Rebuild: build.sh.
#define KERNEL extern "C" __attribute__((global))
#define DEVICE __attribute__((device))
#define SHARED __attribute__((shared))
typedef unsigned u32;
typedef unsigned char u8;

DEVICE inline u32 group() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE inline u32 item() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE inline u32 size() { return __builtin_amdgcn_workgroup_size_x(); }
DEVICE inline u32 global_x() { return group() * size() + item(); }
DEVICE inline void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
extern SHARED u32 dynamic[];

// Races.

// Every workgroup stores its number; the last one wins.
KERNEL void last_writer(u32 *out) { if (item() == 0) *out = group(); }
// Every workgroup adds without an atomic: increments are lost.
KERNEL void lost_update(volatile u32 *count, u32 rounds) {
    if (item() == 0) for (u32 n = 0; n < rounds; n++) *count = *count + 1;
}
// Reads what the next workgroup writes.
KERNEL void read_next(u32 *data, u32 *out, u32 groups) {
    data[group()] = group() + 1;
    out[group()] = data[(group() + 1) % groups];
}
// One workgroup adds atomically, the others read without an atomic.
KERNEL void mixed(u32 *count, u32 *out) {
    if (item() != 0) return;
    if (group() == 0) __atomic_fetch_add(count, 1u, __ATOMIC_RELAXED); else out[group()] = *count;
}
// Reverses each block through LDS, and forgets the barrier.
KERNEL void no_barrier(u32 *data) {
    dynamic[item()] = data[global_x()];
    __builtin_amdgcn_wave_barrier();
    data[global_x()] = dynamic[size() - 1 - item()];
}
// As it should be but for the second barrier: the next round's stores meet this round's loads.
KERNEL void one_barrier(u32 *data, u32 rounds) {
    u32 value = data[global_x()];
    for (u32 n = 0; n < rounds; n++) {
        dynamic[item()] = value;
        barrier();
        value += dynamic[size() - 1 - item()];
    }
    data[global_x()] = value;
}
// Waves store to the same two places, in one instruction: the second value is not the same in all.
KERNEL void second_differs(u32 *data) {
    dynamic[item() & 63] = (item() & 63) + 1;
    dynamic[(item() & 63) + 64] = item();
    barrier();
    data[global_x()] = dynamic[item() & 127];
}

// Memory that was never written.

KERNEL void copy(const u32 *from, u32 *to) { to[global_x()] = from[global_x()]; }
KERNEL void count_up(u32 *counter) { __atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED); }

// Right.

// Waves store the same two values to the same two places, in one instruction, as Triton's do.
KERNEL void replicated(u32 *data) {
    dynamic[item() & 63] = (item() & 63) + 1;
    dynamic[(item() & 63) + 64] = (item() & 63) * 3;
    barrier();
    data[global_x()] = dynamic[item() & 127];
}

// Bytes of one dword, each stored by another workgroup.
KERNEL void neighbours(u8 *out) { if (item() == 0) out[group()] = (u8)group(); }
// Two barriers a round.
KERNEL void two_barriers(u32 *data, u32 rounds) {
    u32 value = data[global_x()];
    for (u32 n = 0; n < rounds; n++) {
        dynamic[item()] = value;
        barrier();
        value += dynamic[size() - 1 - item()];
        barrier();
    }
    data[global_x()] = value;
}
// Counts in LDS and in global memory, with atomics that return nothing.
KERNEL void histogram(const u32 *values, u32 *bins) {
    if (item() < 16) dynamic[item()] = 0;
    barrier();
    __atomic_fetch_add(&dynamic[values[global_x()] & 15], 1u, __ATOMIC_RELAXED);
    barrier();
    if (item() < 16) __atomic_fetch_add(&bins[item()], dynamic[item()], __ATOMIC_RELAXED);
}
// One workgroup writes data and raises a flag, the others wait for it and read the data.
KERNEL void hand_over(u32 *data, u32 *flag, u32 *out) {
    if (group() == 0) {
        data[item()] = 5 * item();
        barrier();
        if (item() == 0) __atomic_store_n(flag, 1u, __ATOMIC_RELEASE);
    } else {
        while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0) __builtin_amdgcn_s_sleep(1);
        out[global_x()] = data[item()];
    }
}
