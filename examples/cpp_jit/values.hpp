// What names stand for: numbers and arrays, from the command line.
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

// Where the `=` of `name=values` is; nothing for anything else, which is an expression then.
std::optional<std::size_t> definition(std::string_view text);

// Takes `name=values`, whose `=` is at byte `equals`; throws Problem.
void define(Values &values, std::string_view text, std::size_t equals);

}  // namespace jit
