// Datasets out of tensors and numbers.
#include <algorithm>

#include "argosy/ops/dataset/dataset_kernel.h"
#include "argosy/ops/dataset/seeds.h"

namespace argosy::datasets {

namespace {

// --- tensors ---------------------------------------------------------------------------------------------------------

// One element: the components themselves.
class Whole final : public DatasetValue {
 public:
  Whole(const DatasetArgs& a, Element element)
      : DatasetValue(a.op(), a.types("Toutput_types"), a.shapes()), element_(std::move(element)) {}
  std::int64_t cardinality() const override { return 1; }
  Result<IteratorPtr> iterate(const IteratorContext&) const override {
    return IteratorPtr(std::make_unique<Iterator>(element_));
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    explicit Iterator(Element element) : element_(std::move(element)) {}
    Result<bool> next(Element& out) override {
      if (done_) return false;
      done_ = true;
      out = std::move(element_);
      return true;
    }
    bool ready() override { return true; }

   private:
    Element element_;
    bool done_ = false;
  };
  const Element element_;
};

// INVALID_ARGUMENT, in TensorFlow's words, unless the component has the shape in output_shapes.
Status check_component(const DatasetArgs& a, std::size_t i, const Shape& shape) {
  const std::vector<PartialShape> declared = a.shapes();
  if (i >= declared.size() || declared[i].compatible(PartialShape(shape))) return ok_status();
  return invalid_argument("Incompatible shapes at component ", i, ": expected ", declared[i], " but got ", shape, ".");
}

Result<DatasetPtr> make_tensor(const DatasetArgs& a) {
  Element components = a.tensors("components");
  for (std::size_t i = 0; i < components.size(); ++i) {
    ARGOSY_RETURN_IF_ERROR(check_component(a, i, components[i].shape()));
  }
  return DatasetPtr(std::make_shared<Whole>(a, std::move(components)));
}

Tensor row_of(const Tensor& rows, std::int64_t i) { return rows.rows(i, i + 1).reshaped(rows.shape().removed(0)); }

// Row i of every component.
class Slices final : public DatasetValue {
 public:
  Slices(const DatasetArgs& a, Element components)
      : DatasetValue(a.op(), a.types("Toutput_types"), a.shapes()), components_(std::move(components)) {}
  std::int64_t cardinality() const override { return components_[0].shape()[0]; }
  Result<IteratorPtr> iterate(const IteratorContext&) const override {
    return IteratorPtr(std::make_unique<Iterator>(components_));
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    explicit Iterator(Element components) : components_(std::move(components)), count_(components_[0].shape()[0]) {}
    Result<bool> next(Element& out) override {
      if (i_ == count_) return false;
      out.clear();
      for (const Tensor& t : components_) out.push_back(row_of(t, i_));
      ++i_;
      return true;
    }
    bool ready() override { return true; }

   private:
    const Element components_;
    const std::int64_t count_;
    std::int64_t i_ = 0;
  };
  const Element components_;
};

Result<DatasetPtr> make_slices(const DatasetArgs& a) {
  Element components = a.tensors("components");
  for (const Tensor& t : components) {
    if (t.shape().rank() < 1) return invalid_argument("All components must be at least 1-dimensional");
    if (t.shape()[0] != components[0].shape()[0]) {
      return invalid_argument("All components must have the same size in the 0th dimension");
    }
  }
  for (std::size_t i = 0; i < components.size(); ++i) {
    ARGOSY_RETURN_IF_ERROR(check_component(a, i, components[i].shape().removed(0)));
  }
  return DatasetPtr(std::make_shared<Slices>(a, std::move(components)));
}

// --- numbers ---------------------------------------------------------------------------------------------------------

Result<Tensor> number(std::int64_t value, DType dtype) {
  Tensor t;
  ARGOSY_RETURN_IF_ERROR(dispatch<RealTypes>(dtype, "RangeDataset", [&]<typename T>() {
    t = Tensor::scalar(static_cast<T>(value));
    return ok_status();
  }));
  return t;
}

class Range final : public DatasetValue {
 public:
  Range(const DatasetArgs& a, std::int64_t start, std::int64_t count, std::int64_t step)
      : DatasetValue(a.op(), a.types(), a.shapes()), start_(start), count_(count), step_(step) {}
  std::int64_t cardinality() const override { return count_; }
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    return IteratorPtr(std::make_unique<Iterator>(start_, count_, step_, types()[0], context.cancellation));
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(std::int64_t start, std::int64_t count, std::int64_t step, DType dtype, const Cancellation* cancellation)
        : start_(start), count_(count), step_(step), dtype_(dtype), cancellation_(cancellation) {}
    Result<bool> next(Element& out) override {
      if (i_ == count_) return false;
      ARGOSY_RETURN_IF_ERROR(not_ended(cancellation_));
      // Unsigned: the last step may pass the end of the numbers.
      const auto value = static_cast<std::int64_t>(static_cast<std::uint64_t>(start_) +
                                                   static_cast<std::uint64_t>(i_) * static_cast<std::uint64_t>(step_));
      ARGOSY_ASSIGN_OR_RETURN(Tensor t, number(value, dtype_));
      ++i_;
      out.assign(1, std::move(t));
      return true;
    }
    bool ready() override { return true; }

   private:
    const std::int64_t start_, count_, step_;
    const DType dtype_;
    const Cancellation* const cancellation_;
    std::int64_t i_ = 0;
  };
  const std::int64_t start_, count_, step_;
};

Result<DatasetPtr> make_range(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t start, a.integer("start"));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t stop, a.integer("stop"));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t step, a.integer("step"));
  if (step == 0) return invalid_argument("step must be a non-zero integer.");
  if (a.types().size() != 1) return invalid_argument("RangeDataset has one component, not ", a.types().size());
  using Wide = __int128;
  const Wide way = step > 0 ? Wide{stop} - start : Wide{start} - stop;
  const Wide stride = step > 0 ? Wide{step} : -Wide{step};
  const Wide count = way <= 0 ? 0 : (way + stride - 1) / stride;
  const Wide most = INT64_MAX;
  return DatasetPtr(std::make_shared<Range>(a, start, static_cast<std::int64_t>(std::min(count, most)), step));
}

// Words of a Philox stream, for ever.
class Random final : public DatasetValue {
 public:
  Random(const DatasetArgs& a, std::shared_ptr<SeedGenerator> seeds)
      : DatasetValue(a.op(), a.types(), a.shapes()), seeds_(std::move(seeds)) {}
  std::int64_t cardinality() const override { return kInfinite; }
  Status check_types() const override { return same_types(types(), {DType::kInt64}); }
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    return IteratorPtr(std::make_unique<Iterator>(next_seeds(*seeds_, context), context.cancellation));
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    Iterator(const Seeds& seeds, const Cancellation* cancellation)
        : words_(philox_of(seeds)), cancellation_(cancellation) {}
    Result<bool> next(Element& out) override {
      ARGOSY_RETURN_IF_ERROR(not_ended(cancellation_));
      out.assign(1, Tensor::scalar(static_cast<std::int64_t>(words_())));
      return true;
    }
    bool ready() override { return true; }

   private:
    PhiloxWords words_;
    const Cancellation* const cancellation_;
  };
  const std::shared_ptr<SeedGenerator> seeds_;
};

Result<DatasetPtr> make_random(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(const Seeds seeds, seeds_of(a));
  const bool anew = a.attrs().get_or<bool>("rerandomize_each_iteration", false);
  return DatasetPtr(std::make_shared<Random>(a, std::make_shared<SeedGenerator>(seeds, anew)));
}

// --- sparse tensors --------------------------------------------------------------------------------------------------

// The rows of a sparse tensor, each sparse: (indices, values, dense_shape).
class SparseSlices final : public DatasetValue {
 public:
  // Entries in the order of their rows.
  SparseSlices(const DatasetArgs& a, Tensor indices, Tensor values, const Tensor& shape)
      : DatasetValue(
            a.op(), {DType::kInt64, values.dtype(), DType::kInt64},
            {PartialShape{-1, indices.shape()[1] - 1}, PartialShape{-1}, PartialShape{indices.shape()[1] - 1}}),
        indices_(std::move(indices)),
        values_(std::move(values)),
        rows_(shape.data<std::int64_t>()[0]),
        row_shape_(shape.rows(1, shape.shape()[0])) {}
  std::int64_t cardinality() const override { return rows_; }
  Result<IteratorPtr> iterate(const IteratorContext&) const override {
    return IteratorPtr(std::make_unique<Iterator>(self<SparseSlices>()));
  }

 private:
  class Iterator final : public DatasetIterator {
   public:
    explicit Iterator(std::shared_ptr<const SparseSlices> d) : d_(std::move(d)) {}
    Result<bool> next(Element& out) override {
      if (row_ >= d_->rows_) return false;
      const std::int64_t rank = d_->indices_.shape()[1], first = entry_;
      const std::int64_t* const at = d_->indices_.data<std::int64_t>();
      while (entry_ < d_->values_.elements() && at[entry_ * rank] == row_) ++entry_;
      Tensor places = Tensor::zeros(DType::kInt64, {entry_ - first, rank - 1});
      std::int64_t* to = places.data<std::int64_t>();
      for (std::int64_t i = first; i < entry_; ++i) to = std::copy_n(at + i * rank + 1, rank - 1, to);
      out = {std::move(places), d_->values_.rows(first, entry_), d_->row_shape_};
      ++row_;
      return true;
    }

   private:
    const std::shared_ptr<const SparseSlices> d_;
    std::int64_t row_ = 0, entry_ = 0;
  };
  const Tensor indices_, values_;
  const std::int64_t rows_;
  const Tensor row_shape_;
};

Result<DatasetPtr> make_sparse_slices(const DatasetArgs& a) {
  const Tensor indices = a.tensors("indices")[0], values = a.tensors("values")[0], shape = a.tensors("dense_shape")[0];
  if (indices.shape().rank() != 2) {
    return invalid_argument("Input indices must be a matrix. Got: ", indices.shape());
  }
  if (values.shape().rank() != 1) return invalid_argument("Input values must be a vector. Got: ", values.shape());
  if (shape.shape().rank() != 1) return invalid_argument("Input shape must be a vector. Got: ", shape.shape());
  const std::int64_t count = indices.shape()[0], rank = indices.shape()[1];
  if (values.shape()[0] != count) {
    return invalid_argument("Number of values must match first dimension of indices. Got ", values.shape()[0],
                            " values, indices shape: ", indices.shape());
  }
  if (shape.shape()[0] != rank) {
    return invalid_argument("Number of dimensions must match second dimension of indices. Got ", shape.shape()[0],
                            " dimensions, indices shape: ", indices.shape());
  }
  if (shape.elements() < 1) {
    return invalid_argument("The shape argument requires at least one element.");
  }
  const std::int64_t* const at = indices.data<std::int64_t>();
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t before = k == 0 ? 0 : at[(k - 1) * rank];
    if (at[k * rank] < before || at[k * rank] >= shape.data<std::int64_t>()[0]) {
      return unimplemented(
          "The SparseTensor must be ordered in the batch dimension; handling arbitrarily ordered input ",
          "is not currently supported.");
    }
  }
  return DatasetPtr(std::make_shared<SparseSlices>(a, indices, values, shape));
}

}  // namespace

void add_sources(KernelRegistry& kernels) {
  add_dataset<make_tensor>(kernels, {"TensorDataset"});
  add_dataset<make_slices>(kernels, {"TensorSliceDataset"});
  add_dataset<make_range>(kernels, {"RangeDataset"});
  add_dataset<make_random>(kernels, {"RandomDataset", "ExperimentalRandomDataset", "RandomDatasetV2"});
  add_dataset<make_sparse_slices>(kernels, {"SparseTensorSliceDataset"});
}

}  // namespace argosy::datasets
