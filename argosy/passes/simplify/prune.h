// The first pass: the nodes of a graph that one step needs, as a graph of its own.
//
//   x ──► a ──► loss            fed: a       _feed_a ──► loss
//   y ──► b ──► unused   ──►    fetched: loss
//
// Nodes keep their names, devices, attributes and control edges; each fed endpoint is replaced by an "_Arg" whose shape
// is that of the fed tensor, and shapes are inferred anew from there. A variable that some node of the whole graph may
// give another shape (any_shape.h) has none.
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
  std::vector<NodeId> ran = {};              // before this step, and values of theirs are fed: nobody waits for them
};

// A graph and what a step does with it. Passes rewrite the graph and keep the rest true.
struct StepGraph {
  Graph graph;
  std::vector<NodeId> feeds;      // the "_Arg" nodes, in the signature's order
  std::vector<Endpoint> fetches;  // in the signature's order
  std::vector<NodeId> targets;
  // (old, new) nodes of passes that put one in the place of another: waiters for the first wait for the second.
  std::vector<std::pair<NodeId, NodeId>> replaced = {};
  std::vector<std::string> notes = {};  // what each pass did, for people
};

// INVALID_ARGUMENT as connect(), and when a feed's shape contradicts what the graph says of the endpoint, or shapes contradict each
// other. Behind a Switch these are an error of steps that get there (argosy/graph/shape_error.h).
Result<StepGraph> prune_step(const Graph& graph, const StepSignature& signature);

// Removes the nodes that the step does not need any more, the replaced ones among them. Passes that bypass nodes leave
// this to the next pass that asks for users. Ids change. The nodes are then in a topological order.
//
// kMayStay is cheaper where few nodes died: it may leave them in place, as NoOps without any edge. It does so only where
// the nodes are in order and none was replaced.
enum class DeadNodes { kGo, kMayStay };
Status drop_dead_nodes(StepGraph& step, DeadNodes dead = DeadNodes::kGo);

}  // namespace argosy
