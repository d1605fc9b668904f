// For gfx9-4-generic: variables, tables of functions and data, and a stack.
#define D __attribute__((device))
D int table[4] = {1, 2, 3, 4};
D int *pointer = &table[2];
D __attribute__((weak)) int weak(int x) { return x * 3; }
D __attribute__((noinline)) int plus(int x) { return x + 1; }
D __attribute__((noinline)) int twice(int x) { return x * 2; }
D int (*functions[2])(int) = {plus, twice};
extern "C" __attribute__((global)) void mixed(int *out, int n) {
    int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
    int stack[8];
    for (int k = 0; k < 8; k++) stack[(k * 3 + i) & 7] = k * i;
    if (i < n) out[i] = *pointer + weak(i) + functions[i & 1](i) + stack[i & 7] + stack[(i + 3) & 7];
}
