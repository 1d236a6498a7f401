#include "argosy/tf/server/replication/once_per_step.h"

#include <algorithm>

#include "argosy/strategy/analysis/variable_nodes.h"

namespace argosy::tf {

bool happens_once(const Graph& graph, const Node& n) {
  if (writes_variable(graph, n)) return true;
  // Variables and tables, and reading those.
  const bool is_source =
      n.inputs.empty() && n.output_dtypes.size() == 1 && (n.output_is_ref(0) || n.output_dtypes[0] == DType::kResource);
  if (is_source || may_be_repeated(n) || n.op->flow != Flow::kNone || n.op->step_state) return false;
  const auto elsewhere = [&](Endpoint e) { return is_handle(graph, e) && !variable_behind(graph, e); };
  return n.op->stateful || std::any_of(n.inputs.begin(), n.inputs.end(), elsewhere);
}

Result<std::string> run_twice(const Graph& graph, const StepSignature& step, const std::vector<Endpoint>& sources) {
  StepSignature bring = step, rest = step;
  bring.fetches = sources;
  bring.targets.clear();
  rest.feeds.insert(rest.feeds.end(), sources.begin(), sources.end());
  rest.feed_shapes.resize(rest.feeds.size(), PartialShape::unknown());
  for (const Endpoint e : sources) rest.ran.push_back(e.node);
  ARGOSY_ASSIGN_OR_RETURN(const StepGraph before, prune_step(graph, bring));
  ARGOSY_ASSIGN_OR_RETURN(const StepGraph after, prune_step(graph, rest));
  for (std::int32_t i = 0; i < after.graph.size(); ++i) {
    const Node& n = after.graph.node(NodeId{i});
    if (n.op->name == "_Arg" || !happens_once(after.graph, n) || !before.graph.find(n.name)) continue;
    return str_cat("'", n.name, "' (", n.op->name,
                   ") happens once a step, and what brings the batch asks for it as well as the rest of the step (try: "
                   "a step of its own for it, before the one that trains)");
  }
  return std::string();
}

}  // namespace argosy::tf
