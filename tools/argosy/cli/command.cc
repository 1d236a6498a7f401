#include "tools/argosy/cli/command.h"

#include <charconv>
#include <cmath>

namespace argosy::cli {

namespace {

std::string show_bound(double bound) {
  const bool whole = std::fabs(bound) < 1e15 && bound == std::floor(bound);
  return whole ? str_cat(static_cast<std::int64_t>(bound)) : str_cat(bound);
}

std::string expectation(std::string_view kind, const Limits& limits) {
  std::string text(kind);
  const bool least = std::isfinite(limits.least), most = std::isfinite(limits.most);
  if (least && most) return str_cat(text, " from ", show_bound(limits.least), " to ", show_bound(limits.most));
  if (least) return str_cat(text, " of at least ", show_bound(limits.least));
  if (most) return str_cat(text, " of at most ", show_bound(limits.most));
  return text;
}

Status not_a(std::string_view kind, std::string_view text, const Limits& limits) {
  return invalid_argument("\"", text, "\" is not ", expectation(kind, limits));
}

template <typename T>
Status parse_number(std::string_view text, std::string_view kind, const Limits& limits, T& to) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return not_a(kind, text, limits);
  const double number = static_cast<double>(value);
  // Written so that NaN is refused.
  if (!(number >= limits.least && number <= limits.most)) return not_a(kind, text, limits);
  to = value;
  return ok_status();
}

}  // namespace

Status parse_value(std::string_view text, const Limits& limits, std::int64_t& to) {
  return parse_number(text, "a whole number", limits, to);
}
Status parse_value(std::string_view text, const Limits& limits, int& to) {
  return parse_number(text, "a whole number", limits, to);
}
Status parse_value(std::string_view text, const Limits& limits, double& to) {
  return parse_number(text, "a number", limits, to);
}
Status parse_value(std::string_view text, const Limits& limits, std::string& to) {
  if (!limits.one_of.empty()) {
    bool known = false;
    for (const std::string& word : limits.one_of) known = known || word == text;
    if (!known) {
      const std::string near = nearest_word(text, limits.one_of);
      return invalid_argument("\"", text, "\" is none of ", str_join(limits.one_of))
          .with_hint(near.empty() ? limits.one_of.front() : near);
    }
  } else if (text.empty() && !limits.may_be_empty) {
    return invalid_argument("the value is empty");
  }
  to = text;
  return ok_status();
}
Status parse_value(std::string_view text, const Limits& limits, std::vector<std::string>& to) {
  std::string value;
  ARGOSY_RETURN_IF_ERROR(parse_value(text, limits, value));
  to.push_back(std::move(value));
  return ok_status();
}

std::string show_value(std::int64_t value) { return str_cat(value); }
std::string show_value(int value) { return str_cat(value); }
std::string show_value(double value) { return str_cat(value); }
std::string show_value(const std::string& value) { return value; }
std::string show_value(const std::vector<std::string>& value) { return str_join(value); }

Command& Command::add(std::string name, std::string summary) {
  commands_.push_back(std::make_unique<Command>(std::move(name), std::move(summary)));
  commands_.back()->parent_ = this;
  return *commands_.back();
}

Command& Command::json(std::string help) {
  json_ = true;
  return declare("--json", {.help = std::move(help), .set = [](std::string_view) { return ok_status(); }});
}

Command& Command::group(std::string title) {
  group_ = std::move(title);
  return *this;
}

Command& Command::about(std::string text) {
  about_ = std::move(text);
  return *this;
}

Command& Command::example(std::string line, std::string what) {
  examples_.push_back({std::move(line), std::move(what)});
  return *this;
}

Command& Command::runs(Run run) {
  run_ = std::move(run);
  return *this;
}

std::string Command::path() const { return parent_ ? str_cat(parent_->path(), " ", name_) : name_; }

Command& Command::declare(std::string_view spelling, Option option) {
  const std::size_t space = spelling.find(' ');
  option.name = spelling.substr(0, space);
  option.group = group_;
  if (space != std::string_view::npos) option.placeholder = spelling.substr(space + 1);
  // A bug of ours: a flag whose value has no name in the help, or an argument with two.
  ARGOSY_CHECK(option.name.starts_with('-') || option.placeholder.empty());
  options_.push_back(std::move(option));
  return *this;
}

}  // namespace argosy::cli
