// NameTable: a hash table from the names in use in a graph to their nodes. It does not store the text of node names: an
// entry is eight bytes, in one array, so that graphs of millions of nodes fill and search it quickly. A name may also
// be reserved without a node: the name of a scope, or of a node to come. Not thread-safe.
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
  // Adds the name of nodes.back(). False, without a change: another node has that name.
  bool add_last(const NodeArray& nodes);
  // Undoes add_last() for nodes.back(), but keeps the name reserved.
  void take_from_last(const NodeArray& nodes);
  // Returns `name`, or `name` with the next free suffix "_1", "_2", … if it is in use. Reserves the result.
  std::string unique(std::string_view name, const NodeArray& nodes);
  // Rebuilds the table: the names of all these nodes, and the reserved names. All other names become free.
  void index(const NodeArray& nodes);

 private:
  static constexpr std::int32_t kEmpty = -1, kGone = -2;  // from kReserved down: reserved, reserved_[kReserved - node]
  static constexpr std::int32_t kReserved = -3;
  struct Entry {
    std::uint32_t hash = 0;
    std::int32_t node = kEmpty;
  };
  static std::uint32_t hash_of(std::string_view name);
  // Where the name is, or size() of entries_ when it is not in use.
  std::size_t position(std::string_view name, std::uint32_t hash, const NodeArray& nodes) const;
  void insert(Entry entry);
  void reserve(std::string_view name, std::uint32_t hash);
  void grow(std::size_t capacity);

  std::vector<Entry> entries_;  // open addressing; a power of two
  std::size_t used_ = 0;        // entries that are not kEmpty
  std::vector<std::string> reserved_;
  // By name that was requested again: the next suffix to try.
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, int, Hash, std::equal_to<>> suffixes_;
};

}  // namespace argosy
