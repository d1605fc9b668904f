// A checked expression as kernels to run in order: one for each reduction, and one for the result.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "values.hpp"

namespace jit {

// How many elements become one.
enum class Fold { Sum, Product, Min, Max };

// An operation on numbers.
enum class Op {
  Add, Sub, Mul, Div, Pow, Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual, Negate,
  Sqrt, Exp, Log, Sin, Cos, Tan, Tanh, Abs, Floor, Min, Max, Where,
};

// One value of a stage; what it refers to comes before it.
struct Step {
  enum class What {
    Number,     // in the text: part of the kernel
    Scalar,     // an argument: another value needs no other kernel
    Array,      // the element of an array
    Reduction,  // what an earlier stage gave
    Apply,      // an operation on earlier steps
  };
  What what;
  double number = 0;
  // Of the scalar, array or reduction.
  std::size_t index = 0;
  Op op = Op::Add;
  std::vector<std::size_t> operands = {};
};

// A kernel: what each work-item computes for its element.
struct Stage {
  std::vector<Step> steps;
  // Elements; none for a single number.
  std::optional<std::size_t> length;
  // How its elements become one; none for the result's stage.
  std::optional<Fold> fold;

  std::size_t elements() const { return length.value_or(1); }
};

// A checked expression.
struct Program {
  // Names of the arrays, in the order of the kernels' arguments.
  std::vector<std::string> arrays;
  // Names and values of the scalars, likewise.
  std::vector<std::string> scalar_names;
  std::vector<double> scalars;
  // In the order in which they run; the result's is the last.
  std::vector<Stage> stages;

  std::size_t reductions() const { return stages.size() - 1; }
  const Stage &result() const { return stages.back(); }
};

// Reads and checks an expression; throws Problem.
Program check(std::string_view text, const Values &values);

}  // namespace jit
