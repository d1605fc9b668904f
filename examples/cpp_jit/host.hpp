// The same programs on the host, to check what the device gave.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "program.hpp"

namespace jit {

// The first element that differs from the host's, with both; nothing where none does.
std::optional<std::string> difference(const Program &program, const Values &values,
                                      const std::vector<double> &device);

}  // namespace jit
