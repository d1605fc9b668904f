// The expression language: text to tree, each node with its place in the text.
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
  // A name, or that of an operator or a function.
  std::string name;
  std::vector<Expr> args;
  // Where it begins, or where its operator stands: bytes from the text's beginning.
  std::size_t at = 0;
  // Levels below it and its own.
  std::size_t height = 1;
};

// Reads an expression; throws Problem.
Expr parse(std::string_view text);

// Bytes of the number that a text begins with: digits, a point, an exponent.
std::size_t number_length(std::string_view text);

// The number that is all of a text; infinite for one that is too large.
std::optional<double> to_number(std::string_view text);

}  // namespace jit
