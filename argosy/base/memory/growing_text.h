// GrowingText: counts one string in the budget of host memory while it grows. It is for strings of unknown length, such
// as a line of a file. Whoever keeps the string counts it anew.
#pragma once

#include <cstddef>
#include <cstdint>

#include "argosy/base/memory/held_items.h"
#include "argosy/base/threads/interrupt.h"

namespace argosy {

// Not synchronised. Costs nothing below 64 KiB.
class GrowingText {
 public:
  // `what` begins the error ("a line of a file"), and outlives this object.
  explicit GrowingText(HostUse use, const char* what) : held_(use, kPiece, what) {}

  // Call before the string has this many bytes. RESOURCE_EXHAUSTED (ARG-MEM-004): they do not fit. Throws Interrupted.
  Status grow_to(std::size_t bytes) {
    const auto pieces = static_cast<std::int64_t>(bytes / kPiece);
    if (pieces <= pieces_) return ok_status();
    check_interrupted();
    pieces_ = pieces;
    return held_.hold(pieces);
  }

 private:
  static constexpr std::int64_t kPiece = 64 << 10;
  HeldItems held_;
  std::int64_t pieces_ = 0;
};

}  // namespace argosy
