// A small JIT runtime: expressions over arrays, given on the command line, become HIP kernels, which are compiled once,
// launched by handle, and checked against the host. It uses only hiplaunch's C API (hip/hiplaunch.h).
//
//   make -C examples/cpp_jit
//   examples/cpp_jit/jit 'a*x + sqrt(y) - max(b, 2)' a=2.5 b=1 x=1,2,3 y=4,9,16
//   examples/cpp_jit/jit 'sum((x - mean(x))^2)' x=0..1000
//
// Compiled kernels are cached on disk, so the second run compiles nothing. examples/jit is the same program in Rust.

#include <charconv>
#include <cstdio>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "host.hpp"
#include "program.hpp"
#include "runtime.hpp"
#include "source.hpp"
#include "values.hpp"

namespace {

constexpr const char *kUsage =
    R"(usage: jit [OPTIONS] EXPRESSION... [NAME=VALUES...]

  values       a=2.5 (a number)   x=1,2,3 or x=[1] (an array)   x=0..10 or x=0..1:0.1 (from, up to but without, step)
  expressions  + - * / ^  < <= > >= == !=  ( )
               sqrt exp log sin cos tan tanh abs floor (x)   min max pow (x, y)   where (condition, x, y)
               of an array, one number: sum prod mean min max (x)

  --launches N   launches of each expression, to be timed (100)
  --cache DIR    where compiled kernels are kept; off for nowhere (HIPLAUNCH_CACHE_DIR, else the user's cache folder)
  --source       print the generated HIP C++
  --help         this text
)";

struct Options {
  std::vector<std::string> expressions;
  jit::Values values;
  std::uint32_t launches = 100;
  std::string cache;
  bool source = false;
  bool help = false;
};

Options read_options(const std::vector<std::string> &args) {
  Options options;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string &arg = args[i];
    const auto value = [&]() -> const std::string & {
      if (i + 1 == args.size()) throw std::runtime_error(arg + " needs a value");
      return args[++i];
    };
    if (arg == "--help") {
      options.help = true;
      return options;
    } else if (arg == "--source") {
      options.source = true;
    } else if (arg == "--cache") {
      options.cache = value();
    } else if (arg == "--launches") {
      const std::string &given = value();
      const char *end = given.data() + given.size();
      const auto read = std::from_chars(given.data(), end, options.launches);
      if (read.ec != std::errc() || read.ptr != end || options.launches == 0) {
        throw std::runtime_error("--launches takes a number from 1 to 4294967295, not `" + given + "`");
      }
    } else if (arg.rfind("--", 0) == 0) {
      throw std::runtime_error("unknown option " + arg + "; try --help");
    } else if (const auto equals = jit::definition(arg)) {
      jit::define(options.values, arg, *equals);
    } else {
      options.expressions.push_back(arg);
    }
  }
  if (options.expressions.empty()) throw std::runtime_error("no expression; try --help");
  return options;
}

// Returns a number as a text, or the first and last elements of an array.
std::string shown(const jit::Program &program, const std::vector<double> &result) {
  if (!program.result().length) return jit::shortest(result.at(0));
  constexpr std::size_t most = 8;
  const std::size_t first = result.size() <= most ? result.size() : most / 2;
  std::string text = "[";
  for (std::size_t i = 0; i < first; ++i) text += (i ? ", " : "") + jit::shortest(result[i]);
  if (first == result.size()) return text + "]";
  return text + ", ..., " + jit::shortest(result.back()) + "] of " + std::to_string(result.size()) + " elements";
}

std::string time_text(jit::Duration time) {
  char text[32];
  const double us = time.count() * 1e6;
  if (us < 1000) {
    std::snprintf(text, sizeof text, "%.1fus", us);
  } else {
    std::snprintf(text, sizeof text, "%.1fms", us / 1000);
  }
  return text;
}

// Runs all expressions. Returns whether every result equals the host's.
bool run(const Options &options) {
  // All are checked first, so an error in the last is reported before the first is run.
  std::vector<jit::Program> programs;
  for (const std::string &text : options.expressions) programs.push_back(jit::check(text, options.values));

  jit::Runtime runtime(options.cache);
  std::cout << runtime.device() << "\n";
  bool good = true;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const jit::Program &program = programs[i];
    std::cout << "\n" << options.expressions[i] << "\n";
    if (options.source) std::cout << jit::source(program) << "\n";
    const jit::Made made = runtime.kernels(program);
    std::cout << "  compile  " << time_text(made.took) << " " << made.how << "\n";
    const jit::Outcome outcome = runtime.run(program, options.values, *made.kernels, options.launches);
    std::cout << "  launch   " << time_text(outcome.took / options.launches) << " each, " << options.launches << " times "
              << program.stages.size() << (program.stages.size() == 1 ? " kernel\n" : " kernels\n");
    std::cout << "  result   " << shown(program, outcome.result) << "\n";
    const auto difference = jit::difference(program, options.values, outcome.result);
    good = good && !difference;
    std::cout << "  check    " << (difference ? "WRONG: " + *difference : "as on the host") << "\n";
  }
  std::cout << "\ncompiled " << runtime.compiled << ", from the cache " << runtime.found << "\n";
  return good;
}

}  // namespace

int main(int argc, char **argv) {
  try {
    const Options options = read_options({argv + (argc > 0 ? 1 : 0), argv + argc});
    if (options.help) {
      std::cout << kUsage;
      return 0;
    }
    return run(options) ? 0 : 1;
  } catch (const std::exception &error) {
    std::cerr << "error: " << error.what() << "\n";
    return 2;
  }
}
