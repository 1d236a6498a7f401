// Reductions over tasks: the choice of an algorithm, and its arithmetic, over a NetEngine. Internal to argosy/comm/net.
//
//   own shards ──► sums of own subtrees ──► one of four algorithms ──► mean, rounding ──► every local result
//
// The first row whose condition holds is used:
//
//   algorithm   how                                                  when
//   kAlone      nothing is sent; this task combines its own sums     there is one task
//   kGathered   all-gather, then a local reduction on every task     no task contributes more than 16 KiB
//   kOwners     reduce-scatter, then all-gather, chunk by chunk  every pair has a connection (engine.all_pairs())
//   kHalving    recursive halving and doubling: engine.all_reduce()  see below
//   kGathered   as above                                             always
//
// kHalving needs all of these:
//   - The contributions are aligned (ReduceLayout::is_aligned()): the number of tasks is a power of two.
//   - The order is CombineOrder::kTree, or the values are integers: every order gives the same bits.
//   - No 16-bit floats are sent. Where some contribution is a sum of shards, they are sent as float32.
//
// Every algorithm gives the bits of Communicator's contract: the tree over shards, or the chain over ranks. 16-bit
// values are combined in float32 and rounded once, at the end.
#pragma once

#include <span>
#include <vector>

#include "argosy/comm/collective_call.h"
#include "argosy/comm/combine.h"
#include "argosy/comm/net/net_engine.h"
#include "argosy/comm/net/net_scratch.h"
#include "argosy/comm/net/reduce_layout.h"

namespace argosy {

struct NetReduction {
  std::span<const Shard> shards;                  // of this task, ascending by index
  std::span<const std::span<const Tensor>> outs;  // outputs of each of its ranks: equal dtypes and sizes, no overlap
  Reduction reduction = Reduction::kSum;
  CombineOrder order = CombineOrder::kTree;  // kChain: each task has one shard
  const ReduceLayout* layout = nullptr;      // checked; this task's entry equals subtrees_of() its shards
};

// Every task calls it. Tensors are in the host's memory.
Status reduce_over_tasks(NetEngine& engine, NetScratch& scratch, const NetReduction& reduction, std::uint32_t tag);

}  // namespace argosy
