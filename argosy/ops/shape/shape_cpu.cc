#include <cmath>
#include <limits>

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/shape/range.h"
#include "argosy/ops/shape/reshape_sizes.h"

namespace argosy {

namespace {

Status write_int(Tensor& y, std::int64_t i, std::int64_t value) {
  if (y.dtype() == DType::kInt64) {
    y.data<std::int64_t>()[i] = value;
  } else if (value > std::numeric_limits<std::int32_t>::max()) {
    return invalid_argument("a size of ", value, " does not fit int32").with_hint("ask for out_type int64");
  } else {
    y.data<std::int32_t>()[i] = static_cast<std::int32_t>(value);
  }
  return ok_status();
}

Status shape(KernelContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) {
    const Shape& x = c.input(i).shape();
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(i, Shape({x.rank()})));
    for (int k = 0; k < x.rank(); ++k) ARGOSY_RETURN_IF_ERROR(write_int(*y, k, x[k]));
  }
  return ok_status();
}

Status size(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  return write_int(*y, 0, c.input(0).elements());
}

Status rank(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  return write_int(*y, 0, c.input(0).shape().rank());
}

Status reshape(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(Ints sizes, read_ints(c.input(1), "Reshape: shape"));
  if (sizes.size() > Shape::kMaxRank) return invalid_argument("Reshape: a shape of ", sizes.size(), " axes");
  ARGOSY_RETURN_IF_ERROR(complete_reshape(x.shape(), sizes));
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes.span()));
  c.set_output(0, x.reshaped(shape));
  return ok_status();
}

class Squeeze final : public Kernel {
 public:
  explicit Squeeze(const std::vector<std::int64_t>& axes) : axes_(axes) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(
        std::make_unique<Squeeze>(init.attrs.get<std::vector<std::int64_t>>("squeeze_dims")));
  }
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    const int rank = x.shape().rank();
    Ints gone = Ints::filled(rank, 0);
    for (const std::int64_t given : axes_) {
      ARGOSY_ASSIGN_OR_RETURN(const int axis, normalize_axis(given, rank, "Squeeze"));
      if (x.shape()[axis] != 1) {
        return invalid_argument("Can not squeeze dim[", axis, "], expected a dimension of 1, got ", x.shape()[axis],
                                ": Squeeze: axis ", axis, " of ", x.shape(), " has a size of ", x.shape()[axis],
                                ", not 1");
      }
      gone[axis] = 1;
    }
    Ints sizes;
    for (int i = 0; i < rank; ++i) {
      if (axes_.empty() ? x.shape()[i] != 1 : gone[i] == 0) sizes.push_back(x.shape()[i]);
    }
    c.set_output(0, x.reshaped(Shape(sizes.span())));
    return ok_status();
  }

 private:
  std::vector<std::int64_t> axes_;
};

Status expand_dims(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t given, read_int(c.input(1), "ExpandDims: dim"));
  if (given < -x.shape().rank() - 1 || given > x.shape().rank()) {
    return invalid_argument("Tried to expand dim index ", given, " for tensor with ", x.shape().rank(),
                            " dimensions: ExpandDims: axis ", given, " is outside [", -x.shape().rank() - 1, ", ",
                            x.shape().rank() + 1, ")");
  }
  ARGOSY_ASSIGN_OR_RETURN(const int axis, normalize_axis(given, x.shape().rank() + 1, "ExpandDims"));
  if (x.shape().rank() == Shape::kMaxRank) return invalid_argument("ExpandDims: x has ", Shape::kMaxRank, " axes");
  Ints sizes(x.shape().sizes().first(static_cast<std::size_t>(axis)));
  sizes.push_back(1);
  sizes.append(x.shape().sizes().subspan(static_cast<std::size_t>(axis)));
  c.set_output(0, x.reshaped(Shape(sizes.span())));
  return ok_status();
}

Status check_scalars(KernelContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.input(i).elements() != 1) {
      return invalid_argument("start, limit and delta (or num) must be scalars, not of shape ", c.input(i).shape());
    }
  }
  return ok_status();
}

Status range(KernelContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_scalars(c));
  using Types = TypeList<std::int32_t, std::int64_t, float, double, bfloat16, float16, std::int8_t, std::int16_t,
                         std::uint16_t, std::uint32_t, std::uint64_t>;
  return dispatch<Types>(c.output_dtype(0), "Range", [&]<typename T>() -> Status {
    const T start = *c.input(0).data<T>();
    const T limit = *c.input(1).data<T>();
    const T delta = *c.input(2).data<T>();
    using Counted = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;
    if constexpr (std::is_same_v<T, std::uint64_t>) {
      constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
      if (std::max({start, limit, delta}) > kMost) return invalid_argument("Range: a number of 2^63 or more");
    }
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t n, range_size(static_cast<Counted>(start), static_cast<Counted>(limit),
                                                             static_cast<Counted>(delta)));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, Shape({n})));
    T* const to = y->data<T>();
    // Unsigned arithmetic wraps; only a value that is never read could.
    using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
    for (std::int64_t i = 0; i < n; ++i) {
      to[i] = static_cast<T>(static_cast<Sum>(start) + static_cast<Sum>(static_cast<T>(i)) * static_cast<Sum>(delta));
    }
    return ok_status();
  });
}

Status linspace(KernelContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_scalars(c));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t n, read_int(c.input(2), "LinSpace: num"));
  if (n <= 0) return invalid_argument("Requires num > 0: ", n, ": LinSpace: num must be above zero, not ", n);
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, Shape({n})));
  return dispatch<FloatTypes>(y->dtype(), "LinSpace", [&]<typename T>() {
    using Wide = std::conditional_t<sizeof(T) == 8, double, float>;
    const auto start = static_cast<Wide>(*c.input(0).data<T>());
    const auto stop = static_cast<Wide>(*c.input(1).data<T>());
    const Wide step = n > 1 ? (stop - start) / static_cast<Wide>(n - 1) : Wide(0);
    T* const to = y->data<T>();
    for (std::int64_t i = 0; i < n; ++i) to[i] = T(start + step * static_cast<Wide>(i));
    if (n > 1) to[n - 1] = T(stop);
    return ok_status();
  });
}

}  // namespace

void add_kernels_cpu_shape(KernelRegistry& kernels) {
  kernels.add("Shape", "cpu", shape);
  kernels.add("ShapeN", "cpu", shape);
  kernels.add("Size", "cpu", size);
  kernels.add("Rank", "cpu", rank);
  kernels.add("Reshape", "cpu", reshape);
  kernels.add("Squeeze", "cpu", Squeeze::make);
  kernels.add("ExpandDims", "cpu", expand_dims);
  kernels.add("Range", "cpu", range);
  kernels.add("LinSpace", "cpu", linspace);
}

}  // namespace argosy
