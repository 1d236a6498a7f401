#include "argosy/ops/diagonal/diagonal.h"

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/diagonal/band.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

using diagonal_parts::Band;

// Reads input i, one or two numbers of diagonals, into `band`. Returns false if they are not known.
Result<bool> read_band(const ShapeContext& c, int i, Band& band) {
  const PartialShape& shape = c.input(i);
  if (shape.has_rank() &&
      (shape.rank() > 1 || (shape.rank() == 1 && shape[0] >= 0 && (shape[0] < 1 || shape[0] > 2)))) {
    return invalid_argument(c.op().name, ": k must be one number or two, not of shape ", shape);
  }
  const PartialInts* const known = c.ints(i);
  if (known == nullptr || known->empty() || !known->front() || !known->back()) return false;
  band.lower = *known->front();
  band.upper = *known->back();
  ARGOSY_RETURN_IF_ERROR(diagonal_parts::check_band(c.op().name, band.lower, band.upper));
  return true;
}

Status expect_scalar(const ShapeContext& c, int i) { return c.with_rank(i, 0).status(); }

// Returns the shape of the tensor of diagonals, for a known band, as far as it can be inferred.
Result<PartialShape> diagonals_shape(const ShapeContext& c, const PartialShape& matrix, Band band) {
  std::vector<std::int64_t> sizes(matrix.sizes().begin(), matrix.sizes().end() - 2);
  band.rows = matrix[matrix.rank() - 2];
  band.columns = matrix[matrix.rank() - 1];
  const bool known = band.rows >= 0 && band.columns >= 0;
  if (known) ARGOSY_RETURN_IF_ERROR(diagonal_parts::check_inside(c.op().name, band));
  if (band.count() > 1) sizes.push_back(band.count());
  sizes.push_back(known ? band.longest() : PartialShape::kUnknown);
  return PartialShape(std::move(sizes));
}

Status expect_matrix(const ShapeContext& c) {
  if (!c.input(0).has_rank() || c.input(0).rank() >= 2) return ok_status();
  return invalid_argument(c.op().name, ": the input must have rank 2 or more, not shape ", c.input(0));
}

Status part_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(expect_scalar(c, 2));
  ARGOSY_RETURN_IF_ERROR(expect_matrix(c));
  Band band;
  ARGOSY_ASSIGN_OR_RETURN(const bool known, read_band(c, 1, band));
  if (!known || !c.input(0).has_rank()) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(PartialShape shape, diagonals_shape(c, c.input(0), band));
  c.set_output(0, std::move(shape));
  return ok_status();
}

Status set_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(expect_matrix(c));
  Band band;
  ARGOSY_ASSIGN_OR_RETURN(const bool known, read_band(c, 2, band));
  c.set_output(0, c.input(0));
  if (!known || !c.input(0).has_rank()) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape shape, diagonals_shape(c, c.input(0), band));
  if (shape.compatible(c.input(1))) return ok_status();
  return invalid_argument(c.op().name, ": diagonals of shape ", c.input(1), " for matrices of shape ", c.input(0),
                          ", which want ", shape);
}

Status diag_shape(ShapeContext& c) {
  for (int i = 2; i < 5; ++i) ARGOSY_RETURN_IF_ERROR(expect_scalar(c, i));
  const PartialShape& x = c.input(0);
  if (x.has_rank() && x.rank() < 1) return invalid_argument(c.op().name, ": the diagonals must have rank 1 or more");
  Band band;
  ARGOSY_ASSIGN_OR_RETURN(const bool known, read_band(c, 1, band));
  if (!known || !x.has_rank()) return ok_status();
  const bool several = band.count() > 1;
  if (several && (x.rank() < 2 || (x[x.rank() - 2] >= 0 && x[x.rank() - 2] != band.count()))) {
    return invalid_argument(c.op().name, ": ", band.count(), " diagonals do not have the shape ", x);
  }
  std::vector<std::int64_t> sizes(x.sizes().begin(), x.sizes().end() - (several ? 2 : 1));
  const auto rows = c.input_as_int(2), columns = c.input_as_int(3);
  const std::int64_t longest = x[x.rank() - 1];
  if (rows && columns && longest >= 0) {
    band.rows = *rows;
    band.columns = *columns;
    ARGOSY_RETURN_IF_ERROR(diagonal_parts::fit_matrix(c.op().name, longest, band));
    sizes.insert(sizes.end(), {band.rows, band.columns});
  } else {
    sizes.insert(sizes.end(), 2, PartialShape::kUnknown);
  }
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

// Ops of the same version and alignment.
std::string name(const GradContext& g, const char* op) {
  return std::string(op) + g.node().op->name.substr(g.node().op->name.size() - 2);
}
AttrMap alignment(const GradContext& g) {
  const auto* align = g.attrs().find_as<std::string>("align");
  return align != nullptr ? AttrMap{{"align", *align}} : AttrMap{};
}
Value zero(GradContext& g) { return constant_like(g.dy(), 0); }

std::vector<Value> diag_gradient(GradContext& g) {
  return {g.graph().add(name(g, "MatrixDiagPart"), {g.dy(), g.x(1), zeros_like(g.x(4))}, alignment(g)), Value(),
          Value(), Value(), Value()};
}
std::vector<Value> part_gradient(GradContext& g) {
  return {g.graph().add(name(g, "MatrixSetDiag"), {zeros_like(g.x(0)), g.dy(), g.x(1)}, alignment(g)), Value(),
          Value()};
}
std::vector<Value> set_gradient(GradContext& g) {
  return {g.graph().add(name(g, "MatrixSetDiag"), {g.dy(), zeros_like(g.x(1)), g.x(2)}, alignment(g)),
          g.graph().add(name(g, "MatrixDiagPart"), {g.dy(), g.x(2), zero(g)}, alignment(g)), Value()};
}

}  // namespace

static void add_diagonal_ops(OpRegistry& ops) {
  for (const bool third : {false, true}) {
    std::vector<std::string> attrs = {"T: type"};
    if (third) {
      attrs.push_back("align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'");
    }
    const std::string version = third ? "V3" : "V2";
    ops.add({.name = "MatrixDiag" + version,
             .doc = "A batch of matrices made of some of their diagonals.",
             .inputs = {"diagonal: T", "k: int32", "num_rows: int32", "num_cols: int32", "padding_value: T"},
             .outputs = {"output: T"},
             .attrs = attrs,
             .shape = diag_shape,
             .gradient = diag_gradient,
             .host_inputs = {1, 2, 3, 4}});
    ops.add({.name = "MatrixDiagPart" + version,
             .doc = "Some diagonals of a batch of matrices.",
             .inputs = {"input: T", "k: int32", "padding_value: T"},
             .outputs = {"diagonal: T"},
             .attrs = attrs,
             .shape = part_shape,
             .gradient = part_gradient,
             .host_inputs = {1, 2}});
    ops.add({.name = "MatrixSetDiag" + version,
             .doc = "A batch of matrices with some diagonals replaced.",
             .inputs = {"input: T", "diagonal: T", "k: int32"},
             .outputs = {"output: T"},
             .attrs = attrs,
             .shape = set_shape,
             .gradient = set_gradient,
             .in_place = {{0, 0}},
             .host_inputs = {2}});
  }
}

void define_diagonal(OpRegistry& ops) {
  with_sharding(ops, add_diagonal_ops,
                {{"MatrixDiagV2", "i.. e.., ., ., ., . -> i.. 1 1; whole e.."},
                 {"MatrixDiagPartV2", "i.. r c, ., . -> i.. e..; whole r c e.."},
                 {"MatrixSetDiagV2", "i.. r c, i.. e.., . -> i.. r c; whole r c e..; linear 0 1"},
                 {"MatrixDiagV3", "i.. e.., ., ., ., . -> i.. 1 1; whole e.."},
                 {"MatrixDiagPartV3", "i.. r c, ., . -> i.. e..; whole r c e.."},
                 {"MatrixSetDiagV3", "i.. r c, i.. e.., . -> i.. r c; whole r c e..; linear 0 1"}});
}

namespace {
Value numbers(Graph& graph, const Diagonals& which) {
  if (which.lower == which.upper) return constant(graph, which.lower);
  return constant(graph, Tensor::vector<std::int32_t>({which.lower, which.upper}));
}
}  // namespace

Value matrix_diag(Value diagonals, const Diagonals& which) {
  if (!diagonals.valid()) return diagonals;
  Graph& graph = diagonals.graph();
  return graph.add(
      "MatrixDiagV3",
      {diagonals, numbers(graph, which), constant(graph, -1), constant(graph, -1), constant_like(diagonals, 0)},
      {{"align", which.align}});
}
Value matrix_diag_part(Value matrix, const Diagonals& which) {
  if (!matrix.valid()) return matrix;
  Graph& graph = matrix.graph();
  return graph.add("MatrixDiagPartV3", {matrix, numbers(graph, which), constant_like(matrix, 0)},
                   {{"align", which.align}});
}
Value matrix_set_diag(Value matrix, Value diagonals, const Diagonals& which) {
  if (!matrix.valid()) return matrix;
  return matrix.graph().add("MatrixSetDiagV3", {matrix, diagonals, numbers(matrix.graph(), which)},
                            {{"align", which.align}});
}

}  // namespace argosy
