#include "argosy/op/kernel/step_context.h"
#include "argosy/op/state/named_resource.h"
#include "argosy/ops/accumulator/accumulator_state.h"
#include "argosy/ops/list/tensor_list.h"

namespace argosy {

namespace {

template <typename T>
class Handle final : public Kernel {
 public:
  Handle(AccumulatorOptions options, NamedResource place) : options_(std::move(options)), place_(std::move(place)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    AccumulatorOptions options{init.attrs.get_type("dtype"), init.attrs.get<PartialShape>("shape"),
                               init.attrs.get_string("reduction_type") == "SUM"};
    return std::unique_ptr<Kernel>(std::make_unique<Handle>(std::move(options), NamedResource(init)));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(auto found, place_.find_or_make<T>(c.resources(), [&] {
      return std::make_shared<T>(place_.name(), options_);
    }));
    ARGOSY_RETURN_IF_ERROR(found->check_same(options_));
    c.set_output(0, place_.handle(std::move(found)));
    return ok_status();
  }

 private:
  const AccumulatorOptions options_;
  NamedResource place_;
};

Status apply(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto accumulator, c.resource<DenseAccumulator>(0));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t step, scalar_input(c.input(1), "local_step"));
  return accumulator->add(step, c.input(2));
}

class ApplySparse final : public Kernel {
 public:
  explicit ApplySparse(bool known_shape) : known_shape_(known_shape) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<ApplySparse>(init.attrs.get_bool("has_known_shape")));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const auto accumulator, c.resource<SparseAccumulator>(0));
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t step, scalar_input(c.input(1), "local_step"));
    return accumulator->add(step, c.input(2), c.input(3), known_shape_ ? &c.input(4) : nullptr);
  }

 private:
  const bool known_shape_;
};

template <typename T>
class Take final : public AsyncKernel {
 public:
  void run_async(KernelContext& c, Done done) override {
    const auto accumulator = c.resource<T>(0);
    if (!accumulator.ok()) return done(accumulator.status());
    const auto required = scalar_input(c.input(1), "num_required");
    if (!required.ok()) return done(required.status());
    if (*required <= 0) return done(invalid_argument("Argument num_required must be positive, but was ", *required));
    const int values = std::is_same_v<T, SparseAccumulator> ? 1 : 0;
    if (c.output_dtype(values) != (*accumulator)->options().dtype) {
      return done(invalid_argument("an accumulator of ", dtype_name((*accumulator)->options().dtype), " does not give ",
                                   dtype_name(c.output_dtype(values))));
    }
    (*accumulator)
        ->take(*required, c.step() != nullptr ? &c.step()->cancellation() : nullptr,
               [&c, done = std::move(done)](Status status, std::vector<Tensor> out) {
                 for (std::size_t i = 0; status.ok() && i < out.size(); ++i) {
                   c.set_output(static_cast<int>(i), std::move(out[i]));
                 }
                 done(std::move(status));
               });
  }
  static Result<std::unique_ptr<Kernel>> make(const KernelInit&) {
    return std::unique_ptr<Kernel>(std::make_unique<Take>());
  }
};

Status count(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto accumulator, c.resource<Accumulator>(0));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  *y->data<std::int32_t>() = static_cast<std::int32_t>(accumulator->count());
  return ok_status();
}

Status set_step(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto accumulator, c.resource<Accumulator>(0));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t step, scalar_input(c.input(1), "new_global_step"));
  accumulator->set_step(step);
  return ok_status();
}

}  // namespace

void add_kernels_cpu_accumulator(KernelRegistry& kernels) {
  for (const char* kind : {"", "Resource"}) {
    kernels.add(str_cat(kind, "ConditionalAccumulator"), "cpu", Handle<DenseAccumulator>::make);
    kernels.add(str_cat(kind, "AccumulatorApplyGradient"), "cpu", apply);
    kernels.add(str_cat(kind, "AccumulatorTakeGradient"), "cpu", Take<DenseAccumulator>::make);
    kernels.add(str_cat(kind, "AccumulatorNumAccumulated"), "cpu", count);
    kernels.add(str_cat(kind, "AccumulatorSetGlobalStep"), "cpu", set_step);
  }
  kernels.add("SparseConditionalAccumulator", "cpu", Handle<SparseAccumulator>::make);
  kernels.add("SparseAccumulatorApplyGradient", "cpu", ApplySparse::make);
  kernels.add("SparseAccumulatorTakeGradient", "cpu", Take<SparseAccumulator>::make);
}

}  // namespace argosy
