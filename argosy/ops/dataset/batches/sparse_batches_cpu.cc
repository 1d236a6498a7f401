// DenseToSparseBatchDataset.
#include "argosy/ops/dataset/held_elements.h"
#include "argosy/ops/dataset/unary_dataset.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"

namespace argosy::datasets {

namespace {

// Batches of tensors of unlike sizes, as sparse tensors: three variants each.
class SparseBatch final : public UnaryDataset {
 public:
  SparseBatch(const DatasetArgs& a, DatasetPtr input, std::int64_t size, std::vector<std::int64_t> row)
      : UnaryDataset(a, std::move(input)), size_(size), row_(std::move(row)) {}
  std::int64_t cardinality() const override {
    const std::int64_t n = input().cardinality();
    return n < 0 ? n : n / size_ + (n % size_ == 0 ? 0 : 1);
  }
  Status check_types() const override { return same_types(types(), {DType::kVariant}); }
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    return iterate_as<Iterator>(self<SparseBatch>(), context);
  }

 private:
  class Iterator final : public UnaryIterator<SparseBatch> {
   public:
    using UnaryIterator::UnaryIterator;
    Result<bool> next(Element& out) override {
      HeldItems held = held_tuples(1, "the elements of a sparse batch");
      std::vector<Tensor> rows;
      Element element;
      while (static_cast<std::int64_t>(rows.size()) < d_->size_) {
        ARGOSY_ASSIGN_OR_RETURN(const bool some, next_input(element));
        if (!some) break;
        ARGOSY_RETURN_IF_ERROR(held.hold(std::ssize(rows) + 1));
        rows.push_back(std::move(element[0]));
      }
      if (rows.empty()) return false;
      const std::size_t rank = d_->row_.size();
      std::vector<std::int64_t> largest(rank, 0);
      std::int64_t count = 0;
      for (const Tensor& t : rows) {
        if (t.shape().rank() != static_cast<int>(rank)) {
          return invalid_argument("Input element had shape (", t.shape(), ") that is incompatible with the row shape.");
        }
        for (std::size_t k = 0; k < rank; ++k) {
          const std::int64_t n = t.shape()[static_cast<int>(k)];
          if (d_->row_[k] >= 0 && n > d_->row_[k]) {
            return data_loss("Input element had shape (", t.shape(), ") that is incompatible with the row shape.");
          }
          largest[k] = std::max(largest[k], n);
        }
        count += t.elements();
      }
      return serialize(rows, largest, count, out);
    }

   private:
    Result<bool> serialize(const std::vector<Tensor>& rows, const std::vector<std::int64_t>& largest,
                           std::int64_t count, Element& out) const {
      const std::size_t rank = largest.size();
      const auto columns = static_cast<std::int64_t>(rank) + 1;
      ARGOSY_ASSIGN_OR_RETURN(const Shape places, Shape::make(std::vector<std::int64_t>{count, columns}));
      ARGOSY_ASSIGN_OR_RETURN(const Tensor indices, Tensor::allocate(DType::kInt64, places, *context_.memory));
      ARGOSY_ASSIGN_OR_RETURN(const Tensor values, Tensor::allocate(rows[0].dtype(), {count}, *context_.memory));
      const Tensor shape = Tensor::zeros(DType::kInt64, {columns});
      std::int64_t* index = indices.data<std::int64_t>();
      std::int64_t at = 0;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const Tensor& row = rows[i];
        std::vector<std::int64_t> place(rank, 0);
        for (std::int64_t e = 0; e < row.elements(); ++e) {
          *index++ = static_cast<std::int64_t>(i);
          index = std::copy(place.begin(), place.end(), index);
          for (std::size_t k = rank; k-- > 0 && ++place[k] == row.shape()[static_cast<int>(k)];) place[k] = 0;
        }
        copy_elements(values.rows(at, at + row.elements()), row.reshaped({row.elements()}));
        at += row.elements();
      }
      shape.data<std::int64_t>()[0] = static_cast<std::int64_t>(rows.size());
      for (std::size_t k = 0; k < rank; ++k) {
        shape.data<std::int64_t>()[k + 1] = d_->row_[k] >= 0 ? d_->row_[k] : largest[k];
      }
      const OpDef& op = *builtin_ops().find("SerializeSparse");
      ARGOSY_ASSIGN_OR_RETURN(
          out, evaluate_op(op, {{"out_type", DType::kVariant}}, {indices, values, shape}, {.memory = context_.memory}));
      return true;
    }
  };
  const std::int64_t size_;
  const std::vector<std::int64_t> row_;
};

Result<DatasetPtr> make_sparse_batch(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  if (input->types().size() != 1) {
    return invalid_argument("DenseToSparseBatchDataset only supports inputs with a single component.");
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t size, a.integer("batch_size"));
  if (size <= 0) return invalid_argument("Batch size must be greater than zero.");
  const Tensor row = a.tensors("row_shape")[0];
  if (row.shape().rank() != 1) return invalid_argument("row_shape must be a vector");
  const auto sizes = row.values<std::int64_t>();
  for (const std::int64_t n : sizes) {
    if (n < -1) return invalid_argument("row_shape must hold sizes, or -1 for any: ", n);
  }
  return DatasetPtr(
      std::make_shared<SparseBatch>(a, std::move(input), size, std::vector<std::int64_t>(sizes.begin(), sizes.end())));
}

}  // namespace

void add_sparse_batches(KernelRegistry& kernels) {
  add_dataset<make_sparse_batch>(kernels, {"DenseToSparseBatchDataset", "ExperimentalDenseToSparseBatchDataset"});
}

}  // namespace argosy::datasets
