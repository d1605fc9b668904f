// What the device "cuda" of torch is made of: memory, streams, events, generators, hooks, and tensors of the CPU and of the device
// with the same memory.

#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::DispatchKey;
using c10::Stream;
using torch::jit::Stack;

constexpr auto CUDA = c10::DeviceType::CUDA;
constexpr int MAX_DEVICES = 64;

DeviceIndex device_count = 0;
thread_local DeviceIndex current_device = 0;

// ---------------------------------------------------------------------------------------------------------- memory

// What torch.cuda.memory_stats() says of one device. Sizes are in bytes.
struct Memory {
  std::atomic<int64_t> allocated{0}, peak{0}, total{0}, freed{0}, blocks{0};
};
std::array<Memory, MAX_DEVICES> memory;

// A block of the host's memory that counts as memory of a device.
struct Block {
  c10::DataPtr host;
  int64_t bytes;
  DeviceIndex device;
};

void free_block(void* context) {
  auto* block = static_cast<Block*>(context);
  auto& counts = memory[block->device];
  counts.allocated -= block->bytes;
  counts.freed += block->bytes;
  counts.blocks -= 1;
  delete block;
}

struct Allocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    auto* block = new Block{c10::GetCPUAllocator()->allocate(bytes), static_cast<int64_t>(bytes), current_device};
    auto& counts = memory[current_device];
    counts.total += block->bytes;
    counts.blocks += 1;
    const int64_t allocated = counts.allocated += block->bytes;
    int64_t peak = counts.peak;
    while (peak < allocated && !counts.peak.compare_exchange_weak(peak, allocated)) {
    }
    return {block->host.get(), block, free_block, Device(CUDA, current_device)};
  }

  c10::DeleterFnPtr raw_deleter() const override {
    return nullptr;
  }

  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};
Allocator allocator;

// Pinned memory is the CPU's, whose addresses are noted.
std::mutex pinned_lock;
std::unordered_set<const void*> pinned;

void free_pinned(void* context) {
  auto* host = static_cast<c10::DataPtr*>(context);
  {
    const std::lock_guard<std::mutex> guard(pinned_lock);
    pinned.erase(host->get());
  }
  delete host;
}

struct PinnedAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    auto* host = new c10::DataPtr(c10::GetCPUAllocator()->allocate(bytes));
    if (host->get() != nullptr) {
      const std::lock_guard<std::mutex> guard(pinned_lock);
      pinned.insert(host->get());
    }
    return {host->get(), host, free_pinned, Device(c10::DeviceType::CPU)};
  }

  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};
PinnedAllocator pinned_allocator;

// -------------------------------------------------------------------------------------- devices, streams and events

// A launch of the emulator is complete when it returns, and so is each operator. So streams have nothing to order, and an
// event is a time of the host.
struct Event {
  std::chrono::steady_clock::time_point time;
};

thread_local std::array<c10::StreamId, MAX_DEVICES> current_streams{};
std::atomic<c10::StreamId> last_stream{0};

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override {
    return CUDA;
  }
  Device exchangeDevice(Device device) const override {
    const Device previous = getDevice();
    setDevice(device);
    return previous;
  }
  Device getDevice() const override {
    return Device(CUDA, current_device);
  }
  void setDevice(Device device) const override {
    TORCH_CHECK(device.index() < device_count, "hiplaunch: there is no ", device, "; the emulator has ",
                static_cast<int>(device_count), " devices");
    uncheckedSetDevice(device);
  }
  void uncheckedSetDevice(Device device) const noexcept override {
    if (device.has_index()) {
      current_device = device.index();
    }
  }
  Stream getStream(Device device) const override {
    return Stream(Stream::UNSAFE, device, current_streams[device.index()]);
  }
  Stream getDefaultStream(Device device) const override {
    return Stream(Stream::DEFAULT, device);
  }
  Stream getStreamFromGlobalPool(Device device, bool) const override {
    return getNewStream(device);
  }
  Stream getNewStream(Device device, int = 0) const override {
    return Stream(Stream::UNSAFE, device, ++last_stream);
  }
  Stream exchangeStream(Stream stream) const override {
    const Stream previous = getStream(stream.device());
    current_streams[stream.device_index()] = stream.id();
    return previous;
  }
  void destroyEvent(void* event, const DeviceIndex) const noexcept override {
    delete static_cast<Event*>(event);
  }
  void record(void** event, const Stream&, const DeviceIndex, const c10::EventFlag) const override {
    if (*event == nullptr) {
      *event = new Event;
    }
    static_cast<Event*>(*event)->time = std::chrono::steady_clock::now();
  }
  void block(void*, const Stream&) const override {}
  bool queryEvent(void*) const override {
    return true;
  }
  DeviceIndex deviceCount() const noexcept override {
    return device_count;
  }
  bool queryStream(const Stream&) const override {
    return true;
  }
  void synchronizeStream(const Stream&) const override {}
  void synchronizeEvent(void*) const override {}
  void synchronizeDevice(const DeviceIndex) const override {}
  double elapsedTime(void* begin, void* end, const DeviceIndex) const override {
    TORCH_CHECK(begin != nullptr && end != nullptr, "both events must be recorded first");
    const auto time = static_cast<Event*>(end)->time - static_cast<Event*>(begin)->time;
    return std::chrono::duration<double, std::milli>(time).count();
  }
};

// ------------------------------------------------------------------------------------------------------- generators

// A generator of a device of CUDA. Its state is CUDA's, a seed and an offset, which libraries read and advance. The numbers are of
// a generator of the CPU, which gets a seed of both for each operator: at the offset 0, the seed itself.
struct GeneratorImpl final : c10::GeneratorImpl {
  static constexpr size_t SEED_BYTES = sizeof(uint64_t), STATE_BYTES = 2 * sizeof(uint64_t);

  at::Generator cpu = at::detail::createCPUGenerator();
  uint64_t current = c10::default_rng_seed_val, offset = 0;

  explicit GeneratorImpl(DeviceIndex device)
      : c10::GeneratorImpl(Device(CUDA, device), c10::DispatchKeySet(DispatchKey::CUDA)) {}

  // The CPU's generator, for one operator.
  at::Generator next() {
    const std::lock_guard<std::mutex> guard(mutex_);
    uint64_t mixed = current;
    if (offset != 0) {
      // SplitMix64. The CPU's generator takes the lower half.
      mixed += offset * 0x9e3779b97f4a7c15;
      mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
      mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
      mixed ^= mixed >> 31;
    }
    offset += 4;
    cpu.set_current_seed(mixed);
    return cpu;
  }

  void set_current_seed(uint64_t seed) override {
    current = seed;
    offset = 0;
  }
  void set_offset(uint64_t to) override {
    offset = to;
  }
  uint64_t get_offset() const override {
    return offset;
  }
  uint64_t current_seed() const override {
    return current;
  }
  uint64_t seed() override {
    set_current_seed(c10::detail::getNonDeterministicRandom(true));
    return current;
  }
  void set_state(const c10::TensorImpl& state) override {
    at::detail::check_rng_state(state);
    const auto bytes = static_cast<size_t>(state.numel());
    TORCH_CHECK(bytes == STATE_BYTES || bytes == SEED_BYTES, "RNG state is wrong size");
    const auto* from = static_cast<const char*>(state.data());
    set_current_seed(0);
    std::memcpy(&current, from, SEED_BYTES);
    std::memcpy(&offset, from + SEED_BYTES, bytes - SEED_BYTES);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    auto state = at::detail::empty_cpu({STATE_BYTES}, at::kByte, std::nullopt, std::nullopt, std::nullopt, std::nullopt);
    auto* to = state.mutable_data_ptr<uint8_t>();
    std::memcpy(to, &current, SEED_BYTES);
    std::memcpy(to + SEED_BYTES, &offset, sizeof(offset));
    return state.getIntrusivePtr();
  }
  c10::GeneratorImpl* clone_impl() const override {
    auto* clone = new GeneratorImpl(device_.index());
    clone->current = current;
    clone->offset = offset;
    return clone;
  }
};

at::Generator new_generator(DeviceIndex device) {
  return at::make_generator<GeneratorImpl>(device);
}

std::array<at::Generator, MAX_DEVICES> default_generators;
// Whether the next generator that Python makes is a device's default generator. torch has no other way to give Python one.
thread_local bool next_is_default = false;

// The CPU's generator in place of one of CUDA; the default one of the device in place of none.
at::Generator cpu_generator(const std::optional<at::Generator>& generator, Device device) {
  const bool is_other = generator.has_value() && generator->defined() && generator->device().type() != CUDA;
  TORCH_CHECK(!is_other, "Expected a 'cuda' device type for generator but found '", generator->device().type(), "'");
  const bool is_one = generator.has_value() && generator->defined();
  const auto& cuda = is_one ? *generator : default_generators[device.index()];
  return static_cast<GeneratorImpl*>(cuda.unsafeGetGeneratorImpl())->next();
}

// ------------------------------------------------------------------------------------------------------------ hooks

struct Hooks final : at::CUDAHooksInterface {
  explicit Hooks(at::CUDAHooksArgs) {}

  void init() const override {}
  bool isBuilt() const override {
    return true;
  }
  bool isAvailable() const override {
    return device_count > 0;
  }
  bool hasCUDA() const override {
    return device_count > 0;
  }
  bool hasPrimaryContext(DeviceIndex) const override {
    return true;
  }
  DeviceIndex deviceCount() const override {
    return device_count;
  }
  int getNumGPUs() const override {
    return device_count;
  }
  void setCurrentDevice(DeviceIndex device) const override {
    Guard().setDevice(Device(CUDA, device));
  }
  DeviceIndex current_device() const override {
    return ::current_device;
  }
  DeviceIndex getCurrentDevice() const override {
    return ::current_device;
  }
  DeviceIndex exchangeDevice(DeviceIndex device) const override {
    const DeviceIndex previous = ::current_device;
    if (device >= 0) {
      setCurrentDevice(device);
    }
    return previous;
  }
  DeviceIndex maybeExchangeDevice(DeviceIndex device) const override {
    return exchangeDevice(device);
  }
  void deviceSynchronize(DeviceIndex) const override {}
  const at::Generator& getDefaultGenerator(DeviceIndex device) const override {
    return default_generators[device < 0 ? ::current_device : device];
  }
  at::Generator getNewGenerator(DeviceIndex device) const override {
    const DeviceIndex index = device < 0 ? ::current_device : device;
    return std::exchange(next_is_default, false) ? default_generators[index] : new_generator(index);
  }
  Device getDeviceFromPtr(void*) const override {
    return Device(CUDA, ::current_device);
  }
  bool isPinnedPtr(const void* address) const override {
    const std::lock_guard<std::mutex> guard(pinned_lock);
    return pinned.count(address) != 0;
  }
  c10::Allocator* getPinnedMemoryAllocator() const override {
    return &pinned_allocator;
  }
  c10::Allocator* getCUDADeviceAllocator() const override {
    return &allocator;
  }
  std::string showConfig() const override {
    return "hiplaunch";
  }
};

// Replaces torch's hooks, in this process. torch may have made its object of them when it was imported, and keeps references to
// it. Neither its class nor this one has members, so that an object is a pointer to its class's table of functions (Itanium C++
// ABI, 2.4 and 2.5), which is what is replaced.
void replace_hooks() {
  static_assert(sizeof(Hooks) == sizeof(void*) && sizeof(at::CUDAHooksInterface) == sizeof(void*));
  static const Hooks hooks{at::CUDAHooksArgs{}};
  auto* theirs = const_cast<at::CUDAHooksInterface*>(&at::detail::getCUDAHooks());
  std::memcpy(static_cast<void*>(theirs), static_cast<const void*>(&hooks), sizeof(void*));
}

// ----------------------------------------------------------------------------------------- tensors and their memory

void release_storage(void* context) {
  c10::raw::intrusive_ptr::decref(static_cast<c10::StorageImpl*>(context));
}

// A storage of `device` with the memory of `storage`, which it keeps.
c10::Storage alias_of(const c10::Storage& storage, Device device, c10::Allocator* of) {
  auto* kept = c10::Storage(storage).unsafeReleaseStorageImpl();
  c10::DataPtr data(kept->mutable_data(), kept, release_storage, device);
  return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), kept->nbytes(), std::move(data), of,
                                               /*resizable=*/true);
}

// A tensor with the place of `like` in `storage`.
at::Tensor tensor_in(c10::Storage storage, const at::Tensor& like, DispatchKey key) {
  auto result = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(key), like.dtype());
  auto* impl = result.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  if (like.unsafeGetTensorImpl()->is_wrapped_number()) {
    impl->set_wrapped_number(true);
  }
  if (like.is_conj()) {
    impl->_set_conj(true);
  }
  if (like.is_neg()) {
    impl->_set_neg(true);
  }
  return result;
}

bool is_plain(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided && tensor.has_storage();
}

bool is_half(const at::Tensor& tensor) {
  return tensor.defined() && (tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16);
}

// The CPU's tensor with the same memory.
at::Tensor cpu_alias(const at::Tensor& tensor) {
  if (!is_plain(tensor) || tensor.device().type() != CUDA) {
    return tensor;
  }
  auto storage = alias_of(tensor.storage(), Device(c10::DeviceType::CPU), c10::GetCPUAllocator());
  return tensor_in(std::move(storage), tensor, DispatchKey::CPU);
}

at::Tensor cpu_in_float(const at::Tensor& tensor) {
  return is_half(tensor) ? cpu_alias(tensor).to(at::kFloat) : cpu_alias(tensor);
}

at::Tensor cpu_in_float(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() ? cpu_in_float(*tensor) : at::Tensor();
}

// The tensor of a device of CUDA with the memory of one of the CPU.
at::Tensor cuda_alias(const at::Tensor& tensor, Device device) {
  return tensor_in(alias_of(tensor.storage(), device, &allocator), tensor, DispatchKey::CUDA);
}

// Returns the device of the tensors. Fails if one is on another device than the others, as kernels of CUDA do. A number may be on
// the CPU.
std::optional<Device> check_devices(const c10::OperatorHandle& op, const Stack& stack, size_t first) {
  // These take indices and lengths of the CPU.
  static const std::set<std::string> mixed = {"aten::index", "aten::index_put_", "aten::_index_put_impl_",
                                              "aten::_pack_padded_sequence", "aten::_ctc_loss"};
  if (mixed.count(op.operator_name().name) != 0) {
    return std::nullopt;
  }
  std::optional<Device> device;
  const auto check = [&](const at::Tensor& tensor) {
    if (!tensor.defined() || (tensor.device().is_cpu() && tensor.dim() == 0)) {
      return;
    }
    TORCH_CHECK(device.value_or(tensor.device()) == tensor.device(),
                "Expected all tensors to be on the same device, but found at least two devices, ", *device, " and ",
                tensor.device(), "! (in ", op.operator_name(), ")");
    device = tensor.device();
  };
  for (size_t i = first; i < stack.size(); ++i) {
    if (stack[i].isTensor()) {
      check(stack[i].toTensor());
    } else if (stack[i].isTensorList()) {
      for (const at::Tensor& tensor : stack[i].toTensorVector()) {
        check(tensor);
      }
    }
  }
  return device;
}

}  // namespace
