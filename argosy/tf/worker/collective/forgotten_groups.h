// ForgottenGroups: remembers why groups were removed, for members that join too late. Not thread-safe; of bounded size.
#pragma once

#include <cstdint>
#include <map>

#include "argosy/base/status.h"

namespace argosy::tf {

class ForgottenGroups {
 public:
  static constexpr std::size_t kMost = 1024;

  void remember(std::int32_t group, const Status& why) {
    if (why_.size() >= kMost) why_.clear();
    why_.insert_or_assign(group, why);
  }
  void joined_anew(std::int32_t group) { why_.erase(group); }
  // OK: nothing is known.
  Status why(std::int32_t group) const {
    const auto at = why_.find(group);
    return at == why_.end() ? Status() : at->second;
  }
  void clear() { why_.clear(); }

 private:
  std::map<std::int32_t, Status> why_;
};

}  // namespace argosy::tf
