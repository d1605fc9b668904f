/* Graphs, LDS layouts with kernels that are registered with them, and memory plans. */
#include "check.h"

static hiplaunch_launcher *launcher;
static hiplaunch_stream *stream;
static const char *folder;

static void add_call(void *calls, hiplaunch_status status) { *(int *)calls += status == HIPLAUNCH_STATUS_OK; }

/* A function of the host is called at every submission. */
static void host_functions(void) {
  int calls = 0, round;
  hiplaunch_node node = 7;
  for (round = 1; round <= 3; round++) {
    hiplaunch_graph *graph;
    hiplaunch_ticket *ticket;
    OK(hiplaunch_graph_open(launcher, 0, &graph));
    OK(hiplaunch_graph_host_function(graph, add_call, &calls, &node));
    CHECK(node == 0);
    FAILS(hiplaunch_graph_host_function(graph, NULL, &calls, NULL), HIPLAUNCH_STATUS_NULL_POINTER, "function");
    OK(hiplaunch_graph_compute(graph, stream, HIPLAUNCH_SUBMISSION_AUTO, &ticket));
    OK(hiplaunch_ticket_close(ticket));
    OK(hiplaunch_stream_synchronize(stream));
    CHECK(calls == round);
  }
}

/* out = a * (x + x), through a temporary, several times. Only the first graph is planned. */
static void graphs(void) {
  enum { N = 256 };
  hiplaunch_kernel *vadd = kernel_of(launcher, folder, "vector", "vadd_f32");
  hiplaunch_kernel *vscale = kernel_of(launcher, folder, "vector", "vscale");
  hiplaunch_dims dims = hiplaunch_dims_linear(N / 64, 64);
  hiplaunch_buffer *dx, *out;
  hiplaunch_counters counters;
  float x[N], read[N];
  size_t forgotten;
  int i, round;
  for (i = 0; i < N; i++) x[i] = (float)i;
  OK(hiplaunch_buffer_open(launcher, 0, stream, sizeof x, &dx));
  OK(hiplaunch_buffer_open(launcher, 0, stream, sizeof x, &out));
  OK(hiplaunch_buffer_upload(dx, stream, 0, x, sizeof x));
  for (round = 0; round < 6; round++) {
    const float a = (float)round;
    hiplaunch_graph *graph;
    hiplaunch_value vx, vout, sum, half, copy;
    hiplaunch_graph_arg args[4];
    hiplaunch_ticket *ticket;
    size_t count;
    OK(hiplaunch_graph_open(launcher, 0, &graph));
    OK(hiplaunch_graph_buffer(graph, dx, &vx));
    OK(hiplaunch_graph_buffer(graph, out, &vout));
    OK(hiplaunch_graph_temporary(graph, sizeof x, &sum));
    OK(hiplaunch_graph_temporary(graph, sizeof x / 2, &copy));
    args[0] = args[1] = hiplaunch_graph_arg_read(vx);
    args[2] = hiplaunch_graph_arg_write(sum);
    args[3] = hiplaunch_graph_arg_i32(N);
    OK(hiplaunch_graph_launch(graph, vadd, &dims, args, 4, NULL));
    args[0] = hiplaunch_graph_arg_f32(a);
    args[1] = hiplaunch_graph_arg_read(sum);
    args[2] = hiplaunch_graph_arg_write(vout);
    OK(hiplaunch_graph_launch(graph, vscale, &dims, args, 4, NULL));
    OK(hiplaunch_graph_slice(graph, vout, sizeof x / 2, sizeof x / 2, &half));
    OK(hiplaunch_graph_copy(graph, half, copy, NULL));
    OK(hiplaunch_graph_read(graph, copy, NULL));
    OK(hiplaunch_graph_fill_words(graph, copy, 0x3f800000, NULL));
    OK(hiplaunch_graph_read(graph, copy, NULL));
    OK(hiplaunch_graph_fill(graph, copy, 0, NULL));
    OK(hiplaunch_graph_read(graph, copy, NULL));
    OK(hiplaunch_graph_compute(graph, stream, round % 2 ? HIPLAUNCH_SUBMISSION_STREAM : HIPLAUNCH_SUBMISSION_AUTO,
                               &ticket));
    OK(hiplaunch_ticket_outputs(ticket, &count));
    CHECK(count == 3);
    OK(hiplaunch_ticket_read(ticket, 0, read, sizeof x / 2));
    for (i = 0; i < N / 2; i++) CHECK(read[i] == a * 2.0f * (float)(i + N / 2));
    OK(hiplaunch_ticket_read(ticket, 1, read, sizeof x / 2));
    for (i = 0; i < N / 2; i++) CHECK(read[i] == 1.0f);
    OK(hiplaunch_ticket_read(ticket, 2, read, sizeof x / 2));
    for (i = 0; i < N / 2; i++) CHECK(read[i] == 0.0f);
    OK(hiplaunch_ticket_close(ticket));
    OK(hiplaunch_buffer_download(out, stream, 0, read, sizeof read));
    for (i = 0; i < N; i++) CHECK(read[i] == a * 2.0f * (float)i);
  }
  memset(&counters, 0, sizeof counters);
  counters.struct_size = sizeof counters;
  OK(hiplaunch_get_counters(launcher, &counters));
  CHECK(counters.graph_programs == 1 && counters.graph_hits == 5 && counters.graph_misses == 1);
  OK(hiplaunch_forget_graphs(launcher, &forgotten));
  CHECK(forgotten == 1);
  OK(hiplaunch_buffer_close(dx));
  OK(hiplaunch_buffer_close(out));
}

/* An argument block in a graph, with the address of a temporary that an earlier node fills. */
static void graph_blocks(void) {
  struct {
    uint64_t result, x, y;
    uint32_t n, pad;
  } bytes = {0, 0, 0, 64, 0};
  hiplaunch_kernel *dot = kernel_of(launcher, folder, "jit", "jit_dot");
  hiplaunch_dims dims = hiplaunch_dims_linear(1, 256);
  hiplaunch_graph *graph;
  hiplaunch_value ones, result, block;
  hiplaunch_graph_patch patches[3];
  hiplaunch_graph_arg arg;
  hiplaunch_ticket *ticket;
  double sum;
  int i;
  OK(hiplaunch_graph_open(launcher, 0, &graph));
  OK(hiplaunch_graph_temporary(graph, 256, &ones));
  OK(hiplaunch_graph_temporary(graph, 8, &result));
  OK(hiplaunch_graph_fill_words(graph, ones, 0x3f800000, NULL));
  for (i = 0; i < 3; i++) patches[i] = hiplaunch_graph_patch_value(8 * (size_t)i, i ? ones : result);
  OK(hiplaunch_graph_argument_block(graph, &bytes, sizeof bytes, patches, 3, &block));
  arg = hiplaunch_graph_arg_read(block);
  OK(hiplaunch_graph_launch(graph, dot, &dims, &arg, 1, NULL));
  OK(hiplaunch_graph_uses(graph, ones, true, false));
  OK(hiplaunch_graph_uses(graph, result, false, true));
  OK(hiplaunch_graph_read(graph, result, NULL));
  OK(hiplaunch_graph_compute(graph, stream, HIPLAUNCH_SUBMISSION_STREAM, &ticket));
  OK(hiplaunch_ticket_read(ticket, 0, &sum, sizeof sum));
  CHECK(sum == 64.0);
  OK(hiplaunch_ticket_close(ticket));
  OK(hiplaunch_graph_open(launcher, 0, &graph));
  OK(hiplaunch_graph_close(graph));
}

/* Two buffers that share bytes if a barrier is inserted between them. */
static void lds(void) {
  hiplaunch_lds_kernel *kernel;
  hiplaunch_lds_layout *plain, *shared;
  hiplaunch_lds_goal goal;
  hiplaunch_lds_summary summary;
  hiplaunch_text *picture;
  const char *text;
  uint32_t a, b, other, offset_of_a, offset_of_b, offset_of_other;
  uint64_t before;
  hiplaunch_kernel *size_kernel;
  hiplaunch_dims dims = hiplaunch_dims_linear(1, 64);
  hiplaunch_arg arg;
  hiplaunch_ticket *ticket;
  uint32_t words[5];
  size_t size;
  void *code = code_object(folder, "probe", "gfx90a", &size);
  OK(hiplaunch_lds_open(0, 20, &kernel));
  OK(hiplaunch_lds_buffer(kernel, "a", 3000, 0, &a));
  OK(hiplaunch_lds_buffer(kernel, "b", 2000, 64, &b));
  OK(hiplaunch_lds_alias(kernel, "other name of b", "b", &other));
  OK(hiplaunch_lds_accesses(kernel, a, HIPLAUNCH_LDS_ACCESS_WRITE, 1));
  OK(hiplaunch_lds_begin_loop(kernel, 2, HIPLAUNCH_LDS_RUNS_EXECUTED));
  OK(hiplaunch_lds_barrier(kernel, 3));
  OK(hiplaunch_lds_accesses(kernel, a, HIPLAUNCH_LDS_ACCESS_UPDATE, 4));
  OK(hiplaunch_lds_end_loop(kernel, 5));
  OK(hiplaunch_lds_begin_branch(kernel, 6, HIPLAUNCH_LDS_RUNS_DIVERGENT));
  OK(hiplaunch_lds_accesses(kernel, a, HIPLAUNCH_LDS_ACCESS_READ, 7));
  OK(hiplaunch_lds_begin_else(kernel, 8));
  OK(hiplaunch_lds_end_branch(kernel, 9));
  OK(hiplaunch_lds_accesses(kernel, other, HIPLAUNCH_LDS_ACCESS_WRITE, 11));
  OK(hiplaunch_lds_accesses(kernel, b, HIPLAUNCH_LDS_ACCESS_READ, 12));
  OK(hiplaunch_lds_lay_out(kernel, NULL, &plain));
  memset(&goal, 0, sizeof goal);
  goal.struct_size = sizeof goal;
  goal.kind = HIPLAUNCH_LDS_GOAL_KIND_WITHIN;
  goal.bytes = 3000;
  OK(hiplaunch_lds_lay_out(kernel, &goal, &shared));
  memset(&summary, 0, sizeof summary);
  summary.struct_size = sizeof summary;
  OK(hiplaunch_lds_summarize(plain, &summary));
  CHECK(summary.total >= 5000 && summary.barriers == 0);
  OK(hiplaunch_lds_summarize(shared, &summary));
  CHECK(summary.total == 3000 && summary.lower_bound == 3000 && summary.barriers == 1 && summary.is_fewest == 1);
  OK(hiplaunch_lds_inserted_barrier(shared, 0, &before));
  CHECK(before > 9 && before <= 11);
  FAILS(hiplaunch_lds_inserted_barrier(shared, 1, &before), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "barrier 1 of 1");
  OK(hiplaunch_lds_offset(shared, a, &offset_of_a));
  OK(hiplaunch_lds_offset(shared, b, &offset_of_b));
  OK(hiplaunch_lds_offset(shared, other, &offset_of_other));
  CHECK(offset_of_a == 0 && offset_of_b < 3000 && offset_of_b == offset_of_other);
  FAILS(hiplaunch_lds_offset(shared, 3, &offset_of_a), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "buffer 3");
  OK(hiplaunch_lds_picture(shared, &picture));
  OK(hiplaunch_text_data(picture, &text, NULL));
  CHECK(strstr(text, "barrier") != NULL);
  OK(hiplaunch_text_close(picture));
  OK(hiplaunch_lds_close(kernel));

  /* A launch gets the LDS that the layout needs. */
  OK(hiplaunch_register(launcher, 0, code, size, "dynamic_lds_size", shared, &size_kernel));
  arg = hiplaunch_arg_host_out(sizeof words);
  OK(hiplaunch_launch(size_kernel, stream, &dims, &arg, 1, &ticket));
  OK(hiplaunch_ticket_read(ticket, 0, words, sizeof words));
  CHECK(words[0] == 3000);
  OK(hiplaunch_ticket_close(ticket));
  OK(hiplaunch_set_lds_layout(size_kernel, plain));
  OK(hiplaunch_lds_layout_close(plain));
  OK(hiplaunch_lds_layout_close(shared));
  dims.dynamic_lds = 3000;
  FAILS(hiplaunch_launch(size_kernel, stream, &dims, &arg, 1, &ticket), HIPLAUNCH_STATUS_LAUNCH, "layout");
  free(code);
}

static void offsets(void) {
  hiplaunch_offsets_buffer buffers[4];
  hiplaunch_offsets_pair pair = {2, 3};
  hiplaunch_offsets_problem problem;
  hiplaunch_offsets_result result;
  uint64_t at[4];
  memset(buffers, 0, sizeof buffers);
  memset(&problem, 0, sizeof problem);
  memset(&result, 0, sizeof result);
  result.struct_size = sizeof result;
  problem.struct_size = sizeof problem;
  problem.buffers = buffers;
  problem.buffer_count = 3;
  buffers[0].size = 32, buffers[0].last = 4;
  buffers[1].size = 16, buffers[1].first = 2, buffers[1].last = 7;
  buffers[2].size = 32, buffers[2].first = 5, buffers[2].last = 9;
  OK(hiplaunch_plan_offsets(&problem, at, &result));
  CHECK(at[0] == at[2] && result.total == 48 && result.lower_bound == 48);
  buffers[3].size = 32, buffers[3].first = 9, buffers[3].last = 12, buffers[3].alignment = 32;
  problem.buffer_count = 4;
  problem.pairs = &pair;
  problem.pair_count = 1;
  buffers[0].has_fixed = 1, buffers[0].fixed = 64;
  OK(hiplaunch_plan_offsets(&problem, at, NULL));
  CHECK(at[0] == 64 && at[3] % 32 == 0);
  problem.buffer_count = problem.pair_count = 0;
  OK(hiplaunch_plan_offsets(&problem, NULL, &result));
  CHECK(result.total == 0);
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  folder = argv[1];
  launcher = open_emulator();
  OK(hiplaunch_stream_open(launcher, 0, &stream));
  graphs();
  host_functions();
  graph_blocks();
  lds();
  offsets();
  check_clean(launcher);
  OK(hiplaunch_close(launcher));
  puts("plans: all is well");
  return 0;
}
