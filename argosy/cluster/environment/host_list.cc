#include "argosy/cluster/environment/host_list.h"

#include <charconv>
#include <cstdint>

namespace argosy {

namespace {

constexpr std::size_t kMostHosts = 65'536;
constexpr std::size_t kLongestName = 253;  // of a host, as name servers have it

Status unreadable(std::string_view text, std::string_view why) {
  return invalid_argument("\"", text.substr(0, 80), "\" cannot be read: ", why)
      .with_id("ARG-CLUSTER-030")
      .with_hint("gpu[001-003,7],login");
}

bool read_number(std::string_view digits, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return !digits.empty() && error == std::errc() && end == digits.data() + digits.size();
}

std::string padded(std::uint64_t number, std::size_t width) {
  std::string text = std::to_string(number);
  return text.size() < width ? std::string(width - text.size(), '0') + text : text;
}

// Commas outside of brackets separate.
Result<std::vector<std::string_view>> split_outside(std::string_view text) {
  std::vector<std::string_view> parts;
  bool inside = false;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && !inside)) {
      parts.push_back(text.substr(start, i - start));
      start = i + 1;
    } else if (text[i] == '[') {
      if (inside) return unreadable(text, "a bracket within a bracket");
      inside = true;
    } else if (text[i] == ']') {
      if (!inside) return unreadable(text, "a bracket is closed that was not opened");
      inside = false;
    }
  }
  if (inside) return unreadable(text, "a bracket is not closed");
  return parts;
}

// "001-003,7" → 001 002 003 7
Result<std::vector<std::string>> expand_ranges(std::string_view text) {
  std::vector<std::string> numbers;
  for (const std::string& range : str_split(text, ',')) {
    const std::size_t dash = range.find('-');
    const std::string_view first = std::string_view(range).substr(0, dash);
    const std::string_view last = dash == std::string::npos ? first : std::string_view(range).substr(dash + 1);
    std::uint64_t from = 0, to = 0;
    if (!read_number(first, from) || !read_number(last, to)) return unreadable(text, "no range of numbers");
    if (to < from) return unreadable(text, "a range that goes down");
    if (to - from >= kMostHosts || numbers.size() + (to - from) >= kMostHosts)
      return unreadable(text, "too many hosts");
    if (first.size() > kLongestName) return unreadable(text, "a number of too many digits");
    for (std::uint64_t n = from; n <= to; ++n) numbers.push_back(padded(n, first.size()));
  }
  return numbers;
}

}  // namespace

Result<std::vector<std::string>> expand_host_list(std::string_view text) {
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::string_view> parts, split_outside(text));
  std::vector<std::string> hosts;
  for (std::string_view part : parts) {
    if (part.empty()) return unreadable(text, "a host without a name");
    std::vector<std::string> names = {""};
    while (!part.empty()) {
      const std::size_t open = part.find('[');
      const std::string_view plain = part.substr(0, open);
      if (names[0].size() + plain.size() > kLongestName) return unreadable(text, "a name of more than 253 bytes");
      for (std::string& name : names) name += plain;
      if (open == std::string_view::npos) break;
      const std::size_t close = part.find(']', open);
      ARGOSY_ASSIGN_OR_RETURN(const std::vector<std::string> numbers,
                              expand_ranges(part.substr(open + 1, close - open - 1)));
      if (names.size() * numbers.size() > kMostHosts) return unreadable(text, "too many hosts");
      std::vector<std::string> more;
      for (const std::string& name : names) {
        for (const std::string& number : numbers) more.push_back(name + number);
      }
      names = std::move(more);
      part = part.substr(close + 1);
    }
    if (hosts.size() + names.size() > kMostHosts) return unreadable(text, "too many hosts");
    hosts.insert(hosts.end(), names.begin(), names.end());
  }
  return hosts;
}

Result<std::vector<int>> expand_counts(std::string_view text) {
  std::vector<int> counts;
  for (const std::string& part : str_split(text, ',')) {
    std::string_view rest = part;
    std::uint64_t times = 1, count = 0;
    if (const std::size_t open = rest.find("(x"); open != std::string_view::npos) {
      if (rest.back() != ')' || !read_number(rest.substr(open + 2, rest.size() - open - 3), times)) {
        return unreadable(text, "no number of hosts");
      }
      rest = rest.substr(0, open);
    }
    if (!read_number(rest, count) || count > kMostHosts) return unreadable(text, "no number of tasks");
    if (times > kMostHosts || counts.size() + times > kMostHosts) return unreadable(text, "too many hosts");
    counts.insert(counts.end(), times, static_cast<int>(count));
  }
  return counts;
}

}  // namespace argosy
