// Kernels: reductions of the entries, and softmax over them.
#include <cmath>
#include <map>

#include "argosy/base/threads/interrupt.h"
#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/elementwise/functions/functors.h"
#include "argosy/ops/sparse/coo.h"
#include "argosy/ops/sparse/sparse_registration.h"

namespace argosy::sparse {

namespace {

// Which axes stay, and the shape that is left.
struct Reduction {
  std::vector<int> kept;
  Shape shape;
};
Result<Reduction> read_reduction(const Shape& x, const Tensor& axes, bool keep_dims) {
  if (axes.shape().rank() > 1)
    return invalid_argument("reduction_axes must be a scalar or a vector, not of shape ", axes.shape());
  std::vector<bool> gone(static_cast<std::size_t>(x.rank()), false);  // no axes: nothing is reduced
  for (const std::int32_t axis : axes.values<std::int32_t>()) {
    ARGOSY_ASSIGN_OR_RETURN(const int at, normalize_axis(axis, x.rank(), "SparseReduce"));
    gone[static_cast<std::size_t>(at)] = true;
  }
  Reduction r;
  std::vector<std::int64_t> sizes;
  for (int k = 0; k < x.rank(); ++k) {
    const bool stays = !gone[static_cast<std::size_t>(k)];
    if (stays) r.kept.push_back(k);
    if (stays || keep_dims) sizes.push_back(stays ? x[k] : 1);
  }
  r.shape = Shape(sizes);
  return r;
}

// Entries by what is left of their index, in its order.
using Groups = std::map<std::vector<std::int64_t>, std::vector<std::int64_t>>;
Groups group(const Coo& x, const std::vector<int>& kept) {
  Groups groups;
  Poll poll(1024);
  for (std::int64_t i = 0; i < x.count; ++i) {
    poll();
    std::vector<std::int64_t> key;
    for (const int k : kept) key.push_back(x.at(i)[k]);
    groups[std::move(key)].push_back(i);
  }
  return groups;
}

template <bool largest, typename T>
T combine(const Coo& x, const std::vector<std::int64_t>& entries) {
  const T* const values = x.values.data<T>();
  if constexpr (largest) {
    T best = values[entries[0]];
    for (const std::int64_t i : entries) best = best < values[i] ? values[i] : best;
    return best;
  } else {
    using S = scalar::compute_t<T>;
    S sum = S(0);
    for (const std::int64_t i : entries) sum += static_cast<S>(values[i]);
    return static_cast<T>(sum);
  }
}

template <bool largest>
using Types = std::conditional_t<largest, RealTypes, NumberTypes>;

template <bool largest>
Status reduce(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const Coo x, read_coo(c.input(0), c.input(1), c.input(2), "SparseReduce"));
  const bool keep = attrs.get_bool("keep_dims");
  ARGOSY_ASSIGN_OR_RETURN(const Reduction r, read_reduction(x.shape, c.input(3), keep));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, r.shape));
  std::memset(y->raw(), 0, y->bytes());
  std::vector<std::int64_t> sizes;
  for (const int k : r.kept) sizes.push_back(x.shape[k]);
  const Ints strides = row_major(sizes);
  return dispatch<Types<largest>>(y->dtype(), "SparseReduce", [&]<typename T>() {
    for (const auto& [key, entries] : group(x, r.kept)) {
      y->data<T>()[place(key, strides)] = combine<largest, T>(x, entries);
    }
    return ok_status();
  });
}

template <bool largest>
Status reduce_sparse(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const Coo x, read_coo(c.input(0), c.input(1), c.input(2), "SparseReduce"));
  const bool keep = attrs.get_bool("keep_dims");
  ARGOSY_ASSIGN_OR_RETURN(const Reduction r, read_reduction(x.shape, c.input(3), keep));
  const Groups groups = group(x, r.kept);
  const auto count = static_cast<std::int64_t>(groups.size());
  const int rank = r.shape.rank();
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const indices, c.output(0, {count, rank}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const values, c.output(1, {count}));
  std::fill_n(indices->data<std::int64_t>(), indices->elements(), 0);
  ARGOSY_RETURN_IF_ERROR(dispatch<Types<largest>>(values->dtype(), "SparseReduce", [&]<typename T>() {
    std::int64_t i = 0;
    for (const auto& [key, entries] : groups) {
      for (std::size_t k = 0; k < key.size(); ++k) {
        indices->data<std::int64_t>()[i * rank + (keep ? r.kept[k] : static_cast<int>(k))] = key[k];
      }
      values->data<T>()[i++] = combine<largest, T>(x, entries);
    }
    return ok_status();
  }));
  return put_shape(c, 2, r.shape);
}

Status softmax(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Coo x, read_coo(c.input(0), c.input(1), c.input(2), "SparseSoftmax"));
  if (x.rank < 2) return invalid_argument("Input should have rank >= 2, not ", x.rank);
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {x.count}));
  std::vector<int> kept(static_cast<std::size_t>(x.rank - 1));
  std::iota(kept.begin(), kept.end(), 0);
  return dispatch<FloatTypes>(y->dtype(), "SparseSoftmax", [&]<typename T>() {
    using S = scalar::compute_t<T>;
    for (const auto& [key, entries] : group(x, kept)) {
      const S most = static_cast<S>(combine<true, T>(x, entries));
      S sum = S(0);
      for (const std::int64_t i : entries) sum += std::exp(static_cast<S>(x.values.data<T>()[i]) - most);
      for (const std::int64_t i : entries) {
        y->data<T>()[i] = static_cast<T>(std::exp(static_cast<S>(x.values.data<T>()[i]) - most) / sum);
      }
    }
    return ok_status();
  });
}

}  // namespace

void add_kernels_cpu_reduce(KernelRegistry& kernels) {
  kernels.add("SparseReduceSum", "cpu", AttrKernel<reduce<false>>::make);
  kernels.add("SparseReduceMax", "cpu", AttrKernel<reduce<true>>::make);
  kernels.add("SparseReduceSumSparse", "cpu", AttrKernel<reduce_sparse<false>>::make);
  kernels.add("SparseReduceMaxSparse", "cpu", AttrKernel<reduce_sparse<true>>::make);
  kernels.add("SparseSoftmax", "cpu", softmax);
}

}  // namespace argosy::sparse
