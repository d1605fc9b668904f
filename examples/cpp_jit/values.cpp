#include "values.hpp"

#include <cmath>

#include "parse.hpp"
#include "problem.hpp"

namespace jit {
namespace {

// The greatest number of elements of an array.
constexpr double kMost = 1 << 24;

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

class Reader {
 public:
  Reader(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  Value value() {
    if (take("[")) {
      std::vector<double> elements;
      while (!take("]")) {
        elements.push_back(number());
        if (!take(",") && rest().substr(0, 1) != "]") throw problem("expected `,` or `]`");
      }
      return elements;
    }
    const double first = number();
    if (take("..")) return range(first);
    if (rest().substr(0, 1) != ",") return first;
    std::vector<double> elements{first};
    // The last comma may have nothing after it.
    while (take(",") && !is_at_end()) elements.push_back(number());
    return elements;
  }

  bool is_at_end() {
    skip_spaces();
    return rest().empty();
  }

  Problem problem(const std::string &message) const { return Problem(text_, at_, message); }

 private:
  std::string_view rest() const { return text_.substr(at_); }

  void skip_spaces() {
    while (at_ < text_.size() && std::string_view(" \t\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  bool take(std::string_view symbol) {
    skip_spaces();
    const bool is_there = rest().substr(0, symbol.size()) == symbol;
    if (is_there) at_ += symbol.size();
    return is_there;
  }

  double number() {
    skip_spaces();
    const std::size_t sign = rest().substr(0, 1) == "-" ? 1 : 0;
    const std::size_t length = sign + number_length(rest().substr(sign));
    const std::optional<double> number = to_number(rest().substr(0, length));
    if (!number) throw problem("expected a number");
    if (std::isinf(*number)) throw problem("this number is too large");
    at_ += length;
    return *number;
  }

  // Reads the rest of a range from `first` up to its end, which is excluded.
  std::vector<double> range(double first) {
    const double end = number();
    const double step = take(":") ? number() : 1;
    const double count = std::ceil((end - first) / step);
    if (step == 0 || std::isnan(count) || count > kMost) {
      throw problem("a range of too many elements: at most 16777216, and the step is not 0");
    }
    std::vector<double> elements;
    for (double i = 0; i < count; ++i) elements.push_back(first + i * step);
    return elements;
  }

  std::string_view text_;
  std::size_t at_;
};

}  // namespace

std::optional<std::size_t> definition(std::string_view text) {
  const auto at = text.find('=');
  if (at == std::string_view::npos || text.substr(at, 2) == "==") return std::nullopt;
  const std::string_view name = trimmed(text.substr(0, at));
  const std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  const std::string all = std::string(letters) + "0123456789";
  const bool is_name = !name.empty() && letters.find(name[0]) != std::string_view::npos &&
                       name.find_first_not_of(all) == std::string_view::npos;
  return is_name ? std::optional(at) : std::nullopt;
}

void define(Values &values, std::string_view text, std::size_t equals) {
  Reader reader(text, equals + 1);
  Value value = reader.value();
  if (!reader.is_at_end()) throw reader.problem("expected `,` or the end");
  const std::string name(trimmed(text.substr(0, equals)));
  if (!values.emplace(name, std::move(value)).second) {
    throw Problem(text, 0, "`" + name + "` is defined twice");
  }
}

}  // namespace jit
