#include "argosy/tf/worker/peers/recent_ids.h"

namespace argosy::tf {

namespace {
constexpr std::size_t kRecentIds = 8192;
}  // namespace

bool RecentIds::add(std::int64_t id) {
  if (id == 0) return true;
  if (!known_.insert(id).second) return false;
  order_.push_back(id);
  if (order_.size() > kRecentIds) {
    known_.erase(order_.front());
    order_.pop_front();
  }
  return true;
}

}  // namespace argosy::tf
