// Threads with one launcher: streams of their own and a shared one, tickets for which several threads wait, errors that
// belong to one thread, compiled graphs, timelines, and a launcher that is closed while other threads use it.
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "check.h"

namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 25;

// A wrapper for handles, as a C++ program would have.
template <typename T, hiplaunch_status (*Close)(T *)>
class Handle {
 public:
  Handle() = default;
  Handle(Handle &&other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  Handle(const Handle &) = delete;
  Handle &operator=(const Handle &) = delete;
  Handle &operator=(Handle &&) = delete;
  ~Handle() {
    if (handle_ != nullptr) Close(handle_);
  }
  T **out() { return &handle_; }
  T *get() const { return handle_; }

 private:
  T *handle_ = nullptr;
};

using Stream = Handle<hiplaunch_stream, hiplaunch_stream_close>;
using Buffer = Handle<hiplaunch_buffer, hiplaunch_buffer_close>;
using Ticket = Handle<hiplaunch_ticket, hiplaunch_ticket_close>;

void on_threads(const std::function<void(int)> &work);

void own_and_shared_streams(hiplaunch_launcher *launcher, hiplaunch_kernel *saxpy) {
  Stream shared;
  OK(hiplaunch_stream_open(launcher, 0, shared.out()));
  on_threads([&](int t) {
    Stream own;
    OK(hiplaunch_stream_open(launcher, 0, own.out()));
    for (int round = 0; round < kRounds; round++) {
      const hiplaunch_stream *stream = round % 2 ? shared.get() : own.get();
      std::vector<float> x(64, static_cast<float>(t)), y(64, static_cast<float>(round)), read(64);
      hiplaunch_arg args[4] = {hiplaunch_arg_f32(100.0f), hiplaunch_arg_host_in(x.data(), 256),
                               hiplaunch_arg_host_inout(y.data(), 256), hiplaunch_arg_i32(64)};
      const hiplaunch_dims dims = hiplaunch_dims_linear(1, 64);
      Ticket ticket;
      OK(hiplaunch_launch(saxpy, stream, &dims, args, 4, ticket.out()));
      x.assign(64, -1.0f);
      OK(hiplaunch_ticket_read(ticket.get(), 0, read.data(), 256));
      for (float value : read) CHECK(value == 100.0f * static_cast<float>(t) + static_cast<float>(round));
    }
  });
}

// Buffers that one thread closes while another launches with them: a launch either uses them or is refused.
void buffers_that_go(hiplaunch_launcher *launcher, hiplaunch_kernel *saxpy) {
  Stream stream;
  OK(hiplaunch_stream_open(launcher, 0, stream.out()));
  for (int round = 0; round < kRounds; round++) {
    hiplaunch_buffer *buffer;
    OK(hiplaunch_buffer_open(launcher, 0, stream.get(), 256, &buffer));
    OK(hiplaunch_buffer_fill(buffer, stream.get(), 0, 256, 0));
    std::atomic<int> closed{0};
    on_threads([&](int t) {
      if (t == 0) {
        if (hiplaunch_buffer_close(buffer) == HIPLAUNCH_STATUS_OK) closed++;
        return;
      }
      hiplaunch_arg args[4] = {hiplaunch_arg_f32(0.0f), hiplaunch_arg_buffer(buffer), hiplaunch_arg_buffer(buffer),
                               hiplaunch_arg_i32(64)};
      const hiplaunch_dims dims = hiplaunch_dims_linear(1, 64);
      const hiplaunch_status status = hiplaunch_launch(saxpy, stream.get(), &dims, args, 4, nullptr);
      CHECK(status == HIPLAUNCH_STATUS_OK || status == HIPLAUNCH_STATUS_INVALID_HANDLE);
    });
    CHECK(closed == 1);
  }
}

void a_ticket_for_all(hiplaunch_launcher *launcher, hiplaunch_kernel *spin) {
  Stream stream;
  OK(hiplaunch_stream_open(launcher, 0, stream.out()));
  hiplaunch_arg args[2] = {hiplaunch_arg_u64(2000), hiplaunch_arg_host_out(4 * 64)};
  const hiplaunch_dims dims = hiplaunch_dims_linear(1, 64);
  Ticket ticket;
  OK(hiplaunch_launch(spin, stream.get(), &dims, args, 2, ticket.out()));
  uint32_t expected = 0;
  for (int i = 0; i < 2000; i++) expected = 1664525u * expected + 1013904223u;
  on_threads([&](int t) {
    bool ready;
    OK(hiplaunch_ticket_is_ready(ticket.get(), &ready));
    if (t % 2) OK(hiplaunch_ticket_wait(ticket.get()));
    uint32_t words[64];
    OK(hiplaunch_ticket_read(ticket.get(), 0, words, sizeof words));
    for (uint32_t word : words) CHECK(word == expected);
    OK(hiplaunch_ticket_is_ready(ticket.get(), &ready));
  });
}

// A compiled graph of out = a * x, which the host reads. x is full of ones; a is argument 0 of node 0.
hiplaunch_compiled_graph *scaled(hiplaunch_launcher *launcher, const hiplaunch_kernel *vscale,
                                 const hiplaunch_stream *stream) {
  hiplaunch_graph *graph;
  hiplaunch_compiled_graph *compiled;
  hiplaunch_value x, out;
  Buffer ones;
  OK(hiplaunch_buffer_open(launcher, 0, stream, 256, ones.out()));
  OK(hiplaunch_buffer_fill_words(ones.get(), stream, 0, 256, 0x3f800000));
  OK(hiplaunch_graph_open(launcher, 0, &graph));
  OK(hiplaunch_graph_buffer(graph, ones.get(), &x));
  OK(hiplaunch_graph_temporary(graph, 256, &out));
  const hiplaunch_graph_arg args[4] = {hiplaunch_graph_arg_f32(0.0f), hiplaunch_graph_arg_read(x),
                                       hiplaunch_graph_arg_write(out), hiplaunch_graph_arg_i32(64)};
  const hiplaunch_dims dims = hiplaunch_dims_linear(1, 64);
  OK(hiplaunch_graph_launch(graph, vscale, &dims, args, 4, nullptr));
  OK(hiplaunch_graph_read(graph, out, nullptr));
  OK(hiplaunch_graph_compile(graph, stream, &compiled));
  return compiled;
}

// Each submission of a compiled graph has one of the factors that the threads set before it.
void a_compiled_graph_for_all(hiplaunch_launcher *launcher, const hiplaunch_kernel *vscale) {
  Stream stream;
  OK(hiplaunch_stream_open(launcher, 0, stream.out()));
  hiplaunch_compiled_graph *compiled = scaled(launcher, vscale, stream.get());
  on_threads([&](int t) {
    for (int round = 0; round < kRounds; round++) {
      const float a = static_cast<float>(t + 1);
      float read[64];
      Ticket ticket;
      OK(hiplaunch_compiled_graph_set_scalar(compiled, 0, 0, &a, sizeof a));
      OK(hiplaunch_compiled_graph_submit(compiled, HIPLAUNCH_SUBMISSION_AUTO, ticket.out()));
      OK(hiplaunch_ticket_read(ticket.get(), 0, read, sizeof read));
      CHECK(read[0] >= 1.0f && read[0] <= static_cast<float>(kThreads));
      for (float value : read) CHECK(value == read[0]);
    }
  });
  OK(hiplaunch_compiled_graph_close(compiled));
}

// A compiled graph that one thread closes, or whose launcher it closes, while others submit it.
void compiled_graphs_that_go(const char *folder) {
  for (int round = 0; round < 6; round++) {
    hiplaunch_launcher *launcher = open_emulator();
    hiplaunch_stream *stream;
    OK(hiplaunch_stream_open(launcher, 0, &stream));
    hiplaunch_compiled_graph *compiled = scaled(launcher, kernel_of(launcher, folder, "vector", "vscale"), stream);
    on_threads([&](int t) {
      if (t == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(round));
        if (round % 2) OK(hiplaunch_close(launcher));
        else OK(hiplaunch_compiled_graph_close(compiled));
        return;
      }
      for (;;) {
        hiplaunch_ticket *ticket;
        hiplaunch_status status = hiplaunch_compiled_graph_submit(compiled, HIPLAUNCH_SUBMISSION_AUTO, &ticket);
        if (status == HIPLAUNCH_STATUS_OK) status = hiplaunch_ticket_close(ticket);
        if (status != HIPLAUNCH_STATUS_OK) {
          CHECK(status == HIPLAUNCH_STATUS_INVALID_HANDLE);
          return;
        }
      }
    });
    if (round % 2 == 0) {
      check_clean(launcher);
      OK(hiplaunch_close(launcher));
    }
  }
}

// Not for the main thread: what Rust's standard library allocates for it once, memcheck takes for lost.
void timelines(const char *folder) {
  hiplaunch_options options;
  hiplaunch_launcher *recorded, *plain, *launcher = open_emulator();
  hiplaunch_kernel *none;
  hiplaunch_stream *its;
  hiplaunch_text *json;
  const char *text;
  size_t length;
  const hiplaunch_dims dims = hiplaunch_dims_linear(1, 64);
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.backend = HIPLAUNCH_BACKEND_EMULATOR;
  options.timeline = 2;
  FAILS(hiplaunch_open(&options, &recorded), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "`timeline` is 2");
  options.timeline = 1;
  OK(hiplaunch_open(&options, &recorded));
  none = kernel_of(recorded, folder, "probe", "no_args");
  OK(hiplaunch_stream_open(recorded, 0, &its));
  OK(hiplaunch_launch(none, its, &dims, NULL, 0, NULL));
  OK(hiplaunch_stream_synchronize(its));
  OK(hiplaunch_timeline_json(recorded, &json));
  OK(hiplaunch_text_data(json, &text, &length));
  CHECK(text[0] == '{' && length == strlen(text) && strstr(text, "\"traceEvents\"") != NULL);
  CHECK(strstr(text, "hipModuleLaunchKernel") != NULL && strstr(text, "no_args") != NULL);
  OK(hiplaunch_text_close(json));
  FAILS(hiplaunch_timeline_json(recorded, NULL), HIPLAUNCH_STATUS_NULL_POINTER, "json");
  FAILS(hiplaunch_timeline_json(launcher, &json), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "no timeline");
  FAILS(hiplaunch_timeline_json(NULL, &json), HIPLAUNCH_STATUS_INVALID_HANDLE, "launcher");
  OK(hiplaunch_close(recorded));
  options.timeline = 0;
  OK(hiplaunch_open(&options, &plain));
  FAILS(hiplaunch_timeline_json(plain, &json), HIPLAUNCH_STATUS_INVALID_ARGUMENT, "no timeline");
  OK(hiplaunch_close(plain));
  OK(hiplaunch_close(launcher));
}

void errors_of_their_own() {
  on_threads([](int t) {
    CHECK(hiplaunch_last_error() == HIPLAUNCH_STATUS_OK && hiplaunch_last_error_message()[0] == 0);
    for (int round = 0; round < kRounds; round++) {
      if (t % 2) {
        FAILS(hiplaunch_close(nullptr), HIPLAUNCH_STATUS_INVALID_HANDLE, "hiplaunch_close: the launcher's handle is null");
      } else {
        FAILS(hiplaunch_plan_offsets(nullptr, nullptr, nullptr), HIPLAUNCH_STATUS_NULL_POINTER, "hiplaunch_plan_offsets");
      }
    }
  });
}

// Every call of the other threads succeeds or is refused, and all objects that they opened are closed.
void closed_while_others_work(const char *folder) {
  for (int round = 0; round < 5; round++) {
    hiplaunch_launcher *launcher = open_emulator();
    hiplaunch_kernel *saxpy = kernel_of(launcher, folder, "vector", "saxpy");
    on_threads([&](int t) {
      if (t == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(round));
        OK(hiplaunch_close(launcher));
        return;
      }
      for (;;) {
        hiplaunch_stream *stream;
        hiplaunch_buffer *buffer;
        hiplaunch_ticket *ticket;
        hiplaunch_status status = hiplaunch_stream_open(launcher, 0, &stream);
        if (status == HIPLAUNCH_STATUS_OK) status = hiplaunch_buffer_open(launcher, 0, stream, 4096, &buffer);
        if (status == HIPLAUNCH_STATUS_OK) status = hiplaunch_buffer_fill(buffer, stream, 0, 4096, 0);
        if (status == HIPLAUNCH_STATUS_OK) {
          hiplaunch_arg args[4] = {hiplaunch_arg_f32(1.0f), hiplaunch_arg_buffer(buffer), hiplaunch_arg_buffer(buffer),
                                   hiplaunch_arg_i32(64)};
          const hiplaunch_dims dims = hiplaunch_dims_linear(1, 64);
          status = hiplaunch_launch(saxpy, stream, &dims, args, 4, &ticket);
        }
        if (status == HIPLAUNCH_STATUS_OK) status = hiplaunch_ticket_wait(ticket);
        if (status != HIPLAUNCH_STATUS_OK) {
          CHECK(status == HIPLAUNCH_STATUS_INVALID_HANDLE);
          return;
        }
      }
    });
  }
}

void on_threads(const std::function<void(int)> &work) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++) threads.emplace_back(work, t);
  for (std::thread &thread : threads) thread.join();
}

}  // namespace

int main(int argc, char **argv) {
  CHECK(argc == 2);
  hiplaunch_launcher *launcher = open_emulator();
  hiplaunch_kernel *saxpy = kernel_of(launcher, argv[1], "vector", "saxpy");
  own_and_shared_streams(launcher, saxpy);
  buffers_that_go(launcher, saxpy);
  a_ticket_for_all(launcher, kernel_of(launcher, argv[1], "probe", "spin"));
  a_compiled_graph_for_all(launcher, kernel_of(launcher, argv[1], "vector", "vscale"));
  errors_of_their_own();
  check_clean(launcher);
  OK(hiplaunch_close(launcher));
  closed_while_others_work(argv[1]);
  compiled_graphs_that_go(argv[1]);
  std::thread(timelines, argv[1]).join();
  puts("threads: all is well");
  return 0;
}
