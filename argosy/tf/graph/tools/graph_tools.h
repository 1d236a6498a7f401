// Changes and compares TensorFlow's graph files without running them: they may hold unknown ops. The kinds of files are
// those of argosy/tf/model/load_graph.h.
#pragma once

#include <string>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy::tf {

// One difference between two graphs. Attributes with default values equal attributes that are left out. Not compared:
// the order of nodes and of control inputs, versions and debug information.
struct GraphDifference {
  enum class Kind { kOnlyFirst, kOnlySecond, kChanged };
  Kind kind;
  std::string what;     // "node x" or "function f"
  std::string details;  // for kChanged: "op MatMul | BatchMatMul; attr transpose_b false | true"
};
// GraphForm: a graph to compare, change or show: read from a TensorFlow file, or made of a Graph of ours.
class GraphForm {
 public:
  static Result<GraphForm> read(const std::string& path, const std::vector<std::string>& tags, const OpRegistry& ops);
  static Result<GraphForm> of(const Graph& graph);
  GraphForm(GraphForm&&) noexcept;
  GraphForm& operator=(GraphForm&&) noexcept;
  ~GraphForm();

  std::vector<GraphDifference> differences(const GraphForm& second) const;

  struct StripOptions {
    std::vector<std::string> outputs = {};  // must still be computable; empty: see strip()
    bool defaults = false;                  // leave out attributes that have their default values
    bool training = true;                   // leave out what only training needs (see below)
    bool devices = false;                   // remove the nodes' devices
  };
  // Removes nodes that `outputs` do not depend on; if it is empty, only what `training` says. With `training` it also
  // removes:
  // * CheckNumerics, PreventGradient, StopGradient, Snapshot and assertions; their consumers then read their inputs;
  // * if `outputs` is empty, savers, initialisers, gradients, updates and summaries.
  // Returns a summary: "12 of 40 nodes …". NOT_FOUND: there is no such output.
  Result<std::string> strip(const StripOptions& options);

  int num_nodes() const;
  // Return the graph as text (op and inputs of every node) and in DOT, also for graphs that cannot be converted.
  std::string text() const;
  std::string dot() const;
  Status save(const std::string& path) const;  // .pbtxt: as text; .pb: binary

 private:
  struct Impl;
  explicit GraphForm(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace argosy::tf
