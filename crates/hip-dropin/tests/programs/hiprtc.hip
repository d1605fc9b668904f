// Kernels that the program compiles while it runs: names, logs, headers, options, errors.
#include <hip/hip_runtime.h>
#include <hip/hiprtc.h>
#include <cstdio>
#include <string>
#include <vector>

static const char* source = R"(
#include "add.h"
#warning a warning
template <typename T> __global__ void scale(T* x, T by) { x[threadIdx.x] = add(x[threadIdx.x] * by, T(ADD)); }
__constant__ int table[2] = {40, 2};
extern "C" __global__ void sum(int* out) { *out = table[0] + table[1]; }
)";

static std::string log_of(hiprtcProgram program) {
    size_t bytes = 0;
    hiprtcGetProgramLogSize(program, &bytes);
    std::string log(bytes, '\0');
    hiprtcGetProgramLog(program, &log[0]);
    return log;
}

static bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

int main() {
    const char* header = "template <typename T> __device__ T add(T a, T b) { return a + b; }";
    const char* header_name = "add.h";
    hiprtcProgram program;
    auto status = hiprtcCreateProgram(&program, source, "scale.hip", 1, &header, &header_name);
    printf("create: %s\n", hiprtcGetErrorString(status));
    if (status != HIPRTC_SUCCESS) return 3;
    hiprtcAddNameExpression(program, "scale<float>");
    hiprtcAddNameExpression(program, "&table");
    const char* options[] = {"-O2", "-DADD=1"};
    printf("compile: %s\n", hiprtcGetErrorString(hiprtcCompileProgram(program, 2, options)));
    printf("warning: %d\n", has(log_of(program), ":3:2: warning: a warning"));
    const char *kernel, *variable, *unknown;
    hiprtcGetLoweredName(program, "scale<float>", &kernel);
    hiprtcGetLoweredName(program, "&table", &variable);
    printf("names: %s %s, %s\n", kernel, variable,
           hiprtcGetErrorString(hiprtcGetLoweredName(program, "scale<int>", &unknown)));
    size_t bytes = 0;
    hiprtcGetCodeSize(program, &bytes);
    std::vector<char> code(bytes);
    hiprtcGetCode(program, code.data());

    hipModule_t module;
    hipFunction_t function;
    printf("load: %s\n", hipGetErrorName(hipModuleLoadData(&module, code.data())));
    printf("function: %s\n", hipGetErrorName(hipModuleGetFunction(&function, module, kernel)));
    printf("destroy: %s\n", hiprtcGetErrorString(hiprtcDestroyProgram(&program)));
    std::vector<float> host(64);
    for (int i = 0; i < 64; i++) host[i] = i;
    float* device;
    hipMalloc(&device, 256);
    hipMemcpy(device, host.data(), 256, hipMemcpyHostToDevice);
    float by = 3;
    void* arguments[] = {&device, &by};
    hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr);
    hipMemcpy(host.data(), device, 256, hipMemcpyDeviceToHost);
    printf("scaled: %g %g\n", host[1], host[63]);
    hipModuleGetFunction(&function, module, "sum");
    void* sum_arguments[] = {&device};
    hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, sum_arguments, nullptr);
    int sum = 0;
    hipMemcpy(&sum, device, 4, hipMemcpyDeviceToHost);
    printf("sum: %d\n", sum);
    hipFree(device);
    hipModuleUnload(module);

    hiprtcCreateProgram(&program, "extern \"C\" __global__ void k() { undeclared(); }", nullptr, 0, nullptr, nullptr);
    status = hiprtcCompileProgram(program, 0, nullptr);
    printf("bad source: %s, %d\n", hiprtcGetErrorString(status),
           has(log_of(program), "error: use of undeclared identifier 'undeclared'"));
    const char* bad_option[] = {"--no-such-option"};
    status = hiprtcCompileProgram(program, 1, bad_option);
    printf("bad option: %s, %d\n", hiprtcGetErrorString(status), has(log_of(program), "no-such-option"));
    hiprtcDestroyProgram(&program);
    printf("no source: %s\n", hiprtcGetErrorString(hiprtcCreateProgram(&program, "", "a", 0, nullptr, nullptr)));
}
