// Workspace: device memory that a kernel allocates during a run and frees before its end, outputs excluded
// (KernelContext::scratch, or tensors from its allocator). A memory forecast counts the largest workspace of a device.
//
// A kernel with a workspace declares its size here; one that declares nothing must have none. The test `op_workspaces`
// checks each kernel of kind "cpu", on all op cases and on larger ones.
#pragma once

#include <cstdint>
#include <optional>

#include "argosy/op/kernel/kernel.h"

namespace argosy {

// A second base class of a kernel. The compiler of steps finds it by dynamic_cast.
class Workspace {
 public:
  virtual ~Workspace() = default;
  // The peak bytes of one run, with the threads of init.device. nullopt: they depend on unknown shapes or on the values
  // of inputs. `init` is that of the kernel's factory.
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

// The same for a kernel that a factory makes. Not for asynchronous kernels, nor for those with another second base
// class.
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

// `each` bytes for every element of the shape; nullopt: the shape is not fully known.
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
// The same for every index vector of GatherNd and its kin: one for each position before the last axis of the input.
template <int input, std::size_t each>
std::optional<std::uint64_t> for_paths_of_input(const KernelInit& init) {
  const PartialShape& shape = init.input_shapes[input];
  if (!shape.is_full()) return std::nullopt;
  std::uint64_t bytes = each;
  for (int i = 0; i + 1 < shape.rank(); ++i) bytes *= static_cast<std::uint64_t>(shape[i]);
  return bytes;
}
// For kernels whose workspace depends on values of inputs, or on the ops that they consist of.
inline std::optional<std::uint64_t> known_when_run(const KernelInit&) { return std::nullopt; }

}  // namespace argosy
