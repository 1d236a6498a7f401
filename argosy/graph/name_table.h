// NameTable: the names in use in a graph, and the node that each names. The text of a node's name is the graph's;
// the table holds eight bytes a name, in one array, so that graphs of millions of nodes fill and search it quickly.
// Names may also be set aside: in use, but no node's yet (scopes, names to come). Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "argosy/graph/node_array.h"

namespace argosy {

class NameTable {
 public:
  // `nodes` is the graph's array, the same in every call: a name that the table holds for a node is nodes[node].name.
  std::optional<NodeId> find(std::string_view name, const NodeArray& nodes) const;
  // The name is nodes.back()'s from now on. False, and nothing changed, when it is another node's.
  bool add_last(const NodeArray& nodes);
  // The name that add_last() gave to nodes.back() is only set aside.
  void take_from_last(const NodeArray& nodes);
  // `name` or, where that is in use, `name` with the next suffix that is not: "_1", "_2" … Sets it aside.
  std::string unique(std::string_view name, const NodeArray& nodes);
  // The names of these nodes, all of them, and those set aside that none of them has; others are free again.
  void index(const NodeArray& nodes);

 private:
  static constexpr std::int32_t kEmpty = -1, kGone = -2;  // below: set aside, set_aside_[kSetAside - node]
  static constexpr std::int32_t kSetAside = -3;
  struct Entry {
    std::uint32_t hash = 0;
    std::int32_t node = kEmpty;
  };
  static std::uint32_t hash_of(std::string_view name);
  // Where the name is, or size() of entries_ when it is not in use.
  std::size_t position(std::string_view name, std::uint32_t hash, const NodeArray& nodes) const;
  void insert(Entry entry);
  void set_aside(std::string_view name, std::uint32_t hash);
  void grow(std::size_t capacity);

  std::vector<Entry> entries_;  // open addressing; a power of two
  std::size_t used_ = 0;        // entries that are not kEmpty
  std::vector<std::string> set_aside_;
  // Of names that were asked for again: the next suffix to try.
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, int, Hash, std::equal_to<>> suffixes_;
};

}  // namespace argosy
