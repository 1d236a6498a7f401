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
  int producer = 0;                 // the version of the graph that the definition came with
  bool gradient = false;            // it is the gradient of `forward`
  bool chosen = false;              // see FunctionTable::use()
  std::string forward;              // of a gradient: the name of its function in our graph
  FunctionEntry* caller = nullptr;  // whose body asked for it first; null: a node of the graph
  int nesting = 0;                  // of callers above it
  std::vector<std::string> calls;   // names in our graph of the functions that it calls
  Status status;
  bool made = false, settled = false, on_path = false;
  int depth = 0;  // of nested calls; known once settled
};

// Finds how deep the calls of a function nest, for it and every function that it reaches. A function that calls itself,
// or whose calls nest too deep, gets an error (ARG-FN-009, ARG-FN-008). Uses no recursion.
void settle_calls(FunctionEntry& first, const std::unordered_map<std::string_view, FunctionEntry*>& by_name);

// A function that calls a failed one fails, too, for the same reason. Sorts the functions: inner ones first.
void spread_failures(std::vector<FunctionEntry*>& functions,
                     const std::unordered_map<std::string_view, FunctionEntry*>& by_name);

// The error of a function that its callers prove to have no end, before its body is read: it calls itself with other
// attributes (ARG-FN-009), or its callers nest too deep (ARG-FN-008). OK: they prove nothing.
Status check_callers(const FunctionEntry& entry);

}  // namespace argosy::tf
