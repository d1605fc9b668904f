// A program as HIP C++: a kernel for each stage, all with the same parameters.
//
// Parameters: the arrays, the scalars, the partial results of each reduction, where to write, and the number of elements.
// A reduction leaves kGroups partial results, one for each workgroup; who reads it folds them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "program.hpp"

namespace jit {

// Work-items of a workgroup.
constexpr std::uint32_t kBlock = 256;
// Workgroups of a reduction.
constexpr std::uint32_t kGroups = 64;

// A kernel's name.
inline std::string kernel_name(std::size_t stage) { return "stage" + std::to_string(stage); }

// The whole source.
std::string source(const Program &program);

// A number as the shortest text that is read as the same number.
std::string shortest(double number);

}  // namespace jit
