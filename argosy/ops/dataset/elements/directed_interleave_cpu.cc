// DirectedInterleaveDataset: a selector dataset says which input gives the next element.
#include "argosy/ops/dataset/dataset_kernel.h"

namespace argosy::datasets {

namespace {

// For each element of the selector, takes the next element of the input that it names.
class Directed final : public DatasetValue {
 public:
  Directed(const DatasetArgs& a, DatasetPtr selector, std::vector<DatasetPtr> inputs)
      : DatasetValue(a.op(), a.types(), a.shapes()),
        selector_(std::move(selector)),
        inputs_(std::move(inputs)),
        stops_(a.attrs().get_or<bool>("stop_on_empty_dataset", false)) {}
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    ARGOSY_ASSIGN_OR_RETURN(IteratorPtr selector, selector_->iterate(context));
    std::vector<IteratorPtr> inputs;
    for (const DatasetPtr& d : inputs_) {
      ARGOSY_ASSIGN_OR_RETURN(IteratorPtr i, d->iterate(context));
      inputs.push_back(std::move(i));
    }
    return IteratorPtr(std::make_unique<Iterator>(std::move(selector), std::move(inputs), stops_));
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(IteratorPtr selector, std::vector<IteratorPtr> inputs, bool stops)
        : selector_(std::move(selector)), inputs_(std::move(inputs)), left_(inputs_.size()), stops_(stops) {}
    Result<bool> next(Element& out) override {
      while (selector_ != nullptr && left_ > 0) {
        Element chosen;
        ARGOSY_ASSIGN_OR_RETURN(const bool some, selector_->next(chosen));
        if (!some) break;
        ARGOSY_ASSIGN_OR_RETURN(const std::int64_t i, int_of(chosen, "the selector"));
        if (i < 0 || i >= static_cast<std::int64_t>(inputs_.size())) {
          return invalid_argument("Selector index out of range: ", i, " >= ", inputs_.size());
        }
        IteratorPtr& input = inputs_[static_cast<std::size_t>(i)];
        if (input == nullptr) continue;  // its turn passes
        ARGOSY_ASSIGN_OR_RETURN(const bool given, input->next(out));
        if (given) return true;
        input = nullptr;
        --left_;
        if (stops_) break;
      }
      selector_ = nullptr;
      inputs_.clear();
      return false;
    }

   private:
    IteratorPtr selector_;
    std::vector<IteratorPtr> inputs_;
    std::size_t left_;
    const bool stops_;
  };
  const DatasetPtr selector_;
  const std::vector<DatasetPtr> inputs_;
  const bool stops_;
};

Result<DatasetPtr> make_directed(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr selector, a.dataset("selector_input_dataset"));
  if (selector->types() != std::vector<DType>{DType::kInt64}) {
    return invalid_argument("The selector input must be a dataset of scalar int64 elements.");
  }
  ARGOSY_ASSIGN_OR_RETURN(auto inputs, a.dataset_list("data_input_datasets"));
  for (const DatasetPtr& d : inputs) {
    if (d->types() != a.types()) return invalid_argument("All inputs must have the same output_dtypes.");
  }
  return DatasetPtr(std::make_shared<Directed>(a, std::move(selector), std::move(inputs)));
}

}  // namespace

void add_directed_interleave(KernelRegistry& kernels) {
  add_dataset<make_directed>(kernels, {"DirectedInterleaveDataset", "ExperimentalDirectedInterleaveDataset"});
}

}  // namespace argosy::datasets
