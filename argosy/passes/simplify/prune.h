// The first pass: the nodes of a graph that one step needs, as a graph of its own.
//
//   x ──► a ──► loss            fed: a       _feed_a ──► loss
//   y ──► b ──► unused   ──►    fetched: loss
//
// Nodes keep their names, devices, attributes and control edges; each fed endpoint is replaced by an "_Arg" whose shape
// is that of the fed tensor, and shapes are inferred again from there. The shape of a variable is unknown if some node
// of the whole graph may change it (any_shape.h).
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/passes/simplify/connect.h"

namespace argosy {

struct StepSignature {
  std::vector<Endpoint> feeds;            // distinct
  std::vector<PartialShape> feed_shapes;  // one each
  std::vector<Endpoint> fetches;          // index Value::kControl: the node itself
  std::vector<NodeId> targets;
  std::vector<Connection> connections = {};  // a connected value that is fed gives what is fed
  std::vector<NodeId> ran = {};              // ran before this step, and values of theirs are fed: no waits for them
};

// A graph, and its feeds, fetches and targets in one step. Passes rewrite the graph and update the rest.
struct StepGraph {
  Graph graph;
  std::vector<NodeId> feeds;      // the "_Arg" nodes, in the signature's order
  std::vector<Endpoint> fetches;  // in the signature's order
  std::vector<NodeId> targets;
  // (old, new): replacements that passes made. Nodes that wait for the old node must wait for the new one instead.
  std::vector<std::pair<NodeId, NodeId>> replaced = {};
  std::vector<std::string> notes = {};  // what each pass did, for people
};

// INVALID_ARGUMENT: the errors of connect(); a feed's shape contradicts the endpoint's; or shapes contradict each
// other. Behind a Switch, shape errors are deferred to run time (argosy/graph/shape_error.h).
Result<StepGraph> prune_step(const Graph& graph, const StepSignature& signature);

// Removes the nodes that the step does not need any more, the replaced ones among them. Passes that bypass nodes do not
// call it; the next pass that needs users does. Ids change. Afterwards the nodes are in a topological order.
//
// kMayKeep is cheaper if few nodes died: it may leave them in place, as NoOps without edges. It does so only if the
// nodes are in topological order and none was replaced.
enum class UnusedNodes { kRemove, kMayKeep };
Status remove_unused_nodes(StepGraph& step, UnusedNodes dead = UnusedNodes::kRemove);

}  // namespace argosy
