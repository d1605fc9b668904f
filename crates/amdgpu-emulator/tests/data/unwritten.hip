// Kernels that copy bytes that were never written, which is right, and kernels that use them, for tests of the sanitizer.
// Freestanding: builtins, no headers. Rebuild: build.sh.
#define KERNEL extern "C" __attribute__((global))
#define DEVICE __attribute__((device))
#define SHARED __attribute__((shared))
typedef unsigned u32;
typedef unsigned short u16;
typedef unsigned char u8;
typedef unsigned long u64;

DEVICE inline u32 item() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE inline void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
struct Padded { u8 a; u32 b; u16 c; };
struct Wide { u64 a; u8 b; u32 c[5]; };
extern SHARED Padded padded[];

// Copies. Padding of `Padded`, or any byte of the source, was never written.
KERNEL void copy_struct(const Padded *from, Padded *to) { to[item()] = from[item()]; }
KERNEL void copy_wide(const Wide *from, Wide *to) { to[item()] = from[item()]; }
KERNEL void copy_uniform(const Padded *from, Padded *to) { Padded one = from[3]; to[item()] = one; }
KERNEL void copy_lds(const Padded *from, Padded *to) {
    padded[item()] = from[item()];
    barrier();
    to[item()] = padded[item() ^ 1];
}
KERNEL void copy_stack(const Padded *from, Padded *to, u32 n) {
    volatile Padded all[4];
    for (u32 k = 0; k < 4; k++) {
        all[k].a = from[item() * 4 + k].a;
        all[k].b = from[item() * 4 + k].b;
    }
    to[item()].a = all[n & 3].a;
    to[item()].b = all[n & 3].b;
}
KERNEL void copy_bytes(const u8 *from, u8 *to) { to[item()] = from[item()]; }
KERNEL void copy_half(const u16 *from, u16 *to) { to[2 * item() + 1] = from[2 * item()]; }
KERNEL void copy_exchanged(const u32 *from, u32 *to) {
    u32 value = from[item()];
    to[item()] = __builtin_amdgcn_ds_bpermute(4 * (item() ^ 5), value);
    to[64 + item()] = __builtin_amdgcn_update_dpp(0, value, 0xb1, 15, 15, true);
    to[128 + item()] = __builtin_amdgcn_readfirstlane(value);
    to[192 + item()] = __builtin_amdgcn_readlane(value, 7);
}
KERNEL void copy_selected(const u32 *from, u32 *to) {
    u32 value = from[item()], other = from[item() + 64];
    to[item()] = item() % 3 ? value : other;
}

// Only the first byte of each dword was written, and nothing else of it is used.
KERNEL void first_byte(const u32 *from, u32 *to) {
    to[item()] = (from[item()] & 0xff) + 1;
    to[64 + item()] = (u8)from[item()] * 3;
    to[128 + item()] = (from[item()] << 24) + 5;
    to[192 + item()] = ((from[item()] & 0xff) << 8 | item()) + 5;
    to[256 + item()] = (from[0] & 0xf0) + 7;
}

// Uses: the source was never written, or only the first byte of each dword.
KERNEL void use_second_byte(const u32 *from, u32 *to) { to[item()] = (from[item()] >> 8 & 0xff) + 1; }
KERNEL void use_sum(const u32 *from, u32 *to) { to[item()] = from[item()] + 1; }
KERNEL void use_uniform(const u32 *from, u32 *to) { to[item()] = from[0] + item(); }
KERNEL void use_address(const u32 *from, u32 *to) { to[item()] = to[from[item()] & 0x100]; }
KERNEL void use_branch(const u32 *from, u32 *to) { if (from[item()] & 0x100) to[item()] = 1; }
KERNEL void use_uniform_branch(const u32 *from, u32 *to) { if (from[0] & 0x100) to[item()] = 1; }
KERNEL void use_atomic(const u32 *from, u32 *to) { __atomic_fetch_add(to, from[item()], __ATOMIC_RELAXED); }
KERNEL void use_float(const u32 *from, float *to) { to[item()] = (float)from[item()]; }
KERNEL void use_after_copy(const u32 *from, u32 *to) {
    to[item()] = from[item()];
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
    to[item()] = to[item()] * 3;
}
KERNEL void use_after_lds(const Padded *from, u32 *to) {
    padded[item()] = from[item()];
    barrier();
    to[item()] = (padded[item() ^ 1].b & 0x3ff) + 1;
}

// A block that is replicated over waves: all load it, one stores.
KERNEL void in_place(u32 *x) {
    u32 value = x[item() % 64];
    if (item() < 64) x[item()] = value * 2;
}
KERNEL void store_then_load(u32 *x, u32 *y) {
    u32 value = x[item() % 64];
    if (item() < 64) y[item()] = value * 2;
    value = y[item() % 64];
    if (item() < 64) x[item()] = value + 1;
}
// As `in_place`, but every wave stores what it has loaded.
KERNEL void used_by_all(u32 *x, u32 *y) {
    u32 value = x[item() % 64];
    if (item() < 64) x[item()] = value * 2;
    y[item()] = value;
}
