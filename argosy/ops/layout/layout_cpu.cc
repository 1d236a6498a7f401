#include "argosy/ops/layout/layout_ops.h"
#include "argosy/ops/layout/layout_registration.h"
#include "argosy/ops/layout/strided/strided_copy.h"
#include "argosy/ops/ops.h"

namespace argosy {

namespace {

class Moved final : public Kernel {
 public:
  explicit Moved(std::unique_ptr<Kernel> cpu) : cpu_(std::move(cpu)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(auto cpu, cpu_kernels().make(init, "cpu"));
    return std::unique_ptr<Kernel>(std::make_unique<Moved>(std::move(cpu)));
  }
  Status run(KernelContext& c) override {
    const CopyEngine::Scope scope(*c.fields().copy_engine);
    return cpu_->run(c);
  }

 private:
  const std::unique_ptr<Kernel> cpu_;
};

}  // namespace

void add_kernels_cpu_layout(KernelRegistry& kernels) {
  add_transposes(kernels);
  add_joins(kernels);
  add_slices(kernels);
  add_pads(kernels);
  add_repeats(kernels);
  add_blocks(kernels);
  add_diagonals(kernels);
  for (const char* op : kLayoutOps) kernels.add(op, "layout", Moved::make);
}

}  // namespace argosy
