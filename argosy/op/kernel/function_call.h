// Functions of the graph that kernels call while they run: the transformations of a dataset, a factory. (Nodes that
// call functions, such as branches and loops, are lowered instead: argosy/passes/functions/lower_functions.h.)
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

// A compiled function. Thread-safe: many calls at once. It must not outlive the device set it runs on. Resources in a
// ResourceManager of that device set may hold it.
class FunctionCall {
 public:
  virtual ~FunctionCall() = default;
  // Runs the body on the calling thread, on the host. `arguments` and what it returns are host tensors in the order of
  // the signature; handles and variants pass through. INVALID_ARGUMENT when they do not fit the signature; CANCELLED
  // when `cancellation` (may be null) is cancelled; else the body's own error, naming its node.
  virtual Result<std::vector<Tensor>> run(std::span<const Tensor> arguments, Cancellation* cancellation) = 0;
  // True if its ops keep state between calls, such as streams of random numbers.
  virtual bool keeps_state() const { return false; }
  // Returns the same function with fresh state. Called only if keeps_state().
  virtual Result<std::shared_ptr<FunctionCall>> anew() const { return unimplemented("this function keeps no state"); }
  virtual const std::vector<DType>& parameters() const = 0;  // dtypes of the arguments
  virtual const std::vector<DType>& returns() const = 0;     // dtypes of the results
  // True if its body, or a function that the body names, has an op for which `fits` is true.
  virtual bool any_op(const std::function<bool(const OpDef&)>& /*fits*/) const { return false; }
};

// The functions of a step's graph. Thread-safe; a kernel may keep it and call prepare() later.
class FunctionCalls {
 public:
  virtual ~FunctionCalls() = default;
  // Returns the compiled function; each name is compiled once. NOT_FOUND "ARG-FN-005": the graph has no such function.
  virtual Result<std::shared_ptr<FunctionCall>> prepare(const std::string& name) = 0;
};

}  // namespace argosy
