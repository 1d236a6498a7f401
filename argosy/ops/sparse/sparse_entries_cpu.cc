// Kernels: which entries there are, and where.

#include "argosy/op/kernel/workspace.h"
#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/sparse/coo.h"
#include "argosy/ops/sparse/sparse_registration.h"

namespace argosy::sparse {

namespace {

Status reorder(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Coo x, read_coo(c.input(0), c.input(1), c.input(2), "SparseReorder"));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const indices, c.output(0, {x.count, x.rank}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const values, c.output(1, {x.count}));
  auto* to = indices->data<std::int64_t>();
  std::int64_t i = 0;
  for (const std::int64_t from : sorted(x)) {
    to = std::copy_n(x.at(from), x.rank, to);
    copy_element(*values, i++, x.values, from);
  }
  return ok_status();
}

Status reshape(KernelContext& c) {
  const Tensor& indices = c.input(0);
  if (indices.shape().rank() != 2)
    return invalid_argument("Input indices should be a matrix but received shape ", indices.shape());
  if (c.input(1).shape() != Shape{indices.shape()[1]}) {
    return invalid_argument("Input shape should have ", indices.shape()[1], " elements but received shape ",
                            c.input(1).shape());
  }
  if (c.input(2).shape().rank() != 1)
    return invalid_argument("Target shape should be a vector but received shape ", c.input(2).shape());
  ARGOSY_ASSIGN_OR_RETURN(const Shape from, to_shape(c.input(1), "SparseReshape: input_shape"));
  ARGOSY_ASSIGN_OR_RETURN(const Ints wanted, read_ints(c.input(2), "SparseReshape: new_shape"));
  std::vector<std::int64_t> sizes(wanted.begin(), wanted.end());
  std::int64_t known = 1;
  int open = -1;
  for (int i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == -1) {
      if (open >= 0) return invalid_argument("only one output dimension may be -1, not both ", open, " and ", i);
      open = i;
      continue;
    }
    if (wanted[i] < 0) return invalid_argument("size ", i, " must be non-negative, not ", wanted[i]);
    if (__builtin_mul_overflow(known, wanted[i], &known)) return invalid_argument("new_shape is too large");
  }
  if (open >= 0) {
    if (known == 0)
      return invalid_argument("reshape cannot infer the missing input size for an empty tensor unless all ",
                              "specified input sizes are non-zero");
    sizes[static_cast<std::size_t>(open)] = from.elements() / known;
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape to, Shape::make(sizes));
  if (to.elements() != from.elements()) {
    return invalid_argument("Input to reshape is a tensor with ", from.elements(),
                            " dense values, but the requested shape has ", to.elements(), ". input_shape=", from,
                            " output_shape=", to);
  }
  const std::int64_t count = indices.shape()[0];
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {count, to.rank()}));
  const Ints strides = row_major(from.sizes()), to_strides = row_major(to.sizes());
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t* const at = indices.data<std::int64_t>() + i * from.rank();
    std::int64_t flat = 0;
    for (int k = 0; k < from.rank(); ++k) {
      if (at[k] < 0 || at[k] >= from[k])
        return invalid_argument("indices[", i, "] is out of bounds: ", at[k], " of ", from);
      flat += at[k] * strides[k];
    }
    for (int k = 0; k < to.rank(); ++k) {
      y->data<std::int64_t>()[i * to.rank() + k] = flat / to_strides[k];
      flat %= to_strides[k];
    }
  }
  return put_shape(c, 1, to);
}

// Entries gathered from several tensors, to be sorted and written.
struct Entries {
  struct Entry {
    Ints index;
    const Tensor* values;
    std::int64_t at;
  };
  std::vector<Entry> all;

  void sort() {
    std::stable_sort(all.begin(), all.end(),
                     [](const Entry& a, const Entry& b) { return before(a.index.span(), b.index.span()); });
  }
  Status put(KernelContext& c, int indices_output, int values_output, int rank) const {
    const auto count = static_cast<std::int64_t>(all.size());
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const indices, c.output(indices_output, {count, rank}));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const values, c.output(values_output, {count}));
    auto* to = indices->data<std::int64_t>();
    for (std::int64_t i = 0; i < count; ++i) {
      const Entry& entry = all[static_cast<std::size_t>(i)];
      to = std::copy(entry.index.begin(), entry.index.end(), to);
      copy_element(*values, i, *entry.values, entry.at);
    }
    return ok_status();
  }
};

Status concat(KernelContext& c, const AttrMap& attrs) {
  const int n = c.num_inputs() / 3;
  Entries entries;
  std::vector<std::int64_t> sizes;
  std::vector<Coo> parts;
  int axis = 0;
  for (int i = 0; i < n; ++i) {
    ARGOSY_ASSIGN_OR_RETURN(Coo x, read_coo(c.input(i), c.input(n + i), c.input(2 * n + i), "SparseConcat"));
    if (i == 0) {
      ARGOSY_ASSIGN_OR_RETURN(axis, normalize_axis(attrs.get_int("concat_dim"), x.rank, "SparseConcat"));
      sizes.assign(x.shape.sizes().begin(), x.shape.sizes().end());
    } else {
      if (x.rank != static_cast<int>(sizes.size()))
        return invalid_argument("Ranks of all input tensors must match: expected ", sizes.size(), " but got ", x.rank);
      for (int k = 0; k < x.rank; ++k) {
        if (k != axis && x.shape[k] != sizes[static_cast<std::size_t>(k)]) {
          return invalid_argument("Input shapes must match: expected ", sizes[static_cast<std::size_t>(k)],
                                  " for dimension ", k, " but got ", x.shape[k], " at position ", i);
        }
      }
    }
    const std::int64_t shift = i == 0 ? 0 : sizes[static_cast<std::size_t>(axis)];
    if (i > 0 && __builtin_add_overflow(shift, x.shape[axis], &sizes[static_cast<std::size_t>(axis)])) {
      return invalid_argument("SparseConcat: the sizes along axis ", axis, " add up to too much");
    }
    for (std::int64_t k = 0; k < x.count; ++k) {
      Ints index(x.index(k));
      index[axis] += shift;
      entries.all.push_back({std::move(index), &c.input(n + i), k});
    }
  }
  ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
  entries.sort();
  ARGOSY_RETURN_IF_ERROR(entries.put(c, 0, 1, shape.rank()));
  return put_shape(c, 2, shape);
}

Status split(KernelContext& c) {
  if (c.input(0).shape().rank() != 0)
    return invalid_argument("split_dim must be a scalar, not of shape ", c.input(0).shape());
  ARGOSY_ASSIGN_OR_RETURN(const Coo x, read_coo(c.input(1), c.input(2), c.input(3), "SparseSplit"));
  ARGOSY_ASSIGN_OR_RETURN(const int axis, normalize_axis(*c.input(0).data<std::int64_t>(), x.rank, "SparseSplit"));
  const int n = c.num_outputs() / 3;
  const std::int64_t size = x.shape[axis];
  if (n > size)
    return invalid_argument("Input num_split should be between 1 and the splitting dimension size (", size, "), got ",
                            n);
  const std::int64_t each = size / n, larger = size % n;  // the first so many are one larger
  std::vector<Entries> parts(static_cast<std::size_t>(n));
  const auto start = [&](std::int64_t part) { return part * each + std::min(part, larger); };
  const std::vector<std::int64_t> order = sorted(x);
  for (const std::int64_t i : order) {
    const std::int64_t at = x.at(i)[axis];
    const std::int64_t part = at < (each + 1) * larger ? at / (each + 1) : larger + (at - (each + 1) * larger) / each;
    Ints index(x.index(i));
    index[axis] -= start(part);
    parts[static_cast<std::size_t>(part)].all.push_back({std::move(index), &c.input(2), i});
  }
  for (int p = 0; p < n; ++p) {
    ARGOSY_RETURN_IF_ERROR(parts[static_cast<std::size_t>(p)].put(c, p, n + p, x.rank));
    ARGOSY_RETURN_IF_ERROR(put_shape(c, 2 * n + p, x.shape.with(axis, start(p + 1) - start(p))));
  }
  return ok_status();
}

Status slice(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Coo x, read_coo(c.input(0), c.input(1), c.input(2), "SparseSlice"));
  if (c.input(3).shape() != Shape{x.rank} || c.input(4).shape() != Shape{x.rank}) {
    return invalid_argument("Expected start and size to be vectors of ", x.rank, ", not of shapes ", c.input(3).shape(),
                            " and ", c.input(4).shape());
  }
  const std::int64_t* const start = c.input(3).data<std::int64_t>();
  const std::int64_t* const size = c.input(4).data<std::int64_t>();
  std::vector<std::int64_t> sizes;
  for (int k = 0; k < x.rank; ++k) {
    if (start[k] < 0 || size[k] < 0)
      return invalid_argument("start and size must be non-negative: ", start[k], ", ", size[k]);
    sizes.push_back(start[k] < x.shape[k] ? std::min(size[k], x.shape[k] - start[k]) : 0);
  }
  Entries entries;
  for (std::int64_t i = 0; i < x.count; ++i) {
    Ints index(x.index(i));
    bool inside = true;
    for (int k = 0; k < x.rank; ++k) {
      inside = inside && index[k] >= start[k] && index[k] - start[k] < sizes[static_cast<std::size_t>(k)];
      index[k] -= start[k];
    }
    if (inside) entries.all.push_back({std::move(index), &c.input(1), i});
  }
  ARGOSY_RETURN_IF_ERROR(entries.put(c, 0, 1, x.rank));
  return put_ints(c, 2, sizes, {x.rank});
}

// The gradient of an entry is that of its place in the slice; 0 for those outside. Both are in the same order.
Status slice_grad(KernelContext& c) {
  const Tensor& dy = c.input(0);
  const Tensor& indices = c.input(1);
  const Tensor& start = c.input(2);
  const Tensor& kept = c.input(3);
  if (indices.shape().rank() != 2 || kept.shape().rank() != 2 || indices.shape()[1] != kept.shape()[1] ||
      start.shape() != Shape{indices.shape()[1]} || dy.shape() != Shape{kept.shape()[0]}) {
    return invalid_argument("SparseSliceGrad: shapes ", dy.shape(), ", ", indices.shape(), ", ", start.shape(), " and ",
                            kept.shape(), " do not go together");
  }
  const std::int64_t count = indices.shape()[0], rank = indices.shape()[1];
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, {count}));
  std::memset(dx->raw(), 0, dx->bytes());
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < count && next < kept.shape()[0]; ++i) {
    bool same = true;
    for (std::int64_t k = 0; k < rank; ++k) {
      same = same && indices.data<std::int64_t>()[i * rank + k] ==
                         kept.data<std::int64_t>()[next * rank + k] + start.data<std::int64_t>()[k];
    }
    if (same) copy_element(*dx, i, dy, next++);
  }
  if (next == kept.shape()[0]) return ok_status();
  return internal_error("Elements of backprop_val_grad aren't all propagated. Num elements: ", kept.shape()[0],
                        ", used: ", next);
}

Status fill_rows(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Coo x, read_coo(c.input(0), c.input(1), c.input(2), "SparseFillEmptyRows"));
  if (c.input(3).shape().rank() != 0)
    return invalid_argument("default_value must be a scalar, not of shape ", c.input(3).shape());
  if (x.rank == 0) return invalid_argument("Dense shape cannot be empty");
  const std::int64_t rows = x.shape[0];
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const empty, c.output(2, {rows}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const went, c.output(3, {x.count}));
  std::fill_n(empty->data<bool>(), rows, true);
  for (std::int64_t i = 0; i < x.count; ++i) empty->data<bool>()[x.at(i)[0]] = false;
  const std::int64_t added = std::count(empty->data<bool>(), empty->data<bool>() + rows, true);
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const indices, c.output(0, {x.count + added, x.rank}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const values, c.output(1, {x.count + added}));
  // Where the next entry of each row goes.
  ARGOSY_ASSIGN_OR_RETURN(Buffer memory, c.scratch(static_cast<std::size_t>(rows + 1) * sizeof(std::int64_t)));
  auto* const next = reinterpret_cast<std::int64_t*>(memory.data());
  std::fill_n(next, rows + 1, 0);
  for (std::int64_t i = 0; i < x.count; ++i) ++next[x.at(i)[0] + 1];
  for (std::int64_t r = 0; r < rows; ++r) next[r + 1] += next[r] + (empty->data<bool>()[r] ? 1 : 0);
  for (std::int64_t i = 0; i < x.count; ++i) {
    const std::int64_t to = next[x.at(i)[0]]++;
    std::copy_n(x.at(i), x.rank, indices->data<std::int64_t>() + to * x.rank);
    copy_element(*values, to, x.values, i);
    went->data<std::int64_t>()[i] = to;
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    if (!empty->data<bool>()[r]) continue;
    std::int64_t* const at = indices->data<std::int64_t>() + next[r] * x.rank;
    std::fill_n(at, x.rank, 0);
    at[0] = r;
    copy_element(*values, next[r], c.input(3), 0);
  }
  return ok_status();
}

Status fill_rows_grad(KernelContext& c) {
  const Tensor& map = c.input(0);
  const Tensor& dy = c.input(1);
  if (map.shape().rank() != 1 || dy.shape().rank() != 1) {
    return invalid_argument("reverse_index_map and grad_values must be vectors, not of shapes ", map.shape(), " and ",
                            dy.shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const dx, c.output(0, map.shape()));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const rest, c.output(1, {}));
  std::vector<bool> taken(static_cast<std::size_t>(dy.elements()), false);
  for (std::int64_t i = 0; i < map.elements(); ++i) {
    const std::int64_t from = map.data<std::int64_t>()[i];
    if (from < 0 || from >= dy.elements())
      return invalid_argument("Elements in reverse index must be in [0, ", dy.elements(), ") but got ", from);
    taken[static_cast<std::size_t>(from)] = true;
    copy_element(*dx, i, dy, from);
  }
  return dispatch<NumberTypes>(dy.dtype(), "SparseFillEmptyRowsGrad", [&]<typename T>() {
    T sum = T(0);
    for (std::int64_t i = 0; i < dy.elements(); ++i) {
      if (!taken[static_cast<std::size_t>(i)]) sum = T(sum + dy.data<T>()[i]);
    }
    *rest->data<T>() = sum;
    return ok_status();
  });
}

}  // namespace

void add_kernels_cpu_form(KernelRegistry& kernels) {
  kernels.add("SparseReorder", "cpu", reorder);
  kernels.add("SparseReshape", "cpu", reshape);
  kernels.add("SparseConcat", "cpu", AttrKernel<concat>::make);
  kernels.add("SparseSplit", "cpu", split);
  kernels.add("SparseSlice", "cpu", slice);
  kernels.add("SparseSliceGrad", "cpu", slice_grad);
  kernels.add("SparseFillEmptyRows", "cpu", with_workspace<fill_rows, known_when_run>);
  kernels.add("SparseFillEmptyRowsGrad", "cpu", fill_rows_grad);
}

}  // namespace argosy::sparse
