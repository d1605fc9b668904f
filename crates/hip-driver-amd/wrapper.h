// What bindgen reads to make src/bindings.rs (feature `bindgen`): AMD's C API, nothing else.
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
