// Attributes: the compile-time arguments of a node. Kinds are TensorFlow's.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
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
  std::string name;  // of the function
  bool operator==(const FunctionRef&) const = default;
};

// The kinds of values that an attribute may have.
using AttrVariant =
    std::variant<std::monostate, std::int64_t, float, bool, std::string, DType, PartialShape, Tensor, FunctionRef,
                 std::vector<std::int64_t>, std::vector<float>, std::vector<bool>, std::vector<std::string>,
                 std::vector<DType>, std::vector<PartialShape>, std::vector<Tensor>, std::vector<FunctionRef>>;

template <typename T, typename Variant>
inline constexpr bool kIsAlternative = false;  // T is an alternative of the variant
template <typename T, typename... Types>
inline constexpr bool kIsAlternative<T, std::variant<Types...>> = (std::is_same_v<T, Types> || ...);

// The value of an attribute; read it with std::get, std::get_if or std::visit. std::monostate: no value (an AttrDef
// without a default). Its copy, move and destructor are defined in attr.cc. Inline they took a third of the compile
// time of every file of ops.
class AttrValue : public AttrVariant {
 public:
  AttrValue() noexcept;
  // NOLINTBEGIN(google-explicit-constructor): call sites write plain values
  // A value of one of the kinds, without a conversion.
  template <typename T>
  requires kIsAlternative<T, AttrVariant> AttrValue(T value)
  noexcept;
  // Integers of any width, doubles and string literals are converted to TensorFlow's kind: int64, float, string.
  template <std::integral T>
  requires(!kIsAlternative<T, AttrVariant>) AttrValue(T value)
  noexcept : AttrValue(static_cast<std::int64_t>(value)) {}
  AttrValue(double value) noexcept : AttrValue(static_cast<float>(value)) {}  // converted to float
  AttrValue(const char* value) : AttrValue(std::string(value)) {}             // a string
  // NOLINTEND
  // Copies the value.
  AttrValue(const AttrValue& other);
  AttrValue(AttrValue&& other) noexcept;             // The other one is empty then.
  AttrValue& operator=(const AttrValue& other);      // Copies the value.
  AttrValue& operator=(AttrValue&& other) noexcept;  // The other one is empty then.
  ~AttrValue();
};

// "3", "0.5", "true", "\"SAME\"", "float", "[?,3]", a tensor, "@body", or a list of these in brackets.
std::string attr_to_string(const AttrValue& value);
// Tensors compare by dtype, shape and bytes.
bool attr_equal(const AttrValue& a, const AttrValue& b);

// Attributes by name: a sorted vector of (name, value). A call site writes {{"transpose_a", true}, {"padding",
// "SAME"}}. Copies share the vector until one of them changes (copy-on-write): passes copy nodes often and change few
// attributes. Threads may read and copy one AttrMap concurrently, and change their own copies.
class AttrMap {
 public:
  // An attribute.
  struct Entry {
    std::string name;  // unique in the map
    AttrValue value;   // its value
  };

  AttrMap() = default;
  AttrMap(std::initializer_list<Entry> entries);  // in any order

  void set(std::string_view name, AttrValue value);  // adds or replaces
  void erase(std::string_view name);                 // nothing where there is none
  // Null when absent.
  const AttrValue* find(std::string_view name) const;
  // Null when absent, or of another kind.
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
  // These are get<T>() for one kind each.
  std::int64_t get_int(std::string_view name) const { return get<std::int64_t>(name); }
  bool get_bool(std::string_view name) const { return get<bool>(name); }     // REQUIRES: there is one of this type
  float get_float(std::string_view name) const { return get<float>(name); }  // REQUIRES: there is one of this type
  // REQUIRES: there is one of this type.
  const std::string& get_string(std::string_view name) const { return get<std::string>(name); }
  DType get_type(std::string_view name) const { return get<DType>(name); }  // REQUIRES: there is one of this type

  std::size_t size() const { return entries().size(); }           // number of attributes
  const Entry* begin() const { return entries().data(); }         // sorted by name
  const Entry* end() const { return entries().data() + size(); }  // sorted by name
  bool operator==(const AttrMap& other) const;                    // equal names and values

 private:
  std::span<const Entry> entries() const;
  std::vector<Entry>& changeable();

  std::shared_ptr<std::vector<Entry>> shared_;  // null: empty
};

}  // namespace argosy
