#include "argosy/device/device.h"
#include "argosy/op/kernel/step_context.h"
#include "argosy/ops/dataset/dataset_value.h"
#include "argosy/ops/iterator/handle_texts.h"
#include "argosy/ops/iterator/iterator_kernels.h"
#include "argosy/ops/iterator/iterator_state.h"
#include "argosy/ops/iterator/named_handle.h"

namespace argosy {

namespace datasets {

Status delete_iterator(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const ResourceHandle* handle, c.resource_handle(0));
  if (!handle->container().empty()) return c.resources().remove(handle->container(), handle->name());
  auto* const unnamed = dynamic_cast<Holder*>(handle->resource().get());
  if (unnamed != nullptr && !unnamed->in_use()) unnamed->release_contents();
  return ok_status();
}

Status give_element(KernelContext& c, Element element) {
  if (static_cast<int>(element.size()) != c.num_outputs()) {
    return invalid_argument("Number of components does not match: expected ", c.num_outputs(), " types but got ",
                            element.size(), ".");
  }
  for (int i = 0; i < c.num_outputs(); ++i) {
    Tensor& t = element[static_cast<std::size_t>(i)];
    if (t.dtype() != c.output_dtype(i)) {
      return invalid_argument("Data type mismatch at component ", i, ": expected ", dtype_name(c.output_dtype(i)),
                              " but got ", dtype_name(t.dtype()), ".");
    }
    c.set_output(i, std::move(t));
  }
  return ok_status();
}

namespace {

// --- handles ---------------------------------------------------------------------------------------------------------

// Iterator, IteratorV2, OneShotIterator: the iterator of this name.
class Handle final : public Kernel {
 public:
  explicit Handle(const KernelInit& init) : types_(types_of(init)), shapes_(shapes_of(init)), handle_(init) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    auto kernel = std::make_unique<Handle>(init);
    if (const auto* const factory = init.attrs.find_as<FunctionRef>("dataset_factory")) {
      if (init.functions == nullptr) {
        return not_found("there is no function \"", factory->name, "\": the graph has none").with_id("ARG-FN-005");
      }
      ARGOSY_ASSIGN_OR_RETURN(kernel->factory_, init.functions->prepare(factory->name));
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status run(KernelContext& c) override {
    const auto fresh = [&] { return std::make_shared<IteratorState>(types_, shapes_, c.allocator()); };
    ARGOSY_ASSIGN_OR_RETURN(Tensor handle, handle_.get<IteratorState>(c, fresh, [&](IteratorState& state) -> Status {
      ARGOSY_RETURN_IF_ERROR(check_elements(types_, shapes_, state.types(), state.shapes()));
      return factory_ != nullptr ? initialize(state, c) : ok_status();
    }));
    c.set_output(0, std::move(handle));
    return ok_status();
  }

 private:
  Status initialize(IteratorState& state, const KernelContext& c) const {
    Cancellation* const cancellation = c.step() != nullptr ? &c.step()->cancellation() : nullptr;
    return state.initialize_once([&]() -> Result<DatasetPtr> {
      ARGOSY_ASSIGN_OR_RETURN(const Element returned, factory_->run({}, cancellation));
      if (returned.size() != 1 || returned[0].dtype() != DType::kVariant || returned[0].shape().rank() != 0) {
        return invalid_argument("The `dataset_factory` function must return a single scalar of dtype DT_VARIANT.");
      }
      return dataset_in(returned[0]);
    });
  }

  const std::vector<DType> types_;
  const std::vector<PartialShape> shapes_;
  std::shared_ptr<FunctionCall> factory_;
  IteratorHandle handle_;
};

// An iterator that lives as long as somebody holds its handle.
class Anonymous final : public Kernel {
 public:
  explicit Anonymous(const KernelInit& init) : types_(types_of(init)), shapes_(shapes_of(init)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Anonymous>(init));
  }
  Status run(KernelContext& c) override {
    auto state = std::make_shared<IteratorState>(types_, shapes_, c.allocator());
    c.set_output(0, Tensor::scalar(ResourceHandle("", "AnonymousIterator", std::move(state))));
    if (c.num_outputs() > 1) c.set_output(1, Tensor::scalar(Variant()));
    return ok_status();
  }

 private:
  const std::vector<DType> types_;
  const std::vector<PartialShape> shapes_;
};

Status make_iterator(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr dataset, dataset_in(c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(const auto state, c.resource<IteratorState>(1));
  return state->initialize(std::move(dataset));
}

// --- elements --------------------------------------------------------------------------------------------------------

// What to do with what an iterator gives.
using Take = Status (*)(KernelContext& c, Result<Element> got);

Status take_element(KernelContext& c, Result<Element> got) {
  ARGOSY_RETURN_IF_ERROR(got.status());
  return give_element(c, *std::move(got));
}

Status take_optional(KernelContext& c, Result<Element> got) {
  if (!got.ok() && got.status().code() != Code::kOutOfRange) return std::move(got).status();
  std::optional<Element> value;
  if (got.ok()) value = *std::move(got);
  c.set_output(0, optional_handle(std::move(value)));
  return ok_status();
}

template <Take kTake>
class Next final : public AsyncKernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const KernelInit&) {
    return std::unique_ptr<Kernel>(std::make_unique<Next>());
  }
  void run_async(KernelContext& c, Done done) override {
    const auto state = c.resource<IteratorState>(0);
    if (!state.ok()) return done(state.status());
    Cancellation* const cancellation = c.step() != nullptr ? &c.step()->cancellation() : nullptr;
    (*state)->next(cancellation, [&c, done = std::move(done)](Result<Element> got) { done(kTake(c, std::move(got))); });
  }
};

// --- names -----------------------------------------------------------------------------------------------------------

Status device_of(KernelContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.resource_handle(0).status());
  c.set_output(0, Tensor::scalar(device_name(c)));
  return ok_status();
}

}  // namespace

}  // namespace datasets

void add_kernels_cpu_iterator(KernelRegistry& kernels) {
  using namespace datasets;  // NOLINT(google-build-using-namespace)
  for (const char* op : {"Iterator", "IteratorV2", "OneShotIterator"}) kernels.add(op, "cpu", Handle::make);
  for (const char* op : {"AnonymousIterator", "AnonymousIteratorV2", "AnonymousIteratorV3"}) {
    kernels.add(op, "cpu", Anonymous::make);
  }
  kernels.add("MakeIterator", "cpu", make_iterator);
  kernels.add("DeleteIterator", "cpu", delete_iterator);
  kernels.add("IteratorGetNext", "cpu", Next<take_element>::make);
  kernels.add("IteratorGetNextSync", "cpu", Next<take_element>::make);
  kernels.add("IteratorGetNextAsOptional", "cpu", Next<take_optional>::make);
  kernels.add("IteratorToStringHandle", "cpu", to_string_handle<IteratorState>);
  kernels.add("IteratorFromStringHandle", "cpu", FromString<IteratorState>::make);
  kernels.add("IteratorFromStringHandleV2", "cpu", FromString<IteratorState>::make);
  kernels.add("IteratorGetDevice", "cpu", device_of);
  kernels.add("ExperimentalIteratorGetDevice", "cpu", device_of);
  add_optionals(kernels);
  add_shared(kernels);
  add_positions(kernels);
  add_multi_device(kernels);
}

}  // namespace argosy
