// Lowering: functional control flow becomes dataflow, and calls are inlined.
//
//   y = If(p, x) [then=f, else=g]     ──►     Switch(x, p) ─► f ─┐
//                                                          └► g ─┴► Merge ─► y
//
//   y = While(x) [cond=c, body=b]     ──►     Enter(x) ─► Merge ─► Switch(c) ─► b ─► NextIteration ─┐
//                                                           ▲          └► Exit ─► y                 │
//                                                           └───────────────────────────────────────┘
//   y = For(start, limit, delta, x)   ──►     the same, but a counter and its Sub replace c: kWhile without "cond"
//   y = PartitionedCall(x) [f]        ──►     f(x) in place
//   y = RemoteCall("/gpu:1", x) [f]   ──►     f(x) in place, on that device
//
// Nodes of a function keep their control edges, their colocations and, below the caller's name, their names. They keep
// their devices; a node that asks for none gets the caller's. A branch that is not taken is dead. So each of its nodes
// depends on a Switch, by data or by a control edge from the branch's pivot. Constants and handles need not, for all
// their users do. An argument that has effects, but that no function reads, still runs (as a target) if the caller is a
// loop or a remote call. For other callers it does not run. TensorFlow does the same with its graph rewrites; without
// them it runs all such arguments.
#pragma once

#include "argosy/passes/simplify/prune.h"

namespace argosy {

struct LowerOptions {
  int max_depth = 64;                    // of nested calls: bounds functions that call themselves
  std::int64_t max_nodes = 1024 * 1024;  // that lowering may add
};

// Returns the number of nodes lowered. They stay as dead nodes: see remove_unused_nodes(). INVALID_ARGUMENT: a function is
// missing, does not fit its caller or is nested too deeply. RESOURCE_EXHAUSTED: more than max_nodes would be added,
// or the host's budget for functions is used up.
Result<int> lower_functions(StepGraph& step, const LowerOptions& options = {});

}  // namespace argosy
