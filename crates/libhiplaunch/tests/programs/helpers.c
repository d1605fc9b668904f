/* The header's functions that make arguments, argument blocks and dimensions, in C and in C++; the order of a ticket's
   outputs. */
#include "check.h"

static hiplaunch_launcher *launcher;
static hiplaunch_stream *stream;
static const char *folder;

/* The outputs of a ticket have these sizes, in this order. */
static void has_sizes(const hiplaunch_ticket *ticket, const size_t *sizes, size_t count) {
  size_t outputs, i, size;
  const void *data;
  OK(hiplaunch_ticket_outputs(ticket, &outputs));
  CHECK(outputs == count);
  for (i = 0; i < count; i++) {
    OK(hiplaunch_ticket_output(ticket, i, &data, &size));
    CHECK(size == sizes[i]);
  }
}

/* What the kernel args_mixed writes for -1, -2, -3, -4, 5.5, -6.25 and {7, -8, 9}. */
static void are_mixed(const uint64_t *words) {
  const int64_t expected[9] = {-1, -2, -3, -4, 0, 0, 7, -8, 9};
  const double floats[2] = {5.5, -6.25};
  int i;
  CHECK(memcmp(words + 4, floats, sizeof floats) == 0);
  for (i = 0; i < 9; i++)
    if (i < 4 || i > 5) CHECK((int64_t)words[i] == expected[i]);
}

/* Scalars of each size and a struct by value: for a launch, and for a launch that a graph records. */
static void values(void) {
  hiplaunch_kernel *mixed = kernel_of(launcher, folder, "probe", "args_mixed");
  const hiplaunch_dims dims = hiplaunch_dims_linear(1, 1);
  const int32_t triple[3] = {7, -8, 9};
  const float five = 5.5f;
  uint64_t words[9];
  hiplaunch_arg args[8];
  hiplaunch_graph_arg recorded[8];
  hiplaunch_graph *graph;
  hiplaunch_value out;
  hiplaunch_ticket *ticket;
  args[0] = hiplaunch_arg_i8(-1);
  args[1] = hiplaunch_arg_i16(-2);
  args[2] = hiplaunch_arg_i32(-3);
  args[3] = hiplaunch_arg_i64(-4);
  args[4] = hiplaunch_arg_raw(&five, sizeof five);
  args[5] = hiplaunch_arg_f64(-6.25);
  args[6] = hiplaunch_arg_value(triple, sizeof triple);
  args[7] = hiplaunch_arg_host_out(sizeof words);
  OK(hiplaunch_launch(mixed, stream, &dims, args, 8, &ticket));
  OK(hiplaunch_ticket_read(ticket, 0, words, sizeof words));
  OK(hiplaunch_ticket_close(ticket));
  are_mixed(words);

  OK(hiplaunch_graph_open(launcher, 0, &graph));
  OK(hiplaunch_graph_temporary(graph, sizeof words, &out));
  recorded[0] = hiplaunch_graph_arg_i8(-1);
  recorded[1] = hiplaunch_graph_arg_i16(-2);
  recorded[2] = hiplaunch_graph_arg_i32(-3);
  recorded[3] = hiplaunch_graph_arg_i64(-4);
  recorded[4] = hiplaunch_graph_arg_f32(five);
  recorded[5] = hiplaunch_graph_arg_f64(-6.25);
  recorded[6] = hiplaunch_graph_arg_value(triple, sizeof triple);
  recorded[7] = hiplaunch_graph_arg_write(out);
  OK(hiplaunch_graph_launch(graph, mixed, &dims, recorded, 8, NULL));
  OK(hiplaunch_graph_read(graph, out, NULL));
  memset(words, 0, sizeof words);
  OK(hiplaunch_graph_compute(graph, stream, HIPLAUNCH_SUBMISSION_AUTO, &ticket));
  OK(hiplaunch_ticket_read(ticket, 0, words, sizeof words));
  OK(hiplaunch_ticket_close(ticket));
  are_mixed(words);
  OK(hiplaunch_unregister(mixed));

  CHECK(hiplaunch_arg_bool(true).bits == 1 && hiplaunch_arg_bool(true).size == 1 && hiplaunch_arg_bool(false).bits == 0);
  CHECK(hiplaunch_arg_i8(-1).bits == 0xff && hiplaunch_arg_i8(-1).size == 1);
  CHECK(hiplaunch_arg_u8(200).bits == 200 && hiplaunch_arg_u8(200).size == 1);
  CHECK(hiplaunch_arg_i16(-2).bits == 0xfffe && hiplaunch_arg_i16(-2).size == 2);
  CHECK(hiplaunch_arg_u16(0x3c00).bits == 0x3c00 && hiplaunch_arg_u16(0x3c00).size == 2);
  CHECK(hiplaunch_graph_arg_bool(true).bits == 1 && hiplaunch_graph_arg_bool(true).size == 1);
  CHECK(hiplaunch_graph_arg_u8(200).bits == 200 && hiplaunch_graph_arg_u16(0x3c00).size == 2);
  CHECK(hiplaunch_graph_arg_u32(1u << 31).bits == 1u << 31 && hiplaunch_graph_arg_u64(UINT64_MAX).bits == UINT64_MAX);
}

/* Each work-item of a grid of 2 x 3 x 2 workgroups, and of one of 2 x 3, writes where it is. */
static void dimensions(void) {
  hiplaunch_kernel *ids = kernel_of(launcher, folder, "probe", "ids");
  hiplaunch_dims dims[2];
  hiplaunch_dims cover = hiplaunch_dims_cover(1000, 256);
  static uint32_t words[12 * 12 * 12];
  int i;
  dims[0] = hiplaunch_dims_3d(2, 3, 2, 3, 2, 2);
  dims[1] = hiplaunch_dims_2d(2, 3, 3, 2);
  CHECK(cover.grid[0] == 4 && cover.grid[1] == 1 && cover.grid[2] == 1 && cover.dynamic_lds == 0);
  CHECK(cover.block[0] == 256 && cover.block[1] == 1 && cover.block[2] == 1);
  CHECK(hiplaunch_dims_cover(1024, 256).grid[0] == 4 && hiplaunch_dims_cover(0, 256).grid[0] == 0);
  CHECK(hiplaunch_dims_cover(1, 0).grid[0] == 0 && hiplaunch_dims_cover(UINT32_MAX, 2).grid[0] == 1u << 31);
  for (i = 0; i < 2; i++) {
    const uint32_t depth = i == 0 ? 2 : 1, items = 36 * depth * depth;
    const uint32_t *last = words + 12 * (items - 1);
    hiplaunch_arg arg = hiplaunch_arg_host_out(48 * items);
    hiplaunch_ticket *ticket;
    OK(hiplaunch_launch(ids, stream, &dims[i], &arg, 1, &ticket));
    OK(hiplaunch_ticket_read(ticket, 0, words, 48 * items));
    OK(hiplaunch_ticket_close(ticket));
    CHECK(last[0] == 1 && last[1] == 2 && last[2] == depth - 1 && last[3] == 2 && last[4] == 1 && last[5] == depth - 1);
    CHECK(last[6] == 3 && last[7] == 2 && last[8] == depth && last[9] == 2 && last[10] == 3 && last[11] == depth);
  }
  OK(hiplaunch_unregister(ids));
}

/* Arrays that the kernel only reads, buffers and scalars have no output. */
static void order_of_arrays(void) {
  hiplaunch_kernel *many = kernel_of(launcher, folder, "probe", "many_args");
  const hiplaunch_dims dims = hiplaunch_dims_linear(1, 1);
  uint32_t in[32] = {0}, word;
  hiplaunch_arg args[24];
  hiplaunch_buffer *buffer;
  hiplaunch_ticket *ticket;
  size_t sizes[12], outputs = 0;
  uint32_t expected[12];
  unsigned i;
  OK(hiplaunch_buffer_open(launcher, 0, stream, 256, &buffer));
  for (i = 0; i < 24; i++) {
    const size_t size = 4 * (i + 1);
    switch (i % 4) {
      case 0: args[i] = hiplaunch_arg_host_out(size); break;
      case 1: args[i] = hiplaunch_arg_host_in(in, size); break;
      case 2: args[i] = hiplaunch_arg_host_inout(in, size); break;
      default: args[i] = hiplaunch_arg_buffer(buffer);
    }
    if (i % 2 == 0) sizes[outputs] = size, expected[outputs++] = i + 1;
  }
  OK(hiplaunch_launch(many, stream, &dims, args, 24, &ticket));
  has_sizes(ticket, sizes, outputs);
  for (i = 0; i < outputs; i++) {
    const void *data;
    OK(hiplaunch_ticket_output(ticket, i, &data, NULL));
    memcpy(&word, data, sizeof word);
    CHECK(word == expected[i]);
  }
  OK(hiplaunch_ticket_close(ticket));
  OK(hiplaunch_buffer_close(buffer));
  OK(hiplaunch_unregister(many));
}

/* An argument block between arrays: its inout and out arrays, and then its result. */
static void order_of_argument_blocks(void) {
  /* saxpy(a, x, y, n), y += a * x: x is an argument block, whose bytes are the floats. */
  hiplaunch_kernel *saxpy = kernel_of(launcher, folder, "vector", "saxpy");
  hiplaunch_kernel *dot = kernel_of(launcher, folder, "jit", "jit_dot");
  const hiplaunch_dims dims = hiplaunch_dims_linear(1, 64), one = hiplaunch_dims_linear(1, 256);
  float x[64], y[64], read[64];
  double sum;
  hiplaunch_array arrays[4];
  hiplaunch_patch patches[4];
  hiplaunch_argument_block block;
  hiplaunch_arg args[4];
  hiplaunch_launch_options options = hiplaunch_launch_options_of(dims);
  hiplaunch_buffer *buffer;
  hiplaunch_ticket *ticket;
  const size_t sizes[4] = {12, 20, 36, sizeof y};
  struct {
    uint64_t result, x, y;
    uint32_t n, pad;
  } bytes = {0, 0, 0, 64, 0};
  uint64_t address;
  int i, way;
  for (i = 0; i < 64; i++) x[i] = (float)i, y[i] = 0.5f;
  block = hiplaunch_argument_block_of(x, sizeof x);
  arrays[0] = hiplaunch_array_inout(y, 12);
  arrays[1] = hiplaunch_array_in(y, 28);
  arrays[2] = hiplaunch_array_out(20);
  block.arrays = arrays, block.array_count = 3, block.result_bytes = 36;
  args[0] = hiplaunch_arg_f32(2.0f);
  args[1] = hiplaunch_arg_argument_block(&block);
  args[2] = hiplaunch_arg_host_inout(y, sizeof y);
  args[3] = hiplaunch_arg_i32(64);
  options.args = args, options.arg_count = 4;
  for (way = 0; way < 2; way++) {
    options.staging = way == 0 ? HIPLAUNCH_STAGING_COPY : HIPLAUNCH_STAGING_MAPPED;
    OK(hiplaunch_submit(saxpy, stream, &options, &ticket));
    has_sizes(ticket, sizes, 4);
    OK(hiplaunch_ticket_read(ticket, 0, read, 12));
    CHECK(read[0] == 0.5f && read[2] == 0.5f); /* the kernel does not know this array */
    OK(hiplaunch_ticket_read(ticket, 3, read, sizeof read));
    for (i = 0; i < 64; i++) CHECK(read[i] == 2.0f * (float)i + 0.5f);
    OK(hiplaunch_ticket_close(ticket));
  }

  /* Each kind of patch: jit_dot's result, and x and y from an array, a buffer and an address. */
  OK(hiplaunch_buffer_open(launcher, 0, stream, sizeof y, &buffer));
  OK(hiplaunch_buffer_upload(buffer, stream, 0, y, sizeof y));
  OK(hiplaunch_buffer_address(buffer, &address));
  block = hiplaunch_argument_block_of(&bytes, sizeof bytes);
  arrays[0] = hiplaunch_array_out(4);
  arrays[1] = hiplaunch_array_inout(x, sizeof x);
  block.arrays = arrays, block.array_count = 2, block.result_bytes = sizeof sum;
  patches[0] = hiplaunch_patch_result(0);
  patches[1] = hiplaunch_patch_array(8, 1);
  block.patches = patches, block.patch_count = 3;
  for (way = 0; way < 2; way++) {
    const size_t its[3] = {4, sizeof x, sizeof sum};
    patches[2] = way == 0 ? hiplaunch_patch_buffer(16, buffer) : hiplaunch_patch_address(16, address);
    args[0] = hiplaunch_arg_argument_block(&block);
    OK(hiplaunch_launch(dot, stream, &one, args, 1, &ticket));
    has_sizes(ticket, its, 3);
    OK(hiplaunch_ticket_read(ticket, 1, read, sizeof read));
    CHECK(memcmp(read, x, sizeof x) == 0);
    OK(hiplaunch_ticket_read(ticket, 2, &sum, sizeof sum));
    CHECK(sum == 0.5 * 63 * 64 / 2);
    OK(hiplaunch_ticket_close(ticket));
  }
  OK(hiplaunch_buffer_close(buffer));
  OK(hiplaunch_unregister(saxpy));
  OK(hiplaunch_unregister(dot));
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  folder = argv[1];
  launcher = open_emulator();
  OK(hiplaunch_stream_open(launcher, 0, &stream));
  values();
  dimensions();
  order_of_arrays();
  order_of_argument_blocks();
  check_clean(launcher);
  OK(hiplaunch_close(launcher));
  puts("helpers: all is well");
  return 0;
}
