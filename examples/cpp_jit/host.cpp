#include "host.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "source.hpp"

namespace jit {
namespace {

// The relative difference that is allowed between device and host: functions such as `exp` differ in the last bits, and
// sums are computed in another order.
constexpr double kTolerance = 1e-9;

// A value, and the largest intermediate result: cancellation leaves an error in proportion to that.
struct Number {
  double value = 0;
  double largest = 0;
};

double applied(const Step &step, const std::vector<Number> &results) {
  const auto v = [&](std::size_t at) { return results[step.operands[at]].value; };
  switch (step.op) {
    case Op::Add: return v(0) + v(1);
    case Op::Sub: return v(0) - v(1);
    case Op::Mul: return v(0) * v(1);
    case Op::Div: return v(0) / v(1);
    case Op::Pow: return std::pow(v(0), v(1));
    case Op::Less: return v(0) < v(1);
    case Op::LessEqual: return v(0) <= v(1);
    case Op::Greater: return v(0) > v(1);
    case Op::GreaterEqual: return v(0) >= v(1);
    case Op::Equal: return v(0) == v(1);
    case Op::NotEqual: return v(0) != v(1);
    case Op::Negate: return -v(0);
    case Op::Sqrt: return std::sqrt(v(0));
    case Op::Exp: return std::exp(v(0));
    case Op::Log: return std::log(v(0));
    case Op::Sin: return std::sin(v(0));
    case Op::Cos: return std::cos(v(0));
    case Op::Tan: return std::tan(v(0));
    case Op::Tanh: return std::tanh(v(0));
    case Op::Abs: return std::fabs(v(0));
    case Op::Floor: return std::floor(v(0));
    case Op::Min: return std::fmin(v(0), v(1));
    case Op::Max: return std::fmax(v(0), v(1));
    case Op::Where: return v(0) != 0 ? v(1) : v(2);
  }
  return 0;
}

Number element(const Stage &stage, std::size_t i, const Program &program,
               const std::vector<const std::vector<double> *> &arrays, const std::vector<Number> &reductions) {
  std::vector<Number> results;
  for (const Step &step : stage.steps) {
    Number number;
    switch (step.what) {
      case Step::What::Number: number.value = step.number; break;
      case Step::What::Scalar: number.value = program.scalars[step.index]; break;
      case Step::What::Array: number.value = (*arrays[step.index])[i]; break;
      case Step::What::Reduction: number = reductions[step.index]; break;
      case Step::What::Apply:
        number.value = applied(step, results);
        for (std::size_t operand : step.operands) number.largest = std::max(number.largest, results[operand].largest);
        break;
    }
    if (std::isfinite(number.value)) number.largest = std::max(number.largest, std::fabs(number.value));
    results.push_back(number);
  }
  return results.back();
}

double folded(Fold fold, double a, double b) {
  switch (fold) {
    case Fold::Sum: return a + b;
    case Fold::Product: return a * b;
    case Fold::Min: return std::fmin(a, b);
    case Fold::Max: return std::fmax(a, b);
  }
  return 0;
}

double begin_of(Fold fold) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (fold) {
    case Fold::Sum: return 0;
    case Fold::Product: return 1;
    case Fold::Min: return infinity;
    case Fold::Max: return -infinity;
  }
  return 0;
}

bool is_near(const Number &host, double device) {
  if (std::isnan(host.value) || std::isnan(device)) return std::isnan(host.value) && std::isnan(device);
  return host.value == device || std::fabs(host.value - device) <= kTolerance * host.largest;
}

}  // namespace

std::optional<std::string> difference(const Program &program, const Values &values,
                                      const std::vector<double> &device) {
  std::vector<const std::vector<double> *> arrays;
  for (const std::string &name : program.arrays) arrays.push_back(&std::get<std::vector<double>>(values.at(name)));
  std::vector<Number> reductions;
  for (const Stage &stage : program.stages) {
    if (stage.fold) {
      Number all{begin_of(*stage.fold), 0};
      for (std::size_t i = 0; i < stage.elements(); ++i) {
        const Number next = element(stage, i, program, arrays, reductions);
        all.value = folded(*stage.fold, all.value, next.value);
        all.largest = std::max({all.largest, next.largest, std::fabs(all.value)});
      }
      reductions.push_back(all);
      continue;
    }
    if (stage.elements() != device.size()) {
      return std::to_string(device.size()) + " elements, the host has " + std::to_string(stage.elements());
    }
    for (std::size_t i = 0; i < device.size(); ++i) {
      const Number host = element(stage, i, program, arrays, reductions);
      if (!is_near(host, device[i])) {
        return "element " + std::to_string(i) + " is " + shortest(device[i]) + ", on the host " + shortest(host.value);
      }
    }
  }
  return std::nullopt;
}

}  // namespace jit
