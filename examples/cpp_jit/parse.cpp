#include "parse.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <locale>
#include <sstream>

#include "problem.hpp"

namespace jit {
namespace {

// The greatest depth of nested parentheses and signs, so that a hostile text can't overflow the stack.
constexpr std::size_t kDeepest = 100;
// The greatest number of levels of a tree: `1+1+1+...` has one for each sign.
constexpr std::size_t kTallest = 1000;

// The symbols, longer ones first.
constexpr std::array<std::string_view, 15> kSymbols = {"<=", ">=", "==", "!=", "<", ">", "+", "-",
                                                       "*",  "/",  "^",  "(",  ")", ",", "="};

struct Token {
  enum class What { Number, Name, Symbol, End };
  What what;
  std::string text;
  double number;
  std::size_t at;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::vector<Token> tokens(std::string_view text) {
  std::vector<Token> found;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    const char c = rest[0];
    if (is_space(c)) {
      ++at;
    } else if (is_digit(c) || c == '.') {
      const std::size_t length = number_length(rest);
      const std::optional<double> number = to_number(rest.substr(0, length));
      if (!number) throw Problem(text, at, "this is no number");
      if (std::isinf(*number)) throw Problem(text, at, "this number is too large");
      found.push_back({Token::What::Number, std::string(rest.substr(0, length)), *number, at});
      at += length;
    } else if (is_letter(c)) {
      std::size_t length = 1;
      while (length < rest.size() && (is_letter(rest[length]) || is_digit(rest[length]))) ++length;
      found.push_back({Token::What::Name, std::string(rest.substr(0, length)), 0, at});
      at += length;
    } else {
      const auto symbol = std::find_if(kSymbols.begin(), kSymbols.end(),
                                       [&](std::string_view s) { return rest.substr(0, s.size()) == s; });
      if (symbol == kSymbols.end()) {
        std::size_t length = 1;
        while (length < rest.size() && (static_cast<unsigned char>(rest[length]) & 0xc0) == 0x80) ++length;
        throw Problem(text, at, "`" + std::string(rest.substr(0, length)) + "` is nothing that an expression has");
      }
      found.push_back({Token::What::Symbol, std::string(*symbol), 0, at});
      at += symbol->size();
    }
  }
  found.push_back({Token::What::End, "", 0, text.size()});
  return found;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), tokens_(tokens(text)) {}

  Expr all() {
    Expr expr = comparison();
    if (peek().what != Token::What::End) throw unexpected("expected an operator or the end");
    return expr;
  }

 private:
  // The last token is the end, and is never skipped.
  const Token &peek() const { return tokens_[next_]; }

  // Consumes the next token if it is one of these symbols.
  std::optional<Token> take(std::initializer_list<std::string_view> symbols) {
    const Token &token = peek();
    const bool is_there = token.what == Token::What::Symbol &&
                          std::find(symbols.begin(), symbols.end(), token.text) != symbols.end();
    if (!is_there) return std::nullopt;
    ++next_;
    return token;
  }

  Problem unexpected(const std::string &expected) const {
    const Token &token = peek();
    const std::string found = token.what == Token::What::End ? "the end" : "`" + token.text + "`";
    return Problem(text_, token.at, expected + ", found " + found);
  }

  Expr call(std::string name, std::vector<Expr> args, std::size_t at) const {
    std::size_t height = 1;
    for (const Expr &arg : args) height = std::max(height, arg.height + 1);
    if (height > kTallest) {
      throw Problem(text_, at, "more than " + std::to_string(kTallest) + " operations on each other");
    }
    return {Expr::What::Call, 0, std::move(name), std::move(args), at, height};
  }

  Expr both(const Token &op, Expr left, Expr right, std::string name = "") const {
    std::vector<Expr> args;
    args.push_back(std::move(left));
    args.push_back(std::move(right));
    return call(name.empty() ? op.text : std::move(name), std::move(args), op.at);
  }

  Expr comparison() {
    Expr left = sum();
    const auto op = take({"<", "<=", ">", ">=", "==", "!="});
    return op ? both(*op, std::move(left), sum()) : left;
  }

  Expr sum() {
    Expr left = product();
    while (const auto op = take({"+", "-"})) left = both(*op, std::move(left), product());
    return left;
  }

  Expr product() {
    Expr left = sign();
    while (const auto op = take({"*", "/"})) left = both(*op, std::move(left), sign());
    return left;
  }

  Expr sign() {
    if (++depth_ > kDeepest) {
      throw Problem(text_, peek().at, "more than " + std::to_string(kDeepest) + " levels inside each other");
    }
    Expr expr = [&] {
      const auto op = take({"-"});
      if (!op) return power();
      std::vector<Expr> args;
      args.push_back(sign());
      return call("negate", std::move(args), op->at);
    }();
    --depth_;
    return expr;
  }

  Expr power() {
    Expr base = atom();
    const auto op = take({"^"});
    return op ? both(*op, std::move(base), sign(), "pow") : base;
  }

  Expr atom() {
    const Token token = peek();
    if (token.what == Token::What::Number) {
      ++next_;
      return {Expr::What::Number, token.number, "", {}, token.at, 1};
    }
    if (token.what == Token::What::Name) {
      ++next_;
      if (!take({"("})) return {Expr::What::Name, 0, token.text, {}, token.at, 1};
      std::vector<Expr> args;
      do args.push_back(comparison());
      while (take({","}));
      close();
      return call(token.text, std::move(args), token.at);
    }
    if (!take({"("})) throw unexpected("expected a value");
    Expr inner = comparison();
    close();
    return inner;
  }

  void close() {
    if (!take({")"})) throw unexpected("expected `)`");
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace

Expr parse(std::string_view text) { return Parser(text).all(); }

std::size_t number_length(std::string_view text) {
  const auto is = [&](std::size_t at, std::string_view any) {
    return at < text.size() && any.find(text[at]) != std::string_view::npos;
  };
  const auto digits = [&](std::size_t at) {
    while (at < text.size() && is_digit(text[at])) ++at;
    return at;
  };
  std::size_t end = digits(0);
  // Two points are a range, and not part of the number.
  if (is(end, ".") && !is(end + 1, ".")) end = digits(end + 1);
  if (is(end, "eE")) {
    const std::size_t begin = end + 1 + (is(end + 1, "+-") ? 1 : 0);
    const std::size_t exponent = digits(begin);
    if (exponent > begin) end = exponent;
  }
  return end;
}

std::optional<double> to_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    // Too large, or so small that it is 0: from_chars does not say which.
    std::istringstream stream{std::string(text)};
    stream.imbue(std::locale::classic());
    stream >> number;
    if (std::fabs(number) >= std::numeric_limits<double>::max()) return std::numeric_limits<double>::infinity();
  }
  return number;
}

}  // namespace jit
