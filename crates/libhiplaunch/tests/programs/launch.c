/* Launches with every kind of argument, buffers, streams, events, tickets and the pool. */
#include "check.h"

static hiplaunch_launcher *launcher;
static hiplaunch_stream *stream;
static const char *folder;

static void by_buffers(void) {
  enum { N = 1000 };
  float x[N], y[N], read[N];
  hiplaunch_buffer *dx, *dy, *copy;
  hiplaunch_kernel *saxpy = kernel_of(launcher, folder, "vector", "saxpy");
  hiplaunch_dims dims = hiplaunch_dims_linear((N + 63) / 64, 64);
  hiplaunch_arg args[4];
  hiplaunch_ticket *ticket;
  const void *data;
  size_t size, count;
  bool ready, moved;
  int i;
  for (i = 0; i < N; i++) x[i] = (float)i, y[i] = 1.0f;
  OK(hiplaunch_buffer_open(launcher, 0, stream, sizeof x, &dx));
  OK(hiplaunch_buffer_open(launcher, 0, NULL, sizeof y, &dy));
  OK(hiplaunch_buffer_upload(dx, stream, 0, x, sizeof x));
  OK(hiplaunch_buffer_upload(dy, stream, 0, y, sizeof y));
  args[0] = hiplaunch_arg_f32(2.0f);
  args[1] = hiplaunch_arg_buffer(dx);
  args[2] = hiplaunch_arg_buffer(dy);
  args[3] = hiplaunch_arg_i32(N);
  OK(hiplaunch_launch(saxpy, stream, &dims, args, 4, NULL));
  OK(hiplaunch_buffer_close(dx)); /* while the launch may still run */
  memset(read, 0, sizeof read);
  OK(hiplaunch_buffer_download(dy, stream, 0, read, sizeof read));
  for (i = 0; i < N; i++) CHECK(read[i] == 2.0f * x[i] + 1.0f);

  /* An asynchronous read of a part. */
  OK(hiplaunch_buffer_read(dy, stream, 40, 80, &ticket));
  OK(hiplaunch_ticket_outputs(ticket, &count));
  CHECK(count == 1);
  OK(hiplaunch_ticket_wait(ticket));
  OK(hiplaunch_ticket_is_ready(ticket, &ready));
  CHECK(ready);
  OK(hiplaunch_ticket_output(ticket, 0, &data, &size));
  CHECK(size == 80 && memcmp(data, read + 10, 80) == 0);
  OK(hiplaunch_ticket_close(ticket));

  /* Copies and fills of parts. */
  OK(hiplaunch_buffer_open(launcher, 0, stream, 64, &copy));
  OK(hiplaunch_buffer_fill(copy, stream, 0, 64, 0));
  OK(hiplaunch_buffer_copy(copy, 8, dy, 4, 16, stream));
  OK(hiplaunch_buffer_download(copy, stream, 0, read, 64));
  CHECK(read[0] == 0.0f && read[2] == 3.0f && read[5] == 9.0f && read[6] == 0.0f);
  OK(hiplaunch_buffer_fill_words(copy, stream, 8, 16, 0x3fc00000));
  OK(hiplaunch_buffer_download(copy, stream, 0, read, 64));
  CHECK(read[1] == 0.0f && read[2] == 1.5f && read[5] == 1.5f && read[6] == 0.0f);
  FAILS(hiplaunch_buffer_fill_words(copy, stream, 6, 16, 1), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "whole words");
  FAILS(hiplaunch_buffer_fill_words(copy, stream, 8, 6, 1), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "6 bytes");
  FAILS(hiplaunch_buffer_fill_words(copy, stream, 8, 60, 1), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "64");
  OK(hiplaunch_buffer_resize(copy, stream, 32, &moved));
  CHECK(!moved);
  OK(hiplaunch_buffer_resize(copy, stream, 1 << 20, &moved));
  CHECK(moved);
  OK(hiplaunch_buffer_size(copy, &size));
  CHECK(size == 1 << 20);
  OK(hiplaunch_buffer_close(copy));
  OK(hiplaunch_buffer_close(dy));
  OK(hiplaunch_unregister(saxpy));
}

static void by_host_arrays(void) {
  enum { N = 100 };
  float x[N], y[N], read[N];
  hiplaunch_kernel *saxpy = kernel_of(launcher, folder, "vector", "saxpy");
  hiplaunch_dims dims = hiplaunch_dims_linear(2, 64);
  hiplaunch_arg args[4];
  hiplaunch_launch_options options;
  hiplaunch_ticket *tickets[10];
  int i, t;
  for (i = 0; i < N; i++) x[i] = (float)i, y[i] = 0.5f;
  for (t = 0; t < 10; t++) {
    args[0] = hiplaunch_arg_f32((float)t);
    args[1] = hiplaunch_arg_host_in(x, sizeof x);
    args[2] = hiplaunch_arg_host_inout(y, sizeof y);
    args[3] = hiplaunch_arg_i32(N);
    options = hiplaunch_launch_options_of(dims);
    options.args = args, options.arg_count = 4;
    options.staging = t % 2 ? HIPLAUNCH_STAGING_MAPPED : HIPLAUNCH_STAGING_COPY;
    OK(hiplaunch_submit(saxpy, stream, &options, &tickets[t]));
  }
  memset(x, 0, sizeof x); /* the launch has copied it */
  for (t = 9; t >= 0; t--) {
    OK(hiplaunch_ticket_read(tickets[t], 0, read, sizeof read));
    for (i = 0; i < N; i++) CHECK(read[i] == (float)t * (float)i + 0.5f);
    OK(hiplaunch_ticket_close(tickets[t]));
  }
}

/* An argument block with arrays and a result, also with a device address and a buffer. */
static void by_block(void) {
  struct {
    uint64_t result, x, y;
    uint32_t n, pad;
  } bytes = {0, 0, 0, 100, 0};
  float x[100], y[100];
  double sum = 0.0, expected = 0.0;
  hiplaunch_patch patches[3];
  hiplaunch_array arrays[2];
  hiplaunch_argument_block block;
  hiplaunch_buffer *dy;
  hiplaunch_arg arg;
  hiplaunch_ticket *ticket;
  hiplaunch_kernel *dot = kernel_of(launcher, folder, "jit", "jit_dot");
  hiplaunch_dims dims = hiplaunch_dims_linear(1, 256);
  uint64_t address;
  int i;
  for (i = 0; i < 100; i++) x[i] = (float)i, y[i] = 0.25f, expected += 0.25 * i;
  memset(&block, 0, sizeof block);
  memset(patches, 0, sizeof patches);
  memset(arrays, 0, sizeof arrays);
  block.struct_size = sizeof block;
  block.bytes = &bytes;
  block.size = sizeof bytes;
  block.patches = patches;
  block.patch_count = 3;
  block.arrays = arrays;
  block.array_count = 2;
  block.result_bytes = sizeof sum;
  for (i = 0; i < 3; i++) patches[i].offset = 8 * (size_t)i;
  patches[0].target = HIPLAUNCH_PATCH_TARGET_RESULT;
  patches[1].target = HIPLAUNCH_PATCH_TARGET_ARRAY;
  patches[2].target = HIPLAUNCH_PATCH_TARGET_ARRAY;
  patches[2].value = 1;
  arrays[0].kind = arrays[1].kind = HIPLAUNCH_ARG_KIND_HOST_IN;
  arrays[0].data = x;
  arrays[1].data = y;
  arrays[0].size = arrays[1].size = sizeof x;
  arg = hiplaunch_arg_argument_block(&block);
  OK(hiplaunch_launch(dot, stream, &dims, &arg, 1, &ticket));
  OK(hiplaunch_ticket_read(ticket, 0, &sum, sizeof sum));
  CHECK(sum == expected);
  OK(hiplaunch_ticket_close(ticket));

  OK(hiplaunch_buffer_open(launcher, 0, stream, sizeof y, &dy));
  OK(hiplaunch_buffer_upload(dy, stream, 0, y, sizeof y));
  block.array_count = 1;
  patches[2].target = HIPLAUNCH_PATCH_TARGET_BUFFER;
  patches[2].value = (uint64_t)(uintptr_t)dy;
  OK(hiplaunch_launch(dot, stream, &dims, &arg, 1, &ticket));
  OK(hiplaunch_ticket_read(ticket, 0, &sum, sizeof sum));
  CHECK(sum == expected);
  OK(hiplaunch_ticket_close(ticket));
  OK(hiplaunch_buffer_address(dy, &address));
  patches[2].target = HIPLAUNCH_PATCH_TARGET_ADDRESS;
  patches[2].value = address;
  OK(hiplaunch_launch(dot, stream, &dims, &arg, 1, &ticket));
  OK(hiplaunch_buffer_record_use(dy, stream));
  OK(hiplaunch_buffer_close(dy));
  OK(hiplaunch_ticket_read(ticket, 0, &sum, sizeof sum));
  CHECK(sum == expected);
  OK(hiplaunch_ticket_close(ticket));
}

/* Scalars of every size, a struct by value, and the same as packed arguments. */
static void by_value(void) {
  struct {
    int8_t a;
    int16_t b;
    int32_t c;
    int64_t d;
    float e;
    double f;
    int32_t s[3];
    uint64_t out;
  } packed;
  int8_t a = -1;
  int16_t b = -2;
  int32_t s[3] = {7, -8, 9};
  uint64_t words[9];
  const int64_t expected[9] = {-1, -2, -3, -4, 0, 0, 7, -8, 9};
  double five = 5.5, six = -6.25;
  hiplaunch_buffer *out;
  hiplaunch_arg args[8];
  hiplaunch_ticket *ticket;
  hiplaunch_kernel *mixed = kernel_of(launcher, folder, "probe", "args_mixed");
  hiplaunch_dims dims = hiplaunch_dims_linear(1, 1);
  int i, way;
  args[0] = hiplaunch_arg_scalar(&a, 1);
  args[1] = hiplaunch_arg_scalar(&b, 2);
  args[2] = hiplaunch_arg_i32(-3);
  args[3] = hiplaunch_arg_i64(-4);
  args[4] = hiplaunch_arg_f32(5.5f);
  args[5] = hiplaunch_arg_f64(six);
  args[6] = hiplaunch_arg_value(s, sizeof s);
  args[7] = hiplaunch_arg_host_out(sizeof words);
  memset(&packed, 0, sizeof packed);
  packed.a = a, packed.b = b, packed.c = -3, packed.d = -4, packed.e = 5.5f, packed.f = six;
  memcpy(packed.s, s, sizeof s);
  CHECK(sizeof packed == 56);
  OK(hiplaunch_buffer_open(launcher, 0, stream, sizeof words, &out));
  OK(hiplaunch_buffer_address(out, &packed.out));
  for (way = 0; way < 2; way++) {
    if (way == 0) {
      OK(hiplaunch_launch(mixed, stream, &dims, args, 8, &ticket));
      OK(hiplaunch_ticket_read(ticket, 0, words, sizeof words));
    } else {
      hiplaunch_launch_options options = hiplaunch_launch_options_of(dims);
      options.packed = &packed, options.packed_size = sizeof packed;
      OK(hiplaunch_submit(mixed, stream, &options, &ticket));
      OK(hiplaunch_buffer_download(out, stream, 0, words, sizeof words));
    }
    OK(hiplaunch_ticket_close(ticket));
    for (i = 0; i < 9; i++) {
      if (i == 4)
        CHECK(memcmp(&words[4], &five, 8) == 0);
      else if (i == 5)
        CHECK(memcmp(&words[5], &six, 8) == 0);
      else
        CHECK((int64_t)words[i] == expected[i]);
    }
  }
  OK(hiplaunch_buffer_close(out));
}

/* Packed arguments as a struct that ends with padding. The kernarg segment may end before the padding. */
static void by_padded_struct(void) {
  enum { N = 64 };
  struct {
    float a;
    uint64_t x, y;
    int32_t n;
  } packed;
  float x[N], y[N];
  hiplaunch_buffer *dx, *dy;
  hiplaunch_kernel *saxpy = kernel_of(launcher, folder, "vector", "saxpy");
  hiplaunch_launch_options options;
  int i;
  for (i = 0; i < N; i++) x[i] = (float)i, y[i] = 1.0f;
  OK(hiplaunch_buffer_open(launcher, 0, stream, sizeof x, &dx));
  OK(hiplaunch_buffer_open(launcher, 0, stream, sizeof y, &dy));
  OK(hiplaunch_buffer_upload(dx, stream, 0, x, sizeof x));
  OK(hiplaunch_buffer_upload(dy, stream, 0, y, sizeof y));
  memset(&packed, 0xff, sizeof packed);
  packed.a = 2.0f, packed.n = N;
  OK(hiplaunch_buffer_address(dx, &packed.x));
  OK(hiplaunch_buffer_address(dy, &packed.y));
  CHECK(sizeof packed == 32);
  options = hiplaunch_launch_options_of(hiplaunch_dims_linear(1, N));
  options.packed = &packed, options.packed_size = sizeof packed;
  OK(hiplaunch_submit(saxpy, stream, &options, NULL));
  OK(hiplaunch_buffer_download(dy, stream, 0, y, sizeof y));
  for (i = 0; i < N; i++) CHECK(y[i] == 2.0f * (float)i + 1.0f);
  options.packed_size = 27;
  FAILS(hiplaunch_submit(saxpy, stream, &options, NULL), HIPLAUNCH_STATUS_LAUNCH, "28 to 32 bytes");
  OK(hiplaunch_buffer_close(dx));
  OK(hiplaunch_buffer_close(dy));
  OK(hiplaunch_unregister(saxpy));
}

/* A GPU if there is one, else an emulated gfx942. */
static void by_the_driver_that_there_is(void) {
  hiplaunch_options options;
  hiplaunch_launcher *any;
  hiplaunch_device_properties properties;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.backend = HIPLAUNCH_BACKEND_AUTO;
  options.emulator = "target=gfx942";
  OK(hiplaunch_open(&options, &any));
  memset(&properties, 0, sizeof properties);
  properties.struct_size = sizeof properties;
  OK(hiplaunch_get_device_properties(any, 0, &properties));
  if (strcmp(properties.pci_bus_id, "emulated") == 0) CHECK(strcmp(properties.processor, "gfx942") == 0);
  OK(hiplaunch_close(any));
}

/* reduce_sum_f32(const float *x, float *out, int n). */
static void parameters(const hiplaunch_kernel *sum) {
  hiplaunch_kernel_parameter parameter;
  size_t count;
  OK(hiplaunch_kernel_parameters(sum, &count));
  CHECK(count == 3);
  FAILS(hiplaunch_kernel_parameters(sum, NULL), HIPLAUNCH_STATUS_NULL_POINTER, "count");
  memset(&parameter, 0, sizeof parameter);
  FAILS(hiplaunch_get_kernel_parameter(sum, 0, &parameter), HIPLAUNCH_STATUS_STRUCT_SIZE, "struct_size 0");
  parameter.struct_size = sizeof parameter;
  OK(hiplaunch_get_kernel_parameter(sum, 0, &parameter));
  CHECK(parameter.offset == 0 && parameter.size == 8 && parameter.is_pointer == 1);
  OK(hiplaunch_get_kernel_parameter(sum, 2, &parameter));
  CHECK(parameter.offset == 16 && parameter.size == 4 && parameter.is_pointer == 0);
  FAILS(hiplaunch_get_kernel_parameter(sum, 3, &parameter), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "parameter 3 of 3");
  FAILS(hiplaunch_get_kernel_parameter(sum, 0, NULL), HIPLAUNCH_STATUS_NULL_POINTER, "parameter");
  FAILS(hiplaunch_get_kernel_parameter(NULL, 0, &parameter), HIPLAUNCH_STATUS_INVALID_HANDLE, "kernel");
}

/* Attributes and occupancy of a kernel, properties of the device; a struct of the first version is filled as far as it
   goes. */
static void attributes_and_occupancy(void) {
  hiplaunch_kernel *sum = kernel_of(launcher, folder, "reduce", "reduce_sum_f32");
  hiplaunch_kernel_attributes attributes;
  hiplaunch_kernel_occupancy occupancy;
  hiplaunch_device_properties properties;
  memset(&attributes, 0, sizeof attributes);
  FAILS(hiplaunch_get_kernel_attributes(sum, 0, &attributes), HIPLAUNCH_STATUS_STRUCT_SIZE, "struct_size 0");
  attributes.struct_size = sizeof attributes;
  OK(hiplaunch_get_kernel_attributes(sum, 0, &attributes));
  CHECK(attributes.static_lds == 1024 && attributes.max_threads_per_block == 256);
  CHECK(attributes.vgprs > 0 && attributes.sgprs > 0 && attributes.wavefront_size == 64);
  CHECK(attributes.private_bytes == 0 && attributes.spilled_vgprs == 0 && attributes.required_block[0] == 0);
  memset(&occupancy, 0, sizeof occupancy);
  occupancy.struct_size = sizeof occupancy;
  OK(hiplaunch_get_kernel_occupancy(sum, 0, 256, 0, &occupancy));
  CHECK(occupancy.blocks_per_cu == 8 && occupancy.waves_per_block == 4 && occupancy.lds_bytes == 1024);
  CHECK(occupancy.limited_by == HIPLAUNCH_OCCUPANCY_LIMIT_WAVES);
  OK(hiplaunch_get_kernel_occupancy(sum, 0, 256, 31 * 1024, &occupancy));
  CHECK(occupancy.blocks_per_cu == 2 && occupancy.limited_by == HIPLAUNCH_OCCUPANCY_LIMIT_LDS);
  FAILS(hiplaunch_get_kernel_occupancy(sum, 0, 257, 0, &occupancy), HIPLAUNCH_STATUS_LAUNCH, "at most 256");
  parameters(sum);
  OK(hiplaunch_unregister(sum));
  FAILS(hiplaunch_get_kernel_attributes(sum, 0, &attributes), HIPLAUNCH_STATUS_INVALID_HANDLE, "");
  memset(&properties, 0xff, sizeof properties);
  properties.struct_size = offsetof(hiplaunch_device_properties, memory_clock_khz);
  OK(hiplaunch_get_device_properties(launcher, 0, &properties));
  CHECK(properties.is_lost == 0 && properties.memory_clock_khz == 0xffffffffu);
  properties.struct_size = sizeof properties;
  OK(hiplaunch_get_device_properties(launcher, 0, &properties));
  CHECK(properties.memory_clock_khz == 1600000 && properties.memory_bus_bits == 4096);
  CHECK(properties.l2_bytes == 8 << 20 && properties.registers_per_block == 131072);
  CHECK(properties.has_pci_address == 0);
}

/* Destinations: a buffer that is large enough, one that is too small, and a view. Views of rows, columns and parts. */
static void into_destinations(void) {
  enum { N = 12 };
  float x[N], read[N];
  hiplaunch_buffer *dx, *out;
  hiplaunch_view *view, *transposed, *column, *middle;
  hiplaunch_arg args[4];
  hiplaunch_kernel *vadd = kernel_of(launcher, folder, "vector", "vadd_f32");
  hiplaunch_launch_options options;
  struct {
    uint64_t x, y, out;
    int32_t n;
  } packed;
  const size_t shape[2] = {3, 4}, axes[2] = {1, 0};
  const ptrdiff_t strides[1] = {4};
  const size_t three = 3;
  size_t size;
  int i;
  for (i = 0; i < N; i++) x[i] = (float)i;
  OK(hiplaunch_buffer_open(launcher, 0, stream, sizeof x, &dx));
  OK(hiplaunch_buffer_upload(dx, stream, 0, x, sizeof x));
  OK(hiplaunch_buffer_open(launcher, 0, stream, 0, &out));
  args[0] = hiplaunch_arg_buffer(dx);
  args[1] = hiplaunch_arg_buffer(dx);
  args[2] = hiplaunch_arg_destination();
  args[3] = hiplaunch_arg_i32(N);
  options = hiplaunch_launch_options_of(hiplaunch_dims_linear(1, 64));
  options.args = args, options.arg_count = 4;
  options.shape = shape, options.rank = 2, options.element = sizeof(float);
  options.destination = out;
  OK(hiplaunch_submit(vadd, stream, &options, NULL));
  OK(hiplaunch_buffer_size(out, &size));
  CHECK(size == sizeof x);
  OK(hiplaunch_buffer_download(out, stream, 0, read, sizeof read));
  for (i = 0; i < N; i++) CHECK(read[i] == 2.0f * (float)i);

  OK(hiplaunch_view_open(out, 0, sizeof(float), 2, shape, NULL, &view));
  args[1] = hiplaunch_arg_view(view);
  options.destination_view = view;
  FAILS(hiplaunch_submit(vadd, stream, &options, NULL), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "destination_view");
  options.destination = NULL;
  FAILS(hiplaunch_submit(vadd, stream, &options, NULL), HIPLAUNCH_STATUS_LAUNCH, "destination");
  args[1] = hiplaunch_arg_buffer(dx);
  OK(hiplaunch_submit(vadd, stream, &options, NULL));
  packed.n = N;
  OK(hiplaunch_buffer_address(dx, &packed.x));
  packed.y = packed.x, packed.out = 0;
  options.packed = &packed, options.packed_size = sizeof packed;
  FAILS(hiplaunch_submit(vadd, stream, &options, NULL), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "`args` and `packed`");
  options.args = NULL, options.arg_count = 0;
  options.destination_parameter = 3; /* n, which is no pointer */
  FAILS(hiplaunch_submit(vadd, stream, &options, NULL), HIPLAUNCH_STATUS_LAUNCH, "is a value");
  options.destination_parameter = 2, options.staging = HIPLAUNCH_STAGING_MAPPED;
  OK(hiplaunch_submit(vadd, stream, &options, NULL));
  OK(hiplaunch_buffer_close(out)); /* the view keeps the memory */
  OK(hiplaunch_view_permute(view, 2, axes, &transposed));
  OK(hiplaunch_view_download(transposed, stream, read, sizeof read));
  for (i = 0; i < N; i++) CHECK(read[i] == 2.0f * (float)(i % 3 * 4 + i / 3));
  OK(hiplaunch_view_slice(view, 1, 1, 3, &middle));
  OK(hiplaunch_view_size(middle, &size));
  CHECK(size == 6 * sizeof(float));
  OK(hiplaunch_view_download(middle, stream, read, size));
  CHECK(read[0] == 2.0f && read[1] == 4.0f && read[2] == 10.0f && read[5] == 20.0f);
  OK(hiplaunch_view_open(dx, 2 * sizeof(float), sizeof(float), 1, &three, strides, &column));
  OK(hiplaunch_view_download(column, stream, read, 3 * sizeof(float)));
  CHECK(read[0] == 2.0f && read[1] == 6.0f && read[2] == 10.0f);
  OK(hiplaunch_view_close(column));
  OK(hiplaunch_view_close(middle));
  OK(hiplaunch_view_close(transposed));
  OK(hiplaunch_view_close(view));
  OK(hiplaunch_buffer_close(dx));
}

static void streams_and_events(void) {
  hiplaunch_stream *other;
  hiplaunch_event *start, *end;
  hiplaunch_buffer *buffer;
  hiplaunch_kernel *bump = kernel_of(launcher, folder, "probe", "bump");
  hiplaunch_arg args[2];
  hiplaunch_dims dims = hiplaunch_dims_linear(1, 64);
  uint32_t words[64];
  float ms;
  bool idle, reached;
  int i;
  OK(hiplaunch_stream_open(launcher, 0, &other));
  OK(hiplaunch_event_open(launcher, 0, true, &start));
  OK(hiplaunch_event_open(launcher, 0, true, &end));
  OK(hiplaunch_buffer_open(launcher, 0, stream, sizeof words, &buffer));
  OK(hiplaunch_buffer_fill(buffer, stream, 0, sizeof words, 0));
  args[0] = hiplaunch_arg_buffer(buffer);
  args[1] = hiplaunch_arg_i32(64);
  OK(hiplaunch_event_record(start, stream));
  OK(hiplaunch_launch(bump, stream, &dims, args, 2, NULL));
  OK(hiplaunch_event_record(end, stream));
  OK(hiplaunch_stream_wait_event(other, end));
  OK(hiplaunch_launch(bump, other, &dims, args, 2, NULL));
  OK(hiplaunch_buffer_download(buffer, other, 0, words, sizeof words));
  for (i = 0; i < 64; i++) CHECK(words[i] == 2);
  OK(hiplaunch_event_synchronize(end));
  OK(hiplaunch_event_is_reached(end, &reached));
  CHECK(reached);
  OK(hiplaunch_event_elapsed(start, end, &ms));
  CHECK(ms >= 0.0f);
  OK(hiplaunch_stream_synchronize(other));
  OK(hiplaunch_stream_is_idle(other, &idle));
  CHECK(idle);
  OK(hiplaunch_event_close(start));
  OK(hiplaunch_event_close(end));
  OK(hiplaunch_stream_close(other));
  OK(hiplaunch_buffer_close(buffer));
}

static void kernels_come_and_go(void) {
  size_t size;
  void *bytes = code_object(folder, "reduce", "gfx90a", &size);
  hiplaunch_kernel *sum = kernel_of(launcher, folder, "reduce", "reduce_sum_f32");
  hiplaunch_counters counters;
  hiplaunch_dims dims = hiplaunch_dims_linear(1, 256);
  hiplaunch_arg args[3];
  hiplaunch_ticket *before, *after;
  float x[256], result;
  int i;
  for (i = 0; i < 256; i++) x[i] = 0.25f;
  args[0] = hiplaunch_arg_host_in(x, sizeof x);
  args[1] = hiplaunch_arg_host_out(sizeof(float));
  args[2] = hiplaunch_arg_i32(256);
  OK(hiplaunch_launch(sum, stream, &dims, args, 3, &before));
  OK(hiplaunch_replace(sum, bytes, size, "reduce_sum_dyn_f32"));
  dims.block[0] = 64;
  dims.dynamic_lds = 4 * 64;
  OK(hiplaunch_launch(sum, stream, &dims, args, 3, &after));
  OK(hiplaunch_unregister(sum));
  OK(hiplaunch_ticket_read(before, 0, &result, sizeof result));
  CHECK(result == 64.0f);
  OK(hiplaunch_ticket_read(after, 0, &result, sizeof result));
  CHECK(result == 64.0f);
  OK(hiplaunch_ticket_close(before));
  OK(hiplaunch_ticket_close(after));
  memset(&counters, 0, sizeof counters);
  counters.struct_size = sizeof counters;
  OK(hiplaunch_get_counters(launcher, &counters));
  CHECK(counters.validated == 1 && counters.driver_calls > 0 && counters.violations == 0);
  free(bytes);
}

/* In the steady state, launches and reads allocate no device memory and no pinned memory. */
static void steady_state(void) {
  hiplaunch_kernel *polynomial = kernel_of(launcher, folder, "jit", "jit_polynomial");
  hiplaunch_dims dims = hiplaunch_dims_linear(1, 64);
  hiplaunch_patch patch = {0, HIPLAUNCH_PATCH_TARGET_RESULT, 0, 0};
  hiplaunch_argument_block block;
  hiplaunch_arg arg;
  hiplaunch_ticket *ticket;
  unsigned char bytes[96];
  uint64_t mallocs[2], pinned[2], launches[2];
  uint32_t n = 16;
  int i;
  memset(bytes, 0, sizeof bytes);
  memcpy(bytes + 8, &n, sizeof n);
  memset(&block, 0, sizeof block);
  block.struct_size = sizeof block;
  block.bytes = bytes;
  block.size = sizeof bytes;
  block.patches = &patch;
  block.patch_count = 1;
  block.result_bytes = 64;
  arg = hiplaunch_arg_argument_block(&block);
  for (i = 0; i < 60; i++) {
    float c = (float)i;
    const void *data;
    if (i == 10 || i == 59) {
      OK(hiplaunch_count_driver_calls(launcher, "hipMalloc", &mallocs[i == 59]));
      OK(hiplaunch_count_driver_calls(launcher, "hipHostMalloc", &pinned[i == 59]));
      OK(hiplaunch_count_driver_calls(launcher, "hipModuleLaunchKernel", &launches[i == 59]));
    }
    memcpy(bytes + 16, &c, sizeof c);
    OK(hiplaunch_launch(polynomial, stream, &dims, &arg, 1, &ticket));
    OK(hiplaunch_ticket_output(ticket, 0, &data, NULL));
    CHECK(((const float *)data)[3] == c);
    OK(hiplaunch_ticket_close(ticket));
  }
  CHECK(mallocs[0] == mallocs[1] && pinned[0] == pinned[1]);
  CHECK(launches[1] - launches[0] == 49);
}

static void the_pool(void) {
  hiplaunch_pool_stats stats;
  hiplaunch_buffer *buffer;
  hiplaunch_text *json;
  const char *text;
  size_t length;
  uint64_t freed;
  hiplaunch_status status;
  memset(&stats, 0, sizeof stats);
  stats.struct_size = sizeof stats;
  OK(hiplaunch_buffer_open(launcher, 0, stream, 1 << 20, &buffer));
  OK(hiplaunch_get_pool_stats(launcher, 0, &stats));
  CHECK(stats.in_use >= 1 << 20 && stats.reserved >= stats.in_use && stats.live_blocks >= 1);
  OK(hiplaunch_buffer_close(buffer));
  OK(hiplaunch_stream_trim(stream));
  OK(hiplaunch_pool_reset_peaks(launcher, 0));
  OK(hiplaunch_pool_trim(launcher, 0, 0, &freed));
  OK(hiplaunch_get_pool_stats(launcher, 0, &stats));
  CHECK(stats.peak_reserved < 1 << 20);
  OK(hiplaunch_pool_limit(launcher, 0, 1 << 20, 0));
  FAILS(hiplaunch_buffer_open(launcher, 0, stream, 64 << 20, &buffer), HIPLAUNCH_STATUS_OUT_OF_MEMORY, "out of device memory");
  CHECK(hiplaunch_last_driver_code() == 2);
  OK(hiplaunch_pool_limit(launcher, 0, 0, 0));
  status = hiplaunch_pool_snapshot_json(launcher, 0, &json);
  if (status != HIPLAUNCH_STATUS_UNSUPPORTED) {
    CHECK(status == HIPLAUNCH_STATUS_OK);
    OK(hiplaunch_text_data(json, &text, &length));
    CHECK(length == strlen(text) && text[0] == '{' && strstr(text, "\"segments\"") != NULL);
    OK(hiplaunch_text_close(json));
  }
}

/* A function of the host runs after what was enqueued before it. */
static uint32_t seen[4];
static hiplaunch_status seen_status = HIPLAUNCH_STATUS_DRIVER;

static void look(void *user, hiplaunch_status status) {
  memcpy(seen, user, sizeof seen);
  seen_status = status;
}

static void host_functions(void) {
  static uint32_t user[4] = {3, 1, 4, 1};
  OK(hiplaunch_stream_host_function(stream, look, user));
  OK(hiplaunch_stream_synchronize(stream));
  CHECK(seen_status == HIPLAUNCH_STATUS_OK && memcmp(seen, user, sizeof seen) == 0);
  FAILS(hiplaunch_stream_host_function(stream, NULL, user), HIPLAUNCH_STATUS_NULL_POINTER, "function");
}

/* A stream waits for the value that another writes later. */
static void values(void) {
  hiplaunch_stream *other;
  hiplaunch_buffer *step;
  uint64_t seen_value[2] = {0, 0};
  bool idle = true;
  OK(hiplaunch_stream_open(launcher, 0, &other));
  OK(hiplaunch_buffer_open(launcher, 0, NULL, 16, &step));
  OK(hiplaunch_buffer_upload(step, stream, 0, seen_value, 16));
  OK(hiplaunch_stream_synchronize(stream));
  OK(hiplaunch_stream_wait_value(other, step, 8, HIPLAUNCH_COMPARISON_AT_LEAST, 3, UINT64_MAX));
  OK(hiplaunch_stream_write_value(other, step, 0, 4));
  OK(hiplaunch_stream_is_idle(other, &idle));
  CHECK(!idle);
  OK(hiplaunch_stream_write_value(stream, step, 8, 3));
  OK(hiplaunch_stream_wait_value(stream, step, 0, HIPLAUNCH_COMPARISON_EQUAL, 4, 0xff));
  OK(hiplaunch_buffer_download(step, stream, 0, seen_value, 16));
  CHECK(seen_value[0] == 4 && seen_value[1] == 3);
  FAILS(hiplaunch_stream_write_value(stream, step, 4, 1), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "aligned");
  FAILS(hiplaunch_stream_write_value(stream, step, 16, 1), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "");
  FAILS(hiplaunch_stream_wait_value(stream, step, 0, 9, 1, 1), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "9");
  FAILS(hiplaunch_stream_wait_value(stream, NULL, 0, 0, 1, 1), HIPLAUNCH_STATUS_INVALID_HANDLE, "");
  OK(hiplaunch_buffer_close(step));
  OK(hiplaunch_stream_close(other));
}

static void devices(void) {
  hiplaunch_device_properties properties;
  hiplaunch_text *driver;
  const char *text;
  uint32_t count;
  OK(hiplaunch_device_count(launcher, &count));
  CHECK(count == 1);
  memset(&properties, 0, sizeof properties);
  properties.struct_size = sizeof properties;
  OK(hiplaunch_get_device_properties(launcher, 0, &properties));
  CHECK(strcmp(properties.processor, "gfx90a") == 0 && strncmp(properties.target, "gfx90a:", 7) == 0);
  CHECK(properties.wavefront_size == 64 && properties.max_threads_per_block == 1024 && properties.is_lost == 0);
  OK(hiplaunch_describe_driver(launcher, &driver));
  OK(hiplaunch_text_data(driver, &text, NULL));
  CHECK(strstr(text, "validation over emulated") == text);
  OK(hiplaunch_text_close(driver));
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  folder = argv[1];
  CHECK(hiplaunch_version_number() ==
        (HIPLAUNCH_VERSION_MAJOR << 16 | HIPLAUNCH_VERSION_MINOR << 8 | HIPLAUNCH_VERSION_PATCH));
  CHECK(strlen(hiplaunch_version()) >= 5);
  launcher = open_emulator();
  OK(hiplaunch_stream_open(launcher, 0, &stream));
  devices();
  by_buffers();
  by_host_arrays();
  by_block();
  by_value();
  by_padded_struct();
  by_the_driver_that_there_is();
  attributes_and_occupancy();
  into_destinations();
  streams_and_events();
  host_functions();
  values();
  kernels_come_and_go();
  steady_state();
  the_pool();
  check_clean(launcher);
  OK(hiplaunch_close(launcher));
  CHECK(hiplaunch_last_error() != HIPLAUNCH_STATUS_OK); /* an expected failure; later successes do not change it */
  hiplaunch_clear_last_error();
  CHECK(hiplaunch_last_error() == HIPLAUNCH_STATUS_OK && hiplaunch_last_error_message()[0] == 0);
  puts("launch: all is well");
  return 0;
}
