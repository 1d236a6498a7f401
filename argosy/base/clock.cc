#include "argosy/base/clock.h"

namespace argosy {

const Clock& system_clock() {
  class System final : public Clock {
    std::int64_t now_nanos() const override { return argosy::now_nanos(); }
  };
  static const System clock;
  return clock;
}

}  // namespace argosy
