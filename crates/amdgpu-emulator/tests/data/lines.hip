// Kernels with debug information, whose faults tests/source_lines.rs expects at the lines that it names. Freestanding:
// builtins, no headers. Rebuild: build.sh.
#define KERNEL extern "C" __attribute__((global))
#define DEVICE __attribute__((device))
typedef unsigned u32;

DEVICE inline u32 item() { return __builtin_amdgcn_workitem_id_x(); }

DEVICE __attribute__((always_inline)) inline void put(u32 *data, u32 at) {
    data[at] = 7;
}

KERNEL void direct(u32 *data, u32 at) {
    if (item() == 3)
        data[at] = 1;
}

KERNEL void inlined(u32 *data, u32 at) {
    if (item() == 0)
        put(data, at);
}

DEVICE __attribute__((noinline)) u32 load(const u32 *data, u32 at) {
    return data[at];
}

KERNEL void called(u32 *out, const u32 *data, u32 at) {
    out[item()] = load(data, at);
}

KERNEL void trap() {
    __builtin_trap();
}

KERNEL void forever(volatile u32 *data) {
    while (true)
        *data = 1;
}

// Two workgroups write different values.
KERNEL void racy(u32 *data) {
    if (item() == 0)
        *data = __builtin_amdgcn_workgroup_id_x();
}
