#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/sparse/coo.h"

namespace argosy {

namespace {

enum class Update { kSet, kAdd, kSubtract };

Status check_arguments(const Shape& x, const Shape& i, const Shape& v) {
  if (i.rank() != 1) return invalid_argument("i must be a vector. ", i);
  if (x.rank() != v.rank()) return invalid_argument("x and v shape doesn't match (ranks differ): ", x, " vs. ", v);
  if (x.rank() < 1) return invalid_argument("x must have rows, but is a scalar");
  for (int k = 1; k < x.rank(); ++k) {
    if (x[k] != v[k]) {
      return invalid_argument("x and v shape doesn't match at index ", k, " : ", x, " vs. ", v);
    }
  }
  if (i[0] != v[0]) return invalid_argument("i and x shape doesn't match at index 0: ", i[0], " vs. ", v[0]);
  return ok_status();
}

template <Update kUpdate>
Status update_row(const Tensor& y, std::int64_t to, const Tensor& v, std::int64_t from, std::int64_t width) {
  if constexpr (kUpdate == Update::kSet) {
    for (std::int64_t k = 0; k < width; ++k) sparse::copy_element(y, to * width + k, v, from * width + k);
    return ok_status();
  } else {
    return dispatch<NumberTypes>(y.dtype(), kUpdate == Update::kAdd ? "InplaceAdd" : "InplaceSub", [&]<typename T>() {
      T* const a = y.data<T>() + to * width;
      const T* const b = v.data<T>() + from * width;
      for (std::int64_t k = 0; k < width; ++k) {
        if constexpr (std::is_integral_v<T>) {
          using U = std::make_unsigned_t<T>;  // sums may leave the range of T
          const auto left = static_cast<U>(a[k]), right = static_cast<U>(b[k]);
          a[k] = static_cast<T>(kUpdate == Update::kAdd ? left + right : left - right);
        } else {
          a[k] = T(kUpdate == Update::kAdd ? a[k] + b[k] : a[k] - b[k]);
        }
      }
      return ok_status();
    });
  }
}

template <Update kUpdate>
Status update(KernelContext& c) {
  const Tensor x = c.input(0);
  Tensor v = c.input(2);
  const Tensor& rows = c.input(1);
  ARGOSY_RETURN_IF_ERROR(check_arguments(x.shape(), rows.shape(), v.shape()));
  const std::int64_t count = x.shape()[0], width = count > 0 ? x.elements() / count : 0;
  if (count == 0 && v.elements() > 0) return invalid_argument("x has no rows to update: ", x.shape());
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
  if (y->raw() != x.raw()) {
    copy_elements(*y, x);
  } else if (v.raw() == x.raw() && v.elements() > 0) {
    v = v.clone();  // its rows would change while they are read
  }
  for (std::int64_t k = 0; k < rows.elements() && count > 0; ++k) {
    const std::int64_t row = rows.data<std::int32_t>()[k] % count;
    ARGOSY_RETURN_IF_ERROR(update_row<kUpdate>(*y, row < 0 ? row + count : row, v, k, width));
  }
  return ok_status();
}

}  // namespace

void add_kernels_cpu_inplace(KernelRegistry& kernels) {
  kernels.add("InplaceUpdate", "cpu", update<Update::kSet>);
  kernels.add("InplaceAdd", "cpu", update<Update::kAdd>);
  kernels.add("InplaceSub", "cpu", update<Update::kSubtract>);
}

}  // namespace argosy
