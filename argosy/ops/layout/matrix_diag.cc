#include "argosy/base/checked.h"
#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/layout/layout_registration.h"

namespace argosy {

namespace {

Status matrix_diag_shape(ShapeContext& c) {
  const PartialShape& x = c.input(0);
  if (!x.has_rank()) return ok_status();
  if (x.rank() < 1) return invalid_argument("MatrixDiag: the diagonal must have rank 1 or more");
  std::vector<std::int64_t> sizes = x.sizes();
  sizes.push_back(sizes.back());
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

// The shape of the diagonals of a batch of matrices.
Result<PartialShape> diagonals_of(const PartialShape& x, std::string_view op) {
  if (!x.has_rank()) return x;
  const int rank = x.rank();
  if (rank < 2) return invalid_argument(op, ": the input must have rank 2 or more, not shape ", x);
  std::vector<std::int64_t> sizes = x.sizes();
  const std::int64_t rows = sizes[static_cast<std::size_t>(rank) - 2];
  const std::int64_t columns = sizes.back();
  sizes.pop_back();
  sizes.back() = rows < 0 || columns < 0 ? PartialShape::kUnknown : std::min(rows, columns);
  return PartialShape(std::move(sizes));
}

Status matrix_diag_part_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(PartialShape diagonals, diagonals_of(c.input(0), "MatrixDiagPart"));
  c.set_output(0, std::move(diagonals));
  return ok_status();
}

Status matrix_set_diag_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape diagonals, diagonals_of(c.input(0), "MatrixSetDiag"));
  if (!diagonals.compatible(c.input(1))) {
    return invalid_argument("MatrixSetDiag: diagonals of shape ", c.input(1), " for an input of shape ", c.input(0));
  }
  c.set_output(0, c.input(0));
  return ok_status();
}

Status matrix_band_part_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape lower, c.with_rank(1, 0));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape upper, c.with_rank(2, 0));
  const PartialShape& x = c.input(0);
  if (x.has_rank() && x.rank() < 2) {
    return invalid_argument("MatrixBandPart: the input must have rank 2 or more, not shape ", x);
  }
  for (int i = 1; i <= 2 && x.has_rank(); ++i) {
    const auto width = c.input_as_int(i);
    const std::int64_t size = x[x.rank() - 3 + i];
    if (width && size >= 0 && *width > size) {
      return invalid_argument("MatrixBandPart: ", i == 1 ? "num_lower" : "num_upper", " is ", *width,
                              ", the input has shape ", x);
    }
  }
  c.set_output(0, x);
  return ok_status();
}

Status diag_shape(ShapeContext& c) {
  const PartialShape& x = c.input(0);
  if (!x.has_rank()) return ok_status();
  if (x.rank() < 1) return invalid_argument("Diag: the diagonal must have rank 1 or more");
  std::vector<std::int64_t> sizes = x.sizes();
  sizes.insert(sizes.end(), x.sizes().begin(), x.sizes().end());
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

Status diag_part_shape(ShapeContext& c) {
  const PartialShape& x = c.input(0);
  if (!x.has_rank()) return ok_status();
  const auto half = x.sizes().begin() + x.rank() / 2;
  const PartialShape front(std::vector(x.sizes().begin(), half));
  if (x.rank() == 0 || x.rank() % 2 != 0) {
    return invalid_argument("DiagPart: the rank must be even and above zero, not that of ", x);
  }
  auto both = front.merge(PartialShape(std::vector(half, x.sizes().end())));
  if (!both.ok()) return invalid_argument("DiagPart: the two halves of ", x, " differ");
  c.set_output(0, *std::move(both));
  return ok_status();
}

std::vector<Value> matrix_diag_gradient(GradContext& g) { return {matrix_diag_part(g.dy())}; }
std::vector<Value> matrix_diag_part_gradient(GradContext& g) { return {matrix_set_diag(zeros_like(g.x()), g.dy())}; }
std::vector<Value> matrix_set_diag_gradient(GradContext& g) {
  return {matrix_set_diag(g.dy(), zeros_like(g.x(1))), matrix_diag_part(g.dy())};
}
std::vector<Value> matrix_band_part_gradient(GradContext& g) {
  return {g.graph().add("MatrixBandPart", {g.dy(), g.x(1), g.x(2)}), Value(), Value()};
}
std::vector<Value> diag_gradient(GradContext& g) { return {g.graph().add("DiagPart", {g.dy()})}; }
std::vector<Value> diag_part_gradient(GradContext& g) { return {g.graph().add("Diag", {g.dy()})}; }

}  // namespace

void define_diagonals(OpRegistry& ops) {
  ops.add({.name = "MatrixDiag",
           .doc = "A batch of square matrices, zero but for the given diagonals.",
           .inputs = {"diagonal: T"},
           .outputs = {"output: T"},
           .attrs = {"T: type"},
           .shape = matrix_diag_shape,
           .gradient = matrix_diag_gradient,
           .sharding = "i.. k -> i.. 1 1; whole k; linear 0"});
  ops.add({.name = "MatrixDiagPart",
           .doc = "The diagonals of a batch of matrices.",
           .inputs = {"input: T"},
           .outputs = {"diagonal: T"},
           .attrs = {"T: type"},
           .shape = matrix_diag_part_shape,
           .gradient = matrix_diag_part_gradient,
           .sharding = "i.. r c -> i.. 1; whole r c; linear 0"});
  ops.add({.name = "MatrixSetDiag",
           .doc = "A batch of matrices with their diagonals replaced.",
           .inputs = {"input: T", "diagonal: T"},
           .outputs = {"output: T"},
           .attrs = {"T: type"},
           .shape = matrix_set_diag_shape,
           .gradient = matrix_set_diag_gradient,
           .in_place = {{0, 0}},
           .sharding = "i.. r c, i.. 1 -> i.. r c; whole r c; linear 0 1"});
  ops.add({.name = "MatrixBandPart",
           .doc = "A batch of matrices with everything outside a band around the diagonal set to zero.",
           .inputs = {"input: T", "num_lower: Tindex", "num_upper: Tindex"},
           .outputs = {"band: T"},
           .attrs = {"T: type", "Tindex: index = int64"},
           .shape = matrix_band_part_shape,
           .gradient = matrix_band_part_gradient,
           .in_place = {{0, 0}},
           .sharding = "i.. r c, ., . -> i.. r c; whole r c; linear 0",
           .host_inputs = {1, 2}});
  const std::string types = "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}";
  ops.add({.name = "Diag",
           .doc = "A tensor of twice the rank, zero but for the given diagonal.",
           .inputs = {"diagonal: T"},
           .outputs = {"output: T"},
           .attrs = {types},
           .shape = diag_shape,
           .gradient = diag_gradient,
           .sharding = "whole: its output has every dimension twice"});
  ops.add({.name = "DiagPart",
           .doc = "The diagonal of a tensor whose shape is twice the same.",
           .inputs = {"input: T"},
           .outputs = {"diagonal: T"},
           .attrs = {types},
           .shape = diag_part_shape,
           .gradient = diag_part_gradient,
           .sharding = "whole: its input has every dimension twice"});
}

Value matrix_diag(Value diagonal) {
  return diagonal.valid() ? diagonal.graph().add("MatrixDiag", {diagonal}) : diagonal;
}
Value matrix_diag_part(Value x) { return x.valid() ? x.graph().add("MatrixDiagPart", {x}) : x; }
Value matrix_set_diag(Value x, Value diagonal) { return x.valid() ? x.graph().add("MatrixSetDiag", {x, diagonal}) : x; }
Value matrix_band_part(Value x, std::int64_t num_lower, std::int64_t num_upper) {
  if (!x.valid()) return x;
  return x.graph().add("MatrixBandPart", {x, constant(x.graph(), num_lower), constant(x.graph(), num_upper)});
}

}  // namespace argosy
