// ImportedGraph: a GraphDef as it came, made into nodes of a Graph of ours as far as somebody asks for them.
//
//   GraphDef ──extend──► records by name ──value("loss:0")──► nodes of graph(): loss and all it depends on
//
// What Python sends is mostly never run (savers, initialisers, gradients of labels), and may hold ops we lack. So a
// node is converted when a value is asked for that reaches it, once; one that cannot be (unknown op, attribute,
// contradicting shapes) keeps its error, which is told to whoever reaches it and to nobody else. Extending costs in
// proportion to what is added. Not thread-safe: whoever shares it with a Session calls value() inside Session::mutate_graph().
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

  // Adds the nodes and functions of a GraphDef (serialised, or parsed and then moved from): all of it or, on an error,
  // nothing. Inputs may name nodes of this or an earlier GraphDef, in any order. Functions sent before are accepted if
  // they are the same.
  // INVALID_ARGUMENT: a malformed message, name or input; a name that is taken; an input that names nothing; a
  // min_consumer above kProducerVersion. Errors name the node.
  Status extend(std::string_view serialized);
  Status extend(tensorflow::GraphDef&& def);

  bool has(std::string_view node) const;
  int num_nodes() const;

  // The value that "node:1", "node" (its output 0) or "^node" names, all it depends on converted. NOT_FOUND: no such
  // node; INVALID_ARGUMENT: no such output; else the error of the first node on the way that cannot be converted ("Op
  // type not registered 'X'" is NOT_FOUND), naming it.
  Result<Value> value(std::string_view name);
  // The same for a value that is to be fed. What it depends on need not be convertible, nor its node: then something
  // stands in its place, for all that take it, and a step that computes them without feeding it has the node's error.
  Result<Value> value_to_feed(std::string_view name);
  // What was converted so far; it grows in value() only. Node names, devices and attributes are the GraphDef's.
  Graph& graph();
  const Graph& graph() const;

  // What came so far, as one GraphDef: nodes with all their attributes, functions, versions.
  Status write(tensorflow::GraphDef* def) const;

  // Converts everything, functions that nobody names included. Nodes that cannot be are left out, each with its error.
  struct Failure {
    std::string node, op;
    Status status;
  };
  std::vector<Failure> convert_all();

  // What we say we are: TensorFlow's versions count by the day since 2019. Graphs that want a newer consumer are
  // refused.
  static constexpr int kProducerVersion = 2474;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
