// FunctionEntry: one function of our graph that a FunctionTable makes, for one FunctionDef and set of attribute values.
// Internal to argosy/tf.
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
  int producer = 0;                 // the producer version of the GraphDef that had the definition
  bool gradient = false;            // it is the gradient of `forward`
  bool chosen = false;              // see FunctionTable::use()
  std::string forward;              // of a gradient: the name of its function in our graph
  FunctionEntry* caller = nullptr;  // the function whose body named it first; null: a node of the graph did
  int nesting = 0;                  // length of the chain of callers
  std::vector<std::string> calls;   // names in our graph of the functions that it calls
  Status status;
  bool made = false, settled = false, on_path = false;
  int depth = 0;  // greatest depth of nested calls below it; known once settled
};

// Sets the depth of nested calls of a function and of all functions that it reaches, and marks them settled. A function
// that calls itself (ARG-FN-009), or whose calls nest too deep (ARG-FN-008), gets an error. Uses no recursion.
void settle_calls(FunctionEntry& first, const std::unordered_map<std::string_view, FunctionEntry*>& by_name);

// Gives every function that calls a failed one its error. Sorts the functions by depth: callees first.
void spread_failures(std::vector<FunctionEntry*>& functions,
                     const std::unordered_map<std::string_view, FunctionEntry*>& by_name);

// Checks a function by its chain of callers, before its body is read. Errors: ARG-FN-009, it calls itself with other
// attributes; ARG-FN-008, the chain is too long. So an endless expansion is refused. OK: neither is the case.
Status check_callers(const FunctionEntry& entry);

}  // namespace argosy::tf
