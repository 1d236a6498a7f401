#include "argosy/passes/optimize.h"

#include <algorithm>

#include "argosy/passes/functions/lower_functions.h"
#include "argosy/passes/fuse/fuse_batch_norm.h"
#include "argosy/passes/fuse/fuse_bias.h"
#include "argosy/passes/fuse/fuse_elementwise.h"
#include "argosy/passes/fuse/fuse_softmax_gradient.h"
#include "argosy/passes/fuse/fuse_updates.h"
#include "argosy/passes/fuse/relu_before_pool.h"
#include "argosy/passes/fuse/winograd.h"
#include "argosy/passes/place/resolve_collective_groups.h"
#include "argosy/passes/simplify/constant_folding.h"
#include "argosy/passes/simplify/cse.h"
#include "argosy/passes/simplify/handle_waits.h"
#include "argosy/passes/simplify/order_ref_reads.h"
#include "argosy/passes/simplify/prune_control_edges.h"
#include "argosy/passes/simplify/remove_identities.h"

namespace argosy {

namespace {

struct Pass {
  const char* name;
  Result<int> (*run)(StepGraph& step, const PrepareOptions& options);
  const char* done;        // what the number it returns counts
  bool asks_users = true;  // who reads a node matters: no dead ones may
};

// A pass that looks at the graph alone.
template <Result<int> (*kRun)(StepGraph&)>
Result<int> plain(StepGraph& step, const PrepareOptions&) {
  return kRun(step);
}

// Fusion asks who else reads a value: what is dead goes before it.
constexpr Pass kPasses[] = {
    {"constant_folding", plain<fold_constants>, "nodes became constants", false},
    {"prune_control_edges", plain<prune_control_edges>, "nodes wait for less", false},
    {"remove_identities", plain<remove_identities>, "nodes that change nothing went", false},
    {"cse", plain<cse>, "nodes merged into equal ones", false},
    {"fuse_bias", plain<fuse_bias>, "products took in their bias and activation"},
    {"winograd", [](StepGraph& step, const PrepareOptions&) { return winograd(step); },
     "convolutions compute Winograd's way"},
    {"relu_before_pool", plain<relu_before_pool>, "gradients of ReLU moved to the pooled side"},
    {"fuse_batch_norm", plain<fuse_batch_norm>, "nodes went into the batch normalisation beside them"},
    {"fuse_softmax_gradient",
     [](StepGraph& step, const PrepareOptions& options) { return fuse_softmax_gradient(step, options.is_async); },
     "gradients of softmax became one node"},
    {"fuse_elementwise", plain<fuse_elementwise>, "elementwise nodes fused"},
    {"fuse_updates",
     [](StepGraph& step, const PrepareOptions& options) { return fuse_updates(step, options.is_async); },
     "optimizer updates share a pass"},
};

// Names of version 0.1, which scripts may still give.
constexpr std::pair<std::string_view, std::string_view> kOldNames[] = {{"fold", "constant_folding"},
                                                                       {"relax_order", "prune_control_edges"},
                                                                       {"bypass", "remove_identities"},
                                                                       {"merge_equal", "cse"}};

Result<std::vector<std::string>> names_in(const std::string& list) {
  std::vector<std::string> names = list.empty() ? std::vector<std::string>{} : str_split(list, ',');
  for (std::string& name : names) {
    for (const auto& [old_name, new_name] : kOldNames) {
      if (name == old_name) name = new_name;
    }
    if (std::any_of(std::begin(kPasses), std::end(kPasses), [&](const Pass& p) { return p.name == name; })) continue;
    std::vector<std::string> known;
    for (const Pass& p : kPasses) known.emplace_back(p.name);
    return invalid_argument("there is no pass \"", name, "\"; there are ", str_join(known)).with_id("ARG-PASS-001");
  }
  return names;
}

}  // namespace

Result<StepGraph> prepare_step(StepGraph step, const PrepareOptions& options) {
  ARGOSY_ASSIGN_OR_RETURN(const auto without, names_in(options.without));
  ARGOSY_ASSIGN_OR_RETURN(const int lowered, lower_functions(step));
  if (lowered > 0) {
    ARGOSY_RETURN_IF_ERROR(remove_unused_nodes(step));
    step.notes.push_back(
        str_cat("lower_functions: ", lowered, " callers became dataflow, ", step.graph.size(), " nodes"));
  }
  ARGOSY_ASSIGN_OR_RETURN(const int handles, move_handle_waits(step));
  if (handles > 0) step.notes.push_back(str_cat("move_handle_waits: ", handles, " handles wait no more"));
  ARGOSY_ASSIGN_OR_RETURN(const int groups, resolve_collective_groups(step, options.over_tasks));
  if (groups > 0) step.notes.push_back(str_cat("resolve_collective_groups: ", groups, " groups of collectives"));
  ARGOSY_ASSIGN_OR_RETURN(const int late, order_ref_reads(step));
  if (late > 0) step.notes.push_back(str_cat("order_ref_reads: ", late, " readers of variables come after updates"));
  if (!options.optimize) return step;
  const int before = step.graph.size();
  bool changed_any = false, swept = true;
  for (const Pass& pass : kPasses) {
    if (std::find(without.begin(), without.end(), pass.name) != without.end()) {
      step.notes.push_back(str_cat(pass.name, ": off"));
      continue;
    }
    if (pass.asks_users && !std::exchange(swept, true)) {
      ARGOSY_RETURN_IF_ERROR(remove_unused_nodes(step, UnusedNodes::kMayKeep));
    }
    ARGOSY_ASSIGN_OR_RETURN(const int changed, pass.run(step, options));
    if (changed == 0) continue;
    changed_any = true;
    swept = false;
    step.notes.push_back(str_cat(pass.name, ": ", changed, " ", pass.done));
  }
  if (changed_any) ARGOSY_RETURN_IF_ERROR(remove_unused_nodes(step));
  if (step.graph.size() != before) {
    step.notes.push_back(str_cat("all passes: ", before, " nodes now ", step.graph.size()));
  }
  return step;
}

}  // namespace argosy
