#include "argosy/base/threads/cancel_link.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/op/kernel/step_context.h"
#include "argosy/ops/collective/task_net.h"
#include "argosy/ops/collective/task_values.h"

namespace argosy {

namespace {

// An all-gather of whole tensors over tasks.
class TaskValuesKernel final : public AsyncKernel {
 public:
  explicit TaskValuesKernel(const KernelInit& init) {
    if (const auto* net_attr = init.attrs.find_as<std::vector<std::int64_t>>(kNetAttr)) tag_ = net_attr->at(0);
  }
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<TaskValuesKernel>(init));
  }

  void run_async(KernelContext& c, Done done) override {
    std::vector<Tensor> own;
    const bool single_task = tag_ < 0;
    // An output must not share its memory with an input. A gather makes new tensors; a single task copies.
    for (int i = 0; i < c.num_inputs(); ++i) own.push_back(single_task ? c.input(i).clone() : c.input(i));
    if (single_task) return done(put(c, own));
    Result<std::shared_ptr<NetGroup>> net = task_net(c.resources());
    if (!net.ok()) return done(net.status());
    // A cancelled step aborts the group. Else the other tasks would wait for this one.
    auto link = std::make_shared<CancelLink>(c.step() != nullptr ? &c.step()->cancellation() : nullptr,
                                             [group = *net, &c] { group->abort(c.step()->cancellation().status()); });
    if (link->too_late()) return done(c.step()->cancellation().status());
    (*net)->start_gather_values(std::move(own), static_cast<std::uint32_t>(tag_),
                                [&c, link, done = std::move(done)](Result<std::vector<Tensor>> all) mutable {
                                  link->end();  // before done(), which may end the step and its cancellation
                                  link.reset();
                                  done(all.ok() ? put(c, *all) : all.status());
                                });
  }

 private:
  static Status put(KernelContext& c, const std::vector<Tensor>& all) {
    if (static_cast<int>(all.size()) != c.num_outputs()) {
      return internal_error("_TaskValues: ", all.size(), " values came instead of ", c.num_outputs());
    }
    for (int i = 0; i < c.num_outputs(); ++i) {
      const Tensor& value = all[static_cast<std::size_t>(i)];
      if (value.dtype() != c.output_dtype(i)) {
        return internal_error("_TaskValues: value ", i, " is ", dtype_name(value.dtype()));
      }
      c.set_output(i, value);
    }
    return ok_status();
  }

  std::int64_t tag_ = -1;  // of the group's messages; -1: there is one task
};

}  // namespace

void add_kernels_cpu_task_values(KernelRegistry& kernels) { kernels.add("_TaskValues", "cpu", TaskValuesKernel::make); }

}  // namespace argosy
