// Kernels: sparse tensors as strings, variants, or kept under a number.
#include <map>

#include "argosy/base/mutex.h"
#include "argosy/formats/proto/serialized_tensor.h"
#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/sparse/coo.h"
#include "argosy/ops/sparse/sparse_registration.h"
#include "argosy/ops/sparse/tensor_variant.h"

namespace argosy::sparse {

namespace {

// One sparse tensor of its own.
struct Owned {
  Tensor indices, values, shape;
};

Result<Tensor> memory(DType dtype, const Shape& shape) { return Tensor::allocate(dtype, shape, host_allocator()); }

Result<Owned> own(const Coo& x, std::span<const std::int64_t> entries, bool drop_first) {
  const int skip = drop_first ? 1 : 0, rank = x.rank - skip;
  const auto count = static_cast<std::int64_t>(entries.size());
  Owned o;
  ARGOSY_ASSIGN_OR_RETURN(o.indices, memory(DType::kInt64, {count, rank}));
  ARGOSY_ASSIGN_OR_RETURN(o.values, memory(x.values.dtype(), {count}));
  ARGOSY_ASSIGN_OR_RETURN(o.shape, memory(DType::kInt64, {rank}));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t from = entries[static_cast<std::size_t>(i)];
    std::copy_n(x.at(from) + skip, rank, o.indices.data<std::int64_t>() + i * rank);
    copy_element(o.values, i, x.values, from);
  }
  for (int k = 0; k < rank; ++k) o.shape.data<std::int64_t>()[k] = x.shape[k + skip];
  return o;
}

Result<Owned> whole(const Coo& x) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(x.count));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  return own(x, all, false);
}

// The rows of a sparse tensor of rank 2 or more, without their first index.
Result<std::vector<Owned>> rows_of(const Coo& x) {
  if (x.rank < 2) return invalid_argument("Rank of input SparseTensor should be > 1, but saw rank: ", x.rank);
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  if (x.shape[0] > kMost) return resource_exhausted("a sparse tensor of ", x.shape[0], " rows, each kept apart");
  std::vector<std::vector<std::int64_t>> entries(static_cast<std::size_t>(x.shape[0]));
  for (const std::int64_t i : sorted(x)) entries[static_cast<std::size_t>(x.at(i)[0])].push_back(i);
  std::vector<Owned> rows;
  for (const auto& row : entries) {
    ARGOSY_ASSIGN_OR_RETURN(Owned o, own(x, row, true));
    rows.push_back(std::move(o));
  }
  return rows;
}

Result<Coo> read(const KernelContext& c, std::string_view op) {
  return read_coo(c.input(0), c.input(1), c.input(2), op);
}

Status put_parts(const Owned& o, const Tensor& to, std::int64_t at) {
  const Tensor* const parts[] = {&o.indices, &o.values, &o.shape};
  for (int k = 0; k < 3; ++k) {
    if (to.dtype() == DType::kVariant) {
      ARGOSY_RETURN_IF_ERROR(check_nesting(nesting_around(*parts[k])));
      to.data<Variant>()[at + k] = make_variant(*parts[k]);
    } else {
      ARGOSY_ASSIGN_OR_RETURN(to.data<std::string>()[at + k], tf::serialize_tensor(*parts[k]));
    }
  }
  return ok_status();
}

Status serialize(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Coo x, read(c, "SerializeSparse"));
  ARGOSY_ASSIGN_OR_RETURN(const Owned o, whole(x));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {3}));
  return put_parts(o, *y, 0);
}

Status serialize_many(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const Coo x, read(c, "SerializeManySparse"));
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<Owned> rows, rows_of(x));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {static_cast<std::int64_t>(rows.size()), 3}));
  for (std::size_t i = 0; i < rows.size(); ++i)
    ARGOSY_RETURN_IF_ERROR(put_parts(rows[i], *y, static_cast<std::int64_t>(3 * i)));
  return ok_status();
}

// Part `at` of a serialized sparse tensor, which must have this dtype and rank.
Result<Tensor> part(const Tensor& from, std::int64_t at, DType dtype, int rank) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 34;
  Tensor t;
  if (from.dtype() == DType::kVariant) {
    const auto held = std::dynamic_pointer_cast<const TensorVariant>(from.data<Variant>()[at].value());
    if (held == nullptr)
      return invalid_argument("Could not get a tensor from serialized_sparse[", at / 3, ", ", at % 3, "]");
    t = held->tensor();
  } else {
    ARGOSY_ASSIGN_OR_RETURN(t, tf::parse_tensor(from.data<std::string>()[at], kLimit));
  }
  if (t.dtype() != dtype)
    return invalid_argument("Requested SparseTensor of type ", dtype_name(dtype), " but part ", at % 3, " has ",
                            dtype_name(t.dtype()));
  if (t.shape().rank() != rank)
    return invalid_argument("Expected serialized_sparse[", at / 3, ", ", at % 3, "] to represent a tensor of rank ",
                            rank, ", not of shape ", t.shape());
  return t;
}

// Several sparse tensors as one: their places in a grid of shape `grid` come before their own indices; sizes are the
// largest.
Status put_joined(KernelContext& c, const std::vector<Owned>& all, const Shape& grid) {
  if (all.empty()) return invalid_argument("there is no sparse tensor to take");
  std::vector<Coo> parts;
  std::int64_t count = 0;
  for (const Owned& o : all) {
    ARGOSY_ASSIGN_OR_RETURN(Coo x, read_coo(o.indices, o.values, o.shape, "DeserializeSparse"));
    if (!parts.empty() && x.rank != parts[0].rank) {
      return invalid_argument("Inconsistent shape across SparseTensors: rank ", x.rank, " after rank ", parts[0].rank);
    }
    if (x.values.dtype() != c.output_dtype(1)) {
      return invalid_argument("Requested SparseTensor of type ", dtype_name(c.output_dtype(1)), ", not ",
                              dtype_name(x.values.dtype()));
    }
    count += x.count;
    parts.push_back(std::move(x));
  }
  const int rank = grid.rank() + parts[0].rank;
  std::vector<std::int64_t> sizes(grid.sizes().begin(), grid.sizes().end());
  for (int k = 0; k < parts[0].rank; ++k) {
    std::int64_t most = 0;
    for (const Coo& x : parts) most = std::max(most, x.shape[k]);
    sizes.push_back(most);
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const indices, c.output(0, {count, rank}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const values, c.output(1, {count}));
  const Ints strides = row_major(grid.sizes());
  auto* to = indices->data<std::int64_t>();
  std::int64_t next = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    for (std::int64_t i = 0; i < parts[p].count; ++i) {
      std::int64_t at = static_cast<std::int64_t>(p);
      for (int k = 0; k < grid.rank(); ++k) {
        *to++ = at / strides[k];
        at %= strides[k];
      }
      to = std::copy_n(parts[p].at(i), parts[p].rank, to);
      copy_element(*values, next++, parts[p].values, i);
    }
  }
  return put_ints(c, 2, sizes, {rank});
}

Status deserialize(KernelContext& c) {
  const Tensor& x = c.input(0);
  const int rank = x.shape().rank();
  if (rank < 1 || x.shape().back() != 3)
    return invalid_argument("Serialized sparse should have 3 as the last dimension, not shape ", x.shape());
  std::vector<Owned> all;
  for (std::int64_t i = 0; i < x.elements(); i += 3) {
    Owned o;
    ARGOSY_ASSIGN_OR_RETURN(o.indices, part(x, i, DType::kInt64, 2));
    ARGOSY_ASSIGN_OR_RETURN(o.values, part(x, i + 1, c.output_dtype(1), 1));
    ARGOSY_ASSIGN_OR_RETURN(o.shape, part(x, i + 2, DType::kInt64, 1));
    all.push_back(std::move(o));
  }
  return put_joined(c, all, x.shape().removed(rank - 1));
}

Status deserialize_many(KernelContext& c) {
  if (c.input(0).shape().rank() != 2)
    return invalid_argument("serialized_sparse should be a matrix, not of shape ", c.input(0).shape());
  return deserialize(c);
}

// --- kept under a number ---------------------------------------------------------------------------------------------

class SparseMap final : public Resource {
 public:
  std::string describe() const override { return "map of sparse tensors"; }
  std::int64_t add(Owned o) ARGOSY_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    kept_[next_] = std::move(o);
    return next_++;
  }
  Result<Owned> take(std::int64_t handle) ARGOSY_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    const auto found = kept_.find(handle);
    if (found == kept_.end()) return invalid_argument("Unable to find SparseTensor: ", handle, " in map");
    Owned o = std::move(found->second);
    kept_.erase(found);
    return o;
  }

 private:
  Mutex mutex_;
  std::map<std::int64_t, Owned> kept_ ARGOSY_GUARDED_BY(mutex_);
  std::int64_t next_ ARGOSY_GUARDED_BY(mutex_) = 0;
};

// The map that the attributes name; without a name, the node's own.
Result<std::shared_ptr<SparseMap>> map_of(KernelContext& c, const AttrMap& attrs) {
  const std::string& name = attrs.get_string("shared_name");
  const std::string& container = attrs.get_string("container");
  return c.resources().find_or_make<SparseMap>(container.empty() ? "localhost" : container,
                                               name.empty() ? std::string(c.node()) : name,
                                               [] { return std::make_shared<SparseMap>(); });
}

Status add_to_map(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const Coo x, read(c, "AddSparseToTensorsMap"));
  ARGOSY_ASSIGN_OR_RETURN(Owned o, whole(x));
  ARGOSY_ASSIGN_OR_RETURN(const auto map, map_of(c, attrs));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  *y->data<std::int64_t>() = map->add(std::move(o));
  return ok_status();
}

Status add_many_to_map(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const Coo x, read(c, "AddManySparseToTensorsMap"));
  ARGOSY_ASSIGN_OR_RETURN(std::vector<Owned> rows, rows_of(x));
  ARGOSY_ASSIGN_OR_RETURN(const auto map, map_of(c, attrs));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {static_cast<std::int64_t>(rows.size())}));
  for (std::size_t i = 0; i < rows.size(); ++i) y->data<std::int64_t>()[i] = map->add(std::move(rows[i]));
  return ok_status();
}

Status take_many(KernelContext& c, const AttrMap& attrs) {
  const Tensor& handles = c.input(0);
  if (handles.shape().rank() != 1)
    return invalid_argument("sparse_handles should be a vector, not of shape ", handles.shape());
  ARGOSY_ASSIGN_OR_RETURN(const auto map, map_of(c, attrs));
  std::vector<Owned> all;
  for (const std::int64_t handle : handles.values<std::int64_t>()) {
    ARGOSY_ASSIGN_OR_RETURN(Owned o, map->take(handle));
    all.push_back(std::move(o));
  }
  return put_joined(c, all, handles.shape());
}

}  // namespace

void add_kernels_cpu_serial(KernelRegistry& kernels) {
  kernels.add("SerializeSparse", "cpu", serialize);
  kernels.add("SerializeManySparse", "cpu", serialize_many);
  kernels.add("DeserializeSparse", "cpu", deserialize);
  kernels.add("DeserializeManySparse", "cpu", deserialize_many);
  kernels.add("AddSparseToTensorsMap", "cpu", AttrKernel<add_to_map>::make);
  kernels.add("AddManySparseToTensorsMap", "cpu", AttrKernel<add_many_to_map>::make);
  kernels.add("TakeManySparseFromTensorsMap", "cpu", AttrKernel<take_many>::make);
}

}  // namespace argosy::sparse
