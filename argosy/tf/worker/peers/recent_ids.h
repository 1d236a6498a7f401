// RecentIds: remembers the last few thousand request ids, to detect clients' retries. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_set>

namespace argosy::tf {

class RecentIds {
 public:
  // Adds an id. False: it was added before. 0 means no id, and is not added.
  bool add(std::int64_t id);
  bool contains(std::int64_t id) const { return known_.contains(id); }

 private:
  std::unordered_set<std::int64_t> known_;
  std::deque<std::int64_t> order_;
};

}  // namespace argosy::tf
