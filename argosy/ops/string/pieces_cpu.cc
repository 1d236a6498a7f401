// Kernels: substrings, splitting, n-grams, joining by segment.
#include <algorithm>

#include "argosy/base/threads/interrupt.h"
#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/string/each_string.h"
#include "argosy/ops/string/string_registration.h"
#include "argosy/tensor/ints.h"

namespace argosy {

namespace {

// --- Substr ----------------------------------------------------------------------------------------------------------

// The byte at which the character `count` characters after byte `at` starts; the end when there are fewer.
std::size_t forward(std::string_view text, std::size_t at, std::int64_t count, bool* reached = nullptr) {
  for (; count > 0 && at < text.size(); --count) {
    do {
      ++at;
    } while (at < text.size() && is_utf8_continuation(text[at]));
  }
  if (reached != nullptr) *reached = count <= 0;
  return at;
}
std::size_t backward(std::string_view text, std::int64_t count, bool* reached) {
  std::size_t at = text.size();
  for (; count > 0 && at > 0; --count) {
    do {
      --at;
    } while (at > 0 && is_utf8_continuation(text[at]));
  }
  *reached = count <= 0;
  return at;
}

// False: pos is out of range.
bool cut(std::string_view text, std::int64_t pos, std::int64_t length, bool characters, std::string& to) {
  const auto size = static_cast<std::int64_t>(text.size());
  if (!characters) {
    if (pos > size || pos < -size) return false;
    text.remove_prefix(static_cast<std::size_t>(pos < 0 ? size + pos : pos));
    to = length < 0 ? text : text.substr(0, static_cast<std::size_t>(length));
    return true;
  }
  if (pos < -size) return false;
  bool inside = false;
  const std::size_t from = pos < 0 ? backward(text, -pos, &inside) : forward(text, 0, pos, &inside);
  if (!inside) return false;
  to = text.substr(from, forward(text, from, length) - from);
  return true;
}

// Steps through a tensor of sizes `from` as it is broadcast to `to`.
Ints broadcast_strides(const Shape& from, const Shape& to) {
  Ints strides = Ints::filled(to.rank(), 0);
  const Ints own = row_major(from.sizes());
  for (int i = 0; i < from.rank(); ++i) {
    if (from[i] != 1) strides[to.rank() - from.rank() + i] = own[i];
  }
  return strides;
}
std::int64_t offset(const Shape& shape, const Ints& strides, std::int64_t index) {
  std::int64_t at = 0;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    at += index % shape[i] * strides[i];
    index /= shape[i];
  }
  return at;
}

Status substr(KernelContext& c, const AttrMap& attrs) {
  const Tensor& x = c.input(0);
  const Tensor& pos = c.input(1);
  const Tensor& len = c.input(2);
  const bool characters = attrs.get_string("unit") == "UTF8_CHAR";
  if (pos.shape() != len.shape()) {
    return invalid_argument("pos and len should have the same shape, got: ", pos.shape(), " vs. ", len.shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, broadcast(x.shape(), pos.shape()));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  const Ints text_strides = broadcast_strides(x.shape(), shape), at_strides = broadcast_strides(pos.shape(), shape);
  return dispatch<IndexTypes>(pos.dtype(), "Substr", [&]<typename T>() {
    Poll poll(64);
    MadeStrings made;
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      poll();
      const std::string& text = x.data<std::string>()[offset(shape, text_strides, i)];
      const std::int64_t at = offset(shape, at_strides, i);
      const std::int64_t from = pos.data<T>()[at];
      std::string piece;  // the output may not be touched before: it may be the input's memory
      if (!cut(text, from, len.data<T>()[at], characters, piece)) {
        return invalid_argument("pos ", from, " out of range for string b'", text, "' at index ", i);
      }
      ARGOSY_RETURN_IF_ERROR(made.add(static_cast<std::int64_t>(piece.capacity())));
      y->data<std::string>()[i] = std::move(piece);
    }
    return ok_status();
  });
}

// --- StringSplit -----------------------------------------------------------------------------------------------------

// Of one text. Their number is the text's: the list is counted as it grows. After a refusal it stays as it is.
class Pieces {
 public:
  explicit Pieces(MadeStrings& made) : made_(&made) {}
  void push_back(std::string_view piece) {
    if (list_.size() == list_.capacity()) {
      const std::size_t room = std::max<std::size_t>(4, 2 * list_.capacity());
      if (status_.ok()) status_ = made_->add(static_cast<std::int64_t>((room - list_.size()) * sizeof(piece)));
      if (!status_.ok()) return;
      list_.reserve(room);
    }
    list_.push_back(piece);
  }
  std::size_t size() const { return list_.size(); }
  std::string_view operator[](std::size_t i) const { return list_[i]; }
  const Status& status() const { return status_; }

 private:
  MadeStrings* made_;
  std::vector<std::string_view> list_;
  Status status_;
};

// Between any of the characters; without any, every byte.
Pieces split_at_any(std::string_view text, std::string_view delimiters, bool skip_empty, MadeStrings& made) {
  Pieces pieces(made);
  if (text.empty()) return pieces;
  if (delimiters.empty()) {
    for (std::size_t i = 0; i < text.size(); ++i) pieces.push_back(text.substr(i, 1));
    return pieces;
  }
  for (;;) {
    const std::size_t end = text.find_first_of(delimiters);
    const std::string_view piece = text.substr(0, end);
    if (!piece.empty() || !skip_empty) pieces.push_back(piece);
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

// At white space, which counts neither at the start nor twice. After `most` pieces the rest is one.
Pieces split_at_space(std::string_view text, std::int64_t most, MadeStrings& made) {
  Pieces pieces(made);
  const auto skip = [&] {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  };
  skip();
  while (!text.empty()) {
    const auto end = static_cast<std::size_t>(std::find_if(text.begin(), text.end(), is_space) - text.begin());
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end);
    skip();
    if (most > 0 && static_cast<std::int64_t>(pieces.size()) == most) {
      pieces.push_back(text);
      break;
    }
  }
  return pieces;
}

Pieces split_at(std::string_view text, std::string_view separator, std::int64_t most, MadeStrings& made) {
  if (most != 0 && separator.empty()) return split_at_space(text, most, made);
  Pieces pieces(made);
  if (most == 0) {
    pieces.push_back(text);
    return pieces;
  }
  for (;;) {
    const bool last = most > 0 && static_cast<std::int64_t>(pieces.size()) == most;
    const std::size_t end = last ? std::string_view::npos : text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + separator.size());
  }
}

// Rows of pieces as a sparse matrix: indices, values, shape.
template <typename Split>
Status split_rows(KernelContext& c, Split&& split) {
  const Tensor& x = c.input(0);
  if (x.shape().rank() != 1) return invalid_argument("input must be a vector, got shape: ", x.shape());
  std::vector<Pieces> rows;
  std::int64_t total = 0, longest = 0;
  Poll poll(64);
  MadeStrings made;
  for (const std::string& text : x.values<std::string>()) {
    poll();
    rows.push_back(split(text, made));
    ARGOSY_RETURN_IF_ERROR(Status(rows.back().status()));
    ARGOSY_RETURN_IF_ERROR(made.add(static_cast<std::int64_t>(text.size())));  // of the pieces
    const auto n = static_cast<std::int64_t>(rows.back().size());
    total += n;
    longest = std::max(longest, n);
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const indices, c.output(0, {total, 2}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const values, c.output(1, {total}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const shape, c.output(2, {2}));
  auto* index = indices->data<std::int64_t>();
  std::string* value = values->data<std::string>();
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t k = 0; k < rows[row].size(); ++k) {
      *index++ = static_cast<std::int64_t>(row);
      *index++ = static_cast<std::int64_t>(k);
      *value++ = rows[row][k];
    }
  }
  shape->data<std::int64_t>()[0] = x.elements();
  shape->data<std::int64_t>()[1] = longest;
  return ok_status();
}

Status string_split(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const std::string_view delimiters, one_string(c, 1, "delimiter"));
  const bool skip = attrs.get_bool("skip_empty");
  return split_rows(
      c, [&](std::string_view text, MadeStrings& made) { return split_at_any(text, delimiters, skip, made); });
}

Status string_split_v2(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const std::string_view separator, one_string(c, 1, "sep"));
  const std::int64_t most = attrs.get_int("maxsplit");
  return split_rows(c, [&](std::string_view text, MadeStrings& made) { return split_at(text, separator, most, made); });
}

// --- UnsortedSegmentJoin ---------------------------------------------------------------------------------------------

Status segment_join(KernelContext& c, const AttrMap& attrs) {
  const std::string& separator = attrs.get_string("separator");
  const Tensor& x = c.input(0);
  const Tensor& ids = c.input(1);
  if (c.input(2).shape().rank() != 0) return invalid_argument("UnsortedSegmentJoin: num_segments must be a scalar");
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t segments, to_int64(c.input(2), "UnsortedSegmentJoin: num_segments"));
  if (segments < 0) return invalid_argument("num_segments must be non-negative, not ", segments);
  bool fits = ids.shape().rank() >= 1 && ids.shape().rank() <= x.shape().rank();
  for (int i = 0; fits && i < ids.shape().rank(); ++i) fits = ids.shape()[i] == x.shape()[i];
  if (!fits) {
    return invalid_argument("the shape of inputs, ", x.shape(), ", must start with that of segment_ids, ", ids.shape());
  }
  std::vector<std::int64_t> sizes = {segments};
  for (int i = ids.shape().rank(); i < x.shape().rank(); ++i) sizes.push_back(x.shape()[i]);
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  const std::int64_t width = ids.elements() > 0 ? x.elements() / ids.elements() : 0;
  return dispatch<IndexTypes>(ids.dtype(), "UnsortedSegmentJoin", [&]<typename T>() {
    Poll poll(64);
    MadeStrings made;
    for (std::int64_t i = 0; i < ids.elements(); ++i) {
      const std::int64_t to = ids.data<T>()[i];
      if (to < 0 || to >= segments) {
        return invalid_argument("segment_ids[", i, "] = ", to, " is out of range [0, ", segments, ")");
      }
      for (std::int64_t k = 0; k < width; ++k) {
        std::string& joined = y->data<std::string>()[to * width + k];
        poll();
        if (!joined.empty()) ARGOSY_RETURN_IF_ERROR(made.append(joined, separator));
        ARGOSY_RETURN_IF_ERROR(made.append(joined, x.data<std::string>()[i * width + k]));
      }
    }
    return ok_status();
  });
}

// --- StringNGrams ----------------------------------------------------------------------------------------------------

struct NGrams {
  explicit NGrams(const AttrMap& attrs)
      : separator(attrs.get_string("separator")),
        left(attrs.get_string("left_pad")),
        right(attrs.get_string("right_pad")),
        pad(attrs.get_int("pad_width")) {}

  // Pads on either side of a row for n-grams of this width.
  std::int64_t pads(std::int64_t width) const { return std::min(pad < 0 ? width - 1 : pad, width - 1); }
  std::int64_t count(std::int64_t length, std::int64_t width) const {
    return std::max<std::int64_t>(0, length + 2 * pads(width) - width + 1);
  }
  // N-gram `at` of `count` over a row.
  Status make(std::span<const std::string> row, std::int64_t width, std::int64_t at, std::int64_t count,
              MadeStrings& made, std::string& text) const {
    const std::int64_t before = std::max<std::int64_t>(0, pads(width) - at);
    const std::int64_t after = std::max<std::int64_t>(0, pads(width) - (count - (at + 1)));
    const std::int64_t begin = before > 0 ? 0 : at - pads(width);
    const auto each_part = [&](auto&& fn) {
      for (std::int64_t i = 0; i < before; ++i) fn(left);
      for (std::int64_t i = 0; i < width - before - after; ++i) fn(row[static_cast<std::size_t>(begin + i)]);
      for (std::int64_t i = 0; i < after; ++i) fn(right);
    };
    std::size_t bytes = 0;
    each_part([&](const std::string& part) { bytes += part.size() + separator.size(); });
    ARGOSY_RETURN_IF_ERROR(made.add(sizeof(std::string)));
    ARGOSY_RETURN_IF_ERROR(made.reserve(text, bytes));
    std::int64_t parts = 0;
    each_part([&](const std::string& part) {
      if (parts++ > 0) text += separator;
      text += part;
    });
    return ok_status();
  }

  const std::string separator, left, right;
  const std::int64_t pad;
};

constexpr std::int64_t kMostParts = std::int64_t{1} << 28;

template <typename T>
Status ngrams(KernelContext& c, const AttrMap& attrs) {
  const NGrams grams(attrs);
  const std::vector<std::int64_t>& widths = attrs.get<std::vector<std::int64_t>>("ngram_widths");
  const bool keep_short = attrs.get_bool("preserve_short_sequences");
  const std::span<const std::string> data = c.input(0).values<std::string>();
  const std::span<const T> splits = c.input(1).values<T>();
  std::vector<std::string> made;
  MadeStrings counted;
  std::int64_t parts = 0;  // of all n-grams: what their memory grows with
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const out_splits, c.output(1, c.input(1).shape()));
  T* ends = out_splits->data<T>();
  for (std::size_t i = 0; i < splits.size(); ++i) {
    if (i > 0 && !data.empty()) {
      const std::span<const std::string> row =
          data.subspan(static_cast<std::size_t>(splits[i - 1]), static_cast<std::size_t>(splits[i] - splits[i - 1]));
      const auto length = static_cast<std::int64_t>(row.size());
      const std::size_t before = made.size();
      const auto add = [&](std::int64_t width, std::int64_t count) {
        if (count > 0 && (width > kMostParts / count || (parts += width * count) > kMostParts)) {
          return resource_exhausted("n-grams of more than ", kMostParts, " parts");
        }
        Poll poll(64);
        for (std::int64_t at = 0; at < count; ++at) {
          poll();
          ARGOSY_RETURN_IF_ERROR(grams.make(row, width, at, count, counted, made.emplace_back()));
        }
        return ok_status();
      };
      for (const std::int64_t width : widths) ARGOSY_RETURN_IF_ERROR(add(width, grams.count(length, width)));
      if (keep_short && made.size() == before && length > 0) {
        if (grams.pad < 0) {
          return invalid_argument(
              "Pad width should be >= 0 when preserve_short_sequences is True and ngram_widths are ",
              "not provided, got ", grams.pad);
        }
        if (grams.pad > kMostParts) return resource_exhausted("n-grams of more than ", kMostParts, " parts");
        ARGOSY_RETURN_IF_ERROR(add(length + 2 * grams.pad, 1));
      }
    }
    *ends++ = static_cast<T>(made.size());
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {static_cast<std::int64_t>(made.size())}));
  std::move(made.begin(), made.end(), y->data<std::string>());
  return ok_status();
}

Status string_ngrams(KernelContext& c, const AttrMap& attrs) {
  const Tensor& splits = c.input(1);
  if (c.input(0).shape().rank() != 1 || splits.shape().rank() != 1) {
    return invalid_argument("StringNGrams: data and data_splits must be vectors, not of shapes ", c.input(0).shape(),
                            " and ", splits.shape());
  }
  for (const std::int64_t width : attrs.get<std::vector<std::int64_t>>("ngram_widths")) {
    if (width < 1) return invalid_argument("ngram_widths must contain positive values, not ", width);
    if (width > kMostParts) return resource_exhausted("n-grams of more than ", kMostParts, " parts");
  }
  ARGOSY_ASSIGN_OR_RETURN(const Ints ends, read_ints(splits, "StringNGrams: data_splits"));
  if (!ends.empty() && ends[0] != 0) return invalid_argument("First split value must be 0, got ", ends[0]);
  for (int i = 1; i < ends.size(); ++i) {
    if (ends[i] < ends[i - 1] || ends[i] > c.input(0).elements()) {
      return invalid_argument("Invalid split value ", ends[i], ", must be in [", ends[i - 1], ", ",
                              c.input(0).elements(), "]");
    }
  }
  if (!ends.empty() && ends.back() != c.input(0).elements()) {
    return invalid_argument("Last split value must be data size. Expected ", c.input(0).elements(), ", got ",
                            ends.back());
  }
  return dispatch<IndexTypes>(splits.dtype(), "StringNGrams", [&]<typename T>() { return ngrams<T>(c, attrs); });
}

}  // namespace

void add_kernels_cpu_pieces(KernelRegistry& kernels) {
  kernels.add("Substr", "cpu", AttrKernel<substr>::make);
  kernels.add("StringSplit", "cpu", AttrKernel<string_split>::make);
  kernels.add("StringSplitV2", "cpu", AttrKernel<string_split_v2>::make);
  kernels.add("StringNGrams", "cpu", AttrKernel<string_ngrams>::make);
  kernels.add("UnsortedSegmentJoin", "cpu", AttrKernel<segment_join>::make);
}

}  // namespace argosy
