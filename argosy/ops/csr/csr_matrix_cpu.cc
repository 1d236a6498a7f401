#include "argosy/ops/csr/csr_matrix.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "argosy/ops/list/element_memory.h"

namespace argosy::csr {

Result<Sizes> sizes_of(const Shape& shape) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const int rank = shape.rank();
  if (rank != 2 && rank != 3) return invalid_argument("a CSR matrix has rank 2 or 3, not the shape ", shape);
  for (int i = 0; i < rank; ++i) {
    if (shape[i] > kMost) return invalid_argument("sizes of a CSR matrix fit an int32; here the shape is ", shape);
  }
  return Sizes{rank == 3, rank == 3 ? shape[0] : 1, shape[rank - 2], shape[rank - 1]};
}

Result<std::shared_ptr<Matrix>> Matrix::make(Allocator& memory, DType dtype, const Sizes& sizes,
                                             std::span<const Place> places) {
  const auto count = static_cast<std::int64_t>(places.size());
  if (count > std::numeric_limits<std::int32_t>::max())
    return invalid_argument("a CSR matrix holds fewer than 2^31 values, not ", count);
  auto m = std::make_shared<Matrix>();
  m->sizes_ = sizes;
  const std::int64_t row_sizes[] = {sizes.batches, sizes.rows + 1};
  ARGOSY_ASSIGN_OR_RETURN(const Shape rows, Shape::make(row_sizes));
  ARGOSY_ASSIGN_OR_RETURN(m->rows_, Tensor::allocate(DType::kInt32, rows, memory));
  ARGOSY_ASSIGN_OR_RETURN(m->batches_, Tensor::allocate(DType::kInt32, Shape({sizes.batches + 1}), memory));
  ARGOSY_ASSIGN_OR_RETURN(m->columns_, Tensor::allocate(DType::kInt32, Shape({count}), memory));
  ARGOSY_ASSIGN_OR_RETURN(m->values_, Tensor::allocate(dtype, Shape({count}), memory));
  auto* const pointers = m->rows_.data<std::int32_t>();
  auto* const columns = m->columns_.data<std::int32_t>();
  std::size_t at = 0;
  for (std::int64_t b = 0; b < sizes.batches; ++b) {
    const std::size_t first = at;
    m->batches_.data<std::int32_t>()[b] = static_cast<std::int32_t>(first);
    std::int32_t* const own = pointers + b * (sizes.rows + 1);
    own[0] = 0;
    for (std::int64_t r = 0; r < sizes.rows; ++r) {
      for (; at < places.size() && places[at].batch == b && places[at].row == r; ++at) columns[at] = places[at].column;
      own[r + 1] = static_cast<std::int32_t>(at - first);
    }
  }
  m->batches_.data<std::int32_t>()[sizes.batches] = static_cast<std::int32_t>(at);
  ARGOSY_CHECK(at == places.size());
  return m;
}

std::string Matrix::describe() const {
  return str_cat("CSR matrix ", dtype_name(dtype()), sizes_.shape(), " of ", count(), " values");
}

std::vector<Place> Matrix::places() const {
  std::vector<Place> all;
  all.reserve(static_cast<std::size_t>(count()));
  for (std::int64_t b = 0; b < sizes_.batches; ++b) {
    for (std::int64_t r = 0; r < sizes_.rows; ++r) {
      for (std::int64_t i = begin(b, r); i < end(b, r); ++i)
        all.push_back({static_cast<std::int32_t>(b), static_cast<std::int32_t>(r), column(i)});
    }
  }
  return all;
}

bool Matrix::same_places(const Matrix& other) const {
  const auto same = [](const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && (a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
  };
  return sizes_ == other.sizes_ && same(batches_, other.batches_) && same(rows_, other.rows_) &&
         same(columns_, other.columns_);
}

Result<Variant> Matrix::zeros_like(Allocator& memory) const {
  auto zeros = std::make_shared<Matrix>(*this);
  ARGOSY_ASSIGN_OR_RETURN(zeros->values_, Tensor::allocate(dtype(), values_.shape(), written_by_host(memory)));
  if (zeros->values_.bytes() > 0) std::memset(zeros->values_.raw(), 0, zeros->values_.bytes());
  return Variant(std::move(zeros));
}

Result<Variant> Matrix::plus(const VariantValue& other, Allocator& memory) const {
  const auto* const more = dynamic_cast<const Matrix*>(&other);
  if (more == nullptr || more->dtype() != dtype() || more->sizes_ != sizes_)
    return invalid_argument("a ", describe(), " and a ", other.describe(), " cannot be added");
  MatrixPtr both;
  ARGOSY_RETURN_IF_ERROR(dispatch<ValueTypes>(dtype(), "AddN", [&]<typename T>() -> Status {
    const Tensor one = Tensor::scalar(T(1));
    ARGOSY_ASSIGN_OR_RETURN(both, sum(*this, *more, one, one, written_by_host(memory)));
    return ok_status();
  }));
  return Variant(std::move(both));
}

Result<MatrixPtr> input_matrix(const KernelContext& c, int i) {
  const Tensor& t = c.input(i);
  if (t.dtype() != DType::kVariant || t.shape().rank() != 0)
    return invalid_argument("input ", i, " must be a CSR matrix, a scalar variant, not ", dtype_name(t.dtype()),
                            t.shape());
  const auto& value = t.data<Variant>()->value();
  auto matrix = std::dynamic_pointer_cast<const Matrix>(value);
  if (matrix == nullptr) {
    return invalid_argument("Variant input ", i, " is not valid: it holds ",
                            value == nullptr ? std::string("nothing") : "a " + value->describe(), ", not a CSR matrix");
  }
  return matrix;
}

Status give_matrix(KernelContext& c, int i, MatrixPtr matrix) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(i, {}));
  *y->data<Variant>() = Variant(std::move(matrix));
  return ok_status();
}

Allocator& matrix_memory(const KernelContext& c) { return written_by_host(c.allocator()); }

Result<MatrixPtr> transposed(const Matrix& m, bool conjugate_values, Allocator& memory) {
  const Sizes from = m.sizes();
  Sizes to = from;
  std::swap(to.rows, to.columns);
  std::vector<Place> places = m.places();
  std::vector<std::int64_t> order(places.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<std::int64_t>(i);
    std::swap(places[i].row, places[i].column);
  }
  const auto at = [&](std::int64_t i) -> const Place& { return places[static_cast<std::size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return at(a).before(at(b)); });
  std::vector<Place> ordered;
  ordered.reserve(places.size());
  for (const std::int64_t i : order) ordered.push_back(at(i));
  ARGOSY_ASSIGN_OR_RETURN(auto y, Matrix::make(memory, m.dtype(), to, ordered));
  ARGOSY_RETURN_IF_ERROR(dispatch<ValueTypes>(m.dtype(), "transposition", [&]<typename T>() {
    const T* const x = m.values().data<T>();
    T* out = y->values().data<T>();
    for (const std::int64_t i : order) *out++ = conjugate_values ? conjugate(x[i]) : x[i];
    return ok_status();
  }));
  return MatrixPtr(std::move(y));
}

Result<MatrixPtr> sum(const Matrix& a, const Matrix& b, const Tensor& alpha, const Tensor& beta, Allocator& memory) {
  const bool same = a.same_places(b);
  std::vector<Place> places = a.places();
  std::vector<std::int64_t> order;  // of the values of a, then those of b, by place
  const auto first_of_b = static_cast<std::int64_t>(places.size());
  std::vector<Place> result = places;
  std::vector<std::int64_t> to;  // which value of the result each of `order` is added to
  if (!same) {
    const std::vector<Place> more = b.places();
    places.insert(places.end(), more.begin(), more.end());
    order.resize(places.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
    const auto at = [&](std::int64_t i) -> const Place& { return places[static_cast<std::size_t>(i)]; };
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t k) {
      return at(i).before(at(k)) || (!at(k).before(at(i)) && at(i).column < at(k).column);
    });
    result.clear();
    for (const std::int64_t i : order) {
      const Place& p = at(i);
      if (result.empty() || result.back().before(p) || result.back().column != p.column) result.push_back(p);
      to.push_back(static_cast<std::int64_t>(result.size()) - 1);
    }
  }
  ARGOSY_ASSIGN_OR_RETURN(auto y, Matrix::make(memory, a.dtype(), a.sizes(), result));
  ARGOSY_RETURN_IF_ERROR(dispatch<ValueTypes>(a.dtype(), "sum", [&]<typename T>() {
    const T *const x = a.values().data<T>(), *const z = b.values().data<T>();
    const T s = *alpha.data<T>(), t = *beta.data<T>();
    T* const out = y->values().data<T>();
    if (same) {
      for (std::int64_t i = 0; i < y->count(); ++i) out[i] = s * x[i] + t * z[i];
      return ok_status();
    }
    std::fill_n(out, y->count(), T(0));
    for (std::size_t i = 0; i < order.size(); ++i)
      out[to[i]] += order[i] < first_of_b ? s * x[order[i]] : t * z[order[i] - first_of_b];
    return ok_status();
  }));
  return MatrixPtr(std::move(y));
}

}  // namespace argosy::csr
