#include "argosy/base/memory/held_items.h"

#include <algorithm>

namespace argosy {

Status HeldItems::change(std::int64_t count) {
  while (!pieces_.empty() && count < low_) {
    reserved_ -= pieces_.back().first;
    pieces_.pop_back();
    update_low();
  }
  if (count <= reserved_) return ok_status();
  const std::int64_t needed = count - reserved_;
  std::int64_t got = std::max(needed, reserved_), bytes = 0;
  if (__builtin_mul_overflow(got, bytes_each_, &bytes)) return host_budget().check(INT64_MAX, what_);
  pieces_.reserve(pieces_.size() + 1);
  auto reservation = host_budget().reserve(use_, bytes, what_);
  if (!reservation.ok() && got > needed) {
    got = needed;
    reservation = host_budget().reserve(use_, needed * bytes_each_, what_);
  }
  ARGOSY_RETURN_IF_ERROR(reservation.status());
  pieces_.emplace_back(got, *std::move(reservation));
  reserved_ += got;
  update_low();
  return ok_status();
}

// A quarter of what is left without the last piece: who goes up and down by one does not reserve each time.
void HeldItems::update_low() { low_ = pieces_.empty() ? 0 : (reserved_ - pieces_.back().first) / 4; }

}  // namespace argosy
