#include "argosy/op/kernel/host_callbacks.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/op/kernel/step_context.h"
#include "argosy/ops/callback/callback.h"

namespace argosy {

namespace {

class Call final : public AsyncKernel {
 public:
  explicit Call(std::string token) : token_(std::move(token)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Call>(init.attrs.get_string("token")));
  }

  void run_async(KernelContext& c, Done done) override {
    HostCallbacks* const calls = c.step() != nullptr ? c.step()->host_callbacks() : nullptr;
    if (calls == nullptr) {
      return done(
          unimplemented("'", token_,
                        "' is a function of the program that built the graph, whose Python cannot be called here")
              .with_id("ARG-CALL-001")
              .with_hint("argosy run -- python3 <the program>: a server and its program that know each other"));
    }
    std::vector<Tensor> arguments;
    for (int i = 0; i < c.num_inputs(); ++i) arguments.push_back(c.input(i));
    calls->call(token_, std::move(arguments), &c.step()->cancellation(),
                [this, &c, done = std::move(done)](Result<std::vector<Tensor>> given) {
                  done(given.ok() ? give(c, std::move(*given)) : given.status());
                });
  }

 private:
  Status give(KernelContext& c, std::vector<Tensor> given) const {
    if (static_cast<int>(given.size()) != c.num_outputs()) {
      return invalid_argument(token_, " returns ", given.size(), " values, but expects to see ", c.num_outputs(),
                              " values.");
    }
    for (int i = 0; i < c.num_outputs(); ++i) {
      if (given[i].dtype() != c.output_dtype(i)) {
        return invalid_argument(i, "-th value returned by ", token_, " is ", dtype_name(given[i].dtype()),
                                ", but expects ", dtype_name(c.output_dtype(i)));
      }
      c.set_output(i, std::move(given[i]));
    }
    return ok_status();
  }

  const std::string token_;
};

}  // namespace

void add_kernels_cpu_callback(KernelRegistry& kernels) {
  for (const char* op : {"PyFunc", "PyFuncStateless", "EagerPyFunc"}) kernels.add(op, "cpu", Call::make);
}

}  // namespace argosy
