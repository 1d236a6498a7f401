// Attributes: the compile-time arguments of a node. Kinds are TensorFlow's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

class AttrMap;

// The name of a function of the graph, as an attribute (a branch, a loop body).
struct FunctionRef {
  std::string name;
  bool operator==(const FunctionRef&) const = default;
};

// std::monostate: no value (an AttrDef without a default).
using AttrValue =
    std::variant<std::monostate, std::int64_t, float, bool, std::string, DType, PartialShape, Tensor, FunctionRef,
                 std::vector<std::int64_t>, std::vector<float>, std::vector<bool>, std::vector<std::string>,
                 std::vector<DType>, std::vector<PartialShape>, std::vector<Tensor>, std::vector<FunctionRef>>;

// "3", "0.5", "true", "\"SAME\"", "float", "[?,3]", a tensor, "@body", or a list of these in brackets.
std::string attr_to_string(const AttrValue& value);
// Tensors compare by dtype, shape and bytes.
bool attr_equal(const AttrValue& a, const AttrValue& b);

// A sorted small vector of (name, value). What a call site writes: {{"transpose_a", true}, {"padding", "SAME"}}.
class AttrMap {
 public:
  struct Entry {
    // Integers of any width, doubles and string literals land on the kind that TensorFlow has for them.
    template <std::integral T>
    requires(!std::is_same_v<T, bool>) Entry(std::string n, T v)
        : name(std::move(n)), value(static_cast<std::int64_t>(v)) {}
    Entry(std::string n, double v) : name(std::move(n)), value(static_cast<float>(v)) {}
    Entry(std::string n, float v) : name(std::move(n)), value(v) {}
    Entry(std::string n, bool v) : name(std::move(n)), value(v) {}
    Entry(std::string n, const char* v) : name(std::move(n)), value(std::string(v)) {}
    Entry(std::string n, AttrValue v) : name(std::move(n)), value(std::move(v)) {}
    template <typename T>
    requires(std::is_constructible_v<AttrValue, T> && !std::is_arithmetic_v<T> && !std::is_same_v<T, AttrValue>)
        Entry(std::string n, T v)
        : name(std::move(n)), value(AttrValue(std::move(v))) {}

    std::string name;
    AttrValue value;
  };

  AttrMap() = default;
  AttrMap(std::initializer_list<Entry> entries) {
    for (const Entry& e : entries) set(e.name, e.value);
  }

  void set(std::string_view name, AttrValue value);
  void erase(std::string_view name);
  // Null when absent.
  const AttrValue* find(std::string_view name) const;
  template <typename T>
  const T* find_as(std::string_view name) const {
    const AttrValue* v = find(name);
    return v ? std::get_if<T>(v) : nullptr;
  }
  // The value, or `other` when it is absent or of another kind.
  template <typename T>
  T get_or(std::string_view name, T other) const {
    const T* v = find_as<T>(name);
    return v ? *v : other;
  }
  // REQUIRES: present and of this kind: true for every attribute of the node's OpDef, checked when the node was added.
  template <typename T>
  const T& get(std::string_view name) const {
    const T* v = find_as<T>(name);
    ARGOSY_CHECK(v != nullptr);
    return *v;
  }
  std::int64_t get_int(std::string_view name) const { return get<std::int64_t>(name); }
  bool get_bool(std::string_view name) const { return get<bool>(name); }
  float get_float(std::string_view name) const { return get<float>(name); }
  const std::string& get_string(std::string_view name) const { return get<std::string>(name); }
  DType get_type(std::string_view name) const { return get<DType>(name); }

  std::size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  bool operator==(const AttrMap& other) const;

 private:
  std::vector<Entry> entries_;
};

}  // namespace argosy
