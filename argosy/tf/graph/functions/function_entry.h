// FunctionEntry: one function of ours that a FunctionTable makes. Internal to argosy/tf.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "argosy/formats/proto/graph.pb.h"
#include "argosy/tf/graph/functions/function_library.h"

namespace argosy::tf {

struct FunctionEntry {
  std::string name;  // in our graph
  const tensorflow::FunctionDef* def = nullptr;
  AttrBindings bindings;
  int producer = 0;                // the version of the graph that the definition came with
  bool gradient = false;           // it is the gradient of `forward`
  bool chosen = false;             // see FunctionTable::use()
  std::string forward;             // of a gradient: the name of its function in our graph
  std::vector<std::string> calls;  // names in our graph of the functions that it calls
  Status status;
  bool made = false, settled = false, on_path = false;
  int depth = 0;  // of nested calls; known once settled
};

// Finds how deep the calls of a function nest, for it and every function that it reaches. A function that calls itself,
// or whose calls nest too deep, gets an error (ARG-FN-009, ARG-FN-008). Uses no recursion.
void settle_calls(FunctionEntry& first, const std::unordered_map<std::string_view, FunctionEntry*>& by_name);

}  // namespace argosy::tf
