// Workspace: device memory that a kernel takes while it runs, beside its outputs, and has given back when its run ends
// (KernelContext::scratch, or tensors from its allocator). Forecasts of memory count the largest of a device's nodes.
//
// A kernel that takes any says how much. The test `op_workspaces` holds each kernel of kind "cpu" to what it says, on all
// op cases and on larger ones. Silence means none.
#pragma once

#include <cstdint>
#include <optional>

#include "argosy/op/kernel/kernel.h"

namespace argosy {

// A second base class of a kernel. The compiler of steps finds it by dynamic_cast.
class Workspace {
 public:
  virtual ~Workspace() = default;
  // The most bytes that one run holds at once, with the threads of init.device. Nothing: the shapes that are known do not
  // tell, or the values of inputs decide. `init` is that of the kernel's factory.
  virtual std::optional<std::uint64_t> workspace_bytes(const KernelInit& init) = 0;
};

using WorkspaceFunction = std::optional<std::uint64_t> (*)(const KernelInit& init);

// A factory for a kernel that is a function: kernels.add(op, kind, with_workspace<l2_loss, l2_loss_bytes>).
template <KernelFunction function, WorkspaceFunction bytes>
Result<std::unique_ptr<Kernel>> with_workspace(const KernelInit&) {
  class WithWorkspace final : public Kernel, public Workspace {
   public:
    Status run(KernelContext& c) override { return function(c); }
    std::optional<std::uint64_t> workspace_bytes(const KernelInit& init) override { return bytes(init); }
  };
  return std::unique_ptr<Kernel>(std::make_unique<WithWorkspace>());
}

// The same for a kernel that a factory makes. Not for asynchronous kernels, nor for those with another second base class.
template <KernelFactory factory, WorkspaceFunction bytes>
Result<std::unique_ptr<Kernel>> with_workspace(const KernelInit& init) {
  class WithWorkspace final : public Kernel, public Workspace {
   public:
    explicit WithWorkspace(std::unique_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}
    Status run(KernelContext& c) override { return kernel_->run(c); }
    bool capturable() const override { return kernel_->capturable(); }
    std::optional<std::uint64_t> workspace_bytes(const KernelInit& init) override { return bytes(init); }

   private:
    const std::unique_ptr<Kernel> kernel_;
  };
  ARGOSY_ASSIGN_OR_RETURN(auto kernel, factory(init));
  return std::unique_ptr<Kernel>(std::make_unique<WithWorkspace>(std::move(kernel)));
}

// Bytes that many kernels take: `each` for every element, nothing where the shape is not known.
inline std::optional<std::uint64_t> bytes_for(const PartialShape& shape, std::size_t each) {
  if (!shape.is_full()) return std::nullopt;
  return static_cast<std::uint64_t>(shape.elements()) * each;
}
template <int input, std::size_t each>
std::optional<std::uint64_t> for_elements_of_input(const KernelInit& init) {
  return bytes_for(init.input_shapes[input], each);
}
template <int output, std::size_t each>
std::optional<std::uint64_t> for_elements_of_output(const KernelInit& init) {
  return bytes_for(init.output_shapes[output], each);
}
// The same for every path of indices: the last axis of the input is one path.
template <int input, std::size_t each>
std::optional<std::uint64_t> for_paths_of_input(const KernelInit& init) {
  const PartialShape& shape = init.input_shapes[input];
  if (!shape.is_full()) return std::nullopt;
  std::uint64_t bytes = each;
  for (int i = 0; i + 1 < shape.rank(); ++i) bytes *= static_cast<std::uint64_t>(shape[i]);
  return bytes;
}
// Known when it runs: the values of inputs decide, or ops that it is made of.
inline std::optional<std::uint64_t> known_when_run(const KernelInit&) { return std::nullopt; }

}  // namespace argosy
