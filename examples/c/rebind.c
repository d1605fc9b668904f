/* A graph that is recorded and compiled once, and submitted ten thousand times with other buffers and another factor:
   out = a * x + y. Checks each result. */
#include <hiplaunch.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 64, BUFFERS = 4, TIMES = 10000 };

static void check(hiplaunch_status status) {
  if (status == HIPLAUNCH_STATUS_OK) return;
  fprintf(stderr, "%s\n", hiplaunch_last_error_message());
  exit(1);
}

int main(int argc, char **argv) {
  static char code[1 << 20];
  float host[N];
  hiplaunch_launcher *launcher;
  hiplaunch_stream *stream;
  hiplaunch_module *module;
  hiplaunch_kernel *vscale, *vadd;
  hiplaunch_buffer *buffers[BUFFERS];
  hiplaunch_graph *graph;
  hiplaunch_compiled_graph *compiled;
  hiplaunch_value x, y, scaled, out;
  hiplaunch_node scale;
  FILE *file = fopen(argc > 1 ? argv[1] : "hip/vector.hipfb", "rb");
  size_t size = file ? fread(code, 1, sizeof code, file) : 0;
  if (file) fclose(file);

  check(hiplaunch_open(NULL, &launcher)); /* a GPU where there is one, else the emulator */
  check(hiplaunch_stream_open(launcher, 0, &stream));
  check(hiplaunch_module_open(launcher, 0, code, size, &module)); /* loaded once, for two kernels */
  check(hiplaunch_register_from(module, "vscale", NULL, &vscale));
  check(hiplaunch_register_from(module, "vadd_f32", NULL, &vadd));
  for (int b = 0; b < BUFFERS; b++) { /* buffer b is full of b + 1 */
    for (int i = 0; i < N; i++) host[i] = (float)(b + 1);
    check(hiplaunch_buffer_open(launcher, 0, stream, sizeof host, &buffers[b]));
    check(hiplaunch_buffer_upload(buffers[b], stream, 0, host, sizeof host));
  }

  /* Record it, without a call of the driver. */
  check(hiplaunch_graph_open(launcher, 0, &graph));
  check(hiplaunch_graph_buffer(graph, buffers[0], &x));
  check(hiplaunch_graph_buffer(graph, buffers[1], &y));
  check(hiplaunch_graph_temporary(graph, sizeof host, &scaled));
  check(hiplaunch_graph_temporary(graph, sizeof host, &out));
  hiplaunch_dims dims = hiplaunch_dims_cover(N, 64);
  hiplaunch_graph_arg scale_args[] = {hiplaunch_graph_arg_f32(1.0f), hiplaunch_graph_arg_read(x),
                                      hiplaunch_graph_arg_write(scaled), hiplaunch_graph_arg_i32(N)};
  hiplaunch_graph_arg add_args[] = {hiplaunch_graph_arg_read(scaled), hiplaunch_graph_arg_read(y),
                                    hiplaunch_graph_arg_write(out), hiplaunch_graph_arg_i32(N)};
  check(hiplaunch_graph_launch(graph, vscale, &dims, scale_args, 4, &scale));
  check(hiplaunch_graph_launch(graph, vadd, &dims, add_args, 4, NULL));
  check(hiplaunch_graph_read(graph, out, NULL));
  check(hiplaunch_graph_compile(graph, stream, &compiled)); /* this closes the graph */

  for (int turn = 0; turn < TIMES; turn++) {
    const int from = turn % BUFFERS, to = turn / BUFFERS % BUFFERS;
    const float a = (float)turn;
    hiplaunch_ticket *ticket;
    const void *data;
    check(hiplaunch_compiled_graph_set_buffer(compiled, x, buffers[from]));
    check(hiplaunch_compiled_graph_set_buffer(compiled, y, buffers[to]));
    check(hiplaunch_compiled_graph_set_scalar(compiled, scale, 0, &a, sizeof a)); /* argument 0 of vscale */
    check(hiplaunch_compiled_graph_submit(compiled, HIPLAUNCH_SUBMISSION_AUTO, &ticket)); /* does not wait */
    check(hiplaunch_ticket_output(ticket, 0, &data, NULL));                               /* waits for it */
    for (int i = 0; i < N; i++) {
      const float is = ((const float *)data)[i], expected = a * (float)(from + 1) + (float)(to + 1);
      if (is == expected) continue;
      fprintf(stderr, "submission %d, element %d: %g instead of %g\n", turn, i, is, expected);
      return 1;
    }
    check(hiplaunch_ticket_close(ticket));
  }
  check(hiplaunch_close(launcher)); /* and everything that was opened from it */
  printf("%d submissions, each with its own result\n", TIMES);
  return 0;
}
