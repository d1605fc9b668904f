// Compiles programs, keeps their kernels under handles, and launches them: through hiplaunch's C API alone.
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

// A call of the library failed; the message is its own.
class Failure : public std::runtime_error {
 public:
  explicit Failure(hiplaunch_status status) : std::runtime_error(hiplaunch_last_error_message()), status(status) {}
  hiplaunch_status status;
};

// Throws what a call says, unless it is fine.
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
  // For all launches, until the last had finished.
  Duration took;
};

class Runtime {
 public:
  // On the first GPU, or the emulator. Compiled kernels are kept in the folder `cache`; in the user's where it is empty.
  explicit Runtime(std::string cache);

  // Which device and driver it is.
  std::string device() const;

  // The kernels of a program, compiled if nothing else has them; good as long as this lives.
  Made kernels(const Program &program);

  // Launches a program's kernels `launches` times, and reads the result.
  Outcome run(const Program &program, const Values &values, const Kernels &kernels, std::uint32_t launches) const;

  // Sources compiled so far, and those whose code was found on disk.
  int compiled = 0;
  int found = 0;

 private:
  Buffer buffer(std::size_t elements) const;

  // In this order: what is made from the launcher is closed before it.
  Launcher launcher_;
  Stream stream_;
  std::string cache_;
  hiplaunch_device_properties properties_{};
  // By their source: expressions of one form share kernels.
  std::map<std::string, Kernels> kernels_;
};

}  // namespace jit
