// The pipeline of passes between the pruned graph of a step and its placement: lowering functional control flow,
// folding constants, merging equal nodes, fusing. Each pass has its own file, whose name switches it off
// (PrepareOptions::without). Each reports what it did in StepGraph::notes.
#pragma once

#include <functional>
#include <string>

#include "argosy/passes/simplify/prune.h"

namespace argosy {

struct PrepareOptions {
  bool optimize = true;      // false: only what the executor needs (lowering)
  std::string without = {};  // passes left out: "fuse_elementwise,cse"
  // True if the device that a node requests ("": any) is asynchronous, as GPUs are. Null: no device is.
  std::function<bool(const std::string& device)> is_async = nullptr;
  bool over_tasks = false;  // collectives found by keys may have members in other tasks' steps
};

// INVALID_ARGUMENT when `without` names no pass.
Result<StepGraph> prepare_step(StepGraph step, const PrepareOptions& options);

}  // namespace argosy
