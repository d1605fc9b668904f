/* Every invalid input of a C caller returns a status and a message. Nothing crashes, and the launcher still works. */
#include "check.h"

static const char *folder;

static void nulls_and_sizes(void) {
  hiplaunch_launcher *launcher = NULL;
  hiplaunch_options options;
  hiplaunch_device_properties properties;
  hiplaunch_counters counters;
  hiplaunch_pool_stats stats;
  size_t sizes[] = {0, 1, 8, sizeof options - 1, sizeof options + 1, (size_t)-1};
  size_t i;
  FAILS(hiplaunch_open(NULL, NULL), HIPLAUNCH_STATUS_NULL_POINTER, "`launcher` is null");
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    memset(&options, 0, sizeof options);
    options.struct_size = sizes[i];
    FAILS(hiplaunch_open(&options, &launcher), HIPLAUNCH_STATUS_STRUCT_SIZE, "hiplaunch_options");
    CHECK(launcher == NULL);
  }
  options.struct_size = sizeof options;
  options.backend = 99;
  FAILS(hiplaunch_open(&options, &launcher), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "99 is no hiplaunch_backend");
  options.backend = HIPLAUNCH_BACKEND_EMULATOR;
  options.emulator = "target=gfx1";
  FAILS(hiplaunch_open(&options, &launcher), HIPLAUNCH_STATUS_DRIVER, "gfx1");
  options.emulator = "\xff\xfe";
  FAILS(hiplaunch_open(&options, &launcher), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "UTF-8");
  options.emulator = "devices=1000";
  FAILS(hiplaunch_open(&options, &launcher), HIPLAUNCH_STATUS_DRIVER, "1000");
  options.emulator = "frobs=1";
  FAILS(hiplaunch_open(&options, &launcher), HIPLAUNCH_STATUS_DRIVER, "no setting frobs");
  options.emulator = "sanitize=maybe";
  FAILS(hiplaunch_open(&options, &launcher), HIPLAUNCH_STATUS_DRIVER, "sanitize=maybe is not 1 or 0");
  options.emulator = "devices=2, target=gfx942";
  options.backend = HIPLAUNCH_BACKEND_HIP;
  FAILS(hiplaunch_open(&options, &launcher), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "emulator");
  options.backend = HIPLAUNCH_BACKEND_EMULATOR;
  OK(hiplaunch_open(&options, &launcher));
  memset(&properties, 0, sizeof properties);
  memset(&counters, 0, sizeof counters);
  memset(&stats, 0, sizeof stats);
  FAILS(hiplaunch_get_device_properties(launcher, 0, &properties), HIPLAUNCH_STATUS_STRUCT_SIZE, "struct_size 0");
  FAILS(hiplaunch_get_device_properties(launcher, 0, NULL), HIPLAUNCH_STATUS_NULL_POINTER, "properties");
  FAILS(hiplaunch_get_counters(launcher, &counters), HIPLAUNCH_STATUS_STRUCT_SIZE, "struct_size 0");
  FAILS(hiplaunch_get_pool_stats(launcher, 0, &stats), HIPLAUNCH_STATUS_STRUCT_SIZE, "struct_size 0");
  properties.struct_size = sizeof properties;
  FAILS(hiplaunch_get_device_properties(launcher, 2, &properties), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "device 2 of 2");
  OK(hiplaunch_get_device_properties(launcher, 1, &properties));
  CHECK(strcmp(properties.processor, "gfx942") == 0);
  OK(hiplaunch_close(launcher));
}

/* For each kind, handles that are null, invented, of another kind, and closed. */
static void handles(void) {
  hiplaunch_launcher *launcher = open_emulator(), *other = open_emulator();
  hiplaunch_stream *stream, *others;
  hiplaunch_event *event;
  hiplaunch_buffer *buffer, *foreign;
  hiplaunch_view *view;
  hiplaunch_graph *graph;
  hiplaunch_lds_kernel *lds;
  hiplaunch_text *text;
  hiplaunch_kernel *kernel = kernel_of(launcher, folder, "vector", "saxpy");
  hiplaunch_arg args[4];
  hiplaunch_dims dims = hiplaunch_dims_linear(1, 64);
  const void *wrong[6];
  const size_t one = 1;
  int number = 7;
  size_t i, size;
  bool yes;
  uint32_t count;
  OK(hiplaunch_stream_open(launcher, 0, &stream));
  OK(hiplaunch_stream_open(other, 0, &others));
  OK(hiplaunch_event_open(launcher, 0, false, &event));
  OK(hiplaunch_buffer_open(launcher, 0, NULL, 256, &buffer));
  OK(hiplaunch_buffer_open(other, 0, NULL, 256, &foreign));
  OK(hiplaunch_view_open(buffer, 0, 4, 1, &one, NULL, &view));
  OK(hiplaunch_graph_open(launcher, 0, &graph));
  OK(hiplaunch_lds_open(0, 9, &lds));
  OK(hiplaunch_describe_driver(launcher, &text));

  wrong[0] = NULL;
  wrong[1] = &number;
  wrong[2] = (const void *)(uintptr_t)-1;
  wrong[3] = (const void *)((uintptr_t)stream + 1000); /* never opened */
  wrong[4] = event;
  wrong[5] = view;
  for (i = 0; i < 6; i++) {
    FAILS(hiplaunch_device_count((const hiplaunch_launcher *)wrong[i], &count), HIPLAUNCH_STATUS_INVALID_HANDLE, "launcher");
    FAILS(hiplaunch_close((hiplaunch_launcher *)wrong[i]), HIPLAUNCH_STATUS_INVALID_HANDLE, "launcher");
    FAILS(hiplaunch_stream_synchronize((const hiplaunch_stream *)wrong[i]), HIPLAUNCH_STATUS_INVALID_HANDLE, "stream");
    FAILS(hiplaunch_stream_close((hiplaunch_stream *)wrong[i]), HIPLAUNCH_STATUS_INVALID_HANDLE, "stream");
    FAILS(hiplaunch_unregister((hiplaunch_kernel *)wrong[i]), HIPLAUNCH_STATUS_INVALID_HANDLE, "kernel");
    FAILS(hiplaunch_buffer_close((hiplaunch_buffer *)wrong[i]), HIPLAUNCH_STATUS_INVALID_HANDLE, "buffer");
    FAILS(hiplaunch_buffer_size((const hiplaunch_buffer *)wrong[i], &size), HIPLAUNCH_STATUS_INVALID_HANDLE, "buffer");
    FAILS(hiplaunch_ticket_wait((const hiplaunch_ticket *)wrong[i]), HIPLAUNCH_STATUS_INVALID_HANDLE, "ticket");
    FAILS(hiplaunch_ticket_is_ready((const hiplaunch_ticket *)wrong[i], &yes), HIPLAUNCH_STATUS_INVALID_HANDLE, "ticket");
    FAILS(hiplaunch_ticket_close((hiplaunch_ticket *)wrong[i]), HIPLAUNCH_STATUS_INVALID_HANDLE, "ticket");
    FAILS(hiplaunch_graph_close((hiplaunch_graph *)wrong[i]), HIPLAUNCH_STATUS_INVALID_HANDLE, "graph");
    FAILS(hiplaunch_graph_read((hiplaunch_graph *)wrong[i], 0, NULL), HIPLAUNCH_STATUS_INVALID_HANDLE, "graph");
    FAILS(hiplaunch_lds_barrier((hiplaunch_lds_kernel *)wrong[i], 1), HIPLAUNCH_STATUS_INVALID_HANDLE, "LDS kernel");
    FAILS(hiplaunch_lds_layout_close((hiplaunch_lds_layout *)wrong[i]), HIPLAUNCH_STATUS_INVALID_HANDLE, "LDS layout");
    FAILS(hiplaunch_text_close((hiplaunch_text *)wrong[i]), HIPLAUNCH_STATUS_INVALID_HANDLE, "text");
    FAILS(hiplaunch_launch((const hiplaunch_kernel *)wrong[i], stream, &dims, NULL, 0, NULL),
          HIPLAUNCH_STATUS_INVALID_HANDLE, "kernel");
    FAILS(hiplaunch_launch(kernel, (const hiplaunch_stream *)wrong[i], &dims, NULL, 0, NULL),
          HIPLAUNCH_STATUS_INVALID_HANDLE, "stream");
    args[0] = hiplaunch_arg_f32(1.0f);
    args[1] = hiplaunch_arg_buffer((const hiplaunch_buffer *)wrong[i]);
    args[2] = hiplaunch_arg_buffer(buffer);
    args[3] = hiplaunch_arg_i32(1);
    FAILS(hiplaunch_launch(kernel, stream, &dims, args, 4, NULL), HIPLAUNCH_STATUS_INVALID_HANDLE, "argument 1: ");
  }
  /* Handles of another launcher. */
  FAILS(hiplaunch_launch(kernel, others, &dims, args, 4, NULL), HIPLAUNCH_STATUS_INVALID_HANDLE, "another launcher");
  args[1] = hiplaunch_arg_buffer(foreign);
  FAILS(hiplaunch_launch(kernel, stream, &dims, args, 4, NULL), HIPLAUNCH_STATUS_INVALID_HANDLE, "another launcher");
  FAILS(hiplaunch_buffer_copy(buffer, 0, foreign, 0, 8, stream), HIPLAUNCH_STATUS_INVALID_HANDLE, "another launcher");
  FAILS(hiplaunch_buffer_upload(buffer, others, 0, &number, 4), HIPLAUNCH_STATUS_INVALID_HANDLE, "another launcher");
  FAILS(hiplaunch_event_record(event, others), HIPLAUNCH_STATUS_INVALID_HANDLE, "another launcher");
  FAILS(hiplaunch_stream_wait_event(others, event), HIPLAUNCH_STATUS_INVALID_HANDLE, "another launcher");
  {
    hiplaunch_value value;
    FAILS(hiplaunch_graph_buffer(graph, foreign, &value), HIPLAUNCH_STATUS_INVALID_HANDLE, "another launcher");
    FAILS(hiplaunch_graph_compute(graph, others, HIPLAUNCH_SUBMISSION_AUTO, NULL), HIPLAUNCH_STATUS_INVALID_HANDLE,
          "another launcher");
  }
  /* Closed handles. */
  OK(hiplaunch_buffer_close(buffer));
  FAILS(hiplaunch_buffer_close(buffer), HIPLAUNCH_STATUS_INVALID_HANDLE, "closed");
  FAILS(hiplaunch_buffer_size(buffer, &size), HIPLAUNCH_STATUS_INVALID_HANDLE, "closed");
  OK(hiplaunch_unregister(kernel));
  FAILS(hiplaunch_launch(kernel, stream, &dims, args, 4, NULL), HIPLAUNCH_STATUS_INVALID_HANDLE, "closed");
  OK(hiplaunch_event_close(event));
  FAILS(hiplaunch_event_record(event, stream), HIPLAUNCH_STATUS_INVALID_HANDLE, "closed");
  OK(hiplaunch_text_close(text));
  FAILS(hiplaunch_text_close(text), HIPLAUNCH_STATUS_INVALID_HANDLE, "closed");
  OK(hiplaunch_lds_close(lds));
  FAILS(hiplaunch_lds_close(lds), HIPLAUNCH_STATUS_INVALID_HANDLE, "closed");
  /* Handles that were closed with their launcher. */
  check_clean(launcher);
  OK(hiplaunch_close(launcher));
  FAILS(hiplaunch_close(launcher), HIPLAUNCH_STATUS_INVALID_HANDLE, "closed");
  FAILS(hiplaunch_stream_synchronize(stream), HIPLAUNCH_STATUS_INVALID_HANDLE, "closed");
  FAILS(hiplaunch_view_size(view, &size), HIPLAUNCH_STATUS_INVALID_HANDLE, "closed");
  FAILS(hiplaunch_graph_read(graph, 0, NULL), HIPLAUNCH_STATUS_INVALID_HANDLE, "closed");
  FAILS(hiplaunch_stream_open(launcher, 0, &stream), HIPLAUNCH_STATUS_INVALID_HANDLE, "closed");
  OK(hiplaunch_close(other));
}

static void code_objects(void) {
  hiplaunch_launcher *launcher = open_emulator();
  hiplaunch_kernel *kernel = NULL;
  size_t size, other, cut;
  void *bytes = code_object(folder, "vector", "gfx90a", &size);
  void *foreign = code_object(folder, "vector", "gfx942", &other);
  FAILS(hiplaunch_register(launcher, 0, bytes, size, "saxpi", NULL, &kernel), HIPLAUNCH_STATUS_CODE_OBJECT, "saxpy");
  FAILS(hiplaunch_register(launcher, 0, foreign, other, "saxpy", NULL, &kernel), HIPLAUNCH_STATUS_CODE_OBJECT, "gfx942");
  FAILS(hiplaunch_register(launcher, 0, NULL, 10, "saxpy", NULL, &kernel), HIPLAUNCH_STATUS_NULL_POINTER, "code_object");
  FAILS(hiplaunch_register(launcher, 0, NULL, 0, "saxpy", NULL, &kernel), HIPLAUNCH_STATUS_CODE_OBJECT, "");
  FAILS(hiplaunch_register(launcher, 0, bytes, (size_t)-1, "saxpy", NULL, &kernel), HIPLAUNCH_STATUS_INVALID_ARGUMENT,
        "code_object");
  FAILS(hiplaunch_register(launcher, 0, bytes, size, NULL, NULL, &kernel), HIPLAUNCH_STATUS_NULL_POINTER, "name");
  FAILS(hiplaunch_register(launcher, 0, bytes, size, "\xff", NULL, &kernel), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "UTF-8");
  FAILS(hiplaunch_register(launcher, 0, bytes, size, "saxpy", NULL, NULL), HIPLAUNCH_STATUS_NULL_POINTER, "kernel");
  FAILS(hiplaunch_register(launcher, 7, bytes, size, "saxpy", NULL, &kernel), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "device 7");
  for (cut = 0; cut < size; cut += size / 37 + 1)
    FAILS(hiplaunch_register(launcher, 0, bytes, cut, "saxpy", NULL, &kernel), HIPLAUNCH_STATUS_CODE_OBJECT, "");
  CHECK(kernel == NULL);
  OK(hiplaunch_register(launcher, 0, bytes, size, "saxpy", NULL, &kernel));
  FAILS(hiplaunch_replace(kernel, bytes, 100, "saxpy"), HIPLAUNCH_STATUS_CODE_OBJECT, "");
  OK(hiplaunch_unregister(kernel));
  free(bytes);
  free(foreign);
  OK(hiplaunch_close(launcher));
}

static void launches(void) {
  hiplaunch_launcher *launcher = open_emulator();
  hiplaunch_kernel *saxpy = kernel_of(launcher, folder, "vector", "saxpy");
  hiplaunch_kernel *dot = kernel_of(launcher, folder, "jit", "jit_dot");
  hiplaunch_stream *stream;
  hiplaunch_ticket *ticket = NULL;
  hiplaunch_launch_options options;
  hiplaunch_dims dims = hiplaunch_dims_linear(1, 64);
  hiplaunch_arg args[4], good[4];
  hiplaunch_argument_block block;
  hiplaunch_patch patch;
  hiplaunch_array array;
  unsigned char bytes[32] = {0};
  float x[64] = {0}, y[64];
  const void *data;
  size_t size, many = (size_t)-1 / sizeof(hiplaunch_arg) + 2;
  int i;
  OK(hiplaunch_stream_open(launcher, 0, &stream));
  good[0] = hiplaunch_arg_f32(1.0f);
  good[1] = hiplaunch_arg_host_in(x, sizeof x);
  good[2] = hiplaunch_arg_host_inout(x, sizeof x);
  good[3] = hiplaunch_arg_i32(64);
#define RESET memcpy(args, good, sizeof args)
#define REFUSED(status, words) FAILS(hiplaunch_launch(saxpy, stream, &dims, args, 4, &ticket), status, words)
  RESET;
  FAILS(hiplaunch_launch(saxpy, stream, NULL, args, 4, &ticket), HIPLAUNCH_STATUS_NULL_POINTER, "dims");
  FAILS(hiplaunch_launch(saxpy, stream, &dims, NULL, 4, &ticket), HIPLAUNCH_STATUS_NULL_POINTER, "args");
  FAILS(hiplaunch_launch(saxpy, stream, &dims, args, 3, &ticket), HIPLAUNCH_STATUS_LAUNCH, "takes 4 arguments, got 3");
  FAILS(hiplaunch_launch(saxpy, stream, &dims, args, many, &ticket), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "args");
  FAILS(hiplaunch_launch(saxpy, stream, &dims, (hiplaunch_arg *)((char *)args + 1), 2, &ticket),
        HIPLAUNCH_STATUS_INVALID_ARGUMENT, "aligned");
  FAILS(hiplaunch_launch(saxpy, stream, &dims, args, 4, NULL), HIPLAUNCH_STATUS_LAUNCH, "no ticket");
  FAILS(hiplaunch_submit(saxpy, stream, NULL, &ticket), HIPLAUNCH_STATUS_NULL_POINTER, "options");
  options = hiplaunch_launch_options_of(dims);
  options.args = args, options.arg_count = 4, options.staging = 5;
  FAILS(hiplaunch_submit(saxpy, stream, &options, &ticket), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "5 is no");
  options.staging = 0, options.struct_size = 8;
  FAILS(hiplaunch_submit(saxpy, stream, &options, &ticket), HIPLAUNCH_STATUS_STRUCT_SIZE, "hiplaunch_launch_options");
  options = hiplaunch_launch_options_of(dims);
  options.packed = x, options.packed_size = 5;
  FAILS(hiplaunch_submit(saxpy, stream, &options, &ticket), HIPLAUNCH_STATUS_LAUNCH, "packed arguments");
  options.packed = NULL;
  FAILS(hiplaunch_submit(saxpy, stream, &options, &ticket), HIPLAUNCH_STATUS_NULL_POINTER, "packed");
  args[0].kind = 77;
  REFUSED(HIPLAUNCH_STATUS_INVALID_ARGUMENT, "argument 0: 77 is no hiplaunch_arg_kind");
  RESET, args[0].reserved = 1;
  REFUSED(HIPLAUNCH_STATUS_INVALID_ARGUMENT, "reserved");
  RESET, args[0].size = 3;
  REFUSED(HIPLAUNCH_STATUS_INVALID_ARGUMENT, "argument 0: a scalar of 3 bytes");
  RESET, args[0].size = 8;
  REFUSED(HIPLAUNCH_STATUS_LAUNCH, "argument 0");
  RESET, args[1].data = NULL;
  REFUSED(HIPLAUNCH_STATUS_NULL_POINTER, "argument 1");
  RESET, args[1].size = (size_t)-1;
  REFUSED(HIPLAUNCH_STATUS_INVALID_ARGUMENT, "argument 1");
  RESET, args[2] = hiplaunch_arg_host_out((size_t)-1);
  REFUSED(HIPLAUNCH_STATUS_LAUNCH, "over the limit");
  RESET, args[1] = hiplaunch_arg_destination();
  REFUSED(HIPLAUNCH_STATUS_LAUNCH, "destination");
  RESET, args[1] = hiplaunch_arg_argument_block(NULL);
  REFUSED(HIPLAUNCH_STATUS_NULL_POINTER, "argument 1");
  RESET, dims.block[0] = 2000;
  REFUSED(HIPLAUNCH_STATUS_LAUNCH, "block [2000, 1, 1]");
  dims.block[0] = 0;
  REFUSED(HIPLAUNCH_STATUS_LAUNCH, "block");
  dims.block[0] = 64, dims.dynamic_lds = 1 << 20;
  REFUSED(HIPLAUNCH_STATUS_LAUNCH, "LDS");
  dims.dynamic_lds = 0;

  memset(&block, 0, sizeof block);
  memset(&patch, 0, sizeof patch);
  memset(&array, 0, sizeof array);
  args[0] = hiplaunch_arg_argument_block(&block);
#define BLOCK_REFUSED(status, words) FAILS(hiplaunch_launch(dot, stream, &dims, args, 1, &ticket), status, words)
  BLOCK_REFUSED(HIPLAUNCH_STATUS_STRUCT_SIZE, "hiplaunch_argument_block");
  block.struct_size = sizeof block, block.size = sizeof bytes;
  BLOCK_REFUSED(HIPLAUNCH_STATUS_NULL_POINTER, "bytes");
  block.bytes = bytes, block.patch_count = 1;
  BLOCK_REFUSED(HIPLAUNCH_STATUS_NULL_POINTER, "patches");
  block.patches = &patch, patch.target = 9;
  BLOCK_REFUSED(HIPLAUNCH_STATUS_INVALID_ARGUMENT, "9 is no hiplaunch_patch_target");
  patch.target = HIPLAUNCH_PATCH_TARGET_RESULT;
  BLOCK_REFUSED(HIPLAUNCH_STATUS_LAUNCH, "result_bytes is 0");
  block.result_bytes = 8, patch.offset = 25;
  BLOCK_REFUSED(HIPLAUNCH_STATUS_LAUNCH, "ends behind");
  patch.offset = (size_t)-1;
  BLOCK_REFUSED(HIPLAUNCH_STATUS_LAUNCH, "ends behind");
  patch.offset = 0, patch.target = HIPLAUNCH_PATCH_TARGET_ARRAY;
  BLOCK_REFUSED(HIPLAUNCH_STATUS_LAUNCH, "array 0 of 0");
  patch.value = (uint64_t)-1;
  BLOCK_REFUSED(HIPLAUNCH_STATUS_LAUNCH, "array");
  patch.target = HIPLAUNCH_PATCH_TARGET_BUFFER;
  BLOCK_REFUSED(HIPLAUNCH_STATUS_INVALID_HANDLE, "buffer");
  patch.target = HIPLAUNCH_PATCH_TARGET_RESULT, block.array_count = 1;
  BLOCK_REFUSED(HIPLAUNCH_STATUS_NULL_POINTER, "arrays");
  block.arrays = &array, array.kind = HIPLAUNCH_ARG_KIND_BUFFER;
  BLOCK_REFUSED(HIPLAUNCH_STATUS_INVALID_ARGUMENT, "host data");
  array.kind = HIPLAUNCH_ARG_KIND_HOST_IN, array.size = 4;
  BLOCK_REFUSED(HIPLAUNCH_STATUS_NULL_POINTER, "array");
  CHECK(ticket == NULL);

  /* After all of these errors, launches work. A wrong read leaves the output readable. */
  OK(hiplaunch_launch(saxpy, stream, &dims, good, 4, &ticket));
  FAILS(hiplaunch_ticket_read(ticket, 1, y, sizeof y), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "output 1 of 1");
  FAILS(hiplaunch_ticket_read(ticket, 0, y, 4), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "output 0 has 256 bytes, not 4");
  FAILS(hiplaunch_ticket_read(ticket, 0, NULL, sizeof y), HIPLAUNCH_STATUS_NULL_POINTER, "data");
  FAILS(hiplaunch_ticket_output(ticket, 9, &data, &size), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "output 9");
  FAILS(hiplaunch_ticket_output(ticket, 0, NULL, &size), HIPLAUNCH_STATUS_NULL_POINTER, "data");
  OK(hiplaunch_ticket_read(ticket, 0, y, sizeof y));
  for (i = 0; i < 64; i++) CHECK(y[i] == 0.0f);
  OK(hiplaunch_ticket_close(ticket));
  FAILS(hiplaunch_ticket_read(ticket, 0, y, sizeof y), HIPLAUNCH_STATUS_INVALID_HANDLE, "closed");
  check_clean(launcher);
  OK(hiplaunch_close(launcher));
}

static void memory(void) {
  hiplaunch_launcher *launcher = open_emulator();
  hiplaunch_stream *stream;
  hiplaunch_buffer *buffer;
  hiplaunch_view *view = NULL;
  hiplaunch_ticket *ticket;
  char bytes[64] = {0};
  const size_t huge[2] = {(size_t)1 << 40, (size_t)1 << 40}, nine = 9, eight = 8, axis = 5;
  const ptrdiff_t far = PTRDIFF_MAX;
  OK(hiplaunch_stream_open(launcher, 0, &stream));
  FAILS(hiplaunch_buffer_open(launcher, 0, stream, (size_t)1 << 60, &buffer), HIPLAUNCH_STATUS_OUT_OF_MEMORY, "out of device memory");
  OK(hiplaunch_buffer_open(launcher, 0, stream, 32, &buffer));
  FAILS(hiplaunch_buffer_upload(buffer, stream, 0, bytes, 33), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "32");
  FAILS(hiplaunch_buffer_upload(buffer, stream, 31, bytes, 2), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "32");
  FAILS(hiplaunch_buffer_upload(buffer, stream, (size_t)-1, bytes, 2), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "");
  FAILS(hiplaunch_buffer_upload(buffer, stream, 0, NULL, 2), HIPLAUNCH_STATUS_NULL_POINTER, "data");
  FAILS(hiplaunch_buffer_download(buffer, stream, 1, bytes, 32), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "32");
  FAILS(hiplaunch_buffer_fill(buffer, stream, 0, 33, 1), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "32");
  FAILS(hiplaunch_buffer_copy(buffer, 0, buffer, 4, 8, stream), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "overlap");
  FAILS(hiplaunch_buffer_read(buffer, stream, 30, 8, &ticket), HIPLAUNCH_STATUS_GRAPH, "32");
  FAILS(hiplaunch_view_open(buffer, 0, 4, 1, &nine, NULL, &view), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "32");
  FAILS(hiplaunch_view_open(buffer, 0, 0, 1, &nine, NULL, &view), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "0 bytes");
  FAILS(hiplaunch_view_open(buffer, 0, 4, 2, huge, NULL, &view), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "addressed");
  FAILS(hiplaunch_view_open(buffer, 0, 4, 1, &nine, &far, &view), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "overflows");
  FAILS(hiplaunch_view_open(buffer, 0, 4, (size_t)-1, huge, NULL, &view), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "shape");
  CHECK(view == NULL);
  OK(hiplaunch_view_open(buffer, 0, 4, 1, &eight, NULL, &view));
  FAILS(hiplaunch_view_permute(view, 1, &axis, &view), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "axes");
  FAILS(hiplaunch_view_slice(view, 1, 0, 1, &view), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "axis 1");
  FAILS(hiplaunch_view_slice(view, 0, 5, 9, &view), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "5..9");
  FAILS(hiplaunch_view_download(view, stream, bytes, 31), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "31");
  OK(hiplaunch_view_download(view, stream, bytes, 32));
  check_clean(launcher);
  OK(hiplaunch_close(launcher));
}

static void graphs_and_plans(void) {
  hiplaunch_launcher *launcher = open_emulator();
  hiplaunch_kernel *vadd = kernel_of(launcher, folder, "vector", "vadd_f32");
  hiplaunch_stream *stream;
  hiplaunch_graph *graph;
  hiplaunch_value value, other;
  hiplaunch_graph_arg args[4];
  hiplaunch_graph_patch patch = {0, 7, 0};
  hiplaunch_dims dims = hiplaunch_dims_linear(1, 64);
  hiplaunch_lds_kernel *lds;
  hiplaunch_lds_layout *layout;
  hiplaunch_lds_goal goal;
  hiplaunch_offsets_problem problem;
  hiplaunch_offsets_buffer buffers[2];
  hiplaunch_offsets_pair pair = {0, 5};
  uint64_t offsets[2];
  uint32_t id;
  char bytes[16] = {0};
  OK(hiplaunch_stream_open(launcher, 0, &stream));
  OK(hiplaunch_graph_open(launcher, 0, &graph));
  FAILS(hiplaunch_graph_temporary(graph, (size_t)1 << 50, &value), HIPLAUNCH_STATUS_GRAPH, "addressed");
  OK(hiplaunch_graph_temporary(graph, 256, &value));
  FAILS(hiplaunch_graph_slice(graph, value, 200, 100, &other), HIPLAUNCH_STATUS_GRAPH, "256");
  FAILS(hiplaunch_graph_slice(graph, 99, 0, 1, &other), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "value 99 of a graph of 1");
  FAILS(hiplaunch_graph_argument_block(graph, bytes, 16, &patch, 1, &other), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "value 7");
  patch.value = value, patch.offset = 9;
  FAILS(hiplaunch_graph_argument_block(graph, bytes, 16, &patch, 1, &other), HIPLAUNCH_STATUS_GRAPH, "16");
  memset(args, 0, sizeof args);
  args[0].kind = 50;
  FAILS(hiplaunch_graph_launch(graph, vadd, &dims, args, 4, NULL), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "argument 0: 50");
  args[0].kind = HIPLAUNCH_GRAPH_ARG_KIND_READ, args[0].value = 12;
  FAILS(hiplaunch_graph_launch(graph, vadd, &dims, args, 4, NULL), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "value 12");
  FAILS(hiplaunch_graph_launch(graph, vadd, NULL, args, 4, NULL), HIPLAUNCH_STATUS_NULL_POINTER, "dims");
  FAILS(hiplaunch_graph_launch(graph, vadd, &dims, NULL, 0, NULL), HIPLAUNCH_STATUS_LAUNCH, "takes 4 arguments");
  FAILS(hiplaunch_graph_uses(graph, value, true, true), HIPLAUNCH_STATUS_GRAPH, "");
  OK(hiplaunch_graph_read(graph, value, NULL));
  FAILS(hiplaunch_graph_order(graph, 0, 0), HIPLAUNCH_STATUS_GRAPH, "node 0 can't come after node 0");
  FAILS(hiplaunch_graph_order(graph, 0, 1), HIPLAUNCH_STATUS_GRAPH, "there are 1 nodes");
  FAILS(hiplaunch_graph_set_branches(graph, 0), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "0 streams");
  FAILS(hiplaunch_graph_set_branches(graph, 33), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "33 streams");
  OK(hiplaunch_graph_close(graph));
  FAILS(hiplaunch_graph_close(graph), HIPLAUNCH_STATUS_INVALID_HANDLE, "closed");

  FAILS(hiplaunch_lds_open(9, 1, &lds), HIPLAUNCH_STATUS_LDS, "9");
  OK(hiplaunch_lds_open(0, 9, &lds));
  FAILS(hiplaunch_lds_buffer(lds, "a", 0, 0, &id), HIPLAUNCH_STATUS_LDS, "`a`");
  FAILS(hiplaunch_lds_buffer(lds, "a", 16, 3, &id), HIPLAUNCH_STATUS_LDS, "3");
  OK(hiplaunch_lds_buffer(lds, "a", 4096, 0, &id));
  FAILS(hiplaunch_lds_buffer(lds, "a", 16, 0, &id), HIPLAUNCH_STATUS_LDS, "`a`");
  FAILS(hiplaunch_lds_accesses(lds, 4, HIPLAUNCH_LDS_ACCESS_READ, 1), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "buffer 4");
  FAILS(hiplaunch_lds_accesses(lds, id, 4, 1), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "4 is no hiplaunch_lds_access");
  FAILS(hiplaunch_lds_accesses(lds, id, HIPLAUNCH_LDS_ACCESS_READ, 10), HIPLAUNCH_STATUS_LDS, "10");
  FAILS(hiplaunch_lds_end_loop(lds, 3), HIPLAUNCH_STATUS_LDS, "");
  OK(hiplaunch_lds_accesses(lds, id, HIPLAUNCH_LDS_ACCESS_WRITE, 1));
  memset(&goal, 0, sizeof goal);
  FAILS(hiplaunch_lds_lay_out(lds, &goal, &layout), HIPLAUNCH_STATUS_STRUCT_SIZE, "hiplaunch_lds_goal");
  goal.struct_size = sizeof goal, goal.kind = HIPLAUNCH_LDS_GOAL_KIND_OCCUPANCY;
  FAILS(hiplaunch_lds_lay_out(lds, &goal, &layout), HIPLAUNCH_STATUS_NULL_POINTER, "processor");
  goal.processor = "gfx9999";
  FAILS(hiplaunch_lds_lay_out(lds, &goal, &layout), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "gfx9999");
  goal.processor = "gfx942", goal.workgroups = 100;
  FAILS(hiplaunch_lds_lay_out(lds, &goal, &layout), HIPLAUNCH_STATUS_LDS, "100");
  goal.kind = HIPLAUNCH_LDS_GOAL_KIND_WITHIN, goal.bytes = 100;
  FAILS(hiplaunch_lds_lay_out(lds, &goal, &layout), HIPLAUNCH_STATUS_LDS, "4096");
  OK(hiplaunch_lds_begin_loop(lds, 2, HIPLAUNCH_LDS_RUNS_UNIFORM));
  FAILS(hiplaunch_lds_lay_out(lds, NULL, &layout), HIPLAUNCH_STATUS_LDS, "loop");
  OK(hiplaunch_lds_close(lds));

  memset(&problem, 0, sizeof problem);
  memset(buffers, 0, sizeof buffers);
  FAILS(hiplaunch_plan_offsets(&problem, offsets, NULL), HIPLAUNCH_STATUS_STRUCT_SIZE, "hiplaunch_offsets_problem");
  FAILS(hiplaunch_plan_offsets(NULL, offsets, NULL), HIPLAUNCH_STATUS_NULL_POINTER, "problem");
  problem.struct_size = sizeof problem, problem.buffer_count = 2;
  FAILS(hiplaunch_plan_offsets(&problem, offsets, NULL), HIPLAUNCH_STATUS_NULL_POINTER, "buffers");
  problem.buffers = buffers;
  FAILS(hiplaunch_plan_offsets(&problem, NULL, NULL), HIPLAUNCH_STATUS_NULL_POINTER, "offsets");
  FAILS(hiplaunch_plan_offsets(&problem, offsets, NULL), HIPLAUNCH_STATUS_OFFSETS, "buffer 0");
  buffers[0].size = buffers[1].size = 64;
  problem.pairs = &pair, problem.pair_count = 1;
  FAILS(hiplaunch_plan_offsets(&problem, offsets, NULL), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "buffers 0 and 5 of 2");
  problem.pair_count = 0, problem.capacity = 100;
  FAILS(hiplaunch_plan_offsets(&problem, offsets, NULL), HIPLAUNCH_STATUS_OFFSETS, "100");
  check_clean(launcher);
  OK(hiplaunch_close(launcher));
}

/* After a fault, every later call on the device returns the same report. Another launcher works. */
static void faults(void) {
  hiplaunch_launcher *launcher = open_emulator(), *other = open_emulator();
  hiplaunch_kernel *stray = kernel_of(launcher, folder, "probe", "oob_store");
  hiplaunch_stream *stream, *others;
  hiplaunch_buffer *buffer;
  hiplaunch_ticket *ticket;
  hiplaunch_dims dims = hiplaunch_dims_linear(1, 1);
  hiplaunch_arg args[2];
  hiplaunch_device_properties properties;
  float word = 0.0f;
  OK(hiplaunch_stream_open(launcher, 0, &stream));
  OK(hiplaunch_stream_open(other, 0, &others));
  OK(hiplaunch_buffer_open(launcher, 0, stream, 4, &buffer));
  args[0] = hiplaunch_arg_host_inout(&word, sizeof word);
  args[1] = hiplaunch_arg_i64((int64_t)1 << 40);
  /* The kernel may have faulted before the copy of its results is enqueued: then the launch already fails. */
  if (hiplaunch_launch(stray, stream, &dims, args, 2, &ticket) == HIPLAUNCH_STATUS_OK) {
    FAILS(hiplaunch_ticket_wait(ticket), HIPLAUNCH_STATUS_DEVICE_LOST, "oob_store");
    FAILS(hiplaunch_ticket_read(ticket, 0, &word, 4), HIPLAUNCH_STATUS_DEVICE_LOST, "oob_store");
  } else {
    CHECK(hiplaunch_last_error() == HIPLAUNCH_STATUS_DEVICE_LOST);
  }
  CHECK(hiplaunch_last_driver_code() != 0);
  FAILS(hiplaunch_launch(stray, stream, &dims, args, 2, NULL), HIPLAUNCH_STATUS_DEVICE_LOST, "oob_store");
  FAILS(hiplaunch_buffer_upload(buffer, stream, 0, &word, 4), HIPLAUNCH_STATUS_DEVICE_LOST, "oob_store");
  memset(&properties, 0, sizeof properties);
  properties.struct_size = sizeof properties;
  OK(hiplaunch_get_device_properties(launcher, 0, &properties));
  CHECK(properties.is_lost == 1);
  OK(hiplaunch_stream_synchronize(others));
  OK(hiplaunch_close(other));
  OK(hiplaunch_close(launcher));
}

static int logged;

static void on_log(void *user, uint32_t level, const char *module, const char *message) {
  CHECK(user == &logged && level >= HIPLAUNCH_LOG_LEVEL_ERROR && level <= HIPLAUNCH_LOG_LEVEL_INFO);
  CHECK(strncmp(module, "hiplaunch", 9) == 0 && message[0] != 0);
  if (strstr(message, "using driver")) logged++;
  /* A call of the library from the callback is an error. */
  CHECK(hiplaunch_set_log(NULL, NULL, HIPLAUNCH_LOG_LEVEL_OFF) == HIPLAUNCH_STATUS_INVALID_ARGUMENT);
}

static void the_log(void) {
  FAILS(hiplaunch_set_log(on_log, &logged, 17), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "17 is no hiplaunch_log_level");
  OK(hiplaunch_set_log(on_log, &logged, HIPLAUNCH_LOG_LEVEL_INFO));
  OK(hiplaunch_close(open_emulator()));
  CHECK(logged == 1);
  OK(hiplaunch_set_log(NULL, NULL, HIPLAUNCH_LOG_LEVEL_TRACE));
  OK(hiplaunch_close(open_emulator()));
  CHECK(logged == 1);
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  folder = argv[1];
  nulls_and_sizes();
  handles();
  code_objects();
  launches();
  memory();
  graphs_and_plans();
  faults();
  the_log();
  puts("bad input: all is well");
  return 0;
}
