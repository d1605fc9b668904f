// Writes a program as HIP C++: a kernel for each stage, all with the same parameters.
//
// The parameters are the arrays, the scalars, the partial results of each reduction, the output, and the number of
// elements. A reduction writes kGroups partial results, one for each workgroup; a kernel that reads it folds them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "program.hpp"

namespace jit {

// The number of work-items of a workgroup.
constexpr std::uint32_t kBlock = 256;
// The number of workgroups of a reduction.
constexpr std::uint32_t kGroups = 64;

// Returns the name of a stage's kernel.
inline std::string kernel_name(std::size_t stage) { return "stage" + std::to_string(stage); }

// Returns the source of a program.
std::string source(const Program &program);

// Returns the shortest text that is read as the same number.
std::string shortest(double number);

}  // namespace jit
