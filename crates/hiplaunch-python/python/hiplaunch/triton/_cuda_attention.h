// The fused kernels of attention that only CUDA has, and their derivatives, by products of floats on the CPU.
//
// The operators of flash attention and of memory-efficient attention differ in their arguments, and in what they refuse. What they
// compute is in `Attention`, one sequence after another.

#pragma once

#include "_cuda_runtime.h"

#include <ATen/TensorOperators.h>
#include <torch/library.h>

#include <cmath>
#include <limits>
#include <vector>

namespace {

constexpr auto INFINITE = std::numeric_limits<double>::infinity();

// The arguments of an operator by their names, and its results. Versions of torch differ in what arguments there are.
class Call {
 public:
  Call(const c10::OperatorHandle& op, Stack* stack)
      : schema(op.schema()), stack(stack), first(stack->size() - schema.arguments().size()) {
    check_devices(op, *stack, first);
  }

  c10::IValue value(const std::string& name) const {
    const auto index = schema.argumentIndexWithName(name);
    return index.has_value() ? (*stack)[first + static_cast<size_t>(*index)] : c10::IValue();
  }
  at::Tensor tensor(const std::string& name) const {
    const auto given = value(name);
    return given.isTensor() ? given.toTensor() : at::Tensor();
  }
  // The CPU's tensor with the same memory.
  at::Tensor alias(const std::string& name) const {
    const auto given = tensor(name);
    return given.defined() ? cpu_alias(given) : given;
  }
  std::vector<int64_t> numbers(const std::string& name) const {
    const auto given = alias(name);
    if (!given.defined()) {
      return {};
    }
    TORCH_CHECK(given.scalar_type() == at::kInt && given.dim() == 1, name, " must have dtype int32 and one dimension");
    const auto all = given.to(at::kLong).contiguous();
    return {all.const_data_ptr<int64_t>(), all.const_data_ptr<int64_t>() + all.numel()};
  }
  double number(const std::string& name, double otherwise) const {
    const auto given = value(name);
    return given.isNone() ? otherwise : given.toDouble();
  }
  int64_t integer(const std::string& name, int64_t otherwise) const {
    const auto given = value(name);
    return given.isNone() ? otherwise : given.toInt();
  }
  bool flag(const std::string& name) const {
    const auto given = value(name);
    return !given.isNone() && given.toBool();
  }
  template <typename... Results>
  void give(Results... results) {
    stack->resize(first);
    (stack->emplace_back(std::move(results)), ...);
  }

 private:
  const c10::FunctionSchema& schema;
  Stack* stack;
  size_t first;
};

struct Gradients {
  at::Tensor query, key, value, bias;
};

// softmax(scale * query @ key^T + bias) @ value, of a batch of sequences with several heads. Tensors are of the CPU, with the
// memory of the device's: [batch, length, heads, size], or [all lengths, heads, size] where `starts` say where sequences begin.
struct Attention {
  at::Tensor query, key, value, bias, slopes;
  std::vector<int64_t> query_starts, key_starts, key_lengths;
  // The pages of `key` and `value` that have the keys of a sequence: [batch, pages].
  at::Tensor pages;
  double scale, dropout;
  // How many keys a query sees before and behind its own place; -1: all.
  int64_t left = -1, right = -1;
  // The last query is at the last key's place, or the first at the first one's.
  bool ends_together = true;
  Device device;
  // What the numbers of dropout are made of.
  int64_t seed = 0, offset = 0;

  explicit Attention(const Call& call, bool heads_first = false)
      : query(call.alias("query")),
        key(call.alias("key")),
        value(call.alias("value")),
        dropout(call.number("dropout_p", 0)),
        device(call.tensor("query").device()) {
    for (auto* tensor : {&query, &key, &value}) {
      TORCH_CHECK(tensor->dim() >= 3, "query, key and value must have a dimension of heads, and a batch or starts");
      *tensor = heads_first ? tensor->transpose(1, 2) : *tensor;
    }
    TORCH_CHECK(dropout >= 0 && dropout <= 1, "dropout probability has to be between 0 and 1, but got ", dropout);
    scale = call.number("scale", 1 / std::sqrt(static_cast<double>(query.size(-1))));
  }

  int64_t batch() const {
    return query_starts.empty() ? query.size(0) : static_cast<int64_t>(query_starts.size()) - 1;
  }

  // Takes numbers of the device's generator, which the derivatives get again by `numbers`.
  void take_numbers() {
    if (dropout > 0) {
      auto* of_device = static_cast<GeneratorImpl*>(default_generators[device.index()].unsafeGetGeneratorImpl());
      seed = static_cast<int64_t>(of_device->current_seed());
      offset = static_cast<int64_t>(of_device->get_offset());
      of_device->next();
    }
  }
  at::Generator numbers() const {
    auto same = new_generator(device.index());
    auto* impl = static_cast<GeneratorImpl*>(same.unsafeGetGeneratorImpl());
    impl->set_current_seed(static_cast<uint64_t>(seed));
    impl->set_offset(static_cast<uint64_t>(offset));
    return impl->next();
  }
  at::Tensor on_device(int64_t number) const {
    return at::scalar_tensor(number, at::TensorOptions().dtype(at::kLong).device(device));
  }

  // Sequence `i` of a tensor like `query`: [length, heads, size].
  at::Tensor queries(const at::Tensor& all, size_t i) const {
    return query_starts.empty() ? all[i] : all.slice(0, query_starts[i], query_starts[i + 1]);
  }
  // The same of a tensor like `key`.
  at::Tensor keys(const at::Tensor& all, size_t i) const {
    at::Tensor of_sequence;
    if (pages.defined()) {
      of_sequence = all.index_select(0, pages[i]).flatten(0, 1);
    } else {
      of_sequence = key_starts.empty() ? all[i] : all.slice(0, key_starts[i], key_starts[i + 1]);
    }
    return key_lengths.empty() ? of_sequence : of_sequence.slice(0, 0, key_lengths[i]);
  }
  // The same of the logarithms of sums, which are [batch, heads, length] or [heads, all lengths]: [heads, length].
  at::Tensor sums(const at::Tensor& all, size_t i, int64_t length) const {
    return all.dim() == 2 ? all.slice(1, query_starts[i], query_starts[i + 1]) : all[i].slice(1, 0, length);
  }

  // [heads, length, size] in float, with the keys of a group of heads for each of them.
  at::Tensor heads(const at::Tensor& sequence) const {
    const auto in_float = sequence.transpose(0, 1).to(at::kFloat);
    const int64_t group = query.size(-2) / sequence.size(1);
    return group == 1 ? in_float : in_float.repeat_interleave(group, 0);
  }
  // The reverse, for derivatives, which are added in a group.
  at::Tensor to_sequence(const at::Tensor& of_heads, int64_t count) const {
    return of_heads.unflatten(0, {count, of_heads.size(0) / count}).sum(1).transpose(0, 1);
  }

  // What softmax is of: [heads, queries, keys].
  at::Tensor scores(const at::Tensor& q, const at::Tensor& k, size_t i) const {
    auto result = at::matmul(q, k.transpose(1, 2)).mul_(scale);
    const int64_t shift = ends_together ? k.size(1) - q.size(1) : 0;
    const auto columns = at::arange(k.size(1));
    const auto ahead = columns - at::arange(q.size(1)).add_(shift).unsqueeze(1);
    if (bias.defined()) {
      result.add_(bias[i]);
    }
    if (slopes.defined()) {
      // Where a query sees all keys before its own, CUDA's kernel leaves out what a row has in common.
      const bool is_causal = left < 0 && right == 0;
      const auto distance = is_causal ? columns : ahead.abs().neg_();
      result.add_((slopes.dim() == 2 ? slopes[i] : slopes).view({-1, 1, 1}) * distance);
    }
    if (left >= 0) {
      result.masked_fill_(ahead < -left, -INFINITE);
    }
    if (right >= 0) {
      result.masked_fill_(ahead > right, -INFINITE);
    }
    return result;
  }

  // Factors of dropout: 0, or what makes up for the dropped.
  at::Tensor factors(const at::Tensor& like, at::Generator& from) const {
    return at::empty_like(like).bernoulli_(1 - dropout, from).mul_(dropout == 1 ? 0.0 : 1 / (1 - dropout));
  }

  // Writes the results of all sequences. `encoded`, where it is defined, gets softmax's, the dropped ones negative.
  void forward(const at::Tensor& output, const at::Tensor& all_sums, const at::Tensor& encoded) const {
    auto from = numbers();
    for (size_t i = 0; i < static_cast<size_t>(batch()); ++i) {
      const auto q = heads(queries(query, i));
      auto weights = scores(q, heads(keys(key, i)), i);
      auto log_sums = weights.logsumexp(-1);
      // CUDA's kernels say that of a query that sees no key. Its result is 0.
      log_sums.masked_fill_(log_sums == -INFINITE, INFINITE);
      weights.sub_(log_sums.unsqueeze(-1)).exp_();
      if (all_sums.defined()) {
        sums(all_sums, i, q.size(1)).copy_(log_sums);
      }
      if (dropout > 0) {
        const auto factor = factors(weights, from);
        if (encoded.defined()) {
          encoded[i].slice(1, 0, q.size(1)).slice(2, 0, weights.size(2)).copy_(at::where(factor > 0, weights, -weights));
        }
        weights.mul_(factor);
      }
      queries(output, i).copy_(at::matmul(weights, heads(keys(value, i))).transpose(0, 1));
    }
  }

  // Writes the derivatives of all sequences, of what `forward` gave.
  void backward(const at::Tensor& grad, const at::Tensor& output, const at::Tensor& all_sums, const Gradients& of) const {
    auto from = numbers();
    for (size_t i = 0; i < static_cast<size_t>(batch()); ++i) {
      const auto q = heads(queries(query, i)), k = heads(keys(key, i)), v = heads(keys(value, i));
      const auto g = heads(queries(grad, i)), o = heads(queries(output, i));
      const auto weights = scores(q, k, i).sub_(sums(all_sums, i, q.size(1)).unsqueeze(-1)).exp_();
      auto of_weights = at::matmul(g, v.transpose(1, 2));
      auto dropped = weights;
      if (dropout > 0) {
        const auto factor = factors(weights, from);
        dropped = weights * factor;
        of_weights.mul_(factor);
      }
      const auto of_scores = of_weights.sub_((g * o).sum(-1, /*keepdim=*/true)).mul_(weights);
      queries(of.query, i).copy_(at::matmul(of_scores, k).mul_(scale).transpose(0, 1));
      const auto of_key = at::matmul(of_scores.transpose(1, 2), q).mul_(scale);
      keys(of.key, i).copy_(to_sequence(of_key, of.key.size(-2)));
      keys(of.value, i).copy_(to_sequence(at::matmul(dropped.transpose(1, 2), g), of.value.size(-2)));
      if (of.bias.defined()) {
        of.bias[i].copy_(of_scores);
      }
    }
  }
};

void check_starts(const std::vector<int64_t>& starts, const char* name, const at::Tensor& of) {
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t least = i == 0 ? 0 : starts[i - 1];
    TORCH_CHECK(least <= starts[i] && starts[i] <= of.size(0), name, " must not fall and must not be over ", of.size(0),
                ", the length of all sequences, but has ", starts[i]);
  }
}

// What both kinds of kernels want of shapes.
void check_shapes(const Attention& of) {
  const auto &q = of.query, &k = of.key, &v = of.value;
  const bool is_varied = !of.query_starts.empty();
  TORCH_CHECK(q.dim() == (is_varied ? 3 : 4), "query must have ", is_varied ? 3 : 4, " dimensions");
  TORCH_CHECK(k.dim() == (of.key_starts.empty() ? 4 : 3) && k.dim() == v.dim(), "key and value must have ",
              of.key_starts.empty() ? 4 : 3, " dimensions");
  TORCH_CHECK(k.scalar_type() == q.scalar_type(), "query and key must have the same dtype");
  TORCH_CHECK(v.scalar_type() == q.scalar_type(), "query and value must have the same dtype");
  TORCH_CHECK(k.size(-1) == q.size(-1), "query and key must have the same head size, but have ", q.size(-1), " and ", k.size(-1));
  TORCH_CHECK(k.sizes().slice(0, k.dim() - 1) == v.sizes().slice(0, v.dim() - 1),
              "key and value must have the same batch, lengths and heads, but are ", k.sizes(), " and ", v.sizes());
  TORCH_CHECK(of.batch() > 0, "batch size must be positive");
  const int64_t of_keys = of.key_starts.empty() ? k.size(0) : static_cast<int64_t>(of.key_starts.size()) - 1;
  TORCH_CHECK(of.pages.defined() ? of.pages.dim() == 2 && of.pages.size(0) == of.batch() : of_keys == of.batch(),
              "query has ", of.batch(), " sequences, and key has others");
  check_starts(of.query_starts, "the starts of query", q);
  check_starts(of.key_starts, "the starts of key", k);
  TORCH_CHECK(of.key_lengths.empty() || static_cast<int64_t>(of.key_lengths.size()) == of.batch(),
              "there must be a length of keys for each sequence");
  for (size_t i = 0; i < of.key_lengths.size(); ++i) {
    const int64_t most = of.pages.defined()       ? of.pages.size(1) * k.size(1)
                         : of.key_starts.empty() ? k.size(1)
                                                 : of.key_starts[i + 1] - of.key_starts[i];
    TORCH_CHECK(0 <= of.key_lengths[i] && of.key_lengths[i] <= most, "sequence ", i, " has ", most, " keys, and ",
                of.key_lengths[i], " are to be used");
  }
}

// --------------------------------------------------------------------------------------------------- flash attention

Attention flash_inputs(const Call& call, bool heads_first) {
  Attention of(call, heads_first);
  const auto &q = of.query, &k = of.key;
  TORCH_CHECK(is_half(q), "FlashAttention only support fp16 and bf16 data type");
  if (!heads_first) {
    of.query_starts = call.numbers("cum_seq_q");
    of.pages = call.alias("block_table");
    of.key_starts = of.pages.defined() ? std::vector<int64_t>() : call.numbers("cum_seq_k");
    of.key_lengths = call.numbers("seqused_k");
    of.slopes = call.alias("alibi_slopes");
    TORCH_CHECK(!of.pages.defined() || of.key_lengths.size() == static_cast<size_t>(of.batch()),
                "block_table needs seqused_k");
  }
  check_shapes(of);
  TORCH_CHECK(q.size(-1) == of.value.size(-1), "query and value must have the same head size");
  TORCH_CHECK(q.size(-1) % 8 == 0, "query, key, value, and out_ must have a head_size that is a multiple of 8");
  TORCH_CHECK(k.size(-2) > 0 && q.size(-2) % k.size(-2) == 0,
              "Number of heads in key/value must divide number of heads in query");
  for (size_t i = 1; i < of.query_starts.size(); ++i) {
    const int64_t longest = call.integer("max_q", 0);
    TORCH_CHECK(of.query_starts[i] - of.query_starts[i - 1] <= longest, "a sequence of query is longer than max_q, ", longest);
  }
  if (of.slopes.defined()) {
    TORCH_CHECK(of.slopes.scalar_type() == at::kFloat, "ALiBi slopes must have dtype fp32");
    const std::vector<int64_t> each = {q.size(-2)}, all = {of.batch(), q.size(-2)};
    TORCH_CHECK(of.slopes.sizes() == each || of.slopes.sizes() == all, "alibi_slopes must have the shape ", each, " or ", all);
  }
  of.left = call.integer("window_size_left", -1);
  of.right = call.flag("is_causal") ? 0 : call.integer("window_size_right", -1);
  return of;
}

struct FlashResults {
  at::Tensor output, sums, encoded;
};

FlashResults run_flash(const Call& call, Attention& of, const at::Tensor& output) {
  const bool is_encoded = call.flag("return_debug_mask");
  TORCH_CHECK(!is_encoded || of.dropout > 0, "return_softmax is only supported when p_dropout > 0.0");
  const auto options = output.options();
  const auto& q = of.query;
  const bool is_varied = !of.query_starts.empty();
  const int64_t heads = q.size(-2);
  const auto sums = is_varied ? at::full({heads, q.size(0)}, INFINITE, options.dtype(at::kFloat))
                              : at::empty({q.size(0), heads, q.size(1)}, options.dtype(at::kFloat));
  auto encoded = at::empty({0}, options);
  if (is_encoded) {
    encoded = at::zeros({of.batch(), heads, is_varied ? call.integer("max_q", 0) : q.size(1),
                         is_varied ? call.integer("max_k", 0) : of.key.size(1)}, options);
  }
  of.take_numbers();
  of.forward(cpu_alias(output), cpu_alias(sums), is_encoded ? cpu_alias(encoded) : at::Tensor());
  return {output, sums, encoded};
}

void flash_forward(const c10::OperatorHandle& op, Stack* stack) {
  Call call(op, stack);
  auto of = flash_inputs(call, false);
  const auto results = run_flash(call, of, at::zeros_like(call.tensor("query")));
  call.give(results.output, results.sums, of.on_device(of.seed), of.on_device(of.offset), results.encoded);
}

void flash_forward_in_place(const c10::OperatorHandle& op, Stack* stack) {
  Call call(op, stack);
  auto of = flash_inputs(call, false);
  const auto output = call.tensor("out");
  TORCH_CHECK(output.sizes() == of.query.sizes() && output.scalar_type() == of.query.scalar_type(),
              "out must have the shape and the dtype of query");
  TORCH_CHECK(of.dropout == 0, "dropout_p must be 0");
  call.give(run_flash(call, of, output).sums);
}

void sdp_flash_forward(const c10::OperatorHandle& op, Stack* stack) {
  Call call(op, stack);
  auto of = flash_inputs(call, true);
  const auto results = run_flash(call, of, at::zeros_like(call.tensor("query").transpose(1, 2)));
  const int64_t lengths[] = {of.query.size(1), of.key.size(1)};
  call.give(results.output.transpose(1, 2), results.sums, at::Tensor(), at::Tensor(), lengths[0], lengths[1],
            of.on_device(of.seed), of.on_device(of.offset), results.encoded);
}

void run_flash_backward(const c10::OperatorHandle& op, Stack* stack, bool heads_first, const char* seed, const char* offset) {
  Call call(op, stack);
  if (!call.tensor("grad_out").defined()) {
    call.give(at::Tensor(), at::Tensor(), at::Tensor());
    return;
  }
  auto of = flash_inputs(call, heads_first);
  if (of.dropout > 0) {
    of.seed = call.alias(seed).item().toLong();
    of.offset = call.alias(offset).item().toLong();
  }
  const auto place = [&](const at::Tensor& tensor) { return heads_first ? tensor.transpose(1, 2) : tensor; };
  const auto of_query = at::zeros_like(call.tensor("query")), of_key = at::zeros_like(call.tensor("key")),
             of_value = at::zeros_like(call.tensor("value"));
  of.backward(place(call.alias("grad_out")), place(call.alias("out")), call.alias("logsumexp"),
              {place(cpu_alias(of_query)), place(cpu_alias(of_key)), place(cpu_alias(of_value)), {}});
  call.give(of_query, of_key, of_value);
}

void flash_backward(const c10::OperatorHandle& op, Stack* stack) {
  run_flash_backward(op, stack, false, "rng_state", "unused");
}

void sdp_flash_backward(const c10::OperatorHandle& op, Stack* stack) {
  run_flash_backward(op, stack, true, "philox_seed", "philox_offset");
}

// ---------------------------------------------------------------------------------------- memory-efficient attention

// A tensor of sequences without its batch, which is one, if there are starts.
at::Tensor without_batch(const at::Tensor& tensor, bool has_starts) {
  return has_starts ? tensor.squeeze(0) : tensor;
}

Attention efficient_inputs(const Call& call, bool heads_first) {
  Attention of(call, heads_first);
  for (const auto* tensor : {&of.query, &of.key, &of.value}) {
    TORCH_CHECK(tensor->dim() == 4, "query, key and value must have 4 dimensions");
  }
  TORCH_CHECK(is_half(of.query) || of.query.scalar_type() == at::kFloat, "memory-efficient attention takes fp32, fp16 and bf16");
  TORCH_CHECK(of.query.size(2) == of.key.size(2), "query and key must have the same number of heads");
  of.query_starts = call.numbers("cu_seqlens_q");
  of.key_starts = call.numbers("cu_seqlens_k");
  const bool has_starts = !of.query_starts.empty();
  TORCH_CHECK(has_starts == !of.key_starts.empty(), "cu_seqlens_q and cu_seqlens_k must be both given, or none of them");
  TORCH_CHECK(!has_starts || of.query.size(0) == 1, "cu_seqlens only supports batch_size=1");
  for (auto* tensor : {&of.query, &of.key, &of.value}) {
    *tensor = without_batch(*tensor, has_starts);
  }
  of.key_lengths = call.numbers("seqlen_k");
  check_shapes(of);
  of.bias = call.alias(heads_first ? "attn_bias" : "bias");
  if (of.bias.defined()) {
    TORCH_CHECK(!has_starts, "a bias and cu_seqlens can't be given together");
    const std::vector<int64_t> sizes = {of.query.size(0), of.query.size(2), of.query.size(1), of.key.size(1)};
    TORCH_CHECK(of.bias.sizes() == sizes, "the bias must have the shape ", sizes, ", but has ", of.bias.sizes());
    TORCH_CHECK(of.bias.scalar_type() == of.query.scalar_type(), "invalid dtype for bias - should match query's dtype");
  }
  const int64_t mask = call.integer("custom_mask_type", call.flag("is_causal") ? 1 : 0), window = call.integer("window_size", 0);
  TORCH_CHECK(0 <= mask && mask <= 2, "invalid value for `custom_mask_type`");
  of.ends_together = mask == 2;
  of.right = mask == 0 ? -1 : 0;
  of.left = window > 0 ? window - 1 : -1;
  return of;
}

// Returns the result, in the layout of `_efficient_attention_forward`, and the logarithms of sums.
std::pair<at::Tensor, at::Tensor> run_efficient(const Call& call, Attention& of) {
  const auto options = call.tensor("query").options();
  const auto& q = of.query;
  const bool has_starts = !of.query_starts.empty(), with_sums = call.flag("compute_log_sumexp");
  auto sizes = q.sizes().vec();
  sizes.back() = of.value.size(-1);
  const auto output = at::zeros(sizes, options);
  const int64_t longest = has_starts ? call.integer("max_seqlen_q", 0) : q.size(1);
  for (size_t i = 1; i < of.query_starts.size(); ++i) {
    TORCH_CHECK(of.query_starts[i] - of.query_starts[i - 1] <= longest, "a sequence of query is longer than max_seqlen_q");
  }
  const auto sums = at::full({of.batch(), q.size(-2), with_sums ? longest : 0}, INFINITE, options.dtype(at::kFloat));
  of.take_numbers();
  of.forward(cpu_alias(output), with_sums ? cpu_alias(sums) : at::Tensor(), {});
  return {has_starts ? output.unsqueeze(0) : output, sums};
}

void efficient_forward(const c10::OperatorHandle& op, Stack* stack) {
  Call call(op, stack);
  auto of = efficient_inputs(call, false);
  const auto [output, sums] = run_efficient(call, of);
  const int64_t longest[] = {call.integer("max_seqlen_q", call.tensor("query").size(1)),
                             call.integer("max_seqlen_k", call.tensor("key").size(1))};
  call.give(output, sums, of.on_device(of.seed), of.on_device(of.offset), longest[0], longest[1]);
}

void sdp_efficient_forward(const c10::OperatorHandle& op, Stack* stack) {
  Call call(op, stack);
  auto of = efficient_inputs(call, true);
  const auto [output, sums] = run_efficient(call, of);
  call.give(output.transpose(1, 2), sums, of.on_device(of.seed), of.on_device(of.offset));
}

// Derivatives of query, key and value, whose memory may be one. With heads first, they have the layout of the others.
Gradients empty_gradients(const Call& call, bool heads_first) {
  const auto query = call.tensor("query"), key = call.tensor("key"), value = call.tensor("value");
  if (!call.flag("shared_storage_dqdkdv")) {
    const auto empty = [&](const at::Tensor& like) {
      return heads_first ? at::zeros(like.transpose(1, 2).sizes(), like.options()).transpose(1, 2) : at::zeros_like(like);
    };
    return {empty(query), empty(key), empty(value), {}};
  }
  TORCH_CHECK(query.sizes() == key.sizes() && key.sizes() == value.sizes(),
              "sizes must match for `shared_storage_dqdkdv`");
  auto sizes = query.sizes().vec();
  sizes.insert(sizes.end() - 2, 3);
  const auto all = at::zeros(sizes, query.options());
  return {all.select(-3, 0), all.select(-3, 1), all.select(-3, 2), {}};
}

void run_efficient_backward(const c10::OperatorHandle& op, Stack* stack, bool heads_first) {
  Call call(op, stack);
  if (!call.tensor("grad_out_").defined()) {
    call.give(at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor());
    return;
  }
  auto of = efficient_inputs(call, heads_first);
  if (of.dropout > 0) {
    of.seed = call.alias("philox_seed").item().toLong();
    of.offset = call.alias("philox_offset").item().toLong();
  }
  auto results = empty_gradients(call, heads_first);
  if (of.bias.defined() && (heads_first ? call.value("grad_input_mask").toBoolList()[3] : call.flag("bias_requires_grad"))) {
    // In rows of a multiple of 16 numbers, as CUDA has it.
    auto sizes = of.bias.sizes().vec();
    const int64_t length = std::exchange(sizes.back(), (sizes.back() + 15) / 16 * 16);
    results.bias = at::zeros(sizes, call.tensor("query").options()).slice(-1, 0, length);
  }
  const auto place = [&](const at::Tensor& tensor) {
    return heads_first ? tensor.transpose(1, 2) : without_batch(tensor, !of.query_starts.empty());
  };
  of.backward(place(call.alias("grad_out_")), place(call.alias("out")), call.alias("logsumexp"),
              {place(cpu_alias(results.query)), place(cpu_alias(results.key)), place(cpu_alias(results.value)),
               results.bias.defined() ? cpu_alias(results.bias) : at::Tensor()});
  call.give(results.query, results.key, results.value, results.bias);
}

void efficient_backward(const c10::OperatorHandle& op, Stack* stack) {
  run_efficient_backward(op, stack, false);
}

void sdp_efficient_backward(const c10::OperatorHandle& op, Stack* stack) {
  run_efficient_backward(op, stack, true);
}

// The kernels by the names of their operators.
std::vector<std::pair<std::string, torch::CppFunction>> attention_kernels() {
  using torch::CppFunction;
  std::vector<std::pair<std::string, CppFunction>> all;
  all.emplace_back("_flash_attention_forward", CppFunction::makeFromBoxedFunction<&flash_forward>());
  all.emplace_back("_flash_attention_forward_no_dropout_inplace", CppFunction::makeFromBoxedFunction<&flash_forward_in_place>());
  all.emplace_back("_flash_attention_backward", CppFunction::makeFromBoxedFunction<&flash_backward>());
  all.emplace_back("_scaled_dot_product_flash_attention", CppFunction::makeFromBoxedFunction<&sdp_flash_forward>());
  all.emplace_back("_scaled_dot_product_flash_attention_backward", CppFunction::makeFromBoxedFunction<&sdp_flash_backward>());
  all.emplace_back("_efficient_attention_forward", CppFunction::makeFromBoxedFunction<&efficient_forward>());
  all.emplace_back("_efficient_attention_backward", CppFunction::makeFromBoxedFunction<&efficient_backward>());
  all.emplace_back("_scaled_dot_product_efficient_attention", CppFunction::makeFromBoxedFunction<&sdp_efficient_forward>());
  all.emplace_back("_scaled_dot_product_efficient_attention_backward",
                   CppFunction::makeFromBoxedFunction<&sdp_efficient_backward>());
  return all;
}

}  // namespace
