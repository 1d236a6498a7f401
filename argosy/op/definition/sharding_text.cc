// Parses the notation of OpSpec::sharding.
#include "argosy/op/definition/sharding_text.h"

#include <cctype>
#include <charconv>

#include "argosy/op/definition/shape_context.h"
#include "argosy/op/definition/sharding_syntax.h"

namespace argosy {

namespace {

using Kind = OperandRule::Kind;

class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool next_is(std::string_view token) {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    return rest_.starts_with(token);
  }
  bool take(std::string_view token) {
    if (!next_is(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  bool done() { return next_is("") && rest_.empty(); }
  // Letters, digits, primes and underscores; empty where none come next.
  std::string word() {
    next_is("");
    std::size_t n = 0;
    while (n < rest_.size() &&
           (std::isalnum(static_cast<unsigned char>(rest_[n])) || rest_[n] == '_' || rest_[n] == '\''))
      ++n;
    std::string w(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return w;
  }
  bool next_is_digit() {
    next_is("");
    return !rest_.empty() && std::isdigit(static_cast<unsigned char>(rest_[0]));
  }
  std::string remainder() {
    next_is("");
    return std::string(std::exchange(rest_, {}));
  }

 private:
  std::string_view rest_;
};

// A letter, then digits or primes.
bool is_factor(std::string_view word) {
  if (word.empty() || !std::isalpha(static_cast<unsigned char>(word[0]))) return false;
  for (const char c : word.substr(1)) {
    if (!std::isdigit(static_cast<unsigned char>(c)) && c != '\'') return false;
  }
  return true;
}

Result<int> number(Scanner& in) {
  const std::string word = in.word();
  int n = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), n);
  if (error != std::errc() || end != word.data() + word.size()) return invalid_argument("\"", word, "\" is no number");
  return n;
}

Result<std::vector<int>> numbers(Scanner& in) {
  std::vector<int> list;
  while (in.next_is_digit()) {
    ARGOSY_ASSIGN_OR_RETURN(const int n, number(in));
    list.push_back(n);
  }
  if (list.empty()) return invalid_argument("numbers of inputs are missing");
  return list;
}

Result<TextFactor> factor(Scanner& in) {
  TextFactor f{in.word()};
  if (!is_factor(f.name)) return invalid_argument("\"", f.name, "\" is no factor");
  f.rest = in.take("..");
  return f;
}

Result<std::vector<TextFactor>> factors(Scanner& in) {
  std::vector<TextFactor> list;
  do {
    ARGOSY_ASSIGN_OR_RETURN(TextFactor f, factor(in));
    list.push_back(std::move(f));
  } while (!in.done() && !in.next_is(";"));
  return list;
}

Result<TextDim> dim(Scanner& in) {
  TextDim d{.kind = TextDim::Kind::kFactors};
  if (in.take("(")) {
    while (!in.take(")")) {
      ARGOSY_ASSIGN_OR_RETURN(const TextFactor f, factor(in));
      if (f.rest) return invalid_argument("\"", f.name, "..\" inside of ( )");
      d.names.push_back(f.name);
    }
    if (d.names.size() < 2) return invalid_argument("( ) holds several factors");
    return d;
  }
  if (in.next_is_digit()) {
    if (in.word() != "1") return invalid_argument("the only size in a rule is 1");
    return TextDim{};
  }
  ARGOSY_ASSIGN_OR_RETURN(const TextFactor f, factor(in));
  d.names.push_back(f.name);
  if (f.rest) d.kind = TextDim::Kind::kRest;
  return d;
}

Result<TextOperand> operand(Scanner& in) {
  TextOperand o;
  const auto ends = [&] { return in.done() || in.next_is(",") || in.next_is("->") || in.next_is(";"); };
  if (in.take("size(")) {
    o.kind = Kind::kSizes;
    ARGOSY_ASSIGN_OR_RETURN(o.of, number(in));
    if (!in.take(")")) return invalid_argument("size( is not closed");
  } else if (in.take("shape")) {
    o.kind = Kind::kShapeOnly;
  } else if (in.take("scratch")) {
    o.kind = Kind::kScratch;
  } else if (in.take("=")) {
    o.kind = Kind::kEqual;
  } else if (in.take(".")) {
    o.kind = Kind::kOpaque;
  } else if (!in.next_is("->") && in.take("-")) {
    o.kind = Kind::kDims;
  } else {
    o.kind = Kind::kDims;
    while (!ends() && !in.next_is("*")) {
      ARGOSY_ASSIGN_OR_RETURN(TextDim d, dim(in));
      o.dims.push_back(std::move(d));
    }
    if (o.dims.empty()) return invalid_argument("an operand is empty: \"-\" is a scalar");
  }
  o.list = in.take("*");
  if (!ends()) return invalid_argument("\"", in.remainder(), "\" after an operand");
  return o;
}

Result<std::vector<TextOperand>> operands(Scanner& in) {
  std::vector<TextOperand> list;
  if (in.done() || in.next_is("->") || in.next_is(";")) return list;
  do {
    ARGOSY_ASSIGN_OR_RETURN(TextOperand o, operand(in));
    list.push_back(std::move(o));
  } while (in.take(","));
  return list;
}

std::optional<FactorRole> role_named(std::string_view word) {
  constexpr std::pair<std::string_view, FactorRole> kRoles[] = {
      {"equal", FactorRole::kEqual}, {"sum", FactorRole::kSum},  {"mean", FactorRole::kMean},
      {"max", FactorRole::kMax},     {"min", FactorRole::kMin},  {"whole", FactorRole::kWhole},
      {"rows", FactorRole::kRows},   {"halo", FactorRole::kHalo}};
  for (const auto& [name, role] : kRoles) {
    if (name == word) return role;
  }
  return std::nullopt;
}

Status linear_clause(Scanner& in, ShardingText& text) {
  text.linear = Linear::kNo;
  if (!in.next_is_digit()) {
    const std::string how = in.word();
    if (how == "jointly") text.linear = Linear::kJointly;
    if (how == "each") text.linear = Linear::kEach;
    if (how == "first") text.linear = Linear::kFirst;
    if (text.linear == Linear::kNo && how != "no") return invalid_argument("\"linear ", how, "\"");
    return ok_status();
  }
  do {
    ARGOSY_ASSIGN_OR_RETURN(std::vector<int> group, numbers(in));
    text.groups.push_back(std::move(group));
  } while (in.take("|"));
  return ok_status();
}

Status clause(Scanner& in, ShardingText& text) {
  const std::string word = in.word();
  if (const auto role = role_named(word)) {
    ARGOSY_ASSIGN_OR_RETURN(const auto list, factors(in));
    for (const TextFactor& f : list) text.roles.emplace_back(f, *role);
  } else if (word == "linear") {
    return linear_clause(in, text);
  } else if (word == "monotone") {
    ARGOSY_ASSIGN_OR_RETURN(text.monotone, numbers(in));
  } else if (word == "unread") {
    ARGOSY_ASSIGN_OR_RETURN(text.unread, numbers(in));
  } else if (word == "updates") {
    ARGOSY_ASSIGN_OR_RETURN(text.updates, numbers(in));
  } else if (word == "draws") {
    text.draws = true;
  } else if (word == "broadcasts") {
    text.broadcasts = true;
  } else if (word == "local") {
    ARGOSY_ASSIGN_OR_RETURN(text.local, factors(in));
  } else if (word == "flip") {
    std::string attr = in.word();
    ARGOSY_ASSIGN_OR_RETURN(const int input, number(in));
    text.flips.emplace_back(std::move(attr), input);
  } else if (word == "layout") {
    text.layout = in.word();
  } else {
    return invalid_argument("\"", word, "\" is no clause");
  }
  return ok_status();
}

}  // namespace

Result<ShardingText> parse_sharding_text(std::string_view source) {
  Scanner in(source);
  ShardingText text;
  for (const auto& [word, kind] :
       {std::pair("whole", ShardingRule::Kind::kWhole), {"once", ShardingRule::Kind::kOnce}}) {
    if (!in.take(word)) continue;
    text.kind = kind;
    if (in.take(":")) text.why = in.remainder();
    if (!in.done()) return invalid_argument("text is left over: \"", in.remainder(), "\"");
    return text;
  }
  ARGOSY_ASSIGN_OR_RETURN(text.inputs, operands(in));
  if (!in.take("->")) return invalid_argument("\"->\" is missing");
  ARGOSY_ASSIGN_OR_RETURN(text.outputs, operands(in));
  while (in.take(";")) ARGOSY_RETURN_IF_ERROR(clause(in, text));
  if (!in.done()) return invalid_argument("text is left over: \"", in.remainder(), "\"");
  return text;
}

Result<ShardingRule> sharding_rule_from_text(std::string_view source, const ShapeContext& c) {
  const auto text = parse_sharding_text(source);
  if (!text.ok()) {
    return internal_error("op ", c.op().name, ": sharding \"", source, "\": ", text.status().message());
  }
  return instantiate(*text, c);
}

}  // namespace argosy
