// Caller: the state of lowering one node that calls functions. Internal to argosy/passes/functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "argosy/passes/functions/inline_body.h"

namespace argosy::lowering {

struct Caller {
  Graph& graph;
  Inliner& in;  // after begin() for this caller
  Node node;    // a copy of the caller, from before lowering
  // Results of the lowering:
  std::vector<Endpoint> outputs = {};  // the new producers of the caller's outputs, in order
  std::vector<NodeId> finished = {};   // the caller has run once all of these have

  // The function that an attribute names.
  std::string function(std::string_view attr) const { return node.attrs.get<FunctionRef>(attr).name; }
};

}  // namespace argosy::lowering
