// Compiles programs, registers their kernels, and launches them, through hiplaunch's C API alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "hiplaunch.h"
#include "program.hpp"

namespace jit {

// The error of a library call, with the library's message.
class Failure : public std::runtime_error {
 public:
  explicit Failure(hiplaunch_status status) : std::runtime_error(hiplaunch_last_error_message()), status(status) {}
  hiplaunch_status status;
};

// Throws the error of a call, if it failed.
inline void checked(hiplaunch_status status) {
  if (status != HIPLAUNCH_STATUS_OK) throw Failure(status);
}

// A handle that closes its object.
template <typename T, auto Close>
struct Closer {
  void operator()(T *handle) const { Close(handle); }
};
template <typename T, auto Close>
using Handle = std::unique_ptr<T, Closer<T, Close>>;

using Launcher = Handle<hiplaunch_launcher, hiplaunch_close>;
using Stream = Handle<hiplaunch_stream, hiplaunch_stream_close>;
using Buffer = Handle<hiplaunch_buffer, hiplaunch_buffer_close>;
using Kernel = Handle<hiplaunch_kernel, hiplaunch_unregister>;
using Compiled = Handle<hiplaunch_compiled, hiplaunch_compiled_close>;

using Duration = std::chrono::duration<double>;

// The kernels of a program, one for each stage.
using Kernels = std::vector<Kernel>;

struct Made {
  const Kernels *kernels;
  Duration took;
  const char *how;
};

struct Outcome {
  std::vector<double> result;
  // The time of all launches, until the last has finished.
  Duration took;
};

class Runtime {
 public:
  // Opens the first GPU, or the emulator. Compiled kernels are cached in the folder `cache`, or in the user's cache
  // folder if it is empty.
  explicit Runtime(std::string cache);

  // Describes the device and the driver.
  std::string device() const;

  // Returns the kernels of a program, and compiles them if they are not cached. They are valid as long as this object.
  Made kernels(const Program &program);

  // Launches a program's kernels `launches` times, and reads the result.
  Outcome run(const Program &program, const Values &values, const Kernels &kernels, std::uint32_t launches) const;

  // The number of sources that were compiled, and the number of those whose code was in the cache.
  int compiled = 0;
  int found = 0;

 private:
  Buffer buffer(std::size_t elements) const;

  // In this order, so that the objects that are opened from the launcher are closed before it.
  Launcher launcher_;
  Stream stream_;
  std::string cache_;
  hiplaunch_device_properties properties_{};
  // The kernels by source: expressions of one structure share kernels.
  std::map<std::string, Kernels> kernels_;
};

}  // namespace jit
