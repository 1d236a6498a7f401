#include "argosy/op/definition/attr_pool.h"

#include <algorithm>
#include <functional>

#include "argosy/op/definition/attr_hash.h"

namespace argosy {

namespace {

// Attributes that no other node has (names of variables, of nodes to be colocated with) would fill any pool: it begins anew.
constexpr std::size_t kMostMaps = 1024;

bool holds_tensors(const AttrMap& attrs) {
  return std::any_of(attrs.begin(), attrs.end(), [](const AttrMap::Entry& e) {
    return std::holds_alternative<Tensor>(e.value) || std::holds_alternative<std::vector<Tensor>>(e.value);
  });
}

}  // namespace

AttrMap AttrPool::shared(const OpDef* op, AttrMap attrs) {
  if (attrs.size() == 0 || holds_tensors(attrs)) return attrs;
  std::size_t hash = std::hash<const void*>()(op);
  for (const auto& [name, value] : attrs) hash = hash * 0x9e3779b97f4a7c15 + hash_attr(value);
  const auto [first, last] = maps_.equal_range(hash);
  const auto found = std::find_if(first, last, [&](const auto& known) { return known.second == attrs; });
  if (found != last) return found->second;
  if (maps_.size() >= kMostMaps) maps_.clear();
  maps_.emplace(hash, attrs);
  return attrs;
}

}  // namespace argosy
