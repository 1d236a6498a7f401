#include "argosy/ops/linalg/matrices.h"

namespace argosy {

namespace linalg {

namespace {

DType wide(DType d) {
  if (is_floating(d)) return DType::kFloat64;
  return is_complex(d) ? DType::kComplex128 : d;
}

template <typename List, typename Wide>
Status convert(const Tensor& from, const Tensor& to, bool widen) {
  const Tensor& narrow = widen ? from : to;
  return dispatch<List>(narrow.dtype(), "conversion", [&]<typename T>() {
    for (std::int64_t i = 0; i < from.elements(); ++i) {
      if (widen) {
        to.data<Wide>()[i] = static_cast<Wide>(from.data<T>()[i]);
      } else {
        to.data<T>()[i] = static_cast<T>(from.data<Wide>()[i]);
      }
    }
    return ok_status();
  });
}
Status convert(const Tensor& from, const Tensor& to, bool widen) {
  if (is_complex(from.dtype())) {
    return convert<TypeList<std::complex<float>>, std::complex<double>>(from, to, widen);
  }
  return convert<TypeList<float, bfloat16, float16>, double>(from, to, widen);
}

}  // namespace

Result<MatrixCall> MatrixCall::start(KernelContext& c) {
  MatrixCall call(c);
  for (int i = 0; i < c.num_inputs(); ++i) {
    Tensor t = c.input(i);
    if (wide(t.dtype()) != t.dtype()) {
      ARGOSY_ASSIGN_OR_RETURN(Tensor converted, Tensor::allocate(wide(t.dtype()), t.shape(), c.allocator()));
      ARGOSY_RETURN_IF_ERROR(convert(t, converted, true));
      t = std::move(converted);
    }
    call.inputs_.push_back(std::move(t));
  }
  return call;
}

std::optional<std::uint64_t> MatrixCall::bytes(const KernelInit& init) {
  std::uint64_t bytes = 0;
  const auto add = [&](const PartialShape& shape, DType d) {
    if (wide(d) == d) return true;
    const auto of = bytes_for(shape, element_bytes(wide(d)));
    bytes += of.value_or(0);
    return of.has_value();
  };
  bool known = true;
  for (std::size_t i = 0; i < init.input_shapes.size(); ++i) {
    known = add(init.input_shapes[i], init.input_dtypes[i]) && known;
  }
  for (std::size_t i = 0; i < init.output_shapes.size(); ++i) {
    known = add(init.output_shapes[i], init.output_dtypes[i]) && known;
  }
  return known ? std::optional(bytes) : std::nullopt;
}

DType MatrixCall::output_dtype(int i) const { return c_.output_dtype(i); }

Result<Tensor> MatrixCall::output(int i, const Shape& shape) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c_.output(i, shape));
  if (wide(y->dtype()) == y->dtype()) return *y;
  ARGOSY_ASSIGN_OR_RETURN(Tensor computed, Tensor::allocate(wide(y->dtype()), shape, c_.allocator()));
  narrow_.emplace_back(computed, *y);
  return computed;
}

Status MatrixCall::finish() {
  for (const auto& [from, to] : narrow_) ARGOSY_RETURN_IF_ERROR(convert(from, to, false));
  return ok_status();
}

Shape Stack::with(std::initializer_list<std::int64_t> last) const {
  std::vector<std::int64_t> sizes = batch;
  sizes.insert(sizes.end(), last.begin(), last.end());
  return Shape(std::span<const std::int64_t>(sizes));
}

Result<Stack> stack_of(std::string_view op, const Tensor& t) {
  const Shape& shape = t.shape();
  if (shape.rank() < 2) return invalid_argument(op, ": input must have rank >= 2, not shape ", shape);
  Stack s;
  s.batch.assign(shape.sizes().begin(), shape.sizes().end() - 2);
  for (const std::int64_t n : s.batch) s.count *= n;
  s.rows = shape[shape.rank() - 2];
  s.columns = shape.back();
  // The products of both axes with themselves are outputs as well.
  const std::int64_t longest = std::max(s.rows, s.columns);
  const std::int64_t sizes[] = {s.count, longest, longest};
  ARGOSY_RETURN_IF_ERROR(Shape::make(sizes).status());
  return s;
}

Result<Stack> square_stack_of(std::string_view op, const Tensor& t) {
  ARGOSY_ASSIGN_OR_RETURN(Stack s, stack_of(op, t));
  if (s.rows != s.columns) return invalid_argument(op, ": input matrix must be square, not of shape ", t.shape());
  return s;
}

Status same_batch(std::string_view op, const Stack& a, const Stack& b) {
  if (a.batch == b.batch) return ok_status();
  return invalid_argument(op, ": all inputs must have the same axes in front of their matrices, not ", a.with({}),
                          " and ", b.with({}));
}

}  // namespace linalg

void add_kernels_cpu_linalg(KernelRegistry& kernels) {
  linalg::add_cholesky(kernels);
  linalg::add_lu(kernels);
  linalg::add_qr(kernels);
  linalg::add_svd(kernels);
  linalg::add_eigen(kernels);
  linalg::add_solve(kernels);
  linalg::add_least_squares(kernels);
  linalg::add_functions(kernels);
  linalg::add_bands(kernels);
}

}  // namespace argosy
