// Reads that end in the aligned 16 bytes of an allocation's last byte, by each kind of load; those that go further, and writes, are
// faults. And LDS past its end, but within what the hardware allocates. The argument names one.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>

__global__ void scalar(const int *p, int *out) {
  int a, b, c, d;
  asm volatile("s_load_dwordx4 s[20:23], %4, 0x0\n s_waitcnt lgkmcnt(0)\n v_mov_b32 %0, s20\n v_mov_b32 %1, s21\n"
               "v_mov_b32 %2, s22\n v_mov_b32 %3, s23"
               : "=v"(a), "=v"(b), "=v"(c), "=v"(d) : "s"(p) : "s20", "s21", "s22", "s23");
  *out = a + b + c;
}
typedef int Four __attribute__((ext_vector_type(4)));
typedef int Two __attribute__((ext_vector_type(2)));
__global__ void global_four(const int *p, int *out) {
  Four v;
  asm volatile("global_load_dwordx4 %0, %1, off\n s_waitcnt vmcnt(0)" : "=v"(v) : "v"(p));
  *out = v.x + v.y + v.z;
}
__global__ void flat_two(const int *p, int *out) {
  Two v;
  asm volatile("flat_load_dwordx2 %0, %1\n s_waitcnt vmcnt(0) lgkmcnt(0)" : "=v"(v) : "v"(p + 2));
  *out = v.x + 3;
}
__global__ void too_far(const int *p, int *out) {  // The next 16 bytes.
  Four v;
  asm volatile("global_load_dwordx4 %0, %1, off\n s_waitcnt vmcnt(0)" : "=v"(v) : "v"(p + 1));
  *out = v.x;
}
__global__ void scalar_eight(const int *p, int *out) {  // LLVM 22 loads seven dwords so.
  int a, b;
  asm volatile("s_load_dwordx8 s[20:27], %2, 0x0\n s_waitcnt lgkmcnt(0)\n v_mov_b32 %0, s20\n v_mov_b32 %1, s26"
               : "=v"(a), "=v"(b) : "s"(p) : "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27");
  *out = a + b;
}
__global__ void scalar_across(const int *p, int *out) {  // It begins in the 16 bytes before.
  int a, b;
  asm volatile("s_load_dwordx4 s[20:23], %2, 0x18\n s_waitcnt lgkmcnt(0)\n v_mov_b32 %0, s20\n v_mov_b32 %1, s21"
               : "=v"(a), "=v"(b) : "s"(p) : "s20", "s21", "s22", "s23");
  *out = a + b;
}
__global__ void buffer_four(const int *p, int *out) {  // Lane 1 is outside of the descriptor's range.
  unsigned long address = (unsigned long)p;
  Four buffer = {(int)address, (int)(address >> 32), 32, 0x27000}, v;
  int at = 16 + threadIdx.x * 16;
  asm volatile("buffer_load_dwordx4 %0, %1, %2, 0 offen\n s_waitcnt vmcnt(0)" : "=v"(v) : "v"(at), "s"(buffer));
  if (threadIdx.x == 0) *out = v.x + v.z;
}
__global__ void second_too_far(const int *p, int *out) {  // Lane 0 stays in the 16 bytes, lane 1 does not.
  Four v;
  asm volatile("global_load_dwordx4 %0, %1, off\n s_waitcnt vmcnt(0)" : "=v"(v) : "v"(p + 4 + threadIdx.x));
  *out = v.x;
}
__global__ void write(int *p, int *out) {
  Four v = {1, 2, 3, 4};
  asm volatile("global_store_dwordx4 %0, %1, off" ::"v"(p), "v"(v) : "memory");
}
__global__ void lds(int *p, int *out) {
  __shared__ int block[64];
  volatile int *past = block;
  past[threadIdx.x + 64] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) *out = past[64 + 6];
  block[threadIdx.x] = *out;
}

int main(int, char **arguments) {
  int *p, *seven, *nine, *out, values[] = {1, 2, 3, 0, 4, 5, 2, 5, 0}, value = 0;
  (void)hipMalloc(&p, 12);
  (void)hipMalloc(&seven, 28);
  (void)hipMalloc(&nine, 36);
  (void)hipMemcpy(seven, values, 28, hipMemcpyHostToDevice);
  (void)hipMemcpy(nine, values, 36, hipMemcpyHostToDevice);
  (void)hipMalloc(&out, 4);
  (void)hipMemcpy(p, values, 12, hipMemcpyHostToDevice);
  switch (atoi(arguments[1])) {
    case 0: scalar<<<1, 1>>>(p, out); break;
    case 1: global_four<<<1, 1>>>(p, out); break;
    case 2: flat_two<<<1, 1>>>(p, out); break;
    case 3: too_far<<<1, 1>>>(p, out); break;
    case 4: write<<<1, 1>>>(p, out); break;
    case 5: lds<<<1, 64>>>(p, out); break;
    case 6: scalar_eight<<<1, 1>>>(seven, out); break;
    case 7: scalar_across<<<1, 1>>>(nine, out); break;
    case 8: buffer_four<<<1, 2>>>(seven, out); break;
    case 9: second_too_far<<<1, 2>>>(seven, out); break;
  }
  hipError_t status = hipMemcpy(&value, out, 4, hipMemcpyDeviceToHost);
  printf("%s %d\n", hipGetErrorName(status), value);
}
