#include "program.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "parse.hpp"
#include "problem.hpp"

namespace jit {
namespace {

struct Operation {
  std::string_view name;
  std::size_t takes;
  Op op;
};

// The operations by name: as they are written, or as the parser names operators.
constexpr std::array<Operation, 24> kOperations = {{
    {"+", 2, Op::Add},         {"-", 2, Op::Sub},          {"*", 2, Op::Mul},       {"/", 2, Op::Div},
    {"pow", 2, Op::Pow},       {"<", 2, Op::Less},         {"<=", 2, Op::LessEqual}, {">", 2, Op::Greater},
    {">=", 2, Op::GreaterEqual}, {"==", 2, Op::Equal},     {"!=", 2, Op::NotEqual}, {"negate", 1, Op::Negate},
    {"sqrt", 1, Op::Sqrt},     {"exp", 1, Op::Exp},        {"log", 1, Op::Log},     {"sin", 1, Op::Sin},
    {"cos", 1, Op::Cos},       {"tan", 1, Op::Tan},        {"tanh", 1, Op::Tanh},   {"abs", 1, Op::Abs},
    {"floor", 1, Op::Floor},   {"min", 2, Op::Min},        {"max", 2, Op::Max},     {"where", 3, Op::Where},
}};

struct Reduction {
  std::string_view name;
  Fold fold;
  bool is_mean;
};

constexpr std::array<Reduction, 5> kReductions = {{
    {"sum", Fold::Sum, false},
    {"mean", Fold::Sum, true},
    {"prod", Fold::Product, false},
    {"min", Fold::Min, false},
    {"max", Fold::Max, false},
}};

template <typename Table>
auto find(const Table &table, std::string_view name) {
  const auto at = std::find_if(table.begin(), table.end(), [&](const auto &entry) { return entry.name == name; });
  return at == table.end() ? nullptr : &*at;
}

// The length of a step, and the array that it is from.
struct Length {
  std::size_t elements;
  std::string name;
};

struct Lowered {
  std::size_t step;
  std::optional<Length> length;
};

// Returns the index of a name in a list, to which it is added if it is new, and whether it is new.
std::pair<std::size_t, bool> place(std::vector<std::string> &names, const std::string &name) {
  const auto at = std::find(names.begin(), names.end(), name);
  const auto index = static_cast<std::size_t>(at - names.begin());
  const bool is_new = at == names.end();
  if (is_new) names.push_back(name);
  return {index, is_new};
}

std::size_t push(std::vector<Step> &steps, Step step) {
  steps.push_back(std::move(step));
  return steps.size() - 1;
}

class Checker {
 public:
  Checker(std::string_view text, const Values &values) : text_(text), values_(values) {}

  Program all() {
    const Expr tree = parse(text_);
    Stage result;
    const Lowered lowered = lower(tree, result.steps);
    if (lowered.length) result.length = lowered.length->elements;
    program_.stages.push_back(std::move(result));
    return std::move(program_);
  }

 private:
  Problem problem(std::size_t at, const std::string &message) const { return Problem(text_, at, message); }

  // Appends the steps of a tree to `steps`.
  Lowered lower(const Expr &tree, std::vector<Step> &steps) {
    switch (tree.what) {
      case Expr::What::Number:
        return {push(steps, {Step::What::Number, tree.number}), {}};
      case Expr::What::Name:
        return name(tree, steps);
      case Expr::What::Call:
        break;
    }
    const Reduction *reduction = find(kReductions, tree.name);
    return reduction && tree.args.size() == 1 ? reduce(*reduction, tree.args[0], steps) : call(tree, steps);
  }

  Lowered name(const Expr &tree, std::vector<Step> &steps) {
    const auto found = values_.find(tree.name);
    if (found == values_.end()) {
      std::string known;
      for (const auto &[name, value] : values_) known += (known.empty() ? "known: " : ", ") + name;
      throw problem(tree.at, "`" + tree.name + "` is not defined (" + (known.empty() ? "none is" : known) + ")");
    }
    if (const double *number = std::get_if<double>(&found->second)) {
      return {push(steps, {Step::What::Scalar, 0, scalar(tree.name, *number)}), {}};
    }
    const std::size_t index = place(program_.arrays, tree.name).first;
    const std::size_t elements = std::get<std::vector<double>>(found->second).size();
    return {push(steps, {Step::What::Array, 0, index}), Length{elements, tree.name}};
  }

  std::size_t scalar(const std::string &name, double value) {
    const auto [index, is_new] = place(program_.scalar_names, name);
    if (is_new) program_.scalars.push_back(value);
    return index;
  }

  Lowered reduce(const Reduction &reduction, const Expr &arg, std::vector<Step> &outer) {
    Stage stage;
    stage.fold = reduction.fold;
    const Lowered lowered = lower(arg, stage.steps);
    if (lowered.length) stage.length = lowered.length->elements;
    const auto count = static_cast<double>(stage.elements());
    program_.stages.push_back(std::move(stage));
    const std::size_t index = program_.stages.size() - 1;
    const std::size_t reduced = push(outer, {Step::What::Reduction, 0, index});
    if (!reduction.is_mean) return {reduced, {}};
    // The count is an argument, so arrays of another length need no other kernel. No name has a `#` in it.
    const std::size_t divisor = push(outer, {Step::What::Scalar, 0, scalar("#" + std::to_string(index), count)});
    return {push(outer, {Step::What::Apply, 0, 0, Op::Div, {reduced, divisor}}), {}};
  }

  Lowered call(const Expr &tree, std::vector<Step> &steps) {
    const Operation *operation = find(kOperations, tree.name);
    const bool reduces = find(kReductions, tree.name) != nullptr;
    const std::string quoted = "`" + tree.name + "`";
    const std::string got = ", got " + std::to_string(tree.args.size());
    if (!operation) {
      if (reduces) throw problem(tree.at, quoted + " takes 1 argument" + got);
      throw problem(tree.at, quoted + " is no function; --help lists them");
    }
    if (operation->takes != tree.args.size()) {
      throw problem(tree.at, quoted + " takes " + std::to_string(operation->takes) + " argument" +
                                 (operation->takes == 1 ? "" : "s") + (reduces ? ", or 1 array" : "") + got);
    }
    std::vector<std::size_t> operands;
    std::optional<Length> length;
    for (const Expr &arg : tree.args) {
      const Lowered lowered = lower(arg, steps);
      operands.push_back(lowered.step);
      if (length && lowered.length && length->elements != lowered.length->elements) {
        throw problem(tree.at, "lengths differ: `" + length->name + "` has " + std::to_string(length->elements) +
                                   " elements, `" + lowered.length->name + "` has " +
                                   std::to_string(lowered.length->elements));
      }
      if (!length) length = lowered.length;
    }
    return {push(steps, {Step::What::Apply, 0, 0, operation->op, std::move(operands)}), length};
  }

  std::string_view text_;
  const Values &values_;
  Program program_;
};

}  // namespace

Program check(std::string_view text, const Values &values) { return Checker(text, values).all(); }

}  // namespace jit
