/* Compiled graphs: with other buffers, views, scalars and argument blocks; branches; who owns a graph. */
#include "check.h"

enum { N = 64, BYTES = N * sizeof(float) };

static hiplaunch_launcher *launcher;
static hiplaunch_stream *stream;
static hiplaunch_kernel *vadd, *vscale;
static const char *folder;

static hiplaunch_buffer *buffer_of(float first) {
  float x[N];
  hiplaunch_buffer *buffer;
  int i;
  for (i = 0; i < N; i++) x[i] = first + (float)i;
  OK(hiplaunch_buffer_open(launcher, 0, stream, sizeof x, &buffer));
  OK(hiplaunch_buffer_upload(buffer, stream, 0, x, sizeof x));
  return buffer;
}

/* A recorded graph: out = a * x + y, which the host reads. Its values, in order, are x, y and out; `scale` gets the
   node that has a. */
static hiplaunch_graph *recorded(hiplaunch_buffer *const buffers[3], hiplaunch_node *scale) {
  hiplaunch_graph *graph;
  hiplaunch_value v[4];
  hiplaunch_dims dims = hiplaunch_dims_cover(N, 64);
  hiplaunch_graph_arg args[4];
  hiplaunch_node node;
  int i;
  OK(hiplaunch_graph_open(launcher, 0, &graph));
  for (i = 0; i < 3; i++) OK(hiplaunch_graph_buffer(graph, buffers[i], &v[i]));
  OK(hiplaunch_graph_temporary(graph, BYTES, &v[3]));
  args[0] = hiplaunch_graph_arg_f32(1.0f);
  args[1] = hiplaunch_graph_arg_read(v[0]);
  args[2] = hiplaunch_graph_arg_write(v[3]);
  args[3] = hiplaunch_graph_arg_i32(N);
  OK(hiplaunch_graph_launch(graph, vscale, &dims, args, 4, scale));
  args[0] = hiplaunch_graph_arg_read(v[3]);
  args[1] = hiplaunch_graph_arg_read(v[1]);
  args[2] = hiplaunch_graph_arg_write(v[2]);
  OK(hiplaunch_graph_launch(graph, vadd, &dims, args, 4, NULL));
  OK(hiplaunch_graph_read(graph, v[2], &node));
  CHECK(node == *scale + 2);
  return graph;
}

/* Submits it and checks that its output i is a * (x + i) + y + i. */
static void expect(hiplaunch_compiled_graph *compiled, hiplaunch_submission submission, float a, float x, float y) {
  hiplaunch_ticket *ticket;
  float read[N];
  size_t count;
  int i;
  OK(hiplaunch_compiled_graph_submit(compiled, submission, &ticket));
  OK(hiplaunch_ticket_outputs(ticket, &count));
  CHECK(count == 1);
  OK(hiplaunch_ticket_read(ticket, 0, read, sizeof read));
  for (i = 0; i < N; i++) CHECK(read[i] == a * (x + (float)i) + y + (float)i);
  OK(hiplaunch_ticket_close(ticket));
}

static void rebind(void) {
  hiplaunch_buffer *buffers[3] = {buffer_of(100.0f), buffer_of(200.0f), buffer_of(0.0f)};
  hiplaunch_buffer *other = buffer_of(300.0f), *large;
  hiplaunch_view *view, *gaps;
  hiplaunch_node scale = 9;
  hiplaunch_compiled_graph *compiled;
  hiplaunch_compiled_graph_summary summary;
  hiplaunch_counters counters;
  uint64_t mallocs[2];
  const size_t shape = N, half = N / 2, rows[2] = {N / 2, 2};
  const ptrdiff_t two = 2;
  float a = 3.0f;
  size_t forgotten;
  int i;
  OK(hiplaunch_graph_compile(recorded(buffers, &scale), stream, &compiled));
  CHECK(scale == 0);
  expect(compiled, HIPLAUNCH_SUBMISSION_AUTO, 1.0f, 100.0f, 200.0f);
  OK(hiplaunch_count_driver_calls(launcher, "hipMalloc", &mallocs[0]));
  OK(hiplaunch_compiled_graph_set_scalar(compiled, scale, 0, &a, sizeof a));
  expect(compiled, HIPLAUNCH_SUBMISSION_AUTO, 3.0f, 100.0f, 200.0f);
  /* Two buffers exchanged; each submission method. */
  OK(hiplaunch_compiled_graph_set_buffer(compiled, 0, buffers[1]));
  OK(hiplaunch_compiled_graph_set_buffer(compiled, 1, buffers[0]));
  expect(compiled, HIPLAUNCH_SUBMISSION_STREAM, 3.0f, 200.0f, 100.0f);
  expect(compiled, HIPLAUNCH_SUBMISSION_DRIVER_GRAPH, 3.0f, 200.0f, 100.0f);
  /* A buffer that is closed at once, and a view of one. */
  OK(hiplaunch_compiled_graph_set_buffer(compiled, 0, other));
  OK(hiplaunch_buffer_close(other));
  OK(hiplaunch_view_open(buffers[1], 0, sizeof(float), 1, &shape, NULL, &view));
  OK(hiplaunch_compiled_graph_set_view(compiled, 1, view));
  OK(hiplaunch_view_close(view));
  for (i = 0; i < 20; i++) {
    a = (float)i;
    OK(hiplaunch_compiled_graph_set_scalar(compiled, scale, 0, &a, sizeof a));
    expect(compiled, HIPLAUNCH_SUBMISSION_AUTO, a, 300.0f, 200.0f);
  }
  OK(hiplaunch_count_driver_calls(launcher, "hipMalloc", &mallocs[1]));
  CHECK(mallocs[0] == mallocs[1]);

  /* What does not fit is refused, and changes nothing. */
  OK(hiplaunch_buffer_open(launcher, 0, stream, 2 * BYTES, &large));
  OK(hiplaunch_view_open(large, 0, sizeof(float), 1, &shape, &two, &gaps));
  FAILS(hiplaunch_compiled_graph_set_buffer(compiled, 0, large), HIPLAUNCH_STATUS_GRAPH, "512 bytes for value 0");
  FAILS(hiplaunch_compiled_graph_set_buffer(compiled, 3, buffers[0]),
        HIPLAUNCH_STATUS_GRAPH, "value 3 is of another kind");
  FAILS(hiplaunch_compiled_graph_set_buffer(compiled, 4, buffers[0]),
        HIPLAUNCH_STATUS_INVALID_ARGUMENT, "value 4 of a graph of 4");
  FAILS(hiplaunch_compiled_graph_set_buffer(compiled, 0, NULL), HIPLAUNCH_STATUS_INVALID_HANDLE, "buffer");
  FAILS(hiplaunch_compiled_graph_set_view(compiled, 0, NULL), HIPLAUNCH_STATUS_INVALID_HANDLE, "view");
  FAILS(hiplaunch_compiled_graph_set_view(compiled, 0, gaps), HIPLAUNCH_STATUS_GRAPH, "not contiguous");
  FAILS(hiplaunch_compiled_graph_set_scalar(compiled, 9, 0, &a, sizeof a), HIPLAUNCH_STATUS_GRAPH, "there are 3 nodes");
  FAILS(hiplaunch_compiled_graph_set_scalar(compiled, 2, 0, &a, sizeof a), HIPLAUNCH_STATUS_GRAPH, "argument 0");
  FAILS(hiplaunch_compiled_graph_set_scalar(compiled, scale, 1, &a, sizeof a), HIPLAUNCH_STATUS_GRAPH, "argument 1");
  FAILS(hiplaunch_compiled_graph_set_scalar(compiled, scale, 0, &a, 2), HIPLAUNCH_STATUS_LAUNCH, "argument 0");
  FAILS(hiplaunch_compiled_graph_set_scalar(compiled, scale, 0, NULL, 4), HIPLAUNCH_STATUS_NULL_POINTER, "data");
  FAILS(hiplaunch_compiled_graph_set_argument_block(compiled, 0, &a, 4), HIPLAUNCH_STATUS_GRAPH, "value 0");
  FAILS(hiplaunch_compiled_graph_submit(compiled, 7, NULL),
        HIPLAUNCH_STATUS_INVALID_ARGUMENT, "7 is no hiplaunch_submission");
  expect(compiled, HIPLAUNCH_SUBMISSION_AUTO, a, 300.0f, 200.0f);
  OK(hiplaunch_view_close(gaps));

  /* Views of one buffer as values: its halves are added. */
  {
    hiplaunch_graph *graph;
    hiplaunch_value v[3];
    hiplaunch_graph_arg args[4];
    hiplaunch_dims dims = hiplaunch_dims_linear(1, 64);
    hiplaunch_view *row;
    hiplaunch_ticket *ticket;
    float read[N / 2];
    OK(hiplaunch_graph_open(launcher, 0, &graph));
    OK(hiplaunch_view_open(buffers[0], BYTES / 2, sizeof(float), 1, &half, NULL, &row));
    OK(hiplaunch_graph_view(graph, row, &v[1]));
    OK(hiplaunch_view_close(row));
    OK(hiplaunch_view_open(buffers[0], 0, sizeof(float), 1, &half, NULL, &row));
    OK(hiplaunch_graph_view(graph, row, &v[0]));
    OK(hiplaunch_view_close(row));
    OK(hiplaunch_view_open(buffers[0], 0, sizeof(float), 2, rows, NULL, &view));
    OK(hiplaunch_view_slice(view, 1, 0, 1, &row));
    FAILS(hiplaunch_graph_view(graph, row, &v[2]), HIPLAUNCH_STATUS_GRAPH, "not contiguous");
    OK(hiplaunch_view_close(row));
    OK(hiplaunch_view_close(view));
    OK(hiplaunch_graph_temporary(graph, BYTES / 2, &v[2]));
    args[0] = hiplaunch_graph_arg_read(v[0]);
    args[1] = hiplaunch_graph_arg_read(v[1]);
    args[2] = hiplaunch_graph_arg_write(v[2]);
    args[3] = hiplaunch_graph_arg_u32(N / 2);
    OK(hiplaunch_graph_launch(graph, vadd, &dims, args, 4, NULL));
    OK(hiplaunch_graph_read(graph, v[2], NULL));
    OK(hiplaunch_graph_compute(graph, stream, HIPLAUNCH_SUBMISSION_AUTO, &ticket));
    OK(hiplaunch_ticket_read(ticket, 0, read, sizeof read));
    for (i = 0; i < N / 2; i++) CHECK(read[i] == 232.0f + 2.0f * (float)i);
    OK(hiplaunch_ticket_close(ticket));
  }

  /* It keeps its workspace when the programs are forgotten. */
  memset(&summary, 0, sizeof summary);
  FAILS(hiplaunch_compiled_graph_summarize(compiled, &summary), HIPLAUNCH_STATUS_STRUCT_SIZE, "struct_size 0");
  summary.struct_size = sizeof summary;
  OK(hiplaunch_compiled_graph_summarize(compiled, &summary));
  CHECK(summary.steps == 3 && summary.streams == 1 && summary.events == 0 && summary.workspace_bytes == BYTES);
  OK(hiplaunch_forget_graphs(launcher, &forgotten));
  CHECK(forgotten == 2);
  expect(compiled, HIPLAUNCH_SUBMISSION_AUTO, a, 300.0f, 200.0f);
  memset(&counters, 0, sizeof counters);
  counters.struct_size = sizeof counters;
  OK(hiplaunch_get_counters(launcher, &counters));
  CHECK(counters.graph_programs == 0);
  OK(hiplaunch_compiled_graph_close(compiled));
  FAILS(hiplaunch_compiled_graph_close(compiled), HIPLAUNCH_STATUS_INVALID_HANDLE, "compiled graph was closed");
  FAILS(hiplaunch_compiled_graph_submit(compiled, 0, NULL), HIPLAUNCH_STATUS_INVALID_HANDLE, "closed");
  for (i = 0; i < 3; i++) OK(hiplaunch_buffer_close(buffers[i]));
  OK(hiplaunch_buffer_close(large));
}

/* An argument block with other coefficients each time; the address in it stays. */
static void argument_blocks(void) {
  struct {
    uint64_t result;
    uint32_t n, pad;
    float c[4], x[16];
  } bytes;
  hiplaunch_kernel *polynomial = kernel_of(launcher, folder, "jit", "jit_polynomial");
  hiplaunch_dims dims = hiplaunch_dims_linear(1, 64);
  hiplaunch_graph *graph;
  hiplaunch_compiled_graph *compiled;
  hiplaunch_value result, block;
  hiplaunch_graph_patch patch;
  hiplaunch_graph_arg arg;
  hiplaunch_ticket *ticket;
  float read[16];
  int i, round;
  memset(&bytes, 0, sizeof bytes);
  bytes.n = 16;
  for (i = 0; i < 16; i++) bytes.x[i] = (float)i;
  OK(hiplaunch_graph_open(launcher, 0, &graph));
  OK(hiplaunch_graph_temporary(graph, sizeof read, &result));
  patch = hiplaunch_graph_patch_value(0, result);
  OK(hiplaunch_graph_argument_block(graph, &bytes, sizeof bytes, &patch, 1, &block));
  arg = hiplaunch_graph_arg_read(block);
  OK(hiplaunch_graph_launch(graph, polynomial, &dims, &arg, 1, NULL));
  OK(hiplaunch_graph_uses(graph, result, false, true));
  OK(hiplaunch_graph_read(graph, result, NULL));
  OK(hiplaunch_graph_compile(graph, stream, &compiled));
  for (round = 0; round < 10; round++) {
    bytes.c[0] = (float)round, bytes.c[2] = 2.0f;
    OK(hiplaunch_compiled_graph_set_argument_block(compiled, block, &bytes, sizeof bytes));
    OK(hiplaunch_compiled_graph_submit(compiled, HIPLAUNCH_SUBMISSION_AUTO, &ticket));
    OK(hiplaunch_ticket_read(ticket, 0, read, sizeof read));
    for (i = 0; i < 16; i++) CHECK(read[i] == (float)round + 2.0f * (float)(i * i));
    OK(hiplaunch_ticket_close(ticket));
  }
  FAILS(hiplaunch_compiled_graph_set_argument_block(compiled, block, &bytes, 8),
        HIPLAUNCH_STATUS_GRAPH, "8 bytes for value 1");
  FAILS(hiplaunch_compiled_graph_set_argument_block(compiled, 2, &bytes, 8),
        HIPLAUNCH_STATUS_INVALID_ARGUMENT, "value 2");
  FAILS(hiplaunch_compiled_graph_set_argument_block(compiled, block, NULL, 8), HIPLAUNCH_STATUS_NULL_POINTER, "data");
  FAILS(hiplaunch_compiled_graph_set_buffer(compiled, block, NULL), HIPLAUNCH_STATUS_INVALID_HANDLE, "buffer");
  OK(hiplaunch_compiled_graph_close(compiled));
  OK(hiplaunch_unregister(polynomial));
}

/* Two branches on two streams, and their nodes in a set order on one after the other. */
static void branches(void) {
  hiplaunch_buffer *buffers[3] = {buffer_of(1.0f), buffer_of(0.0f), buffer_of(0.0f)};
  hiplaunch_dims dims = hiplaunch_dims_cover(N, 64);
  hiplaunch_compiled_graph_summary summary;
  int ordered, i, out;
  for (ordered = 0; ordered < 2; ordered++) {
    hiplaunch_graph *graph;
    hiplaunch_compiled_graph *compiled;
    hiplaunch_value v[3];
    hiplaunch_node node[2];
    hiplaunch_graph_arg args[4];
    float read[N];
    OK(hiplaunch_graph_open(launcher, 0, &graph));
    OK(hiplaunch_graph_set_branches(graph, 2));
    for (i = 0; i < 3; i++) OK(hiplaunch_graph_buffer(graph, buffers[i], &v[i]));
    for (out = 1; out < 3; out++) {
      args[0] = hiplaunch_graph_arg_f32((float)(out + 2 * ordered));
      args[1] = hiplaunch_graph_arg_read(v[0]);
      args[2] = hiplaunch_graph_arg_write(v[out]);
      args[3] = hiplaunch_graph_arg_i32(N);
      OK(hiplaunch_graph_launch(graph, vscale, &dims, args, 4, &node[out - 1]));
    }
    if (ordered) OK(hiplaunch_graph_order(graph, node[0], node[1]));
    OK(hiplaunch_graph_compile(graph, stream, &compiled));
    memset(&summary, 0, sizeof summary);
    summary.struct_size = sizeof summary;
    OK(hiplaunch_compiled_graph_summarize(compiled, &summary));
    CHECK(summary.steps == 2 && summary.streams == (ordered ? 1 : 2) && (summary.events > 0) == !ordered);
    OK(hiplaunch_compiled_graph_submit(compiled, HIPLAUNCH_SUBMISSION_AUTO, NULL));
    OK(hiplaunch_compiled_graph_close(compiled)); /* while it may still run */
    for (out = 1; out < 3; out++) {
      OK(hiplaunch_buffer_download(buffers[out], stream, 0, read, sizeof read));
      for (i = 0; i < N; i++) CHECK(read[i] == (float)(out + 2 * ordered) * (1.0f + (float)i));
    }
  }
  for (i = 0; i < 3; i++) OK(hiplaunch_buffer_close(buffers[i]));
}

/* Each status of hiplaunch_graph_compute and hiplaunch_graph_compile closes the graph. */
static void ownership(void) {
  hiplaunch_buffer *buffers[3] = {buffer_of(1.0f), buffer_of(2.0f), buffer_of(0.0f)};
  hiplaunch_launcher *other = open_emulator();
  hiplaunch_stream *others;
  hiplaunch_compiled_graph *compiled = NULL;
  hiplaunch_ticket *ticket = NULL;
  hiplaunch_graph *graph, *unwritten[2];
  hiplaunch_value value;
  hiplaunch_node node;
  int i;
  OK(hiplaunch_stream_open(other, 0, &others));
  for (i = 0; i < 2; i++) {
    OK(hiplaunch_graph_open(launcher, 0, &unwritten[i]));
    OK(hiplaunch_graph_temporary(unwritten[i], 64, &value));
    OK(hiplaunch_graph_read(unwritten[i], value, NULL));
  }
#define CLOSED(call, status, words)                                                               \
  do {                                                                                            \
    FAILS(call, status, words);                                                                   \
    FAILS(hiplaunch_graph_close(graph), HIPLAUNCH_STATUS_INVALID_HANDLE, "the graph was closed"); \
  } while (0)
  graph = recorded(buffers, &node);
  CLOSED(hiplaunch_graph_compute(graph, stream, 9, &ticket),
         HIPLAUNCH_STATUS_INVALID_ARGUMENT, "9 is no hiplaunch_submission");
  graph = recorded(buffers, &node);
  CLOSED(hiplaunch_graph_compute(graph, NULL, 0, &ticket), HIPLAUNCH_STATUS_INVALID_HANDLE, "stream's handle is null");
  graph = recorded(buffers, &node);
  CLOSED(hiplaunch_graph_compute(graph, others, 0, &ticket), HIPLAUNCH_STATUS_INVALID_HANDLE, "another launcher");
  graph = unwritten[0];
  CLOSED(hiplaunch_graph_compute(graph, stream, 0, &ticket), HIPLAUNCH_STATUS_GRAPH, "no node before wrote");
  FAILS(hiplaunch_graph_compute(graph, stream, 0, &ticket), HIPLAUNCH_STATUS_INVALID_HANDLE, "closed");
  FAILS(hiplaunch_graph_compute(NULL, stream, 0, &ticket), HIPLAUNCH_STATUS_INVALID_HANDLE, "null");

  graph = recorded(buffers, &node);
  CLOSED(hiplaunch_graph_compile(graph, stream, NULL), HIPLAUNCH_STATUS_NULL_POINTER, "`compiled` is null");
  graph = recorded(buffers, &node);
  CLOSED(hiplaunch_graph_compile(graph, NULL, &compiled), HIPLAUNCH_STATUS_INVALID_HANDLE, "stream's handle is null");
  graph = recorded(buffers, &node);
  CLOSED(hiplaunch_graph_compile(graph, others, &compiled), HIPLAUNCH_STATUS_INVALID_HANDLE, "another launcher");
  graph = unwritten[1];
  CLOSED(hiplaunch_graph_compile(graph, stream, &compiled), HIPLAUNCH_STATUS_GRAPH, "no node before wrote");
  FAILS(hiplaunch_graph_compile(graph, stream, &compiled), HIPLAUNCH_STATUS_INVALID_HANDLE, "closed");
  CHECK(ticket == NULL && compiled == NULL);

  graph = recorded(buffers, &node);
  OK(hiplaunch_graph_compile(graph, stream, &compiled));
  FAILS(hiplaunch_graph_close(graph), HIPLAUNCH_STATUS_INVALID_HANDLE, "closed");
  graph = recorded(buffers, &node);
  OK(hiplaunch_graph_compute(graph, stream, 0, NULL));
  FAILS(hiplaunch_graph_close(graph), HIPLAUNCH_STATUS_INVALID_HANDLE, "closed");
  for (i = 0; i < 3; i++) OK(hiplaunch_buffer_close(buffers[i]));
  OK(hiplaunch_close(other));
  expect(compiled, HIPLAUNCH_SUBMISSION_AUTO, 1.0f, 1.0f, 2.0f);
  /* It is closed with the launcher. */
}

static void break_even(void) {
  uint32_t nodes = 0;
  OK(hiplaunch_measure_break_even(launcher, stream, &nodes));
  CHECK(nodes > 0);
  FAILS(hiplaunch_measure_break_even(launcher, stream, NULL), HIPLAUNCH_STATUS_NULL_POINTER, "nodes");
  FAILS(hiplaunch_measure_break_even(launcher, NULL, &nodes), HIPLAUNCH_STATUS_INVALID_HANDLE, "stream");
  FAILS(hiplaunch_set_break_even(NULL, nodes), HIPLAUNCH_STATUS_INVALID_HANDLE, "launcher");
  {
    hiplaunch_buffer *buffers[3] = {buffer_of(1.0f), buffer_of(2.0f), buffer_of(0.0f)};
    hiplaunch_compiled_graph *compiled;
    hiplaunch_node node;
    uint64_t before, after;
    int i;
    OK(hiplaunch_set_break_even(launcher, 1));
    OK(hiplaunch_graph_compile(recorded(buffers, &node), stream, &compiled));
    expect(compiled, HIPLAUNCH_SUBMISSION_AUTO, 1.0f, 1.0f, 2.0f);
    OK(hiplaunch_count_driver_calls(launcher, "hipGraphLaunch", &before));
    expect(compiled, HIPLAUNCH_SUBMISSION_AUTO, 1.0f, 1.0f, 2.0f);
    OK(hiplaunch_count_driver_calls(launcher, "hipGraphLaunch", &after));
    CHECK(after == before + 1);
    OK(hiplaunch_set_break_even(launcher, UINT32_MAX));
    expect(compiled, HIPLAUNCH_SUBMISSION_AUTO, 1.0f, 1.0f, 2.0f);
    OK(hiplaunch_count_driver_calls(launcher, "hipGraphLaunch", &before));
    CHECK(after == before);
    OK(hiplaunch_compiled_graph_close(compiled));
    for (i = 0; i < 3; i++) OK(hiplaunch_buffer_close(buffers[i]));
  }
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  folder = argv[1];
  launcher = open_emulator();
  OK(hiplaunch_stream_open(launcher, 0, &stream));
  vadd = kernel_of(launcher, folder, "vector", "vadd_f32");
  vscale = kernel_of(launcher, folder, "vector", "vscale");
  rebind();
  argument_blocks();
  branches();
  break_even();
  ownership();
  check_clean(launcher);
  OK(hiplaunch_close(launcher));
  puts("rebinding: all is well");
  return 0;
}
