// Kernels by a vendor's library, with one of our own behind: a library takes some sizes and not others, and sizes may
// be known only when a step runs.
#pragma once

#include "argosy/op/kernel/kernel.h"

namespace argosy {

class ByLibrary : public Kernel {
 public:
  // `own` computes the same of everything.
  explicit ByLibrary(std::unique_ptr<Kernel> own) : own_(std::move(own)) {}
  Status run(KernelContext& c) final {
    Status done = by_library(c);
    return done.code() == Code::kUnimplemented ? own_->run(c) : done;
  }
  bool capturable() const final { return own_->capturable(); }

 protected:
  // UNIMPLEMENTED: nothing was started, it is `own`'s.
  virtual Status by_library(KernelContext& c) = 0;

 private:
  const std::unique_ptr<Kernel> own_;
};

}  // namespace argosy
