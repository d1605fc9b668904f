/* hiplaunch: launch compiled HIP kernels by handle, on AMD GPUs or in an embedded emulator of gfx90a and gfx942.
 *
 * Generated from crates/hiplaunch-capi/src by crates/hiplaunch-capi/tests/header.rs; change the sources.
 *
 *   hiplaunch_launcher *launcher;
 *   if (hiplaunch_open(NULL, &launcher) != HIPLAUNCH_STATUS_OK)
 *     fprintf(stderr, "%s\n", hiplaunch_last_error_message());
 *
 * Errors: every function that can fail returns a hiplaunch_status. If it fails, hiplaunch_last_error_message returns a
 * message on the same thread, and the function has written no result.
 *
 * Handles (the pointers to incomplete structs) are never dereferenced. A handle that is null, unknown, closed, of
 * another kind of object or of another launcher is the error HIPLAUNCH_STATUS_INVALID_HANDLE. Closing a launcher closes
 * everything that was opened from it. A handle can be kept, copied and compared as any 64-bit number.
 *
 * Other pointers are used during the call only, unless a function says otherwise. A null pointer is an error unless the
 * function allows it or the array has no elements. Any other pointer must point to as many bytes as the function says.
 *
 * Versions: structs that begin with struct_size may grow. Set struct_size to the struct's sizeof and all other fields
 * to zero before filling them in. A size that the library does not know is the error HIPLAUNCH_STATUS_STRUCT_SIZE.
 *
 * Threads: every function may be called from any thread at any time, also on the same objects. A child of a fork must
 * not call the library; it may start a program that does.
 */

#ifndef HIPLAUNCH_H
#define HIPLAUNCH_H


#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The first part of the header's version.
 */
#define HIPLAUNCH_VERSION_MAJOR 0

/**
 * The second part of the header's version.
 */
#define HIPLAUNCH_VERSION_MINOR 1

/**
 * The third part of the header's version.
 */
#define HIPLAUNCH_VERSION_PATCH 0

/**
 * As a device of hiplaunch_register: all devices of the launcher.
 */
#define HIPLAUNCH_ALL_DEVICES 4294967295

/**
 * The result of a function. For any value but HIPLAUNCH_STATUS_OK, hiplaunch_last_error_message returns a message.
 */
typedef enum hiplaunch_status {
  /**
   * The function succeeded.
   */
  HIPLAUNCH_STATUS_OK = 0,
  /**
   * A pointer is null where the function does not allow it.
   */
  HIPLAUNCH_STATUS_NULL_POINTER = 1,
  /**
   * A handle is null, unknown, closed, of another kind of object, or of another launcher.
   */
  HIPLAUNCH_STATUS_INVALID_HANDLE = 2,
  /**
   * A struct's struct_size is the size of no version that this library knows.
   */
  HIPLAUNCH_STATUS_STRUCT_SIZE = 3,
  /**
   * Any other argument is wrong.
   */
  HIPLAUNCH_STATUS_INVALID_ARGUMENT = 4,
  /**
   * No driver with a device could be opened.
   */
  HIPLAUNCH_STATUS_NO_DRIVER = 5,
  /**
   * A driver call failed; hiplaunch_last_driver_code has HIP's code.
   */
  HIPLAUNCH_STATUS_DRIVER = 6,
  /**
   * Device or pinned host memory ran out. Everything that was allocated before stays valid.
   */
  HIPLAUNCH_STATUS_OUT_OF_MEMORY = 7,
  /**
   * The launch does not fit its kernel or the device; no device call was made.
   */
  HIPLAUNCH_STATUS_LAUNCH = 8,
  /**
   * The code object can't be read, is for another target, or lacks the kernel.
   */
  HIPLAUNCH_STATUS_CODE_OBJECT = 9,
  /**
   * A kernel faulted, and the device is lost: every later call on it returns this status. With the emulator, a new
   * launcher in the same process works; with HIP, a new process is needed. The message says so.
   */
  HIPLAUNCH_STATUS_DEVICE_LOST = 10,
  /**
   * A graph can't be recorded or computed.
   */
  HIPLAUNCH_STATUS_GRAPH = 11,
  /**
   * The description of a kernel's LDS is invalid, or its layout does not fit.
   */
  HIPLAUNCH_STATUS_LDS = 12,
  /**
   * A planning problem is invalid, or has no plan within its capacity.
   */
  HIPLAUNCH_STATUS_OFFSETS = 13,
  /**
   * This build of the library lacks a feature that the call needs.
   */
  HIPLAUNCH_STATUS_UNSUPPORTED = 14,
  /**
   * An error in this library; please report it.
   */
  HIPLAUNCH_STATUS_INTERNAL = 15,
  /**
   * There is no usable compiler for the target. The message says what to install.
   */
  HIPLAUNCH_STATUS_NO_COMPILER = 16,
  /**
   * The source could not be compiled. The message has the compiler's log.
   */
  HIPLAUNCH_STATUS_COMPILE = 17,
  /**
   * The stream is captured, and this can't become a part of its graph. The capture goes on.
   */
  HIPLAUNCH_STATUS_CAPTURED = 18,
} hiplaunch_status;

/**
 * Which calls of the driver break a capture, because they could wait for work that does not run: allocating and
 * freeing memory, and waiting for other streams and events. (hipStreamCaptureMode)
 */
typedef enum hiplaunch_capture_mode {
  /**
   * Those of all threads.
   */
  HIPLAUNCH_CAPTURE_MODE_GLOBAL = 0,
  /**
   * Those of the thread that began the capture.
   */
  HIPLAUNCH_CAPTURE_MODE_THREAD_LOCAL = 1,
  /**
   * None of them.
   */
  HIPLAUNCH_CAPTURE_MODE_RELAXED = 2,
} hiplaunch_capture_mode;

/**
 * The kind of an argument. In parentheses are the fields of hiplaunch_arg that it uses.
 */
typedef enum hiplaunch_arg_kind {
  /**
   * A number of `size` 1, 2, 4 or 8 bytes, in the low bytes of `bits`. (bits, size)
   */
  HIPLAUNCH_ARG_KIND_SCALAR = 0,
  /**
   * A struct or any other value, in memory order. (data, size)
   */
  HIPLAUNCH_ARG_KIND_VALUE = 1,
  /**
   * A device address for a pointer parameter. The pool does not see that the launch uses this memory. (bits)
   */
  HIPLAUNCH_ARG_KIND_ADDRESS = 2,
  /**
   * A hiplaunch_buffer for a pointer parameter: `data` is its handle. The buffer may be closed as soon as the launch
   * has returned. (data)
   */
  HIPLAUNCH_ARG_KIND_BUFFER = 3,
  /**
   * A hiplaunch_view for a pointer parameter, the address of its first element: `data` is its handle. (data)
   */
  HIPLAUNCH_ARG_KIND_VIEW = 4,
  /**
   * The address of the launch's destination (hiplaunch_launch_options).
   */
  HIPLAUNCH_ARG_KIND_DESTINATION = 5,
  /**
   * A host array that the kernel reads. The call copies it. (data, size)
   */
  HIPLAUNCH_ARG_KIND_HOST_IN = 6,
  /**
   * A host array that the kernel reads and writes. The call copies it; the result is an output of the ticket.
   * (data, size)
   */
  HIPLAUNCH_ARG_KIND_HOST_INOUT = 7,
  /**
   * A host array that the kernel writes: an output of the ticket. (size)
   */
  HIPLAUNCH_ARG_KIND_HOST_OUT = 8,
  /**
   * An argument block for a pointer parameter: `data` is a hiplaunch_argument_block*. (data)
   */
  HIPLAUNCH_ARG_KIND_ARGUMENT_BLOCK = 9,
  /**
   * Bytes for a parameter of any kind. Only their number is checked. (data, size)
   */
  HIPLAUNCH_ARG_KIND_RAW = 10,
} hiplaunch_arg_kind;

/**
 * Which driver to open.
 */
typedef enum hiplaunch_backend {
  /**
   * HIP if its library loads and finds a device, else the emulator. The environment variable HIPLAUNCH_BACKEND
   * overrides it.
   */
  HIPLAUNCH_BACKEND_AUTO = 0,
  /**
   * AMD GPUs through libamdhip64, which is loaded at run time.
   */
  HIPLAUNCH_BACKEND_HIP = 1,
  /**
   * The embedded emulator of gfx90a, gfx942, gfx950 and gfx11.
   */
  HIPLAUNCH_BACKEND_EMULATOR = 2,
  /**
   * AMD GPUs through libhsa-runtime64, with no HIP between. No GPU has confirmed it yet; AUTO never chooses it.
   */
  HIPLAUNCH_BACKEND_HSA = 3,
} hiplaunch_backend;

/**
 * How a stream compares the value that it waits for with the one in memory.
 */
typedef enum hiplaunch_comparison {
  /**
   * The masked value in memory is at least as large. (hipStreamWaitValueGte)
   */
  HIPLAUNCH_COMPARISON_AT_LEAST = 0,
  /**
   * It is equal. (hipStreamWaitValueEq)
   */
  HIPLAUNCH_COMPARISON_EQUAL = 1,
  /**
   * It has any of the bits. (hipStreamWaitValueAnd)
   */
  HIPLAUNCH_COMPARISON_ANY_BIT = 2,
  /**
   * Within the mask, some bit is in neither of the two. (hipStreamWaitValueNor)
   */
  HIPLAUNCH_COMPARISON_NOT_ALL_BITS = 3,
} hiplaunch_comparison;

/**
 * The kind of an argument of a recorded launch. In parentheses are the fields of hiplaunch_graph_arg that it uses.
 */
typedef enum hiplaunch_graph_arg_kind {
  /**
   * A number of `size` 1, 2, 4 or 8 bytes, in the low bytes of `bits`. (bits, size)
   */
  HIPLAUNCH_GRAPH_ARG_KIND_SCALAR = 0,
  /**
   * A struct by value, in memory order. (data, size)
   */
  HIPLAUNCH_GRAPH_ARG_KIND_VALUE = 1,
  /**
   * A pointer to bytes that the kernel reads. (value)
   */
  HIPLAUNCH_GRAPH_ARG_KIND_READ = 2,
  /**
   * A pointer to bytes that the kernel writes. It writes all of them and reads none. (value)
   */
  HIPLAUNCH_GRAPH_ARG_KIND_WRITE = 3,
  /**
   * A pointer to bytes that the kernel reads and may write. (value)
   */
  HIPLAUNCH_GRAPH_ARG_KIND_READ_WRITE = 4,
} hiplaunch_graph_arg_kind;

/**
 * What an input of hiplaunch_compile_inputs is.
 */
typedef enum hiplaunch_input_kind {
  /**
   * HIP C++.
   */
  HIPLAUNCH_INPUT_KIND_HIP = 0,
  /**
   * LLVM IR as text.
   */
  HIPLAUNCH_INPUT_KIND_LLVM_IR = 1,
  /**
   * LLVM bitcode.
   */
  HIPLAUNCH_INPUT_KIND_BITCODE = 2,
  /**
   * AMDGPU assembly.
   */
  HIPLAUNCH_INPUT_KIND_ASSEMBLY = 3,
  /**
   * A relocatable object file (ELF).
   */
  HIPLAUNCH_INPUT_KIND_RELOCATABLE = 4,
} hiplaunch_input_kind;

/**
 * The kind of an access of a statement to a buffer.
 */
typedef enum hiplaunch_lds_access {
  /**
   * The statement reads the buffer.
   */
  HIPLAUNCH_LDS_ACCESS_READ = 0,
  /**
   * The statement writes the whole buffer; its previous contents are not needed any more.
   */
  HIPLAUNCH_LDS_ACCESS_WRITE = 1,
  /**
   * The statement reads and writes the buffer, or writes a part of it.
   */
  HIPLAUNCH_LDS_ACCESS_UPDATE = 2,
} hiplaunch_lds_access;

/**
 * The kind of a layout's goal.
 */
typedef enum hiplaunch_lds_goal_kind {
  /**
   * The fewest bytes without inserted barriers.
   */
  HIPLAUNCH_LDS_GOAL_KIND_AS_IT_IS = 0,
  /**
   * At most `bytes` bytes, with the fewest inserted barriers.
   */
  HIPLAUNCH_LDS_GOAL_KIND_WITHIN = 1,
  /**
   * `workgroups` workgroups on a compute unit of `processor`, each with `static_lds` further bytes of LDS, with the
   * fewest inserted barriers.
   */
  HIPLAUNCH_LDS_GOAL_KIND_OCCUPANCY = 2,
} hiplaunch_lds_goal_kind;

/**
 * Whether the work-items of a workgroup run a loop's body, or a branch's arms, together.
 */
typedef enum hiplaunch_lds_runs {
  /**
   * Work-items of one workgroup may differ. Barriers inside are not counted, and none is inserted there.
   */
  HIPLAUNCH_LDS_RUNS_DIVERGENT = 0,
  /**
   * All work-items do the same: the loop may run zero times, and either arm of the branch may be taken.
   */
  HIPLAUNCH_LDS_RUNS_UNIFORM = 1,
  /**
   * All work-items do the same, and the loop runs at least once, or the first arm is always taken.
   */
  HIPLAUNCH_LDS_RUNS_EXECUTED = 2,
} hiplaunch_lds_runs;

/**
 * The level of a log message. A chosen level includes the levels before it.
 */
typedef enum hiplaunch_log_level {
  /**
   * No messages.
   */
  HIPLAUNCH_LOG_LEVEL_OFF = 0,
  /**
   * An operation failed.
   */
  HIPLAUNCH_LOG_LEVEL_ERROR = 1,
  /**
   * Something went wrong, and the library went on: a leak, for example.
   */
  HIPLAUNCH_LOG_LEVEL_WARN = 2,
  /**
   * Which driver was chosen and why.
   */
  HIPLAUNCH_LOG_LEVEL_INFO = 3,
  /**
   * Messages that help to find errors.
   */
  HIPLAUNCH_LOG_LEVEL_DEBUG = 4,
  /**
   * All messages.
   */
  HIPLAUNCH_LOG_LEVEL_TRACE = 5,
} hiplaunch_log_level;

/**
 * What limits how many workgroups a compute unit holds.
 */
typedef enum hiplaunch_occupancy_limit {
  /**
   * The wave slots.
   */
  HIPLAUNCH_OCCUPANCY_LIMIT_WAVES = 0,
  /**
   * Vector registers.
   */
  HIPLAUNCH_OCCUPANCY_LIMIT_VGPRS = 1,
  /**
   * Scalar registers.
   */
  HIPLAUNCH_OCCUPANCY_LIMIT_SGPRS = 2,
  /**
   * LDS.
   */
  HIPLAUNCH_OCCUPANCY_LIMIT_LDS = 3,
  /**
   * Barriers, of which each workgroup of more than one wave needs one.
   */
  HIPLAUNCH_OCCUPANCY_LIMIT_BARRIERS = 4,
} hiplaunch_occupancy_limit;

/**
 * The address that a patch writes.
 */
typedef enum hiplaunch_patch_target {
  /**
   * The address of the result block.
   */
  HIPLAUNCH_PATCH_TARGET_RESULT = 0,
  /**
   * The address of the array whose index is `value`.
   */
  HIPLAUNCH_PATCH_TARGET_ARRAY = 1,
  /**
   * The device address `value`.
   */
  HIPLAUNCH_PATCH_TARGET_ADDRESS = 2,
  /**
   * The address of the hiplaunch_buffer whose handle, as a number, is `value`. The buffer may be closed as soon as
   * the launch has returned.
   */
  HIPLAUNCH_PATCH_TARGET_BUFFER = 3,
} hiplaunch_patch_target;

/**
 * Where device memory comes from.
 */
typedef enum hiplaunch_pool_backend {
  /**
   * As HIPLAUNCH_POOL in the environment says; caching if it says nothing.
   */
  HIPLAUNCH_POOL_BACKEND_DEFAULT = 0,
  /**
   * hipMalloc for pool segments, which the pool divides into pool blocks and keeps.
   */
  HIPLAUNCH_POOL_BACKEND_CACHING = 1,
  /**
   * hipMallocAsync for every pool block.
   */
  HIPLAUNCH_POOL_BACKEND_STREAM_ORDERED = 2,
  /**
   * hipMalloc and hipFree for every pool block.
   */
  HIPLAUNCH_POOL_BACKEND_PLAIN = 3,
} hiplaunch_pool_backend;

/**
 * How a kernel accesses argument blocks, host arrays and results.
 */
typedef enum hiplaunch_staging {
  /**
   * They are copied to device scratch and back. Use it for data that the kernel accesses more than once.
   */
  HIPLAUNCH_STAGING_COPY = 0,
  /**
   * The kernel reads and writes pinned host memory itself, without copies. Use it for small data that the kernel
   * accesses once.
   */
  HIPLAUNCH_STAGING_MAPPED = 1,
} hiplaunch_staging;

/**
 * How a graph is submitted to the driver. The results are the same to the last bit.
 */
typedef enum hiplaunch_submission {
  /**
   * The library chooses the faster one.
   */
  HIPLAUNCH_SUBMISSION_AUTO = 0,
  /**
   * One driver call for each node, without other work of the stream between them.
   */
  HIPLAUNCH_SUBMISSION_STREAM = 1,
  /**
   * One driver call for the whole graph: hipGraphLaunch.
   */
  HIPLAUNCH_SUBMISSION_DRIVER_GRAPH = 2,
} hiplaunch_submission;

/**
 * A setting whose default is in the environment.
 */
typedef enum hiplaunch_switch {
  /**
   * As the environment says.
   */
  HIPLAUNCH_SWITCH_DEFAULT = 0,
  /**
   * Off.
   */
  HIPLAUNCH_SWITCH_OFF = 1,
  /**
   * On.
   */
  HIPLAUNCH_SWITCH_ON = 2,
} hiplaunch_switch;

/**
 * Device memory from the device's pool. It returns to the pool when the buffer is closed and the work that uses it has
 * finished.
 */
typedef struct hiplaunch_buffer hiplaunch_buffer;

/**
 * A graph of what was enqueued on a stream while it was captured. It keeps the modules and the pool memory that it
 * uses.
 */
typedef struct hiplaunch_captured_graph hiplaunch_captured_graph;

/**
 * A code object that was compiled by this call or read from the cache.
 */
typedef struct hiplaunch_compiled hiplaunch_compiled;

/**
 * A graph that is compiled for one stream, and submitted there many times: with the recorded buffers, scalars and
 * argument blocks, or with others.
 */
typedef struct hiplaunch_compiled_graph hiplaunch_compiled_graph;

/**
 * An event: a point in the order of a stream, for which other streams and the host can wait.
 */
typedef struct hiplaunch_event hiplaunch_event;

/**
 * A graph that is being recorded: kernels, copies and fills over buffers and temporaries, which are submitted
 * together. A graph that is recorded again with other buffers and scalars uses the same plan. To record it only once
 * too, compile it (hiplaunch_graph_compile).
 */
typedef struct hiplaunch_graph hiplaunch_graph;

/**
 * A registered kernel.
 */
typedef struct hiplaunch_kernel hiplaunch_kernel;

/**
 * A driver and its devices, with the kernels that are registered on them. Most other objects are opened from a
 * launcher, and are closed with it.
 */
typedef struct hiplaunch_launcher hiplaunch_launcher;

/**
 * The description of what a kernel does with its LDS: buffers, accesses, barriers, loops and branches, each at a
 * position. A position is the number of a statement of the kernel in program order.
 */
typedef struct hiplaunch_lds_kernel hiplaunch_lds_kernel;

/**
 * An LDS layout: the offset of each buffer in a kernel's dynamic LDS, and the barriers that must be inserted in its
 * code.
 */
typedef struct hiplaunch_lds_layout hiplaunch_lds_layout;

/**
 * A code object that is loaded on a device, or on each device that needs it. Several kernels can be registered from it
 * (hiplaunch_register_from), which then share its global variables.
 */
typedef struct hiplaunch_module hiplaunch_module;

/**
 * Pinned host memory, which kernels can access and which copies use without waiting.
 */
typedef struct hiplaunch_pinned hiplaunch_pinned;

/**
 * A stream of a device. Work on it runs in the order of the calls.
 */
typedef struct hiplaunch_stream hiplaunch_stream;

/**
 * A text that the library returned.
 */
typedef struct hiplaunch_text hiplaunch_text;

/**
 * The pending results of one launch, graph or read: its outputs, which are numbered from 0.
 *
 * The outputs of a launch are its inout and out arrays and result blocks, in the order of the arguments. An argument
 * block has its inout and out arrays, in their order, and then its result block. Nothing else is an output. For the
 * arguments
 *
 *   hiplaunch_arg_host_inout(y, size),
 *   hiplaunch_arg_argument_block(&block), with hiplaunch_array_in, hiplaunch_array_out and result_bytes,
 *   hiplaunch_arg_host_in(z, size), hiplaunch_arg_buffer(buffer), hiplaunch_arg_i32(n),
 *   hiplaunch_arg_host_out(size)
 *
 * output 0 is y, 1 is the block's out array, 2 is its result block, and 3 is the last argument.
 *
 * The outputs of a graph are the values that it reads (hiplaunch_graph_read), in the order of recording.
 */
typedef struct hiplaunch_ticket hiplaunch_ticket;

/**
 * A view: elements of a buffer with an offset, a shape and strides. A view is another owner of the memory: it stays
 * valid if the buffer is closed or gets other memory.
 */
typedef struct hiplaunch_view hiplaunch_view;

/**
 * Options of hiplaunch_open. Set struct_size to sizeof(hiplaunch_options); zero in any other field is its default.
 */
typedef struct hiplaunch_options {
  /**
   * sizeof(hiplaunch_options).
   */
  size_t struct_size;
  /**
   * A hiplaunch_backend.
   */
  uint32_t backend;
  /**
   * A hiplaunch_switch for the validation layer, which checks lifetimes and the order of work, and counts driver
   * calls. The default is off, unless HIPLAUNCH_VALIDATE=1 is in the environment.
   */
  uint32_t validate;
  /**
   * The number of bytes of a staging buffer of each stream's staging ring; 0 for 256 KiB.
   */
  size_t staging_buffer_bytes;
  /**
   * The greatest number of staging buffers of a ring, each of which is allocated when it is first needed; 0 for 4.
   */
  size_t max_staging_buffers;
  /**
   * A hiplaunch_pool_backend.
   */
  uint32_t pool;
  /**
   * 1 to record a timeline (hiplaunch_timeline_json), else 0.
   */
  uint32_t timeline;
  /**
   * The cap of each device's pool: the greatest number of bytes that it takes from the driver; 0 for no cap.
   */
  uint64_t pool_cap;
  /**
   * The number of bytes above which a pool returns cached segments to the driver; 0 for never.
   */
  uint64_t pool_soft_target;
  /**
   * Settings of the emulator, if the emulator is opened, such as "target=gfx942,devices=2"; docs/drivers.md lists them. What it
   * does not name, HIPLAUNCH_EMULATOR_TARGET and the like of the environment decide. With HIPLAUNCH_BACKEND_AUTO and
   * "target=gfx942" the launcher has a GPU if there is one, else an emulated gfx942. Must be null with
   * HIPLAUNCH_BACKEND_HIP. The text is copied.
   */
  const char *emulator;
} hiplaunch_options;

/**
 * Properties of a device, and limits of launches on it. Texts are UTF-8, cut to the size of their arrays, and end with
 * a NUL.
 */
typedef struct hiplaunch_device_properties {
  /**
   * sizeof(hiplaunch_device_properties), set by the caller.
   */
  size_t struct_size;
  /**
   * The marketing name.
   */
  char name[256];
  /**
   * The target for which code objects are compiled, with its settings: "gfx90a:sramecc+:xnack-".
   */
  char target[64];
  /**
   * The processor of the target: "gfx90a".
   */
  char processor[32];
  /**
   * The PCI address, or "emulated".
   */
  char pci_bus_id[32];
  /**
   * The number of bytes of device memory.
   */
  uint64_t total_memory;
  /**
   * The number of compute units.
   */
  uint32_t compute_units;
  /**
   * The number of work-items of a wavefront.
   */
  uint32_t wavefront_size;
  /**
   * The greatest number of work-items of a workgroup.
   */
  uint32_t max_threads_per_block;
  /**
   * The greatest number of bytes of LDS of a workgroup, static and dynamic together.
   */
  uint32_t max_lds_per_block;
  /**
   * The greatest number of work-items of a workgroup in x, y and z.
   */
  uint32_t max_block[3];
  /**
   * The greatest number of workgroups of a grid in x, y and z.
   */
  uint32_t max_grid[3];
  /**
   * The core clock in kHz; 0 if it is not known.
   */
  uint32_t clock_khz;
  /**
   * Whether the device is lost after a fault: 0 or 1.
   */
  uint32_t is_lost;
  /**
   * Memory clock in kHz, with two transfers in a cycle; 0 when not known.
   */
  uint32_t memory_clock_khz;
  /**
   * Width of the memory bus in bits; 0 when not known.
   */
  uint32_t memory_bus_bits;
  /**
   * Bytes of L2 cache, of one die where each of several has one; 0 when not known.
   */
  uint32_t l2_bytes;
  /**
   * The 32-bit registers that the work-items of a workgroup share; 0 when not known.
   */
  uint32_t registers_per_block;
  /**
   * Whether the PCI address that follows is one: 0 or 1.
   */
  uint32_t has_pci_address;
  /**
   * Domain, bus, device and function of the PCI address.
   */
  uint32_t pci_address[4];
  /**
   * Zero.
   */
  uint32_t reserved;
} hiplaunch_device_properties;

/**
 * Counters of a launcher.
 */
typedef struct hiplaunch_counters {
  /**
   * sizeof(hiplaunch_counters), set by the caller.
   */
  size_t struct_size;
  /**
   * The number of registered kernels.
   */
  uint64_t kernels;
  /**
   * The number of cached graph programs.
   */
  uint64_t graph_programs;
  /**
   * The number of computed graphs whose graph program was cached.
   */
  uint64_t graph_hits;
  /**
   * The number of computed graphs that were planned.
   */
  uint64_t graph_misses;
  /**
   * The number of bytes of device memory that the pools of all devices hold from the driver.
   */
  uint64_t device_bytes;
  /**
   * The number of bytes of pinned host memory, for all devices.
   */
  uint64_t pinned_bytes;
  /**
   * Whether the validation layer is on: 0 or 1. Without it, the fields that follow are 0.
   */
  uint64_t validated;
  /**
   * The number of driver calls that use a device.
   */
  uint64_t driver_calls;
  /**
   * The number of violations that the validation layer found.
   */
  uint64_t violations;
} hiplaunch_counters;

/**
 * A function of the host that a stream runs, with the argument `user` of hiplaunch_stream_host_function. The status is
 * HIPLAUNCH_STATUS_OK, or HIPLAUNCH_STATUS_DEVICE_LOST or HIPLAUNCH_STATUS_DRIVER if the device is lost. AMD's library does not
 * say whether work has failed: there it is always HIPLAUNCH_STATUS_OK, and means that the stream came so far.
 */
typedef void (*hiplaunch_host_function)(void *user, enum hiplaunch_status status);

/**
 * A handle of a shared buffer, as bytes that travel to another process.
 */
typedef struct hiplaunch_shared_handle {
  /**
   * The bytes; what they mean is the driver's.
   */
  uint8_t bytes[72];
} hiplaunch_shared_handle;

/**
 * A header that a source may include, given as a text.
 */
typedef struct hiplaunch_include {
  /**
   * The name in the source's #include.
   */
  const char *name;
  /**
   * The text of the header.
   */
  const char *text;
} hiplaunch_include;

/**
 * Options of hiplaunch_compile and hiplaunch_compile_inputs. Set struct_size to sizeof(hiplaunch_compile_options); zero in any other field is its
 * default.
 */
typedef struct hiplaunch_compile_options {
  /**
   * sizeof(hiplaunch_compile_options).
   */
  size_t struct_size;
  /**
   * The name of the source of hiplaunch_compile in the compiler's messages; null for "kernel.hip". Inputs have their own.
   */
  const char *name;
  /**
   * Options of clang, such as "-O3" or "-DN=4". The library adds the option for the target.
   */
  const char *const *options;
  /**
   * The number of options.
   */
  size_t option_count;
  /**
   * Headers that the source may include.
   */
  const struct hiplaunch_include *includes;
  /**
   * The number of headers.
   */
  size_t include_count;
  /**
   * The folder in which compiled code objects are cached, or "off" for none. Null is the process's cache: the folder
   * of HIPLAUNCH_CACHE_DIR in the environment, else hiplaunch in the user's cache folder.
   */
  const char *cache_folder;
  /**
   * The greatest number of bytes kept in cache_folder; 0 for 256 MiB. Ignored if cache_folder is null.
   */
  uint64_t cache_limit;
  /**
   * A clang that compiles LLVM IR, bitcode and assembly: a path, or a name in PATH. Null is that of HIPLAUNCH_CLANG in the
   * environment, else ROCm's comgr, else the newest clang of 15 or later.
   */
  const char *clang;
  /**
   * 1 to link LLVM IR with ROCm's device libraries (ocml, ockl and their controls), else 0.
   */
  uint32_t device_libraries;
  /**
   * 0.
   */
  uint32_t reserved;
} hiplaunch_compile_options;

/**
 * One input of hiplaunch_compile_inputs.
 */
typedef struct hiplaunch_input {
  /**
   * A hiplaunch_input_kind.
   */
  uint32_t kind;
  /**
   * 0.
   */
  uint32_t reserved;
  /**
   * The bytes. A text needs no NUL at its end.
   */
  const void *data;
  /**
   * The number of bytes.
   */
  size_t size;
  /**
   * The name in the compiler's messages; null for "kernel" with the extension of the kind, such as "kernel.ll".
   */
  const char *name;
} hiplaunch_input;

/**
 * What a kernel needs, as its code object says.
 */
typedef struct hiplaunch_kernel_attributes {
  /**
   * sizeof(hiplaunch_kernel_attributes), set by the caller.
   */
  size_t struct_size;
  /**
   * Vector registers of a work-item, without accumulation registers.
   */
  uint32_t vgprs;
  /**
   * Accumulation vector registers of a work-item.
   */
  uint32_t agprs;
  /**
   * Scalar registers of a wavefront.
   */
  uint32_t sgprs;
  /**
   * Vector registers that the compiler spilled.
   */
  uint32_t spilled_vgprs;
  /**
   * Scalar registers that the compiler spilled.
   */
  uint32_t spilled_sgprs;
  /**
   * Bytes of static LDS of a workgroup.
   */
  uint32_t static_lds;
  /**
   * Bytes of private memory of a work-item.
   */
  uint32_t private_bytes;
  /**
   * Whether a work-item may need more private memory than that, as with recursion: 0 or 1.
   */
  uint32_t uses_dynamic_stack;
  /**
   * Most work-items of a workgroup, on the kernel's device.
   */
  uint32_t max_threads_per_block;
  /**
   * Work-items of a wavefront: 32 or 64.
   */
  uint32_t wavefront_size;
  /**
   * Bytes of the kernarg segment, hidden arguments included.
   */
  uint32_t kernarg_bytes;
  /**
   * The only workgroup that it may be launched with, in x, y and z; zeros for any.
   */
  uint32_t required_block[3];
} hiplaunch_kernel_attributes;

/**
 * How much of a kernel fits on a compute unit; for a kernel in workgroup processor mode (RDNA), on a workgroup processor.
 */
typedef struct hiplaunch_kernel_occupancy {
  /**
   * sizeof(hiplaunch_kernel_occupancy), set by the caller.
   */
  size_t struct_size;
  /**
   * Workgroups that a compute unit holds at once.
   */
  uint32_t blocks_per_cu;
  /**
   * Waves of a workgroup.
   */
  uint32_t waves_per_block;
  /**
   * SIMDs that the workgroups share.
   */
  uint32_t simds;
  /**
   * Wave slots of a SIMD.
   */
  uint32_t max_waves_per_simd;
  /**
   * Waves of a SIMD for which there are registers and wave slots.
   */
  uint32_t register_waves_per_simd;
  /**
   * A hiplaunch_occupancy_limit: what limits blocks_per_cu.
   */
  uint32_t limited_by;
  /**
   * Bytes of LDS that a workgroup takes, static and dynamic, in whole units of allocation.
   */
  uint64_t lds_bytes;
} hiplaunch_kernel_occupancy;

/**
 * A parameter of a kernel, as its code object says.
 */
typedef struct hiplaunch_kernel_parameter {
  /**
   * sizeof(hiplaunch_kernel_parameter), set by the caller.
   */
  size_t struct_size;
  /**
   * The offset in the kernarg segment, and so in packed arguments, in bytes.
   */
  uint32_t offset;
  /**
   * The number of bytes.
   */
  uint32_t size;
  /**
   * Whether it takes a pointer to device memory, not a value: 0 or 1.
   */
  uint32_t is_pointer;
  /**
   * Zero.
   */
  uint32_t reserved;
} hiplaunch_kernel_parameter;

/**
 * Grid, block and dynamic LDS of a launch.
 */
typedef struct hiplaunch_dims {
  /**
   * The number of workgroups in x, y and z. With 0 in any axis, nothing is launched.
   */
  uint32_t grid[3];
  /**
   * The number of work-items of a workgroup in x, y and z.
   */
  uint32_t block[3];
  /**
   * The bytes of dynamic LDS of a workgroup. With 0, a kernel that has an LDS layout gets the layout's total.
   */
  uint32_t dynamic_lds;
} hiplaunch_dims;

/**
 * One argument of a launch, in the order of the kernel's parameters. The functions hiplaunch_arg_f32 and so on return
 * one.
 */
typedef struct hiplaunch_arg {
  /**
   * A hiplaunch_arg_kind.
   */
  uint32_t kind;
  /**
   * 0.
   */
  uint32_t reserved;
  /**
   * See hiplaunch_arg_kind.
   */
  uint64_t bits;
  /**
   * See hiplaunch_arg_kind.
   */
  const void *data;
  /**
   * See hiplaunch_arg_kind.
   */
  size_t size;
} hiplaunch_arg;

/**
 * The description of one launch: dimensions, arguments, staging and destination. Set struct_size to
 * sizeof(hiplaunch_launch_options) and all other fields to zero, and then the fields that differ. All parts combine.
 */
typedef struct hiplaunch_launch_options {
  /**
   * sizeof(hiplaunch_launch_options).
   */
  size_t struct_size;
  /**
   * Grid, block and dynamic LDS.
   */
  struct hiplaunch_dims dims;
  /**
   * A hiplaunch_staging.
   */
  uint32_t staging;
  /**
   * The arguments, one for each of the kernel's explicit parameters.
   */
  const struct hiplaunch_arg *args;
  /**
   * The number of arguments.
   */
  size_t arg_count;
  /**
   * Packed arguments, instead of `args`: the kernarg segment from its start to the end of the last explicit
   * argument, at the metadata's offsets. A struct with the arguments as its fields has this form, and packed_size is
   * then its sizeof: bytes after the last explicit argument are ignored, up to the kernarg segment's size or the
   * struct's padding, whichever ends later. Hidden arguments are never read from them. Null to use `args`.
   */
  const void *packed;
  /**
   * The number of packed bytes.
   */
  size_t packed_size;
  /**
   * A buffer for the result, or null. If its memory is large enough and on the stream's device, only its length
   * changes. Otherwise it gets new memory, and the old memory returns to the pool in stream order. An input that
   * overlaps the destination is refused, unless the kernel is declared in place and both begin at the same byte.
   * After an error, the buffer is as it was.
   */
  const struct hiplaunch_buffer *destination;
  /**
   * A view for the result, instead of a buffer, or null. The view must be contiguous, on the stream's device, and
   * have exactly the result's shape and size of elements.
   */
  const struct hiplaunch_view *destination_view;
  /**
   * With packed arguments, the index of the parameter that gets the destination's address, from 0; its bytes in
   * `packed` are ignored. With `args`, the argument of kind HIPLAUNCH_ARG_KIND_DESTINATION gets it.
   */
  size_t destination_parameter;
  /**
   * The result's extents, outermost first.
   */
  const size_t *shape;
  /**
   * The number of extents.
   */
  size_t rank;
  /**
   * The number of bytes of an element of the result.
   */
  size_t element;
  /**
   * 1 for a cooperative launch, else 0: all workgroups are on the device at the same time, so that the kernel can wait
   * for the whole grid (cooperative groups' grid.sync). A grid that does not fit is HIPLAUNCH_STATUS_LAUNCH, whose message has the most
   * workgroups that do. HIPLAUNCH_STATUS_DRIVER where the driver has no such launches, as HIP before 5.5.
   */
  uint32_t cooperative;
} hiplaunch_launch_options;

/**
 * Counters of a pool. See PoolCounters of the Rust library.
 */
typedef struct hiplaunch_pool_stats {
  /**
   * sizeof(hiplaunch_pool_stats), set by the caller.
   */
  size_t struct_size;
  /**
   * The number of bytes that were requested for the live pool blocks.
   */
  uint64_t requested;
  /**
   * The number of bytes of live pool blocks, with rounding.
   */
  uint64_t in_use;
  /**
   * The number of bytes of held-back pool blocks: freed ones that other streams may still use.
   */
  uint64_t held_back;
  /**
   * The number of bytes of free pool blocks.
   */
  uint64_t cached;
  /**
   * The number of bytes held from the driver: in use, held back and cached.
   */
  uint64_t reserved;
  /**
   * The greatest number of bytes that were held from the driver at once.
   */
  uint64_t peak_reserved;
  /**
   * The sum over the streams of the greatest number of bytes that were in use at once.
   */
  uint64_t peak_in_use;
  /**
   * The number of bytes of the largest free pool block.
   */
  uint64_t largest_free;
  /**
   * The number of requests that the stream's arena served.
   */
  uint64_t hits;
  /**
   * The number of requests that the stream's arena could not serve.
   */
  uint64_t misses;
  /**
   * The number of misses that were served with a pool segment of another stream.
   */
  uint64_t steals;
  /**
   * The number of pool blocks that were freed.
   */
  uint64_t frees;
  /**
   * The number of live pool blocks.
   */
  uint64_t live_blocks;
  /**
   * The number of pool segments held from the driver.
   */
  uint64_t segments;
  /**
   * The number of driver calls that the pool made.
   */
  uint64_t driver_calls;
} hiplaunch_pool_stats;

/**
 * The number of a graph value within its graph: 0 for the first value, and so on.
 */
typedef uint32_t hiplaunch_value;

/**
 * One argument of a recorded launch, in the order of the kernel's parameters.
 */
typedef struct hiplaunch_graph_arg {
  /**
   * A hiplaunch_graph_arg_kind.
   */
  uint32_t kind;
  /**
   * A value of the graph; see hiplaunch_graph_arg_kind.
   */
  hiplaunch_value value;
  /**
   * See hiplaunch_graph_arg_kind.
   */
  uint64_t bits;
  /**
   * See hiplaunch_graph_arg_kind.
   */
  const void *data;
  /**
   * See hiplaunch_graph_arg_kind.
   */
  size_t size;
} hiplaunch_graph_arg;

/**
 * The number of a node within its graph, in the order of recording: 0 for the first node, and so on.
 */
typedef uint32_t hiplaunch_node;

/**
 * Eight bytes of a graph's argument block into which the library writes the address of a value.
 */
typedef struct hiplaunch_graph_patch {
  /**
   * The offset of the eight bytes in the block.
   */
  size_t offset;
  /**
   * The value whose address is written.
   */
  hiplaunch_value value;
  /**
   * 0.
   */
  uint32_t reserved;
} hiplaunch_graph_patch;

/**
 * What a submission of a compiled graph takes.
 */
typedef struct hiplaunch_compiled_graph_summary {
  /**
   * sizeof(hiplaunch_compiled_graph_summary), set by the caller.
   */
  size_t struct_size;
  /**
   * The number of nodes that run: the recorded ones, without those whose results nothing uses and copies that are
   * not needed.
   */
  uint64_t steps;
  /**
   * The number of streams, its own included.
   */
  uint64_t streams;
  /**
   * The number of events between these streams in a submission.
   */
  uint64_t events;
  /**
   * The number of bytes of its temporaries and argument blocks.
   */
  uint64_t workspace_bytes;
} hiplaunch_compiled_graph_summary;

/**
 * The goal of a layout. Set struct_size to sizeof(hiplaunch_lds_goal) and the fields that the kind does not use to
 * zero.
 */
typedef struct hiplaunch_lds_goal {
  /**
   * sizeof(hiplaunch_lds_goal).
   */
  size_t struct_size;
  /**
   * A hiplaunch_lds_goal_kind.
   */
  uint32_t kind;
  /**
   * For HIPLAUNCH_LDS_GOAL_KIND_OCCUPANCY: the number of workgroups on a compute unit.
   */
  uint32_t workgroups;
  /**
   * For HIPLAUNCH_LDS_GOAL_KIND_OCCUPANCY: the bytes of static LDS of each workgroup.
   */
  uint32_t static_lds;
  /**
   * 0.
   */
  uint32_t reserved;
  /**
   * For HIPLAUNCH_LDS_GOAL_KIND_WITHIN: the greatest number of bytes.
   */
  uint64_t bytes;
  /**
   * For HIPLAUNCH_LDS_GOAL_KIND_OCCUPANCY: the processor, "gfx90a", "gfx942" or "gfx950".
   */
  const char *processor;
} hiplaunch_lds_goal;

/**
 * The totals of a layout.
 */
typedef struct hiplaunch_lds_summary {
  /**
   * sizeof(hiplaunch_lds_summary), set by the caller.
   */
  size_t struct_size;
  /**
   * The number of bytes of dynamic LDS that a launch needs.
   */
  uint32_t total;
  /**
   * The number of bytes below which no layout with these barriers can exist.
   */
  uint32_t lower_bound;
  /**
   * The number of barriers to insert.
   */
  uint32_t barriers;
  /**
   * Whether it is proved that fewer barriers do not suffice: 0 or 1.
   */
  uint32_t is_fewest;
} hiplaunch_lds_summary;

/**
 * A buffer to place.
 */
typedef struct hiplaunch_offsets_buffer {
  /**
   * The number of bytes; not 0.
   */
  uint64_t size;
  /**
   * The alignment of the offset in bytes, a power of two; 0 means 1.
   */
  uint64_t alignment;
  /**
   * The first position of its lifetime.
   */
  uint64_t first;
  /**
   * The last position of its lifetime, included.
   */
  uint64_t last;
  /**
   * The offset that the buffer must have, if has_fixed is 1.
   */
  uint64_t fixed;
  /**
   * Whether the offset is fixed: 0 or 1.
   */
  uint32_t has_fixed;
  /**
   * 0.
   */
  uint32_t reserved;
} hiplaunch_offsets_buffer;

/**
 * Two buffers that may share bytes although both are live at one position, which reads the earlier one and writes the
 * later one. The later one may then begin at the first byte of the earlier one.
 */
typedef struct hiplaunch_offsets_pair {
  /**
   * The index of the buffer whose lifetime ends at the position.
   */
  size_t earlier;
  /**
   * The index of the buffer whose lifetime begins at the position.
   */
  size_t later;
} hiplaunch_offsets_pair;

/**
 * A planning problem. Set struct_size to sizeof(hiplaunch_offsets_problem) and fields that are not needed to zero.
 */
typedef struct hiplaunch_offsets_problem {
  /**
   * sizeof(hiplaunch_offsets_problem).
   */
  size_t struct_size;
  /**
   * The buffers.
   */
  const struct hiplaunch_offsets_buffer *buffers;
  /**
   * The number of buffers.
   */
  size_t buffer_count;
  /**
   * Pairs of buffers that may share bytes.
   */
  const struct hiplaunch_offsets_pair *pairs;
  /**
   * The number of pairs.
   */
  size_t pair_count;
  /**
   * The greatest total in bytes; 0 for no limit.
   */
  uint64_t capacity;
  /**
   * The greatest number of nodes that the exact search visits; 0 for 20,000, which take less than a second.
   */
  uint64_t search_nodes;
} hiplaunch_offsets_problem;

/**
 * The result of a plan.
 */
typedef struct hiplaunch_offsets_result {
  /**
   * sizeof(hiplaunch_offsets_result), set by the caller.
   */
  size_t struct_size;
  /**
   * The bytes that the plan needs: the highest end of a buffer.
   */
  uint64_t total;
  /**
   * The number of bytes below which no plan can exist.
   */
  uint64_t lower_bound;
} hiplaunch_offsets_result;

/**
 * A callback for log messages. Its arguments are `user` of hiplaunch_set_log, the hiplaunch_log_level, the module that
 * the message is from, and the text. Both texts are UTF-8 and valid only during the call.
 */
typedef void (*hiplaunch_log_callback)(void *user,
                                       uint32_t level,
                                       const char *module,
                                       const char *message);

/**
 * Eight bytes of an argument block into which the library writes a device address.
 */
typedef struct hiplaunch_patch {
  /**
   * The offset of the eight bytes in the block.
   */
  size_t offset;
  /**
   * A hiplaunch_patch_target.
   */
  uint32_t target;
  /**
   * 0.
   */
  uint32_t reserved;
  /**
   * See hiplaunch_patch_target.
   */
  uint64_t value;
} hiplaunch_patch;

/**
 * A host array of an argument block, to which the block's patches refer.
 */
typedef struct hiplaunch_array {
  /**
   * HIPLAUNCH_ARG_KIND_HOST_IN, _HOST_INOUT or _HOST_OUT.
   */
  uint32_t kind;
  /**
   * 0.
   */
  uint32_t reserved;
  /**
   * The bytes on the host. Ignored for HIPLAUNCH_ARG_KIND_HOST_OUT.
   */
  const void *data;
  /**
   * The number of bytes.
   */
  size_t size;
} hiplaunch_array;

/**
 * An argument block: bytes that a kernel reads through one pointer, with addresses that the library writes into them.
 * The kernel must not write the block.
 */
typedef struct hiplaunch_argument_block {
  /**
   * sizeof(hiplaunch_argument_block).
   */
  size_t struct_size;
  /**
   * The bytes of the block. The bytes that a patch writes are ignored.
   */
  const void *bytes;
  /**
   * The number of bytes.
   */
  size_t size;
  /**
   * The patches, in ascending order of their offsets. They must not overlap.
   */
  const struct hiplaunch_patch *patches;
  /**
   * The number of patches.
   */
  size_t patch_count;
  /**
   * Host arrays to which patches refer.
   */
  const struct hiplaunch_array *arrays;
  /**
   * The number of arrays.
   */
  size_t array_count;
  /**
   * The number of bytes of the result block, which is the last of the argument block's outputs; 0 for none.
   */
  size_t result_bytes;
} hiplaunch_argument_block;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The library's version: "0.1.0". Never null; the text is static. Threads: any.
 */
const char *hiplaunch_version(void);

/**
 * The library's version as one number, `major << 16 | minor << 8 | patch`, for a comparison with the header's
 * HIPLAUNCH_VERSION_MAJOR, HIPLAUNCH_VERSION_MINOR and HIPLAUNCH_VERSION_PATCH. Threads: any.
 */
uint32_t hiplaunch_version_number(void);

/**
 * The status of this thread's last failed call; HIPLAUNCH_STATUS_OK if no call has failed. A call that succeeds does
 * not change it.
 */
enum hiplaunch_status hiplaunch_last_error(void);

/**
 * HIP's error code (hipError_t) of this thread's last failed call; 0 if it failed for another reason than a driver
 * call.
 */
int32_t hiplaunch_last_driver_code(void);

/**
 * The error message of this thread's last failed call, as UTF-8: the function, what went wrong and what to do. Empty
 * if no call has failed; never null. The text belongs to the library. It is valid until the thread's next failed call,
 * hiplaunch_clear_last_error, or the end of the thread.
 */
const char *hiplaunch_last_error_message(void);

/**
 * Clears this thread's last error.
 */
void hiplaunch_clear_last_error(void);

/**
 * A status in words, for messages: `"invalid handle"`. Never null, also for a number that is no status. The text is
 * static.
 */
const char *hiplaunch_status_name(int32_t status);

/**
 * Opens a driver with all of its devices. A null `options` means the defaults.
 *
 * Ownership: the caller closes the launcher (hiplaunch_close). Threads: any. Errors: HIPLAUNCH_STATUS_NO_DRIVER, whose
 * message lists what was tried; HIPLAUNCH_STATUS_STRUCT_SIZE; HIPLAUNCH_STATUS_INVALID_ARGUMENT;
 * HIPLAUNCH_STATUS_UNSUPPORTED for settings of the emulator in a build without it.
 */
enum hiplaunch_status hiplaunch_open(const struct hiplaunch_options *options,
                                     struct hiplaunch_launcher **launcher);

/**
 * Closes a launcher and everything that was opened from it: tickets, graphs, views, buffers, events, kernels, streams
 * and modules. Their handles are refused from now on. Waits for the streams' work, and for calls on
 * other threads that use these objects.
 *
 * Ownership: results that hiplaunch_ticket_output returned become invalid. LDS layouts, compiled code and texts belong
 * to no launcher and stay. Threads: any; calls on other threads complete, and the objects that they open are closed,
 * too. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, also if the launcher was closed already.
 */
enum hiplaunch_status hiplaunch_close(struct hiplaunch_launcher *launcher);

/**
 * The number of devices of a launcher. Their ordinals count from 0.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_device_count(const struct hiplaunch_launcher *launcher,
                                             uint32_t *count);

/**
 * Fills `properties`, whose struct_size the caller has set, with the properties of a device.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE; HIPLAUNCH_STATUS_INVALID_ARGUMENT for a device that does not
 * exist; HIPLAUNCH_STATUS_STRUCT_SIZE; HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_get_device_properties(const struct hiplaunch_launcher *launcher,
                                                      uint32_t device,
                                                      struct hiplaunch_device_properties *properties);

/**
 * Describes the driver of a launcher in one line. A further line for each driver that was tried before says why it was
 * not taken.
 *
 * Ownership: the caller closes the text. Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE,
 * HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_describe_driver(const struct hiplaunch_launcher *launcher,
                                                struct hiplaunch_text **text);

/**
 * Fills `counters`, whose struct_size the caller has set, with the counters of a launcher.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_STRUCT_SIZE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_get_counters(const struct hiplaunch_launcher *launcher,
                                             struct hiplaunch_counters *counters);

/**
 * The number of calls of one driver function, by HIP's name: "hipMalloc", "hipModuleLaunchKernel".
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE; HIPLAUNCH_STATUS_INVALID_ARGUMENT without the validation
 * layer, or for a name that is no driver call; HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_count_driver_calls(const struct hiplaunch_launcher *launcher,
                                                   const char *name,
                                                   uint64_t *count);

/**
 * Returns the violations that the validation layer found since the last call, one in each line. The text is empty if
 * there are none or the layer is off.
 *
 * Ownership: the caller closes the text. Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE,
 * HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_take_violations(const struct hiplaunch_launcher *launcher,
                                                struct hiplaunch_text **text);

/**
 * Sets `can` to whether kernels on `device` can be allowed to access memory of `peer`; false for the device itself.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT for a device that is not there;
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DRIVER,
 * HIPLAUNCH_STATUS_DEVICE_LOST.
 */
enum hiplaunch_status hiplaunch_can_access_peer(const struct hiplaunch_launcher *launcher,
                                                uint32_t device,
                                                uint32_t peer,
                                                bool *can);

/**
 * Allows kernels on `device` to access memory of `peer` from now on, in this direction alone. It succeeds if that is
 * allowed already. hiplaunch_buffer_copy between devices does not need it.
 *
 * Threads: any. Errors: as hiplaunch_can_access_peer; HIPLAUNCH_STATUS_UNSUPPORTED if the driver has no peer access.
 */
enum hiplaunch_status hiplaunch_enable_peer_access(const struct hiplaunch_launcher *launcher,
                                                   uint32_t device,
                                                   uint32_t peer);

/**
 * The characters of a text: UTF-8, with a NUL at the end. `length`, which may be null, gets the number of bytes before
 * the NUL.
 *
 * Ownership: the characters belong to the text, and are valid until it is closed. Threads: any. Errors:
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_text_data(const struct hiplaunch_text *text,
                                          const char **data,
                                          size_t *length);

/**
 * Closes a text.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_text_close(struct hiplaunch_text *text);

/**
 * The bytes of device memory that the driver has free, and all bytes of the device, as hipMemGetInfo returns them.
 * Memory that the pool holds is not free: hiplaunch_get_pool_stats counts it. `total` may be null.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE; HIPLAUNCH_STATUS_INVALID_ARGUMENT for a device that does not
 * exist; HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST.
 */
enum hiplaunch_status hiplaunch_get_memory_info(const struct hiplaunch_launcher *launcher,
                                                uint32_t device,
                                                uint64_t *free,
                                                uint64_t *total);

/**
 * The report of a device's fault: the call that returned the error, the driver's details, and the launches that were
 * in flight. It is the message of HIPLAUNCH_STATUS_DEVICE_LOST. The text is empty while the device is not lost. Makes
 * no driver call.
 *
 * Ownership: the caller closes the text. Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE;
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT for a device that does not exist; HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_describe_fault(const struct hiplaunch_launcher *launcher,
                                               uint32_t device,
                                               struct hiplaunch_text **text);

/**
 * Creates a stream on a device. It does not wait for HIP's null stream, nor that for it.
 *
 * Ownership: the caller closes the stream, or the launcher. Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE,
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DRIVER,
 * HIPLAUNCH_STATUS_DEVICE_LOST.
 */
enum hiplaunch_status hiplaunch_stream_open(const struct hiplaunch_launcher *launcher,
                                            uint32_t device,
                                            struct hiplaunch_stream **stream);

/**
 * Creates a stream with one of HIP's priorities; a lower number is more urgent.
 *
 * Ownership, threads and errors: as hiplaunch_stream_open.
 */
enum hiplaunch_status hiplaunch_stream_open_with_priority(const struct hiplaunch_launcher *launcher,
                                                          uint32_t device,
                                                          int32_t priority,
                                                          struct hiplaunch_stream **stream);

/**
 * A stream that somebody else made, without owning it: HIP's hipStream_t, or 0, 1 or 2 for the null stream (also called
 * hipStreamLegacy) and hipStreamPerThread. Launches, copies, events and memory work on it as on a stream of this library's,
 * and stand in one order with what its owner enqueues. A raw stream that is adopted twice, or was made by this library, is
 * one stream with two handles. hiplaunch_stream_close waits for all its work, the owner's included, once the last handle
 * and ticket goes, and does not destroy it.
 *
 * The raw stream must be alive until then. While its owner captures it, launches without host data and results
 * become part of the owner's graph, whose kernels and memory the caller keeps as long. If its owner destroys it
 * earlier, the emulator and the validation layer refuse later calls with HIPLAUNCH_STATUS_DRIVER; HIP may crash. The
 * stream of hipStreamPerThread is that of the calling thread, and is refused on others with
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT.
 *
 * Ownership: the caller closes it, or the launcher. Threads: any. Errors: as hiplaunch_stream_open.
 */
enum hiplaunch_status hiplaunch_stream_adopt(const struct hiplaunch_launcher *launcher,
                                             uint32_t device,
                                             void *raw,
                                             struct hiplaunch_stream **stream);

/**
 * The driver's own handle of a stream, which is HIP's hipStream_t, for libraries that enqueue work of their own; good as
 * long as the stream is open. Their work stands in one order with launches.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_stream_raw(const struct hiplaunch_stream *stream,
                                           void **raw);

/**
 * Closes a stream. Waits for its work, unless tickets of the stream are open: these keep the stream until the last of
 * them is closed.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_stream_close(struct hiplaunch_stream *stream);

/**
 * Calls a function of the host once all work that is enqueued on a stream so far has finished. Work that is enqueued later
 * waits until it has returned. It is called once, on a thread of the driver, also on a lost device; while the stream is captured, it
 * becomes a node of the graph instead, and is called at every launch of it. It must be brief, and must not call this library, nor
 * wait for work of the device. While it runs, the stream stands still, and whoever waits for it, too.
 *
 * This is how a stream signals a semaphore, or fulfils a future, of another runtime:
 *
 * ```c
 * static void signal(void *semaphore, hiplaunch_status status) {
 *   runtime_semaphore_signal(semaphore, status == HIPLAUNCH_STATUS_OK);
 * }
 * hiplaunch_stream_host_function(stream, signal, semaphore);
 * ```
 *
 * Ownership: `user` belongs to the caller, and must be valid until the function has returned, or the graph is closed and its last
 * launch has finished. If this fails, the function is not called. Threads: any. Errors: HIPLAUNCH_STATUS_DEVICE_LOST,
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER;
 * HIPLAUNCH_STATUS_CAPTURED on a stream of others that they capture; HIPLAUNCH_STATUS_DRIVER of a HIP without host functions,
 * which is older than 5.3.
 */
enum hiplaunch_status hiplaunch_stream_host_function(const struct hiplaunch_stream *stream,
                                                     hiplaunch_host_function function,
                                                     void *user);

/**
 * Has a stream write a value to the 8 bytes of a buffer from its byte `offset` on, which is a multiple of 8, once all work that is
 * enqueued so far has finished. With hiplaunch_stream_wait_value, it orders streams by a number that counts up, as a timeline
 * semaphore does, and the wait can be enqueued first.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT if they are no aligned bytes of the buffer, or the buffer is on another
 * device; HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_DEVICE_LOST; HIPLAUNCH_STATUS_CAPTURED while the stream is captured;
 * HIPLAUNCH_STATUS_DRIVER where the driver can't do this.
 */
enum hiplaunch_status hiplaunch_stream_write_value(const struct hiplaunch_stream *stream,
                                                   const struct hiplaunch_buffer *buffer,
                                                   size_t offset,
                                                   uint64_t value);

/**
 * Has work that is enqueued on a stream from now on wait until the 8 bytes of a buffer from its byte `offset` on, which is a multiple
 * of 8, have such a value; bits that are not in `mask` do not count. `comparison` is a hiplaunch_comparison. Another stream or a
 * kernel writes the value. If nobody does, the stream stands still until the device is lost, and whoever waits for it, too.
 *
 * Ownership: the buffer may be closed at once. Threads and errors: as hiplaunch_stream_write_value.
 */
enum hiplaunch_status hiplaunch_stream_wait_value(const struct hiplaunch_stream *stream,
                                                  const struct hiplaunch_buffer *buffer,
                                                  size_t offset,
                                                  uint32_t comparison,
                                                  uint64_t value,
                                                  uint64_t mask);

/**
 * Waits for all work on a stream.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_DEVICE_LOST if a kernel faulted; HIPLAUNCH_STATUS_DRIVER,
 * HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_stream_synchronize(const struct hiplaunch_stream *stream);

/**
 * Whether all work on a stream has finished; never waits.
 *
 * Threads: any. Errors: as hiplaunch_stream_synchronize, and HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_stream_is_idle(const struct hiplaunch_stream *stream, bool *idle);

/**
 * Waits for a stream, frees its device scratch, and returns its device's cached memory to the driver. The next
 * launches allocate it again.
 *
 * Threads: any. Errors: as hiplaunch_stream_synchronize.
 */
enum hiplaunch_status hiplaunch_stream_trim(const struct hiplaunch_stream *stream);

/**
 * Creates an event on a device. With `timing`, hiplaunch_event_elapsed can use it; such an event costs more.
 *
 * Ownership: the caller closes it, or the launcher. Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE,
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DRIVER,
 * HIPLAUNCH_STATUS_DEVICE_LOST.
 */
enum hiplaunch_status hiplaunch_event_open(const struct hiplaunch_launcher *launcher,
                                           uint32_t device,
                                           bool timing,
                                           struct hiplaunch_event **event);

/**
 * An event that somebody else made (HIP's hipEvent_t), without owning it: it can be recorded and waited for, whoever
 * recorded it last, and hiplaunch_event_close does not destroy it. It must be alive until then.
 *
 * Ownership: the caller closes it, or the launcher. Threads: any. Errors: as hiplaunch_event_open.
 */
enum hiplaunch_status hiplaunch_event_adopt(const struct hiplaunch_launcher *launcher,
                                            uint32_t device,
                                            void *raw,
                                            struct hiplaunch_event **event);

/**
 * The driver's own handle of an event, which is HIP's hipEvent_t; good as long as the event is open.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_event_raw(const struct hiplaunch_event *event,
                                          void **raw);

/**
 * Closes an event. Streams that wait for it still wait.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_event_close(struct hiplaunch_event *event);

/**
 * Records an event after everything enqueued on a stream of its device so far.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_INVALID_ARGUMENT for a stream of another
 * device, HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST.
 */
enum hiplaunch_status hiplaunch_event_record(const struct hiplaunch_event *event,
                                             const struct hiplaunch_stream *stream);

/**
 * Makes the work that is enqueued on a stream from now on wait for an event's last record, which may be on another
 * device.
 *
 * Threads: any. Errors: as hiplaunch_event_record.
 */
enum hiplaunch_status hiplaunch_stream_wait_event(const struct hiplaunch_stream *stream,
                                                  const struct hiplaunch_event *event);

/**
 * Whether an event's last record has been reached; never waits.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DRIVER,
 * HIPLAUNCH_STATUS_DEVICE_LOST.
 */
enum hiplaunch_status hiplaunch_event_is_reached(const struct hiplaunch_event *event,
                                                 bool *reached);

/**
 * Waits until an event's last record has been reached.
 *
 * Threads: any. Errors: as hiplaunch_event_is_reached.
 */
enum hiplaunch_status hiplaunch_event_synchronize(const struct hiplaunch_event *event);

/**
 * The milliseconds from the record of one event to the record of another. Both events must have been opened with
 * `timing`, and must be reached.
 *
 * Threads: any. Errors: as hiplaunch_event_is_reached.
 */
enum hiplaunch_status hiplaunch_event_elapsed(const struct hiplaunch_event *start,
                                              const struct hiplaunch_event *end,
                                              float *milliseconds);

/**
 * Allocates a buffer on a device. Its contents are undefined. 0 bytes allocate nothing.
 *
 * With a `stream`, the buffer is for work on that stream, and if the pool has free memory for it, no driver call is
 * made. Another stream must wait for that stream before it uses the buffer. Launches that take the buffer as an
 * argument, and copies, record its use, so closing it is safe at any time. With a null `stream`, any stream may use it
 * at once.
 *
 * Ownership: the caller closes it, or the launcher. Threads: any. Errors: HIPLAUNCH_STATUS_OUT_OF_MEMORY,
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT for a device that does not exist or a stream of another device,
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DRIVER,
 * HIPLAUNCH_STATUS_DEVICE_LOST.
 */
enum hiplaunch_status hiplaunch_buffer_open(const struct hiplaunch_launcher *launcher,
                                            uint32_t device,
                                            const struct hiplaunch_stream *stream,
                                            size_t bytes,
                                            struct hiplaunch_buffer **buffer);

/**
 * Closes a buffer. Its memory returns to the pool in stream order; this function does not wait for that. Views of the
 * buffer keep the memory until they are closed, too.
 *
 * Threads: any; waits for calls on other threads that use the buffer. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_buffer_close(struct hiplaunch_buffer *buffer);

/**
 * The number of bytes of a buffer.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_buffer_size(const struct hiplaunch_buffer *buffer, size_t *bytes);

/**
 * The device address of a buffer; 0 while it has no memory. Uses of the bare address are not recorded: keep the buffer
 * until launches on other streams that use its address have finished, or call hiplaunch_buffer_record_use.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_buffer_address(const struct hiplaunch_buffer *buffer,
                                               uint64_t *address);

/**
 * Records that work on a stream uses a buffer by its bare address. When the buffer is closed, its memory is held back
 * until everything has finished that was enqueued on the stream by then.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_buffer_record_use(const struct hiplaunch_buffer *buffer,
                                                  const struct hiplaunch_stream *stream);

/**
 * Sets the length of a buffer to `bytes`, for work enqueued on `stream` from now on. If its memory is large enough,
 * only the length changes. Otherwise the buffer gets new memory, whose contents are undefined, and the old memory
 * returns to the pool in stream order. `moved`, which may be null, gets whether the memory is new.
 *
 * Threads: any. Errors: as hiplaunch_buffer_open; the buffer then stays as it was.
 */
enum hiplaunch_status hiplaunch_buffer_resize(const struct hiplaunch_buffer *buffer,
                                              const struct hiplaunch_stream *stream,
                                              size_t bytes,
                                              bool *moved);

/**
 * Copies `size` bytes of the host to a buffer, to its byte `offset` and after, in stream order. Waits for the stream's
 * work only if the driver does.
 *
 * Ownership: `data` may be reused when this returns. Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT for bytes
 * outside of the buffer or a stream of another device; HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER,
 * HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST.
 */
enum hiplaunch_status hiplaunch_buffer_upload(const struct hiplaunch_buffer *buffer,
                                              const struct hiplaunch_stream *stream,
                                              size_t offset,
                                              const void *data,
                                              size_t size);

/**
 * Copies `size` bytes of a buffer, from its byte `offset` on, to the host, in stream order, and waits for the copy.
 *
 * Threads: any. Errors: as hiplaunch_buffer_upload.
 */
enum hiplaunch_status hiplaunch_buffer_download(const struct hiplaunch_buffer *buffer,
                                                const struct hiplaunch_stream *stream,
                                                size_t offset,
                                                void *data,
                                                size_t size);

/**
 * Copies `size` bytes of a buffer, from its byte `offset` on, to pinned host memory in stream order, and does not
 * wait. They are the only output of the ticket.
 *
 * Ownership: the caller closes the ticket; the buffer may be closed at once. Threads: any. Errors: as
 * hiplaunch_buffer_upload; HIPLAUNCH_STATUS_GRAPH.
 */
enum hiplaunch_status hiplaunch_buffer_read(const struct hiplaunch_buffer *buffer,
                                            const struct hiplaunch_stream *stream,
                                            size_t offset,
                                            size_t size,
                                            struct hiplaunch_ticket **ticket);

/**
 * Copies `size` bytes from one buffer to another, in stream order. The two may be one buffer, but the bytes may not
 * overlap. They may be on two devices; the stream is on the device of `to`, and does not wait for the other device's
 * streams by itself.
 *
 * Threads: any. Errors: as hiplaunch_buffer_upload.
 */
enum hiplaunch_status hiplaunch_buffer_copy(const struct hiplaunch_buffer *to,
                                            size_t to_offset,
                                            const struct hiplaunch_buffer *from,
                                            size_t from_offset,
                                            size_t size,
                                            const struct hiplaunch_stream *stream);

/**
 * Sets `size` bytes of a buffer, from its byte `offset` on, to one value, in stream order.
 *
 * Threads: any. Errors: as hiplaunch_buffer_upload.
 */
enum hiplaunch_status hiplaunch_buffer_fill(const struct hiplaunch_buffer *buffer,
                                            const struct hiplaunch_stream *stream,
                                            size_t offset,
                                            size_t size,
                                            uint8_t value);

/**
 * Sets `size` bytes of a buffer, from its byte `offset` on, to a 32-bit word again and again, in stream order: to the
 * bits of a float, for example.
 *
 * Threads: any. Errors: as hiplaunch_buffer_upload; HIPLAUNCH_STATUS_INVALID_ARGUMENT if `offset` or `size` is not a
 * multiple of 4.
 */
enum hiplaunch_status hiplaunch_buffer_fill_words(const struct hiplaunch_buffer *buffer,
                                                  const struct hiplaunch_stream *stream,
                                                  size_t offset,
                                                  size_t size,
                                                  uint32_t word);

/**
 * Creates a view of a buffer: element `i, j, ...` is at byte `offset + element * (i * strides[0] + j * strides[1]
 * ...)`.
 *
 * `shape` and `strides` have `rank` entries, outermost first, in elements of `element` bytes; null `strides` mean
 * row-major order without gaps.
 *
 * Ownership: the caller closes the view, or the launcher; the arrays are not kept. Threads: any. Errors:
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT if an element is outside of the buffer; HIPLAUNCH_STATUS_INVALID_HANDLE,
 * HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_view_open(const struct hiplaunch_buffer *buffer,
                                          size_t offset,
                                          size_t element,
                                          size_t rank,
                                          const size_t *shape,
                                          const ptrdiff_t *strides,
                                          struct hiplaunch_view **view);

/**
 * Creates a view with the axes of another view in another order. `axes` has each of the `rank` axes once.
 *
 * Ownership, threads: as hiplaunch_view_open. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT,
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_view_permute(const struct hiplaunch_view *view,
                                             size_t rank,
                                             const size_t *axes,
                                             struct hiplaunch_view **permuted);

/**
 * Creates a view of the indices from `start` up to, but not including, `end` of one axis of another view.
 *
 * Ownership, threads, errors: as hiplaunch_view_permute.
 */
enum hiplaunch_status hiplaunch_view_slice(const struct hiplaunch_view *view,
                                           size_t axis,
                                           size_t start,
                                           size_t end,
                                           struct hiplaunch_view **part);

/**
 * The number of bytes of all elements of a view together.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_view_size(const struct hiplaunch_view *view, size_t *bytes);

/**
 * The device address of a view's first element; 0 if it has no memory. Uses of the bare address are not recorded; see
 * hiplaunch_buffer_address.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_view_address(const struct hiplaunch_view *view,
                                             uint64_t *address);

/**
 * Copies a view's elements to the host in row-major order, in stream order, and waits for the copy. `size` must be
 * the number of hiplaunch_view_size.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT for another size or a stream of another device;
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DRIVER,
 * HIPLAUNCH_STATUS_DEVICE_LOST.
 */
enum hiplaunch_status hiplaunch_view_download(const struct hiplaunch_view *view,
                                              const struct hiplaunch_stream *stream,
                                              void *data,
                                              size_t size);

/**
 * Closes a view.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_view_close(struct hiplaunch_view *view);

/**
 * Borrows `bytes` bytes of device memory that somebody else allocated, as a buffer. Closing it frees nothing. Resizing it
 * to more bytes replaces it by memory of the pool.
 *
 * The memory is live until the buffer and its views are closed and all work that was enqueued with them has run; the
 * caller orders the work that others enqueue on it.
 *
 * Ownership: the caller closes it, or the launcher. Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT for a null
 * address, a range that overflows, or memory that the driver knows is not the device's;
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DEVICE_LOST.
 */
enum hiplaunch_status hiplaunch_buffer_borrow(const struct hiplaunch_launcher *launcher,
                                              uint32_t device,
                                              uint64_t address,
                                              size_t bytes,
                                              struct hiplaunch_buffer **buffer);

/**
 * Allocates a buffer of managed memory, which host and devices access at one address
 * (hiplaunch_buffer_host_address). Closing it waits for the device.
 *
 * Ownership: the caller closes it, or the launcher. Threads: any. Errors: as hiplaunch_buffer_open;
 * HIPLAUNCH_STATUS_DRIVER where the driver has none.
 */
enum hiplaunch_status hiplaunch_buffer_open_managed(const struct hiplaunch_launcher *launcher,
                                                    uint32_t device,
                                                    size_t bytes,
                                                    struct hiplaunch_buffer **buffer);

/**
 * The host's address of a managed buffer; null for other buffers. The host accesses the bytes only while no work that uses
 * them is enqueued.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_buffer_host_address(const struct hiplaunch_buffer *buffer,
                                                    void **data);

/**
 * Allocates a buffer that other processes may open (hiplaunch_buffer_share). Closing it waits for the device.
 *
 * Ownership: the caller closes it, or the launcher. Threads: any. Errors: as hiplaunch_buffer_open;
 * HIPLAUNCH_STATUS_DRIVER where the driver has none.
 */
enum hiplaunch_status hiplaunch_buffer_open_shared(const struct hiplaunch_launcher *launcher,
                                                   uint32_t device,
                                                   size_t bytes,
                                                   struct hiplaunch_buffer **buffer);

/**
 * Makes a handle with which other processes open a buffer of hiplaunch_buffer_open_shared. Good until that is closed.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT for other buffers; HIPLAUNCH_STATUS_INVALID_HANDLE,
 * HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST.
 */
enum hiplaunch_status hiplaunch_buffer_share(const struct hiplaunch_buffer *buffer,
                                             struct hiplaunch_shared_handle *handle);

/**
 * Opens the buffer that another process shares. Closing it waits for the device; the memory stays the other process's,
 * which keeps it until then. The two processes order their work on it by the host.
 *
 * Ownership: the caller closes it, or the launcher. Threads: any. Errors: as hiplaunch_buffer_open;
 * HIPLAUNCH_STATUS_DRIVER for a handle whose memory is gone.
 */
enum hiplaunch_status hiplaunch_buffer_open_handle(const struct hiplaunch_launcher *launcher,
                                                   uint32_t device,
                                                   const struct hiplaunch_shared_handle *handle,
                                                   struct hiplaunch_buffer **buffer);

/**
 * Allocates pinned host memory, all bytes zero.
 *
 * Ownership: the caller closes it, or the launcher. Threads: any. Errors: as hiplaunch_buffer_open.
 */
enum hiplaunch_status hiplaunch_pinned_open(const struct hiplaunch_launcher *launcher,
                                            uint32_t device,
                                            size_t bytes,
                                            struct hiplaunch_pinned **pinned);

/**
 * Pins `bytes` bytes of the caller's host memory. Until it is closed, the memory stays where it is, and no other function
 * is given its address as host memory.
 *
 * Ownership: the caller closes it, or the launcher; the memory stays the caller's. Threads: any. Errors: as
 * hiplaunch_buffer_open; HIPLAUNCH_STATUS_DRIVER where the driver can't, and for memory that is pinned already.
 */
enum hiplaunch_status hiplaunch_pinned_register(const struct hiplaunch_launcher *launcher,
                                                uint32_t device,
                                                void *data,
                                                size_t bytes,
                                                struct hiplaunch_pinned **pinned);

/**
 * Closes pinned memory: waits for the work that uses it, then frees or unpins it.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_pinned_close(struct hiplaunch_pinned *pinned);

/**
 * The bytes for the host. Waits for the work that uses them: copies, and what hiplaunch_pinned_record_use was called for.
 * Good until it is closed; after more work on it, call it again before the host accesses the bytes.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DEVICE_LOST.
 */
enum hiplaunch_status hiplaunch_pinned_host(const struct hiplaunch_pinned *pinned,
                                            void **data);

/**
 * The address for kernels. What uses it is not noticed: call hiplaunch_pinned_record_use.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_pinned_address(const struct hiplaunch_pinned *pinned,
                                               uint64_t *address);

/**
 * Says that work on a stream uses pinned memory: the host gets the bytes, and they are freed, after everything that is
 * enqueued there by then.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_pinned_record_use(const struct hiplaunch_pinned *pinned,
                                                  const struct hiplaunch_stream *stream);

/**
 * Copies all bytes of pinned memory to the first bytes of a buffer, in stream order, without waiting.
 *
 * Threads: any. Errors: as hiplaunch_buffer_upload.
 */
enum hiplaunch_status hiplaunch_buffer_upload_pinned(const struct hiplaunch_buffer *buffer,
                                                     const struct hiplaunch_stream *stream,
                                                     const struct hiplaunch_pinned *pinned);

/**
 * Copies the first bytes of a buffer over all bytes of pinned memory, in stream order, without waiting;
 * hiplaunch_pinned_host waits.
 *
 * Threads: any. Errors: as hiplaunch_buffer_upload.
 */
enum hiplaunch_status hiplaunch_buffer_download_pinned(const struct hiplaunch_buffer *buffer,
                                                       const struct hiplaunch_stream *stream,
                                                       const struct hiplaunch_pinned *pinned);

/**
 * Compiles HIP C++ for a target with ROCm's runtime compiler, hiprtc, which is loaded when it is first needed and
 * needs no GPU. If the cache has the code object of the same source, options and compiler, this function reads it
 * instead. A source that reads files, by -I or an #include of a file that is not in `options`, is compiled every time.
 *
 * `target` is the target of a device (hiplaunch_device_properties), or a processor: "gfx90a". `options` may be null.
 *
 * Ownership: the caller closes the compiled code; the arguments are not kept. Threads: any; one source is compiled at
 * a time. Errors: HIPLAUNCH_STATUS_COMPILE, whose message has the compiler's log with lines and columns;
 * HIPLAUNCH_STATUS_NO_COMPILER if there is no compiler for the target, whose message says what to install;
 * HIPLAUNCH_STATUS_CODE_OBJECT if the compiler's output can't be read; HIPLAUNCH_STATUS_STRUCT_SIZE,
 * HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_INVALID_ARGUMENT. A cache that can't be read or written is a warning
 * in the log.
 */
enum hiplaunch_status hiplaunch_compile(const char *target,
                                        const char *source,
                                        const struct hiplaunch_compile_options *options,
                                        struct hiplaunch_compiled **compiled);

/**
 * Compiles inputs of any kinds to one code object: HIP C++, LLVM IR as text or bitcode, assembly and object files. LLVM IR,
 * bitcode and assembly are compiled by ROCm's comgr, else by clang and lld, which are loaded or run when they are first needed,
 * and need no GPU. All LLVM IR is linked before code is generated, then object files are linked. HIP C++ among other inputs
 * needs HIP 5.3. The cache is that of hiplaunch_compile.
 *
 * `target` is as for hiplaunch_compile; `options` may be null.
 *
 * Ownership, threads: as hiplaunch_compile. Errors: those of hiplaunch_compile; HIPLAUNCH_STATUS_COMPILE also if LLVM IR or an
 * object file is for another target, or nothing defines a symbol, whose name is in the message;
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT also for no input, an empty one, and one that is no object file.
 */
enum hiplaunch_status hiplaunch_compile_inputs(const char *target,
                                               const struct hiplaunch_input *inputs,
                                               size_t input_count,
                                               const struct hiplaunch_compile_options *options,
                                               struct hiplaunch_compiled **compiled);

/**
 * The bytes of the code object, for hiplaunch_register.
 *
 * Ownership: the bytes belong to the compiled code, and are valid until it is closed. Threads: any. Errors:
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_compiled_code(const struct hiplaunch_compiled *compiled,
                                              const void **data,
                                              size_t *bytes);

/**
 * The compiler's warnings, as UTF-8 with a NUL at the end; empty if there are none. `length`, which may be null, gets
 * the number of bytes before the NUL.
 *
 * Ownership, threads, errors: as hiplaunch_compiled_code.
 */
enum hiplaunch_status hiplaunch_compiled_log(const struct hiplaunch_compiled *compiled,
                                             const char **log,
                                             size_t *length);

/**
 * Whether the code object was in the cache, so that nothing was compiled.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_compiled_from_cache(const struct hiplaunch_compiled *compiled,
                                                    bool *from_cache);

/**
 * Closes compiled code. Kernels that were registered from it stay registered.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_compiled_close(struct hiplaunch_compiled *compiled);

/**
 * Describes the compiler that hiplaunch_compile uses for a target, in one line with its version and file: hiprtc.
 *
 * Ownership: the caller closes the text. Threads: any. Errors: HIPLAUNCH_STATUS_NO_COMPILER, whose message says what
 * to install; HIPLAUNCH_STATUS_INVALID_ARGUMENT if `target` is no target; HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_describe_compiler(const char *target,
                                                  struct hiplaunch_text **text);

/**
 * Describes the compiler that hiplaunch_compile_inputs uses for a target and a kind of input (a hiplaunch_input_kind), in one
 * line with its version and file: hiprtc for HIP C++, else comgr or clang.
 *
 * Ownership, threads, errors: as hiplaunch_describe_compiler; HIPLAUNCH_STATUS_INVALID_ARGUMENT also for a number that is no
 * kind.
 */
enum hiplaunch_status hiplaunch_describe_compiler_of(const char *target,
                                                     uint32_t kind,
                                                     struct hiplaunch_text **text);

/**
 * Loads a code object on a device: a raw AMDGPU ELF or an offload bundle, compressed or not, whose entry for the
 * device's target is used. The code is trusted, as hiplaunch_register says.
 *
 * `device` may be HIPLAUNCH_ALL_DEVICES. The code is then loaded on a device when it is first needed there.
 *
 * Ownership: the bytes are copied; the caller closes the module, or the launcher. Threads: any. Errors:
 * HIPLAUNCH_STATUS_CODE_OBJECT, HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST,
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_module_open(const struct hiplaunch_launcher *launcher,
                                            uint32_t device,
                                            const void *code_object,
                                            size_t code_object_bytes,
                                            struct hiplaunch_module **module);

/**
 * The address and the number of bytes of a global variable of a module, a __device__ or __constant__ variable, on a
 * device. `bytes` may be null. hiplaunch_buffer_borrow makes a buffer of them, with which copies and fills set and
 * read the variable:
 *
 *   hiplaunch_module_global(module, 0, "gain", &address, &bytes);
 *   hiplaunch_buffer_borrow(launcher, 0, address, bytes, &gain);
 *   hiplaunch_buffer_upload(gain, stream, 0, &value, sizeof value);
 *
 * A module of HIPLAUNCH_ALL_DEVICES is loaded on the device if it is not yet, and has other variables on each device.
 *
 * Ownership: the address is valid while the module is open or a kernel of it is registered; work that uses it has to
 * finish before. Threads: any. Errors: HIPLAUNCH_STATUS_DRIVER for a name that the module does not have;
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT for a device that does not exist or where the module is not; those of loading, as
 * hiplaunch_module_open; HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_module_global(const struct hiplaunch_module *module,
                                              uint32_t device,
                                              const char *name,
                                              uint64_t *address,
                                              size_t *bytes);

/**
 * Closes a module. Its code is unloaded when no kernel of it is registered any more and their last launches have
 * finished.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_module_close(struct hiplaunch_module *module);

/**
 * Loads a code object on a device and registers one of its kernels. The code object is a raw AMDGPU ELF or an offload
 * bundle, compressed or not, whose entry for the device's target is used.
 *
 * With HIPLAUNCH_ALL_DEVICES for `device`, the kernel can be launched on the streams of every device of the launcher.
 * The code object is kept, and loaded on a device at the first launch there; each device gets its own entry of a
 * bundle.
 *
 * `layout` is the LDS layout that the kernel's code was generated for (hiplaunch_set_lds_layout); null for none.
 *
 * The code is trusted: the library can't check what a kernel does with the memory that it is given.
 *
 * Ownership: the bytes and the name are copied; the caller unregisters the kernel, or closes the launcher. Threads:
 * any. Errors: HIPLAUNCH_STATUS_CODE_OBJECT, whose message lists the code object's kernels, and for all devices if
 * none of them has code; HIPLAUNCH_STATUS_LAUNCH for a layout that does not fit; HIPLAUNCH_STATUS_DRIVER,
 * HIPLAUNCH_STATUS_DEVICE_LOST, HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER,
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT. Nothing is registered then.
 */
enum hiplaunch_status hiplaunch_register(const struct hiplaunch_launcher *launcher,
                                         uint32_t device,
                                         const void *code_object,
                                         size_t code_object_bytes,
                                         const char *name,
                                         const struct hiplaunch_lds_layout *layout,
                                         struct hiplaunch_kernel **kernel);

/**
 * Registers a kernel of a module, as hiplaunch_register does that of a code object. `layout` is the LDS layout that
 * the kernel's code was generated for; null for none.
 *
 * Ownership: the module may be closed afterwards; the caller unregisters the kernel, or closes the launcher. Threads:
 * any. Errors: as hiplaunch_register.
 */
enum hiplaunch_status hiplaunch_register_from(const struct hiplaunch_module *module,
                                              const char *name,
                                              const struct hiplaunch_lds_layout *layout,
                                              struct hiplaunch_kernel **kernel);

/**
 * Replaces the kernel of a handle by another one, such as a better compiled one. Launches from now on run the new
 * kernel. The old kernel's module is unloaded when its last launch has finished. The new kernel has no LDS layout, and
 * is not declared in place. A kernel of HIPLAUNCH_ALL_DEVICES is replaced on all devices.
 *
 * The new kernel may have another name and other parameters: each launch is checked against the kernel that it runs.
 * Compiled graphs, and those that are compiled later, run the new kernel if it takes the recorded arguments, of the same
 * number, kinds and sizes; else hiplaunch_graph_compile and hiplaunch_compiled_graph_submit return HIPLAUNCH_STATUS_LAUNCH
 * with the first difference, until a kernel that fits is there. hiplaunch_graph_compute runs the kernel that the graph
 * recorded.
 *
 * Ownership and threads: as hiplaunch_register. Errors: as hiplaunch_register; the handle then keeps the old
 * kernel.
 */
enum hiplaunch_status hiplaunch_replace(const struct hiplaunch_kernel *kernel,
                                        const void *code_object,
                                        size_t code_object_bytes,
                                        const char *name);

/**
 * Replaces the kernel of a handle by a kernel of a module, as hiplaunch_replace does by that of a code object.
 *
 * Ownership: the module may be closed afterwards. Threads: any. Errors: as hiplaunch_replace;
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT for a module of other devices than the kernel's.
 */
enum hiplaunch_status hiplaunch_replace_from(const struct hiplaunch_kernel *kernel,
                                             const struct hiplaunch_module *module,
                                             const char *name);

/**
 * Unregisters a kernel and closes its handle. Its module is unloaded when its last launch has finished; this function
 * does not wait for that.
 *
 * Threads: any; waits for calls on other threads that launch the kernel. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_unregister(struct hiplaunch_kernel *kernel);

/**
 * Unloads the modules of replaced and unregistered kernels whose last launch has finished. Never waits. Replacing,
 * unregistering, reading a ticket and waiting for a stream do this too.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_collect(const struct hiplaunch_launcher *launcher);

/**
 * Sets the LDS layout that a kernel's code was generated for. A launch whose dynamic_lds is 0 gets the layout's total.
 * A launch may ask for more; a launch that asks for less is refused.
 *
 * Ownership: the layout may be closed afterwards. Threads: any. Errors: HIPLAUNCH_STATUS_LAUNCH for a layout that does
 * not fit the device together with the kernel's static LDS; HIPLAUNCH_STATUS_INVALID_HANDLE. After an error, the
 * kernel keeps its previous layout.
 */
enum hiplaunch_status hiplaunch_set_lds_layout(const struct hiplaunch_kernel *kernel,
                                               const struct hiplaunch_lds_layout *layout);

/**
 * Declares whether a kernel's destination may also be an input. It may be if no work-item writes bytes that are still
 * to be read, as in elementwise kernels. The default is false.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_declare_in_place(const struct hiplaunch_kernel *kernel,
                                                 bool yes);

/**
 * Fills `attributes`, whose struct_size the caller has set, with what a kernel needs on a device. A kernel of
 * HIPLAUNCH_ALL_DEVICES is loaded there if it is not yet.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_LAUNCH for a kernel of another device; HIPLAUNCH_STATUS_INVALID_ARGUMENT for a
 * device that is not there; those of loading, as hiplaunch_register; HIPLAUNCH_STATUS_INVALID_HANDLE,
 * HIPLAUNCH_STATUS_STRUCT_SIZE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_get_kernel_attributes(const struct hiplaunch_kernel *kernel,
                                                      uint32_t device,
                                                      struct hiplaunch_kernel_attributes *attributes);

/**
 * Fills `occupancy`, whose struct_size the caller has set: how many workgroups of `block` work-items with `dynamic_lds`
 * bytes of dynamic LDS a compute unit of a device holds at once. Makes no driver call if the kernel is loaded there.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_LAUNCH for a block or LDS that the kernel can't have;
 * HIPLAUNCH_STATUS_UNSUPPORTED on a device whose limits the library does not know; as hiplaunch_get_kernel_attributes.
 */
enum hiplaunch_status hiplaunch_get_kernel_occupancy(const struct hiplaunch_kernel *kernel,
                                                     uint32_t device,
                                                     uint32_t block,
                                                     uint32_t dynamic_lds,
                                                     struct hiplaunch_kernel_occupancy *occupancy);

/**
 * The number of parameters of a kernel, which is the number of arguments of a launch.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER; those of loading, as
 * hiplaunch_register, for a kernel of HIPLAUNCH_ALL_DEVICES.
 */
enum hiplaunch_status hiplaunch_kernel_parameters(const struct hiplaunch_kernel *kernel,
                                                  size_t *count);

/**
 * Fills `parameter`, whose struct_size the caller has set, for the parameter with an index, from 0.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT for a parameter that does not exist;
 * HIPLAUNCH_STATUS_STRUCT_SIZE; as hiplaunch_kernel_parameters.
 */
enum hiplaunch_status hiplaunch_get_kernel_parameter(const struct hiplaunch_kernel *kernel,
                                                     size_t index,
                                                     struct hiplaunch_kernel_parameter *parameter);

/**
 * Launches a kernel: enqueues the copies to the device, the kernel, and the copies of its outputs to the host, in the
 * order of the stream. Waits only if the staging ring is full. In the steady state it allocates nothing.
 * hiplaunch_submit has more options.
 *
 * `ticket` may be null if the launch has no outputs. A later call that waits then returns an error of the running
 * kernel.
 *
 * The sizes and kinds of the arguments are checked against the code object. Device addresses are trusted: they must be
 * valid for what the kernel does with them until it has finished.
 *
 * Ownership: the call copies host data and arguments; the caller closes the ticket. Threads: any, for any kernel and
 * stream. Errors: HIPLAUNCH_STATUS_LAUNCH, HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER and
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT before any device call; HIPLAUNCH_STATUS_OUT_OF_MEMORY, HIPLAUNCH_STATUS_DRIVER;
 * HIPLAUNCH_STATUS_DEVICE_LOST. The launcher stays usable after all errors but the last.
 */
enum hiplaunch_status hiplaunch_launch(const struct hiplaunch_kernel *kernel,
                                       const struct hiplaunch_stream *stream,
                                       const struct hiplaunch_dims *dims,
                                       const struct hiplaunch_arg *args,
                                       size_t arg_count,
                                       struct hiplaunch_ticket **ticket);

/**
 * Launches a kernel as `options` describe. hiplaunch_launch is the short form for dimensions and arguments alone.
 *
 * `ticket` may be null, as for hiplaunch_launch: the results are then in the destination or in the arguments' buffers.
 *
 * Ownership, threads: as hiplaunch_launch. Errors: as hiplaunch_launch; HIPLAUNCH_STATUS_STRUCT_SIZE;
 * HIPLAUNCH_STATUS_LAUNCH for packed arguments of another size and for a destination that is refused;
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT for both `args` and `packed`, for two destinations, and for
 * HIPLAUNCH_STAGING_MAPPED if the driver has no mapped memory.
 */
enum hiplaunch_status hiplaunch_submit(const struct hiplaunch_kernel *kernel,
                                       const struct hiplaunch_stream *stream,
                                       const struct hiplaunch_launch_options *options,
                                       struct hiplaunch_ticket **ticket);

/**
 * Whether a ticket's launch has finished; never waits. After a device error the answer is yes, and reading returns the
 * error.
 *
 * Threads: any. While another thread waits for the ticket, or copies from it, the answer is no. Errors:
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_ticket_is_ready(const struct hiplaunch_ticket *ticket,
                                                bool *ready);

/**
 * Waits for a ticket's launch.
 *
 * Threads: any; several may wait for one ticket. Errors: HIPLAUNCH_STATUS_DEVICE_LOST if a kernel faulted;
 * HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_ticket_wait(const struct hiplaunch_ticket *ticket);

/**
 * The number of outputs of a ticket; does not wait.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER; the error of a wait that
 * failed before.
 */
enum hiplaunch_status hiplaunch_ticket_outputs(const struct hiplaunch_ticket *ticket,
                                               size_t *count);

/**
 * Waits for a ticket's launch and returns the address of one of its outputs, in pinned memory, aligned to 64 bytes.
 *
 * Ownership: the bytes belong to the ticket and are valid until it is closed. Threads: any. Errors: as
 * hiplaunch_ticket_wait; HIPLAUNCH_STATUS_INVALID_ARGUMENT for an output that does not exist;
 * HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_ticket_output(const struct hiplaunch_ticket *ticket,
                                              size_t index,
                                              const void **data,
                                              size_t *size);

/**
 * Waits for a ticket's launch and copies one of its outputs to `data`. `size` must be the size of the output.
 *
 * Threads: any. Errors: as hiplaunch_ticket_output; HIPLAUNCH_STATUS_INVALID_ARGUMENT for another size. The output can
 * be read again, also after an error.
 */
enum hiplaunch_status hiplaunch_ticket_read(const struct hiplaunch_ticket *ticket,
                                            size_t index,
                                            void *data,
                                            size_t size);

/**
 * Closes a ticket, whether it was read or not. Does not wait for the launch, unless the stream was closed before and
 * this is its last ticket.
 *
 * Ownership: addresses that hiplaunch_ticket_output returned become invalid. Threads: any; waits for threads that wait
 * for the ticket. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_ticket_close(struct hiplaunch_ticket *ticket);

/**
 * The driver calls and the device's work of a launcher that was opened with a timeline, as JSON: a Chrome trace, which
 * <https://ui.perfetto.dev> opens. Work in flight is not included; wait for the streams first to include it. The first
 * 1,048,576 calls, and as much work, are kept; later ones are only counted.
 *
 * Ownership: the caller closes the text. Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT for a launcher without
 * a timeline; HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_timeline_json(const struct hiplaunch_launcher *launcher,
                                              struct hiplaunch_text **json);

/**
 * Fills `stats`, whose struct_size the caller has set, for the pool of a device.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE; HIPLAUNCH_STATUS_INVALID_ARGUMENT for a device that does
 * not exist; HIPLAUNCH_STATUS_STRUCT_SIZE; HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_get_pool_stats(const struct hiplaunch_launcher *launcher,
                                               uint32_t device,
                                               struct hiplaunch_pool_stats *stats);

/**
 * Resets the peaks of a pool to the current values.
 *
 * Threads: any. Errors: as hiplaunch_get_pool_stats.
 */
enum hiplaunch_status hiplaunch_pool_reset_peaks(const struct hiplaunch_launcher *launcher,
                                                 uint32_t device);

/**
 * Returns a pool's cached segments to the driver until the pool holds at most `keep` bytes, or no whole segment is
 * free. `freed`, which may be null, gets the number of bytes returned. Waits for the streams of these segments.
 *
 * Threads: any. Errors: as hiplaunch_get_pool_stats; HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST: the pool
 * keeps a segment that the driver could not free.
 */
enum hiplaunch_status hiplaunch_pool_trim(const struct hiplaunch_launcher *launcher,
                                          uint32_t device,
                                          uint64_t keep,
                                          uint64_t *freed);

/**
 * Sets the limits of a pool. `cap` is the number of bytes beyond which it takes nothing from the driver. `soft_target`
 * is the number of bytes above which it returns cached segments to the driver. 0 means no limit.
 *
 * Threads: any. Errors: as hiplaunch_get_pool_stats.
 */
enum hiplaunch_status hiplaunch_pool_limit(const struct hiplaunch_launcher *launcher,
                                           uint32_t device,
                                           uint64_t cap,
                                           uint64_t soft_target);

/**
 * The counters, segments and blocks of a pool as JSON.
 *
 * Ownership: the caller closes the text. Threads: any. Errors: as hiplaunch_get_pool_stats.
 */
enum hiplaunch_status hiplaunch_pool_snapshot_json(const struct hiplaunch_launcher *launcher,
                                                   uint32_t device,
                                                   struct hiplaunch_text **json);

/**
 * Begins to record a graph of work for a device. Makes no device call.
 *
 * Ownership: the caller computes, compiles or closes the graph, or closes the launcher. Threads: any, one after the
 * other. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_graph_open(const struct hiplaunch_launcher *launcher,
                                           uint32_t device,
                                           struct hiplaunch_graph **graph);

/**
 * Records a launch, with the same checks as hiplaunch_launch. The kernel must access only the memory of its arguments,
 * and only as their kinds say. `node`, which may be null, gets the number of the node.
 *
 * Ownership: bytes are copied. Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_LAUNCH,
 * HIPLAUNCH_STATUS_GRAPH, HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_INVALID_ARGUMENT,
 * HIPLAUNCH_STATUS_NULL_POINTER. After an error, nothing is recorded.
 */
enum hiplaunch_status hiplaunch_graph_launch(const struct hiplaunch_graph *graph,
                                             const struct hiplaunch_kernel *kernel,
                                             const struct hiplaunch_dims *dims,
                                             const struct hiplaunch_graph_arg *args,
                                             size_t arg_count,
                                             hiplaunch_node *node);

/**
 * Records that the last recorded node accesses a value through an address in an argument block.
 *
 * Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_GRAPH, HIPLAUNCH_STATUS_INVALID_HANDLE,
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT for a value that does not exist.
 */
enum hiplaunch_status hiplaunch_graph_uses(const struct hiplaunch_graph *graph,
                                           hiplaunch_value value,
                                           bool reads,
                                           bool writes);

/**
 * Records a copy of all bytes of one value to another. `node`, which may be null, gets the number of the node.
 *
 * Threads: as hiplaunch_graph_open. Errors: as hiplaunch_graph_uses.
 */
enum hiplaunch_status hiplaunch_graph_copy(const struct hiplaunch_graph *graph,
                                           hiplaunch_value from,
                                           hiplaunch_value to,
                                           hiplaunch_node *node);

/**
 * Records a fill of every byte of a value. `node`, which may be null, gets the number of the node.
 *
 * Threads: as hiplaunch_graph_open. Errors: as hiplaunch_graph_uses.
 */
enum hiplaunch_status hiplaunch_graph_fill(const struct hiplaunch_graph *graph,
                                           hiplaunch_value value,
                                           uint8_t byte,
                                           hiplaunch_node *node);

/**
 * Records a function of the host with its argument, which is called once at every submission: behind all nodes that were recorded
 * before it, and before all that are recorded after it. The rules of hiplaunch_stream_host_function hold for it. `node`, which may be
 * null, gets the number of the node.
 *
 * Ownership: `user` belongs to the caller, and must be valid until the graph and what it was compiled to are closed, and the last
 * submission has finished. Threads: as hiplaunch_graph_open. Errors: as hiplaunch_graph_uses; HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_graph_host_function(const struct hiplaunch_graph *graph,
                                                    hiplaunch_host_function function,
                                                    void *user,
                                                    hiplaunch_node *node);

/**
 * Records a fill of a value's 32-bit words. `node`, which may be null, gets the number of the node.
 *
 * Threads: as hiplaunch_graph_open. Errors: as hiplaunch_graph_uses; HIPLAUNCH_STATUS_GRAPH if its size is not
 * a multiple of 4.
 */
enum hiplaunch_status hiplaunch_graph_fill_words(const struct hiplaunch_graph *graph,
                                                 hiplaunch_value value,
                                                 uint32_t word,
                                                 hiplaunch_node *node);

/**
 * Records that the host reads a value's bytes. They are the next output of the ticket. `node`, which may be null, gets
 * the number of the node.
 *
 * Threads: as hiplaunch_graph_open. Errors: as hiplaunch_graph_uses.
 */
enum hiplaunch_status hiplaunch_graph_read(const struct hiplaunch_graph *graph,
                                           hiplaunch_value value,
                                           hiplaunch_node *node);

/**
 * Orders node `after` after node `before`, where their values do not. Nodes that access the same bytes run in the
 * order of recording if one of them writes; other nodes may run at the same time, on several streams
 * (hiplaunch_graph_set_branches) or in a driver graph.
 *
 * Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_GRAPH for a node that does not exist, or if `before` was
 * not recorded earlier than `after`; HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_graph_order(const struct hiplaunch_graph *graph,
                                            hiplaunch_node before,
                                            hiplaunch_node after);

/**
 * Sets the greatest number of streams on which independent branches of a graph run at the same time: 1, the default,
 * to 32. The results are the same to the last bit; the workspace may be larger.
 *
 * Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT for 0 streams and for more than 32;
 * HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_graph_set_branches(const struct hiplaunch_graph *graph,
                                                   uint32_t streams);

/**
 * Submits a graph on a stream once, in the order of recording. Never waits for the device. The ticket, which may be
 * null, has an output for each recorded read. `submission` is a hiplaunch_submission.
 *
 * The first graph of a structure is planned, and its memory is allocated from the pool. Later graphs of the same
 * structure use that plan and memory. A kernel that was replaced or unregistered since its launch was recorded runs as
 * it was recorded.
 *
 * Ownership: every status closes the graph, so it is never closed afterwards; only a handle that is no open graph
 * stays as it is. Buffers may be closed at once; the caller closes the ticket. Threads: any. Errors:
 * HIPLAUNCH_STATUS_GRAPH and HIPLAUNCH_STATUS_OUT_OF_MEMORY before anything is submitted; HIPLAUNCH_STATUS_DRIVER if
 * the driver refused a node: the nodes before it run, the others do not; HIPLAUNCH_STATUS_DEVICE_LOST,
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_INVALID_ARGUMENT.
 */
enum hiplaunch_status hiplaunch_graph_compute(struct hiplaunch_graph *graph,
                                              const struct hiplaunch_stream *stream,
                                              uint32_t submission,
                                              struct hiplaunch_ticket **ticket);

/**
 * Closes a graph without computing it.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, also for a graph that was computed or compiled.
 */
enum hiplaunch_status hiplaunch_graph_close(struct hiplaunch_graph *graph);

/**
 * Drops the graph programs of all computed graphs and returns their memory to the pool. `forgotten`, which may be
 * null, gets the number of graph programs. A compiled graph keeps its own.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_forget_graphs(const struct hiplaunch_launcher *launcher,
                                              size_t *forgotten);

/**
 * Sets the number of nodes from which on HIPLAUNCH_SUBMISSION_AUTO submits a graph as a driver graph. Until this is
 * called, it never does, because a driver graph takes longer on several versions of ROCm.
 * hiplaunch_measure_break_even measures the number.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_set_break_even(const struct hiplaunch_launcher *launcher,
                                               uint32_t nodes);

/**
 * Measures on a stream from how many nodes on a driver graph is faster than one call for each node, for
 * hiplaunch_set_break_even. `nodes` gets UINT32_MAX if it never is, or if the driver has no graphs. Waits for the
 * stream. Takes milliseconds on a GPU.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER,
 * HIPLAUNCH_STATUS_OUT_OF_MEMORY, HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST.
 */
enum hiplaunch_status hiplaunch_measure_break_even(const struct hiplaunch_launcher *launcher,
                                                   const struct hiplaunch_stream *stream,
                                                   uint32_t *nodes);

/**
 * Adds a value that is the memory of a buffer. The buffer keeps what nodes write to it. It may be closed once the
 * graph is computed or compiled.
 *
 * Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_GRAPH for a buffer of another device,
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_graph_buffer(const struct hiplaunch_graph *graph,
                                             const struct hiplaunch_buffer *buffer,
                                             hiplaunch_value *value);

/**
 * Adds a value that is the memory of a view whose elements are contiguous. Values may overlap, as a buffer and a view
 * of it do: which nodes depend on each other is found by their bytes. The view may be closed once the graph is
 * computed or compiled.
 *
 * Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_GRAPH for a view of another device or with gaps between
 * its elements, HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_graph_view(const struct hiplaunch_graph *graph,
                                           const struct hiplaunch_view *view,
                                           hiplaunch_value *value);

/**
 * Adds a temporary of `bytes` bytes: a value that only this graph uses, and which the graph places in its workspace.
 *
 * Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_GRAPH if it is larger than can be addressed,
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_graph_temporary(const struct hiplaunch_graph *graph,
                                                size_t bytes,
                                                hiplaunch_value *value);

/**
 * Adds a value that is a part of another value: `size` bytes, from its byte `offset` on.
 *
 * Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_GRAPH for bytes outside of the value;
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_graph_slice(const struct hiplaunch_graph *graph,
                                            hiplaunch_value of,
                                            size_t offset,
                                            size_t size,
                                            hiplaunch_value *value);

/**
 * Adds an argument block as a value: bytes of the host that kernels read through one pointer. The library writes the
 * addresses of values into them; the patches are in ascending order of their offsets. Computing the graph again with
 * other bytes costs one copy, and no new plan.
 *
 * Ownership: everything is copied. Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_GRAPH for a patch that
 * is outside of the bytes, out of order, or names an argument block; HIPLAUNCH_STATUS_INVALID_HANDLE,
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_graph_argument_block(const struct hiplaunch_graph *graph,
                                                     const void *data,
                                                     size_t size,
                                                     const struct hiplaunch_graph_patch *patches,
                                                     size_t patch_count,
                                                     hiplaunch_value *value);

/**
 * Compiles a recorded graph for a stream: plans it, and allocates its workspace from the pool. Submits nothing.
 *
 * Values and nodes keep their numbers. The compiled graph keeps its buffers' memory, and after hiplaunch_forget_graphs
 * its workspace, too, until it is closed.
 *
 * Ownership: every status closes the graph, so it is never closed afterwards; only a handle that is no open graph
 * stays as it is. The caller closes the compiled graph, or the launcher; buffers, views and the stream may be closed
 * before. Threads: any. Errors: HIPLAUNCH_STATUS_GRAPH, also for a kernel that was unregistered since its launch was
 * recorded; HIPLAUNCH_STATUS_LAUNCH for one that was replaced by a kernel which does not take what was recorded; HIPLAUNCH_STATUS_OUT_OF_MEMORY, HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST,
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_graph_compile(struct hiplaunch_graph *graph,
                                              const struct hiplaunch_stream *stream,
                                              struct hiplaunch_compiled_graph **compiled);

/**
 * Replaces the buffer of a value by another buffer with as many bytes, from the next submission on. Two buffers may be
 * exchanged. Parts of the value (hiplaunch_graph_slice) are then parts of the new buffer.
 *
 * Buffers may overlap differently than before: the next submission then uses another plan, and makes it if there is
 * none.
 *
 * Ownership: the buffer may be closed at once. Threads: any, one after the other. Errors: HIPLAUNCH_STATUS_GRAPH for
 * another number of bytes, a buffer of another device, or a value that is no buffer or view;
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT for a value that does not exist; HIPLAUNCH_STATUS_INVALID_HANDLE. After an error,
 * the value keeps its buffer.
 */
enum hiplaunch_status hiplaunch_compiled_graph_set_buffer(const struct hiplaunch_compiled_graph *compiled,
                                                          hiplaunch_value value,
                                                          const struct hiplaunch_buffer *buffer);

/**
 * Replaces the buffer or view of a value by a view, as hiplaunch_compiled_graph_set_buffer does by a buffer.
 *
 * Ownership: the view may be closed at once. Threads, errors: as hiplaunch_compiled_graph_set_buffer;
 * HIPLAUNCH_STATUS_GRAPH for a view with gaps between its elements.
 */
enum hiplaunch_status hiplaunch_compiled_graph_set_view(const struct hiplaunch_compiled_graph *compiled,
                                                        hiplaunch_value value,
                                                        const struct hiplaunch_view *view);

/**
 * Replaces a scalar or a struct by value among the arguments of a recorded launch, from the next submission on: `size`
 * bytes in memory order, as in `hiplaunch_compiled_graph_set_scalar(compiled, node, 0, &a, sizeof a)`. `argument` is
 * the argument's index, from 0.
 *
 * Ownership: the bytes are copied. Threads: as hiplaunch_compiled_graph_set_buffer. Errors: HIPLAUNCH_STATUS_GRAPH for
 * a node that is no launch or does not exist, and for an argument that is not passed by value; HIPLAUNCH_STATUS_LAUNCH
 * for another size; HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER,
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT. After an error, the argument keeps its value.
 */
enum hiplaunch_status hiplaunch_compiled_graph_set_scalar(const struct hiplaunch_compiled_graph *compiled,
                                                          hiplaunch_node node,
                                                          size_t argument,
                                                          const void *data,
                                                          size_t size);

/**
 * Replaces all bytes of an argument block (hiplaunch_graph_argument_block), from the next submission on. The library
 * writes the addresses of the recorded patches into them as before.
 *
 * Ownership: the bytes are copied. Threads: as hiplaunch_compiled_graph_set_buffer. Errors: HIPLAUNCH_STATUS_GRAPH for
 * another number of bytes, and for a value that is no argument block; HIPLAUNCH_STATUS_INVALID_ARGUMENT for a value
 * that does not exist; HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER. After an error, the block keeps
 * its bytes.
 */
enum hiplaunch_status hiplaunch_compiled_graph_set_argument_block(const struct hiplaunch_compiled_graph *compiled,
                                                                  hiplaunch_value value,
                                                                  const void *data,
                                                                  size_t size);

/**
 * Submits a compiled graph once, on its stream, after everything that was enqueued there. Never waits for the device.
 * In the steady state it allocates nothing. The ticket, which may be null, has an output for each recorded read.
 * `submission` is a hiplaunch_submission.
 *
 * Ownership: the compiled graph stays open, also after an error; the caller closes the ticket. Threads: any; each
 * submission has what was set before it. Errors: HIPLAUNCH_STATUS_GRAPH before anything is submitted: for a kernel
 * that was unregistered since its launch was recorded, and for buffers that overlap where recording would have refused that;
 * HIPLAUNCH_STATUS_LAUNCH, also before, for one that was replaced by a kernel which does not take what was recorded; HIPLAUNCH_STATUS_OUT_OF_MEMORY before anything is submitted; HIPLAUNCH_STATUS_DRIVER if the
 * driver refused a node: the nodes before it run, the others do not; HIPLAUNCH_STATUS_DEVICE_LOST,
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_INVALID_ARGUMENT.
 */
enum hiplaunch_status hiplaunch_compiled_graph_submit(const struct hiplaunch_compiled_graph *compiled,
                                                      uint32_t submission,
                                                      struct hiplaunch_ticket **ticket);

/**
 * Fills `summary`, whose struct_size the caller has set, with what a submission of a compiled graph takes.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_STRUCT_SIZE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_compiled_graph_summarize(const struct hiplaunch_compiled_graph *compiled,
                                                         struct hiplaunch_compiled_graph_summary *summary);

/**
 * Closes a compiled graph. What was submitted runs to its end; its tickets stay open.
 *
 * Threads: any; waits for calls on other threads that use it. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_compiled_graph_close(struct hiplaunch_compiled_graph *compiled);

/**
 * Begins to capture a stream: until hiplaunch_stream_end_capture, launches without host data and results, copies
 * within the device and fills do not run, but become nodes of a graph. Everything else on the stream that would
 * wait, allocate, copy host memory or record an event is refused with HIPLAUNCH_STATUS_CAPTURED or, for launches,
 * HIPLAUNCH_STATUS_LAUNCH, and the capture goes on. `mode` is a hiplaunch_capture_mode.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_DRIVER, also where the driver captures no streams;
 * HIPLAUNCH_STATUS_CAPTURED for a stream that is captured; HIPLAUNCH_STATUS_INVALID_HANDLE,
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_DEVICE_LOST.
 */
enum hiplaunch_status hiplaunch_stream_begin_capture(const struct hiplaunch_stream *stream,
                                                     uint32_t mode);

/**
 * Ends the capture of a stream, and returns its graph.
 *
 * Ownership: the caller closes the graph, or the launcher. Threads: the one that began the capture, or any if it is
 * relaxed. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT if the stream is not captured; HIPLAUNCH_STATUS_DRIVER, with
 * HIP's code 908 on another thread, on which the capture goes on, and 901 if a call broke the capture, which has
 * ended then; HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DEVICE_LOST.
 */
enum hiplaunch_status hiplaunch_stream_end_capture(const struct hiplaunch_stream *stream,
                                                   struct hiplaunch_captured_graph **graph);

/**
 * Whether a stream is captured, also by the owner of an adopted stream.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_stream_is_capturing(const struct hiplaunch_stream *stream,
                                                    bool *capturing);

/**
 * Launches a captured graph on a stream of its device: one driver call. Addresses that the captured launches were
 * given other than by buffers must be valid until it has run. Launches of one graph must be on one stream, or
 * ordered by events.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_INVALID_ARGUMENT for a stream of another
 * device, HIPLAUNCH_STATUS_CAPTURED on a stream that is captured, HIPLAUNCH_STATUS_DRIVER,
 * HIPLAUNCH_STATUS_DEVICE_LOST.
 */
enum hiplaunch_status hiplaunch_captured_graph_launch(const struct hiplaunch_captured_graph *graph,
                                                      const struct hiplaunch_stream *stream);

/**
 * Closes a captured graph. Launches in flight still run, and what the graph keeps is released after them.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_captured_graph_close(struct hiplaunch_captured_graph *graph);

/**
 * Begins the description of a kernel with positions `first` to `last`, both included. Needs no launcher and no device.
 *
 * Ownership: the caller closes it. Threads: any, one after the other. Errors: HIPLAUNCH_STATUS_LDS if there is no
 * position, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_lds_open(uint64_t first,
                                         uint64_t last,
                                         struct hiplaunch_lds_kernel **kernel);

/**
 * Adds a buffer of `size` bytes whose offset is a multiple of `alignment`, a power of two; 0 means 16, which suits
 * every LDS access. `buffer` gets its number: 0 for the first, and so on.
 *
 * Threads: as hiplaunch_lds_open. Errors: HIPLAUNCH_STATUS_LDS for a size of 0, too many bytes, an alignment that is
 * no power of two, or a name that is used already; HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_lds_buffer(const struct hiplaunch_lds_kernel *kernel,
                                           const char *name,
                                           uint64_t size,
                                           uint64_t alignment,
                                           uint32_t *buffer);

/**
 * Adds an alias: another name of a buffer or alias, which may be added later. Both have the same memory. `alias` gets
 * its number; buffers and aliases are numbered together.
 *
 * Threads: as hiplaunch_lds_open. Errors: as hiplaunch_lds_buffer.
 */
enum hiplaunch_status hiplaunch_lds_alias(const struct hiplaunch_lds_kernel *kernel,
                                          const char *name,
                                          const char *of,
                                          uint32_t *alias);

/**
 * Adds an access of the statement at a position to a buffer. `access` is a hiplaunch_lds_access.
 *
 * Threads: as hiplaunch_lds_open. Errors: HIPLAUNCH_STATUS_LDS for a position outside of the kernel;
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT for a buffer or access that does not exist; HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_lds_accesses(const struct hiplaunch_lds_kernel *kernel,
                                             uint32_t buffer,
                                             uint32_t access,
                                             uint64_t position);

/**
 * Adds a workgroup barrier that the kernel has at a position.
 *
 * Threads: as hiplaunch_lds_open. Errors: HIPLAUNCH_STATUS_LDS for a position outside of the kernel;
 * HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_lds_barrier(const struct hiplaunch_lds_kernel *kernel,
                                            uint64_t position);

/**
 * Begins a loop. `who` is a hiplaunch_lds_runs. Loops and branches are begun and ended in the order of their
 * positions.
 *
 * Threads: as hiplaunch_lds_open. Errors: as hiplaunch_lds_barrier, also for a position that is not after the last
 * begin or end; HIPLAUNCH_STATUS_INVALID_ARGUMENT.
 */
enum hiplaunch_status hiplaunch_lds_begin_loop(const struct hiplaunch_lds_kernel *kernel,
                                               uint64_t position,
                                               uint32_t who);

/**
 * Ends the innermost loop. Its body runs again from its begin.
 *
 * Threads: as hiplaunch_lds_open. Errors: as hiplaunch_lds_begin_loop, also if the innermost open loop or branch is no
 * loop.
 */
enum hiplaunch_status hiplaunch_lds_end_loop(const struct hiplaunch_lds_kernel *kernel,
                                             uint64_t position);

/**
 * Begins a branch and its first arm. `who` is a hiplaunch_lds_runs.
 *
 * Threads: as hiplaunch_lds_open. Errors: as hiplaunch_lds_begin_loop.
 */
enum hiplaunch_status hiplaunch_lds_begin_branch(const struct hiplaunch_lds_kernel *kernel,
                                                 uint64_t position,
                                                 uint32_t who);

/**
 * Begins the second arm of the innermost branch.
 *
 * Threads: as hiplaunch_lds_open. Errors: as hiplaunch_lds_begin_loop, also if the innermost open loop or branch is no
 * branch in its first arm.
 */
enum hiplaunch_status hiplaunch_lds_begin_else(const struct hiplaunch_lds_kernel *kernel,
                                               uint64_t position);

/**
 * Ends the innermost branch.
 *
 * Threads: as hiplaunch_lds_open. Errors: as hiplaunch_lds_begin_loop, also if the innermost open loop or branch is no
 * branch.
 */
enum hiplaunch_status hiplaunch_lds_end_branch(const struct hiplaunch_lds_kernel *kernel,
                                               uint64_t position);

/**
 * Closes the description of a kernel. Its layouts stay open.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_lds_close(struct hiplaunch_lds_kernel *kernel);

/**
 * Computes the LDS layout of a kernel from its description so far. A null `goal` means no inserted barriers.
 *
 * Ownership: the caller closes the layout; the description may be continued, or closed. Threads: any. Errors:
 * HIPLAUNCH_STATUS_LDS for a loop or branch without an end, an alias without a buffer, or a goal that can't be
 * reached, whose message says what can; HIPLAUNCH_STATUS_STRUCT_SIZE, HIPLAUNCH_STATUS_INVALID_ARGUMENT,
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_lds_lay_out(const struct hiplaunch_lds_kernel *kernel,
                                            const struct hiplaunch_lds_goal *goal,
                                            struct hiplaunch_lds_layout **layout);

/**
 * Fills `summary`, whose struct_size the caller has set, with the totals of a layout.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_STRUCT_SIZE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_lds_summarize(const struct hiplaunch_lds_layout *layout,
                                              struct hiplaunch_lds_summary *summary);

/**
 * The offset in bytes of the buffer or alias with a number.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT for a buffer that does not exist or is never accessed;
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_lds_offset(const struct hiplaunch_lds_layout *layout,
                                           uint32_t buffer,
                                           uint32_t *offset);

/**
 * The position directly before which barrier `index` must be inserted. Barriers are in program order.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT for a barrier that does not exist;
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_lds_inserted_barrier(const struct hiplaunch_lds_layout *layout,
                                                     uint32_t index,
                                                     uint64_t *before);

/**
 * A layout as a picture of characters, for people.
 *
 * Ownership: the caller closes the text. Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE,
 * HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_lds_picture(const struct hiplaunch_lds_layout *layout,
                                            struct hiplaunch_text **picture);

/**
 * Closes a layout. Kernels that have it keep it.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_lds_layout_close(struct hiplaunch_lds_layout *layout);

/**
 * Plans offsets so that no two buffers that are live together overlap, in as few bytes as possible. `offsets` must
 * have room for buffer_count numbers; `result` may be null. The same problem has the same plan on every machine. Needs
 * no launcher and no device.
 *
 * Ownership: nothing is kept. Threads: any. Errors: HIPLAUNCH_STATUS_OFFSETS for an invalid problem, whose message
 * names buffers as "buffer 3", or for a problem that does not fit its capacity; HIPLAUNCH_STATUS_STRUCT_SIZE,
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_NULL_POINTER. After an error, nothing is written.
 */
enum hiplaunch_status hiplaunch_plan_offsets(const struct hiplaunch_offsets_problem *problem,
                                             uint64_t *offsets,
                                             struct hiplaunch_offsets_result *result);

/**
 * Sets the callback that gets the library's log messages up to a hiplaunch_log_level, for the whole process. It
 * replaces the previous callback, which is not called any more when this function returns. A null callback turns the
 * log off.
 *
 * The callback is called on the thread that logs, also on several threads at once, and may be called while the library
 * holds locks. It must not call the library, throw or jump out.
 *
 * Ownership: `user` belongs to the caller, and must be valid until the callback is replaced. Threads: any. Errors:
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT for a level that does not exist, from within the callback, or in a Rust program
 * that has a logger of its own.
 */
enum hiplaunch_status hiplaunch_set_log(hiplaunch_log_callback callback,
                                        void *user,
                                        uint32_t level);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#ifdef __cplusplus
extern "C" {
#endif

/* Arguments of a launch. */

static inline hiplaunch_arg hiplaunch_arg_scalar(const void *value, size_t size) {
  hiplaunch_arg arg = {HIPLAUNCH_ARG_KIND_SCALAR, 0, 0, NULL, size};
  const unsigned char *from = (const unsigned char *)value;
  size_t i;
  for (i = 0; i < size && i < 8; i++) arg.bits |= (uint64_t)from[i] << (8 * i); /* devices and hosts are little-endian */
  return arg;
}

static inline hiplaunch_arg hiplaunch_arg_bool(bool value) {
  uint8_t byte = value ? 1 : 0;
  return hiplaunch_arg_scalar(&byte, 1);
}
static inline hiplaunch_arg hiplaunch_arg_i8(int8_t value) { return hiplaunch_arg_scalar(&value, sizeof value); }
static inline hiplaunch_arg hiplaunch_arg_u8(uint8_t value) { return hiplaunch_arg_scalar(&value, sizeof value); }
static inline hiplaunch_arg hiplaunch_arg_i16(int16_t value) { return hiplaunch_arg_scalar(&value, sizeof value); }
/* Also the bits of a 16-bit float. */
static inline hiplaunch_arg hiplaunch_arg_u16(uint16_t value) { return hiplaunch_arg_scalar(&value, sizeof value); }
static inline hiplaunch_arg hiplaunch_arg_i32(int32_t value) { return hiplaunch_arg_scalar(&value, sizeof value); }
static inline hiplaunch_arg hiplaunch_arg_u32(uint32_t value) { return hiplaunch_arg_scalar(&value, sizeof value); }
static inline hiplaunch_arg hiplaunch_arg_i64(int64_t value) { return hiplaunch_arg_scalar(&value, sizeof value); }
static inline hiplaunch_arg hiplaunch_arg_u64(uint64_t value) { return hiplaunch_arg_scalar(&value, sizeof value); }
static inline hiplaunch_arg hiplaunch_arg_f32(float value) { return hiplaunch_arg_scalar(&value, sizeof value); }
static inline hiplaunch_arg hiplaunch_arg_f64(double value) { return hiplaunch_arg_scalar(&value, sizeof value); }

/* A struct by value, in memory order. */
static inline hiplaunch_arg hiplaunch_arg_value(const void *value, size_t size) {
  hiplaunch_arg arg = {HIPLAUNCH_ARG_KIND_VALUE, 0, 0, value, size};
  return arg;
}

/* A device address. */
static inline hiplaunch_arg hiplaunch_arg_address(uint64_t address) {
  hiplaunch_arg arg = {HIPLAUNCH_ARG_KIND_ADDRESS, 0, address, NULL, 0};
  return arg;
}

static inline hiplaunch_arg hiplaunch_arg_buffer(const hiplaunch_buffer *buffer) {
  hiplaunch_arg arg = {HIPLAUNCH_ARG_KIND_BUFFER, 0, 0, buffer, 0};
  return arg;
}

static inline hiplaunch_arg hiplaunch_arg_view(const hiplaunch_view *view) {
  hiplaunch_arg arg = {HIPLAUNCH_ARG_KIND_VIEW, 0, 0, view, 0};
  return arg;
}

/* The address of the launch's destination (hiplaunch_launch_options). */
static inline hiplaunch_arg hiplaunch_arg_destination(void) {
  hiplaunch_arg arg = {HIPLAUNCH_ARG_KIND_DESTINATION, 0, 0, NULL, 0};
  return arg;
}

/* Host arrays: one that the kernel reads, one that it reads and writes, and one that it writes. The last two are
 * outputs of the ticket. */
static inline hiplaunch_arg hiplaunch_arg_host_in(const void *data, size_t size) {
  hiplaunch_arg arg = {HIPLAUNCH_ARG_KIND_HOST_IN, 0, 0, data, size};
  return arg;
}

static inline hiplaunch_arg hiplaunch_arg_host_inout(const void *data, size_t size) {
  hiplaunch_arg arg = {HIPLAUNCH_ARG_KIND_HOST_INOUT, 0, 0, data, size};
  return arg;
}

static inline hiplaunch_arg hiplaunch_arg_host_out(size_t size) {
  hiplaunch_arg arg = {HIPLAUNCH_ARG_KIND_HOST_OUT, 0, 0, NULL, size};
  return arg;
}

static inline hiplaunch_arg hiplaunch_arg_argument_block(const hiplaunch_argument_block *block) {
  hiplaunch_arg arg = {HIPLAUNCH_ARG_KIND_ARGUMENT_BLOCK, 0, 0, block, 0};
  return arg;
}

/* Bytes for a parameter of any kind; only their number is checked. */
static inline hiplaunch_arg hiplaunch_arg_raw(const void *data, size_t size) {
  hiplaunch_arg arg = {HIPLAUNCH_ARG_KIND_RAW, 0, 0, data, size};
  return arg;
}

/* Argument blocks: one without patches, arrays and results, whose fields are then set; its patches; its arrays. */

static inline hiplaunch_argument_block hiplaunch_argument_block_of(const void *bytes, size_t size) {
  hiplaunch_argument_block block = {sizeof(hiplaunch_argument_block), bytes, size, NULL, 0, NULL, 0, 0};
  return block;
}

/* At `offset`, the address of the result block; of the array with an index; a device address; that of a buffer. */
static inline hiplaunch_patch hiplaunch_patch_result(size_t offset) {
  hiplaunch_patch patch = {offset, HIPLAUNCH_PATCH_TARGET_RESULT, 0, 0};
  return patch;
}

static inline hiplaunch_patch hiplaunch_patch_array(size_t offset, size_t index) {
  hiplaunch_patch patch = {offset, HIPLAUNCH_PATCH_TARGET_ARRAY, 0, index};
  return patch;
}

static inline hiplaunch_patch hiplaunch_patch_address(size_t offset, uint64_t address) {
  hiplaunch_patch patch = {offset, HIPLAUNCH_PATCH_TARGET_ADDRESS, 0, address};
  return patch;
}

static inline hiplaunch_patch hiplaunch_patch_buffer(size_t offset, const hiplaunch_buffer *buffer) {
  hiplaunch_patch patch = {offset, HIPLAUNCH_PATCH_TARGET_BUFFER, 0, (uint64_t)(uintptr_t)buffer};
  return patch;
}

static inline hiplaunch_array hiplaunch_array_in(const void *data, size_t size) {
  hiplaunch_array array = {HIPLAUNCH_ARG_KIND_HOST_IN, 0, data, size};
  return array;
}

static inline hiplaunch_array hiplaunch_array_inout(const void *data, size_t size) {
  hiplaunch_array array = {HIPLAUNCH_ARG_KIND_HOST_INOUT, 0, data, size};
  return array;
}

static inline hiplaunch_array hiplaunch_array_out(size_t size) {
  hiplaunch_array array = {HIPLAUNCH_ARG_KIND_HOST_OUT, 0, NULL, size};
  return array;
}

/* Arguments of a recorded launch. */

static inline hiplaunch_graph_arg hiplaunch_graph_arg_scalar(const void *value, size_t size) {
  hiplaunch_graph_arg arg = {HIPLAUNCH_GRAPH_ARG_KIND_SCALAR, 0, 0, NULL, size};
  arg.bits = hiplaunch_arg_scalar(value, size).bits;
  return arg;
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_bool(bool value) {
  uint8_t byte = value ? 1 : 0;
  return hiplaunch_graph_arg_scalar(&byte, 1);
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_i8(int8_t v) {
  return hiplaunch_graph_arg_scalar(&v, sizeof v);
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_u8(uint8_t v) {
  return hiplaunch_graph_arg_scalar(&v, sizeof v);
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_i16(int16_t v) {
  return hiplaunch_graph_arg_scalar(&v, sizeof v);
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_u16(uint16_t v) {
  return hiplaunch_graph_arg_scalar(&v, sizeof v);
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_i32(int32_t v) {
  return hiplaunch_graph_arg_scalar(&v, sizeof v);
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_u32(uint32_t v) {
  return hiplaunch_graph_arg_scalar(&v, sizeof v);
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_i64(int64_t v) {
  return hiplaunch_graph_arg_scalar(&v, sizeof v);
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_u64(uint64_t v) {
  return hiplaunch_graph_arg_scalar(&v, sizeof v);
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_f32(float v) {
  return hiplaunch_graph_arg_scalar(&v, sizeof v);
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_f64(double v) {
  return hiplaunch_graph_arg_scalar(&v, sizeof v);
}

/* A struct by value, in memory order. */
static inline hiplaunch_graph_arg hiplaunch_graph_arg_value(const void *value, size_t size) {
  hiplaunch_graph_arg arg = {HIPLAUNCH_GRAPH_ARG_KIND_VALUE, 0, 0, value, size};
  return arg;
}

/* A pointer to bytes that the kernel reads; that it writes, all of them; that it reads and may write. */
static inline hiplaunch_graph_arg hiplaunch_graph_arg_read(hiplaunch_value value) {
  hiplaunch_graph_arg arg = {HIPLAUNCH_GRAPH_ARG_KIND_READ, value, 0, NULL, 0};
  return arg;
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_write(hiplaunch_value value) {
  hiplaunch_graph_arg arg = {HIPLAUNCH_GRAPH_ARG_KIND_WRITE, value, 0, NULL, 0};
  return arg;
}

static inline hiplaunch_graph_arg hiplaunch_graph_arg_read_write(hiplaunch_value value) {
  hiplaunch_graph_arg arg = {HIPLAUNCH_GRAPH_ARG_KIND_READ_WRITE, value, 0, NULL, 0};
  return arg;
}

/* At `offset` of a graph's argument block, the address of a value. */
static inline hiplaunch_graph_patch hiplaunch_graph_patch_value(size_t offset, hiplaunch_value value) {
  hiplaunch_graph_patch patch = {offset, value, 0};
  return patch;
}

/* Dimensions of launches: the grid in workgroups, the block in work-items. Set dynamic_lds where it is not 0. */

static inline hiplaunch_dims hiplaunch_dims_3d(uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, uint32_t block_x,
                                               uint32_t block_y, uint32_t block_z) {
  hiplaunch_dims dims = {{0, 0, 0}, {0, 0, 0}, 0};
  dims.grid[0] = grid_x;
  dims.grid[1] = grid_y;
  dims.grid[2] = grid_z;
  dims.block[0] = block_x;
  dims.block[1] = block_y;
  dims.block[2] = block_z;
  return dims;
}

static inline hiplaunch_dims hiplaunch_dims_2d(uint32_t grid_x, uint32_t grid_y, uint32_t block_x, uint32_t block_y) {
  return hiplaunch_dims_3d(grid_x, grid_y, 1, block_x, block_y, 1);
}

static inline hiplaunch_dims hiplaunch_dims_linear(uint32_t grid, uint32_t block) {
  return hiplaunch_dims_3d(grid, 1, 1, block, 1, 1);
}

/* As many blocks of `block` work-items as `items` need. */
static inline hiplaunch_dims hiplaunch_dims_cover(uint32_t items, uint32_t block) {
  return hiplaunch_dims_linear(block ? items / block + (items % block != 0) : 0, block);
}

/* A launch of `dims` without arguments, for hiplaunch_submit. Set its fields for everything else. */
static inline hiplaunch_launch_options hiplaunch_launch_options_of(hiplaunch_dims dims) {
  hiplaunch_launch_options options = {sizeof(hiplaunch_launch_options), {{0, 0, 0}, {0, 0, 0}, 0}, 0,
                                      NULL, 0, NULL, 0, NULL, NULL, 0, NULL, 0, 0, 0};
  options.dims = dims;
  return options;
}
#ifdef __cplusplus
}
#endif

#endif  /* HIPLAUNCH_H */
