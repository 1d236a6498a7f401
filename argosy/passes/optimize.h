// The pipeline of passes between a step's own graph and its placement: lowering functional control flow, folding
// constants, merging equal nodes, fusing. Each pass lives in a file of its own, may be switched off by its name (that
// of its file) and says what it did in StepGraph::notes.
#pragma once

#include <functional>
#include <string>

#include "argosy/passes/simplify/prune.h"

namespace argosy {

struct PrepareOptions {
  bool optimize = true;      // false: only what the executor needs (lowering)
  std::string without = {};  // passes left out: "fuse_elementwise,cse"
  // Does the device that a node asks for ("": none in particular) run asynchronously, as GPUs do? Null: none does.
  std::function<bool(const std::string& device)> is_async = nullptr;
  bool over_tasks = false;  // collectives by keys may have members in other tasks' steps
};

// INVALID_ARGUMENT when `without` names no pass.
Result<StepGraph> prepare_step(StepGraph step, const PrepareOptions& options);

}  // namespace argosy
