// Lowering: functional control flow becomes dataflow that an executor runs, calls become what they call.
//
//   y = If(p, x) [then=f, else=g]     ──►     Switch(x, p) ─► f ─┐
//                                                          └► g ─┴► Merge ─► y
//
//   y = While(x) [cond=c, body=b]     ──►     Enter(x) ─► Merge ─► Switch(c) ─► b ─► NextIteration ─┐
//                                                           ▲          └► Exit ─► y                 │
//                                                           └───────────────────────────────────────┘
//   y = For(start, limit, delta, x)   ──►     the same, with a counter and its Sub where c was: kWhile without "cond"
//   y = PartitionedCall(x) [f]        ──►     f(x) in place
//   y = RemoteCall("/gpu:1", x) [f]   ──►     f(x) in place, on that device
//
// Nodes of a function keep their control edges, their colocations and, below the caller's name, their names. They keep
// their devices; a node that asks for none gets the caller's. A branch that is not taken is dead. So each of its nodes
// depends on a Switch, by data or by a control edge from the branch's pivot. Constants and handles need not, for all
// their users do. Arguments with effects of loops and of remote calls become targets, though no function reads them. Those
// of other callers do not. So it is in TensorFlow with its rewrites; without them all run there.
#pragma once

#include "argosy/passes/simplify/prune.h"

namespace argosy {

struct LowerOptions {
  int max_depth = 64;                    // of calls within calls: functions that call themselves have no end
  std::int64_t max_nodes = 1024 * 1024;  // of what lowering may add
};

// How many nodes were lowered; they stay, dead: see drop_dead_nodes(). INVALID_ARGUMENT for functions that are
// missing, do not fit their caller or nest too deeply; RESOURCE_EXHAUSTED for graphs that would grow beyond bounds.
Result<int> lower_functions(StepGraph& step, const LowerOptions& options = {});

}  // namespace argosy
