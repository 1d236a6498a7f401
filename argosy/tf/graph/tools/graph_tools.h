// Changes and compares TensorFlow's graph files without running them: they may hold unknown ops. The kinds of files are
// those of argosy/tf/model/load_graph.h.
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy::tf {

// The differences of two graphs, node by node, sorted by name. Defaults count as if they were written out; the order of
// nodes and of control inputs does not count, nor do versions and debug information.
struct GraphDifference {
  enum class Kind { kOnlyFirst, kOnlySecond, kChanged };
  Kind kind;
  std::string what;     // "node x" or "function f"
  std::string details;  // of a change: "op MatMul | BatchMatMul; attr transpose_b false | true"
};
// Either path may also be a text form of ours, given as a graph.
class GraphForm {
 public:
  static Result<GraphForm> read(const std::string& path, const std::vector<std::string>& tags, const OpRegistry& ops);
  static Result<GraphForm> of(const Graph& graph);
  GraphForm(GraphForm&&) noexcept;
  GraphForm& operator=(GraphForm&&) noexcept;
  ~GraphForm();

  std::vector<GraphDifference> differences(const GraphForm& second) const;

  struct StripOptions {
    std::vector<std::string> outputs = {};  // must still be computable; empty: all nodes that no other node takes
    bool defaults = false;                  // leave out attributes that have their default values
    bool training = true;                   // leave out what only training needs (see below)
    bool devices = false;                   // forget where nodes were to run
  };
  // Leaves out what `outputs` do not need; with `training`, also CheckNumerics, PreventGradient, StopGradient,
  // Snapshot, assertions (whose users then take what they took), and without outputs: savers, initialisers, gradients,
  // updates. NOT_FOUND for an output that is not there. Says what went: "12 of 40 nodes …".
  Result<std::string> strip(const StripOptions& options);

  int num_nodes() const;
  // A picture for people: op and inputs of every node, for graphs that cannot be converted; DOT likewise.
  std::string text() const;
  std::string dot() const;
  Status save(const std::string& path) const;  // .pbtxt: as text; .pb: binary

 private:
  struct Impl;
  explicit GraphForm(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
