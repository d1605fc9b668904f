// Kernels for tests of faults, and of workgroups that wait for each other. Freestanding: builtins, no headers. Rebuild:
// build.sh.
#define KERNEL extern "C" __attribute__((global))
#define DEVICE __attribute__((device))
#define SHARED __attribute__((shared))
#define NOINLINE __attribute__((noinline))
typedef unsigned u32;
typedef unsigned long u64;
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
#ifdef __gfx942__
#define COHERENT "sc0 sc1"
#else
#define COHERENT "glc"
#endif

DEVICE inline u32 group() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE inline u32 item() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE inline u32 wave() { return __builtin_amdgcn_readfirstlane(item() / 64); }
DEVICE inline u32 uniform(u32 x) { return __builtin_amdgcn_readfirstlane(x); }
DEVICE inline u64 uniform(u64 x) { return (u64)uniform((u32)(x >> 32)) << 32 | uniform((u32)x); }

// Scratch.

// An index into an array of 8, which nobody has checked.
KERNEL void index_array(u32 *out, u32 n) {
    volatile u32 array[8];
    for (u32 k = 0; k < 8; k++) array[k] = item() + k;
    array[n + item()] = 7;
    out[item()] = array[item() & 7];
}
// The same through a pointer that may be to any memory.
DEVICE NOINLINE u32 bump(u32 *p) { return ++*p; }
KERNEL void index_pointer(u32 *out, u32 n) {
    u32 array[128];
    for (u32 k = 0; k < 128; k++) array[k] = item() + k;
    u32 *p = n == 12345 ? out : &array[n + item()];
    out[item()] = bump(p) + array[item() & 7];
}
DEVICE NOINLINE u32 depth(u32 n, volatile u32 *sink) {
    volatile u32 frame[16];
    frame[n & 15] = n;
    if (n == 0) return *sink;
    u32 r = depth(n - 1, sink) + 1;
    return r + frame[n & 15] - n;
}
KERNEL void recurse(u32 *out, u32 n) { out[item()] = depth(n, out + item()); }

// Control.

KERNEL void jump_to(u64 target) { asm volatile("s_setpc_b64 %0" ::"s"(uniform(target))); }
KERNEL void branch_off() { asm volatile(".long 0xbf827fff"); }
KERNEL void halts() { asm volatile("s_sethalt 1"); }
KERNEL void privileged() { asm volatile("s_rfe_b64 s[0:1]"); }
KERNEL void other_trap() { asm volatile("s_trap 7"); }
KERNEL void debug_trap(u32 *out) { __builtin_debugtrap(); out[item()] = 1; }
KERNEL void data_share() { asm volatile(".long 0xd8010000, 0x00000100"); } // ds_add_u32 v0, v1 gds
KERNEL void misaligned_lds() {
    SHARED u64 shared[4];
    asm volatile("ds_add_u64 %0, v[2:3]\n s_waitcnt lgkmcnt(0)" ::"v"((u32)(u64)shared + 4) : "v2", "v3", "memory");
}

// Waiting for ever.

// One wave never comes to the barrier.
KERNEL void spins_at_barrier(volatile u32 *flag) {
    if (wave() == 1) while (*flag == 0) __builtin_amdgcn_s_sleep(1);
    __builtin_amdgcn_s_barrier();
}
// One wave has ended: it counts as having come.
KERNEL void ends_at_barrier(u32 *out) {
    if (wave() == 1) return;
    __builtin_amdgcn_s_barrier();
    out[item()] = 1;
}
DEVICE inline void gws_init(u32 value, u32 resource) {
    asm volatile("s_mov_b32 m0, %1\n v_mov_b32 v10, %0\n s_nop 0\n ds_gws_init v10 gds\n s_waitcnt 0" ::"s"(uniform(value)),
                 "s"(uniform(resource << 16)) : "v10", "memory");
}
DEVICE inline void gws_barrier(u32 value, u32 resource) {
    asm volatile("s_mov_b32 m0, %1\n v_mov_b32 v10, %0\n s_nop 0\n ds_gws_barrier v10 gds\n s_waitcnt 0" ::"s"(uniform(value)),
                 "s"(uniform(resource << 16)) : "v10", "memory");
}
DEVICE inline void gws_p(u32 resource) {
    asm volatile("s_mov_b32 m0, %0\n s_nop 0\n ds_gws_sema_p gds\n s_waitcnt 0" ::"s"(uniform(resource << 16)) : "memory");
}
DEVICE inline void gws_v(u32 resource) {
    asm volatile("s_mov_b32 m0, %0\n s_nop 0\n ds_gws_sema_v gds\n s_waitcnt 0" ::"s"(uniform(resource << 16)) : "memory");
}
// As ROCm's device library synchronises a grid (`__ockl_grid_sync`).
DEVICE inline void grid_sync(u32 groups) {
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
    __builtin_amdgcn_s_barrier();
    if (item() == 0) gws_barrier(groups - 1, 0);
    __builtin_amdgcn_s_barrier();
}
// Each round every workgroup writes, and then reads what the next one wrote.
KERNEL void synced(u32 *data, u32 *out, u32 groups, u32 rounds) {
    u32 sum = 0;
    for (u32 round = 1; round <= rounds; round++) {
        if (item() == 0) data[group()] = round * (group() + 1);
        grid_sync(groups);
        sum += data[(group() + 1) % groups];
        grid_sync(groups);
    }
    if (item() == 0) out[group()] = sum;
}
KERNEL void init_resource(u32 value, u32 resource) { gws_init(value, resource); }
KERNEL void meet(u32 *out, u32 value, u32 resource) {
    gws_barrier(value, resource);
    __builtin_amdgcn_s_barrier();
    if (item() == 0) __atomic_fetch_add(out, 1u, __ATOMIC_RELAXED);
}
// The second wave waits at the workgroup's barrier for the first, which waits for somebody who never comes.
KERNEL void never_meet(u32 *out, u32 value) {
    if (wave() == 0) gws_barrier(value, 0);
    __builtin_amdgcn_s_barrier();
    out[item()] = 1;
}
KERNEL void never_released() { gws_p(5); }
// A critical section of so many workgroups at once, which a semaphore of 1 makes one.
KERNEL void exclusive(volatile u32 *count, u32 rounds) {
    for (u32 n = 0; n < rounds; n++) {
        gws_p(2);
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
        if (item() == 0) *count = *count + 1;
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
        gws_v(2);
    }
}

// Waiting by memory.

DEVICE inline u32 read(u32 *at, u32 how) {
    if (how == 0) return *(volatile u32 *)at;
    if (how == 1) return __atomic_load_n(at, __ATOMIC_ACQUIRE);
    u32 value;
    if (how == 2) {
        // Scalar, past the scalar cache.
        asm volatile("s_dcache_inv\n s_load_dword %0, %1, 0x0 glc\n s_waitcnt lgkmcnt(0)" : "=&s"(value) : "s"(uniform((u64)at)) : "memory");
    } else {
        u64 base = uniform((u64)at);
        u32x4 descriptor = {(u32)base, (u32)(base >> 32) & 0xffffu, 4u, 0x00027000u};
        asm volatile("buffer_load_dword %0, off, %1, 0 " COHERENT "\n s_waitcnt vmcnt(0)" : "=&v"(value) : "s"(descriptor) : "memory");
    }
    return value;
}
// A barrier of all workgroups: a counter and a number of the round, waited for in several ways. Counts what a workgroup
// sees of another that is too old.
KERNEL void grid_barrier(u32 *arrived, u32 *passed, u32 *data, u32 *wrong, u32 groups, u32 rounds, u32 how, u32 sleep) {
    if (wave() != 0) return;
    for (u32 round = 1; round <= rounds; round++) {
        if (item() == 0) {
            __atomic_store_n(&data[group()], round, __ATOMIC_RELEASE);
            if (__atomic_fetch_add(arrived, 1u, __ATOMIC_ACQ_REL) == groups * round - 1)
                __atomic_store_n(passed, round, __ATOMIC_RELEASE);
        }
        while (uniform(read(passed, how)) < round)
            if (sleep) __builtin_amdgcn_s_sleep(1);
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
        if (item() == 0 && ((volatile u32 *)data)[(group() + 1) % groups] < round)
            __atomic_fetch_add(wrong, 1u, __ATOMIC_RELAXED);
    }
}
// A lock that is given in the order of tickets; the counter inside is not atomic.
KERNEL void tickets(u32 *next, u32 *serving, volatile u32 *count, u32 rounds, u32 how) {
    if (wave() != 0) return;
    for (u32 n = 0; n < rounds; n++) {
        u32 mine = 0;
        if (item() == 0) mine = __atomic_fetch_add(next, 1u, __ATOMIC_RELAXED);
        mine = uniform(mine);
        while (uniform(read(serving, how)) != mine) __builtin_amdgcn_s_sleep(1);
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
        if (item() == 0) {
            *count = *count + 1;
            __atomic_store_n(serving, mine + 1, __ATOMIC_RELEASE);
        }
    }
}
