// Datasets made from one other, and iterators over the elements of that. Internal to the family.
#pragma once

#include "argosy/ops/dataset/dataset_kernel.h"

namespace argosy::datasets {

class UnaryDataset : public DatasetValue {
 public:
  // Its components are the op's output_types and output_shapes.
  UnaryDataset(const DatasetArgs& a, DatasetPtr input)
      : DatasetValue(a.op(), a.types(), a.shapes()), input_(std::move(input)) {}
  UnaryDataset(std::string op, std::vector<DType> types, std::vector<PartialShape> shapes, DatasetPtr input)
      : DatasetValue(std::move(op), std::move(types), std::move(shapes)), input_(std::move(input)) {}
  const DatasetValue& input() const { return *input_; }
  const DatasetPtr& shared_input() const { return input_; }
  std::vector<DatasetPtr> inputs() const override { return {input_}; }
  std::int64_t batch_size() const override;
  // As the input's: of most. Others say what theirs are.
  Status check_types() const override { return same_types(types(), input_->types()); }

 protected:
  // Iterator(self, context, iterator of the input).
  template <typename Iterator, typename Self>
  Result<IteratorPtr> iterate_as(std::shared_ptr<const Self> self, const IteratorContext& context) const {
    ARGOSY_ASSIGN_OR_RETURN(IteratorPtr inner, input_->iterate(context));
    return IteratorPtr(std::make_unique<Iterator>(std::move(self), context, std::move(inner)));
  }

 private:
  const DatasetPtr input_;
};

template <typename Self>
class UnaryIterator : public DatasetIterator {
 public:
  UnaryIterator(std::shared_ptr<const Self> d, const IteratorContext& context, IteratorPtr input)
      : d_(std::move(d)), context_(context), input_(std::move(input)) {}

 protected:
  // The input's next element; false at its end, when the input goes.
  Result<bool> next_input(Element& out) {
    if (input_ == nullptr) return false;
    ARGOSY_ASSIGN_OR_RETURN(const bool some, input_->next(out));
    if (!some) input_ = nullptr;
    return some;
  }
  bool input_ready() const { return input_ == nullptr || input_->ready(); }
  // From now on there is no input.
  void end() { input_ = nullptr; }

  const std::shared_ptr<const Self> d_;
  const IteratorContext context_;

 private:
  IteratorPtr input_;
};

// A ShuffleDataset that gives another order each time, as one dataset with its repetition. `count`: how often, -1 for
// ever. The order is that of TensorFlow 1.15: one stream of random numbers for all epochs. Null for any other
// dataset.
DatasetPtr repeated_shuffle(const DatasetValue& dataset, std::int64_t count);

// The shuffle with another input; null for any other dataset.
DatasetPtr shuffle_of(const DatasetValue& shuffle, DatasetPtr input);
// Element `index` of every `count`. Where this shard has an element, all others must have one.
DatasetPtr shard_dataset(DatasetPtr input, std::int64_t count, std::int64_t index);
// What RebatchDatasetV2 takes, each element in `parts` parts; null for any other dataset.
DatasetPtr split_batches(const DatasetValue& rebatch, std::int64_t parts);

// What a function's result is to a map: an element; the end of the sequence, when it failed with OUT_OF_RANGE and the
// number of elements may change; else its error.
Result<bool> map_result(Result<Element> result, bool preserve_cardinality, Element& out);

// All elements of `rows` elements in a row's place: one tensor per component. Components of one shape; an error in
// TensorFlow's words names the first that differs.
class BatchBuilder {
 public:
  BatchBuilder(std::int64_t most_rows, Allocator& memory) : most_(most_rows), memory_(memory) {}
  std::int64_t rows() const { return rows_; }
  bool full() const { return rows_ == most_; }
  Status add(const Element& element);
  // The batch of all that was added. REQUIRES: rows() > 0.
  Element take();

 private:
  const std::int64_t most_;
  Allocator& memory_;
  Element batch_;
  std::int64_t rows_ = 0, room_ = 0;
};

// Elements in memory, all at once: windows, groups, caches.
DatasetPtr list_dataset(std::string op, std::vector<DType> types, std::vector<PartialShape> shapes,
                        std::shared_ptr<const std::vector<Element>> elements);

// `f` of every element, up to `calls` at a time; `in_order`, or as they come.
DatasetPtr parallel_map_dataset(const DatasetArgs& a, std::vector<PartialShape> shapes, DatasetPtr input, Captured f,
                                std::int64_t calls, bool in_order);
// Batches of `size`, the last of which may be smaller or is dropped.
DatasetPtr batch_dataset(const DatasetArgs& a, DatasetPtr input, std::int64_t size, bool drop);

}  // namespace argosy::datasets
