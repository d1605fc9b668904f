/* Streams and events that others made, cooperative launches, and several devices. */
#include "check.h"

#include <stddef.h>

static hiplaunch_launcher *launcher;
static const char *folder;
static const hiplaunch_dims one_block = {{1, 1, 1}, {64, 1, 1}, 0};

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

static void count(void *counter, hiplaunch_status status) { *(unsigned *)counter += status == HIPLAUNCH_STATUS_OK; }

/* Launches and a function that become a graph, and what is refused meanwhile. */
static void capture(void) {
  enum { N = 256 };
  unsigned counted = 0;
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
  OK(hiplaunch_stream_host_function(stream, count, &counted));
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
  CHECK(counted == 3);
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

/* One kernel on three devices, whose memory the host never sees on the way. */
static void devices(void) {
  enum { N = 256, DEVICES = 3 };
  hiplaunch_options options;
  hiplaunch_launcher *several;
  hiplaunch_kernel *bump, *one;
  hiplaunch_kernel_attributes attributes;
  hiplaunch_stream *streams[DEVICES];
  hiplaunch_buffer *buffers[DEVICES];
  unsigned values[N];
  size_t size;
  void *code = code_object(folder, "probe", "gfx90a", &size);
  bool can;
  int i;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.backend = HIPLAUNCH_BACKEND_EMULATOR;
  options.validate = HIPLAUNCH_SWITCH_ON;
  options.emulator = "devices=3";
  OK(hiplaunch_open(&options, &several));
  OK(hiplaunch_register(several, HIPLAUNCH_ALL_DEVICES, code, size, "bump", NULL, &bump));
  FAILS(hiplaunch_register(several, HIPLAUNCH_ALL_DEVICES, code, size, "bmup", NULL, &one),
        HIPLAUNCH_STATUS_CODE_OBJECT, "bump");
  FAILS(hiplaunch_register(several, DEVICES, code, size, "bump", NULL, &one), HIPLAUNCH_STATUS_INVALID_ARGUMENT,
        "device 3");
  memset(values, 0, sizeof values);
  for (i = 0; i < DEVICES; i++) {
    OK(hiplaunch_stream_open(several, (uint32_t)i, &streams[i]));
    OK(hiplaunch_buffer_open(several, (uint32_t)i, streams[i], sizeof values, &buffers[i]));
    if (i == 0) {
      OK(hiplaunch_buffer_upload(buffers[0], streams[0], 0, values, sizeof values));
    } else {
      OK(hiplaunch_stream_synchronize(streams[i - 1]));
      OK(hiplaunch_buffer_copy(buffers[i], 0, buffers[i - 1], 0, sizeof values, streams[i]));
    }
    add_one(bump, streams[i], buffers[i], N);
    attributes.struct_size = sizeof attributes;
    OK(hiplaunch_get_kernel_attributes(bump, (uint32_t)i, &attributes));
    CHECK(attributes.wavefront_size == 64);
  }
  OK(hiplaunch_buffer_download(buffers[DEVICES - 1], streams[DEVICES - 1], 0, values, sizeof values));
  CHECK(values[0] == DEVICES && values[N - 1] == DEVICES);

  OK(hiplaunch_can_access_peer(several, 0, 2, &can));
  CHECK(can);
  OK(hiplaunch_can_access_peer(several, 1, 1, &can));
  CHECK(!can);
  OK(hiplaunch_enable_peer_access(several, 0, 2));
  OK(hiplaunch_enable_peer_access(several, 0, 2));
  add_one(bump, streams[0], buffers[2], N);
  OK(hiplaunch_stream_synchronize(streams[0]));
  OK(hiplaunch_buffer_download(buffers[2], streams[2], 0, values, sizeof values));
  CHECK(values[0] == DEVICES + 1);
  FAILS(hiplaunch_enable_peer_access(several, 0, 0), HIPLAUNCH_STATUS_DRIVER, "device 0");
  FAILS(hiplaunch_enable_peer_access(several, 0, 9), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "device 9");
  FAILS(hiplaunch_can_access_peer(several, 0, 1, NULL), HIPLAUNCH_STATUS_NULL_POINTER, "can");

  OK(hiplaunch_replace(bump, code, size, "no_args"));
  OK(hiplaunch_launch(bump, streams[1], &one_block, NULL, 0, NULL));
  check_clean(several);
  OK(hiplaunch_close(several));
  free(code);
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  folder = argv[1];
  launcher = open_emulator();
  streams();
  capture();
  cooperative();
  devices();
  check_clean(launcher);
  OK(hiplaunch_close(launcher));
  puts("others: all is well");
  return 0;
}
