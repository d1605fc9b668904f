// Two objects with a kernel each, which are linked to one code object, as Tensile links its kernels.
#ifdef FIRST
kernel void first(global int *out) { *out = 1; }
#else
kernel void second(global int *out) { *out = 2; }
#endif
