// SlotSharder: replaces an optimizer's slot by shards. Each device has a variable for its elements. The slot is still
// saved, restored and initialised whole, under its own name. Internal to strategy/.
//
//   initial value ─► Assign ─► slot ─► read ─► saver        initial value ─┬─ elements 0 ─► Assign ─► shard 0 ─┐
//                                                      ──►                 └─ elements 1 ─► Assign ─► shard 1 ─┴─► read
#pragma once

#include <vector>

#include "argosy/strategy/data_parallel/replicas.h"

namespace argosy {

class SlotSharder {
 public:
  // The arguments outlive this object. `weights`: of the devices' shards.
  SlotSharder(Graph& graph, const Replicas& replicas, const std::vector<std::int64_t>& weights)
      : graph_(graph), replicas_(replicas), weights_(weights) {}

  // Adds a variable per device, a vector of its elements, and returns them by device. Connects the nodes that
  // initialise, query or read the slot to them. Only updates still use the slot's own variables, one a device.
  // REQUIRES: the plan allows it (zero_plan.h).
  Result<std::vector<Endpoint>> shard(NodeId slot, std::int64_t elements);

 private:
  Result<Endpoint> add_shard(NodeId slot, std::int64_t elements, int device);
  // Makes `writer` write the shard of `device` instead of the slot.
  void write_shard(NodeId writer, Endpoint shard, int device);
  Value whole(NodeId slot, const std::vector<Endpoint>& shards);
  Status read_whole(NodeId reader, int input, Value whole);

  Graph& graph_;
  const Replicas& replicas_;
  const std::vector<std::int64_t>& weights_;
};

}  // namespace argosy
