#include "argosy/base/checked.h"
#include "argosy/ops/layout/layout_registration.h"
#include "argosy/ops/layout/split_axis.h"
#include "argosy/ops/layout/strided/strided_copy.h"

namespace argosy {

namespace {

std::int64_t product(std::span<const std::int64_t> sizes) {
  std::int64_t p = 1;
  for (const std::int64_t size : sizes) p *= size;
  return p;
}

// A tensor as rows along one axis: `outer` rows, each `row` elements of the axis and what lies behind it.
struct Rows {
  std::int64_t outer, row;
  Rows(const Shape& shape, int axis)
      : outer(product(shape.sizes().first(static_cast<std::size_t>(axis)))),
        row(product(shape.sizes().subspan(static_cast<std::size_t>(axis)))) {}
};

template <Copy kCopy>
Status concat(KernelContext& c, int axis_input, int first) {
  const int n = c.num_inputs() - 1;
  const Shape& shape = c.input(first).shape();
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t given, read_int(c.input(axis_input), "Concat: the axis"));
  if (shape.rank() == 0) return invalid_argument("ConcatOp : Can't concatenate scalars (use tf.stack instead)");
  if (given < -shape.rank() || given >= shape.rank()) {
    return invalid_argument("ConcatOp : Expected concatenating dimensions in the range [", -shape.rank(), ", ",
                            shape.rank(), "), but got ", given);
  }
  ARGOSY_ASSIGN_OR_RETURN(const int axis, normalize_axis(given, shape.rank(), "Concat"));
  std::int64_t total = 0;
  for (int i = 0; i < n; ++i) {
    const Shape& x = c.input(first + i).shape();
    bool fits = x.rank() == shape.rank();
    int off = 0;  // the first axis that differs
    for (int k = 0; fits && k < x.rank(); ++k) fits = k == axis || x[off = k] == shape[k];
    if (x.rank() != shape.rank()) {
      return invalid_argument("ConcatOp : Ranks of all input tensors should match: shape[0] = ", shape, " vs. shape[",
                              i, "] = ", x);
    }
    if (!fits) {
      return invalid_argument("ConcatOp : Dimension ", off, " in both shapes must be equal: shape[0] = ", shape,
                              " vs. shape[", i, "] = ", x,
                              ": ConcatOp : Dimensions of inputs should match: shape[0] = ", shape, " vs. shape[", i,
                              "] = ", x, ": along axis ", axis);
    }
    const auto sum = checked_add(total, x[axis]);
    if (!sum) return invalid_argument("Concat: the output has 2^63 rows or more");
    total = *sum;
  }
  Ints sizes(shape.sizes());
  sizes[axis] = total;
  ARGOSY_ASSIGN_OR_RETURN(const Shape out, Shape::make(sizes.span()));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, out));
  const std::int64_t row = Rows(out, axis).row;
  std::int64_t at = 0;
  for (int i = 0; i < n; ++i) {
    const Tensor& x = c.input(first + i);
    const Rows rows(x.shape(), axis);
    kCopy(*y, at, x, 0, {{rows.outer, rows.row}, {row, 1}, {rows.row, 1}});
    at += rows.row;
  }
  return ok_status();
}
template <Copy kCopy>
Status concat_v1(KernelContext& c) {
  return concat<kCopy>(c, 0, 1);
}
template <Copy kCopy>
Status concat_v2(KernelContext& c) {
  return concat<kCopy>(c, c.num_inputs() - 1, 0);
}

Status concat_offset(KernelContext& c) {
  const Tensor& shape = c.input(1);
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t given, read_int(c.input(0), "ConcatOffset: concat_dim"));
  if (shape.shape().rank() != 1) {
    return invalid_argument("ConcatOffset: shapes must be vectors, not of shape ", shape.shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(const int axis, normalize_axis(given, static_cast<int>(shape.elements()), "ConcatOffset"));
  return dispatch<IndexTypes>(shape.dtype(), "ConcatOffset", [&]<typename T>() -> Status {
    const auto first = shape.values<T>();
    T offset = 0;
    for (int i = 0; i < c.num_outputs(); ++i) {
      const Tensor& x = c.input(i + 1);
      if (x.shape() != shape.shape()) {
        return invalid_argument("ConcatOffset: shapes of ", shape.elements(), " and of ", x.elements(), " axes");
      }
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(i, x.shape()));
      const auto sizes = x.values<T>();
      for (int k = 0; k < static_cast<int>(sizes.size()); ++k) {
        if (k != axis && sizes[k] != first[k]) {
          return invalid_argument("ConcatOffset: input ", i, " has size ", sizes[k], " along axis ", k,
                                  ", input 0 has ", first[k]);
        }
        y->values<T>()[k] = k == axis ? offset : T(0);
      }
      if (__builtin_add_overflow(offset, sizes[axis], &offset)) {
        return invalid_argument("ConcatOffset: sizes along axis ", axis, " overflow");
      }
    }
    return ok_status();
  });
}

// Output i gets sizes[i] of the axis.
template <Copy kCopy>
Status split_into(KernelContext& c, const Tensor& x, int axis, const Ints& sizes) {
  const Rows rows(x.shape(), axis);
  Ints out(x.shape().sizes());
  std::int64_t at = 0;
  for (int i = 0; i < c.num_outputs(); ++i) {
    out[axis] = sizes[i];
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(i, Shape(out.span())));
    const Rows piece(y->shape(), axis);
    kCopy(*y, 0, x, at, {{piece.outer, piece.row}, {piece.row, 1}, {rows.row, 1}});
    at += piece.row;
  }
  return ok_status();
}

template <Copy kCopy>
Status split(KernelContext& c) {
  const Tensor& x = c.input(1);
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t given, read_int(c.input(0), "Split: split_dim"));
  if (x.shape().rank() == 0) return invalid_argument("Split: a scalar cannot be split");
  ARGOSY_RETURN_IF_ERROR(check_split_axis(given, x.shape().rank()));
  const auto axis = static_cast<int>(given < 0 ? given + x.shape().rank() : given);
  const std::int64_t size = x.shape()[axis];
  if (size % c.num_outputs() != 0) {
    return invalid_argument("Number of ways to split should evenly divide the split dimension, but got split_dim ",
                            axis, " (size = ", x.shape()[axis], ") and num_split ", c.num_outputs(), ": Split: axis ",
                            axis, " of ", x.shape(), " does not divide into ", c.num_outputs(), " pieces");
  }
  return split_into<kCopy>(c, x, axis, Ints::filled(c.num_outputs(), size / c.num_outputs()));
}

template <Copy kCopy>
Status split_v(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(Ints sizes, read_ints(c.input(1), "SplitV: size_splits"));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t given, read_int(c.input(2), "SplitV: split_dim"));
  if (c.input(1).shape().rank() != 1 || sizes.size() != c.num_outputs()) {
    return invalid_argument("SplitV: size_splits must be a vector of num_split = ", c.num_outputs(),
                            " sizes, not of shape ", c.input(1).shape());
  }
  if (x.shape().rank() == 0) return invalid_argument("SplitV: a scalar cannot be split");
  ARGOSY_RETURN_IF_ERROR(check_split_axis(given, x.shape().rank()));
  const auto axis = static_cast<int>(given < 0 ? given + x.shape().rank() : given);
  std::int64_t rest = x.shape()[axis];
  int open = -1;
  for (int i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < -1) return invalid_argument("SplitV: size_splits[", i, "] is ", sizes[i]);
    if (sizes[i] == -1 && open >= 0) return invalid_argument("SplitV: size_splits has more than one -1");
    if (sizes[i] == -1) {
      open = i;
    } else if (sizes[i] > rest) {
      return invalid_argument(
          "Determined shape must either match input shape along split_dim exactly if fully specified, or be less than "
          "the size of the input along split_dim if not fully specified.  Got: ",
          checked_add(x.shape()[axis] - rest, sizes[i]).value_or(sizes[i]),
          ": SplitV: size_splits sum to more than the ", x.shape()[axis], " of axis ", axis);
    } else {
      rest -= sizes[i];
    }
  }
  if (open >= 0) {
    sizes[open] = rest;
  } else if (rest != 0) {
    return invalid_argument(
        "Determined shape must either match input shape along split_dim exactly if fully specified, or be less than "
        "the size of the input along split_dim if not fully specified.  Got: ",
        x.shape()[axis] - rest, ": SplitV: size_splits sum to ", x.shape()[axis] - rest, ", axis ", axis, " of ",
        x.shape(), " has ", x.shape()[axis]);
  }
  return split_into<kCopy>(c, x, axis, sizes);
}

template <Copy kCopy>
class Pack final : public Kernel {
 public:
  explicit Pack(std::int64_t axis) : axis_(axis) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Pack>(init.attrs.get_int("axis")));
  }
  Status run(KernelContext& c) override {
    const Shape& shape = c.input(0).shape();
    const int n = c.num_inputs();
    ARGOSY_ASSIGN_OR_RETURN(const int axis, normalize_axis(axis_, shape.rank() + 1, "Pack"));
    for (int i = 1; i < n; ++i) {
      if (c.input(i).shape() != shape) {
        return invalid_argument("Pack: input ", i, " has shape ", c.input(i).shape(), ", input 0 ", shape);
      }
    }
    Ints sizes(shape.sizes().first(static_cast<std::size_t>(axis)));
    sizes.push_back(n);
    sizes.append(shape.sizes().subspan(static_cast<std::size_t>(axis)));
    ARGOSY_ASSIGN_OR_RETURN(const Shape out, Shape::make(sizes.span()));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, out));
    const Rows rows(shape, axis);
    for (int i = 0; i < n; ++i) {
      if (shape.elements() == 1) {
        copy_span(*y, i, c.input(i), 0, 1);
      } else {
        kCopy(*y, i * rows.row, c.input(i), 0, {{rows.outer, rows.row}, {n * rows.row, 1}, {rows.row, 1}});
      }
    }
    return ok_status();
  }

 private:
  std::int64_t axis_;
};

template <Copy kCopy>
class Unpack final : public Kernel {
 public:
  explicit Unpack(std::int64_t axis) : axis_(axis) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Unpack>(init.attrs.get_int("axis")));
  }
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    const int n = c.num_outputs();
    if (x.shape().rank() == 0) return invalid_argument("Unpack: a scalar cannot be unpacked");
    ARGOSY_ASSIGN_OR_RETURN(const int axis, normalize_axis(axis_, x.shape().rank(), "Unpack"));
    if (x.shape()[axis] != n) {
      return invalid_argument("Input shape axis ", axis, " must equal ", n, ", got shape ", x.shape(),
                              ": Unpack: num is ", n, ", axis ", axis, " of ", x.shape(), " has ", x.shape()[axis]);
    }
    Ints sizes(x.shape().sizes().first(static_cast<std::size_t>(axis)));
    sizes.append(x.shape().sizes().subspan(static_cast<std::size_t>(axis) + 1));
    const Shape out(sizes.span());
    const Rows rows(out, axis);
    for (int i = 0; i < n; ++i) {
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(i, out));
      kCopy(*y, 0, x, i * rows.row, {{rows.outer, rows.row}, {rows.row, 1}, {n * rows.row, 1}});
    }
    return ok_status();
  }

 private:
  std::int64_t axis_;
};

}  // namespace

void add_joins(KernelRegistry& kernels) {
  kernels.add("Concat", "cpu", concat_v1<copy_region>);
  kernels.add("Concat", "cpu", concat_v1<copy_region_plainly>);
  kernels.add("ConcatV2", "cpu", concat_v2<copy_region>);
  kernels.add("ConcatV2", "cpu", concat_v2<copy_region_plainly>);
  kernels.add("ConcatOffset", "cpu", concat_offset);
  kernels.add("Split", "cpu", split<copy_region>);
  kernels.add("Split", "cpu", split<copy_region_plainly>);
  kernels.add("SplitV", "cpu", split_v<copy_region>);
  kernels.add("SplitV", "cpu", split_v<copy_region_plainly>);
  kernels.add("Pack", "cpu", Pack<copy_region>::make);
  kernels.add("Pack", "cpu", Pack<copy_region_plainly>::make);
  kernels.add("Unpack", "cpu", Unpack<copy_region>::make);
  kernels.add("Unpack", "cpu", Unpack<copy_region_plainly>::make);
}

}  // namespace argosy
