// Errors in the text of an expression or value, with their position.
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace jit {

// A message with the text that it is about, and the position `at` in bytes from the beginning of the text.
class Problem : public std::runtime_error {
 public:
  Problem(std::string_view text, std::size_t at, const std::string &message)
      : std::runtime_error(shown(text, at, message)) {}

 private:
  static std::string shown(std::string_view text, std::size_t at, const std::string &message) {
    const std::string_view before_it = text.substr(0, std::min(at, text.size()));
    // Continuation bytes of UTF-8 take no column.
    const auto before = std::count_if(before_it.begin(), before_it.end(),
                                      [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
    return "column " + std::to_string(before + 1) + ": " + message + "\n  " + std::string(text) + "\n  " +
           std::string(static_cast<std::size_t>(before), ' ') + "^";
  }
};

}  // namespace jit
