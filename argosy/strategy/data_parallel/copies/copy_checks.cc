#include "argosy/strategy/data_parallel/copies/copy_checks.h"

#include <optional>

#include "argosy/strategy/data_parallel/copies/pinned_device.h"

namespace argosy {

Status check_pins(const ReplicaBuild& b) {
  std::optional<int> first;
  for (std::int32_t i = 0; i < b.size; ++i) {
    const Node& n = b.graph.node(NodeId{i});
    const DeviceName pin = pinned(n.device);
    if (b.replica_kind(NodeId{i}) == ReplicaKind::kSingleton || pin.type != "GPU" || !pin.id) continue;
    if (first.value_or(*pin.id) != *pin.id) {
      return invalid_argument("the graph is split over devices by hand: '", n.name, "' is pinned to gpu:", *pin.id,
                              ", others to gpu:", *first)
          .with_id("ARG-DP-005")
          .with_hint("leave the device scopes out, or run it as it is, without data parallelism");
    }
    first = pin.id;
  }
  return ok_status();
}

}  // namespace argosy
