// CollectiveNode: a node of a collective, as its kernel sees it: attributes in, a CollectiveCall out.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "argosy/comm/communicator.h"
#include "argosy/comm/group_backend.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

class KeyedTasks;
struct KeyedMember;

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
  // Whether the attributes tell a group that can meet: its size, ranks and shards.
  Status check_ranks() const;
  // Where the group has ranks on other tasks (task_net.h). collective_node_tasks_cpu.cc
  void start_over_tasks(KernelContext& c, GroupBackend* backend, const CollectiveCall& call,
                        Communicator::Done done) const;
  // Where members are in other tasks' steps (keyed_tasks.h). collective_node_keyed_cpu.cc
  struct Keyed {
    explicit Keyed(const KernelInit& init);
    bool by_key = false;                              // members tell keys; nothing else holds otherwise
    bool has_value = false;                           // input 0
    std::optional<std::array<std::int32_t, 3>> keys;  // size, group, instance; unset: inputs
    std::vector<int> ring_offsets;                    // empty: as many rings as `most_rings` allows
    int most_rings = -1;
    bool mean = false;
  };
  void start_keyed(KernelContext& c, const std::shared_ptr<KeyedTasks>& tasks, GroupBackend* backend,
                   Communicator::Done done) const;
  Status fill_keyed(KernelContext& c, KeyedMember& to, Tensor& values, Tensor& result) const;
  // What one run brings, until it is over. The call's spans are of these.
  struct Tensors {
    std::vector<Tensor> values;   // inputs; of a broadcast, in place: the root's input or the other ranks' output
    std::vector<Tensor> results;  // outputs, each apart from every value; none of a broadcast
    std::vector<Shard> shards;
  };
  // Takes inputs, and makes outputs.
  using Prepare = Status (CollectiveNode::*)(KernelContext& c, Tensors& tensors) const;
  Status reduce(KernelContext& c, Tensors& tensors) const;
  Status gather(KernelContext& c, Tensors& tensors) const;
  Status broadcast(KernelContext& c, Tensors& tensors) const;
  // collective_node_shards_cpu.cc
  Status reduce_scatter(KernelContext& c, Tensors& tensors) const;
  Status all_gather(KernelContext& c, Tensors& tensors) const;
  Status all_to_all(KernelContext& c, Tensors& tensors) const;
  Status all_gather_variables(KernelContext& c, Tensors& tensors) const;
  Result<std::int64_t> rows_of(std::int64_t rows, std::int64_t rank) const;
  // Of `values`, the last input is the sizes of the others.
  Result<std::span<const std::int64_t>> sizes_of(const KernelContext& c) const;
  // Takes the values of all shards. They have equal shapes.
  Status take_shards(KernelContext& c, int inputs, Tensors& tensors) const;

  const std::string op_, group_;
  const int rank_, size_;
  Prepare prepare_ = &CollectiveNode::reduce;
  bool grouped_ = true;                // by the pass resolve_collective_groups; else it must be alone
  CollectiveCall call_;                // but for the tensors
  std::vector<std::int64_t> shards_;   // of a reduction: whose contributions the inputs are, shard after shard
  std::vector<std::int64_t> weights_;  // of the ranks' shards, where they hold shards
  std::vector<std::int64_t> net_;      // kNetAttr; empty: all ranks are this process's
  int dim_ = 0;                        // of an all-to-all: the axis along which they do
  bool divides_ = false;
  const Keyed keyed_;
  std::optional<PartialShape> shape_;  // of what a receiver gets, where an attribute says so
};

}  // namespace argosy
