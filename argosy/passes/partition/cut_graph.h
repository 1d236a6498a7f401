// CutGraph: the last part of partition(): nodes go to the graphs of their tasks, and edges that cross become transfers.
// Internal to argosy/passes/partition.
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
  // All outlive it. REQUIRES: settle_edges(), add_control_loops().
  CutGraph(const PlacedStep& placed, const LoopFrames& frames, const ControlLoops& loops,
           const std::vector<char>& mortal, const PartitionOptions& options);

  Result<std::vector<Partition>> run(PartitionStats& stats);

 private:
  // Of one task.
  struct Part {
    StepGraph step;
    std::vector<NodeId> copies;                     // by node of the whole; index -1: it is not here
    std::vector<std::pair<NodeId, Endpoint>> open;  // Merge here, what closes its loop in the whole
    std::vector<int> feeds, fetches, targets;
    bool used = false;
  };
  // What crosses: an output, or (index kControl) an order; and who takes it.
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
  Result<Endpoint> nothing(NodeId from);
  Result<std::pair<int, NodeId>> asked_for(NodeId id);
  Status add_ends();
  Endpoint any_value_crossing(NodeId from, int task) const;
  std::string transfer_name(NodeId from);

  const PlacedStep& placed_;
  const Graph& whole_;
  const LoopFrames& frames_;
  const ControlLoops& loops_;
  const std::vector<char>& mortal_;
  const PartitionOptions& options_;
  PartitionStats stats_;
  std::vector<Part> parts_;                // by task
  std::set<Crossing> value_crossings_;     // those there are to be
  std::map<Crossing, Endpoint> received_;  // -> what is received, in the receiver's graph
  PackedTransfers packed_;
  // By message: the node that unpacks it in the receiver's graph, index -1: not yet; and the ends of its transfer.
  std::vector<std::pair<NodeId, TransferEnds>> unpacked_;
  std::map<NodeId, NodeId> nothings_;  // source of an order -> the empty constant after it, in the sender's graph
  // Receives in loops, and the Merge of the whole that starts them: linked when all nodes are there.
  std::vector<std::tuple<int, NodeId, NodeId>> anchored_;
  std::int64_t next_transfer_ = 0;
};

}  // namespace argosy
