// A call as nodes of a graph, with the nodes that make its handles, its variables and its functions.
#pragma once

#include <map>

#include "argosy/graph/graph.h"
#include "argosy/runtime/session/session.h"
#include "fuzz/op_calls/op_call.h"
#include "fuzz/op_calls/random_draws.h"

namespace argosy {
class FunctionBody;
}

namespace argosy::op_calls {

class CallGraphBuilder {
 public:
  explicit CallGraphBuilder(Graph& graph) : graph_(graph) {}

  // The call's node: output 0, or its control value. Not valid(): the graph refuses it.
  Value add(const OpCall& call);

  Feeds feeds;
  std::vector<Value> first;  // run once before: first values of variables

 private:
  static Value output(const Value& v, int index);
  Value plain(const Tensor& t);
  Value variable(const CallInput& in, bool ref);
  void name_functions(const OpCall& call, AttrMap& attrs);
  std::string add_function(const CallFunction& f);
  static Value returned(FunctionBody& body, const CallFunction::Return& r, const std::vector<Value>& parameters);

  Graph& graph_;
  RandomDraws draws_{7};
  std::map<const OpCall*, Value> made_;
};

}  // namespace argosy::op_calls
