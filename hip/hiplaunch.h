/* hiplaunch: launch compiled HIP kernels by handle, on AMD GPUs or in an embedded emulator of gfx90a and gfx942.
 *
 * Made from the sources under src/capi/ by tests/capi_header.rs; change those.
 *
 *   hiplaunch_launcher *launcher;
 *   if (hiplaunch_open(NULL, &launcher) != HIPLAUNCH_STATUS_OK)
 *     fprintf(stderr, "%s\n", hiplaunch_last_error_message());
 *
 * Errors: every function that can fail returns a hiplaunch_status, and leaves a message, of the calling thread's, in
 * hiplaunch_last_error_message. What it was to write is then as it was.
 *
 * Handles (the pointers to incomplete structs) are never followed: null, unknown and closed handles, and those of other
 * kinds of objects or of another launcher, are HIPLAUNCH_STATUS_INVALID_HANDLE. Closing a launcher closes everything made
 * from it. A handle can be kept, copied and compared as any 64-bit number.
 *
 * Other pointers are looked at during the call only, unless a function says otherwise. Null is an error where a function
 * does not allow it, but for arrays of no elements; otherwise they have to lead to as much as the function says.
 *
 * Versions: structs that begin with struct_size may grow; set it to the struct's sizeof and all else to zero before
 * filling them in. A size that the library does not know is HIPLAUNCH_STATUS_STRUCT_SIZE.
 *
 * Threads: every function may be called from any thread at any time, on the same objects too. A child of a fork must not
 * call the library; it may start a program that does.
 */

#ifndef HIPLAUNCH_H
#define HIPLAUNCH_H


#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The header's version: its first part.
 */
#define HIPLAUNCH_VERSION_MAJOR 0

/**
 * The header's version: its second part.
 */
#define HIPLAUNCH_VERSION_MINOR 1

/**
 * The header's version: its third part.
 */
#define HIPLAUNCH_VERSION_PATCH 0

/**
 * What a function returns. Anything but HIPLAUNCH_STATUS_OK has a message: hiplaunch_last_error_message.
 */
typedef enum hiplaunch_status {
  /**
   * Done.
   */
  HIPLAUNCH_STATUS_OK = 0,
  /**
   * A pointer is null that may not be.
   */
  HIPLAUNCH_STATUS_NULL_POINTER = 1,
  /**
   * A handle is null, of no object, of an object of another kind or of another launcher, or was closed.
   */
  HIPLAUNCH_STATUS_INVALID_HANDLE = 2,
  /**
   * A struct's struct_size is of no version of this library.
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
   * Device or pinned host memory ran out. Everything that was held is held still.
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
   * A kernel faulted earlier, and the device is lost: every later call on it fails so. The message says how to go on:
   * with the emulator a new launcher works in the same process, with HIP it takes a new process.
   */
  HIPLAUNCH_STATUS_DEVICE_LOST = 10,
  /**
   * A graph can't be recorded or computed.
   */
  HIPLAUNCH_STATUS_GRAPH = 11,
  /**
   * What a kernel does with its LDS is not told rightly, or does not fit.
   */
  HIPLAUNCH_STATUS_LDS = 12,
  /**
   * A planning problem is not stated rightly, or has no plan within its capacity.
   */
  HIPLAUNCH_STATUS_OFFSETS = 13,
  /**
   * This build of the library was made without what the call needs.
   */
  HIPLAUNCH_STATUS_UNSUPPORTED = 14,
  /**
   * A fault of this library; please report it.
   */
  HIPLAUNCH_STATUS_INTERNAL = 15,
  /**
   * There is no compiler that can be used, or none that knows the target; the message says what to install.
   */
  HIPLAUNCH_STATUS_NO_COMPILER = 16,
  /**
   * The source was not compiled; the message has the compiler's log.
   */
  HIPLAUNCH_STATUS_COMPILE = 17,
} hiplaunch_status;

/**
 * What an argument of a launch is. Which fields of hiplaunch_arg count, besides kind, follows in parentheses.
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
   * A device address for a pointer parameter. What uses it is not noticed. (bits)
   */
  HIPLAUNCH_ARG_KIND_ADDRESS = 2,
  /**
   * A hiplaunch_buffer for a pointer parameter: `data` is its handle. It may be closed as soon as the launch returned.
   * (data)
   */
  HIPLAUNCH_ARG_KIND_BUFFER = 3,
  /**
   * A hiplaunch_view for a pointer parameter, the address of its first element: `data` is its handle. (data)
   */
  HIPLAUNCH_ARG_KIND_VIEW = 4,
  /**
   * Where the launch's destination goes (hiplaunch_launch_options).
   */
  HIPLAUNCH_ARG_KIND_DESTINATION = 5,
  /**
   * A host array that the kernel reads. Copied at the call. (data, size)
   */
  HIPLAUNCH_ARG_KIND_HOST_IN = 6,
  /**
   * A host array that the kernel reads and writes: copied at the call, and an output of the ticket. (data, size)
   */
  HIPLAUNCH_ARG_KIND_HOST_INOUT = 7,
  /**
   * Room that the kernel writes: an output of the ticket. (size)
   */
  HIPLAUNCH_ARG_KIND_HOST_OUT = 8,
  /**
   * An argument block for a pointer parameter: `data` is a hiplaunch_argument_block*. (data)
   */
  HIPLAUNCH_ARG_KIND_ARGUMENT_BLOCK = 9,
  /**
   * Bytes for a parameter of any kind, checked for size alone. (data, size)
   */
  HIPLAUNCH_ARG_KIND_RAW = 10,
} hiplaunch_arg_kind;

/**
 * Which driver to open.
 */
typedef enum hiplaunch_backend {
  /**
   * HIP if its library loads and finds a device, else the emulator; HIPLAUNCH_BACKEND in the environment overrides it.
   */
  HIPLAUNCH_BACKEND_AUTO = 0,
  /**
   * AMD GPUs through libamdhip64, which is loaded.
   */
  HIPLAUNCH_BACKEND_HIP = 1,
  /**
   * The embedded emulator of gfx90a and gfx942.
   */
  HIPLAUNCH_BACKEND_EMULATOR = 2,
} hiplaunch_backend;

/**
 * What an argument of a recorded launch is. Which fields of hiplaunch_graph_arg count, besides kind, follows in parentheses.
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
   * A pointer to bytes all of which the kernel writes and none of which it reads. (value)
   */
  HIPLAUNCH_GRAPH_ARG_KIND_WRITE = 3,
  /**
   * A pointer to bytes that the kernel reads and may write. (value)
   */
  HIPLAUNCH_GRAPH_ARG_KIND_READ_WRITE = 4,
} hiplaunch_graph_arg_kind;

/**
 * What a statement does with a buffer.
 */
typedef enum hiplaunch_lds_access {
  /**
   * Reads it.
   */
  HIPLAUNCH_LDS_ACCESS_READ = 0,
  /**
   * Writes it, and nothing that was in it before matters any more.
   */
  HIPLAUNCH_LDS_ACCESS_WRITE = 1,
  /**
   * Reads and writes it, or writes a part of it.
   */
  HIPLAUNCH_LDS_ACCESS_UPDATE = 2,
} hiplaunch_lds_access;

/**
 * What a layout is to reach.
 */
typedef enum hiplaunch_lds_goal_kind {
  /**
   * What is possible with the barriers that the kernel has.
   */
  HIPLAUNCH_LDS_GOAL_KIND_AS_IT_IS = 0,
  /**
   * At most `bytes`, with the fewest barriers more.
   */
  HIPLAUNCH_LDS_GOAL_KIND_WITHIN = 1,
  /**
   * `workgroups` workgroups on a compute unit of `processor`, each with `static_lds` bytes besides, with the fewest
   * barriers more.
   */
  HIPLAUNCH_LDS_GOAL_KIND_OCCUPANCY = 2,
} hiplaunch_lds_goal_kind;

/**
 * Who runs a loop's body, or a branch's arms.
 */
typedef enum hiplaunch_lds_runs {
  /**
   * Work-items of one workgroup may differ. Barriers inside do not count, and none is inserted there.
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
 * How grave a message is; each level has those before it too.
 */
typedef enum hiplaunch_log_level {
  /**
   * Nothing.
   */
  HIPLAUNCH_LOG_LEVEL_OFF = 0,
  /**
   * What could not be done.
   */
  HIPLAUNCH_LOG_LEVEL_ERROR = 1,
  /**
   * What went wrong and could be borne, such as a leak.
   */
  HIPLAUNCH_LOG_LEVEL_WARN = 2,
  /**
   * Which driver was chosen and why.
   */
  HIPLAUNCH_LOG_LEVEL_INFO = 3,
  /**
   * What is of use for finding a fault.
   */
  HIPLAUNCH_LOG_LEVEL_DEBUG = 4,
  /**
   * Everything.
   */
  HIPLAUNCH_LOG_LEVEL_TRACE = 5,
} hiplaunch_log_level;

/**
 * Which address a patch writes.
 */
typedef enum hiplaunch_patch_target {
  /**
   * The result block's.
   */
  HIPLAUNCH_PATCH_TARGET_RESULT = 0,
  /**
   * That of the array whose index is `value`.
   */
  HIPLAUNCH_PATCH_TARGET_ARRAY = 1,
  /**
   * The device address `value`.
   */
  HIPLAUNCH_PATCH_TARGET_ADDRESS = 2,
  /**
   * That of the hiplaunch_buffer whose handle, as a number, is `value`; it may be closed as soon as the launch returned.
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
   * hipMalloc for segments, which the pool cuts into blocks and keeps.
   */
  HIPLAUNCH_POOL_BACKEND_CACHING = 1,
  /**
   * hipMallocAsync for every block.
   */
  HIPLAUNCH_POOL_BACKEND_STREAM_ORDERED = 2,
  /**
   * hipMalloc and hipFree for every block.
   */
  HIPLAUNCH_POOL_BACKEND_PLAIN = 3,
} hiplaunch_pool_backend;

/**
 * How host data reach the kernel.
 */
typedef enum hiplaunch_staging {
  /**
   * Copied to device scratch and back: right for what the kernel touches more than once.
   */
  HIPLAUNCH_STAGING_COPY = 0,
  /**
   * The kernel reads and writes pinned host memory itself: no copies, right for small data touched once.
   */
  HIPLAUNCH_STAGING_MAPPED = 1,
} hiplaunch_staging;

/**
 * How a graph reaches the device. The results are the same to the last bit.
 */
typedef enum hiplaunch_submission {
  /**
   * Whichever pays.
   */
  HIPLAUNCH_SUBMISSION_AUTO = 0,
  /**
   * One driver call a node, with nothing between.
   */
  HIPLAUNCH_SUBMISSION_STREAM = 1,
  /**
   * One driver call: hipGraphLaunch.
   */
  HIPLAUNCH_SUBMISSION_DRIVER_GRAPH = 2,
} hiplaunch_submission;

/**
 * A choice that the environment makes where the program does not.
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
 * Device memory from the device's pool, which goes back there when the buffer is closed and what uses it has finished.
 */
typedef struct hiplaunch_buffer hiplaunch_buffer;

/**
 * A code object that was compiled, now or earlier.
 */
typedef struct hiplaunch_compiled hiplaunch_compiled;

/**
 * A place in the order of a stream, which other streams and the host can wait for.
 */
typedef struct hiplaunch_event hiplaunch_event;

/**
 * A graph that is being recorded: kernels, copies and fills over buffers and temporaries, submitted as one. What is
 * recorded again with other buffers and scalars finds its plan.
 */
typedef struct hiplaunch_graph hiplaunch_graph;

/**
 * A registered kernel.
 */
typedef struct hiplaunch_kernel hiplaunch_kernel;

/**
 * A driver and its devices, with the kernels that are registered there. Everything else is made from one, and is closed
 * with it.
 */
typedef struct hiplaunch_launcher hiplaunch_launcher;

/**
 * What a kernel that is being generated does with its LDS: buffers, accesses, barriers, loops and branches, each at a
 * position. Positions number the kernel's statements in program order.
 */
typedef struct hiplaunch_lds_kernel hiplaunch_lds_kernel;

/**
 * Where each buffer of a kernel goes in its dynamic LDS, and which barriers its code has to have besides its own.
 */
typedef struct hiplaunch_lds_layout hiplaunch_lds_layout;

/**
 * Pinned host memory, which kernels can access and which copies use without waiting.
 */
typedef struct hiplaunch_pinned hiplaunch_pinned;

/**
 * A stream of a device: work on it runs in the order of the calls.
 */
typedef struct hiplaunch_stream hiplaunch_stream;

/**
 * A text made by the library.
 */
typedef struct hiplaunch_text hiplaunch_text;

/**
 * The results of one launch, one graph or one read: its inout and out arrays and result blocks, in the order of the
 * arguments, or what the graph's reads named.
 */
typedef struct hiplaunch_ticket hiplaunch_ticket;

/**
 * Elements of a buffer, with an offset, a shape and strides of their own. Another owner of the same memory: the buffer
 * may be closed, or given other memory, and the view is good still.
 */
typedef struct hiplaunch_view hiplaunch_view;

/**
 * How to open a launcher. Set struct_size to sizeof(hiplaunch_options) and the rest to zero: that is the default of all.
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
   * A hiplaunch_switch: the validation layer, which checks lifetimes and the order of work, and counts driver calls.
   * HIPLAUNCH_VALIDATE=1 in the environment is what the default asks.
   */
  uint32_t validate;
  /**
   * Bytes of a segment of each stream's pinned staging ring; 0 for 256 KiB.
   */
  size_t staging_buffer_bytes;
  /**
   * Most segments of a ring, each allocated when first needed; 0 for 4.
   */
  size_t max_staging_buffers;
  /**
   * A hiplaunch_pool_backend.
   */
  uint32_t pool;
  /**
   * Devices of the emulator, where that is opened, 1 to 64; 0 for as many as HIPLAUNCH_EMULATOR_DEVICES says, or 1.
   * Must be 0 with HIPLAUNCH_BACKEND_HIP.
   */
  uint32_t emulator_devices;
  /**
   * Most bytes that each device's pool holds from the driver; 0 for as many as the device has.
   */
  uint64_t pool_cap;
  /**
   * Bytes held above which cached memory goes back to the driver; 0 for never.
   */
  uint64_t pool_soft_target;
  /**
   * What the emulator's devices are, where that is opened: "gfx90a" or "gfx942"; null for gfx90a. With
   * HIPLAUNCH_BACKEND_AUTO and "gfx942" the launcher has a GPU if there is one, else an emulated gfx942. Must be null
   * with HIPLAUNCH_BACKEND_HIP. Not kept.
   */
  const char *emulator_target;
} hiplaunch_options;

/**
 * What a device is and what a launch on it must respect. Texts are UTF-8, cut to their arrays, and end with a NUL.
 */
typedef struct hiplaunch_device_properties {
  /**
   * sizeof(hiplaunch_device_properties), set by the caller.
   */
  size_t struct_size;
  /**
   * Marketing name.
   */
  char name[256];
  /**
   * What code objects are compiled for, with its settings: "gfx90a:sramecc+:xnack-".
   */
  char target[64];
  /**
   * The target's processor alone: "gfx90a".
   */
  char processor[32];
  /**
   * PCI address, or "emulated".
   */
  char pci_bus_id[32];
  /**
   * Bytes of device memory.
   */
  uint64_t total_memory;
  /**
   * Compute units.
   */
  uint32_t compute_units;
  /**
   * Work-items of a wavefront.
   */
  uint32_t wavefront_size;
  /**
   * Most work-items of a workgroup.
   */
  uint32_t max_threads_per_block;
  /**
   * Most bytes of LDS of a workgroup, static and dynamic together.
   */
  uint32_t max_lds_per_block;
  /**
   * Most work-items of a workgroup in x, y and z.
   */
  uint32_t max_block[3];
  /**
   * Most workgroups of a grid in x, y and z.
   */
  uint32_t max_grid[3];
  /**
   * Core clock in kHz; 0 when not known.
   */
  uint32_t clock_khz;
  /**
   * Whether the device is lost to a fault: 0 or 1.
   */
  uint32_t is_lost;
} hiplaunch_device_properties;

/**
 * What a launcher holds and did.
 */
typedef struct hiplaunch_counters {
  /**
   * sizeof(hiplaunch_counters), set by the caller.
   */
  size_t struct_size;
  /**
   * Kernels that are registered.
   */
  uint64_t kernels;
  /**
   * Programs of graphs that are kept.
   */
  uint64_t graph_programs;
  /**
   * Computes of graphs that found their program.
   */
  uint64_t graph_hits;
  /**
   * Computes of graphs that had to plan.
   */
  uint64_t graph_misses;
  /**
   * Bytes of device memory held from the driver, on all devices.
   */
  uint64_t device_bytes;
  /**
   * Bytes of pinned host memory held, for all devices.
   */
  uint64_t pinned_bytes;
  /**
   * Whether the validation layer is on: 0 or 1. What follows is 0 without it.
   */
  uint64_t validated;
  /**
   * Driver calls that do something with a device.
   */
  uint64_t driver_calls;
  /**
   * Misuses that the validation layer found.
   */
  uint64_t violations;
} hiplaunch_counters;

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
   * What stands in the source's #include.
   */
  const char *name;
  /**
   * The header.
   */
  const char *text;
} hiplaunch_include;

/**
 * How to compile. Set struct_size to sizeof(hiplaunch_compile_options) and the rest to zero: that is the default of all.
 */
typedef struct hiplaunch_compile_options {
  /**
   * sizeof(hiplaunch_compile_options).
   */
  size_t struct_size;
  /**
   * What the source is called in the compiler's messages; null for "kernel.hip".
   */
  const char *name;
  /**
   * Options of clang, such as "-O3" or "-DN=4"; the target's is given already.
   */
  const char *const *options;
  /**
   * How many.
   */
  size_t option_count;
  /**
   * Headers that the source may include.
   */
  const struct hiplaunch_include *includes;
  /**
   * How many.
   */
  size_t include_count;
  /**
   * The folder in which compiled code objects are kept; "off" for none; null for the process's: that of
   * HIPLAUNCH_CACHE_DIR in the environment, else hiplaunch in the user's folder for caches.
   */
  const char *cache_folder;
  /**
   * Most bytes kept in cache_folder; 0 for 256 MiB. Of the process's cache that is not asked.
   */
  uint64_t cache_limit;
} hiplaunch_compile_options;

/**
 * Grid, block and dynamic LDS of a launch.
 */
typedef struct hiplaunch_dims {
  /**
   * Workgroups in x, y and z; 0 in any axis launches nothing.
   */
  uint32_t grid[3];
  /**
   * Work-items of a workgroup in x, y and z.
   */
  uint32_t block[3];
  /**
   * Dynamic LDS of a workgroup in bytes. With 0, a kernel that has a layout gets what that needs.
   */
  uint32_t dynamic_lds;
} hiplaunch_dims;

/**
 * One argument of a launch, in the order of the kernel's parameters. The functions hiplaunch_arg_f32 and so on make them.
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
 * One launch: its dimensions, its arguments, and how host data and the result travel. Set struct_size to
 * sizeof(hiplaunch_launch_options), the rest to zero, and then what differs from that; all parts combine.
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
   * How many.
   */
  size_t arg_count;
  /**
   * Arguments packed by the caller, instead of `args`: the kernarg segment from its start to the end of the last
   * explicit argument, at the metadata's offsets. A struct with the arguments as its fields will do, packed_size being
   * its sizeof: bytes behind the last explicit argument are ignored, up to the kernarg segment's size or the struct's
   * padding, whichever ends later. Hidden arguments are never taken from them. Null for `args`.
   */
  const void *packed;
  /**
   * How many bytes.
   */
  size_t packed_size;
  /**
   * A buffer for the result, or null. Where it has room for the result on the stream's device it is used as it is, and
   * only its length changes; otherwise it gets new memory, and the old goes back in stream order. An input in the
   * destination's memory is refused, unless the kernel is declared in place and both begin at the same byte. After an
   * error the buffer is as it was.
   */
  const struct hiplaunch_buffer *destination;
  /**
   * A view for the result instead, or null: it stays where it is, and is refused unless contiguous, of exactly the
   * result's shape and size of elements, on the stream's device.
   */
  const struct hiplaunch_view *destination_view;
  /**
   * With packed arguments, which parameter takes the destination's address, counted from 0; what `packed` has there is
   * ignored. Among `args`, the one that is HIPLAUNCH_ARG_KIND_DESTINATION takes it.
   */
  size_t destination_parameter;
  /**
   * The result's extents, outermost first.
   */
  const size_t *shape;
  /**
   * How many.
   */
  size_t rank;
  /**
   * Bytes of an element of the result.
   */
  size_t element;
} hiplaunch_launch_options;

/**
 * What a pool holds, in bytes, and what it did. See PoolCounters of the Rust library.
 */
typedef struct hiplaunch_pool_stats {
  /**
   * sizeof(hiplaunch_pool_stats), set by the caller.
   */
  size_t struct_size;
  /**
   * Bytes that the owners of live blocks asked for.
   */
  uint64_t requested;
  /**
   * Bytes of live blocks.
   */
  uint64_t in_use;
  /**
   * Bytes of freed blocks that other streams may still use.
   */
  uint64_t held_back;
  /**
   * Bytes free for the next request.
   */
  uint64_t cached;
  /**
   * Bytes held from the driver: in use, held back and cached.
   */
  uint64_t reserved;
  /**
   * Most bytes held from the driver at once.
   */
  uint64_t peak_reserved;
  /**
   * Sum of each stream's most bytes in use at once.
   */
  uint64_t peak_in_use;
  /**
   * Bytes of the largest free block.
   */
  uint64_t largest_free;
  /**
   * Requests served from what the stream had.
   */
  uint64_t hits;
  /**
   * Requests that needed more than that.
   */
  uint64_t misses;
  /**
   * Misses served with another stream's memory.
   */
  uint64_t steals;
  /**
   * Blocks given back.
   */
  uint64_t frees;
  /**
   * Blocks that are live.
   */
  uint64_t live_blocks;
  /**
   * Segments held from the driver.
   */
  uint64_t segments;
  /**
   * The pool's own driver calls.
   */
  uint64_t driver_calls;
} hiplaunch_pool_stats;

/**
 * Bytes that nodes of one graph read and write, as a number of that graph's: 0 for its first value, and so on.
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
 * Eight bytes of a graph's block in which a value's address is written.
 */
typedef struct hiplaunch_graph_patch {
  /**
   * Where in the block, in bytes.
   */
  size_t offset;
  /**
   * The value.
   */
  hiplaunch_value value;
  /**
   * 0.
   */
  uint32_t reserved;
} hiplaunch_graph_patch;

/**
 * What a layout is to reach. Set struct_size to sizeof(hiplaunch_lds_goal) and what does not count to zero.
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
   * For HIPLAUNCH_LDS_GOAL_KIND_OCCUPANCY: workgroups on a compute unit.
   */
  uint32_t workgroups;
  /**
   * For HIPLAUNCH_LDS_GOAL_KIND_OCCUPANCY: bytes of static LDS of each.
   */
  uint32_t static_lds;
  /**
   * 0.
   */
  uint32_t reserved;
  /**
   * For HIPLAUNCH_LDS_GOAL_KIND_WITHIN: the most bytes.
   */
  uint64_t bytes;
  /**
   * For HIPLAUNCH_LDS_GOAL_KIND_OCCUPANCY: "gfx90a", "gfx942", "gfx950".
   */
  const char *processor;
} hiplaunch_lds_goal;

/**
 * What a layout says as a whole.
 */
typedef struct hiplaunch_lds_summary {
  /**
   * sizeof(hiplaunch_lds_summary), set by the caller.
   */
  size_t struct_size;
  /**
   * Bytes of dynamic LDS that a launch needs.
   */
  uint32_t total;
  /**
   * No layout with these barriers needs less than so many bytes.
   */
  uint32_t lower_bound;
  /**
   * Barriers to insert.
   */
  uint32_t barriers;
  /**
   * Whether it is proved that fewer barriers do not do: 0 or 1.
   */
  uint32_t is_fewest;
} hiplaunch_lds_summary;

/**
 * A buffer to place.
 */
typedef struct hiplaunch_offsets_buffer {
  /**
   * Bytes; not 0.
   */
  uint64_t size;
  /**
   * Its offset is a multiple of this many bytes, a power of two; 0 stands for 1.
   */
  uint64_t alignment;
  /**
   * First position at which it holds something.
   */
  uint64_t first;
  /**
   * Last position at which it holds something, included.
   */
  uint64_t last;
  /**
   * The offset that it has to have, where has_fixed is 1.
   */
  uint64_t fixed;
  /**
   * 0 or 1.
   */
  uint32_t has_fixed;
  /**
   * 0.
   */
  uint32_t reserved;
} hiplaunch_offsets_buffer;

/**
 * Two buffers of which the later may begin at the first byte of the earlier, although both are live at the one position
 * that reads the one and writes the other.
 */
typedef struct hiplaunch_offsets_pair {
  /**
   * Index of the buffer that ends there.
   */
  size_t earlier;
  /**
   * Index of the buffer that begins there.
   */
  size_t later;
} hiplaunch_offsets_pair;

/**
 * A planning problem. Set struct_size to sizeof(hiplaunch_offsets_problem) and what is not needed to zero.
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
   * How many.
   */
  size_t buffer_count;
  /**
   * Buffers that may share.
   */
  const struct hiplaunch_offsets_pair *pairs;
  /**
   * How many pairs.
   */
  size_t pair_count;
  /**
   * Most bytes in all; 0 for any.
   */
  uint64_t capacity;
  /**
   * Nodes that the exact search may visit; 0 for 20,000, which take a fraction of a second at most.
   */
  uint64_t search_nodes;
} hiplaunch_offsets_problem;

/**
 * What a plan reached.
 */
typedef struct hiplaunch_offsets_result {
  /**
   * sizeof(hiplaunch_offsets_result), set by the caller.
   */
  size_t struct_size;
  /**
   * Where the last buffer ends, in bytes.
   */
  uint64_t total;
  /**
   * No plan has a smaller total than this.
   */
  uint64_t lower_bound;
} hiplaunch_offsets_result;

/**
 * Gets a message: `user` as it was given, the hiplaunch_log_level, the module that says it, and the text, both UTF-8 and
 * good during the call only.
 */
typedef void (*hiplaunch_log_callback)(void *user,
                                       uint32_t level,
                                       const char *module,
                                       const char *message);

/**
 * Eight bytes of a block in which the runtime writes a device address.
 */
typedef struct hiplaunch_patch {
  /**
   * Where in the block, in bytes.
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
 * Host data that patches of a block refer to.
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
   * The host's bytes; not looked at for HIPLAUNCH_ARG_KIND_HOST_OUT.
   */
  const void *data;
  /**
   * How many.
   */
  size_t size;
} hiplaunch_array;

/**
 * An argument block: bytes that a kernel sees through one pointer, with addresses that the runtime writes in. The kernel
 * must not write the block itself.
 */
typedef struct hiplaunch_argument_block {
  /**
   * sizeof(hiplaunch_argument_block).
   */
  size_t struct_size;
  /**
   * The block as the kernel sees it; bytes under a patch are ignored.
   */
  const void *bytes;
  /**
   * How many.
   */
  size_t size;
  /**
   * Patches, in ascending order of their offsets and not overlapping.
   */
  const struct hiplaunch_patch *patches;
  /**
   * How many.
   */
  size_t patch_count;
  /**
   * Further host data.
   */
  const struct hiplaunch_array *arrays;
  /**
   * How many.
   */
  size_t array_count;
  /**
   * Bytes of the result block, which is the last of the block's outputs; 0 for none.
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
 * The library's version as one number, `major << 16 | minor << 8 | patch`, to be compared with the header's
 * HIPLAUNCH_VERSION_MAJOR and its like. Threads: any.
 */
uint32_t hiplaunch_version_number(void);

/**
 * The status of this thread's last call that failed; HIPLAUNCH_STATUS_OK if none has. A call that succeeds leaves it.
 */
enum hiplaunch_status hiplaunch_last_error(void);

/**
 * HIP's error code (hipError_t) of this thread's last call that failed; 0 where no driver call was what failed.
 */
int32_t hiplaunch_last_driver_code(void);

/**
 * What went wrong in this thread's last call that failed, as UTF-8: the function, what it was about and what to do.
 * Empty if none has failed. Never null. The text belongs to the library; it is good until the thread's next call that
 * fails, or hiplaunch_clear_last_error, or the end of the thread.
 */
const char *hiplaunch_last_error_message(void);

/**
 * Forgets this thread's last error.
 */
void hiplaunch_clear_last_error(void);

/**
 * A status in words, for messages: `"invalid handle"`. Never null, also for a number that is no status; the text is
 * static.
 */
const char *hiplaunch_status_name(int32_t status);

/**
 * Opens a driver with all of its devices. `options` may be null: the default of all.
 *
 * Ownership: the caller closes the launcher (hiplaunch_close). Threads: any. Errors: HIPLAUNCH_STATUS_NO_DRIVER, whose
 * message lists what was tried; HIPLAUNCH_STATUS_STRUCT_SIZE; HIPLAUNCH_STATUS_INVALID_ARGUMENT;
 * HIPLAUNCH_STATUS_UNSUPPORTED for the emulator's settings in a build without it.
 */
enum hiplaunch_status hiplaunch_open(const struct hiplaunch_options *options,
                                     struct hiplaunch_launcher **launcher);

/**
 * Closes a launcher and everything made from it: tickets, graphs that are being recorded, views, buffers, events,
 * kernels and streams, whose handles are refused from now on. Waits for the streams' work, and for calls of other
 * threads that launch with these objects or have one to themselves.
 *
 * Ownership: results that hiplaunch_ticket_output gave are gone. Layouts of LDS and texts are no launcher's and stay.
 * Threads: any; calls of others that are under way end well, and what they make is closed too. Errors:
 * HIPLAUNCH_STATUS_INVALID_HANDLE, a second close among them.
 */
enum hiplaunch_status hiplaunch_close(struct hiplaunch_launcher *launcher);

/**
 * How many devices a launcher has; their ordinals count from 0.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_device_count(const struct hiplaunch_launcher *launcher,
                                             uint32_t *count);

/**
 * Fills `properties`, whose struct_size the caller has set.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE; HIPLAUNCH_STATUS_INVALID_ARGUMENT for an ordinal that there is
 * not; HIPLAUNCH_STATUS_STRUCT_SIZE; HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_get_device_properties(const struct hiplaunch_launcher *launcher,
                                                      uint32_t device,
                                                      struct hiplaunch_device_properties *properties);

/**
 * Which driver a launcher uses, and below that one line for each that was tried before and why it was not taken.
 *
 * Ownership: the caller closes the text. Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE,
 * HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_describe_driver(const struct hiplaunch_launcher *launcher,
                                                struct hiplaunch_text **text);

/**
 * Fills `counters`, whose struct_size the caller has set.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_STRUCT_SIZE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_get_counters(const struct hiplaunch_launcher *launcher,
                                             struct hiplaunch_counters *counters);

/**
 * How often the driver call of a name was made, in HIP's words: "hipMalloc", "hipModuleLaunchKernel".
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE; HIPLAUNCH_STATUS_INVALID_ARGUMENT without the validation layer,
 * or for a name that is no call's; HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_count_driver_calls(const struct hiplaunch_launcher *launcher,
                                                   const char *name,
                                                   uint64_t *count);

/**
 * The misuses that the validation layer found, one a line, each told once; an empty text where there are none or the
 * layer is off.
 *
 * Ownership: the caller closes the text. Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE,
 * HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_take_violations(const struct hiplaunch_launcher *launcher,
                                                struct hiplaunch_text **text);

/**
 * The characters of a text: UTF-8, with a NUL at the end. `length`, which may be null, gets the bytes before that.
 *
 * Ownership: the characters belong to the text, and are good until it is closed. Threads: any. Errors:
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
 * Makes a stream on a device. Streams never synchronize with HIP's null stream.
 *
 * Ownership: the caller closes it, or the launcher. Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE,
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DRIVER,
 * HIPLAUNCH_STATUS_DEVICE_LOST.
 */
enum hiplaunch_status hiplaunch_stream_open(const struct hiplaunch_launcher *launcher,
                                            uint32_t device,
                                            struct hiplaunch_stream **stream);

/**
 * As hiplaunch_stream_open, with one of HIP's priorities: lower is more urgent.
 *
 * Ownership, threads and errors: as hiplaunch_stream_open.
 */
enum hiplaunch_status hiplaunch_stream_open_with_priority(const struct hiplaunch_launcher *launcher,
                                                          uint32_t device,
                                                          int32_t priority,
                                                          struct hiplaunch_stream **stream);

/**
 * Closes a stream. Waits for its work, unless tickets are open, which keep it until then.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_stream_close(struct hiplaunch_stream *stream);

/**
 * Waits for all work on a stream.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_DEVICE_LOST when a kernel faulted; HIPLAUNCH_STATUS_DRIVER,
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
 * Waits for a stream, frees its scratch, and gives its device's cached memory to the driver; the next launches allocate
 * it again.
 *
 * Threads: any. Errors: as hiplaunch_stream_synchronize.
 */
enum hiplaunch_status hiplaunch_stream_trim(const struct hiplaunch_stream *stream);

/**
 * Makes an event on a device; `timing` lets hiplaunch_event_elapsed use it, and costs more.
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
 * Closes an event. Streams that wait for it go on waiting.
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
 * Makes what is enqueued on a stream from now on wait for an event's last record, which may be on another device.
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
 * Milliseconds from one event's record to another's; both made with `timing`, and reached.
 *
 * Threads: any. Errors: as hiplaunch_event_is_reached.
 */
enum hiplaunch_status hiplaunch_event_elapsed(const struct hiplaunch_event *start,
                                              const struct hiplaunch_event *end,
                                              float *milliseconds);

/**
 * Allocates a buffer of a device; what it holds is undefined. 0 bytes allocate nothing.
 *
 * On a stream, the memory is for that stream's work, and where the pool has some no device call is made. Another stream
 * has to wait for that one before it uses the buffer; that it does is noticed by launches that take the buffer as an
 * argument, and by copies, so that closing it is safe at any time. With a null `stream` any stream may use it at once.
 *
 * Ownership: the caller closes it, or the launcher. Threads: any. Errors: HIPLAUNCH_STATUS_OUT_OF_MEMORY,
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT for a device that there is not or a stream of another one,
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST.
 */
enum hiplaunch_status hiplaunch_buffer_open(const struct hiplaunch_launcher *launcher,
                                            uint32_t device,
                                            const struct hiplaunch_stream *stream,
                                            size_t bytes,
                                            struct hiplaunch_buffer **buffer);

/**
 * Closes a buffer. The memory goes back in stream order; never waits for that. Views keep it until they are closed too.
 *
 * Threads: any; waits for calls of others that use the buffer. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_buffer_close(struct hiplaunch_buffer *buffer);

/**
 * Bytes of a buffer.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_buffer_size(const struct hiplaunch_buffer *buffer, size_t *bytes);

/**
 * The device address of a buffer; 0 while it has no memory. What uses the bare address is not noticed: keep a buffer of
 * a stream until launches on other streams that use its address have finished, or say so (hiplaunch_buffer_record_use).
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_buffer_address(const struct hiplaunch_buffer *buffer,
                                               uint64_t *address);

/**
 * Says that work on a stream uses a buffer by its bare address: when it is closed, its memory is held back until
 * everything enqueued there by then has finished.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_buffer_record_use(const struct hiplaunch_buffer *buffer,
                                                  const struct hiplaunch_stream *stream);

/**
 * Makes a buffer `bytes` long, for work enqueued on `stream` from now on. Where there is room, only the length changes;
 * otherwise it gets new memory, whose contents are undefined, and the old goes back in stream order. `moved`, which may
 * be null, says which.
 *
 * Threads: any. Errors: as hiplaunch_buffer_open; the buffer is then as it was.
 */
enum hiplaunch_status hiplaunch_buffer_resize(const struct hiplaunch_buffer *buffer,
                                              const struct hiplaunch_stream *stream,
                                              size_t bytes,
                                              bool *moved);

/**
 * Copies `size` bytes of the host to a buffer, from its byte `offset` on, in stream order. Does not wait for the stream's
 * work where the driver does not.
 *
 * Ownership: `data` may be reused when this returns. Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT when that
 * leaves the buffer or the stream is another device's; HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER,
 * HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST.
 */
enum hiplaunch_status hiplaunch_buffer_upload(const struct hiplaunch_buffer *buffer,
                                              const struct hiplaunch_stream *stream,
                                              size_t offset,
                                              const void *data,
                                              size_t size);

/**
 * Copies `size` bytes of a buffer, from its byte `offset` on, to the host, in stream order, and waits for that.
 *
 * Threads: any. Errors: as hiplaunch_buffer_upload.
 */
enum hiplaunch_status hiplaunch_buffer_download(const struct hiplaunch_buffer *buffer,
                                                const struct hiplaunch_stream *stream,
                                                size_t offset,
                                                void *data,
                                                size_t size);

/**
 * Copies `size` bytes of a buffer, from its byte `offset` on, to pinned host memory in stream order, without waiting: the
 * ticket's only output.
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
 * Copies `size` bytes from one buffer to another of the same device, in stream order. The two may be one buffer, but the
 * bytes may not overlap.
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
 * Makes a view of a buffer: element `i, j, ...` is at byte `offset + element * (i * strides[0] + j * strides[1] ...)`.
 *
 * `shape` and `strides` have `rank` entries, outermost first, in elements of `element` bytes; null `strides` stand for
 * row-major order without gaps.
 *
 * Ownership: the caller closes the view, or the launcher; the arrays are not kept. Threads: any. Errors:
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT when an element is outside of the buffer; HIPLAUNCH_STATUS_INVALID_HANDLE,
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
 * A view with its axes in another order; `axes` names each of `rank` axes once.
 *
 * Ownership, threads: as hiplaunch_view_open. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT,
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_view_permute(const struct hiplaunch_view *view,
                                             size_t rank,
                                             const size_t *axes,
                                             struct hiplaunch_view **permuted);

/**
 * A view of the indices `start` to before `end` of one axis.
 *
 * Ownership, threads, errors: as hiplaunch_view_permute.
 */
enum hiplaunch_status hiplaunch_view_slice(const struct hiplaunch_view *view,
                                           size_t axis,
                                           size_t start,
                                           size_t end,
                                           struct hiplaunch_view **part);

/**
 * Bytes of all elements of a view together.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_view_size(const struct hiplaunch_view *view, size_t *bytes);

/**
 * The device address of a view's first element; 0 while there is no memory. As hiplaunch_buffer_address, what uses it is
 * not noticed.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_view_address(const struct hiplaunch_view *view,
                                             uint64_t *address);

/**
 * Copies a view's elements to the host in row-major order, in stream order, and waits for that. `size` has to be what
 * hiplaunch_view_size says.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT for another size or a stream of another device;
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST.
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
 * Compiles HIP C++ for a target, by ROCm's runtime compiler (hiprtc), which is loaded when first needed and needs no GPU;
 * or takes what is kept on disk of an earlier compile of the same source with the same options by the same compiler. A
 * source that reads files, by -I or an #include of what was not given, is compiled every time.
 *
 * `target` is a device's (hiplaunch_device_properties), or a processor: "gfx90a". `options` may be null.
 *
 * Ownership: the caller closes the compiled code; nothing that was given is kept. Threads: any; one source is compiled at
 * a time. Errors: HIPLAUNCH_STATUS_COMPILE, whose message has the compiler's log with lines and columns;
 * HIPLAUNCH_STATUS_NO_COMPILER where there is none, or none for the target, whose message says what to install;
 * HIPLAUNCH_STATUS_CODE_OBJECT for what the compiler wrote; HIPLAUNCH_STATUS_STRUCT_SIZE,
 * HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_INVALID_ARGUMENT. A cache that can't be read or written is a warning in
 * the log.
 */
enum hiplaunch_status hiplaunch_compile(const char *target,
                                        const char *source,
                                        const struct hiplaunch_compile_options *options,
                                        struct hiplaunch_compiled **compiled);

/**
 * The code object's bytes, for hiplaunch_register.
 *
 * Ownership: they belong to the compiled code, and are good until it is closed. Threads: any. Errors:
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_compiled_code(const struct hiplaunch_compiled *compiled,
                                              const void **data,
                                              size_t *bytes);

/**
 * What the compiler said, its warnings, as UTF-8 with a NUL at the end; empty if there were none. `length`, which may be
 * null, gets the bytes before the NUL.
 *
 * Ownership, threads, errors: as hiplaunch_compiled_code.
 */
enum hiplaunch_status hiplaunch_compiled_log(const struct hiplaunch_compiled *compiled,
                                             const char **log,
                                             size_t *length);

/**
 * Whether nothing was compiled, as the code was in the cache.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_compiled_from_cache(const struct hiplaunch_compiled *compiled,
                                                    bool *from_cache);

/**
 * Closes compiled code. Kernels that were registered from it stay.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_compiled_close(struct hiplaunch_compiled *compiled);

/**
 * Which compiler hiplaunch_compile uses for a target: a line with its version and file.
 *
 * Ownership: the caller closes the text. Threads: any. Errors: HIPLAUNCH_STATUS_NO_COMPILER, whose message says what to
 * install; HIPLAUNCH_STATUS_INVALID_ARGUMENT for no target; HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_describe_compiler(const char *target,
                                                  struct hiplaunch_text **text);

/**
 * Loads a code object on a device and registers one of its kernels. The code object is a raw AMDGPU ELF or an offload
 * bundle, compressed or not, of which the part for the device's target is taken.
 *
 * `layout` is where the kernel's code has its buffers in dynamic LDS (hiplaunch_set_lds_layout); null for none.
 *
 * The code is trusted: nothing checks what a compiled kernel does with the memory it is given.
 *
 * Ownership: the bytes and the name are not kept; the caller unregisters the kernel, or closes the launcher. Threads:
 * any. Errors: HIPLAUNCH_STATUS_CODE_OBJECT, whose message lists the kernels there are; HIPLAUNCH_STATUS_LAUNCH for a
 * layout that does not fit; HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST, HIPLAUNCH_STATUS_INVALID_HANDLE,
 * HIPLAUNCH_STATUS_NULL_POINTER, HIPLAUNCH_STATUS_INVALID_ARGUMENT. Nothing is registered then.
 */
enum hiplaunch_status hiplaunch_register(const struct hiplaunch_launcher *launcher,
                                         uint32_t device,
                                         const void *code_object,
                                         size_t code_object_bytes,
                                         const char *name,
                                         const struct hiplaunch_lds_layout *layout,
                                         struct hiplaunch_kernel **kernel);

/**
 * Puts another kernel under a handle, such as a better compiled one. Launches from now on run the new one; the old one's
 * code goes when its last launch has finished. The new one has no layout of LDS, and is not declared in place.
 *
 * Ownership and threads: as hiplaunch_register. Errors: as hiplaunch_register; the old kernel stays then.
 */
enum hiplaunch_status hiplaunch_replace(const struct hiplaunch_kernel *kernel,
                                        const void *code_object,
                                        size_t code_object_bytes,
                                        const char *name);

/**
 * Forgets a kernel and closes its handle. Its code goes when its last launch has finished; never waits for that.
 *
 * Threads: any; waits for calls of others that launch the kernel. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_unregister(struct hiplaunch_kernel *kernel);

/**
 * Gives a kernel the layout of LDS that its code was generated for: a launch whose dynamic_lds is 0 gets the layout's
 * total, one that asks for more gets that, and one that asks for less is refused.
 *
 * Ownership: the layout may be closed afterwards. Threads: any. Errors: HIPLAUNCH_STATUS_LAUNCH for a layout that does
 * not fit the device beside the kernel's static LDS; HIPLAUNCH_STATUS_INVALID_HANDLE. The layout before stays then.
 */
enum hiplaunch_status hiplaunch_set_lds_layout(const struct hiplaunch_kernel *kernel,
                                               const struct hiplaunch_lds_layout *layout);

/**
 * Says whether a kernel may have its destination as an input too: that every work-item has read what it reads of it
 * before any writes there, as elementwise kernels do. False until said so.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_declare_in_place(const struct hiplaunch_kernel *kernel,
                                                 bool yes);

/**
 * Launches a kernel: copies what the arguments stage, the kernel, and copies its outputs back, all in the order of the
 * stream. Never waits for the device, but for staging memory when the ring is full. In steady state it allocates nothing.
 * hiplaunch_submit takes more than dimensions and arguments.
 *
 * `ticket` may be null: then the launch must have no outputs, as nobody could read them, and what goes wrong while the
 * kernel runs comes out of a later call that waits.
 *
 * What the arguments say is trusted: device addresses have to be good for what the kernel does with them until it has
 * finished. Sizes and kinds are checked against the code object.
 *
 * Ownership: host data and the arguments are copied at the call; the caller closes the ticket. Threads: any, for any
 * kernel and stream. Errors: HIPLAUNCH_STATUS_LAUNCH, HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER and
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT before any device call; HIPLAUNCH_STATUS_OUT_OF_MEMORY, HIPLAUNCH_STATUS_DRIVER;
 * HIPLAUNCH_STATUS_DEVICE_LOST. The launcher stays usable after all but the last.
 */
enum hiplaunch_status hiplaunch_launch(const struct hiplaunch_kernel *kernel,
                                       const struct hiplaunch_stream *stream,
                                       const struct hiplaunch_dims *dims,
                                       const struct hiplaunch_arg *args,
                                       size_t arg_count,
                                       struct hiplaunch_ticket **ticket);

/**
 * Launches a kernel as `options` say; hiplaunch_launch is the short form for dimensions and arguments alone.
 *
 * `ticket` may be null, as there: the result is then in the destination or in the arguments' buffers.
 *
 * Ownership, threads: as hiplaunch_launch. Errors: as hiplaunch_launch; HIPLAUNCH_STATUS_STRUCT_SIZE;
 * HIPLAUNCH_STATUS_LAUNCH for packed arguments of another size and for a destination that is refused;
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT for both `args` and `packed` or two destinations, and for HIPLAUNCH_STAGING_MAPPED
 * where the driver has no mapped memory.
 */
enum hiplaunch_status hiplaunch_submit(const struct hiplaunch_kernel *kernel,
                                       const struct hiplaunch_stream *stream,
                                       const struct hiplaunch_launch_options *options,
                                       struct hiplaunch_ticket **ticket);

/**
 * Whether a ticket's launch has finished; never waits. An error of the device counts as finished: reading gives it.
 *
 * Threads: any. While another thread waits for the ticket, or copies from it, the answer is no. Errors:
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_ticket_is_ready(const struct hiplaunch_ticket *ticket,
                                                bool *ready);

/**
 * Waits for a ticket's launch.
 *
 * Threads: any; several may wait for one ticket. Errors: HIPLAUNCH_STATUS_DEVICE_LOST when a kernel faulted;
 * HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_ticket_wait(const struct hiplaunch_ticket *ticket);

/**
 * How many outputs a ticket has; does not wait.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER; as hiplaunch_ticket_wait once
 * that has failed.
 */
enum hiplaunch_status hiplaunch_ticket_outputs(const struct hiplaunch_ticket *ticket,
                                               size_t *count);

/**
 * Waits for a ticket's launch and gives one of its outputs where it lies, in pinned memory aligned to 64 bytes.
 *
 * Ownership: the bytes belong to the ticket and are good until it is closed. Threads: any. Errors: as
 * hiplaunch_ticket_wait; HIPLAUNCH_STATUS_INVALID_ARGUMENT for an output that there is not;
 * HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_ticket_output(const struct hiplaunch_ticket *ticket,
                                              size_t index,
                                              const void **data,
                                              size_t *size);

/**
 * Waits for a ticket's launch and copies one of its outputs to `data`. `size` has to be the output's.
 *
 * Threads: any. Errors: as hiplaunch_ticket_output; HIPLAUNCH_STATUS_INVALID_ARGUMENT for another size. The output stays
 * readable in any case.
 */
enum hiplaunch_status hiplaunch_ticket_read(const struct hiplaunch_ticket *ticket,
                                            size_t index,
                                            void *data,
                                            size_t size);

/**
 * Closes a ticket, read or not; costs nothing and does not wait for the launch.
 *
 * Ownership: what hiplaunch_ticket_output gave is gone. Threads: any; waits for threads that wait for the ticket.
 * Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_ticket_close(struct hiplaunch_ticket *ticket);

/**
 * Fills `stats`, whose struct_size the caller has set, for the pool of a device.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE; HIPLAUNCH_STATUS_INVALID_ARGUMENT for an ordinal that there is
 * not; HIPLAUNCH_STATUS_STRUCT_SIZE; HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_get_pool_stats(const struct hiplaunch_launcher *launcher,
                                               uint32_t device,
                                               struct hiplaunch_pool_stats *stats);

/**
 * Begins the peaks of a pool anew, at what there is now.
 *
 * Threads: any. Errors: as hiplaunch_get_pool_stats.
 */
enum hiplaunch_status hiplaunch_pool_reset_peaks(const struct hiplaunch_launcher *launcher,
                                                 uint32_t device);

/**
 * Gives a pool's cached segments to the driver until at most `keep` bytes are held, or nothing is cached in whole
 * segments; `freed`, which may be null, gets how many bytes went. Waits for the streams whose segments go.
 *
 * Threads: any. Errors: as hiplaunch_get_pool_stats; HIPLAUNCH_STATUS_DRIVER, HIPLAUNCH_STATUS_DEVICE_LOST: what the
 * driver did not take stays.
 */
enum hiplaunch_status hiplaunch_pool_trim(const struct hiplaunch_launcher *launcher,
                                          uint32_t device,
                                          uint64_t keep,
                                          uint64_t *freed);

/**
 * Limits a pool from now on: most bytes held from the driver, and bytes above which cached memory goes back there; 0
 * for no such limit.
 *
 * Threads: any. Errors: as hiplaunch_get_pool_stats.
 */
enum hiplaunch_status hiplaunch_pool_limit(const struct hiplaunch_launcher *launcher,
                                           uint32_t device,
                                           uint64_t cap,
                                           uint64_t soft_target);

/**
 * A pool's counters, segments and blocks as JSON.
 *
 * Ownership: the caller closes the text. Threads: any. Errors: as hiplaunch_get_pool_stats.
 */
enum hiplaunch_status hiplaunch_pool_snapshot_json(const struct hiplaunch_launcher *launcher,
                                                   uint32_t device,
                                                   struct hiplaunch_text **json);

/**
 * Begins to record a graph of work for a device. Makes no device call.
 *
 * Ownership: the caller computes or closes it, or closes the launcher. Threads: any, one after the other. Errors:
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_graph_open(const struct hiplaunch_launcher *launcher,
                                           uint32_t device,
                                           struct hiplaunch_graph **graph);

/**
 * Records a launch, checked as hiplaunch_launch checks it. The kernel has to touch no memory but what the arguments say,
 * as they say it.
 *
 * Ownership: bytes are copied. Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_LAUNCH,
 * HIPLAUNCH_STATUS_GRAPH, HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_INVALID_ARGUMENT,
 * HIPLAUNCH_STATUS_NULL_POINTER; nothing is recorded then.
 */
enum hiplaunch_status hiplaunch_graph_launch(const struct hiplaunch_graph *graph,
                                             const struct hiplaunch_kernel *kernel,
                                             const struct hiplaunch_dims *dims,
                                             const struct hiplaunch_graph_arg *args,
                                             size_t arg_count);

/**
 * Records that the node that was recorded last accesses a value through an address in an argument block.
 *
 * Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_GRAPH, HIPLAUNCH_STATUS_INVALID_HANDLE,
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT for a value that there is not.
 */
enum hiplaunch_status hiplaunch_graph_uses(const struct hiplaunch_graph *graph,
                                           hiplaunch_value value,
                                           bool reads,
                                           bool writes);

/**
 * Records a copy of all bytes of one value to another.
 *
 * Threads: as hiplaunch_graph_open. Errors: as hiplaunch_graph_uses.
 */
enum hiplaunch_status hiplaunch_graph_copy(const struct hiplaunch_graph *graph,
                                           hiplaunch_value from,
                                           hiplaunch_value to);

/**
 * Records a fill of every byte of a value.
 *
 * Threads: as hiplaunch_graph_open. Errors: as hiplaunch_graph_uses.
 */
enum hiplaunch_status hiplaunch_graph_fill(const struct hiplaunch_graph *graph,
                                           hiplaunch_value value,
                                           uint8_t byte);

/**
 * Records a fill of a value's 32-bit words.
 *
 * Threads: as hiplaunch_graph_open. Errors: as hiplaunch_graph_uses; HIPLAUNCH_STATUS_GRAPH when its bytes are no
 * multiple of 4.
 */
enum hiplaunch_status hiplaunch_graph_fill_words(const struct hiplaunch_graph *graph,
                                                 hiplaunch_value value,
                                                 uint32_t word);

/**
 * Records that the host wants a value's bytes: the next output of the ticket.
 *
 * Threads: as hiplaunch_graph_open. Errors: as hiplaunch_graph_uses.
 */
enum hiplaunch_status hiplaunch_graph_read(const struct hiplaunch_graph *graph,
                                           hiplaunch_value value);

/**
 * Runs a graph on a stream, once, in the order of recording, and closes it whatever comes of that. Never waits for the
 * device. The ticket, which may be null, has an output for each read. `submission` is a hiplaunch_submission.
 *
 * The first compute of a structure plans it and takes its memory from the pool; later ones find it.
 *
 * Ownership: the graph is gone; buffers may be closed at once; the caller closes the ticket. Threads: any. Errors:
 * HIPLAUNCH_STATUS_GRAPH and HIPLAUNCH_STATUS_OUT_OF_MEMORY before anything was submitted; HIPLAUNCH_STATUS_DRIVER when
 * the driver refused a node: those before it run, none after it does; HIPLAUNCH_STATUS_DEVICE_LOST. Only with
 * HIPLAUNCH_STATUS_INVALID_HANDLE and HIPLAUNCH_STATUS_INVALID_ARGUMENT the graph stays open.
 */
enum hiplaunch_status hiplaunch_graph_compute(struct hiplaunch_graph *graph,
                                              const struct hiplaunch_stream *stream,
                                              uint32_t submission,
                                              struct hiplaunch_ticket **ticket);

/**
 * Closes a graph that is not to be computed.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, also for one that was computed.
 */
enum hiplaunch_status hiplaunch_graph_close(struct hiplaunch_graph *graph);

/**
 * Forgets the programs of every graph that was computed and gives their memory back to the pool; `forgotten`, which may
 * be null, gets how many there were.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_forget_graphs(const struct hiplaunch_launcher *launcher,
                                              size_t *forgotten);

/**
 * A buffer's memory as a value. What nodes write there stays. The buffer may be closed once the graph was computed.
 *
 * Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_GRAPH for a buffer of another device,
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_graph_buffer(const struct hiplaunch_graph *graph,
                                             const struct hiplaunch_buffer *buffer,
                                             hiplaunch_value *value);

/**
 * Memory of so many bytes that only this graph uses, as a value; where it lies is planned.
 *
 * Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_GRAPH when it is larger than can be addressed,
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_graph_temporary(const struct hiplaunch_graph *graph,
                                                size_t bytes,
                                                hiplaunch_value *value);

/**
 * `size` bytes of a value, from its byte `offset` on, as a value.
 *
 * Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_GRAPH when that leaves it; HIPLAUNCH_STATUS_INVALID_HANDLE,
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_graph_slice(const struct hiplaunch_graph *graph,
                                            hiplaunch_value of,
                                            size_t offset,
                                            size_t size,
                                            hiplaunch_value *value);

/**
 * An argument block as a value: bytes of the host that kernels read through one pointer, with the addresses of values
 * written in, in ascending order of their offsets. Computing again with other bytes costs one copy, never another plan.
 *
 * Ownership: everything is copied. Threads: as hiplaunch_graph_open. Errors: HIPLAUNCH_STATUS_GRAPH for a patch that
 * leaves the bytes, is out of order, or names a block; HIPLAUNCH_STATUS_INVALID_HANDLE,
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_graph_argument_block(const struct hiplaunch_graph *graph,
                                                     const void *data,
                                                     size_t size,
                                                     const struct hiplaunch_graph_patch *patches,
                                                     size_t patch_count,
                                                     hiplaunch_value *value);

/**
 * Begins to tell a kernel with positions `first` to `last`, both included. Needs no launcher and no device.
 *
 * Ownership: the caller closes it. Threads: any, one after the other. Errors: HIPLAUNCH_STATUS_LDS for no positions,
 * HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_lds_open(uint64_t first,
                                         uint64_t last,
                                         struct hiplaunch_lds_kernel **kernel);

/**
 * Adds a buffer of `size` bytes whose offset is a multiple of `alignment`, a power of two; 0 stands for 16, which suits
 * every LDS access. `buffer` gets its number: 0 for the first, and so on.
 *
 * Threads: as hiplaunch_lds_open. Errors: HIPLAUNCH_STATUS_LDS for a size of 0, too many bytes, an alignment that is no
 * power of two, or a name that is there already; HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_lds_buffer(const struct hiplaunch_lds_kernel *kernel,
                                           const char *name,
                                           uint64_t size,
                                           uint64_t alignment,
                                           uint32_t *buffer);

/**
 * Adds another name of a buffer, or of another alias, which may be added later: both have the same memory. `alias` gets
 * its number, in one count with the buffers'.
 *
 * Threads: as hiplaunch_lds_open. Errors: as hiplaunch_lds_buffer.
 */
enum hiplaunch_status hiplaunch_lds_alias(const struct hiplaunch_lds_kernel *kernel,
                                          const char *name,
                                          const char *of,
                                          uint32_t *alias);

/**
 * Says what the statement at a position does with a buffer: `access` is a hiplaunch_lds_access.
 *
 * Threads: as hiplaunch_lds_open. Errors: HIPLAUNCH_STATUS_LDS for a position outside of the kernel;
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT for a buffer or access that there is not; HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_lds_accesses(const struct hiplaunch_lds_kernel *kernel,
                                             uint32_t buffer,
                                             uint32_t access,
                                             uint64_t position);

/**
 * Says that the kernel has a barrier of its workgroup at a position.
 *
 * Threads: as hiplaunch_lds_open. Errors: HIPLAUNCH_STATUS_LDS for a position outside of the kernel;
 * HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_lds_barrier(const struct hiplaunch_lds_kernel *kernel,
                                            uint64_t position);

/**
 * Begins a loop; `who` is a hiplaunch_lds_runs. Loops and branches are begun and ended in the order of their positions.
 *
 * Threads: as hiplaunch_lds_open. Errors: as hiplaunch_lds_barrier, also for a position that is not behind the last
 * begin or end; HIPLAUNCH_STATUS_INVALID_ARGUMENT.
 */
enum hiplaunch_status hiplaunch_lds_begin_loop(const struct hiplaunch_lds_kernel *kernel,
                                               uint64_t position,
                                               uint32_t who);

/**
 * Ends the innermost loop: from here the body runs again.
 *
 * Threads: as hiplaunch_lds_open. Errors: as hiplaunch_lds_begin_loop, also when the innermost of what is open is no
 * loop.
 */
enum hiplaunch_status hiplaunch_lds_end_loop(const struct hiplaunch_lds_kernel *kernel,
                                             uint64_t position);

/**
 * Begins a branch, with its first arm; `who` is a hiplaunch_lds_runs.
 *
 * Threads: as hiplaunch_lds_open. Errors: as hiplaunch_lds_begin_loop.
 */
enum hiplaunch_status hiplaunch_lds_begin_branch(const struct hiplaunch_lds_kernel *kernel,
                                                 uint64_t position,
                                                 uint32_t who);

/**
 * Begins the second arm of the innermost branch.
 *
 * Threads: as hiplaunch_lds_open. Errors: as hiplaunch_lds_begin_loop, also when the innermost of what is open is no
 * branch in its first arm.
 */
enum hiplaunch_status hiplaunch_lds_begin_else(const struct hiplaunch_lds_kernel *kernel,
                                               uint64_t position);

/**
 * Ends the innermost branch.
 *
 * Threads: as hiplaunch_lds_open. Errors: as hiplaunch_lds_begin_loop, also when the innermost of what is open is no
 * branch.
 */
enum hiplaunch_status hiplaunch_lds_end_branch(const struct hiplaunch_lds_kernel *kernel,
                                               uint64_t position);

/**
 * Closes a kernel that was told; its layouts stay.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_lds_close(struct hiplaunch_lds_kernel *kernel);

/**
 * Lays out the LDS of a kernel as it was told so far; `goal` may be null: with the barriers that it has.
 *
 * Ownership: the caller closes the layout; the kernel may be told more, and closed. Threads: any. Errors:
 * HIPLAUNCH_STATUS_LDS for an open loop or branch, aliases of nothing, or a goal that can't be reached: the message says
 * what can; HIPLAUNCH_STATUS_STRUCT_SIZE, HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_INVALID_HANDLE,
 * HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_lds_lay_out(const struct hiplaunch_lds_kernel *kernel,
                                            const struct hiplaunch_lds_goal *goal,
                                            struct hiplaunch_lds_layout **layout);

/**
 * Fills `summary`, whose struct_size the caller has set.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_STRUCT_SIZE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_lds_summarize(const struct hiplaunch_lds_layout *layout,
                                              struct hiplaunch_lds_summary *summary);

/**
 * The offset of a buffer or alias in bytes, by its number.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT for a buffer that there is not or that is never accessed;
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_lds_offset(const struct hiplaunch_lds_layout *layout,
                                           uint32_t buffer,
                                           uint32_t *offset);

/**
 * The position right before which barrier `index` has to be inserted; barriers are in program order.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_ARGUMENT for a barrier that there is not;
 * HIPLAUNCH_STATUS_INVALID_HANDLE, HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_lds_inserted_barrier(const struct hiplaunch_lds_layout *layout,
                                                     uint32_t index,
                                                     uint64_t *before);

/**
 * A layout as a picture of characters, for a person.
 *
 * Ownership: the caller closes the text. Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE,
 * HIPLAUNCH_STATUS_NULL_POINTER.
 */
enum hiplaunch_status hiplaunch_lds_picture(const struct hiplaunch_lds_layout *layout,
                                            struct hiplaunch_text **picture);

/**
 * Closes a layout; kernels that have it keep it.
 *
 * Threads: any. Errors: HIPLAUNCH_STATUS_INVALID_HANDLE.
 */
enum hiplaunch_status hiplaunch_lds_layout_close(struct hiplaunch_lds_layout *layout);

/**
 * Plans offsets so that no two buffers that are live together overlap, in as few bytes as possible. `offsets` has room for
 * buffer_count numbers; `result` may be null. The same problem gives the same plan on every machine. Needs no launcher
 * and no device.
 *
 * Ownership: nothing is kept. Threads: any. Errors: HIPLAUNCH_STATUS_OFFSETS for a problem that is not stated rightly,
 * which the message names "buffer 3" and so on, or that does not fit its capacity; HIPLAUNCH_STATUS_STRUCT_SIZE,
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT, HIPLAUNCH_STATUS_NULL_POINTER. Nothing is written then.
 */
enum hiplaunch_status hiplaunch_plan_offsets(const struct hiplaunch_offsets_problem *problem,
                                             uint64_t *offsets,
                                             struct hiplaunch_offsets_result *result);

/**
 * Has the library's log up to a hiplaunch_log_level handed to a callback, for the whole process, instead of to the
 * callback before; a null callback ends that, and when this returns it is not called any more.
 *
 * The callback is called on whatever thread has something to say, also on several at once, and may be called while the
 * library holds locks: it must not call the library, throw or jump out.
 *
 * Ownership: `user` stays the caller's, and has to be good until the callback was replaced. Threads: any. Errors:
 * HIPLAUNCH_STATUS_INVALID_ARGUMENT for a level that there is not, from within the callback, or in a Rust program that
 * has a logger of its own.
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

/* Where the launch's destination goes (hiplaunch_launch_options). */
static inline hiplaunch_arg hiplaunch_arg_destination(void) {
  hiplaunch_arg arg = {HIPLAUNCH_ARG_KIND_DESTINATION, 0, 0, NULL, 0};
  return arg;
}

/* A host array that the kernel reads; one that it reads and writes, an output; and room for one that it writes. */
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

/* Grid and block of a one-dimensional launch, in workgroups and work-items. */
static inline hiplaunch_dims hiplaunch_dims_linear(uint32_t grid, uint32_t block) {
  hiplaunch_dims dims = {{grid, 1, 1}, {block, 1, 1}, 0};
  return dims;
}

/* A launch of `dims` without arguments, for hiplaunch_submit; what else it has is set in its fields. */
static inline hiplaunch_launch_options hiplaunch_launch_options_of(hiplaunch_dims dims) {
  hiplaunch_launch_options options = {sizeof(hiplaunch_launch_options), {{0, 0, 0}, {0, 0, 0}, 0}, 0,
                                      NULL, 0, NULL, 0, NULL, NULL, 0, NULL, 0, 0};
  options.dims = dims;
  return options;
}
#ifdef __cplusplus
}
#endif

#endif  /* HIPLAUNCH_H */
