// Functions of the graph as kernels call them while they run: the transformations of a dataset, a factory. (Branches,
// loops and calls between nodes are not called but lowered: argosy/passes/functions/lower_functions.h.)
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "argosy/base/threads/cancellation.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

struct OpDef;  // argosy/op/definition/op_def.h

// One function, compiled. Thread-safe: many calls at once. It must not outlive the device set it runs on; what a
// ResourceManager of that device set holds does not.
class FunctionCall {
 public:
  virtual ~FunctionCall() = default;
  // Runs the body on the calling thread, on the host. `arguments` and what it returns are host tensors in the order of
  // the signature; handles and variants pass through. INVALID_ARGUMENT when they do not fit the signature; CANCELLED
  // when `cancellation` (may be null) is pulled; else the body's own error, naming its node.
  virtual Result<std::vector<Tensor>> run(std::span<const Tensor> arguments, Cancellation* cancellation) = 0;
  // Do its ops keep anything between calls, such as streams of random numbers?
  virtual bool keeps_state() const { return false; }
  // The same function, whose ops begin anew. Asked for where it keeps_state().
  virtual Result<std::shared_ptr<FunctionCall>> anew() const { return unimplemented("this function keeps no state"); }
  virtual const std::vector<DType>& parameters() const = 0;  // dtypes of the arguments
  virtual const std::vector<DType>& returns() const = 0;     // dtypes of what it gives
  // Has its body, or a function that is named there, an op that fits?
  virtual bool any_op(const std::function<bool(const OpDef&)>& /*fits*/) const { return false; }
};

// The functions a step knows. Thread-safe; a kernel may keep it and prepare later.
class FunctionCalls {
 public:
  virtual ~FunctionCalls() = default;
  // Compiled once per name. NOT_FOUND "ARG-FN-005" when the graph has no such function.
  virtual Result<std::shared_ptr<FunctionCall>> prepare(const std::string& name) = 0;
};

}  // namespace argosy
