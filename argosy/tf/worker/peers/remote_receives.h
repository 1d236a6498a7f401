// RemoteReceives: receives values for this task's steps from other tasks, with one RecvTensor call each. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/op/kernel/rendezvous.h"
#include "argosy/runtime/device_set/device_set.h"
#include "argosy/tf/worker/peers/peers.h"

namespace argosy::tf {

class RemoteReceives {
 public:
  // `peers`: those of steps that name none of their own. Values lie in memory of the first of the devices, a CPU, which
  // keeps it for the next step.
  RemoteReceives(std::shared_ptr<Peers> peers, std::shared_ptr<DeviceSet> device_set)
      : peers_(std::move(peers)), device_set_(std::move(device_set)) {}

  // Sets the tasks of this step, until end().
  void begin(std::int64_t step_id, std::shared_ptr<Peers> peers);
  // As TaskRendezvous::Remote: asks the task that sends the value. `done` is called once, also after end().
  void receive(std::int64_t step_id, const RendezvousKey& key, Rendezvous::Done done);
  // Ends a step: cancels its calls.
  void end(std::int64_t step_id);
  void end_all();

 private:
  struct Step {
    std::shared_ptr<Peers> peers;  // null: the task's own
    std::map<std::int64_t, std::shared_ptr<RpcClientCall>> calls;
  };
  struct State {  // answers refer to it, also when this object is gone
    Mutex mutex;
    std::int64_t next ARGOSY_GUARDED_BY(mutex) = 1;
    std::map<std::int64_t, Step> steps ARGOSY_GUARDED_BY(mutex);
  };
  const std::shared_ptr<Peers> peers_;
  const std::shared_ptr<DeviceSet> device_set_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace argosy::tf
