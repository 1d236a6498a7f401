// CollectiveNode: a node of a collective, as its kernel sees it: attributes in, a CollectiveCall out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "argosy/comm/communicator.h"
#include "argosy/comm/group_backend.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

class CollectiveNode {
 public:
  explicit CollectiveNode(const KernelInit& init);
  CollectiveNode(const CollectiveNode&) = delete;
  CollectiveNode& operator=(const CollectiveNode&) = delete;

  // Joins the group of the node, which lives as long as the step: one communicator a rank, found by the group's name. The
  // call's tensors are the node's inputs and outputs. `backend` does collectives on the memory of the node's device, which
  // is asynchronous; null: the tensors are in the host's memory. `done` as Communicator::start()'s.
  void start(KernelContext& c, GroupBackend* backend, Communicator::Done done) const;

  // The sum is made in an order that does not depend on the number of ranks.
  bool deterministic() const { return !call_.any_order; }
  // The result is divided by the number of ranks on the host, once it is there. Means are not: they are made at once.
  bool divides() const { return divides_; }

 private:
  // What one run brings, until it is over. The call's spans are of these.
  struct Tensors {
    std::vector<Tensor> values;   // inputs; of a broadcast, in place: the root's input or the other ranks' output
    std::vector<Tensor> results;  // outputs, each apart from every value; none of a broadcast
    std::vector<Shard> shards;
  };
  Status reduce(KernelContext& c, Tensors& tensors) const;
  Status gather(KernelContext& c, Tensors& tensors) const;
  Status broadcast(KernelContext& c, Tensors& tensors) const;

  const std::string op_, group_;
  const int rank_, size_;
  bool grouped_ = true;               // by the pass resolve_collective_groups; else it must be alone
  CollectiveCall call_;               // but for the tensors
  std::vector<std::int64_t> shards_;  // of a reduction: whose contributions the inputs are, shard after shard
  bool divides_ = false;
  std::optional<PartialShape> shape_;  // of what a receiver gets, where an attribute says so
};

}  // namespace argosy
