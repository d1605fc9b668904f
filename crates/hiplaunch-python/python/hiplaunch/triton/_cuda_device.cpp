// The device "cuda" of torch, on a machine with no GPU: tensors of it are torch's own, with their own dispatch key, so that
// autograd, autocast, generators, hooks and torch.compile see a device of CUDA. Their memory is the host's, and torch's CPU
// kernels are its operators, which get the same memory without a copy.
//
// _cuda_build.py compiles this file for the torch that is installed, and calls the functions at its end.

#include "_cuda_attention.h"
#include "_cuda_runtime.h"

#include <ATen/NativeFunctions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/GeneratorForPrivateuseone.h>
#include <ATen/native/CPUFallback.h>
#include <torch/library.h>
#include <torch/version.h>

#include <cmath>
#include <deque>
#include <limits>
#include <vector>

namespace {

// -------------------------------------------------------------------------------------------------------- operators

// cpu_fallback of torch asks for the tensors of the CPU with this operator, and gives results back with the next one.
std::vector<at::Tensor> to_cpu(at::TensorList tensors) {
  std::vector<at::Tensor> result;
  result.reserve(tensors.size());
  for (const auto& tensor : tensors) {
    result.push_back(cpu_alias(tensor));
  }
  return result;
}

bool is_same(const at::Tensor& a, const at::Tensor& b) {
  return a.const_data_ptr() == b.const_data_ptr() && a.sizes() == b.sizes() && a.strides() == b.strides();
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& to, bool non_blocking) {
  if (!is_same(self, to)) {
    cpu_alias(to).copy_(cpu_alias(self), non_blocking);
  }
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& to) {
  if (!is_same(self, to)) {
    to.resize_(self.sizes());
    cpu_alias(to).copy_(cpu_alias(self));
  }
  return to;
}

at::Tensor& copy_(at::Tensor& self, const at::Tensor& from, bool non_blocking) {
  cpu_alias(self).copy_(cpu_alias(from), non_blocking);
  return self;
}

at::Tensor empty(c10::IntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout>,
                 std::optional<Device> device, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  const c10::DeviceGuard guard(device.value_or(Device(CUDA)));
  return at::detail::empty_generic(size, &allocator, c10::DispatchKeySet(DispatchKey::CUDA),
                                   c10::dtype_or_default(type), format);
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<at::ScalarType> type,
                         std::optional<at::Layout>, std::optional<Device> device, std::optional<bool>) {
  const c10::DeviceGuard guard(device.value_or(Device(CUDA)));
  return at::detail::empty_strided_generic(size, stride, &allocator, c10::DispatchKeySet(DispatchKey::CUDA),
                                           c10::dtype_or_default(type));
}

at::Tensor& set_to_nothing(at::Tensor& self) {
  auto storage = c10::Storage(c10::Storage::use_byte_size_t(), 0, &allocator, true);
  return self.set_(std::move(storage), 0, {0}, {});
}

void record_stream(at::Tensor&, Stream) {}

// Attention by matrix products, of operators that the CPU has. torch chooses its fast kernels by asking CUDA for the device.
at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const std::optional<at::Tensor>& mask, double dropout, bool is_causal, std::optional<double> scale,
                     bool enable_gqa) {
  auto bias = mask;
  if (mask.has_value() && mask->defined() && mask->scalar_type() == at::kBool) {
    bias = at::zeros_like(*mask, query.options()).masked_fill(mask->logical_not(), -INFINITY);
  }
  const auto results = at::_scaled_dot_product_attention_math(query, key, value, bias, dropout, is_causal, std::nullopt,
                                                              scale, enable_gqa);
  return std::get<0>(results);
}

// Softmax of halves with a result of floats, which only CUDA's kernels have.
template <at::Tensor (*softmax)(const at::Tensor&, int64_t, bool)>
at::Tensor softmax_in_float(const at::Tensor& self, int64_t dim, bool half_to_float) {
  return cuda_alias(softmax(cpu_alias(half_to_float ? self.to(at::kFloat) : self), dim, false), self.device());
}

at::Tensor softmax_backward(const at::Tensor& grad, const at::Tensor& output, int64_t dim, at::ScalarType type) {
  const auto result = at::_softmax_backward_data(cpu_alias(grad), cpu_alias(output), dim, grad.scalar_type());
  return cuda_alias(result, grad.device()).to(type);
}

// The CPU's own kernel adds a row's gradients one after another, which is a hundred times less exact where all are the same.
at::Tensor log_softmax_backward(const at::Tensor& grad, const at::Tensor& output, int64_t dim, at::ScalarType type) {
  const auto of_output = cpu_in_float(grad);
  auto result = cpu_in_float(output).exp().mul_(of_output.sum(dim, /*keepdim=*/true));
  return cuda_alias(at::sub_out(result, of_output, result).to(type), grad.device());
}

at::Tensor with_bias(const at::Tensor& gates, const std::optional<at::Tensor>& bias) {
  return bias.has_value() && bias->defined() ? gates + *bias : gates;
}

// The cells of recurrent networks that CUDA has as one kernel, as torch's CPU computes them. The last result is for a backward
// kernel that is not used.
std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell(const at::Tensor& input_gates, const at::Tensor& hidden_gates,
                                                         const at::Tensor& cx,
                                                         const std::optional<at::Tensor>& input_bias,
                                                         const std::optional<at::Tensor>& hidden_bias) {
  const auto gates = (with_bias(input_gates, input_bias) + with_bias(hidden_gates, hidden_bias)).chunk(4, 1);
  const auto cy = gates[1].sigmoid() * cx + gates[0].sigmoid() * gates[2].tanh();
  return {gates[3].sigmoid() * cy.tanh(), cy, at::empty({0}, cx.options())};
}

// RMS norm. The first result is made of operators that have derivatives; the second is for a backward kernel that is not used.
std::tuple<at::Tensor, at::Tensor> rms_norm(const at::Tensor& input, c10::IntArrayRef normalized_shape,
                                            const std::optional<at::Tensor>& weight, std::optional<double> eps) {
  std::vector<int64_t> dims(normalized_shape.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    dims[i] = input.dim() - static_cast<int64_t>(dims.size() - i);
  }
  const auto type = input.scalar_type();
  const bool is_half = type == at::kHalf || type == at::kBFloat16;
  const auto x = is_half ? input.to(at::kFloat) : input;
  const double least = x.scalar_type() == at::kDouble ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  const auto scale = (x.square().mean(dims, /*keepdim=*/true) + eps.value_or(least)).rsqrt();
  const auto scaled = x * scale;
  return {(weight.has_value() && weight->defined() ? scaled * *weight : scaled).to(type), scale.detach()};
}

at::Tensor to_like(const at::Tensor& result, const at::Tensor& like) {
  return result.defined() ? result.to(like.device(), like.scalar_type()) : result;
}

// Layer norm, whose sums and statistics are of floats on CUDA.
std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm(const at::Tensor& input, c10::IntArrayRef normalized_shape,
                                                          const std::optional<at::Tensor>& weight,
                                                          const std::optional<at::Tensor>& bias, double eps) {
  const auto [output, mean, rstd] = at::native_layer_norm(cpu_in_float(input), normalized_shape, cpu_in_float(weight),
                                                          cpu_in_float(bias), eps);
  return {to_like(output, input), mean.to(input.device()), rstd.to(input.device())};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm_backward(
    const at::Tensor& grad, const at::Tensor& input, c10::IntArrayRef normalized_shape, const at::Tensor& mean,
    const at::Tensor& rstd, const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias,
    std::array<bool, 3> mask) {
  const auto [of_input, of_weight, of_bias] =
      at::native_layer_norm_backward(cpu_in_float(grad), cpu_in_float(input), normalized_shape, cpu_in_float(mean),
                                     cpu_in_float(rstd), cpu_in_float(weight), cpu_in_float(bias), mask);
  const at::Tensor& parameters = weight.has_value() && weight->defined() ? *weight : input;
  return {to_like(of_input, input), to_like(of_weight, parameters), to_like(of_bias, parameters)};
}

// Dropout whose numbers are of the device's generator. The CPU's operator uses that of the CPU.
std::tuple<at::Tensor, at::Tensor> dropout(const at::Tensor& input, double p, std::optional<bool> train) {
  auto mask = at::empty_like(input, input.options().dtype(at::kBool));
  if (!train.value_or(true)) {
    return {input.clone(), mask.fill_(true)};
  }
  mask.bernoulli_(1 - p);
  return {input.mul(mask).mul_(p == 1 ? 0.0 : 1 / (1 - p)), mask};
}

bool has_no_ctc_loss(const at::Tensor&, const at::Tensor&, c10::IntArrayRef, c10::IntArrayRef, int64_t) {
  return false;
}

bool has_no_ctc_loss_of_tensors(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&, int64_t) {
  return false;
}

std::tuple<at::Tensor, at::Tensor> gru_cell(const at::Tensor& input_gates, const at::Tensor& hidden_gates,
                                            const at::Tensor& hx, const std::optional<at::Tensor>& input_bias,
                                            const std::optional<at::Tensor>& hidden_bias) {
  const auto from_input = with_bias(input_gates, input_bias).chunk(3, 1);
  const auto from_hidden = with_bias(hidden_gates, hidden_bias).chunk(3, 1);
  const auto reset = (from_hidden[0] + from_input[0]).sigmoid();
  const auto update = (from_hidden[1] + from_input[1]).sigmoid();
  const auto fresh = (from_input[2] + reset * from_hidden[2]).tanh();
  return {(hx - fresh) * update + fresh, at::empty({0}, hx.options())};
}

bool is_generator(const c10::Argument& argument) {
  const auto& type = argument.type();
  const auto* inner = type->castRaw<c10::OptionalType>();
  return (inner == nullptr ? type : inner->getElementType())->kind() == c10::TypeKind::GeneratorType;
}

bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

// Calls the CPU's kernel for floats in place of one for halves: one that only CUDA has, or whose sums are of floats on CUDA.
void run_in_float(const c10::OperatorHandle& op, Stack* stack, const Stack& given) {
  const auto& arguments = op.schema().arguments();
  std::optional<at::ScalarType> type;
  std::optional<Device> device;
  std::vector<at::Tensor> written;
  std::vector<at::Tensor> written_in_float;
  for (size_t i = 0; i < given.size(); ++i) {
    const auto& value = given[i];
    const bool is_type = arguments[i].name() == "dtype" || arguments[i].name() == "out_dtype";
    if (is_type && !value.isNone()) {
      type = value.toScalarType();
    }
    if (!value.isTensor() || !is_half(value.toTensor())) {
      stack->push_back(value);
      continue;
    }
    const at::Tensor& half = value.toTensor();
    type = type.value_or(half.scalar_type());
    device = half.device();
    if (is_written(arguments[i])) {
      written.push_back(half);
      written_in_float.push_back(half.to(at::kFloat));
      stack->emplace_back(written_in_float.back());
    } else {
      // Not of the device, whose memory statistics would have it.
      stack->emplace_back(cpu_alias(half).to(at::kFloat));
    }
  }
  at::native::cpu_fallback(op, stack);
  for (size_t i = 0; i < written.size(); ++i) {
    written[i].resize_(written_in_float[i].sizes()).copy_(written_in_float[i]);
  }
  const size_t count = op.schema().returns().size();
  for (size_t i = 0; i < count; ++i) {
    auto& value = (*stack)[stack->size() - count + i];
    if (is_written(op.schema().returns()[i]) && i < written.size()) {
      value = written[i];
    } else if (value.isTensor() && value.toTensor().defined() && device.has_value()) {
      const at::Tensor result = value.toTensor();
      value = result.to(*device, result.scalar_type() == at::kFloat ? *type : result.scalar_type());
    }
  }
}

// Puts the CPU's generator and numbers of the device in place of what the operator was given.
void prepare(const c10::OperatorHandle& op, Stack* stack) {
  const auto& arguments = op.schema().arguments();
  const size_t first = stack->size() - arguments.size();
  const auto device = check_devices(op, *stack, first).value_or(Device(CUDA, current_device));
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto& value = (*stack)[first + i];
    if (value.isTensor() && is_plain(value.toTensor()) && value.toTensor().is_cpu() && value.toTensor().dim() == 0) {
      // torch puts results on the device of the first tensor, which may be a number on the CPU.
      value = cuda_alias(value.toTensor(), device);
    } else if (is_generator(arguments[i])) {
      value = cpu_generator(value.isNone() ? std::nullopt : std::optional<at::Generator>(value.toGenerator()), device);
    }
  }
}

// Calls the CPU's kernel of an operator with the same memory, and the CPU's generator.
void run_on_cpu(const c10::OperatorHandle& op, Stack* stack) {
  prepare(op, stack);
  const size_t first = stack->size() - op.schema().arguments().size();
  const Stack given(stack->begin() + static_cast<std::ptrdiff_t>(first), stack->end());
  try {
    at::native::cpu_fallback(op, stack);
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    const bool is_of_halves = text.find("not implemented for 'Half'") != std::string::npos ||
                              text.find("not implemented for 'BFloat16'") != std::string::npos;
    if (!is_of_halves || op.schema().is_mutable()) {
      throw;
    }
    stack->resize(first);
    run_in_float(op, stack, given);
  }
}

// The same, of an operator whose CPU kernel for halves adds in half precision, or is a hundred times slower than that for floats.
void run_halves_in_float(const c10::OperatorHandle& op, Stack* stack) {
  const size_t first = stack->size() - op.schema().arguments().size();
  std::set<at::ScalarType> types;
  for (size_t i = first; i < stack->size(); ++i) {
    const auto& value = (*stack)[i];
    if (value.isTensor() && value.toTensor().defined() && value.toTensor().is_floating_point()) {
      types.insert(value.toTensor().scalar_type());
    }
  }
  // If there are others, the CPU's kernel says what is wrong. What is put without being added is not rounded.
  const bool only_puts = op.operator_name().name == "aten::_index_put_impl_" && !(*stack)[first + 3].toBool();
  if (only_puts || (types != std::set<at::ScalarType>{at::kHalf} && types != std::set<at::ScalarType>{at::kBFloat16})) {
    run_on_cpu(op, stack);
    return;
  }
  prepare(op, stack);
  const Stack given(stack->begin() + static_cast<std::ptrdiff_t>(first), stack->end());
  stack->resize(first);
  run_in_float(op, stack, given);
}

// Matrix products whose result is of another type than the operands, which only CUDA has.
void multiply_with_type(const c10::OperatorHandle& op, Stack* stack) {
  prepare(op, stack);
  const auto& arguments = op.schema().arguments();
  const size_t first = stack->size() - arguments.size();
  Stack without_type;
  auto given_type = at::kFloat, type = at::kFloat;
  Device device(CUDA);
  std::optional<at::Tensor> out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto& value = (*stack)[first + i];
    if (arguments[i].name() == "out_dtype") {
      type = value.toScalarType();
    } else if (is_written(arguments[i])) {
      out = value.toTensor();
    } else if (value.isTensor()) {
      given_type = value.toTensor().scalar_type();
      device = value.toTensor().device();
      without_type.emplace_back(cpu_in_float(value.toTensor()));
    } else {
      without_type.push_back(value);
    }
  }
  TORCH_CHECK(type == given_type || (type == at::kFloat && (given_type == at::kHalf || given_type == at::kBFloat16)),
              "out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs");
  c10::Dispatcher::singleton().findSchemaOrThrow(op.operator_name().name.c_str(), "").callBoxed(&without_type);
  const at::Tensor result = without_type.back().toTensor();
  stack->resize(first);
  stack->emplace_back(out.has_value() ? out->resize_(result.sizes()).copy_(result) : result.to(device, type));
}

// Calls the CPU's kernel of an operator whose result is a part of its first argument's memory.
void view_on_cpu(const c10::OperatorHandle& op, Stack* stack) {
  const size_t first = stack->size() - op.schema().arguments().size();
  const at::Tensor self = (*stack)[first].toTensor();
  (*stack)[first] = cpu_alias(self);
  op.redispatchBoxed(c10::DispatchKeySet(DispatchKey::CPU), stack);
  const at::Tensor view = stack->back().toTensor();
  stack->back() = tensor_in(self.storage(), view, DispatchKey::CUDA);
}

void refuse(const c10::OperatorHandle& op, Stack*) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "hiplaunch: torch's CPU has no kernel of ", op.operator_name(),
                              ", so that the emulated device has none; see \"What cuda is\" in hiplaunch's docs/triton.md");
}

enum class Kind { None, View, Cpu, TypedProduct, Refused };

// What the emulated device does for an operator of torch that has other kernels.
Kind kind_of(const c10::OperatorHandle& op) {
  // These choose a kernel by the device, and would choose one that only CUDA has.
  static const std::set<std::string> whole = {"aten::convolution", "aten::convolution_backward"};
  const bool on_cpu = op.hasKernelForDispatchKey(DispatchKey::CPU);
  const bool on_cuda = op.hasKernelForDispatchKey(DispatchKey::CUDA);
  if (!on_cpu && !on_cuda && whole.count(op.operator_name().name) == 0) {
    return Kind::None;
  }
  if (!op.hasComputedKernelForDispatchKey(DispatchKey::CPU)) {
    static const std::set<std::string> products = {"aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm"};
    const bool has_type = op.operator_name().overload_name.rfind("dtype", 0) == 0;
    return has_type && products.count(op.operator_name().name) != 0 ? Kind::TypedProduct : Kind::Refused;
  }
  const auto& returns = op.schema().returns();
  const bool is_view = returns.size() == 1 && returns[0].alias_info() != nullptr && !returns[0].alias_info()->isWrite();
  return is_view ? Kind::View : Kind::Cpu;
}

// Whether CUDA's kernel of an operator multiplies or adds halves in floats, and the CPU's does not.
bool sums_halves_in_float(const std::string& name) {
  static const std::set<std::string> all = {
      "aten::mm",       "aten::bmm",      "aten::addmm",       "aten::addmm_",
      "aten::baddbmm",  "aten::baddbmm_", "aten::addbmm",      "aten::mv",
      "aten::addmv",    "aten::addmv_",   "aten::dot",         "aten::vdot",
      "aten::prod",     "aten::col2im",   "aten::convolution", "aten::convolution_backward",
      "aten::_index_put_impl_",           "aten::embedding_dense_backward",
  };
  return all.count(name) != 0 || name.rfind("aten::upsample_", 0) == 0 || name.rfind("aten::_upsample_", 0) == 0;
}

// The registrations last as long as the process.
std::deque<torch::Library>& libraries() {
  static auto* all = new std::deque<torch::Library>;
  return *all;
}

// What torch's CPU does, or a refusal, for all other operators than the device's own.
void register_others(torch::Library& library, const std::set<std::string>& own) {
  for (const auto& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (name.name.rfind("aten::", 0) != 0) {
      continue;
    }
    const std::string in_aten = name.name.substr(6) + (name.overload_name.empty() ? "" : "." + name.overload_name);
    const auto op = c10::Dispatcher::singleton().findOp(name);
    if (!op.has_value() || !op->hasSchema() || own.count(in_aten) != 0) {
      continue;
    }
    switch (kind_of(*op)) {
      case Kind::None:
        break;
      case Kind::View:
        library.impl(in_aten.c_str(), torch::CppFunction::makeFromBoxedFunction<&view_on_cpu>());
        break;
      case Kind::Cpu:
        if (sums_halves_in_float(name.name)) {
          library.impl(in_aten.c_str(), torch::CppFunction::makeFromBoxedFunction<&run_halves_in_float>());
        } else {
          library.impl(in_aten.c_str(), torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());
        }
        break;
      case Kind::TypedProduct:
        library.impl(in_aten.c_str(), torch::CppFunction::makeFromBoxedFunction<&multiply_with_type>());
        break;
      case Kind::Refused:
        library.impl(in_aten.c_str(), torch::CppFunction::makeFromBoxedFunction<&refuse>());
        break;
    }
  }
}

void register_operators() {
  // Kernels of CUDA that torch may have are replaced. It warns about that.
  struct Quiet : c10::WarningHandler {
    void process(const c10::Warning&) override {}
  } quiet;
  const c10::WarningUtils::WarningHandlerGuard guard(&quiet);
  auto& library = libraries().emplace_back(torch::Library::IMPL, "aten", DispatchKey::CUDA, __FILE__, __LINE__);
  std::set<std::string> own = {"empty.memory_format", "empty_strided", "copy_", "_copy_from",
                               "_copy_from_and_resize", "_to_cpu", "set_", "record_stream", "resize_",
                               "set_.source_Storage", "set_.source_Storage_storage_offset", "set_.source_Tensor",
                               "scaled_dot_product_attention", "_thnn_fused_lstm_cell", "_thnn_fused_gru_cell",
                               "_fused_rms_norm", "_use_cudnn_ctc_loss", "_use_cudnn_ctc_loss.Tensor",
                               "_use_miopen_ctc_loss", "_use_miopen_ctc_loss.Tensor", "_softmax", "_log_softmax",
                               "_softmax_backward_data", "_log_softmax_backward_data",
                               "native_layer_norm", "native_layer_norm_backward", "native_dropout"};
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", empty_strided);
  library.impl("copy_", copy_);
  library.impl("_copy_from", copy_from);
  library.impl("_copy_from_and_resize", copy_from_and_resize);
  library.impl("_to_cpu", to_cpu);
  library.impl("set_", set_to_nothing);
  library.impl("record_stream", record_stream);
  library.impl("_softmax", softmax_in_float<at::_softmax>);
  library.impl("_log_softmax", softmax_in_float<at::_log_softmax>);
  library.impl("_softmax_backward_data", softmax_backward);
  library.impl("_log_softmax_backward_data", log_softmax_backward);
  library.impl("native_dropout", dropout);
  library.impl("native_layer_norm", layer_norm);
  library.impl("native_layer_norm_backward", layer_norm_backward);
  for (const std::string question : {"_use_cudnn_ctc_loss", "_use_miopen_ctc_loss"}) {
    library.impl(question.c_str(), has_no_ctc_loss);
    library.impl((question + ".Tensor").c_str(), has_no_ctc_loss_of_tensors);
  }
  for (auto& [name, kernel] : attention_kernels()) {
    // Older versions of torch lack one.
    const auto op = c10::Dispatcher::singleton().findSchema({"aten::" + name, ""});
    if (op.has_value()) {
      library.impl(name.c_str(), std::move(kernel));
      own.insert(name);
    }
  }
  library.impl("resize_", at::native::resize_);
  library.impl("set_.source_Storage", static_cast<at::Tensor& (*)(at::Tensor&, at::Storage)>(at::native::set_));
  library.impl("set_.source_Storage_storage_offset", at::native::set_storage_cpu_);
  library.impl("set_.source_Tensor", at::native::set_tensor_);
  // These are made of operators that have derivatives, and so take the place of torch's formulas, too.
  auto& derivatives =
      libraries().emplace_back(torch::Library::IMPL, "aten", DispatchKey::AutogradCUDA, __FILE__, __LINE__);
  for (auto* both : {&library, &derivatives}) {
    both->impl("scaled_dot_product_attention", attention);
    both->impl("_thnn_fused_lstm_cell", lstm_cell);
    both->impl("_thnn_fused_gru_cell", gru_cell);
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR > 8
    // 2.8 has an operator of this name for another device.
    both->impl("_fused_rms_norm", rms_norm);
#endif
  }
  register_others(library, own);
}

}  // namespace

// ------------------------------------------------------------------------------------------- what Python calls

extern "C" {

// Makes `count` emulated devices torch's devices of CUDA. Returns null, or what went wrong.
const char* hiplaunch_cuda_install(int count) {
  static std::string problem;
  try {
    TORCH_CHECK(count > 0 && count <= MAX_DEVICES, "there can be 1 to ", MAX_DEVICES, " devices");
    const bool is_first = device_count == 0;
    device_count = static_cast<DeviceIndex>(count);
    if (is_first) {
      replace_hooks();
      c10::SetAllocator(CUDA, &allocator, UINT8_MAX);
      c10::impl::DeviceGuardImplRegistrar(CUDA, new Guard);
      for (DeviceIndex device = 0; device < MAX_DEVICES; ++device) {
        default_generators[device] = new_generator(device);
      }
      register_operators();
    }
    return nullptr;
  } catch (const std::exception& error) {
    device_count = 0;
    problem = error.what();
    return problem.c_str();
  }
}

int hiplaunch_cuda_device() {
  return current_device;
}

void hiplaunch_cuda_set_device(int device) {
  current_device = static_cast<DeviceIndex>(device);
}

// The next generator that Python makes for a device of CUDA is the device's default generator.
void hiplaunch_cuda_next_generator_is_default() {
  next_is_default = true;
}

// Writes what is allocated of a device's memory, the most that was, all that ever was, what was freed (bytes), and blocks.
void hiplaunch_cuda_memory(int device, int64_t counts[5]) {
  const auto& of = memory[device];
  counts[0] = of.allocated;
  counts[1] = of.peak;
  counts[2] = of.total;
  counts[3] = of.freed;
  counts[4] = of.blocks;
}

void hiplaunch_cuda_reset_peak(int device) {
  memory[device].peak = memory[device].allocated.load();
}
}
