// The first pass: what one step needs of a graph, as a graph of its own.
//
//   x ──► a ──► loss            fed: a       _feed_a ──► loss
//   y ──► b ──► unused   ──►    fetched: loss
//
// Nodes keep their names, devices, attributes and control edges; each fed endpoint is replaced by an "_Arg" whose shape
// is that of the fed tensor, and shapes are inferred anew from there.
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

struct StepSignature {
  std::vector<Endpoint> feeds;            // distinct
  std::vector<PartialShape> feed_shapes;  // one each
  std::vector<Endpoint> fetches;          // index Value::kControl: the node itself
  std::vector<NodeId> targets;
};

// A graph and what a step does with it. Passes rewrite the graph and keep the rest true.
struct StepGraph {
  Graph graph;
  std::vector<NodeId> feeds;      // the "_Arg" nodes, in the signature's order
  std::vector<Endpoint> fetches;  // in the signature's order
  std::vector<NodeId> targets;
  // Nodes that a pass put others in the place of: who waited for the first waits for the second.
  std::vector<std::pair<NodeId, NodeId>> replaced = {};
  std::vector<std::string> notes = {};  // what each pass did, for people
};

// INVALID_ARGUMENT when a feed's shape contradicts what the graph says of the endpoint, or shapes contradict each
// other.
Result<StepGraph> prune_step(const Graph& graph, const StepSignature& signature);

// Forgets the nodes that nothing in the step needs any more, `replaced` ones among them: what passes that bypass nodes
// leave to whoever asks for users next. Ids change; nodes come in a topological order.
//
// Where few died in a graph whose nodes are in order, none of them `replaced`, kMayStay leaves them in place, as NoOps
// that nothing leads to and that lead to nothing: all that matters to who asks for users, and cheaper than moving the
// rest.
enum class DeadNodes { kGo, kMayStay };
Status drop_dead_nodes(StepGraph& step, DeadNodes dead = DeadNodes::kGo);

}  // namespace argosy
