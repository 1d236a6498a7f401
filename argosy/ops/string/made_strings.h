// MadeStrings: accounts for the strings that a kernel makes, while it runs, in the budget of host memory. After the run
// its outputs are counted instead (argosy/runtime/device_set/counted_strings.h). Internal to the string family.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "argosy/base/memory/held_items.h"

namespace argosy {

// One object per run of a kernel. Above the budget, functions return RESOURCE_EXHAUSTED (ARG-MEM-004). The first MiB is
// not counted.
class MadeStrings {
 public:
  // Reserves this much for the time being, beside the strings made so far: for the next string while it is made.
  Status room(std::int64_t bytes) { return bytes + made_ <= kUncounted ? ok_status() : held_.hold(made_ + bytes); }
  // Counts this many more bytes as made.
  Status add(std::int64_t bytes) {
    made_ += bytes;
    return room(0);
  }
  // Makes room in `to` for `bytes` more. Where the capacity must grow, it at least doubles.
  Status reserve(std::string& to, std::size_t bytes) {
    const std::size_t before = to.capacity(), needed = to.size() + bytes;
    if (needed <= before) return ok_status();
    const std::size_t grown = std::max(2 * before, needed);
    ARGOSY_RETURN_IF_ERROR(room(static_cast<std::int64_t>(grown)));  // the old memory lives until it is copied
    to.reserve(grown);
    return add(static_cast<std::int64_t>(grown - before));
  }
  Status append(std::string& to, std::string_view text) {
    ARGOSY_RETURN_IF_ERROR(reserve(to, text.size()));
    to += text;
    return ok_status();
  }

 private:
  static constexpr std::int64_t kUncounted = 1 << 20;
  std::int64_t made_ = 0;  // bytes
  HeldItems held_{HostUse::kStrings, 1, "what the op makes of its strings"};
};

}  // namespace argosy
