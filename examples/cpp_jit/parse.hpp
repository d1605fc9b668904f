// Parses the expression language: a text becomes a tree, each of whose nodes has its position in the text.
//
//   comparison = sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]
//   sum        = product {("+" | "-") product}
//   product    = sign {("*" | "/") sign}
//   sign       = "-" sign | power
//   power      = atom ["^" sign]
//   atom       = number | name | name "(" comparison {"," comparison} ")" | "(" comparison ")"
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace jit {

// A node of the tree.
struct Expr {
  enum class What { Number, Name, Call };
  What what;
  double number = 0;
  // The name of a value, an operator or a function.
  std::string name;
  std::vector<Expr> args;
  // The position of its first character or of its operator, in bytes from the beginning of the text.
  std::size_t at = 0;
  // The number of levels of the tree below it, with its own.
  std::size_t height = 1;
};

// Parses an expression. Throws Problem.
Expr parse(std::string_view text);

// The number of bytes of the number at the beginning of a text: digits, a point, an exponent.
std::size_t number_length(std::string_view text);

// Returns the number that a whole text is; infinite if it is too large.
std::optional<double> to_number(std::string_view text);

}  // namespace jit
