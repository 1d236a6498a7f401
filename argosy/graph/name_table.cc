#include "argosy/graph/name_table.h"

#include <algorithm>

#include "argosy/base/memory/huge_pages.h"

namespace argosy {

std::uint32_t NameTable::hash_of(std::string_view name) {
  const std::size_t hash = std::hash<std::string_view>()(name);
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

std::size_t NameTable::position(std::string_view name, std::uint32_t hash, const NodeArray& nodes) const {
  if (entries_.empty()) return 0;
  const std::size_t mask = entries_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    const Entry& e = entries_[at];
    if (e.node == kEmpty) return entries_.size();
    if (e.node == kGone || e.hash != hash) continue;
    const bool matches = e.node >= 0 ? nodes[static_cast<std::size_t>(e.node)].name == name
                                     : reserved_[static_cast<std::size_t>(kReserved - e.node)] == name;
    if (matches) return at;
  }
}

std::optional<NodeId> NameTable::find(std::string_view name, const NodeArray& nodes) const {
  const std::size_t at = position(name, hash_of(name), nodes);
  if (at == entries_.size() || entries_[at].node < 0) return std::nullopt;
  return NodeId{entries_[at].node};
}

bool NameTable::add_last(const NodeArray& nodes) {
  const std::string_view name = nodes.back().name;
  const auto id = static_cast<std::int32_t>(nodes.size() - 1);
  const std::uint32_t hash = hash_of(name);
  const std::size_t at = position(name, hash, nodes);
  if (at == entries_.size()) {
    insert({hash, id});
    return true;
  }
  Entry& entry = entries_[at];
  if (entry.node >= 0) return false;
  const auto text = static_cast<std::size_t>(kReserved - entry.node);
  if (text + 1 == reserved_.size()) reserved_.pop_back();
  entry.node = id;
  return true;
}

void NameTable::take_from_last(const NodeArray& nodes) {
  const std::string_view name = nodes.back().name;
  const std::uint32_t hash = hash_of(name);
  entries_[position(name, hash, nodes)].node = kGone;
  reserve(name, hash);
}

std::string NameTable::unique(std::string_view name, const NodeArray& nodes) {
  std::string candidate(name);
  std::uint32_t hash = hash_of(candidate);
  if (position(candidate, hash, nodes) != entries_.size()) {
    auto suffix = suffixes_.find(name);
    if (suffix == suffixes_.end()) suffix = suffixes_.emplace(name, 0).first;
    do {
      candidate = str_cat(name, "_", ++suffix->second);
      hash = hash_of(candidate);
    } while (position(candidate, hash, nodes) != entries_.size());
  }
  reserve(candidate, hash);
  return candidate;
}

void NameTable::reserve(std::string_view name, std::uint32_t hash) {
  insert({hash, kReserved - static_cast<std::int32_t>(reserved_.size())});
  reserved_.emplace_back(name);
}

void NameTable::insert(Entry entry) {
  if ((used_ + 1) * 4 > entries_.size() * 3) grow(std::max<std::size_t>(16, entries_.size() * 2));
  const std::size_t mask = entries_.size() - 1;
  std::size_t at = entry.hash & mask;
  while (entries_[at].node != kEmpty) at = (at + 1) & mask;
  entries_[at] = entry;
  ++used_;
}

void NameTable::grow(std::size_t capacity) {
  std::vector<Entry> old;
  assign_large(old, capacity, Entry());
  old.swap(entries_);
  used_ = 0;
  for (const Entry& entry : old) {
    if (entry.node != kEmpty && entry.node != kGone) insert(entry);
  }
}

void NameTable::index(const NodeArray& nodes) {
  std::vector<Entry> aside;
  for (const Entry& entry : entries_) {
    if (entry.node <= kReserved) aside.push_back(entry);
  }
  std::size_t capacity = 16;
  while (capacity * 3 < (nodes.size() + aside.size()) * 4) capacity *= 2;
  entries_.clear();
  grow(capacity);
  for (std::int32_t i = 0; const Node& node : nodes) insert({hash_of(node.name), i++});
  for (const Entry& entry : aside) {
    if (position(reserved_[static_cast<std::size_t>(kReserved - entry.node)], entry.hash, nodes) == entries_.size()) {
      insert(entry);
    }
  }
}

}  // namespace argosy
