// Matrix: a CSR matrix, or a batch, as an element of a variant tensor, and functions on it for kernels. Internal to
// this family.
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
// The sizes of a matrix, or batch, of this shape of rank 2 or 3. INVALID_ARGUMENT if a size does not fit an int32.
Result<Sizes> sizes_of(const Shape& shape);

// The position of a stored value. Ordered by batch and row; within a row, in any order.
struct Place {
  std::int32_t batch = 0, row = 0, column = 0;
  bool before(const Place& other) const { return batch != other.batch ? batch < other.batch : row < other.row; }
};

// Immutable once it is in a tensor. All its memory is readable by the host.
class Matrix final : public VariantValue {
 public:
  // Makes a matrix with room for one value per place; the values are not set. REQUIRES: places are ordered and within
  // `sizes`.
  static Result<std::shared_ptr<Matrix>> make(Allocator& memory, DType dtype, const Sizes& sizes,
                                              std::span<const Place> places);

  std::string describe() const override;
  Result<Variant> zeros_like(Allocator& memory) const override;
  Result<Variant> plus(const VariantValue& other, Allocator& memory) const override;

  DType dtype() const { return values_.dtype(); }
  const Sizes& sizes() const { return sizes_; }
  const Tensor& values() const { return values_; }
  std::int64_t count() const { return values_.elements(); }
  // The values of a row are those numbered begin() to end(), among all values; column() gives the column of a value.
  std::int64_t begin(std::int64_t batch, std::int64_t row) const { return first_of(batch) + pointer(batch, row); }
  std::int64_t end(std::int64_t batch, std::int64_t row) const { return first_of(batch) + pointer(batch, row + 1); }
  std::int64_t first_of(std::int64_t batch) const { return batches_.data<std::int32_t>()[batch]; }
  std::int32_t column(std::int64_t i) const { return columns_.data<std::int32_t>()[i]; }
  // row_pointers(): int32[rows + 1] of one batch, counted from the first value of the batch. columns(): the int32
  // columns of all values.
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

// Returns the matrix of input i. INVALID_ARGUMENT if the input holds none.
Result<MatrixPtr> input_matrix(const KernelContext& c, int i);
// Sets output i to this matrix.
Status give_matrix(KernelContext& c, int i, MatrixPtr matrix);
// Returns the allocator for matrices that this kernel makes.
Allocator& matrix_memory(const KernelContext& c);

Result<MatrixPtr> transposed(const Matrix& m, bool conjugate, Allocator& memory);
// Returns alpha * a + beta * b; alpha and beta are scalars of their dtype. REQUIRES: equal dtypes and sizes.
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
