// Reductions over tasks: the choice of an algorithm, and its arithmetic, over a NetEngine. Internal to argosy/comm/net.
//
//   own shards ──► sums of own subtrees ──► one of three algorithms ──► mean, rounding ──► every local result
//
//   gathered   all-gather the contributions; every task combines them all. For few bytes.
//   owners     each task combines its slice of all contributions, then the slices are gathered. For up to 16 tasks.
//   halving    the engine's all_reduce. For 32, 64, … tasks whose contributions are aligned subtrees.
//
// All other cases use "gathered". Every algorithm gives the bits of Communicator's contract: the tree over shards, or
// the chain over ranks. 16-bit values are combined in float32 and rounded once, at the end.
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
