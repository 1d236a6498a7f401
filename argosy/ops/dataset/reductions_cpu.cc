// Ops that iterate over a whole dataset, on the calling thread.
#include "argosy/op/kernel/step_context.h"
#include "argosy/ops/dataset/dataset_kernel.h"
#include "argosy/ops/layout/strided/strided_copy.h"
#include "argosy/ops/table/table_state.h"
#include "argosy/tensor/held_tuples.h"

namespace argosy::datasets {

namespace {

// A pipeline for one run of a kernel; it is cancelled with its step.
class Pass {
 public:
  explicit Pass(KernelContext& c) : context_(context_of(c)) {
    if (c.step() == nullptr) return;
    step_ = &c.step()->cancellation();
    linked_ = step_->add([this] { cancellation_.cancel(step_->status()); }, &token_);
    if (!linked_) cancellation_.cancel(step_->status());
  }
  ~Pass() {
    if (linked_) step_->remove(token_);
  }
  const IteratorContext& context() const { return context_; }

 private:
  IteratorContext context_of(KernelContext& c) {
    return {.threads = &threads_, .cancellation = &cancellation_, .memory = &c.allocator(), .functions = &functions_};
  }
  Cancellation* step_ = nullptr;
  Cancellation::Token token_ = 0;
  bool linked_ = false;
  Cancellation cancellation_;
  FunctionInstances functions_;
  BlockingPool threads_;
  const IteratorContext context_;
};

class Reduce final : public Kernel {
 public:
  explicit Reduce(DatasetNode node) : node_(std::move(node)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(DatasetNode node, DatasetNode::make(init));
    return std::unique_ptr<Kernel>(std::make_unique<Reduce>(std::move(node)));
  }
  Status run(KernelContext& c) override {
    const DatasetArgs a(node_, c);
    ARGOSY_ASSIGN_OR_RETURN(const DatasetPtr dataset, a.dataset());
    const Captured f = a.function("f");  // draws the same in every run, as TensorFlow's
    ARGOSY_RETURN_IF_ERROR(check_returns(f, a.types("Tstate")));
    ARGOSY_RETURN_IF_ERROR(same_types(a.types(), a.types("Tstate")));  // the outputs are the last state
    Element state = a.tensors("initial_state");
    Pass pass(c);
    ARGOSY_ASSIGN_OR_RETURN(const IteratorPtr iterator, dataset->iterate(pass.context()));
    for (Element element;;) {
      ARGOSY_ASSIGN_OR_RETURN(const bool some, iterator->next(element));
      if (!some) break;
      if (pass.context().cancellation->cancelled()) return pass.context().cancellation->status();
      state.insert(state.end(), element.begin(), element.end());
      auto reduced = f(std::move(state), pass.context());
      if (!reduced.ok() && reduced.status().code() == Code::kOutOfRange) {
        const Status& s = reduced.status();
        return invalid_argument("Function invocation produced OutOfRangeError: ", s.message()).with_where(s.where());
      }
      ARGOSY_RETURN_IF_ERROR(reduced.status());
      state = *std::move(reduced);
    }
    for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, std::move(state[static_cast<std::size_t>(i)]));
    return ok_status();
  }

 private:
  const DatasetNode node_;
};

Status single_element(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const DatasetPtr dataset, dataset_in(c.input(0)));
  Pass pass(c);
  ARGOSY_ASSIGN_OR_RETURN(const IteratorPtr iterator, dataset->iterate(pass.context()));
  Element element, another;
  ARGOSY_ASSIGN_OR_RETURN(const bool some, iterator->next(element));
  if (!some) return invalid_argument("Dataset was empty.");
  ARGOSY_ASSIGN_OR_RETURN(const bool more, iterator->next(another));
  if (more) return invalid_argument("Dataset had more than one element.");
  if (static_cast<int>(element.size()) != c.num_outputs()) {
    return invalid_argument("the dataset's elements have ", element.size(), " components, not ", c.num_outputs());
  }
  for (int i = 0; i < c.num_outputs(); ++i) {
    const Tensor& t = element[static_cast<std::size_t>(i)];
    if (t.dtype() != c.output_dtype(i)) {
      return invalid_argument("Data type mismatch at component ", i, ": expected ", dtype_name(c.output_dtype(i)),
                              " but got ", dtype_name(t.dtype()), ".");
    }
    c.set_output(i, t);
  }
  return ok_status();
}

// Joins a component of all elements, scalars of one dtype, to a vector.
Result<Tensor> as_vector(const std::vector<Element>& elements, std::size_t component, DType dtype) {
  ARGOSY_ASSIGN_OR_RETURN(
      Tensor all, Tensor::allocate(dtype, Shape({static_cast<std::int64_t>(elements.size())}), host_allocator()));
  for (std::size_t i = 0; i < elements.size(); ++i)
    copy_span(all, static_cast<std::int64_t>(i), elements[i][component], 0, 1);
  return all;
}

// Initializes a table from elements of a key and a value each.
Status initialize_table(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto table, c.resource<Table>(0));
  ARGOSY_ASSIGN_OR_RETURN(const DatasetPtr dataset, dataset_in(c.input(1)));
  const TableOptions& options = table->options();
  if (!options.fixed) return invalid_argument("only a table that is filled once can be initialized");
  const DType dtypes[] = {options.key_dtype, options.value_dtype};
  Pass pass(c);
  ARGOSY_ASSIGN_OR_RETURN(const IteratorPtr iterator, dataset->iterate(pass.context()));
  HeldItems held = held_tuples(2, "the rows of a table");
  std::vector<Element> elements;
  for (Element element;;) {
    ARGOSY_ASSIGN_OR_RETURN(const bool some, iterator->next(element));
    if (!some) break;
    if (pass.context().cancellation->cancelled()) return pass.context().cancellation->status();
    if (element.size() != 2)
      return invalid_argument("a table's rows are pairs of a key and a value, not ", element.size(), " components");
    for (std::size_t k = 0; k < 2; ++k) {
      if (element[k].dtype() == dtypes[k] && element[k].shape().rank() == 0) continue;
      return invalid_argument(k == 0 ? "a key" : "a value", " of the table must be one ", dtype_name(dtypes[k]),
                              ", not ", dtype_name(element[k].dtype()), element[k].shape());
    }
    ARGOSY_RETURN_IF_ERROR(held.hold(static_cast<std::int64_t>(elements.size()) + 1));
    elements.push_back(std::move(element));
  }
  if (elements.empty()) return out_of_range("end of iterator");
  ARGOSY_ASSIGN_OR_RETURN(const Tensor keys, as_vector(elements, 0, options.key_dtype));
  ARGOSY_ASSIGN_OR_RETURN(const Tensor values, as_vector(elements, 1, options.value_dtype));
  return table->initialize(keys, values);
}

Status cardinality(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const DatasetPtr dataset, dataset_in(c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  *y->data<std::int64_t>() = dataset->cardinality();
  return ok_status();
}

}  // namespace

void add_reductions(KernelRegistry& kernels) {
  kernels.add("ReduceDataset", "cpu", Reduce::make);
  kernels.add("DatasetToSingleElement", "cpu", single_element);
  kernels.add("InitializeTableFromDataset", "cpu", initialize_table);
  kernels.add("DatasetCardinality", "cpu", cardinality);
  kernels.add("ExperimentalDatasetCardinality", "cpu", cardinality);
}

}  // namespace argosy::datasets
