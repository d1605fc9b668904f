// A small JIT compiler: expressions over two arrays become LLVM IR, and that becomes kernels. Four threads launch a kernel while it is
// replaced by other expressions, and a compiled graph goes on with the last one. It is examples/16_llvm_ir.rs in C++.
//
// This needs ROCm's comgr, or clang and lld. Without them, it prints what to install and ends.
#include <hiplaunch.h>

#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int N = 1000, THREADS = 4;
constexpr const char *EXPRESSIONS[] = {"x + y", "x * (y - 2)", "(x - y) * (x + y)", "x / (y + 3) - 0.5", "-x * -y"};
constexpr int COUNT = sizeof EXPRESSIONS / sizeof *EXPRESSIONS;

void check(hiplaunch_status status) {
  if (status != HIPLAUNCH_STATUS_OK) throw std::runtime_error(hiplaunch_last_error_message());
}

// An expression over the elements x and y of two arrays: 'x', 'y', 'n' for a number, or an operation.
struct Expression {
  char kind;
  float number = 0;
  std::unique_ptr<Expression> left, right;

  float value(float x, float y) const {
    switch (kind) {
      case 'x': return x;
      case 'y': return y;
      case 'n': return number;
      case '+': return left->value(x, y) + right->value(x, y);
      case '-': return left->value(x, y) - right->value(x, y);
      case '*': return left->value(x, y) * right->value(x, y);
      default: return left->value(x, y) / right->value(x, y);
    }
  }

  // Appends instructions to `ir`, and returns the name of the value. `count` is the number of values so far.
  std::string emit(std::string &ir, int &count) const {
    if (kind == 'x') return "%x";
    if (kind == 'y') return "%y";
    if (kind == 'n') {  // LLVM writes a float as the bits of a double.
      const double wide = number;
      unsigned long long bits;
      char text[19];
      std::memcpy(&bits, &wide, sizeof bits);
      std::snprintf(text, sizeof text, "0x%016llX", bits);
      return text;
    }
    const std::string a = left->emit(ir, count), b = right->emit(ir, count);
    const char *name = kind == '+' ? "fadd" : kind == '-' ? "fsub" : kind == '*' ? "fmul" : "fdiv";
    const std::string value = "%v" + std::to_string(count++);
    ir += "  " + value + " = " + name + " float " + a + ", " + b + "\n";
    return value;
  }
};

using Pointer = std::unique_ptr<Expression>;

// Reads an expression of one precedence, 0 for sums, 1 for products, 2 for what signs and parentheses bind, from the front of `text`.
Pointer parse(const char *&text, int precedence = 0) {
  const auto next = [&text] {
    while (*text == ' ') text++;
    return *text;
  };
  if (precedence == 2) {
    const char first = next();
    if (std::isdigit(static_cast<unsigned char>(first))) {
      std::size_t length;
      const float number = std::stof(text, &length);
      text += length;
      return Pointer(new Expression{'n', number, nullptr, nullptr});
    }
    if (first) text++;
    if (first == 'x' || first == 'y') return Pointer(new Expression{first, 0, nullptr, nullptr});
    if (first == '-') return Pointer(new Expression{'-', 0, Pointer(new Expression{'n', -0.0f, nullptr, nullptr}), parse(text, 2)});
    if (first != '(') throw std::runtime_error(std::string("no expression begins with `") + first + "`");
    Pointer inner = parse(text);
    if (next() != ')') throw std::runtime_error("a parenthesis is not closed");
    text++;
    return inner;
  }
  Pointer left = parse(text, precedence + 1);
  for (char c = next(); c && std::strchr(precedence ? "*/" : "+-", c); c = next()) {
    text++;
    Pointer right = parse(text, precedence + 1);
    left.reset(new Expression{c, 0, std::move(left), std::move(right)});
  }
  return left;
}

// Returns a kernel in LLVM IR.
std::string kernel(const Expression &expression) {
  std::string instructions;
  int count = 0;
  const std::string value = expression.emit(instructions, count);
  return R"(target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @expression(ptr addrspace(1) %xs, ptr addrspace(1) %ys, ptr addrspace(1) %out, i32 %n) #0 {
  %block = call i32 @llvm.amdgcn.workgroup.id.x()
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %first = mul i32 %block, 256
  %i = add i32 %first, %lane
  %inside = icmp ult i32 %i, %n
  br i1 %inside, label %element, label %end
element:
  %px = getelementptr float, ptr addrspace(1) %xs, i32 %i
  %py = getelementptr float, ptr addrspace(1) %ys, i32 %i
  %po = getelementptr float, ptr addrspace(1) %out, i32 %i
  %x = load float, ptr addrspace(1) %px
  %y = load float, ptr addrspace(1) %py
)" + instructions +
         "  store float " + value + R"(, ptr addrspace(1) %po
  br label %end
end:
  ret void
}
attributes #0 = { "amdgpu-flat-work-group-size"="1,256" }
)";
}

using Compiled = std::unique_ptr<hiplaunch_compiled, decltype(&hiplaunch_compiled_close)>;

Compiled compile(const char *target, const std::string &ir, const char *name) {
  hiplaunch_input input = {HIPLAUNCH_INPUT_KIND_LLVM_IR, 0, ir.data(), ir.size(), name};
  hiplaunch_compiled *compiled = nullptr;
  check(hiplaunch_compile_inputs(target, &input, 1, nullptr, &compiled));
  return {compiled, hiplaunch_compiled_close};
}

// Replaces the kernel of a handle by that of an expression.
void replace(const hiplaunch_kernel *handle, const char *target, const Expression &expression, const char *name) {
  const Compiled code = compile(target, kernel(expression), name);
  const void *data;
  std::size_t bytes;
  check(hiplaunch_compiled_code(code.get(), &data, &bytes));
  check(hiplaunch_replace(handle, data, bytes, "expression"));
}

// Launches the handle's kernel until all expressions have had their turn. Each result is that of one expression, whole.
int launch(hiplaunch_launcher *launcher, const hiplaunch_kernel *handle, const std::vector<Pointer> &expressions,
           const std::atomic<int> &current) {
  std::vector<float> x(N), y(N);
  for (int i = 0; i < N; i++) x[i] = static_cast<float>(i) / 8, y[i] = static_cast<float>(i % 7);
  hiplaunch_stream *stream;
  check(hiplaunch_stream_open(launcher, 0, &stream));
  const hiplaunch_arg args[] = {hiplaunch_arg_host_in(x.data(), N * sizeof(float)), hiplaunch_arg_host_in(y.data(), N * sizeof(float)),
                                hiplaunch_arg_host_out(N * sizeof(float)), hiplaunch_arg_i32(N)};
  const hiplaunch_dims dims = hiplaunch_dims_cover(N, 256);
  for (int launches = 1;; launches++) {
    const int before = current;
    hiplaunch_ticket *ticket;
    check(hiplaunch_launch(handle, stream, &dims, args, 4, &ticket));
    // A replacement takes effect before `current` says so, by one at most.
    const int after = current + 1 < COUNT ? current + 1 : COUNT - 1;
    const void *data;
    check(hiplaunch_ticket_output(ticket, 0, &data, nullptr));
    const float *result = static_cast<const float *>(data);
    bool is_one = false;
    for (int e = before; e <= after && !is_one; e++) {
      is_one = true;
      for (int i = 0; i < N; i++) is_one &= result[i] == expressions[e]->value(x[i], y[i]);
    }
    check(hiplaunch_ticket_close(ticket));
    if (!is_one) throw std::runtime_error("a result is of no expression that was the kernel's");
    if (before == COUNT - 1) {
      check(hiplaunch_stream_close(stream));
      return launches;
    }
  }
}

// Submits a compiled graph with each expression's kernel and other buffers.
void rebind(hiplaunch_launcher *launcher, const hiplaunch_kernel *handle, const char *target,
            const std::vector<Pointer> &expressions) {
  hiplaunch_stream *stream;
  hiplaunch_buffer *inputs[3], *out;
  hiplaunch_graph *graph;
  hiplaunch_compiled_graph *compiled;
  hiplaunch_value x, y, to;
  check(hiplaunch_stream_open(launcher, 0, &stream));
  for (int k = 0; k < 3; k++) {
    const std::vector<float> host(N, static_cast<float>(k + 1));
    check(hiplaunch_buffer_open(launcher, 0, stream, N * sizeof(float), &inputs[k]));
    check(hiplaunch_buffer_upload(inputs[k], stream, 0, host.data(), N * sizeof(float)));
  }
  check(hiplaunch_buffer_open(launcher, 0, stream, N * sizeof(float), &out));
  check(hiplaunch_graph_open(launcher, 0, &graph));
  check(hiplaunch_graph_buffer(graph, inputs[0], &x));
  check(hiplaunch_graph_buffer(graph, inputs[1], &y));
  check(hiplaunch_graph_buffer(graph, out, &to));
  const hiplaunch_graph_arg args[] = {hiplaunch_graph_arg_read(x), hiplaunch_graph_arg_read(y), hiplaunch_graph_arg_write(to),
                                      hiplaunch_graph_arg_i32(N)};
  const hiplaunch_dims dims = hiplaunch_dims_cover(N, 256);
  check(hiplaunch_graph_launch(graph, handle, &dims, args, 4, nullptr));
  check(hiplaunch_graph_read(graph, to, nullptr));
  check(hiplaunch_graph_compile(graph, stream, &compiled));
  for (int round = 0; round < COUNT; round++) {
    const int i = round % 3, j = (round + 1) % 3;
    hiplaunch_ticket *ticket;
    const void *data;
    replace(handle, target, *expressions[round], EXPRESSIONS[round]);
    check(hiplaunch_compiled_graph_set_buffer(compiled, x, inputs[i]));
    check(hiplaunch_compiled_graph_set_buffer(compiled, y, inputs[j]));
    check(hiplaunch_compiled_graph_submit(compiled, HIPLAUNCH_SUBMISSION_AUTO, &ticket));
    check(hiplaunch_ticket_output(ticket, 0, &data, nullptr));
    const float expected = expressions[round]->value(static_cast<float>(i + 1), static_cast<float>(j + 1));
    for (int n = 0; n < N; n++) {
      if (static_cast<const float *>(data)[n] != expected) throw std::runtime_error("a graph's result is wrong");
    }
    std::printf("%s of %d and %d is %g\n", EXPRESSIONS[round], i + 1, j + 1, expected);
    check(hiplaunch_ticket_close(ticket));
  }
}

void run() {
  std::vector<Pointer> expressions;
  for (const char *text : EXPRESSIONS) expressions.push_back(parse(text));
  // The validation layer checks that memory and modules outlive the kernels that use them.
  hiplaunch_options options{};
  options.struct_size = sizeof options;
  options.validate = HIPLAUNCH_SWITCH_ON;
  hiplaunch_launcher *launcher;
  check(hiplaunch_open(&options, &launcher));
  hiplaunch_device_properties properties{};
  properties.struct_size = sizeof properties;
  check(hiplaunch_get_device_properties(launcher, 0, &properties));
  const char *target = properties.target;

  const std::string first = kernel(*expressions[0]);
  hiplaunch_input input = {HIPLAUNCH_INPUT_KIND_LLVM_IR, 0, first.data(), first.size(), EXPRESSIONS[0]};
  hiplaunch_compiled *opened = nullptr;
  const hiplaunch_status status = hiplaunch_compile_inputs(target, &input, 1, nullptr, &opened);
  if (status == HIPLAUNCH_STATUS_NO_COMPILER) {
    std::printf("%s\n", hiplaunch_last_error_message());
    return check(hiplaunch_close(launcher));
  }
  check(status);
  const Compiled code(opened, hiplaunch_compiled_close);
  const void *data;
  std::size_t bytes;
  hiplaunch_kernel *handle;
  check(hiplaunch_compiled_code(code.get(), &data, &bytes));
  check(hiplaunch_register(launcher, 0, data, bytes, "expression", nullptr, &handle));

  std::atomic<int> current{0}, launches{0};
  std::exception_ptr problem;
  std::atomic_flag has_problem = ATOMIC_FLAG_INIT;
  const auto guarded = [&](const auto &work) {
    try {
      work();
    } catch (...) {
      if (!has_problem.test_and_set()) problem = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < THREADS; t++) {
    threads.emplace_back([&] { guarded([&] { launches += launch(launcher, handle, expressions, current); }); });
  }
  guarded([&] {
    for (int next = 1; next < COUNT; next++) {
      replace(handle, target, *expressions[next], EXPRESSIONS[next]);
      current = next;
    }
  });
  current = COUNT - 1;  // after an error, too, so that the threads end
  for (std::thread &thread : threads) thread.join();
  if (problem) std::rethrow_exception(problem);
  std::printf("%d launches on %d threads, of %d kernels one after the other\n", launches.load(), THREADS, COUNT);

  rebind(launcher, handle, target, expressions);

  // The error for wrong IR has the compiler's log, with the line.
  try {
    compile(target, "define void @f() {\n  rat void\n}\n", "wrong.ll");
    throw std::logic_error("no instruction is called rat");
  } catch (const std::runtime_error &error) {
    std::printf("%s\n", error.what());
  }
  hiplaunch_text *violations;
  check(hiplaunch_take_violations(launcher, &violations));
  const char *text;
  std::size_t length;
  check(hiplaunch_text_data(violations, &text, &length));
  if (length) throw std::runtime_error(text);
  check(hiplaunch_text_close(violations));
  check(hiplaunch_close(launcher));  // and everything that was opened from it
}

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
