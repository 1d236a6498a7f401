#include "argosy/op/definition/attr.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace argosy {

namespace {

std::string one(std::monostate) { return "none"; }
std::string one(std::int64_t v) { return std::to_string(v); }
std::string one(float v) {
  std::string text = str_cat(v);
  // A float attribute stays one when read back.
  if (text.find_first_of(".einf") == std::string::npos) text += ".0";
  return text;
}
std::string one(bool v) { return v ? "true" : "false"; }
std::string one(const std::string& v) {
  std::string text = "\"";
  for (const char c : v) {
    if (c == '"' || c == '\\') text += '\\';
    if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
  return text + "\"";
}
std::string one(DType v) { return std::string(dtype_name(v)); }
std::string one(const PartialShape& v) { return v.has_rank() ? "shape" + v.to_string() : "shape<unknown>"; }
std::string one(const Tensor& v) { return v.to_string(1 << 20); }
std::string one(const FunctionRef& v) { return "@" + v.name; }
template <typename T>
std::string one(const std::vector<T>& v) {
  std::string text = "[";
  for (std::size_t i = 0; i < v.size(); ++i) text += (i > 0 ? ", " : "") + one(static_cast<T>(v[i]));
  return text + "]";
}

bool same(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  if (a.raw() == b.raw()) return true;
  if (a.dtype() == DType::kString) {
    return std::equal(a.data<std::string>(), a.data<std::string>() + a.elements(), b.data<std::string>());
  }
  return is_plain(a.dtype()) && (a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

// By bits: 0 is not -0, and a NaN is itself.
bool same(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }

template <typename T>
bool same(const T& a, const T& b) {
  return a == b;
}
template <typename T>
requires std::same_as<T, float> || std::same_as<T, Tensor>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const T& x, const T& y) { return same(x, y); });
}

bool name_before(const AttrMap::Entry& entry, std::string_view name) { return entry.name < name; }

}  // namespace

std::string attr_to_string(const AttrValue& value) {
  return std::visit([](const auto& v) { return one(v); }, value);
}

bool attr_equal(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  return std::visit([&](const auto& v) { return same(v, std::get<std::decay_t<decltype(v)>>(b)); },
                    static_cast<const AttrVariant&>(a));
}

AttrValue::AttrValue() noexcept = default;
template <typename T>
requires kIsAlternative<T, AttrVariant> AttrValue::AttrValue(T value)
noexcept : AttrVariant(std::in_place_type<T>, std::move(value)) {}
template AttrValue::AttrValue(std::monostate) noexcept;
template AttrValue::AttrValue(std::int64_t) noexcept;
template AttrValue::AttrValue(float) noexcept;
template AttrValue::AttrValue(bool) noexcept;
template AttrValue::AttrValue(std::string) noexcept;
template AttrValue::AttrValue(DType) noexcept;
template AttrValue::AttrValue(PartialShape) noexcept;
template AttrValue::AttrValue(Tensor) noexcept;
template AttrValue::AttrValue(FunctionRef) noexcept;
template AttrValue::AttrValue(std::vector<std::int64_t>) noexcept;
template AttrValue::AttrValue(std::vector<float>) noexcept;
template AttrValue::AttrValue(std::vector<bool>) noexcept;
template AttrValue::AttrValue(std::vector<std::string>) noexcept;
template AttrValue::AttrValue(std::vector<DType>) noexcept;
template AttrValue::AttrValue(std::vector<PartialShape>) noexcept;
template AttrValue::AttrValue(std::vector<Tensor>) noexcept;
template AttrValue::AttrValue(std::vector<FunctionRef>) noexcept;
AttrValue::AttrValue(const AttrValue& other) = default;
AttrValue::AttrValue(AttrValue&& other) noexcept = default;
AttrValue& AttrValue::operator=(const AttrValue& other) = default;
AttrValue& AttrValue::operator=(AttrValue&& other) noexcept = default;
AttrValue::~AttrValue() = default;

AttrMap::AttrMap(std::initializer_list<Entry> entries) {
  if (entries.size() == 0) return;
  changeable().reserve(entries.size());
  for (const Entry& e : entries) set(e.name, e.value);
}

std::span<const AttrMap::Entry> AttrMap::entries() const {
  if (shared_ == nullptr) return {};
  return *shared_;
}

std::vector<AttrMap::Entry>& AttrMap::changeable() {
  if (shared_ == nullptr) {
    shared_ = std::make_shared<std::vector<Entry>>();
  } else if (shared_.use_count() > 1) {
    shared_ = std::make_shared<std::vector<Entry>>(*shared_);
  }
  return *shared_;
}

void AttrMap::set(std::string_view name, AttrValue value) {
  std::vector<Entry>& entries = changeable();
  const auto at = std::lower_bound(entries.begin(), entries.end(), name, name_before);
  if (at != entries.end() && at->name == name) {
    at->value = std::move(value);
  } else {
    entries.insert(at, Entry{std::string(name), std::move(value)});
  }
}

void AttrMap::erase(std::string_view name) {
  if (find(name) == nullptr) return;
  std::erase_if(changeable(), [&](const Entry& e) { return e.name == name; });
}

const AttrValue* AttrMap::find(std::string_view name) const {
  if (shared_ == nullptr) return nullptr;
  for (const Entry& e : *shared_) {  // so few that a search by halves takes longer
    if (e.name.size() == name.size() && e.name == name) return &e.value;
  }
  return nullptr;
}

bool AttrMap::operator==(const AttrMap& other) const {
  return shared_ == other.shared_ ||
         std::equal(begin(), end(), other.begin(), other.end(),
                    [](const Entry& a, const Entry& b) { return a.name == b.name && attr_equal(a.value, b.value); });
}

}  // namespace argosy
