// HIP with -mprintf-kind=buffered and without its headers and device library.
extern "C" __attribute__((device)) int printf(const char *, ...);
typedef __attribute__((address_space(1))) char *Space;
extern "C" __attribute__((device, used)) Space __printf_alloc(unsigned size) {
    auto implicit = (__attribute__((address_space(4))) char *)__builtin_amdgcn_implicitarg_ptr();
    auto buffer = *(unsigned *__attribute__((address_space(4))) *)(implicit + 72);
    unsigned at = __atomic_fetch_add(buffer, size, 0);
    return at + size + 8 > buffer[1] ? nullptr : (Space)(char *)buffer + 8 + at;
}
extern "C" __attribute__((global)) void print(int n, const char *format) {
    printf("%d %s %.3f %ld %c|\n", n, n & 1 ? "odd" : "even, and longer", n * 0.5, (long)n << 40, 'x');
    printf("plain\n");
    printf(format, n);
}
