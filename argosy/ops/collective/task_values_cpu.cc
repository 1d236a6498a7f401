#include "argosy/base/threads/cancel_link.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/op/kernel/step_context.h"
#include "argosy/ops/collective/task_net.h"
#include "argosy/ops/collective/task_values.h"

namespace argosy {

namespace {

class TaskValuesKernel final : public AsyncKernel {
 public:
  explicit TaskValuesKernel(const KernelInit& init) {
    if (const auto* net = init.attrs.find_as<std::vector<std::int64_t>>(kNetAttr)) tag_ = net->at(0);
  }
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<TaskValuesKernel>(init));
  }

  void run_async(KernelContext& c, Done done) override {
    std::vector<Tensor> own;
    // What is given is never an input's memory.
    for (int i = 0; i < c.num_inputs(); ++i) own.push_back(tag_ < 0 ? c.input(i).clone() : c.input(i));
    if (tag_ < 0) return done(put(c, own));
    Result<std::shared_ptr<NetGroup>> net = task_net(c.resources());
    if (!net.ok()) return done(net.status());
    // The other tasks would wait for this one, whose step has failed.
    auto link = std::make_shared<CancelLink>(c.step() != nullptr ? &c.step()->cancellation() : nullptr,
                                             [group = *net, &c] { group->abort(c.step()->cancellation().status()); });
    if (link->too_late()) return done(c.step()->cancellation().status());
    (*net)->start_gather_values(std::move(own), static_cast<std::uint32_t>(tag_),
                                [&c, link, done = std::move(done)](Result<std::vector<Tensor>> all) mutable {
                                  link->end();
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

  std::int64_t tag_ = -1;
};

}  // namespace

void add_kernels_cpu_task_values(KernelRegistry& kernels) { kernels.add("_TaskValues", "cpu", TaskValuesKernel::make); }

}  // namespace argosy
