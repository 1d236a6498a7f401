#include "argosy/op/definition/attr_hash.h"

#include <bit>
#include <functional>
#include <string_view>

namespace argosy {

namespace {

std::size_t combine(std::size_t seed, std::size_t value) { return (seed ^ value) * 0x9e3779b97f4a7c15 + (seed >> 29); }

struct Hash {
  std::size_t operator()(std::monostate) const { return 1; }
  std::size_t operator()(std::int64_t v) const { return static_cast<std::size_t>(v); }
  std::size_t operator()(float v) const { return std::bit_cast<std::uint32_t>(v); }  // -0 is not 0
  std::size_t operator()(bool v) const { return v ? 2 : 3; }
  std::size_t operator()(const std::string& v) const { return std::hash<std::string>()(v); }
  std::size_t operator()(DType v) const { return static_cast<std::size_t>(v) + 16; }
  std::size_t operator()(const PartialShape& v) const {
    std::size_t h = v.has_rank() ? 5 : 7;
    for (const std::int64_t size : v.sizes()) h = combine(h, static_cast<std::size_t>(size));
    return h;
  }
  std::size_t operator()(const Tensor& v) const {
    return combine((*this)(v.dtype()), (*this)(PartialShape(v.shape())));
  }
  std::size_t operator()(const FunctionRef& v) const { return std::hash<std::string>()(v.name); }
  template <typename T>
  std::size_t operator()(const std::vector<T>& list) const {
    std::size_t h = list.size();
    for (std::size_t i = 0; i < list.size(); ++i) h = combine(h, (*this)(static_cast<const T&>(list[i])));
    return h;
  }
  std::size_t operator()(const std::vector<bool>& list) const { return std::hash<std::vector<bool>>()(list); }
};

}  // namespace

std::size_t hash_attr(const AttrValue& value) {
  return combine(value.index(), std::visit(Hash(), static_cast<const AttrVariant&>(value)));
}

}  // namespace argosy
