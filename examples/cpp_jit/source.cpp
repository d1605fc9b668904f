#include "source.hpp"

#include <charconv>
#include <cmath>
#include <set>
#include <sstream>

namespace jit {
namespace {

// Returns the first value of a fold.
const char *begin_of(Fold fold) {
  switch (fold) {
    case Fold::Sum: return "0.0";
    case Fold::Product: return "1.0";
    case Fold::Min: return "__builtin_inf()";
    case Fold::Max: return "-__builtin_inf()";
  }
  return "";
}

// Returns the operation of a fold on `a` and `b`.
const char *next_of(Fold fold) {
  switch (fold) {
    case Fold::Sum: return "a + b";
    case Fold::Product: return "a * b";
    case Fold::Min: return "fmin(a, b)";
    case Fold::Max: return "fmax(a, b)";
  }
  return "";
}

std::string applied(const Step &step) {
  const auto v = [&](std::size_t at) { return "v" + std::to_string(step.operands[at]); };
  const auto infix = [&](const std::string &symbol) { return v(0) + " " + symbol + " " + v(1); };
  const auto compare = [&](const std::string &symbol) { return infix(symbol) + " ? 1.0 : 0.0"; };
  const auto call = [&](const std::string &name) {
    std::string text = name + "(";
    for (std::size_t i = 0; i < step.operands.size(); ++i) text += (i ? ", " : "") + v(i);
    return text + ")";
  };
  switch (step.op) {
    case Op::Add: return infix("+");
    case Op::Sub: return infix("-");
    case Op::Mul: return infix("*");
    case Op::Div: return infix("/");
    case Op::Less: return compare("<");
    case Op::LessEqual: return compare("<=");
    case Op::Greater: return compare(">");
    case Op::GreaterEqual: return compare(">=");
    case Op::Equal: return compare("==");
    case Op::NotEqual: return compare("!=");
    case Op::Negate: return "-" + v(0);
    case Op::Pow: return call("pow");
    case Op::Sqrt: return call("sqrt");
    case Op::Exp: return call("exp");
    case Op::Log: return call("log");
    case Op::Sin: return call("sin");
    case Op::Cos: return call("cos");
    case Op::Tan: return call("tan");
    case Op::Tanh: return call("tanh");
    case Op::Abs: return call("fabs");
    case Op::Floor: return call("floor");
    case Op::Min: return call("fmin");
    case Op::Max: return call("fmax");
    case Op::Where: return v(0) + " != 0.0 ? " + v(1) + " : " + v(2);
  }
  return "";
}

// Returns a number as a literal of type double.
std::string literal(double number) {
  std::string text = shortest(number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

void write_steps(std::ostream &out, const Stage &stage, const char *indent) {
  for (std::size_t i = 0; i < stage.steps.size(); ++i) {
    const Step &step = stage.steps[i];
    out << indent << "const double v" << i << " = ";
    switch (step.what) {
      case Step::What::Number: out << literal(step.number); break;
      case Step::What::Scalar: out << "s" << step.index; break;
      case Step::What::Array: out << "a" << step.index << "[i]"; break;
      case Step::What::Reduction: out << "f" << step.index; break;
      case Step::What::Apply: out << applied(step); break;
    }
    out << ";\n";
  }
}

void write_stage(std::ostream &out, const Program &program, std::size_t index) {
  const Stage &stage = program.stages[index];
  out << "extern \"C\" __global__ void __launch_bounds__(" << kBlock << ")\n" << kernel_name(index) << "(";
  for (std::size_t i = 0; i < program.arrays.size(); ++i) out << "const double* a" << i << ", ";
  for (std::size_t i = 0; i < program.scalars.size(); ++i) out << "double s" << i << ", ";
  for (std::size_t i = 0; i < program.reductions(); ++i) out << "const double* r" << i << ", ";
  out << "double* out, unsigned n) {\n";
  // Each reduction that the stage reads is folded once, before the elements.
  std::set<std::size_t> read;
  for (const Step &step : stage.steps) {
    if (step.what == Step::What::Reduction) read.insert(step.index);
  }
  for (std::size_t r : read) {
    const Fold fold = *program.stages[r].fold;
    out << "  double f" << r << " = " << begin_of(fold) << ";\n"
        << "  for (unsigned k = 0; k < " << kGroups << "; ++k) {\n"
        << "    const double a = f" << r << ", b = r" << r << "[k];\n"
        << "    f" << r << " = " << next_of(fold) << ";\n"
        << "  }\n";
  }
  const std::size_t last = stage.steps.size() - 1;
  if (!stage.fold) {
    out << "  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        << "  if (i >= n) return;\n";
    write_steps(out, stage, "  ");
    out << "  out[i] = v" << last << ";\n}\n\n";
    return;
  }
  out << "  __shared__ double sums[" << kBlock << "];\n"
      << "  double sum = " << begin_of(*stage.fold) << ";\n"
      << "  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {\n";
  write_steps(out, stage, "    ");
  out << "    const double a = sum, b = v" << last << ";\n"
      << "    sum = " << next_of(*stage.fold) << ";\n"
      << "  }\n"
      << "  sums[threadIdx.x] = sum;\n"
      << "  for (unsigned half = " << kBlock << " / 2; half > 0; half /= 2) {\n"
      << "    __syncthreads();\n"
      << "    if (threadIdx.x < half) {\n"
      << "      const double a = sums[threadIdx.x], b = sums[threadIdx.x + half];\n"
      << "      sums[threadIdx.x] = " << next_of(*stage.fold) << ";\n"
      << "    }\n"
      << "  }\n"
      << "  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];\n}\n\n";
}

}  // namespace

std::string source(const Program &program) {
  std::ostringstream out;
  for (std::size_t i = 0; i < program.stages.size(); ++i) write_stage(out, program, i);
  return out.str();
}

std::string shortest(double number) {
  if (std::isnan(number)) return "nan";
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;
  return std::string(text, end);
}

}  // namespace jit
