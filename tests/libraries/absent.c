// What JAX's plugin for ROCm and CuPy name and Debian does not have, as functions that return an error: rocprofiler-sdk, roctracer,
// and AMD's own copies of libdrm and libnuma. They are called to profile, and to look at the hardware, which computing does not need.
//   clang -shared -fPIC -Wl,--version-script=absent.map -o libabsent.so absent.c
// and links to it: librocprofiler-sdk.so.1, libroctracer64.so.4, librocm_sysdeps_{drm.so.2,drm_amdgpu.so.1,numa.so.1}.
#define A(name) long name(void) { return -1; }
// libdrm
A(amdgpu_bo_cpu_map) A(amdgpu_bo_export) A(amdgpu_bo_free) A(amdgpu_bo_import) A(amdgpu_bo_query_info) A(amdgpu_bo_set_metadata)
A(amdgpu_bo_va_op) A(amdgpu_device_deinitialize) A(amdgpu_device_get_fd) A(amdgpu_device_initialize) A(amdgpu_get_marketing_name)
A(amdgpu_query_gpu_info) A(drmCommandWriteRead) A(drmIoctl) A(drmSyncobjCreate) A(drmSyncobjDestroy)
// libnuma
A(mbind) A(numa_available) A(numa_max_node) A(numa_node_size64) A(numa_bitmask_alloc) A(numa_bitmask_free) A(numa_bitmask_setbit)
// rocprofiler-sdk
A(rocprofiler_assign_callback_thread) A(rocprofiler_configure_buffer_tracing_service)
A(rocprofiler_configure_callback_tracing_service) A(rocprofiler_configure_external_correlation_id_request_service)
A(rocprofiler_context_is_valid) A(rocprofiler_create_buffer) A(rocprofiler_create_callback_thread) A(rocprofiler_create_context)
A(rocprofiler_flush_buffer) A(rocprofiler_force_configure) A(rocprofiler_get_status_string) A(rocprofiler_get_timestamp)
A(rocprofiler_iterate_callback_tracing_kind_operations) A(rocprofiler_iterate_callback_tracing_kinds)
A(rocprofiler_query_available_agents) A(rocprofiler_query_callback_tracing_kind_name)
A(rocprofiler_query_callback_tracing_kind_operation_name) A(rocprofiler_start_context) A(rocprofiler_stop_context)
// roctracer
A(roctracer_start) A(roctracer_stop)
