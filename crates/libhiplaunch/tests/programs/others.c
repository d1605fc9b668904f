/* Streams and events that others made, and cooperative launches. */
#include "check.h"

#include <stddef.h>

static hiplaunch_launcher *launcher;
static const char *folder;

static void add_one(hiplaunch_kernel *bump, hiplaunch_stream *stream, hiplaunch_buffer *buffer, int n) {
  hiplaunch_dims dims = hiplaunch_dims_linear(4, 64);
  hiplaunch_arg args[2];
  args[0] = hiplaunch_arg_buffer(buffer);
  args[1] = hiplaunch_arg_i32(n);
  OK(hiplaunch_launch(bump, stream, &dims, args, 2, NULL));
}

/* A stream of `owner`, adopted by `launcher`, and the null stream under its three names. */
static void streams(void) {
  enum { N = 256 };
  hiplaunch_kernel *bump = kernel_of(launcher, folder, "probe", "bump");
  hiplaunch_stream *owned, *adopted, *again, *null, *legacy, *of_thread;
  hiplaunch_event *event, *same;
  hiplaunch_buffer *buffer;
  unsigned read[N];
  void *raw, *raw_again, *raw_event;
  OK(hiplaunch_stream_open(launcher, 0, &owned));
  OK(hiplaunch_stream_raw(owned, &raw));
  CHECK(raw != NULL);
  OK(hiplaunch_stream_adopt(launcher, 0, raw, &adopted));
  OK(hiplaunch_stream_raw(adopted, &raw_again));
  CHECK(raw == raw_again && adopted != owned);
  OK(hiplaunch_buffer_open(launcher, 0, owned, sizeof read, &buffer));
  memset(read, 0, sizeof read);
  OK(hiplaunch_buffer_upload(buffer, owned, 0, read, sizeof read));
  add_one(bump, owned, buffer, N);
  add_one(bump, adopted, buffer, N);
  /* Closing one handle leaves the stream to the other. */
  OK(hiplaunch_stream_close(owned));
  add_one(bump, adopted, buffer, N);
  OK(hiplaunch_buffer_download(buffer, adopted, 0, read, sizeof read));
  CHECK(read[0] == 3 && read[N - 1] == 3);

  OK(hiplaunch_stream_adopt(launcher, 0, NULL, &null));
  OK(hiplaunch_stream_adopt(launcher, 0, (void *)1, &legacy));
  OK(hiplaunch_stream_adopt(launcher, 0, (void *)2, &of_thread));
  OK(hiplaunch_stream_raw(legacy, &raw));
  CHECK(raw == NULL);
  OK(hiplaunch_stream_synchronize(adopted));
  add_one(bump, null, buffer, N);
  add_one(bump, of_thread, buffer, N); /* waits for the null stream */
  add_one(bump, legacy, buffer, N);    /* and that for it */
  OK(hiplaunch_buffer_download(buffer, null, 0, read, sizeof read));
  CHECK(read[0] == 6 && read[N - 1] == 6);
  FAILS(hiplaunch_stream_adopt(launcher, 9, NULL, &again), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "device 9");
  FAILS(hiplaunch_stream_adopt(launcher, 0, NULL, NULL), HIPLAUNCH_STATUS_NULL_POINTER, "stream");
  FAILS(hiplaunch_stream_raw(adopted, NULL), HIPLAUNCH_STATUS_NULL_POINTER, "raw");

  OK(hiplaunch_event_open(launcher, 0, false, &event));
  OK(hiplaunch_event_raw(event, &raw_event));
  OK(hiplaunch_event_adopt(launcher, 0, raw_event, &same));
  OK(hiplaunch_event_record(event, null));
  OK(hiplaunch_stream_wait_event(adopted, same));
  add_one(bump, adopted, buffer, N);
  OK(hiplaunch_event_record(same, adopted));
  OK(hiplaunch_event_synchronize(event));
  OK(hiplaunch_event_close(same));
  OK(hiplaunch_event_synchronize(event));
  OK(hiplaunch_event_close(event));
  OK(hiplaunch_stream_close(of_thread));
  OK(hiplaunch_stream_close(legacy));
  OK(hiplaunch_stream_close(null));
  OK(hiplaunch_buffer_close(buffer));
  OK(hiplaunch_stream_close(adopted));
}

/* Launches that become a graph, and what is refused meanwhile. */
static void capture(void) {
  enum { N = 256 };
  hiplaunch_kernel *bump = kernel_of(launcher, folder, "probe", "bump");
  hiplaunch_captured_graph *graph;
  hiplaunch_stream *stream;
  hiplaunch_buffer *buffer;
  unsigned words[N];
  bool capturing = true;
  int i;
  memset(words, 0, sizeof words);
  OK(hiplaunch_stream_open(launcher, 0, &stream));
  OK(hiplaunch_buffer_open(launcher, 0, stream, sizeof words, &buffer));
  OK(hiplaunch_buffer_upload(buffer, stream, 0, words, sizeof words));
  OK(hiplaunch_stream_synchronize(stream));
  FAILS(hiplaunch_stream_end_capture(stream, &graph), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "no capture");
  FAILS(hiplaunch_stream_begin_capture(stream, 3), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "3 is no");
  OK(hiplaunch_stream_begin_capture(stream, HIPLAUNCH_CAPTURE_MODE_THREAD_LOCAL));
  OK(hiplaunch_stream_is_capturing(stream, &capturing));
  CHECK(capturing);
  add_one(bump, stream, buffer, N);
  add_one(bump, stream, buffer, N);
  FAILS(hiplaunch_stream_synchronize(stream), HIPLAUNCH_STATUS_CAPTURED, "captured");
  FAILS(hiplaunch_buffer_download(buffer, stream, 0, words, sizeof words), HIPLAUNCH_STATUS_CAPTURED, "host memory");
  FAILS(hiplaunch_stream_end_capture(stream, NULL), HIPLAUNCH_STATUS_NULL_POINTER, "graph");
  OK(hiplaunch_stream_end_capture(stream, &graph));
  OK(hiplaunch_stream_is_capturing(stream, &capturing));
  CHECK(!capturing);
  OK(hiplaunch_unregister(bump));
  for (i = 0; i < 3; i++) OK(hiplaunch_captured_graph_launch(graph, stream));
  OK(hiplaunch_captured_graph_close(graph));
  FAILS(hiplaunch_captured_graph_launch(graph, stream), HIPLAUNCH_STATUS_INVALID_HANDLE, "was closed");
  OK(hiplaunch_buffer_download(buffer, stream, 0, words, sizeof words));
  CHECK(words[0] == 6 && words[N - 1] == 6);
  OK(hiplaunch_buffer_close(buffer));
  OK(hiplaunch_stream_close(stream));
}

/* A grid that waits for itself, and one that is too large. */
static void cooperative(void) {
  enum { N = 1000 };
  hiplaunch_kernel *stencil = kernel_of(launcher, folder, "grid", "grid_stencil");
  hiplaunch_launch_options options = hiplaunch_launch_options_of(hiplaunch_dims_linear(8, 64));
  hiplaunch_arg args[4];
  hiplaunch_buffer *a, *b;
  hiplaunch_stream *stream;
  unsigned values[N];
  int i;
  OK(hiplaunch_stream_open(launcher, 0, &stream));
  OK(hiplaunch_buffer_open(launcher, 0, stream, sizeof values, &a));
  OK(hiplaunch_buffer_open(launcher, 0, stream, sizeof values, &b));
  for (i = 0; i < N; i++) values[i] = 1;
  OK(hiplaunch_buffer_upload(a, stream, 0, values, sizeof values));
  args[0] = hiplaunch_arg_buffer(a);
  args[1] = hiplaunch_arg_buffer(b);
  args[2] = hiplaunch_arg_i32(N);
  args[3] = hiplaunch_arg_i32(6);
  options.args = args;
  options.arg_count = 4;
  options.cooperative = 1;
  OK(hiplaunch_submit(stencil, stream, &options, NULL));
  OK(hiplaunch_buffer_download(a, stream, 0, values, sizeof values));
  for (i = 0; i < N; i++) CHECK(values[i] == 4096);
  options.dims.grid[0] = 1 << 20;
  FAILS(hiplaunch_submit(stencil, stream, &options, NULL), HIPLAUNCH_STATUS_LAUNCH, "at most");
  options.cooperative = 2;
  FAILS(hiplaunch_submit(stencil, stream, &options, NULL), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "0 or 1");
  /* A program that was compiled before there was the field. */
  options.struct_size = offsetof(hiplaunch_launch_options, cooperative);
  options.dims.grid[0] = 1;
  args[3] = hiplaunch_arg_i32(0);
  OK(hiplaunch_submit(stencil, stream, &options, NULL));
  OK(hiplaunch_buffer_close(a));
  OK(hiplaunch_buffer_close(b));
  OK(hiplaunch_stream_close(stream));
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  folder = argv[1];
  launcher = open_emulator();
  streams();
  capture();
  cooperative();
  check_clean(launcher);
  OK(hiplaunch_close(launcher));
  puts("others: all is well");
  return 0;
}
