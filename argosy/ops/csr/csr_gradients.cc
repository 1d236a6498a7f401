#include "argosy/ops/csr/csr_gradients.h"

namespace argosy::csr {

namespace {

Value at_places(Value m, Value pattern) { return m.graph().add("_SparseMatrixAtPlaces", {m, pattern}); }

enum class Form { kPlain, kTransposed, kAdjoint };
Form form_of(GradContext& g, bool first) {
  if (g.attrs().get_bool(first ? "adjoint_a" : "adjoint_b")) return Form::kAdjoint;
  return g.attrs().get_bool(first ? "transpose_a" : "transpose_b") ? Form::kTransposed : Form::kPlain;
}

// A matrix and the attributes with which a product takes it as op(m)^H, where op is `form`.
struct Operand {
  Value m;
  bool transpose = false, adjoint = false;
};
Operand adjoint_of(Value m, Form form, DType dtype) {
  if (form == Form::kPlain) return {m, false, true};
  if (form == Form::kAdjoint || !is_complex(dtype)) return {m, false, false};
  return {m.graph().add("SparseMatrixTranspose", {m}, {{"type", dtype}, {"conjugate", true}}), true, false};
}

}  // namespace

std::vector<Value> from_sparse_gradient(GradContext& g) {
  const Value d = g.graph().add("_SparseMatrixAtIndices", {g.dy(), g.x(0)}, {{"type", g.x(1).dtype()}});
  return {Value(), d, Value()};
}

std::vector<Value> from_dense_gradient(GradContext& g) {
  return {g.graph().add("CSRSparseMatrixToDense", {g.dy()}, {{"type", g.x(0).dtype()}}), Value()};
}

std::vector<Value> to_dense_gradient(GradContext& g) {
  const Value indices = g.graph().add("CSRSparseMatrixToSparseTensor", {g.x()}, {{"type", g.y().dtype()}});
  return {g.graph().add("DenseToCSRSparseMatrix", {g.dy(), indices})};
}

std::vector<Value> to_sparse_gradient(GradContext& g) {
  return {g.graph().add("SparseTensorToCSRSparseMatrix", {g.y(0), g.dy(1), g.y(2)})};
}

// For C = op(A) op(B) and its gradient G: the gradient of op(A) is G op(B)^H, that of op(B) is op(A)^H G.
std::vector<Value> matmul_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const DType dtype = g.x(1).dtype();
  std::vector<Value> dxs(2);
  if (g.wants(0)) dxs[0] = graph.add("_SparseMatrixMatMulGrad", {g.x(0), g.x(1), g.dy()}, g.attrs());
  if (!g.wants(1)) return dxs;
  const Operand left = adjoint_of(g.x(0), form_of(g, true), dtype);
  const bool turned = g.attrs().get_bool("transpose_output"), conjugated = g.attrs().get_bool("conjugate_output");
  Value flow = g.dy();
  if (conjugated && !turned && is_complex(dtype)) flow = graph.add("Conj", {flow});
  const Form right = form_of(g, false);
  dxs[1] = graph.add("SparseMatrixMatMul", {left.m, flow},
                     {{"transpose_a", left.transpose},
                      {"adjoint_a", left.adjoint},
                      {"transpose_b", turned && !conjugated},
                      {"adjoint_b", turned && conjugated},
                      {"transpose_output", right != Form::kPlain},
                      {"conjugate_output", right == Form::kAdjoint}});
  return dxs;
}

std::vector<Value> sparse_matmul_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const DType dtype = g.attrs().get_type("type");
  const auto turned = [&](Value m, Form form) {
    if (form == Form::kPlain) return m;
    return graph.add("SparseMatrixTranspose", {m}, {{"type", dtype}, {"conjugate", form == Form::kAdjoint}});
  };
  const Form a = form_of(g, true), b = form_of(g, false);
  std::vector<Value> dxs(2);
  if (g.wants(0)) {
    const Operand right = adjoint_of(g.x(1), b, dtype);
    const Value d = graph.add("SparseMatrixSparseMatMul", {g.dy(), right.m},
                              {{"type", dtype}, {"transpose_b", right.transpose}, {"adjoint_b", right.adjoint}});
    dxs[0] = at_places(turned(d, a), g.x(0));
  }
  if (g.wants(1)) {
    const Operand left = adjoint_of(g.x(0), a, dtype);
    const Value d = graph.add("SparseMatrixSparseMatMul", {left.m, g.dy()},
                              {{"type", dtype}, {"transpose_a", left.transpose}, {"adjoint_a", left.adjoint}});
    dxs[1] = at_places(turned(d, b), g.x(1));
  }
  return dxs;
}

std::vector<Value> transpose_gradient(GradContext& g) {
  return {g.graph().add("SparseMatrixTranspose", {g.dy()}, g.attrs())};
}

// TensorFlow gives alpha and beta no gradient either.
std::vector<Value> add_gradient(GradContext& g) {
  std::vector<Value> dxs(4);
  for (int i = 0; i < 2; ++i) {
    if (g.wants(i))
      dxs[static_cast<std::size_t>(i)] = g.graph().add("SparseMatrixMul", {at_places(g.dy(), g.x(i)), g.x(i + 2)});
  }
  return dxs;
}

std::vector<Value> softmax_gradient(GradContext& g) {
  return {g.graph().add("SparseMatrixSoftmaxGrad", {g.y(), g.dy()}, g.attrs())};
}

}  // namespace argosy::csr
