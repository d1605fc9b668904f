// The values of names: numbers and arrays, from the command line.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace jit {

// A number, or an array of them.
using Value = std::variant<double, std::vector<double>>;

// Values by name.
using Values = std::map<std::string, Value>;

// Returns the position of the `=` in `name=values`; nothing for any other text, which is an expression.
std::optional<std::size_t> definition(std::string_view text);

// Adds `name=values`, whose `=` is at byte `equals`. Throws Problem.
void define(Values &values, std::string_view text, std::size_t equals);

}  // namespace jit
