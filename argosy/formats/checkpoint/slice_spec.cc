#include "argosy/formats/checkpoint/slice_spec.h"

#include <charconv>
#include <string>

namespace argosy::tf {

namespace {

bool read_number(std::string_view word, std::int64_t& to) {
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), to);
  return failed == std::errc{} && end == word.data() + word.size();
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t next = text.find(at);
    words.push_back(text.substr(0, next));
    if (next == std::string_view::npos) return words;
    text.remove_prefix(next + 1);
  }
}

Result<Slice> read_slice(std::string_view text) {
  Slice slice;
  if (text.empty()) return slice;
  for (const std::string_view word : split(text, ':')) {
    Extent extent;
    if (word != "-") {
      const auto numbers = split(word, ',');
      if (numbers.size() != 2 || !read_number(numbers[0], extent.start) || !read_number(numbers[1], extent.length)) {
        return invalid_argument("Expected a pair of numbers or '-' but got '", word, "': string = ", text);
      }
      if (extent.start < 0 || extent.length <= 0) {
        return invalid_argument("Expected non-negative start and positive length but got start = ", extent.start,
                                ", length = ", extent.length, ": string = ", text);
      }
    }
    slice.push_back(extent);
  }
  return slice;
}

}  // namespace

Result<std::optional<PartOf>> parse_slice_spec(std::string_view spec) {
  if (spec.empty()) return std::optional<PartOf>();
  const auto words = split(spec, ' ');
  if (words.size() < 2) {
    return invalid_argument("Need least two elements in shape_and_slice specification: ", spec);
  }
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    std::int64_t size = 0;
    if (!read_number(words[i], size)) {
      return invalid_argument("Non numerical dimension in shape_and_slice: ", spec);
    }
    sizes.push_back(size);
  }
  PartOf part;
  ARGOSY_ASSIGN_OR_RETURN(part.whole, Shape::make(sizes));
  ARGOSY_ASSIGN_OR_RETURN(part.slice, read_slice(words.back()));
  ARGOSY_RETURN_IF_ERROR(check_slice(part.slice, part.whole));
  return std::optional(std::move(part));
}

Status check_slice(const Slice& slice, const Shape& whole) {
  if (static_cast<int>(slice.size()) != whole.rank()) {
    return invalid_argument("Mismatching ranks: a slice of ", slice.size(), " dimensions of a tensor of shape ", whole);
  }
  for (int axis = 0; axis < whole.rank(); ++axis) {
    const Extent e = slice[static_cast<std::size_t>(axis)];
    if (e.length > whole[axis] || (e.length >= 0 && e.start > whole[axis] - e.length)) {
      return invalid_argument("Extent in dimension ", axis, " out of bounds: start = ", e.start,
                              ", length = ", e.length, " of a tensor of shape ", whole);
    }
  }
  return ok_status();
}

Slice whole_slice(int rank) { return Slice(static_cast<std::size_t>(rank)); }

}  // namespace argosy::tf
