// Reverse-mode differentiation: new nodes that compute d(sum of ys)/d(xs), written with the public ops and so
// differentiable themselves.
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// What an op's gradient function sees of the node it differentiates. It returns one Value per input, invalid where
// nothing flows; errors go to the graph.
class GradContext {
 public:
  GradContext(Graph& graph, NodeId node, std::vector<Value> dys, std::string source = "gradients")
      : graph_(graph), node_(node), dys_(std::move(dys)), source_(std::move(source)) {}

  Graph& graph() { return graph_; }
  const Node& node() const { return graph_.node(node_); }
  NodeId id() const { return node_; }
  const AttrMap& attrs() const { return node().attrs; }
  int num_inputs() const { return static_cast<int>(node().inputs.size()); }
  int num_outputs() const { return static_cast<int>(node().output_dtypes.size()); }

  Value x(int i = 0) { return graph_.value(node().inputs[i]); }  // an input
  Value y(int i = 0) { return Value(&graph_, node_, i); }        // an output
  // What flows back into output i; zeros of its shape where nothing does.
  Value dy(int i = 0);
  bool has_dy(int i) const { return dys_[i].valid(); }
  // One name per call of gradients(): what accumulates over nodes is kept by it.
  const std::string& source() const { return source_; }

 private:
  Graph& graph_;
  NodeId node_;
  std::vector<Value> dys_;
  std::string source_;
};

struct GradOptions {
  // Gradient nodes go where their forward node goes (and so do not pile up on the first device).
  bool colocate_with_forward = true;
  // What flows into each y; empty: ones.
  std::vector<Value> grad_ys = {};
  // xs that no y depends on: an invalid Value instead of an error.
  bool allow_unconnected = false;
  // Gradients stop here: these values count as constants.
  std::vector<Value> stop = {};
};

// One gradient per x. Errors stick to the graph: an op on a path from x to y that has no gradient is named together
// with the path ("ARG-GRAD-002 … path: loss <- head/foo <- dense/kernel"); integers and strings carry no gradient.
std::vector<Value> gradients(Graph& graph, const std::vector<Value>& ys, const std::vector<Value>& xs,
                             const GradOptions& options = {});

}  // namespace argosy
