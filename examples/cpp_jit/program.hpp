// Turns an expression into stages that run in order: one kernel for each reduction, and one for the result.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "values.hpp"

namespace jit {

// The reductions of elements to one.
enum class Fold { Sum, Product, Min, Max };

// An operation on numbers.
enum class Op {
  Add, Sub, Mul, Div, Pow, Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual, Negate,
  Sqrt, Exp, Log, Sin, Cos, Tan, Tanh, Abs, Floor, Min, Max, Where,
};

// One step of a stage. The steps that it refers to come before it.
struct Step {
  enum class What {
    Number,     // a number in the text, which is part of the kernel
    Scalar,     // a number that is an argument: another value needs no other kernel
    Array,      // the element of an array
    Reduction,  // the result of an earlier stage
    Apply,      // an operation on earlier steps
  };
  What what;
  double number = 0;
  // The index of the scalar, array or reduction.
  std::size_t index = 0;
  Op op = Op::Add;
  std::vector<std::size_t> operands = {};
};

// A stage: what each work-item of a kernel computes for its element.
struct Stage {
  std::vector<Step> steps;
  // The number of elements; none for a single number.
  std::optional<std::size_t> length;
  // The reduction of its elements; none for the result's stage.
  std::optional<Fold> fold;

  std::size_t elements() const { return length.value_or(1); }
};

// A checked expression.
struct Program {
  // The names of the arrays, in the order of the kernels' arguments.
  std::vector<std::string> arrays;
  // The names and values of the scalars, in the order of the kernels' arguments.
  std::vector<std::string> scalar_names;
  std::vector<double> scalars;
  // The stages in the order in which they run. The last one computes the result.
  std::vector<Stage> stages;

  std::size_t reductions() const { return stages.size() - 1; }
  const Stage &result() const { return stages.back(); }
};

// Parses and checks an expression. Throws Problem.
Program check(std::string_view text, const Values &values);

}  // namespace jit
