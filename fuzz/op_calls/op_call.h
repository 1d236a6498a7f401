// A call of an op that can be made again from its seed: attributes, inputs, the calls that make its handles, and the
// functions that its attributes name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "argosy/op/definition/op_def.h"
#include "argosy/tensor/tensor.h"

namespace argosy::op_calls {

struct OpCall;

struct CallInput {
  Tensor value;                         // a variable's first value; not valid(): it has none yet
  bool variable = false;                // the input names a variable: a Ref(T) or a handle
  DType dtype = DType::kFloat32;        // of the variable
  std::shared_ptr<OpCall> source = {};  // or the input is what another call gives
  int output = 0;                       // … of it
  int same_as = -1;                     // or the same value as an earlier input
};

// A function of the graph: what an attribute of kind func names.
struct CallFunction {
  std::string attr;  // which it belongs to; several of one name: a list
  std::vector<DType> takes;
  struct Return {
    int parameter = -1;  // the parameter itself, or
    Tensor constant;     // a constant
  };
  std::vector<Return> gives;
  bool fails = false;      // its body ends in an error at run time
  bool recursive = false;  // it calls itself
};

struct OpCall {
  const OpDef* op = nullptr;
  AttrMap attrs;  // as given: perhaps incomplete or wrong
  std::vector<CallInput> inputs;
  std::vector<CallFunction> functions;
  std::vector<std::shared_ptr<OpCall>> before;  // run first, on the same handles
  bool recorded = false;                        // made from a case of the suite

  // It needs other nodes around it: handles made by other ops, or functions.
  bool needs_graph() const;
  std::string describe(int depth = 0) const;
};

}  // namespace argosy::op_calls
