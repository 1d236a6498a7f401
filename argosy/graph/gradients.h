// Reverse-mode differentiation: new nodes that compute d(sum of ys)/d(xs), written with the public ops and so
// differentiable themselves.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// The argument of an op's gradient function: the node to differentiate, and the gradients of its outputs. The function
// returns one Value per input, invalid for inputs without a gradient. Errors go to the graph (Graph::fail()).
class GradContext {
 public:
  // What the gradient functions of ops that call functions need besides the node. Empty fields: not known.
  struct Surroundings {
    std::string source;                 // see GradContext::source()
    std::vector<bool> wanted;           // by input: its gradient is needed; empty: all are
    std::function<std::string()> path;  // the path of the gradient through the node, for errors
  };
  // `dys`: the gradients of the outputs; not valid() for outputs without one.
  GradContext(Graph& graph, NodeId node, std::vector<Value> dys, Surroundings around = {})
      : graph_(graph), node_(node), dys_(std::move(dys)), around_(std::move(around)) {}

  Graph& graph() { return graph_; }                                                  // receives the gradient's nodes
  const Node& node() const { return graph_.node(node_); }                            // the node to differentiate
  NodeId id() const { return node_; }                                                // of the node
  const AttrMap& attrs() const { return node().attrs; }                              // of the node
  int num_inputs() const { return static_cast<int>(node().inputs.size()); }          // data inputs
  int num_outputs() const { return static_cast<int>(node().output_dtypes.size()); }  // of the node

  Value x(int i = 0) { return graph_.value(node().inputs[i]); }  // an input
  Value y(int i = 0) { return Value(&graph_, node_, i); }        // an output
  // The gradient of output i; zeros of its shape if it has none.
  Value dy(int i = 0);
  bool has_dy(int i) const { return dys_[i].valid(); }  // output i has a gradient
  // True if the gradient of input i is needed.
  bool wants(int i) const { return around_.wanted.empty() || around_.wanted[static_cast<std::size_t>(i)]; }
  // A name, unique to the call of gradients(). State that accumulates over several nodes uses it as its key.
  const std::string& source() const { return around_.source; }
  // "loss <- head/foo <- dense/kernel": the path of the gradient through this node. For errors; slow.
  std::string path() const { return around_.path ? around_.path() : node().name; }

 private:
  Graph& graph_;
  NodeId node_;
  std::vector<Value> dys_;
  Surroundings around_;
};

// Options of gradients().
struct GradOptions {
  // Colocate gradient nodes with their forward nodes, so that they do not all go to the first device.
  bool colocate_with_forward = true;
  // The initial cotangent of each y; empty: ones.
  std::vector<Value> grad_ys = {};
  // For an x that no y depends on, return an invalid Value instead of an error.
  bool allow_unconnected = false;
  // Gradients stop here: these values count as constants.
  std::vector<Value> stop = {};
  // GradContext::source(); empty: a new unique name. The body of a function uses that of its caller.
  std::string source = "";
};

// One gradient per x. Errors stick to the graph: an op on a path from x to y that has no gradient is named together
// with the path ("ARG-GRAD-002 … path: loss <- head/foo <- dense/kernel"); integers and strings carry no gradient.
std::vector<Value> gradients(Graph& graph, const std::vector<Value>& ys, const std::vector<Value>& xs,
                             const GradOptions& options = {});

}  // namespace argosy
