// The text form of a graph: what people read, tests compare and `argosy graph show` prints. One node a line:
//
//   x = Placeholder [dtype=float, shape=shape[?,4]] @/device:GPU:0    # float[?,4]
//   y = MatMul(x, w/read:0, ^init) [T=float, transpose_a=false, transpose_b=true]
//
// Attributes that equal their default are left out of what is printed, unless asked for. Functions follow as "function
// NAME(arg, …) -> (ret, …) {" … "}". to_text() and parse_text() are inverse but for comments.
#pragma once

#include <string>

#include "argosy/graph/graph.h"

namespace argosy {

// Options of to_text().
struct TextOptions {
  bool all_attrs = false;    // print attributes with default values, too
  bool shapes = true;        // the comment with dtypes and shapes
  int max_values = 1 << 20;  // printed per tensor; a truncated text does not parse back
};

// One line a node, in topological order; parse_text() reads it.
std::string to_text(const Graph& graph, const TextOptions& options = {});
// Errors name line and column. Hostile input is refused, never trusted.
Result<Graph> parse_text(std::string_view text, const OpRegistry& ops);

// Graphviz: devices as clusters, control edges dashed.
std::string to_dot(const Graph& graph);

}  // namespace argosy
