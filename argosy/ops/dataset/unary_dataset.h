// Base classes of datasets with one input, and of their iterators. Functions that make datasets for other files.
// Internal to the family.
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
  // By default the input's types; other classes override it.
  Status check_types() const override { return same_types(types(), input_->types()); }

 protected:
  // Makes an Iterator(self, context, iterator of the input).
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
  // Gets the input's next element. Returns false at its end, and destroys the input's iterator.
  Result<bool> next_input(Element& out) {
    if (input_ == nullptr) return false;
    ARGOSY_ASSIGN_OR_RETURN(const bool some, input_->next(out));
    if (!some) input_ = nullptr;
    return some;
  }
  bool input_ready() const { return input_ == nullptr || input_->ready(); }
  // Destroys the input's iterator: the sequence ends here.
  void end() { input_ = nullptr; }

  const std::shared_ptr<const Self> d_;
  const IteratorContext context_;

 private:
  IteratorPtr input_;
};

// Returns a reshuffling ShuffleDataset and its repetition as one dataset; null for any other dataset. `count`: the
// number of repetitions, -1 for ever. The order is that of TensorFlow 1.15: one stream of random numbers for all
// epochs.
DatasetPtr repeated_shuffle(const DatasetValue& dataset, std::int64_t count);

// Returns the same shuffle of another input; null for any other dataset.
DatasetPtr shuffle_of(const DatasetValue& shuffle, DatasetPtr input);
// Returns every count-th element, from `index` on. INVALID_ARGUMENT at the first element if a later shard would have
// none.
DatasetPtr shard_dataset(DatasetPtr input, std::int64_t count, std::int64_t index);
// Returns the input of a RebatchDatasetV2, with each element split into `parts` parts; null for any other dataset.
DatasetPtr split_batches(const DatasetValue& rebatch, std::int64_t parts);

// Turns a function's result into that of a map's next(). An OUT_OF_RANGE error is the end of the sequence; with
// `preserve_cardinality` it becomes INVALID_ARGUMENT.
Result<bool> map_result(Result<Element> result, bool preserve_cardinality, Element& out);

// Builds a batch: one tensor per component, with one element per row. All elements must have the same shapes; an error,
// in TensorFlow's words, names the first component that differs.
class BatchBuilder {
 public:
  BatchBuilder(std::int64_t most_rows, Allocator& memory) : most_(most_rows), memory_(memory) {}
  std::int64_t rows() const { return rows_; }
  bool full() const { return rows_ == most_; }
  Status add(const Element& element);
  // Returns the batch of all elements added. REQUIRES: rows() > 0.
  Element take();

 private:
  const std::int64_t most_;
  Allocator& memory_;
  Element batch_;
  std::int64_t rows_ = 0, room_ = 0;
};

// A dataset of elements in memory: a window, a group, a cache.
DatasetPtr list_dataset(std::string op, std::vector<DType> types, std::vector<PartialShape> shapes,
                        std::shared_ptr<const std::vector<Element>> elements);

// `f` of each element, up to `calls` at once. Results come in the input's order if `in_order`, else as they are ready.
DatasetPtr parallel_map_dataset(const DatasetArgs& a, std::vector<PartialShape> shapes, DatasetPtr input, Captured f,
                                std::int64_t calls, bool in_order);
// Batches of `size` elements. The last one may be smaller; with `drop` it is dropped then.
DatasetPtr batch_dataset(const DatasetArgs& a, DatasetPtr input, std::int64_t size, bool drop);

}  // namespace argosy::datasets
