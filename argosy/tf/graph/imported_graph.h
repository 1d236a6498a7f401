// ImportedGraph: holds a GraphDef, and converts its nodes to nodes of our Graph on demand, when a value depends on
// them.
//
//   GraphDef ──extend──► records by name ──value("loss:0")──► nodes of graph(): loss and all it depends on
//
// Most of a client's graph never runs (savers, initialisers, gradients of labels), and it may hold unknown ops. So a
// node is converted once, when a value that depends on it is requested. A node that cannot be converted (unknown op or
// attribute, contradicting shapes) keeps its error: only values that depend on it have the error.
//
// * extend() costs time in proportion to what it adds.
// * Converted functions may be larger than their definitions; their number and size are limited
//   (argosy/tf/graph/functions/function_table.h).
// * Inside an InterruptScope extend() ends with the cancellation's status. value() and convert_all() may throw
//   Interrupted; a later call goes on.
//
// Not thread-safe: if a Session shares the graph, call value() inside Session::mutate_graph().
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

  // From now on value() also converts all consumers of each handle or reference that it converts. Each consumer may
  // restrict the devices of a variable, on devices whose kernels support only some ops and dtypes. REQUIRES: nothing
  // was added yet.
  void convert_resource_users();

  // From now on names may begin with '_', as in the partitions that a master registers.
  void allow_internal_names();

  // Adds the nodes and functions of a GraphDef, serialised or parsed (then moved from). On an error nothing is added.
  // Inputs may name nodes of this or an earlier GraphDef, in any order. A function may come again if it is equal.
  // INVALID_ARGUMENT: a malformed message, name or input; a name that is taken; an input that names nothing; a
  // min_consumer above kProducerVersion. Errors name the node.
  Status extend(std::string_view serialized);
  Status extend(tensorflow::GraphDef&& def);

  bool has(std::string_view node) const;
  int num_nodes() const;

  // Returns the value named "node:1", "node" (its output 0) or "^node", and converts everything that it depends on.
  // NOT_FOUND: no such node. INVALID_ARGUMENT: no such output. Else the error of the first node that cannot be
  // converted, with its name ("Op type not registered 'X'" is NOT_FOUND).
  Result<Value> value(std::string_view name);
  // Likewise for a value that is to be fed. Its node and the node's inputs need not be convertible: a "_Missing" node
  // then replaces it. A step that needs it without feeding it fails with the node's error.
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

  // The TensorFlow graph version that we claim as consumer; since 2019 it counts days. Graphs with a greater
  // min_consumer are refused.
  static constexpr int kProducerVersion = 2474;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
