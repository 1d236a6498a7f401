#include "argosy/ops/linalg/linalg_gradients.h"

#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/select/select.h"

// Formulas: Giles, "An extended collection of matrix derivative results for forward and reverse mode algorithmic
// differentiation" (2008); for QR, Walter and Lehmann (2010); for complex matrices, transposes become adjoints.

namespace argosy::linalg {

namespace {

using Gradients = std::vector<Value>;

// a · b, either of them as its adjoint.
Value product(Value a, Value b, bool adjoint_a = false, bool adjoint_b = false) {
  return a.graph().add("BatchMatMulV2", {a, b}, {{"adj_x", adjoint_a}, {"adj_y", adjoint_b}});
}
// The last two axes exchanged, and conjugated.
Value adjoint(Value a) {
  Graph& graph = a.graph();
  const Value rank = graph.add("Rank", {a});
  const Value front = graph.add("Range", {constant(graph, 0), rank - 2, constant(graph, 1)});
  const Value back = graph.add("Pack", {rank - 1, rank - 2}, {{"axis", 0}});
  return conj(graph.add("Transpose", {a, graph.add("ConcatV2", {front, back, constant(graph, 0)})}));
}
Value band(Value a, std::int64_t lower, std::int64_t upper) {
  Graph& graph = a.graph();
  return graph.add("MatrixBandPart", {a, constant(graph, lower), constant(graph, upper)});
}
Value diagonal(Value a) { return a.graph().add("MatrixDiagPart", {a}); }
Value as_diagonal(Value d) { return d.graph().add("MatrixDiag", {d}); }
Value with_diagonal(Value a, Value d) { return a.graph().add("MatrixSetDiag", {a, d}); }
Value expand(Value x, int axis) { return x.graph().add("ExpandDims", {x, constant(x.graph(), axis)}); }
// One number a matrix, over the whole matrix.
Value over_matrix(Value x) { return expand(expand(x, -1), -1); }
Value half_diagonal(Value a) { return with_diagonal(a, diagonal(a) * 0.5); }

}  // namespace

Gradients cholesky_gradient(GradContext& g) {
  const Value l = g.y();
  const Value middle = band(half_diagonal(product(l, g.dy(), true)), -1, 0);
  const Value left = matrix_triangular_solve(l, middle, true, true);  // l⁻ᴴ middle
  const Value both = adjoint(matrix_triangular_solve(l, adjoint(left), true, true));
  return {(both + adjoint(both)) * 0.5};
}

Gradients inverse_gradient(GradContext& g) {
  const Value y = g.y();
  if (g.attrs().get_bool("adjoint")) return {-product(y, product(g.dy(), y, true))};
  return {-product(y, product(g.dy(), y, false, true), true, false)};
}

Gradients determinant_gradient(GradContext& g) {
  return {over_matrix(g.dy() * conj(g.y())) * matrix_inverse(g.x(), true)};
}
// The sign (of real matrices) does not move.
Gradients log_determinant_gradient(GradContext& g) { return {over_matrix(g.dy(1)) * matrix_inverse(g.x(), true)}; }

Gradients solve_gradient(GradContext& g) {
  const bool adjoint_a = g.attrs().get_bool("adjoint");
  const Value a = g.x(0), x = g.y();
  const Value db = matrix_solve(a, g.dy(), !adjoint_a);
  return {adjoint_a ? -product(x, db, false, true) : -product(db, x, false, true), db};
}

Gradients triangular_solve_gradient(GradContext& g) {
  const bool adjoint_a = g.attrs().get_bool("adjoint"), lower = g.attrs().get_bool("lower");
  const Value a = g.x(0), x = g.y();
  const Value db = matrix_triangular_solve(a, g.dy(), lower, !adjoint_a);
  const Value da = adjoint_a ? -product(x, db, false, true) : -product(db, x, false, true);
  return {sum_to_shape_of(a, lower ? band(da, -1, 0) : band(da, 0, -1)), sum_to_shape_of(g.x(1), db)};
}

// x = (aᴴa + λ)⁻¹ aᴴ b, or aᴴ (a aᴴ + λ)⁻¹ b, which are the same; written with the smaller of both matrices.
Gradients least_squares_gradient(GradContext& g) {
  const Value a = g.x(0), b = g.x(1), dy = g.dy(), x = g.y();
  const PartialShape& shape = a.shape();
  if (!shape.has_rank() || shape[shape.rank() - 1] < 0 || shape[shape.rank() - 2] < 0) {
    g.graph().fail(invalid_argument("MatrixSolveLs: a gradient needs to know the matrix' shape, not ", shape));
    return {Value(), Value(), Value()};
  }
  const bool tall = shape[shape.rank() - 2] >= shape[shape.rank() - 1];
  const Value gram = tall ? product(a, a, true) : product(a, a, false, true);
  const Value identity = as_diagonal(ones_like(diagonal(gram)));
  const Value matrix = gram + identity * cast(g.x(2), a.dtype());
  if (tall) {
    const Value z = matrix_solve(matrix, dy);
    const Value xz = product(x, z, false, true);
    return {product(b, z, false, true) - product(a, xz + adjoint(xz)), product(a, z), Value()};
  }
  const Value db = matrix_solve(matrix, product(a, dy));
  const Value w = matrix_solve(matrix, b);  // x = aᴴ w
  const Value rest = dy - product(a, db, true);
  return {product(w, rest, false, true) - product(db, x, false, true), db, Value()};
}

// a = q r: da = (dq + q Φ(m)ᴴ …) r⁻ᴴ, written with m = r drᴴ - dqᴴ q.
Gradients qr_gradient(GradContext& g) {
  const PartialShape& shape = g.x().shape();
  const bool known = shape.has_rank() && shape[shape.rank() - 1] >= 0 && shape[shape.rank() - 2] >= 0;
  const bool tall = known && shape[shape.rank() - 2] >= shape[shape.rank() - 1];
  const bool square = known && shape[shape.rank() - 2] == shape[shape.rank() - 1];
  if (!tall || (g.attrs().get_bool("full_matrices") && !square)) {
    g.graph().fail(
        unimplemented("Qr: a gradient is there for matrices with at least as many rows as columns, factored "
                      "with full_matrices = false, not for shape ",
                      shape));
    return {Value()};
  }
  const Value q = g.y(0), r = g.y(1), dq = g.dy(0), dr = g.dy(1);
  const Value m = product(r, dr, false, true) - product(dq, q, true);
  // The lower triangle mirrored upwards.
  const Value low = band(m, -1, 0);
  const Value mirrored = low + adjoint(with_diagonal(low, zeros_like(diagonal(low))));
  const Value sum = dq + product(q, mirrored);
  return {adjoint(matrix_triangular_solve(r, adjoint(sum), false, false))};
}

namespace {

// 1 / (x_j - x_i) off the diagonal, 0 on it.
Value reciprocal_gaps(Value x) {
  const Value gaps = expand(x, -2) - expand(x, -1);
  const Value safe = with_diagonal(gaps, ones_like(x));
  return with_diagonal(reciprocal(safe), zeros_like(x));
}

}  // namespace

Gradients svd_gradient(GradContext& g) {
  const PartialShape& shape = g.x().shape();
  if (!g.attrs().get_bool("compute_uv")) {
    const SvdFactors factors = svd(g.x());
    const Value ds = cast(g.dy(0), g.x().dtype());
    return {product(product(factors.u, as_diagonal(ds)), factors.v, false, true)};
  }
  const bool square =
      shape.has_rank() && shape[shape.rank() - 1] >= 0 && shape[shape.rank() - 1] == shape[shape.rank() - 2];
  if (g.attrs().get_bool("full_matrices") && !square) {
    g.graph().fail(
        unimplemented("Svd: a gradient is there for full_matrices = false, or square matrices, not for shape ", shape));
    return {Value()};
  }
  const Value s = g.y(0), u = g.y(1), v = g.y(2);
  const Value du = g.dy(1), dv = g.dy(2);
  const Value f = reciprocal_gaps(argosy::square(s));
  const Value diagonal_s = as_diagonal(s);
  const auto turned = [&](Value x, Value dx) {
    const Value xdx = product(x, dx, true);
    return f * (xdx - adjoint(xdx));
  };
  const Value core = product(turned(u, du), diagonal_s) + product(diagonal_s, turned(v, dv)) + as_diagonal(g.dy(0));
  const Value inverse = as_diagonal(reciprocal(s));
  // Parts of du and dv outside the spaces that u and v span.
  const Value du_outside = product(du - product(u, product(u, du, true)), inverse);
  const Value dv_outside = product(dv - product(v, product(v, dv, true)), inverse);
  return {product(product(u, core) + du_outside, v, false, true) + product(u, dv_outside, false, true)};
}

// Of a matrix of which only the lower triangle is read.
Gradients self_adjoint_eig_gradient(GradContext& g) {
  Value core, v;
  if (g.attrs().get_bool("compute_v")) {
    v = g.y(1);
    core = as_diagonal(g.dy(0)) + reciprocal_gaps(g.y(0)) * product(v, g.dy(1), true);
  } else {
    v = self_adjoint_eig(g.x()).v;
    core = as_diagonal(g.dy(0));
  }
  const Value da = product(product(v, core), v, false, true);
  return {half_diagonal(band(da + adjoint(da), -1, 0))};
}

namespace {

// x moved by one along axis -2 (rows of a matrix), zeros coming in: up, row i holds row i + 1.
Value shifted(Value x, bool up) {
  Graph& graph = x.graph();
  const Value zero = constant(graph, 0);
  const Value rank = graph.add("ExpandDims", {graph.add("Rank", {x}) - 2, zero});
  const Value none = graph.add("Fill", {rank, zero});
  const auto pair = [&](std::int32_t first) {
    return graph.add("ConcatV2", {none, constant(graph, Tensor::vector<std::int32_t>({first, 0})), zero});
  };
  const Value paddings = graph.add("Pack", {pair(up ? 0 : 1), pair(up ? 1 : 0)}, {{"axis", 1}});
  const Value padded = graph.add("Pad", {x, paddings});
  return graph.add("Slice", {padded, pair(up ? 1 : 0), graph.add("Shape", {x})});
}
Value sum_columns(Value x) { return x.graph().add("Sum", {x, constant(x.graph(), -1)}); }
// The diagonals of dx · xᴴ: above, main, below, each [..., n].
std::vector<Value> three_diagonals(Value dx, Value x) {
  const Value c = conj(x);
  return {sum_columns(dx * shifted(c, true)), sum_columns(dx * c), sum_columns(dx * shifted(c, false))};
}

}  // namespace

Gradients tridiagonal_solve_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const Value diagonals = conj(g.x(0));
  // The adjoint's: what was below stands above, one place to the left.
  const auto row = [&](int i) { return graph.add("GatherV2", {diagonals, constant(graph, i), constant(graph, -2)}); };
  const auto moved = [&](int i, bool left) {
    const Value column = expand(row(i), -1);
    return graph.add("Squeeze", {shifted(column, left)}, {{"squeeze_dims", std::vector<std::int64_t>{-1}}});
  };
  const Value turned = graph.add("Pack", {moved(2, true), row(1), moved(0, false)}, {{"axis", -2}});
  const Value db = graph.add("TridiagonalSolve", {turned, g.dy()},
                             {{"partial_pivoting", g.attrs().get_bool("partial_pivoting")},
                              {"perturb_singular", g.attrs().get_bool("perturb_singular")}});
  const std::vector<Value> parts = three_diagonals(-db, g.y());
  return {graph.add("Pack", parts, {{"axis", -2}}), db};
}

Gradients tridiagonal_product_gradient(GradContext& g) {
  const Value x = g.x(3), dy = g.dy();
  const std::vector<Value> parts = three_diagonals(dy, x);
  // The adjoint matrix times dy.
  const auto conjugated = [&](int i) { return adjoint(g.x(i)); };  // as columns
  const Value dx = shifted(conjugated(0) * dy, false) + conjugated(1) * dy + shifted(conjugated(2) * dy, true);
  return {expand(parts[0], -2), expand(parts[1], -2), expand(parts[2], -2), dx};
}

}  // namespace argosy::linalg
