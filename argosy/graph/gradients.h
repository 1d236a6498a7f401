// Reverse-mode differentiation: new nodes that compute d(sum of ys)/d(xs), written with the public ops and so
// differentiable themselves.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// What an op's gradient function sees of the node it differentiates. It returns one Value per input, invalid where
// nothing flows; errors go to the graph.
class GradContext {
 public:
  // What gradient functions of ops that call functions need beside the node. Empty fields: nothing is known.
  struct Surroundings {
    std::string source;                 // names the loss in errors
    std::vector<bool> wanted;           // by input: a gradient is asked for; empty: of all
    std::function<std::string()> path;  // for errors: how the gradient came here
  };
  // `dys`: by output, not valid() where no gradient flows.
  GradContext(Graph& graph, NodeId node, std::vector<Value> dys, Surroundings around = {})
      : graph_(graph), node_(node), dys_(std::move(dys)), around_(std::move(around)) {}

  Graph& graph() { return graph_; }                                                  // that gradients are added to
  const Node& node() const { return graph_.node(node_); }                            // whose gradient is wanted
  NodeId id() const { return node_; }                                                // of the node
  const AttrMap& attrs() const { return node().attrs; }                              // of the node
  int num_inputs() const { return static_cast<int>(node().inputs.size()); }          // data inputs
  int num_outputs() const { return static_cast<int>(node().output_dtypes.size()); }  // of the node

  Value x(int i = 0) { return graph_.value(node().inputs[i]); }  // an input
  Value y(int i = 0) { return Value(&graph_, node_, i); }        // an output
  // What flows back into output i; zeros of its shape where nothing does.
  Value dy(int i = 0);
  bool has_dy(int i) const { return dys_[i].valid(); }  // a gradient flows into output i
  // Will anybody look at what flows into input i?
  bool wants(int i) const { return around_.wanted.empty() || around_.wanted[static_cast<std::size_t>(i)]; }
  // One name per call of gradients(): what accumulates over nodes is kept by it.
  const std::string& source() const { return around_.source; }
  // "loss <- head/foo <- dense/kernel": how the gradient comes through this node. For errors; takes a while.
  std::string path() const { return around_.path ? around_.path() : node().name; }

 private:
  Graph& graph_;
  NodeId node_;
  std::vector<Value> dys_;
  Surroundings around_;
};

// Of gradients().
struct GradOptions {
  // Gradient nodes go where their forward node goes (and so do not pile up on the first device).
  bool colocate_with_forward = true;
  // What flows into each y; empty: ones.
  std::vector<Value> grad_ys = {};
  // xs that no y depends on: an invalid Value instead of an error.
  bool allow_unconnected = false;
  // Gradients stop here: these values count as constants.
  std::vector<Value> stop = {};
  // GradContext::source(); empty: one that no other call has. Function bodies have that of their callers.
  std::string source = "";
};

// One gradient per x. Errors stick to the graph: an op on a path from x to y that has no gradient is named together
// with the path ("ARG-GRAD-002 … path: loss <- head/foo <- dense/kernel"); integers and strings carry no gradient.
std::vector<Value> gradients(Graph& graph, const std::vector<Value>& ys, const std::vector<Value>& xs,
                             const GradOptions& options = {});

}  // namespace argosy
