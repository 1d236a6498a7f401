// RecentIds: the last few thousand request ids: a client's retry repeats one. Used under a lock.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_set>

namespace argosy::tf {

class RecentIds {
 public:
  // False when `id` is among them. 0 is no id.
  bool add(std::int64_t id);
  bool contains(std::int64_t id) const { return known_.contains(id); }

 private:
  std::unordered_set<std::int64_t> known_;
  std::deque<std::int64_t> order_;
};

}  // namespace argosy::tf
