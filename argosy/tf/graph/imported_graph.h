// ImportedGraph: a GraphDef as it came. Its nodes become nodes of a Graph of ours when a value needs them.
//
//   GraphDef ──extend──► records by name ──value("loss:0")──► nodes of graph(): loss and all it depends on
//
// Most of what Python sends never runs (savers, initialisers, gradients of labels), and it may hold unknown ops. So a
// node is converted once, when a value that depends on it is asked for. A node that cannot be converted (unknown op or
// attribute, contradicting shapes) keeps its error: only values that depend on it have the error.
// extend() costs in proportion to what it adds. Functions may grow beyond what was sent: their number and size have
// limits (argosy/tf/graph/functions/function_table.h). Inside an InterruptScope extend() ends with the reason of the
// cancellation, and value() and convert_all() may throw Interrupted; a later call goes on. Not thread-safe: if a Session
// shares the graph, call value() inside Session::mutate_graph().
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/graph/graph.h"

namespace tensorflow {
class GraphDef;
}

namespace argosy::tf {

class ImportedGraph {
 public:
  ImportedGraph();  // the built-in ops
  explicit ImportedGraph(const OpRegistry& ops);
  ~ImportedGraph();
  ImportedGraph(ImportedGraph&&) noexcept;
  ImportedGraph& operator=(ImportedGraph&&) noexcept;

  // From now on value() also converts whoever takes a handle or reference that it has met. Each of them may decide where
  // a variable must live. For devices whose kernels take some ops and dtypes only. REQUIRES: nothing was added yet.
  void convert_resource_users();

  // Names may begin with '_' from now on: those that a master gives when it cuts a step.
  void allow_internal_names();

  // Adds the nodes and functions of a GraphDef, serialised or parsed (then moved from). On an error nothing is added.
  // Inputs may name nodes of this or an earlier GraphDef, in any order. A function may come again if it is equal.
  // INVALID_ARGUMENT: a malformed message, name or input; a name that is taken; an input that names nothing; a
  // min_consumer above kProducerVersion. Errors name the node.
  Status extend(std::string_view serialized);
  Status extend(tensorflow::GraphDef&& def);

  bool has(std::string_view node) const;
  int num_nodes() const;

  // The value named "node:1", "node" (its output 0) or "^node"; everything that it depends on is converted.
  // NOT_FOUND: no such node. INVALID_ARGUMENT: no such output. Else the error of the first node that cannot be
  // converted, with its name ("Op type not registered 'X'" is NOT_FOUND).
  Result<Value> value(std::string_view name);
  // The same for a value that is to be fed. Its node, and what it depends on, need not be convertible: a "_Missing"
  // node stands in its place then. A step that needs it without feeding it has the node's error.
  Result<Value> value_to_feed(std::string_view name);
  // The nodes converted so far, with the GraphDef's names, devices and attributes. Only value() adds nodes.
  Graph& graph();
  const Graph& graph() const;

  // Writes everything that was added as one GraphDef: nodes with all their attributes, functions, versions.
  Status write(tensorflow::GraphDef* def) const;

  // Converts everything, also functions that no node names. Returns the nodes that cannot be converted.
  struct Failure {
    std::string node, op;
    Status status;
  };
  std::vector<Failure> convert_all();

  // TensorFlow's graph version that we claim; since 2019 it counts days. Graphs that want a newer consumer are refused.
  static constexpr int kProducerVersion = 2474;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
