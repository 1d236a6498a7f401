// Coverage: which ops of a TensorFlow graph are supported, which are missing, and which nodes use them.
#pragma once

#include <string>
#include <vector>

#include "argosy/op/definition/registry.h"

namespace argosy::tf {

struct OpCoverage {
  std::string op;
  bool native = false;  // an op of ours, or a function of the graph
  bool needed = true;   // in a SavedModel: signatures, initialisation or restoring depend on a node of this op
  std::vector<std::string> nodes;  // all nodes of this op; those of a function's body as "function/node"
};

struct Coverage {
  std::string kind;  // "GraphDef", "MetaGraphDef", "SavedModel"
  int nodes = 0;     // in the graph and in functions
  int functions = 0;
  int producer = 0, min_consumer = 0;
  std::vector<OpCoverage> ops;  // missing ones first, then by use, then by name
  // Needed nodes of native ops that cannot be converted, with the error.
  struct Problem {
    std::string node, op, error;
  };
  std::vector<Problem> problems;

  int missing() const;  // number of ops that are needed and not native
};

// Reads a file (of a kind that argosy/tf/model/load_graph.h lists) and tries to convert all of its nodes.
Result<Coverage> read_coverage(const std::string& path, const std::vector<std::string>& tags, const OpRegistry& ops);

}  // namespace argosy::tf
