// ByLibrary: a kernel that calls a vendor's library, with a kernel of our own as the fallback. A library may not
// support all sizes, and sizes may be known only when a step runs.
#pragma once

#include "argosy/op/kernel/kernel.h"

namespace argosy {

class ByLibrary : public Kernel {
 public:
  // `own`: the fallback, which computes the same and supports all inputs.
  explicit ByLibrary(std::unique_ptr<Kernel> own) : own_(std::move(own)) {}
  Status run(KernelContext& c) final {
    Status done = by_library(c);
    return done.code() == Code::kUnimplemented ? own_->run(c) : done;
  }
  bool capturable() const final { return own_->capturable(); }

 protected:
  // Runs the library. UNIMPLEMENTED: the library does not support the node's inputs and has started nothing; `own`
  // runs.
  virtual Status by_library(KernelContext& c) = 0;

 private:
  const std::unique_ptr<Kernel> own_;
};

}  // namespace argosy
