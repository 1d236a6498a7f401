#include "argosy/graph/text_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "argosy/graph/text.h"

namespace argosy::text {

namespace {

// --- out -------------------------------------------------------------------------------------------------------------

template <typename T>
std::string number_text(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (is_complex(dtype_of<T>())) {
    return str_cat("(", number_text(value.real()), ",", number_text(value.imag()), ")");
  } else if constexpr (std::is_same_v<T, double>) {
    return std::isnan(value) ? "nan" : str_cat(value);
  } else {
    return std::isnan(static_cast<float>(value)) ? "nan" : str_cat(static_cast<float>(value));
  }
}

// In a form that is cut long strings are cut as well.
std::string string_text(const std::string& text, int max_values) {
  constexpr std::size_t kShown = 64;
  if (max_values >= TextOptions{}.max_values || text.size() <= kShown) return quote(text);
  return str_cat(quote(text.substr(0, kShown)), "… of ", text.size(), " bytes");
}

std::string tensor_text(const Tensor& t, int max_values) {
  std::string text = str_cat(dtype_name(t.dtype()), t.shape(), " {");
  const std::int64_t shown = std::min<std::int64_t>(max_values, t.elements());
  const auto all = [&](auto&& one) {
    for (std::int64_t i = 0; i < shown; ++i) text += (i > 0 ? ", " : "") + one(i);
  };
  if (t.dtype() == DType::kString) {
    all([&](std::int64_t i) { return string_text(t.data<std::string>()[i], max_values); });
  } else {
    using Printable =
        TypeList<float, double, bfloat16, float16, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                 std::uint16_t, std::uint32_t, std::uint64_t, bool, std::complex<float>, std::complex<double>>;
    const Status printed = dispatch<Printable>(t.dtype(), "print", [&]<typename T>() {
      all([&](std::int64_t i) { return number_text<T>(t.data<T>()[i]); });
      return ok_status();
    });
    if (!printed.ok()) return text + "?}";
  }
  return text + (shown < t.elements() ? str_cat(shown > 0 ? ", " : "", "… of ", t.elements(), "}") : "}");
}

std::string one(std::monostate, int) { return "none"; }
std::string one(std::int64_t v, int) { return std::to_string(v); }
// A float stays one when read back without a definition.
std::string one(float v, int) {
  std::string text = number_text(v);
  if (text.find_first_of(".einf") == std::string::npos) text += ".0";
  return text;
}
std::string one(bool v, int) { return v ? "true" : "false"; }
std::string one(const std::string& v, int max_values) { return string_text(v, max_values); }
std::string one(DType v, int) { return std::string(dtype_name(v)); }
std::string one(const PartialShape& v, int) { return v.has_rank() ? "shape" + v.to_string() : "shape<unknown>"; }
std::string one(const Tensor& v, int max_values) { return tensor_text(v, max_values); }
std::string one(const FunctionRef& v, int) { return "@" + name_text(v.name); }
template <typename T>
std::string one(const std::vector<T>& v, int max_values) {
  std::string text = "[";
  for (std::size_t i = 0; i < v.size(); ++i) text += (i > 0 ? ", " : "") + one(static_cast<T>(v[i]), max_values);
  return text + "]";
}

// --- in --------------------------------------------------------------------------------------------------------------

template <typename T>
bool parse_number(std::string_view word, T& value) {
  if (word.starts_with('+')) return false;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  return failed == std::errc{} && end == word.data() + word.size();
}

template <typename T>
Result<T> read_element(Scanner& in) {
  if constexpr (std::is_same_v<T, std::string>) {
    return in.quoted();
  } else if constexpr (is_complex(dtype_of<T>())) {
    using Part = typename T::value_type;
    if (!in.take("(")) return in.error("expected a complex number such as (1,-2)");
    ARGOSY_ASSIGN_OR_RETURN(const Part real, read_element<Part>(in));
    if (!in.take(",")) return in.error("expected ',' inside a complex number");
    ARGOSY_ASSIGN_OR_RETURN(const Part imag, read_element<Part>(in));
    if (!in.take(")")) return in.error("expected ')' after a complex number");
    return T(real, imag);
  } else {
    const std::string_view word = in.word();
    if constexpr (std::is_same_v<T, bool>) {
      if (word == "true" || word == "false") return word == "true";
    } else if constexpr (std::is_integral_v<T>) {
      T value{};
      if (parse_number(word, value)) return value;
    } else {
      std::conditional_t<std::is_same_v<T, double>, double, float> value{};
      if (parse_number(word, value)) return T(value);
    }
    return in.error(str_cat("\"", word, "\" is no ", dtype_name(dtype_of<T>()), " value"));
  }
}

Result<std::vector<std::int64_t>> read_sizes(Scanner& in, bool may_be_unknown) {
  std::vector<std::int64_t> sizes;
  if (!in.take("[")) return in.error("expected the sizes of a shape in brackets");
  while (!in.take("]")) {
    if (!sizes.empty() && !in.take(",")) return in.error("expected ',' or ']' in a shape");
    if (may_be_unknown && in.take("?")) {
      sizes.push_back(PartialShape::kUnknown);
    } else {
      ARGOSY_ASSIGN_OR_RETURN(const std::int64_t size, in.integer("a size"));
      if (size < 0) return in.error("a size may not be negative");
      sizes.push_back(size);
    }
    if (sizes.size() > Shape::kMaxRank) return in.error("a shape has at most 254 axes");
  }
  return sizes;
}

template <typename T>
Result<Tensor> read_elements(Scanner& in, Shape shape) {
  std::vector<T> values;  // as many as there are, whatever the shape claims
  if (!in.take("{")) return in.error("expected the values of a tensor in braces");
  while (!in.take("}")) {
    if (!values.empty() && !in.take(",")) return in.error("expected ',' or '}' in a tensor");
    if (in.take("…")) return in.error("this tensor was cut short when it was printed");
    ARGOSY_ASSIGN_OR_RETURN(T value, read_element<T>(in));
    values.push_back(std::move(value));
  }
  if (static_cast<std::int64_t>(values.size()) != shape.elements()) {
    return in.error(str_cat("a tensor of shape ", shape, " has ", shape.elements(), " values, not ", values.size()));
  }
  Tensor t = Tensor::zeros(dtype_of<T>(), std::move(shape));
  std::move(values.begin(), values.end(), t.data<T>());
  return t;
}

Result<AttrValue> read_tensor(Scanner& in, DType dtype) {
  ARGOSY_ASSIGN_OR_RETURN(const auto sizes, read_sizes(in, false));
  auto shape = Shape::make(sizes);
  if (!shape.ok()) return in.error(shape.status().message());
  using Readable = TypeList<float, double, bfloat16, float16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                            std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool, std::complex<float>,
                            std::complex<double>, std::string>;
  Tensor t;
  Status bad;
  const Status known = dispatch<Readable>(dtype, "text", [&]<typename T>() {
    auto read = read_elements<T>(in, *shape);
    if (read.ok()) {
      t = *std::move(read);
    } else {
      bad = read.status();
    }
    return ok_status();
  });
  if (!known.ok()) return in.error(str_cat("tensors of ", dtype_name(dtype), " have no text form"));
  if (!bad.ok()) return bad;
  return AttrValue(std::move(t));
}

Result<AttrValue> read_scalar(Scanner& in) {
  if (in.next_is('"')) {
    ARGOSY_ASSIGN_OR_RETURN(std::string s, in.quoted());
    return AttrValue(std::move(s));
  }
  if (in.take("@")) {
    ARGOSY_ASSIGN_OR_RETURN(std::string name, in.name("the name of a function"));
    return AttrValue(FunctionRef{std::move(name)});
  }
  if (in.take("shape<unknown>")) return AttrValue(PartialShape::unknown());
  const std::size_t start = in.position();
  const std::string_view word = in.word();
  if (word == "shape") {
    ARGOSY_ASSIGN_OR_RETURN(auto sizes, read_sizes(in, true));
    std::vector<std::int64_t> known;
    std::copy_if(sizes.begin(), sizes.end(), std::back_inserter(known), [](std::int64_t size) { return size >= 0; });
    if (const auto countable = Shape::make(known); !countable.ok()) return in.error(countable.status().message());
    return AttrValue(PartialShape(std::move(sizes)));
  }
  if (word == "true" || word == "false") return AttrValue(word == "true");
  if (word == "none") return AttrValue(std::monostate{});
  std::int64_t n = 0;
  if (parse_number(word, n)) return AttrValue(n);
  float f = 0;
  if (parse_number(word, f)) return AttrValue(f);
  const DType dtype = parse_dtype(word);
  if (dtype == DType::kInvalid) return in.error_at(start, str_cat("\"", word, "\" is no attribute value"));
  if (in.next_is('[')) return read_tensor(in, dtype);
  return AttrValue(dtype);
}

// An int literal serves where a float is wanted.
AttrValue as_kind(AttrValue value, AttrKind kind) {
  if (kind == AttrKind::kFloat || kind == AttrKind::kFloats) {
    if (const auto* n = std::get_if<std::int64_t>(&value)) return AttrValue(static_cast<float>(*n));
  }
  return value;
}

AttrKind element_kind(AttrKind list) {
  return static_cast<AttrKind>(static_cast<int>(list) - static_cast<int>(AttrKind::kInts));
}
bool is_list(AttrKind kind) { return kind >= AttrKind::kInts; }

// AttrValue's alternatives stand in the order of AttrKind, one later (monostate comes first).
AttrKind kind_of(const AttrValue& value) { return static_cast<AttrKind>(static_cast<int>(value.index()) - 1); }

template <typename T>
AttrValue list_of(const std::vector<AttrValue>& items) {
  std::vector<T> list;
  for (const AttrValue& item : items) list.push_back(std::get<T>(item));
  return AttrValue(std::move(list));
}

AttrValue make_list(AttrKind element, const std::vector<AttrValue>& items) {
  switch (element) {
    case AttrKind::kInt: return list_of<std::int64_t>(items);
    case AttrKind::kFloat: return list_of<float>(items);
    case AttrKind::kBool: return list_of<bool>(items);
    case AttrKind::kType: return list_of<DType>(items);
    case AttrKind::kShape: return list_of<PartialShape>(items);
    case AttrKind::kTensor: return list_of<Tensor>(items);
    case AttrKind::kFunction: return list_of<FunctionRef>(items);
    default: return list_of<std::string>(items);
  }
}

Result<AttrValue> read_list(Scanner& in, const AttrDef* def) {
  std::vector<AttrValue> items;
  // Without a definition the first item decides; an empty list is one of strings.
  AttrKind element = def != nullptr && is_list(def->kind) ? element_kind(def->kind) : AttrKind::kString;
  const bool decided = def != nullptr && is_list(def->kind);
  while (!in.take("]")) {
    if (!items.empty() && !in.take(",")) return in.error("expected ',' or ']' in a list");
    const std::size_t start = in.position();
    ARGOSY_ASSIGN_OR_RETURN(AttrValue item, read_scalar(in));
    if (std::holds_alternative<std::monostate>(item)) return in.error_at(start, "a list holds no none");
    if (!decided && items.empty()) element = kind_of(item);
    item = as_kind(std::move(item), element);
    if (kind_of(item) != element) return in.error_at(start, "this item is not of the list's kind");
    items.push_back(std::move(item));
  }
  return make_list(element, items);
}

}  // namespace

std::string value_text(const AttrValue& value, int max_values) {
  return std::visit([&](const auto& v) { return one(v, max_values); }, value);
}

Result<AttrValue> read_value(Scanner& in, const AttrDef* def) {
  if (in.take("[")) return read_list(in, def);
  ARGOSY_ASSIGN_OR_RETURN(AttrValue value, read_scalar(in));
  return def != nullptr ? as_kind(std::move(value), def->kind) : value;
}

}  // namespace argosy::text
