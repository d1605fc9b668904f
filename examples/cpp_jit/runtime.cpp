#include "runtime.hpp"

#include <utility>

#include "source.hpp"

namespace jit {
namespace {

// Returns the handle that a function of the library writes.
template <typename Owned, typename Call>
Owned opened(Call call) {
  typename Owned::pointer handle = nullptr;
  checked(call(&handle));
  return Owned(handle);
}

std::uint32_t number(std::size_t count) { return static_cast<std::uint32_t>(count); }

}  // namespace

Runtime::Runtime(std::string cache)
    : launcher_(opened<Launcher>([](auto to) { return hiplaunch_open(nullptr, to); })),
      stream_(opened<Stream>([&](auto to) { return hiplaunch_stream_open(launcher_.get(), 0, to); })),
      cache_(std::move(cache)) {
  properties_.struct_size = sizeof properties_;
  checked(hiplaunch_get_device_properties(launcher_.get(), 0, &properties_));
}

std::string Runtime::device() const {
  using Text = Handle<hiplaunch_text, hiplaunch_text_close>;
  const Text text = opened<Text>([&](auto to) { return hiplaunch_describe_driver(launcher_.get(), to); });
  const char *characters = nullptr;
  checked(hiplaunch_text_data(text.get(), &characters, nullptr));
  std::string driver = characters;
  return std::string(properties_.target) + " on " + driver.substr(0, driver.find('\n'));
}

Made Runtime::kernels(const Program &program) {
  const auto begin = std::chrono::steady_clock::now();
  const auto took = [&] { return Duration(std::chrono::steady_clock::now() - begin); };
  const std::string text = source(program);
  if (const auto known = kernels_.find(text); known != kernels_.end()) {
    return {&known->second, took(), "(the kernels are there)"};
  }
  // Without contraction, every operation rounds as on the host.
  const char *options[] = {"-ffp-contract=off"};
  hiplaunch_compile_options how{};
  how.struct_size = sizeof how;
  how.name = "expression.hip";
  how.options = options;
  how.option_count = 1;
  how.cache_folder = cache_.empty() ? nullptr : cache_.c_str();
  const Compiled code = opened<Compiled>(
      [&](auto to) { return hiplaunch_compile(properties_.target, text.c_str(), &how, to); });
  const void *data = nullptr;
  std::size_t size = 0;
  bool from_cache = false;
  checked(hiplaunch_compiled_code(code.get(), &data, &size));
  checked(hiplaunch_compiled_from_cache(code.get(), &from_cache));
  Kernels kernels;
  for (std::size_t stage = 0; stage < program.stages.size(); ++stage) {
    kernels.push_back(opened<Kernel>([&](auto to) {
      return hiplaunch_register(launcher_.get(), 0, data, size, kernel_name(stage).c_str(), nullptr, to);
    }));
  }
  ++(from_cache ? found : compiled);
  const Kernels &kept = kernels_.emplace(text, std::move(kernels)).first->second;
  return {&kept, took(), from_cache ? "(from the cache)" : "(compiled)"};
}

Buffer Runtime::buffer(std::size_t elements) const {
  return opened<Buffer>([&](auto to) {
    return hiplaunch_buffer_open(launcher_.get(), 0, stream_.get(), elements * sizeof(double), to);
  });
}

Outcome Runtime::run(const Program &program, const Values &values, const Kernels &kernels,
                     std::uint32_t launches) const {
  std::vector<Buffer> buffers;
  // All stages have the same arguments, except for the last two: the output, and the number of elements.
  std::vector<hiplaunch_arg> shared;
  for (const std::string &name : program.arrays) {
    const auto &elements = std::get<std::vector<double>>(values.at(name));
    buffers.push_back(buffer(elements.size()));
    checked(hiplaunch_buffer_upload(buffers.back().get(), stream_.get(), 0, elements.data(),
                                    elements.size() * sizeof(double)));
    shared.push_back(hiplaunch_arg_buffer(buffers.back().get()));
  }
  for (const double scalar : program.scalars) shared.push_back(hiplaunch_arg_f64(scalar));
  const std::size_t partials = buffers.size();
  for (std::size_t i = 0; i < program.reductions(); ++i) {
    buffers.push_back(buffer(kGroups));
    shared.push_back(hiplaunch_arg_buffer(buffers.back().get()));
  }
  buffers.push_back(buffer(program.result().elements()));

  struct Launch {
    hiplaunch_dims dims;
    std::vector<hiplaunch_arg> args;
  };
  std::vector<Launch> stages;
  for (std::size_t i = 0; i < program.stages.size(); ++i) {
    const Stage &stage = program.stages[i];
    const std::uint32_t n = number(stage.elements());
    const std::uint32_t groups = stage.fold ? kGroups : (n + kBlock - 1) / kBlock;
    Launch launch{hiplaunch_dims_linear(groups, kBlock), shared};
    // The result's buffer comes after those of the reductions.
    launch.args.push_back(hiplaunch_arg_buffer(buffers[partials + i].get()));
    launch.args.push_back(hiplaunch_arg_u32(n));
    stages.push_back(std::move(launch));
  }
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint32_t k = 0; k < launches; ++k) {
    for (std::size_t i = 0; i < stages.size(); ++i) {
      checked(hiplaunch_launch(kernels[i].get(), stream_.get(), &stages[i].dims, stages[i].args.data(),
                               stages[i].args.size(), nullptr));
    }
  }
  checked(hiplaunch_stream_synchronize(stream_.get()));
  Outcome outcome{std::vector<double>(program.result().elements()),
                  Duration(std::chrono::steady_clock::now() - begin)};
  checked(hiplaunch_buffer_download(buffers.back().get(), stream_.get(), 0, outcome.result.data(),
                                    outcome.result.size() * sizeof(double)));
  return outcome;
}

}  // namespace jit
