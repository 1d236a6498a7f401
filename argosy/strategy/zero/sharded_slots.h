// A slot as shards: a variable of each device holds its elements. Saved, restored and initialised whole, under the slot's
// name. Internal to strategy/.
//
//   initial value ─► Assign ─► slot ─► read ─► saver          initial value ─┬─ elements 0 ─► Assign ─► shard 0 ─┐
//                                                      ──►                   └─ elements 1 ─► Assign ─► shard 1 ─┴─► read
#pragma once

#include <vector>

#include "argosy/strategy/data_parallel/replicas.h"

namespace argosy {

class SlotSharder {
 public:
  // All outlive this. `weights`: of the devices' shards.
  SlotSharder(Graph& graph, const Replicas& replicas, const std::vector<std::int64_t>& weights)
      : graph_(graph), replicas_(replicas), weights_(weights) {}

  // The shards' variables, by device: vectors. What initialises, asks or reads the slot uses them from now on; the
  // slot's own variables, one a device, have no user but updates. REQUIRES: the plan allows it (zero_plan.h).
  Result<std::vector<Endpoint>> shard(NodeId slot, std::int64_t elements);

 private:
  Result<Endpoint> add_shard(NodeId slot, std::int64_t elements, int device);
  // Writes the shard of `device` instead of the slot.
  void write_shard(NodeId writer, Endpoint shard, int device);
  Value whole(NodeId slot, const std::vector<Endpoint>& shards);
  Status read_whole(NodeId reader, int input, Value whole);

  Graph& graph_;
  const Replicas& replicas_;
  const std::vector<std::int64_t>& weights_;
};

}  // namespace argosy
