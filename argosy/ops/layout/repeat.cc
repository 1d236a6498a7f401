// Tile, Reverse and Roll: copies of x, or x in another order.
#include "argosy/base/checked.h"
#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/layout/layout_registration.h"
#include "argosy/ops/layout/layout_sharding.h"

namespace argosy {

namespace {

Result<PartialShape> tiled_input(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape multiples, c.with_rank(1, 1));
  PartialShape x = c.input(0);
  if (!x.has_rank() && multiples[0] >= 0 && multiples[0] <= Shape::kMaxRank) {
    x = PartialShape::unknown_of_rank(static_cast<int>(multiples[0]));
  }
  if (x.has_rank() && multiples[0] >= 0 && multiples[0] != x.rank()) {
    return invalid_argument("Expected multiples argument to be a vector of length ", x.rank(), " but got length ",
                            multiples[0], ": ", c.op().name, ": ", multiples[0], " multiples for an input of shape ",
                            x);
  }
  return x;
}

Status tile_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, tiled_input(c));
  if (!x.has_rank()) return ok_status();
  std::vector<std::int64_t> sizes = x.sizes();
  for (int i = 0; i < x.rank(); ++i) {
    const auto times = c.int_at(1, i);
    if (times && *times < 0)
      return invalid_argument("Expected multiples[", i, "] >= 0, but got ", *times, ": Tile: multiples[", i, "] is ",
                              *times);
    if (!times || sizes[i] < 0) {
      sizes[i] = PartialShape::kUnknown;
      continue;
    }
    const auto size = checked_mul(sizes[i], *times);
    if (!size) return invalid_argument("Tile: axis ", i, " of size ", sizes[i], " times ", *times, " overflows");
    sizes[i] = *size;
  }
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

Status tile_grad_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, tiled_input(c));
  if (!x.has_rank()) return ok_status();
  std::vector<std::int64_t> sizes = x.sizes();
  for (int i = 0; i < x.rank(); ++i) {
    const auto times = c.int_at(1, i);
    if (times && (*times <= 0 || (sizes[i] >= 0 && sizes[i] % *times != 0))) {
      return invalid_argument("TileGrad: axis ", i, " of ", x, " is not ", *times, " tiles");
    }
    sizes[i] = times && sizes[i] >= 0 ? sizes[i] / *times : PartialShape::kUnknown;
  }
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

// y = tile(x, m)  =>  dx = dy seen as [m0, x0, m1, x1, …], summed over every m
std::vector<Value> tile_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const Value shape = graph.add("Shape", {g.x(0)}, {{"out_type", g.x(1).dtype()}});
  const Value both = graph.add("Pack", {g.x(1), shape}, {{"axis", 1}});
  const Value minus_one = constant(graph, Tensor::vector<std::int32_t>({-1}));
  const Value split_sizes = graph.add("Reshape", {both, minus_one});
  const Value axes = graph.add(
      "Range", {constant(graph, std::int32_t{0}), graph.add("Size", {split_sizes}), constant(graph, std::int32_t{2})});
  return {graph.add("Sum", {graph.add("Reshape", {g.dy(), split_sizes}), axes}), Value()};
}

// y = the sum of x's tiles  =>  dx = dy in every tile
std::vector<Value> tile_grad_gradient(GradContext& g) { return {g.graph().add("Tile", {g.dy(), g.x(1)}), Value()}; }

// Reversing is its own inverse.
std::vector<Value> reverse_gradient(GradContext& g) {
  return {g.graph().add(g.node().op->name, {g.dy(), g.x(1)}), Value()};
}

Status reverse_v2_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape axes, c.with_rank(1, 1));
  const PartialShape& x = c.input(0);
  if (x.has_rank()) {
    std::vector<bool> seen(static_cast<std::size_t>(x.rank()), false);
    for (int i = 0; i < axes[0]; ++i) {
      const auto given = c.int_at(1, i);
      if (!given) continue;
      ARGOSY_ASSIGN_OR_RETURN(const int axis, normalize_axis(*given, x.rank(), "ReverseV2"));
      if (seen[static_cast<std::size_t>(axis)]) return invalid_argument("ReverseV2: axis ", axis, " is there twice");
      seen[static_cast<std::size_t>(axis)] = true;
    }
  }
  c.set_output(0, x);
  return ok_status();
}

Status reverse_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape dims, c.with_rank(1, 1));
  const PartialShape& x = c.input(0);
  if (x.has_rank() && dims[0] >= 0 && dims[0] != x.rank()) {
    return invalid_argument("Reverse: dims has ", dims[0], " values for an input of shape ", x);
  }
  c.set_output(0, x);
  return ok_status();
}

Status reverse_sequence_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape lengths, c.with_rank(1, 1));
  const PartialShape& x = c.input(0);
  const std::int64_t seq = c.attrs().get_int("seq_dim");
  const std::int64_t batch = c.attrs().get_int("batch_dim");
  if (seq < 0 || batch < 0 || seq == batch || (x.has_rank() && (seq >= x.rank() || batch >= x.rank()))) {
    return invalid_argument("ReverseSequence: seq_dim ", seq, " and batch_dim ", batch,
                            " must be two axes of the input, whose shape is ", x);
  }
  if (x.has_rank() && x[static_cast<int>(batch)] >= 0 && lengths[0] >= 0 && lengths[0] != x[static_cast<int>(batch)]) {
    return invalid_argument("ReverseSequence: ", lengths[0], " seq_lengths for a batch of ",
                            x[static_cast<int>(batch)]);
  }
  c.set_output(0, x);
  return ok_status();
}

std::vector<Value> reverse_sequence_gradient(GradContext& g) {
  const Value dx =
      g.graph().add("ReverseSequence", {g.dy(), g.x(1)},
                    {{"seq_dim", g.attrs().get_int("seq_dim")}, {"batch_dim", g.attrs().get_int("batch_dim")}});
  return {dx, Value()};
}

Status roll_shape(ShapeContext& c) {
  const PartialShape& x = c.input(0);
  if (x.rank() == 0) return invalid_argument("Roll: a scalar cannot be rolled");
  for (const int i : {1, 2}) {
    if (c.input(i).rank() > 1) {
      return invalid_argument("Roll: shift and axis must be scalars or vectors, not of shape ", c.input(i));
    }
  }
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape both, c.input(1).merge(c.input(2)));
  c.set_output(0, x);
  return ok_status();
}

// Rolled back: dx = roll(dy, -shift).
std::vector<Value> roll_gradient(GradContext& g) {
  Graph& graph = g.graph();
  return {graph.add("Roll", {g.dy(), graph.add("Neg", {g.x(1)}), g.x(2)}), Value(), Value()};
}

}  // namespace

void define_repeats(OpRegistry& ops) {
  ops.add({.name = "Tile",
           .doc = "multiples[axis] copies of x side by side.",
           .inputs = {"input: T", "multiples: Tmultiples"},
           .outputs = {"output: T"},
           .attrs = {"T: type", "Tmultiples: index = int32"},
           .shape = tile_shape,
           .gradient = tile_gradient,
           .identity_when = IdentityWhen::kSameShape,
           .linear = Linear::kJointly,
           .sharding_rule = tile_sharding,
           .host_inputs = {1}});
  ops.add({.name = "TileGrad",
           .doc = "The sum of the tiles that x consists of.",
           .inputs = {"input: T", "multiples: int32"},
           .outputs = {"output: T"},
           .attrs = {"T: type"},
           .shape = tile_grad_shape,
           .gradient = tile_grad_gradient,
           .sharding = "whole: a part of every copy",
           .host_inputs = {1}});
  const std::string types =
      "T: {uint8, int8, uint16, int16, int32, uint32, int64, uint64, bool, bfloat16, half, float, double, complex64, "
      "complex128, string}";
  ops.add({.name = "ReverseV2",
           .doc = "x with the order along some axes reversed.",
           .inputs = {"tensor: T", "axis: Tidx"},
           .outputs = {"output: T"},
           .attrs = {"Tidx: index = int32", types},
           .shape = reverse_v2_shape,
           .gradient = reverse_gradient,
           .linear = Linear::kJointly,
           .sharding_rule = reverse_sharding,
           .host_inputs = {1}});
  ops.add({.name = "Reverse",
           .doc = "x reversed along the axes for which dims is true.",
           .inputs = {"tensor: T", "dims: bool"},
           .outputs = {"output: T"},
           .attrs = {types},
           .shape = reverse_shape,
           .gradient = reverse_gradient,
           .sharding = "whole: its axes are no integers that are known",
           .host_inputs = {1}});
  ops.add({.name = "ReverseSequence",
           .doc = "The first seq_lengths[b] elements of batch row b reversed along seq_dim.",
           .inputs = {"input: T", "seq_lengths: Tlen"},
           .outputs = {"output: T"},
           .attrs = {"seq_dim: int", "batch_dim: int = 0", "T: type", "Tlen: index = int64"},
           .shape = reverse_sequence_shape,
           .gradient = reverse_sequence_gradient,
           .sharding_rule = reverse_sequence_sharding});
  ops.add({.name = "Roll",
           .doc = "x shifted along axes; what falls off one end comes back at the other.",
           .inputs = {"input: T", "shift: Tshift", "axis: Taxis"},
           .outputs = {"output: T"},
           .attrs = {"T: type", "Tshift: index", "Taxis: index"},
           .shape = roll_shape,
           .gradient = roll_gradient,
           .sharding_rule = roll_sharding,
           .host_inputs = {1, 2}});
}

Value tile(Value x, const std::vector<std::int64_t>& multiples) {
  return x.valid() ? x.graph().add("Tile", {x, constant(x.graph(), Tensor::vector(multiples))}) : x;
}
Value reverse(Value x, const std::vector<int>& axes) {
  return x.valid() ? x.graph().add("ReverseV2", {x, constant(x.graph(), Tensor::vector(axes))}) : x;
}
Value reverse_sequence(Value x, Value lengths, int seq_axis, int batch_axis) {
  return x.valid() ? x.graph().add("ReverseSequence", {x, lengths}, {{"seq_dim", seq_axis}, {"batch_dim", batch_axis}})
                   : x;
}
Value roll(Value x, const std::vector<std::int64_t>& shifts, const std::vector<int>& axes) {
  if (!x.valid()) return x;
  return x.graph().add("Roll",
                       {x, constant(x.graph(), Tensor::vector(shifts)), constant(x.graph(), Tensor::vector(axes))});
}

}  // namespace argosy
