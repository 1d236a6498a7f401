// Batches of elements, and their inverse.
#include "argosy/base/threads/parallel.h"
#include "argosy/ops/dataset/unary_dataset.h"

namespace argosy::datasets {

namespace {

class Batch final : public UnaryDataset {
 public:
  Batch(const DatasetArgs& a, DatasetPtr input, std::int64_t size, bool drop)
      : UnaryDataset(a, std::move(input)), size_(size), drop_(drop) {}
  std::int64_t cardinality() const override {
    const std::int64_t n = input().cardinality();
    if (n < 0) return n;
    return n / size_ + (n % size_ == 0 || drop_ ? 0 : 1);
  }
  std::int64_t batch_size() const override { return op() == "ParallelBatchDataset" ? -1 : size_; }
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    return iterate_as<Iterator>(self<Batch>(), context);
  }

 private:
  class Iterator final : public UnaryIterator<Batch> {
   public:
    using UnaryIterator::UnaryIterator;
    Result<bool> next(Element& out) override {
      BatchBuilder batch(d_->size_, *context_.memory);
      Element element;
      while (!batch.full()) {
        ARGOSY_ASSIGN_OR_RETURN(const bool some, next_input(element));
        if (!some) break;
        ARGOSY_RETURN_IF_ERROR(batch.add(element));
      }
      if (batch.rows() == 0 || (d_->drop_ && !batch.full())) return false;
      out = batch.take();
      return true;
    }
  };
  const std::int64_t size_;
  const bool drop_;
};

struct BatchSize {
  std::int64_t size = 0;
  bool drop = false;
};

Result<BatchSize> batch_size_of(const DatasetArgs& a) {
  BatchSize b;
  ARGOSY_ASSIGN_OR_RETURN(b.size, a.integer("batch_size"));
  if (b.size <= 0) return invalid_argument("Batch size must be greater than zero.");
  if (a.op() != "BatchDataset") {
    ARGOSY_ASSIGN_OR_RETURN(b.drop, a.boolean("drop_remainder"));
  }
  return b;
}

Result<DatasetPtr> make_batch(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  ARGOSY_ASSIGN_OR_RETURN(const BatchSize b, batch_size_of(a));
  if (a.has("num_parallel_calls")) {  // of ParallelBatchDataset: a hint, which must be right all the same
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t calls, a.integer("num_parallel_calls"));
    if (calls <= 0 && calls != -1) return invalid_argument("num_parallel_calls must be greater than zero.");
  }
  return batch_dataset(a, std::move(input), b.size, b.drop);
}

// Map and batch in one op.
Result<DatasetPtr> make_map_and_batch(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  ARGOSY_ASSIGN_OR_RETURN(const BatchSize b, batch_size_of(a));
  ARGOSY_ASSIGN_OR_RETURN(std::int64_t calls, a.integer("num_parallel_calls"));
  if (calls == -1) calls = 2 * std::int64_t{available_cores()};
  if (calls <= 0) return invalid_argument("num_parallel_calls must be greater than zero.");
  Captured f = a.function("f");
  ARGOSY_RETURN_IF_ERROR(check_returns(f, a.types()));
  std::vector<PartialShape> shapes(a.types().size());
  DatasetPtr mapped = parallel_map_dataset(a, std::move(shapes), std::move(input), std::move(f), calls, true);
  return batch_dataset(a, std::move(mapped), b.size, b.drop);
}
// The rows of every element.
class Unbatch final : public UnaryDataset {
 public:
  using UnaryDataset::UnaryDataset;
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    return iterate_as<Iterator>(self<Unbatch>(), context);
  }

 private:
  class Iterator final : public UnaryIterator<Unbatch> {
   public:
    using UnaryIterator::UnaryIterator;
    Result<bool> next(Element& out) override {
      while (row_ == rows_) {
        ARGOSY_ASSIGN_OR_RETURN(const bool some, next_input(batch_));
        if (!some) return false;
        row_ = rows_ = 0;
        for (const Tensor& t : batch_) {
          if (t.shape().rank() == 0) {
            return invalid_argument("Input element must have a non-scalar value in each component.");
          }
          if (t.shape()[0] != batch_[0].shape()[0]) {
            return invalid_argument(
                "Input element must have the same batch size in each component. Component 0 had "
                "size ",
                batch_[0].shape()[0], " but component ", &t - batch_.data(), " had size, ", t.shape()[0], ".");
          }
        }
        rows_ = batch_[0].shape()[0];
      }
      out.clear();
      for (const Tensor& t : batch_) out.push_back(t.rows(row_, row_ + 1).reshaped(t.shape().removed(0)));
      ++row_;
      return true;
    }

   private:
    Element batch_;
    std::int64_t row_ = 0, rows_ = 0;
  };
};

Result<DatasetPtr> make_unbatch(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  return DatasetPtr(std::make_shared<Unbatch>(a, std::move(input)));
}

}  // namespace

DatasetPtr batch_dataset(const DatasetArgs& a, DatasetPtr input, std::int64_t size, bool drop) {
  return std::make_shared<Batch>(a, std::move(input), size, drop);
}

void add_batches(KernelRegistry& kernels) {
  add_dataset<make_batch>(kernels, {"BatchDataset", "BatchDatasetV2", "ParallelBatchDataset"});
  add_dataset<make_map_and_batch>(kernels, {"MapAndBatchDataset", "ExperimentalMapAndBatchDataset"});
  add_dataset<make_unbatch>(kernels, {"UnbatchDataset", "ExperimentalUnbatchDataset"});
}

}  // namespace argosy::datasets
