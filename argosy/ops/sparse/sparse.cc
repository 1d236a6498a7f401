#include "argosy/ops/sparse/sparse.h"

#include "argosy/ops/sharding_parts.h"
#include "argosy/ops/sparse/sparse_registration.h"

namespace argosy {

static void add_sparse_ops(OpRegistry& ops) {
  sparse::define_form(ops);
  sparse::define_math(ops);
  sparse::define_segment(ops);
  sparse::define_serial(ops);
  sparse::define_cross(ops);
}

void define_sparse(OpRegistry& ops) {
  with_sharding(ops, add_sparse_ops,
                {{"SparseSegmentSum", "v d.., n, n -> 1 d..; whole v n; linear 0"},
                 {"SparseSegmentMean", "v d.., n, n -> 1 d..; whole v n; linear 0"},
                 {"SparseSegmentSqrtN", "v d.., n, n -> 1 d..; whole v n; linear 0"},
                 {"SparseSegmentSumWithNumSegments", "v d.., n, n, . -> 1 d..; rows v; sum n; linear 0"},
                 {"SparseSegmentMeanWithNumSegments", "v d.., n, n, . -> 1 d..; whole v n; linear 0"},
                 {"SparseSegmentSqrtNWithNumSegments", "v d.., n, n, . -> 1 d..; whole v n; linear 0"},
                 {"SparseSegmentSumGrad", "s d.., n, n, . -> 1 d..; rows s; sum n; linear 0"},
                 {"SparseSegmentMeanGrad", "s d.., n, n, . -> 1 d..; whole s n; linear 0"},
                 {"SparseSegmentSqrtNGrad", "s d.., n, n, . -> 1 d..; whole s n; linear 0"}},
                "whole: entries of a sparse tensor are numbered over all rows");
}

namespace {
Value add(const char* op, std::vector<Value> inputs, AttrMap attrs = {}) {
  if (!inputs[0].valid()) return {};
  Graph& graph = inputs[0].graph();
  return graph.add(op, std::move(inputs), std::move(attrs));
}
}  // namespace

Value sparse_to_dense(const SparseValue& x, Value default_value) {
  return add("SparseToDense", {x.indices, x.shape, x.values, default_value});
}
SparseValue sparse_reorder(const SparseValue& x) {
  const Value y = add("SparseReorder", {x.indices, x.values, x.shape});
  return {y, y.output(1), x.shape};
}
Value sparse_dense_matmul(const SparseValue& a, Value b, bool adjoint_a, bool adjoint_b) {
  return add("SparseTensorDenseMatMul", {a.indices, a.values, a.shape, b},
             {{"adjoint_a", adjoint_a}, {"adjoint_b", adjoint_b}});
}
Value sparse_dense_add(const SparseValue& a, Value b) {
  return add("SparseTensorDenseAdd", {a.indices, a.values, a.shape, b});
}
Value sparse_softmax(const SparseValue& x) { return add("SparseSoftmax", {x.indices, x.values, x.shape}); }

Value sparse_segment_sum(Value data, Value indices, Value ids) { return add("SparseSegmentSum", {data, indices, ids}); }
Value sparse_segment_mean(Value data, Value indices, Value ids) {
  return add("SparseSegmentMean", {data, indices, ids});
}
Value sparse_segment_sqrt_n(Value data, Value indices, Value ids) {
  return add("SparseSegmentSqrtN", {data, indices, ids});
}

}  // namespace argosy
