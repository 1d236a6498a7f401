#include "argosy/ops/accumulator/accumulator_state.h"

#include <algorithm>

namespace argosy {

namespace {

Result<Tensor> zeros_like_rows(DType dtype, const Shape& shape) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor t, Tensor::allocate(dtype, shape, host_allocator()));
  std::fill_n(static_cast<char*>(t.raw()), t.bytes(), 0);
  return t;
}

template <typename T>
void divide(T* values, std::int64_t n, std::int64_t by) {
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
      values[i] /= static_cast<typename T::value_type>(by);
    } else {
      values[i] = static_cast<T>(values[i] / static_cast<T>(by));
    }
  }
}

}  // namespace

// --- what both have --------------------------------------------------------------------------------------------------

Status Accumulator::check_same(const AccumulatorOptions& asked) const {
  if (asked.dtype != options_.dtype) {
    return invalid_argument("Shared conditional accumulator '", name_, "' has type ", dtype_name(options_.dtype),
                            " but requested type was ", dtype_name(asked.dtype));
  }
  if (!asked.shape.compatible(options_.shape)) {
    return invalid_argument("Shared conditional accumulator '", name_, "' has shape ", options_.shape,
                            " but requested shape was ", asked.shape);
  }
  return ok_status();
}

Status Accumulator::apply(std::int64_t local_step, const std::function<Status(std::int64_t count)>& add) {
  {
    MutexLock lock(blocked_.mutex());
    if (local_step < step_) return ok_status();  // stale: dropped in silence
    ARGOSY_RETURN_IF_ERROR(add(count_));
    ++count_;
  }
  blocked_.wake();
  return ok_status();
}

void Accumulator::take(std::int64_t required, Cancellation* cancellation,
                       std::function<void(Status, std::vector<Tensor>)> done) {
  const auto taken = std::make_shared<std::vector<Tensor>>();
  const auto try_complete = [this, required, taken](Status& status) {
    if (count_ < required) return false;
    auto all = result(count_);
    if (all.ok()) {
      *taken = *std::move(all);
    } else {
      status = std::move(all).status();
    }
    count_ = 0;
    ++step_;
    return true;
  };
  blocked_.add(shared_from_this(), cancellation, "TakeGrad", try_complete,
               [taken, done = std::move(done)](Status status) { done(std::move(status), std::move(*taken)); });
}

std::int64_t Accumulator::count() {
  MutexLock lock(blocked_.mutex());
  return count_;
}

void Accumulator::set_step(std::int64_t step) {
  MutexLock lock(blocked_.mutex());
  step_ = step;
}

Status Accumulator::check_idle() const {
  return blocked_.idle() ? ok_status()
                         : Status(failed_precondition("steps wait for gradients of the accumulator '", name_, "'"));
}

Result<std::function<Status()>> Accumulator::snapshot() const {
  MutexLock lock(blocked_.mutex());
  ARGOSY_RETURN_IF_ERROR(check_idle());
  const auto self = std::const_pointer_cast<Accumulator>(shared_from_this());
  return std::function<Status()>([self, sums = sums(), step = step_, count = count_]() -> Status {
    MutexLock again(self->blocked_.mutex());
    ARGOSY_RETURN_IF_ERROR(self->check_idle());
    self->take_sums(sums);
    self->step_ = step;
    self->count_ = count;
    return ok_status();
  });
}

Result<std::vector<Tensor>> Accumulator::contents() const {
  MutexLock lock(blocked_.mutex());
  std::vector<Tensor> all = {Tensor::scalar(step_), Tensor::scalar(count_)};
  for (Tensor& sum : sums()) {
    if (count_ > 0) all.push_back(std::move(sum));
  }
  return all;
}

// --- dense -----------------------------------------------------------------------------------------------------------

std::string DenseAccumulator::describe() const { return str_cat("accumulator of ", dtype_name(options().dtype)); }

Status DenseAccumulator::add(std::int64_t local_step, const Tensor& gradient) {
  if (gradient.dtype() != options().dtype) {
    return invalid_argument("an accumulator of ", dtype_name(options().dtype), " cannot take a gradient of ",
                            dtype_name(gradient.dtype()));
  }
  return apply(local_step, [&](std::int64_t count) -> Status {
    if (!options().shape.compatible(gradient.shape())) {
      return invalid_argument("Shape mismatch: expected ", options().shape, ", got ", gradient.shape());
    }
    if (count > 0 && !(sum_.shape() == gradient.shape())) {
      return invalid_argument("Shape mismatch: expected ", sum_.shape(), ", got ", gradient.shape());
    }
    if (count == 0) {
      if (!(sum_.valid() && sum_.shape() == gradient.shape() && sum_.unique())) {
        ARGOSY_ASSIGN_OR_RETURN(sum_, Tensor::allocate(gradient.dtype(), gradient.shape(), host_allocator()));
      }
      copy_elements(sum_, gradient);
      return ok_status();
    }
    return dispatch<NumberTypes>(gradient.dtype(), "AccumulatorApplyGradient", [&]<typename T>() {
      T* const to = sum_.data<T>();
      const T* const from = gradient.data<T>();
      for (std::int64_t i = 0; i < gradient.elements(); ++i) to[i] = static_cast<T>(to[i] + from[i]);
      return ok_status();
    });
  });
}

Result<std::vector<Tensor>> DenseAccumulator::result(std::int64_t count) {
  Tensor out = std::move(sum_);
  sum_ = Tensor();
  if (!options().sum) {
    ARGOSY_RETURN_IF_ERROR(dispatch<NumberTypes>(out.dtype(), "AccumulatorTakeGradient", [&]<typename T>() {
      divide(out.data<T>(), out.elements(), count);
      return ok_status();
    }));
  }
  return std::vector<Tensor>{std::move(out)};
}

std::vector<Tensor> DenseAccumulator::sums() const {
  return sum_.valid() ? std::vector<Tensor>{sum_.clone()} : std::vector<Tensor>();
}

void DenseAccumulator::take_sums(const std::vector<Tensor>& sums) { sum_ = sums.empty() ? Tensor() : sums[0].clone(); }

// --- sparse ----------------------------------------------------------------------------------------------------------

std::string SparseAccumulator::describe() const {
  return str_cat("accumulator of rows of ", dtype_name(options().dtype));
}

Status SparseAccumulator::check(const Tensor& indices, const Tensor& values, const Tensor* shape) const {
  if (values.dtype() != options().dtype) {
    return invalid_argument("an accumulator of ", dtype_name(options().dtype), " cannot take a gradient of ",
                            dtype_name(values.dtype()));
  }
  if (indices.shape().rank() != 1) {
    return invalid_argument("Input indices should be vector but received shape: ", indices.shape());
  }
  if (values.shape().rank() < 1) return invalid_argument("Values cannot be 0-dimensional.");
  if (values.shape()[0] != indices.shape()[0]) {
    return invalid_argument("Expected ", indices.shape()[0], " non-empty input values, got ", values.shape()[0]);
  }
  const PartialShape& expected = options().shape;
  const auto mismatch = [](const char* of, int axis, std::int64_t want, std::int64_t got) {
    return invalid_argument("Shape mismatch: expected ", of, " dim ", axis, " to be ", want, ", got ", got);
  };
  // The accumulator's shape names the first axes; SyncReplicasOptimizer names none.
  const int least_rank = expected.has_rank() ? expected.rank() : 0;
  const auto too_low = [&](const char* of, int rank) {
    return invalid_argument("Shape mismatch: expected ", of, " rank at least ", least_rank, ", got ", rank);
  };
  if (shape != nullptr) {
    if (shape->shape().rank() != 1) {
      return invalid_argument("Input shape should be a vector but received shape ", shape->shape());
    }
    const auto sizes = shape->values<std::int64_t>();
    if (static_cast<int>(sizes.size()) != values.shape().rank()) {
      return invalid_argument("Shape mismatch: expected shape rank ", values.shape().rank(), ", got ", sizes.size());
    }
    if (static_cast<int>(sizes.size()) < least_rank) return too_low("shape", static_cast<int>(sizes.size()));
    for (int k = 0; k < expected.rank(); ++k) {
      if (expected[k] >= 0 && expected[k] != sizes[static_cast<std::size_t>(k)]) {
        return mismatch("shape", k, expected[k], sizes[static_cast<std::size_t>(k)]);
      }
    }
  }
  if (values.shape().rank() < least_rank) return too_low("values", values.shape().rank());
  for (int k = 1; k < expected.rank(); ++k) {
    if (expected[k] >= 0 && expected[k] != values.shape()[k])
      return mismatch("values", k, expected[k], values.shape()[k]);
  }
  const std::int64_t rows = expected.rank() > 0 ? expected[0] : PartialShape::kUnknown;
  const auto rows_given = indices.values<std::int64_t>();
  for (std::size_t i = 0; rows >= 0 && i < rows_given.size(); ++i) {
    if (rows_given[i] < rows) continue;
    return invalid_argument("Shape mismatch: index of slice ", i, " exceeded limits of shape; index is ", rows_given[i],
                            " exceeded ", rows);
  }
  return ok_status();
}

Status SparseAccumulator::add(std::int64_t local_step, const Tensor& indices, const Tensor& values,
                              const Tensor* shape) {
  ARGOSY_RETURN_IF_ERROR(check(indices, values, shape));
  return apply(local_step, [&](std::int64_t count) -> Status {
    if (count == 0) {
      indices_.assign(indices.values<std::int64_t>().begin(), indices.values<std::int64_t>().end());
      counts_.assign(indices_.size(), 1);
      ARGOSY_ASSIGN_OR_RETURN(rows_, Tensor::allocate(values.dtype(), values.shape(), host_allocator()));
      copy_elements(rows_, values);
      return ok_status();
    }
    if (!(rows_.shape().with(0, 0) == values.shape().with(0, 0))) {
      return invalid_argument("Shape mismatch: expected rows of a tensor of shape ", rows_.shape(), ", got ",
                              values.shape());
    }
    return merge(indices, values);
  });
}

// Merges the gradient into the sums, as two ascending lists: rows of equal index are added.
Status SparseAccumulator::merge(const Tensor& indices, const Tensor& values) {
  const auto theirs = indices.values<std::int64_t>();
  std::vector<std::int64_t> all, counts;
  std::vector<std::pair<std::int64_t, std::int64_t>> from;  // row of ours, row of theirs; -1: none
  for (std::size_t i = 0, k = 0; i < indices_.size() || k < theirs.size();) {
    const bool ours_next = i < indices_.size() && (k == theirs.size() || indices_[i] <= theirs[k]);
    const bool theirs_next = k < theirs.size() && (i == indices_.size() || theirs[k] <= indices_[i]);
    all.push_back(ours_next ? indices_[i] : theirs[k]);
    counts.push_back((ours_next ? counts_[i] : 0) + (theirs_next ? 1 : 0));
    from.emplace_back(ours_next ? static_cast<std::int64_t>(i) : -1, theirs_next ? static_cast<std::int64_t>(k) : -1);
    i += ours_next ? 1 : 0;
    k += theirs_next ? 1 : 0;
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor rows,
                          zeros_like_rows(rows_.dtype(), rows_.shape().with(0, static_cast<std::int64_t>(all.size()))));
  const std::int64_t width = all.empty() ? 0 : rows.elements() / static_cast<std::int64_t>(all.size());
  ARGOSY_RETURN_IF_ERROR(dispatch<NumberTypes>(rows.dtype(), "SparseAccumulatorApplyGradient", [&]<typename T>() {
    T* to = rows.data<T>();
    for (const auto& [ours, other] : from) {
      if (ours >= 0) std::copy_n(rows_.data<T>() + ours * width, width, to);
      const T* const more = values.data<T>() + std::max<std::int64_t>(other, 0) * width;
      for (std::int64_t i = 0; other >= 0 && i < width; ++i) to[i] = static_cast<T>(to[i] + more[i]);
      to += width;
    }
    return ok_status();
  }));
  rows_ = std::move(rows);
  indices_ = std::move(all);
  counts_ = std::move(counts);
  return ok_status();
}

std::vector<Tensor> SparseAccumulator::sums() const {
  if (!rows_.valid()) return {};
  return {Tensor::vector(indices_), Tensor::vector(counts_), rows_.clone()};
}

void SparseAccumulator::take_sums(const std::vector<Tensor>& sums) {
  indices_.clear();
  counts_.clear();
  rows_ = Tensor();
  if (sums.empty()) return;
  const auto indices = sums[0].values<std::int64_t>(), counts = sums[1].values<std::int64_t>();
  indices_.assign(indices.begin(), indices.end());
  counts_.assign(counts.begin(), counts.end());
  rows_ = sums[2].clone();
}

Result<std::vector<Tensor>> SparseAccumulator::result(std::int64_t) {
  Tensor rows = std::move(rows_);
  rows_ = Tensor();
  if (!options().sum && !indices_.empty()) {
    const std::int64_t width = rows.elements() / static_cast<std::int64_t>(indices_.size());
    ARGOSY_RETURN_IF_ERROR(dispatch<NumberTypes>(rows.dtype(), "SparseAccumulatorTakeGradient", [&]<typename T>() {
      for (std::size_t i = 0; i < counts_.size(); ++i) {
        divide(rows.data<T>() + static_cast<std::int64_t>(i) * width, width, counts_[i]);
      }
      return ok_status();
    }));
  }
  std::vector<std::int64_t> shape(rows.shape().sizes().begin(), rows.shape().sizes().end());
  shape[0] = options().shape.rank() > 0 ? options().shape[0] : -1;  // how many rows there are elsewhere
  Tensor indices = Tensor::vector(indices_);
  return std::vector<Tensor>{std::move(indices), std::move(rows), Tensor::vector(shape)};
}

}  // namespace argosy
