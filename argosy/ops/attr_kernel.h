// A kernel that is a function of its inputs and its node's attributes, and keeps nothing else:
//
//   Status crop(KernelContext& c, const AttrMap& attrs);
//   kernels.add("Crop", "cpu", AttrKernel<crop>::make);
#pragma once

#include <memory>

#include "argosy/op/kernel/kernel.h"

namespace argosy {

template <Status (*Function)(KernelContext&, const AttrMap&)>
class AttrKernel final : public Kernel {
 public:
  explicit AttrKernel(const AttrMap& attrs) : attrs_(attrs) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<AttrKernel>(init.attrs));
  }
  Status run(KernelContext& c) override { return Function(c, attrs_); }

 private:
  const AttrMap attrs_;
};

}  // namespace argosy
