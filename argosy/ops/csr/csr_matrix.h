// CSR matrices as elements of variant tensors, and what kernels do with them. Internal to this family.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "argosy/op/kernel/kernel.h"

namespace argosy::csr {

using ValueTypes = TypeList<float, double, std::complex<float>, std::complex<double>>;

struct Sizes {
  bool batched = false;
  std::int64_t batches = 1, rows = 0, columns = 0;

  Shape shape() const { return batched ? Shape({batches, rows, columns}) : Shape({rows, columns}); }
  bool operator==(const Sizes&) const = default;
};
// Of a shape of rank 2 or 3. INVALID_ARGUMENT where a size does not fit an int32.
Result<Sizes> sizes_of(const Shape& shape);

// Where a value is. Ordered by batch and row; within a row, places have any order.
struct Place {
  std::int32_t batch = 0, row = 0, column = 0;
  bool before(const Place& other) const { return batch != other.batch ? batch < other.batch : row < other.row; }
};

// Immutable once it is in a tensor. All parts are in memory that the host can read.
class Matrix final : public VariantValue {
 public:
  // With room for as many values as there are places, not written yet. REQUIRES: places are ordered and within sizes.
  static Result<std::shared_ptr<Matrix>> make(Allocator& memory, DType dtype, const Sizes& sizes,
                                              std::span<const Place> places);

  std::string describe() const override;
  Result<Variant> zeros_like(Allocator& memory) const override;
  Result<Variant> plus(const VariantValue& other, Allocator& memory) const override;

  DType dtype() const { return values_.dtype(); }
  const Sizes& sizes() const { return sizes_; }
  const Tensor& values() const { return values_; }
  std::int64_t count() const { return values_.elements(); }
  // The values of a batch's row are numbers begin() to end() of all; the columns that they are in.
  std::int64_t begin(std::int64_t batch, std::int64_t row) const { return first_of(batch) + pointer(batch, row); }
  std::int64_t end(std::int64_t batch, std::int64_t row) const { return first_of(batch) + pointer(batch, row + 1); }
  std::int64_t first_of(std::int64_t batch) const { return batches_.data<std::int32_t>()[batch]; }
  std::int32_t column(std::int64_t i) const { return columns_.data<std::int32_t>()[i]; }
  // int32[rows + 1] of one batch, counted from its own first value; int32 columns of all.
  std::span<const std::int32_t> row_pointers(std::int64_t batch) const {
    return rows_.values<std::int32_t>().subspan(static_cast<std::size_t>(batch * (sizes_.rows + 1)),
                                                static_cast<std::size_t>(sizes_.rows + 1));
  }
  std::span<const std::int32_t> columns() const { return columns_.values<std::int32_t>(); }
  std::vector<Place> places() const;
  bool same_places(const Matrix& other) const;

 private:
  std::int32_t pointer(std::int64_t batch, std::int64_t row) const {
    return rows_.data<std::int32_t>()[batch * (sizes_.rows + 1) + row];
  }

  Sizes sizes_;
  Tensor batches_, rows_, columns_, values_;
};

using MatrixPtr = std::shared_ptr<const Matrix>;

// The matrix of input i. INVALID_ARGUMENT when there is none.
Result<MatrixPtr> input_matrix(const KernelContext& c, int i);
// Output i is this matrix.
Status give_matrix(KernelContext& c, int i, MatrixPtr matrix);
// The memory for matrices that this kernel makes.
Allocator& matrix_memory(const KernelContext& c);

Result<MatrixPtr> transposed(const Matrix& m, bool conjugate, Allocator& memory);
// alpha * a + beta * b, for scalars of their dtype. REQUIRES: equal dtypes and sizes.
Result<MatrixPtr> sum(const Matrix& a, const Matrix& b, const Tensor& alpha, const Tensor& beta, Allocator& memory);

template <typename T>
T conjugate(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return x;
  } else {
    return std::conj(x);
  }
}

}  // namespace argosy::csr
