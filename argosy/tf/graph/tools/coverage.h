// Which part of a TensorFlow graph can run here: its ops, native or missing, and the nodes that use them.
#pragma once

#include <string>
#include <vector>

#include "argosy/op/definition/registry.h"

namespace argosy::tf {

struct OpCoverage {
  std::string op;
  bool native = false;  // an op of ours, or a function of the graph
  bool needed = true;   // of a SavedModel: its signatures reach a node of it, or initialising or restoring does
  std::vector<std::string> nodes;  // all that use it; of a function's body: "function/node"
};

struct Coverage {
  std::string kind;  // "GraphDef", "MetaGraphDef", "SavedModel"
  int nodes = 0;     // with those of functions
  int functions = 0;
  int producer = 0, min_consumer = 0;
  std::vector<OpCoverage> ops;  // missing ones first, then by use, then by name
  // Needed nodes of native ops that cannot be converted all the same, with the reason.
  struct Problem {
    std::string node, op, error;
  };
  std::vector<Problem> problems;

  int missing() const;  // ops that are needed
};

// Reads the file (argosy/tf/model/load_graph.h says which) and tries everything in it.
Result<Coverage> read_coverage(const std::string& path, const std::vector<std::string>& tags, const OpRegistry& ops);

}  // namespace argosy::tf
