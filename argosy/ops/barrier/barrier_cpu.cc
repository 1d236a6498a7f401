#include "argosy/op/kernel/step_context.h"
#include "argosy/op/state/named_resource.h"
#include "argosy/ops/barrier/barrier_state.h"
#include "argosy/ops/list/tensor_list.h"

namespace argosy {

namespace {

class Handle final : public Kernel {
 public:
  Handle(std::vector<DType> dtypes, std::vector<PartialShape> shapes, NamedResource place)
      : dtypes_(std::move(dtypes)), shapes_(std::move(shapes)), place_(std::move(place)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    auto dtypes = init.attrs.get<std::vector<DType>>("component_types");
    auto shapes = init.attrs.get<std::vector<PartialShape>>("shapes");
    if (init.attrs.get_int("capacity") != -1) {
      return invalid_argument("Barrier only accepts capacity=-1.  Feed the inputs to your Barrier through a queue to ",
                              "enforce a limited capacity.");
    }
    if (shapes.size() != dtypes.size()) return invalid_argument("All of the component shapes must be specified");
    for (const PartialShape& shape : shapes) {
      if (!shape.is_full()) return invalid_argument("Shape ", shape, " is not fully defined");
    }
    return std::unique_ptr<Kernel>(std::make_unique<Handle>(std::move(dtypes), std::move(shapes), NamedResource(init)));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(auto barrier, place_.find_or_make<BarrierState>(c.resources(), [&] {
      return std::make_shared<BarrierState>(place_.name(), dtypes_, shapes_);
    }));
    ARGOSY_RETURN_IF_ERROR(barrier->check_same(dtypes_, shapes_));
    c.set_output(0, place_.handle(std::move(barrier)));
    return ok_status();
  }

 private:
  const std::vector<DType> dtypes_;
  const std::vector<PartialShape> shapes_;
  NamedResource place_;
};

QueueState::Caller caller_of(const KernelContext& c) {
  return {.cancellation = c.step() != nullptr ? &c.step()->cancellation() : nullptr, .memory = &c.allocator()};
}

class InsertMany final : public Kernel {
 public:
  explicit InsertMany(std::int64_t component) : component_(component) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<InsertMany>(init.attrs.get_int("component_index")));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const auto barrier, c.resource<BarrierState>(0));
    const auto& dtypes = barrier->dtypes();
    if (component_ < 0 || component_ >= static_cast<std::int64_t>(dtypes.size())) {
      return invalid_argument("The component ID is out of range ", component_, " > num_components (= ", dtypes.size(),
                              ")");
    }
    const Tensor& keys = c.input(1);
    if (keys.shape().rank() != 1) return invalid_argument("keys must be a vector, not of shape ", keys.shape());
    const DType wanted = dtypes[static_cast<std::size_t>(component_)];
    if (c.input(2).dtype() != wanted) {
      return invalid_argument("Signature mismatch, have: string_ref, string, ", dtype_name(c.input(2).dtype()),
                              "-> expected: string_ref, string, ", dtype_name(wanted), "->");
    }
    ARGOSY_ASSIGN_OR_RETURN(const Tensor rows, kept(c, c.input(2)));
    const std::string* const first = keys.data<std::string>();
    return barrier->insert(component_, {first, first + keys.elements()}, rows, caller_of(c));
  }

 private:
  const std::int64_t component_;
};

class TakeMany final : public AsyncKernel {
 public:
  explicit TakeMany(bool allow_small_batch) : allow_small_batch_(allow_small_batch) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    if (init.attrs.get_int("timeout_ms") != -1) return invalid_argument("Timeout not supported yet.");
    return std::unique_ptr<Kernel>(std::make_unique<TakeMany>(init.attrs.get_bool("allow_small_batch")));
  }
  void run_async(KernelContext& c, Done done) override {
    auto barrier = c.resource<BarrierState>(0);
    if (!barrier.ok()) return done(std::move(barrier).status());
    const auto count = scalar_input(c.input(1), "num_elements");
    if (!count.ok()) return done(count.status());
    if (*count < 0) return done(invalid_argument("BarrierTakeMany requested ", *count, " < 0 elements"));
    const auto& dtypes = (*barrier)->dtypes();
    bool fits = c.num_outputs() == static_cast<int>(dtypes.size()) + 2;
    for (int i = 2; fits && i < c.num_outputs(); ++i)
      fits = c.output_dtype(i) == dtypes[static_cast<std::size_t>(i) - 2];
    if (!fits)
      return done(invalid_argument("Signature mismatch: the barrier has other components than BarrierTakeMany"));
    (*barrier)->take(*count, allow_small_batch_, caller_of(c), [&c, done = std::move(done)](Status status, auto tuple) {
      for (std::size_t i = 0; i < tuple.size(); ++i) c.set_output(static_cast<int>(i), std::move(tuple[i]));
      done(std::move(status));
    });
  }

 private:
  const bool allow_small_batch_;
};

class Close final : public Kernel {
 public:
  explicit Close(bool cancel_pending) : cancel_pending_(cancel_pending) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Close>(init.attrs.get_bool("cancel_pending_enqueues")));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const auto barrier, c.resource<BarrierState>(0));
    return barrier->close(cancel_pending_, caller_of(c));
  }

 private:
  const bool cancel_pending_;
};

template <std::int64_t (BarrierState::*kSize)() const>
Status size(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto barrier, c.resource<BarrierState>(0));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  *y->data<std::int32_t>() = static_cast<std::int32_t>((*barrier.*kSize)());
  return ok_status();
}

}  // namespace

void add_kernels_cpu_barrier(KernelRegistry& kernels) {
  kernels.add("Barrier", "cpu", Handle::make);
  kernels.add("BarrierInsertMany", "cpu", InsertMany::make);
  kernels.add("BarrierTakeMany", "cpu", TakeMany::make);
  kernels.add("BarrierClose", "cpu", Close::make);
  kernels.add("BarrierReadySize", "cpu", size<&BarrierState::ready_size>);
  kernels.add("BarrierIncompleteSize", "cpu", size<&BarrierState::incomplete_size>);
}

}  // namespace argosy
