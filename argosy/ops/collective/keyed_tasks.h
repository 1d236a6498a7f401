// KeyedTasks: finds the members of a collective by keys (CollectiveReduce and its like) that are in steps of other
// tasks. A resource of a task's devices.
//
//   kernel ── meet: group key, size, device ──► the group's leader ──► members, ranks, who sends
//          ── pieces ──► argosy/comm/keyed
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "argosy/comm/keyed/piece_exchange.h"
#include "argosy/device/device.h"
#include "argosy/op/state/resource_manager.h"
#include "argosy/tensor/dtype.h"
#include "argosy/tensor/shape.h"

namespace argosy {

// What one member says of itself and its collective. The numbers of `kind` are TensorFlow's CollectiveType.
struct KeyedMember {
  enum Kind : int { kReduction = 0, kBroadcast = 1, kGather = 2 };
  std::int64_t step_id = 0;
  std::string name;  // of its node
  Kind kind = kReduction;
  DType dtype = DType::kInvalid;
  Shape shape;                    // of its values
  std::int64_t bytes = 0;         // of a reduction's values
  std::vector<int> ring_offsets;  // of a reduction, from its node; empty: by `most_rings`
  int most_rings = -1;            // ring_order.h
  std::int32_t size = 0, group = 0, instance = 0;
  const DeviceSpec* device = nullptr;  // its device; lives as long as the step
  bool source = false;                 // of a broadcast: this member sends
  bool in_loop = false;                // in a loop: its key has the frame
};

// Thread-safe. argosy/tf/worker/collective implements it.
class KeyedTasks : public Resource {
 public:
  struct Membership {
    KeyedGroup group;
    int source = -1;                // of a broadcast: the rank that sends
    std::vector<int> ring_offsets;  // of a reduction: one or more
    std::shared_ptr<PieceExchange> exchange;
  };
  using Met = std::function<void(Result<Membership>)>;

  // Calls `met` once all members have arrived; no thread waits. `met` is called once, from any thread, perhaps before
  // this returns.
  virtual void join(const KeyedMember& member, Met met) = 0;
  // Fails the collectives of this step with `cause`, pending ones and later ones, here and at the other members.
  virtual void abort(std::int64_t step_id, const Status& cause) = 0;

  std::string describe() const override { return "the way to collectives of other tasks"; }
};

// Registers `tasks` with the resources of one device, where kernels find it.
inline Status set_keyed_tasks(ResourceManager& resources, const std::shared_ptr<KeyedTasks>& tasks) {
  return resources.find_or_make<KeyedTasks>("_collective", "keyed_tasks", [&] { return tasks; }).status();
}

// NOT_FOUND: the process is no task of a cluster.
inline Result<std::shared_ptr<KeyedTasks>> keyed_tasks(const ResourceManager& resources) {
  return resources.find<KeyedTasks>("_collective", "keyed_tasks");
}

}  // namespace argosy
