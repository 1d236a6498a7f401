// A node that calls functions, while it is lowered. Internal to argosy/passes/functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "argosy/passes/functions/inline_body.h"

namespace argosy::lowering {

struct Caller {
  Graph& graph;
  Inliner& in;  // begun for this caller
  Node node;    // as it was
  // What the lowering finds:
  std::vector<Endpoint> outputs = {};  // the new producers of the caller's outputs, in order
  std::vector<NodeId> finished = {};   // when these have run, the caller has

  // The function that an attribute names.
  std::string function(std::string_view attr) const { return node.attrs.get<FunctionRef>(attr).name; }
};

}  // namespace argosy::lowering
