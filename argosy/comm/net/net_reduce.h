// A reduction over tasks: the arithmetic and the choice of an algorithm, over a NetEngine. Internal to comm/net.
//
//   own shards ──► sums of own subtrees ──► one of three ways ──► mean, rounding ──► every local result
//
//   gathered   everyone has everyone's contributions and combines them: few bytes
//   owners     each task combines its slice of all contributions, then the slices are gathered: up to 16 tasks
//   halving    the engine's all_reduce: above, where contributions are aligned subtrees on 32, 64, … tasks; else gathered
//
// The bits are those of Communicator's contract on every way: the tree over shards, or the chain over ranks. 16-bit values
// are combined in float32 and rounded once, at the end.
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
  std::span<const std::span<const Tensor>> outs;  // of each of its ranks; equal arrays, apart from each other
  Reduction reduction = Reduction::kSum;
  CombineOrder order = CombineOrder::kTree;  // kChain: one shard a task
  const ReduceLayout* layout = nullptr;      // checked; its entry of this task is subtrees_of() the shards
};

// Every task calls it. Tensors are in the host's memory.
Status reduce_over_tasks(NetEngine& engine, NetScratch& scratch, const NetReduction& reduction, std::uint32_t tag);

}  // namespace argosy
