// CollectiveNode: a collective's node as its kernel sees it. Reads the attributes once, and makes a CollectiveCall in
// each run.
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

  // Joins the node's group, which lives as long as the step, and starts the collective. A rank finds its communicator
  // by the group's name. The call's tensors are the node's inputs and outputs. `backend` runs collectives on the memory
  // of the node's device, which is asynchronous; null: the tensors are in host memory. `done`: as for
  // Communicator::start().
  void start(KernelContext& c, GroupBackend* backend, Communicator::Done done) const;

  // True if the order of additions does not depend on the number of ranks.
  bool deterministic() const { return !call_.any_order; }
  // True if each rank brings one shard, as libraries of GPUs want it.
  bool one_shard_a_rank() const { return shards_.size() == 1 && (!deterministic() || call_.total == size_); }
  // The ranks of a group that has some on other tasks; 0: it has none there.
  int ranks_over_tasks() const { return net_.empty() ? 0 : size_; }
  // True if the host divides the result by the number of ranks once the collective is done. False for a mean of sums:
  // the collective itself computes that (Reduction::kMean).
  bool divides() const { return divides_; }

 private:
  // INVALID_ARGUMENT unless the attributes describe a possible group: its size, ranks and number of shards.
  Status check_ranks() const;
  // start() for a group with ranks on other tasks (task_net.h). In collective_node_tasks_cpu.cc.
  void start_over_tasks(KernelContext& c, GroupBackend* backend, const CollectiveCall& call,
                        Communicator::Done done) const;
  // Attributes of a collective whose members find each other by keys, in steps of several tasks (keyed_tasks.h). Its
  // functions are in collective_node_keyed_cpu.cc.
  struct Keyed {
    explicit Keyed(const KernelInit& init);
    bool by_key = false;                              // the op has keys; if not, the rest is unused
    bool has_value = false;                           // input 0 is the value
    std::optional<std::array<std::int32_t, 3>> keys;  // size, group, instance; unset: inputs
    std::vector<int> ring_offsets;                    // empty: as many rings as `most_rings` allows
    int most_rings = -1;
    bool mean = false;
  };
  void start_keyed(KernelContext& c, const std::shared_ptr<KeyedTasks>& tasks, GroupBackend* backend,
                   Communicator::Done done) const;
  Status fill_keyed(KernelContext& c, KeyedMember& to, Tensor& values, Tensor& result) const;
  // The tensors of one run, kept until it ends. The spans of its CollectiveCall point here.
  struct Tensors {
    std::vector<Tensor> values;   // inputs; for a broadcast (in place): the root's input, or another rank's output
    std::vector<Tensor> results;  // outputs, which share no memory with values; none for a broadcast
    std::vector<Shard> shards;
  };
  // Fills `tensors` from the node's inputs, and allocates its outputs.
  using Prepare = Status (CollectiveNode::*)(KernelContext& c, Tensors& tensors) const;
  Status reduce(KernelContext& c, Tensors& tensors) const;
  Status gather(KernelContext& c, Tensors& tensors) const;
  Status broadcast(KernelContext& c, Tensors& tensors) const;
  // Collectives on shards, in collective_node_shards_cpu.cc.
  Status reduce_scatter(KernelContext& c, Tensors& tensors) const;
  Status all_gather(KernelContext& c, Tensors& tensors) const;
  Status all_to_all(KernelContext& c, Tensors& tensors) const;
  Status all_gather_variables(KernelContext& c, Tensors& tensors) const;
  Result<std::int64_t> rows_of(std::int64_t rows, std::int64_t rank) const;
  // Returns the node's last input: the sizes of the global values, one for each other input.
  Result<std::span<const std::int64_t>> sizes_of(const KernelContext& c) const;
  // Adds the first `inputs` inputs, those of all logical shards, to `tensors`. INVALID_ARGUMENT if shapes differ
  // between shards.
  Status take_shards(KernelContext& c, int inputs, Tensors& tensors) const;

  const std::string op_, group_;
  const int rank_, size_;
  Prepare prepare_ = &CollectiveNode::reduce;
  bool grouped_ = true;                // it has a group (pass resolve_collective_groups) or is the only rank
  CollectiveCall call_;                // without its tensors
  std::vector<std::int64_t> shards_;   // of a reduction: the logical shards of the inputs, shard after shard
  std::vector<std::int64_t> weights_;  // of the ranks' shards, where they hold shards
  std::vector<std::int64_t> net_;      // kNetAttr; empty: all ranks are this process's
  int dim_ = 0;                        // of an all-to-all: the axis along which its inputs are shards
  bool divides_ = false;
  const Keyed keyed_;
  std::optional<PartialShape> shape_;  // shape of a receiver's value, if an attribute has it
};

}  // namespace argosy
