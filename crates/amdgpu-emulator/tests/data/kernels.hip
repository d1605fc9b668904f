// Kernels for tests of the dispatch ABI, scheduling and faults. Freestanding: builtins, no headers. Rebuild: build.sh.
#define KERNEL extern "C" __attribute__((global))
#define DEVICE __attribute__((device))
#define SHARED __attribute__((shared))
#define NOINLINE __attribute__((noinline))
typedef unsigned u32;
typedef unsigned long u64;

DEVICE inline u32 group() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE inline u32 item() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE inline u32 global_x() { return group() * __builtin_amdgcn_workgroup_size_x() + item(); }

// What each work-item sees of the launch: 16 words for each, in the order of x, y, z.
KERNEL void launch_shape(u32 *out, u32 tag) {
    u32 gx = __builtin_amdgcn_workgroup_id_x(), gy = __builtin_amdgcn_workgroup_id_y(), gz = __builtin_amdgcn_workgroup_id_z();
    u32 x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y(), z = __builtin_amdgcn_workitem_id_z();
    u32 bx = __builtin_amdgcn_workgroup_size_x(), by = __builtin_amdgcn_workgroup_size_y(), bz = __builtin_amdgcn_workgroup_size_z();
    u32 nx = __builtin_amdgcn_grid_size_x(), ny = __builtin_amdgcn_grid_size_y(), nz = __builtin_amdgcn_grid_size_z();
    u64 at = ((u64)(gz * bz + z) * ny + gy * by + y) * nx + gx * bx + x;
    u32 values[16] = {tag, gx, gy, gz, x, y, z, bx, by, bz, nx, ny, nz, 0, 0, 0};
    const u32 *packet = (const u32 *)__builtin_amdgcn_dispatch_ptr();
    values[13] = packet[7];                              // group segment size
    values[14] = (u32)__builtin_amdgcn_is_shared((const void *)out);
    values[15] = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
    for (int n = 0; n < 16; n++) out[at * 16 + n] = values[n];
}

// Reverses each block through dynamic LDS.
extern SHARED u32 dynamic[];
KERNEL void reverse(u32 *data) {
    u32 size = __builtin_amdgcn_workgroup_size_x();
    dynamic[item()] = data[global_x()];
    __builtin_amdgcn_s_barrier();
    data[global_x()] = dynamic[size - 1 - item()];
}

// Generic pointers to LDS, scratch and global memory, picked at run time.
DEVICE NOINLINE u32 bump(u32 *p, u32 by) { u32 old = *p; *p = old + by; return old; }
KERNEL void generic(u32 *out, u32 which) {
    SHARED u32 shared[256];
    u32 local[8];
    for (u32 n = 0; n < 8; n++) local[n] = item() + n;
    shared[item()] = 1000 + item();
    u32 *p = which == 0 ? &local[item() & 7] : which == 1 ? &shared[item()] : &out[global_x()];
    u32 old = bump(p, 5);
    out[global_x()] = old + *p;
}

// Recursion: a stack whose depth no compiler knows.
DEVICE NOINLINE u32 depth(u32 n, volatile u32 *sink) {
    volatile u32 frame[16];
    frame[n & 15] = n;
    if (n == 0) return *sink;
    u32 r = depth(n - 1, sink) + 1;
    return r + frame[n & 15] - n;
}
KERNEL void recurse(u32 *out, u32 n) { out[global_x()] = depth(n + (item() & 3), out + global_x()); }

// Device variables and pointers to functions.
extern "C" DEVICE u32 counter = 5;
DEVICE u32 twice(u32 x) { return 2 * x; }
DEVICE u32 plus_counter(u32 x) { return x + counter; }
typedef u32 (*Function)(u32);
extern "C" DEVICE Function table[2] = {twice, plus_counter};
KERNEL void pointers(u32 *out) { out[global_x()] = table[item() & 1](item()); }

// A spin lock between workgroups, taken by one lane of each; the counter inside is not atomic.
KERNEL void locked(u32 *lock, volatile u32 *count, u32 rounds) {
    if (item() != 0) return;
    for (u32 n = 0; n < rounds; n++) {
        u32 expected = 0;
        while (!__atomic_compare_exchange_n(lock, &expected, 1u, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) expected = 0;
        *count = *count + 1;
        __atomic_store_n(lock, 0u, __ATOMIC_RELEASE);
    }
}

// The first workgroup waits for the last.
KERNEL void wait_for_last(u32 *flag, u32 groups) {
    if (item() != 0) return;
    if (group() == groups - 1) __atomic_store_n(flag, 1u, __ATOMIC_RELEASE);
    if (group() == 0) while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0) __builtin_amdgcn_s_sleep(1);
}

// Waves of one workgroup that wait for each other without a barrier, the first for the last.
KERNEL void wave_chain(u32 *out) {
    SHARED volatile u32 turn;
    u32 wave = item() / 64, waves = __builtin_amdgcn_workgroup_size_x() / 64;
    if (item() == 0) turn = waves;
    __builtin_amdgcn_s_barrier();
    while (turn != wave + 1) {}
    if (item() % 64 == 0) out[group() * waves + wave] = waves - turn;
    __builtin_amdgcn_wave_barrier();
    if (item() % 64 == 0) turn = wave;
}

// The last workgroup to finish adds up what the others left.
KERNEL void last_block(u32 *partial, u32 *done, u32 *total, u32 groups) {
    SHARED u32 last;
    if (item() == 0) {
        partial[group()] = group() + 1;
        last = __atomic_fetch_add(done, 1u, __ATOMIC_ACQ_REL) == groups - 1;
    }
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    __builtin_amdgcn_s_barrier();
    if (last && item() == 0) {
        u32 sum = 0;
        for (u32 n = 0; n < groups; n++) sum += ((volatile u32 *)partial)[n];
        *total = sum;
    }
}

// Faults.
KERNEL void store_at(u32 *base, u64 offset, u32 lane) { if (item() == lane) base[offset] = 1; }
KERNEL void load_at(const u32 *base, u64 offset, u32 lane, u32 *out) { if (item() == lane) *out = base[offset]; }
KERNEL void atomic_at(char *base, u64 offset) { __atomic_fetch_add((u32 *)(base + offset), 1u, __ATOMIC_RELAXED); }
KERNEL void lds_at(u32 *out, u32 offset) { dynamic[item()] = 7; out[item()] = dynamic[item() + offset]; }
KERNEL void trap_if(u32 *out, u32 bad) { if (out[item()] == bad) __builtin_trap(); out[item()] = 1; }
KERNEL void forever(volatile u32 *out) { while (*out != 1) {} }
KERNEL void illegal(u32 *out) { out[item()] = 1; asm volatile(".long 0xbe80ff00"); out[item()] = 2; }
