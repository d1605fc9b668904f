// Computes programs on the host, to check the device's results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "program.hpp"

namespace jit {

// Describes the first element that differs from the host's; nothing if none differs.
std::optional<std::string> difference(const Program &program, const Values &values,
                                      const std::vector<double> &device);

}  // namespace jit
