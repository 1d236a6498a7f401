// CutGraph: the last part of partition(). It copies nodes to the graphs of their tasks, and replaces edges that cross
// by transfers. Internal to argosy/passes/partition.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "argosy/ops/send_recv/send_recv.h"
#include "argosy/passes/partition/control_loops.h"
#include "argosy/passes/partition/packed_transfers.h"
#include "argosy/passes/partition/partition.h"

namespace argosy {

class CutGraph {
 public:
  // All arguments must outlive it. REQUIRES: settle_edges() and add_control_loops() were called.
  CutGraph(const PlacedStep& placed, const LoopFrames& frames, const ControlLoops& loops,
           const std::vector<char>& maybe_dead, const PartitionOptions& options);

  Result<std::vector<Partition>> run(PartitionStats& stats);

 private:
  // The partition of one task, while it is built.
  struct Part {
    StepGraph step;
    std::vector<NodeId> copies;                     // by node of the whole step: its copy; index -1: none here
    std::vector<std::pair<NodeId, Endpoint>> open;  // (Merge here, the back edge of its loop in the whole step)
    std::vector<int> feeds, fetches, targets;
    bool used = false;
  };
  // A transfer: the producer, its output (kControl: an order without a value), and the receiving task.
  using Crossing = std::tuple<NodeId, std::int32_t, int>;

  Status add_nodes();
  Status copy(NodeId id);
  Result<Endpoint> input(Endpoint e, NodeId reader);
  Result<NodeId> control(NodeId from, NodeId waiter);
  Result<NodeId> own_copy(NodeId id, int task);
  Result<Endpoint> receive(Endpoint e, NodeId reader);
  Result<Endpoint> receive_packed(int message, int place);
  Result<TransferEnds> ends_of(int from, int to, std::string name, bool never_dead);
  Status send_packed();
  Result<NodeId> receive_order(NodeId from, NodeId waiter);
  Result<Endpoint> control_token(NodeId from);
  Result<std::pair<int, NodeId>> asked_for(NodeId id);
  Status add_ends();
  Endpoint any_value_crossing(NodeId from, int task) const;
  std::string transfer_name(NodeId from);

  const PlacedStep& placed_;
  const Graph& whole_;
  const LoopFrames& frames_;
  const ControlLoops& loops_;
  const std::vector<char>& maybe_dead_;
  const PartitionOptions& options_;
  PartitionStats stats_;
  std::vector<Part> parts_;                // by task
  std::set<Crossing> value_crossings_;     // all value transfers of the step
  std::map<Crossing, Endpoint> received_;  // the received value, in the receiver's graph
  PackedTransfers packed_;
  // By message: the node that unpacks it in the receiver's graph (index -1: not added yet), and the ends of its
  // transfer.
  std::vector<std::pair<NodeId, TransferEnds>> unpacked_;
  std::map<NodeId, NodeId> control_tokens_;  // source of an order -> the empty constant after it, in the sender's graph
  // (task, receive in a loop, Merge of its control loop in the whole step). Linked once all nodes are added.
  std::vector<std::tuple<int, NodeId, NodeId>> anchored_;
  std::int64_t next_transfer_ = 0;
};

}  // namespace argosy
