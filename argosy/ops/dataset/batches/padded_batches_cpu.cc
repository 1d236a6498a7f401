#include <algorithm>

#include "argosy/ops/dataset/held_elements.h"
#include "argosy/ops/dataset/unary_dataset.h"

namespace argosy::datasets {

namespace {

class PaddedBatch final : public UnaryDataset {
 public:
  PaddedBatch(const DatasetArgs& a, DatasetPtr input, std::int64_t size, bool drop, std::vector<PartialShape> shapes,
              Element values)
      : UnaryDataset(a.op(), a.types("Toutput_types"), a.shapes(), std::move(input)),
        size_(size),
        drop_(drop),
        shapes_(std::move(shapes)),
        values_(std::move(values)) {}
  std::int64_t cardinality() const override {
    const std::int64_t n = input().cardinality();
    if (n < 0) return n;
    return n / size_ + (n % size_ == 0 || drop_ ? 0 : 1);
  }
  std::int64_t batch_size() const override { return size_; }
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    return iterate_as<Iterator>(self<PaddedBatch>(), context);
  }

 private:
  class Iterator final : public UnaryIterator<PaddedBatch> {
   public:
    using UnaryIterator::UnaryIterator;
    Result<bool> next(Element& out) override {
      HeldItems held = held_tuples(d_->types().size(), "the elements of a padded batch");
      std::vector<Element> elements;
      while (static_cast<std::int64_t>(elements.size()) < d_->size_) {
        Element element;
        ARGOSY_ASSIGN_OR_RETURN(const bool some, next_input(element));
        if (!some) break;
        ARGOSY_RETURN_IF_ERROR(held.hold(std::ssize(elements) + 1));
        elements.push_back(std::move(element));
      }
      if (elements.empty() || (d_->drop_ && static_cast<std::int64_t>(elements.size()) < d_->size_)) return false;
      Element batch;
      for (std::size_t i = 0; i < elements[0].size(); ++i) {
        ARGOSY_ASSIGN_OR_RETURN(Tensor t, d_->component(elements, i, *context_.memory));
        batch.push_back(std::move(t));
      }
      out = std::move(batch);
      return true;
    }
  };

  // Component i of all elements, each padded to the largest, or to what was asked for.
  Result<Tensor> component(const std::vector<Element>& elements, std::size_t i, Allocator& memory) const {
    const PartialShape& padded = shapes_[i];
    std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(elements.size())};
    for (int axis = 0; axis < padded.rank(); ++axis) sizes.push_back(std::max<std::int64_t>(padded[axis], 0));
    for (const Element& e : elements) {
      const Shape& shape = e[i].shape();
      if (shape.rank() != padded.rank()) {
        return invalid_argument("All elements in a batch must have the same rank as the padded shape for component", i,
                                ": expected rank ", padded.rank(), " but got element with rank ", shape.rank());
      }
      for (int axis = 0; axis < padded.rank(); ++axis) {
        auto& size = sizes[static_cast<std::size_t>(axis) + 1];
        if (padded[axis] == PartialShape::kUnknown) {
          size = std::max(size, shape[axis]);
        } else if (shape[axis] > padded[axis]) {
          return data_loss("Attempted to pad to a smaller size than the input element.");
        }
      }
    }
    ARGOSY_ASSIGN_OR_RETURN(const Shape all, Shape::make(sizes));
    ARGOSY_ASSIGN_OR_RETURN(Tensor batch, Tensor::allocate(elements[0][i].dtype(), all, memory));
    ARGOSY_RETURN_IF_ERROR(fill(batch, values_[i]));
    for (std::size_t row = 0; row < elements.size(); ++row) {
      const auto r = static_cast<std::int64_t>(row);
      ARGOSY_RETURN_IF_ERROR(place(batch.rows(r, r + 1).reshaped(all.removed(0)), elements[row][i]));
    }
    return batch;
  }

  template <typename Fn>
  static Status by_type(DType dtype, Fn&& fn) {
    if (dtype == DType::kString) return fn.template operator()<std::string>();
    return dispatch_size(dtype, "PaddedBatchDataset", std::forward<Fn>(fn));
  }
  static Status fill(const Tensor& to, const Tensor& value) {
    return by_type(to.dtype(), [&]<typename T>() {
      std::fill_n(to.raw_as<T>(), to.elements(), *value.raw_as<T>());
      return ok_status();
    });
  }
  // The element into the corner of a larger tensor of its rank.
  static Status place(const Tensor& to, const Tensor& from) {
    if (from.elements() == 0) return ok_status();
    const int rank = from.shape().rank();
    const std::int64_t run = rank == 0 ? 1 : from.shape()[rank - 1];
    const auto strides = to.shape().strides();
    return by_type(to.dtype(), [&]<typename T>() {
      const T* in = from.raw_as<T>();
      std::vector<std::int64_t> at(static_cast<std::size_t>(rank), 0);
      for (std::int64_t done = 0; done < from.elements(); done += run, in += run) {
        std::int64_t offset = 0;
        for (int axis = 0; axis < rank; ++axis) offset += at[axis] * strides[axis];
        std::copy_n(in, run, to.raw_as<T>() + offset);
        for (int axis = rank - 2; axis >= 0 && ++at[axis] == from.shape()[axis]; --axis) at[axis] = 0;
      }
      return ok_status();
    });
  }

  const std::int64_t size_;
  const bool drop_;
  const std::vector<PartialShape> shapes_;
  const Element values_;
};

Result<DatasetPtr> make_padded_batch(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t size, a.integer("batch_size"));
  if (size <= 0) return invalid_argument("Batch size must be greater than zero.");
  bool drop = false;
  if (a.op() == "PaddedBatchDatasetV2") {
    ARGOSY_ASSIGN_OR_RETURN(drop, a.boolean("drop_remainder"));
  }
  const std::vector<Tensor> given = a.tensors("padded_shapes"), values = a.tensors("padding_values");
  const std::size_t components = input->types().size();
  if (given.size() != components) {
    return invalid_argument("Number of padded shapes (", given.size(), ") must match the number of components in the ",
                            "input dataset's elements (", components, ")");
  }
  if (values.size() != components) {
    return invalid_argument("Number of padding values (", values.size(), ") must match the number of components in ",
                            "the input dataset's elements (", components, ")");
  }
  std::vector<PartialShape> shapes;
  for (std::size_t i = 0; i < components; ++i) {
    if (given[i].shape().rank() != 1) return invalid_argument("All padded shapes must be vectors");
    std::vector<std::int64_t> sizes;
    for (const std::int64_t size_of : given[i].values<std::int64_t>()) {
      if (size_of < -1) return invalid_argument("Dimension ", size_of, " must be >= -1");
      sizes.push_back(size_of);
    }
    shapes.emplace_back(std::move(sizes));
    if (values[i].shape().rank() != 0) return invalid_argument("All padding values must be scalars");
    if (values[i].dtype() != input->types()[i]) {
      return invalid_argument("Mismatched type between padding value ", i, " and input dataset's component ", i, ": ",
                              dtype_name(values[i].dtype()), " vs. ", dtype_name(input->types()[i]));
    }
  }
  return DatasetPtr(
      std::make_shared<PaddedBatch>(a, std::move(input), size, drop, std::move(shapes), a.tensors("padding_values")));
}

}  // namespace

void add_padded_batches(KernelRegistry& kernels) {
  add_dataset<make_padded_batch>(kernels, {"PaddedBatchDataset", "PaddedBatchDatasetV2"});
}

}  // namespace argosy::datasets
