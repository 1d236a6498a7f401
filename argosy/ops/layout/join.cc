// Concat, Pack and their inverses Split, Unpack.
#include "argosy/base/checked.h"
#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/layout/layout_registration.h"
#include "argosy/ops/layout/layout_sharding.h"
#include "argosy/ops/layout/shared_rows.h"
#include "argosy/ops/layout/split_axis.h"

namespace argosy {

namespace {

// Concat has its axis first, ConcatV2 last.
bool axis_first(std::string_view op) { return op != "ConcatV2"; }

Status concat_shape(ShapeContext& c) {
  const int n = c.num_inputs() - 1;
  const int axis_input = axis_first(c.op().name) ? 0 : n;
  const int first = axis_first(c.op().name) ? 1 : 0;
  const PartialShape& axis_shape = c.input(axis_input);
  if (axis_shape.is_full() && axis_shape.elements() != 1) {
    return invalid_argument("axis tensor should be a scalar integer, but got shape ", axis_shape, ": ", c.op().name,
                            ": the axis must be a scalar");
  }
  int rank = -1;
  for (int i = first; i < first + n; ++i) {
    const PartialShape& x = c.input(i);
    if (!x.has_rank()) continue;
    if (rank >= 0 && x.rank() != rank) {
      return invalid_argument("ConcatOp : Ranks of all input tensors should match: shape[0] = ", c.input(first),
                              " vs. shape[", i - first, "] = ", x, ": ", c.op().name, ": inputs of ranks ", rank,
                              " and ", x.rank(), " (", x, ")");
    }
    rank = x.rank();
  }
  if (rank < 0) return ok_status();
  if (rank == 0) return invalid_argument("ConcatOp : Can't concatenate scalars (use tf.stack instead)");
  const auto given = c.input_as_int(axis_input);
  if (!given) {
    c.set_output(0, PartialShape::unknown_of_rank(rank));
    return ok_status();
  }
  if (*given < -rank || *given >= rank) {
    return invalid_argument("ConcatOp : Expected concatenating dimensions in the range [", -rank, ", ", rank,
                            "), but got ", *given)
        .with_id("ARG-SHAPE-003");
  }
  const auto axis = static_cast<int>(*given < 0 ? *given + rank : *given);
  PartialShape out = PartialShape::unknown_of_rank(rank);
  std::int64_t total = 0;
  for (int i = first; i < first + n; ++i) {
    std::vector<std::int64_t> x =
        c.input(i).has_rank() ? c.input(i).sizes() : PartialShape::unknown_of_rank(rank).sizes();
    for (int k = 0; k < rank; ++k) {
      if (k == axis || x[k] < 0 || out[k] < 0 || x[k] == out[k]) continue;
      return invalid_argument("ConcatOp : Dimension ", k, " in both shapes must be equal: shape[0] = ", c.input(first),
                              " vs. shape[", i - first, "] = ", c.input(i),
                              ": ConcatOp : Dimensions of inputs should match: shape[0] = ", c.input(first),
                              " vs. shape[", i - first, "] = ", c.input(i), ": along axis ", axis);
    }
    total = total < 0 || x[axis] < 0 ? PartialShape::kUnknown : total + x[axis];
    x[axis] = PartialShape::kUnknown;
    ARGOSY_ASSIGN_OR_RETURN(out, out.merge(PartialShape(std::move(x))));
  }
  std::vector<std::int64_t> sizes = out.sizes();
  sizes[axis] = total;
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

// Vectors of integers end to end.
std::optional<PartialInts> joined_ints(const ShapeContext& c, int first, int n, int rank) {
  PartialInts y;
  for (int i = first; i < first + n; ++i) {
    const PartialShape& x = c.input(i);
    if (x.rank() != rank || x.elements() < 0 || x.elements() > 1024) return std::nullopt;
    for (int k = 0; k < x.elements(); ++k) y.push_back(c.int_at(i, k));
  }
  return y;
}

std::optional<PartialInts> concat_ints(const ShapeContext& c, int) {
  return joined_ints(c, axis_first(c.op().name) ? 1 : 0, c.num_inputs() - 1, 1);
}

// y = concat(xs)  =>  each dx is its piece of dy
std::vector<Value> concat_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const int n = g.num_inputs() - 1;
  const int first = axis_first(g.node().op->name) ? 1 : 0;
  const int axis_input = first == 1 ? 0 : n;
  std::vector<Value> dxs(static_cast<std::size_t>(n) + 1);
  std::vector<Value> xs;
  for (int i = 0; i < n; ++i) xs.push_back(g.x(first + i));

  const PartialInts* const known = graph.known_ints(g.x(axis_input).endpoint());
  const int rank = g.y().shape().rank();
  std::vector<std::int64_t> sizes;
  if (known != nullptr && known->size() == 1 && (*known)[0] && rank > 0) {
    const auto axis = static_cast<int>(((*known)[0].value() + rank) % rank);
    for (const Value& x : xs) {
      if (x.shape().rank() == rank && x.shape()[axis] >= 0) sizes.push_back(x.shape()[axis]);
    }
    if (static_cast<int>(sizes.size()) == n) {
      const std::vector<Value> pieces = split(g.dy(), sizes, axis);
      std::copy(pieces.begin(), pieces.end(), dxs.begin() + first);
      return dxs;
    }
  }
  Value axis = g.x(axis_input);
  if (axis.dtype() != DType::kInt32) axis = graph.add("Cast", {axis}, {{"DstT", DType::kInt32}});
  axis = graph.add("Reshape", {axis, constant(graph, Tensor::vector<std::int32_t>({}))});
  const Value shapes = graph.add("ShapeN", xs);
  std::vector<Value> offset_inputs = {axis};
  for (int i = 0; i < n; ++i) offset_inputs.push_back(shapes.output(i));
  const Value offsets = graph.add("ConcatOffset", offset_inputs);
  for (int i = 0; i < n; ++i) dxs[first + i] = slice(g.dy(), offsets.output(i), shapes.output(i));
  return dxs;
}

Status concat_offset_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(PartialShape all, c.with_rank(1, 1));
  for (int i = 2; i < c.num_inputs(); ++i) {
    ARGOSY_ASSIGN_OR_RETURN(const PartialShape one, c.with_rank(i, 1));
    ARGOSY_ASSIGN_OR_RETURN(all, all.merge(one));
  }
  c.set_all_outputs(all);
  return ok_status();
}

std::optional<PartialInts> concat_offset_ints(const ShapeContext& c, int index) {
  const auto given = c.input_as_int(0);
  const PartialShape& out = c.output(index);
  if (!given || !out.is_full()) return std::nullopt;
  const std::int64_t axis = *given < 0 ? *given + out[0] : *given;
  PartialInts offset(static_cast<std::size_t>(out[0]), 0);
  if (axis < 0 || axis >= out[0]) return std::nullopt;
  for (int other = 0; other < out[0]; ++other) {  // sizes that may differ are the kernel's to compare
    for (int i = 2; i < c.num_inputs() && other != axis; ++i) {
      const auto first = c.int_at(1, other), size = c.int_at(i, other);
      if (first != size) return std::nullopt;  // two unknown ones are those of one batch
    }
  }
  for (int i = 0; i < index; ++i) {
    const auto size = c.int_at(i + 1, static_cast<int>(axis));
    auto& sum = offset[static_cast<std::size_t>(axis)];
    sum = sum && size ? checked_add(*sum, *size) : std::nullopt;
  }
  return offset;
}

// The axis of Split and SplitV, if known; every output gets an unknown shape of x's rank otherwise.
Result<std::optional<int>> split_axis(ShapeContext& c, int axis_input, const PartialShape& x) {
  if (!x.has_rank()) return std::optional<int>();
  if (x.rank() == 0) return invalid_argument(c.op().name, ": a scalar cannot be split");
  const auto given = c.input_as_int(axis_input);
  c.set_all_outputs(PartialShape::unknown_of_rank(x.rank()));
  if (!given) return std::optional<int>();
  ARGOSY_RETURN_IF_ERROR(check_split_axis(*given, x.rank()));
  return std::optional(static_cast<int>(*given < 0 ? *given + x.rank() : *given));
}

Status split_shape(ShapeContext& c) {
  const PartialShape& x = c.input(1);
  ARGOSY_ASSIGN_OR_RETURN(const std::optional<int> axis, split_axis(c, 0, x));
  if (!axis) return ok_status();
  const std::int64_t n = c.num_outputs();
  std::vector<std::int64_t> sizes = x.sizes();
  if (sizes[*axis] >= 0) {
    if (sizes[*axis] % n != 0) {
      return invalid_argument("Number of ways to split should evenly divide the split dimension, but got split_dim ",
                              *axis, " (size = ", x[static_cast<int>(*axis)], ") and num_split ", n, ": Split: axis ",
                              *axis, " of ", x, " does not divide into ", n, " pieces");
    }
    sizes[*axis] /= n;
  }
  c.set_all_outputs(PartialShape(std::move(sizes)));
  return ok_status();
}

Status split_v_shape(ShapeContext& c) {
  const PartialShape& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape lengths, c.with_rank(1, 1));
  if (!lengths.compatible({c.num_outputs()})) {
    return invalid_argument("size of the split_tensor must be 1-D and have the same elements as outputs got ",
                            lengths.rank(), " -D and ", lengths[0], " elements: SplitV: num_split is ", c.num_outputs(),
                            ", size_splits has shape ", lengths);
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::optional<int> axis, split_axis(c, 2, x));
  if (!axis) return ok_status();
  std::int64_t sum = 0;
  int open = -1;  // the piece that takes the rest
  bool known = x[*axis] >= 0;
  for (int i = 0; i < c.num_outputs(); ++i) {
    const auto size = c.int_at(1, i);
    known = known && size.has_value();
    if (size && *size < -1) return invalid_argument("SplitV: size_splits[", i, "] is ", *size);
    if (size && *size == -1) {
      if (open >= 0) return invalid_argument("SplitV: size_splits has more than one -1");
      open = i;
    }
    if (size && *size > 0) sum += *size;
  }
  if (known && (sum > x[*axis] || (open < 0 && sum != x[*axis]))) {
    return invalid_argument(
        "Determined shape must either match input shape along split_dim exactly if fully specified, or be less than "
        "the size of the input along split_dim if not fully specified.  Got: ",
        sum, ": SplitV: size_splits sum to ", sum, ", axis ", *axis, " of ", x, " has another size");
  }
  for (int i = 0; i < c.num_outputs(); ++i) {
    std::vector<std::int64_t> sizes = x.sizes();
    const std::int64_t given = c.int_at(1, i).value_or(-1);
    sizes[*axis] = given >= 0 ? given : known && i == open ? x[*axis] - sum : PartialShape::kUnknown;
    c.set_output(i, PartialShape(std::move(sizes)));
  }
  return ok_status();
}

bool split_v_is_view(const ShapeContext& c) {
  const PartialShape& x = c.input(0);
  if (c.num_outputs() == 1) return true;
  const auto axis = c.input_as_int(2);
  if (!axis || !x.has_rank() || (*axis != 0 && *axis != -x.rank())) return false;
  std::int64_t begin = 0;
  for (int i = 0; i < c.num_outputs(); ++i) {
    const PartialShape& piece = c.output(i);
    if (piece.rank() != x.rank() || piece[0] < 0) return false;
    if (!are_aligned_rows(x, c.input_dtype(0), begin, begin + piece[0])) return false;
    begin += piece[0];
  }
  return true;
}

std::vector<Value> joined_gradients(GradContext& g, Value axis) {
  std::vector<Value> inputs;
  for (int i = 0; i < g.num_outputs(); ++i) inputs.push_back(g.dy(i));
  if (inputs.size() == 1) return inputs;
  inputs.push_back(axis);
  return {g.graph().add("ConcatV2", inputs)};
}
std::vector<Value> split_gradient(GradContext& g) { return {Value(), joined_gradients(g, g.x(0))[0]}; }
std::vector<Value> split_v_gradient(GradContext& g) { return {joined_gradients(g, g.x(2))[0], Value(), Value()}; }

Status pack_shape(ShapeContext& c) {
  PartialShape x = c.input(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    auto merged = x.merge(c.input(i));
    if (!merged.ok())
      return invalid_argument("Shapes of all inputs must match: values[0].shape = ", x, " != values[", i,
                              "].shape = ", c.input(i), ": Pack: input ", i, " has shape ", c.input(i),
                              ", those before it ", x);
    x = *std::move(merged);
  }
  if (!x.has_rank()) return ok_status();
  const std::int64_t given = c.attrs().get_int("axis");
  const int rank = x.rank() + 1;
  if (given < -rank || given >= rank) {
    return invalid_argument("axis = ", given, " not in [", -rank, ", ", rank, ")").with_id("ARG-SHAPE-003");
  }
  const auto axis = static_cast<int>(given < 0 ? given + rank : given);
  std::vector<std::int64_t> sizes = x.sizes();
  sizes.insert(sizes.begin() + axis, c.num_inputs());
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

std::optional<PartialInts> pack_ints(const ShapeContext& c, int) { return joined_ints(c, 0, c.num_inputs(), 0); }

std::vector<Value> pack_gradient(GradContext& g) {
  const std::vector<Value> dxs = unstack(g.dy(), g.num_inputs(), static_cast<int>(g.attrs().get_int("axis")));
  return dxs.empty() ? std::vector<Value>(static_cast<std::size_t>(g.num_inputs())) : dxs;
}

Status unpack_shape(ShapeContext& c) {
  const PartialShape& x = c.input(0);
  if (!x.has_rank()) return ok_status();
  if (x.rank() == 0) return invalid_argument("Unpack: a scalar cannot be unpacked");
  ARGOSY_ASSIGN_OR_RETURN(const int axis, normalize_axis(c.attrs().get_int("axis"), x.rank(), "Unpack"));
  if (x[axis] >= 0 && x[axis] != c.num_outputs()) {
    return invalid_argument("Input shape axis ", axis, " must equal ", c.num_outputs(), ", got shape ", x,
                            ": Unpack: num is ", c.num_outputs(), ", axis ", axis, " of ", x, " has ", x[axis]);
  }
  std::vector<std::int64_t> sizes = x.sizes();
  sizes.erase(sizes.begin() + axis);
  c.set_all_outputs(PartialShape(std::move(sizes)));
  return ok_status();
}

std::optional<PartialInts> unpack_ints(const ShapeContext& c, int index) {
  if (c.ints(0) == nullptr || c.input(0).rank() != 1) return std::nullopt;
  return PartialInts{c.int_at(0, index)};
}

bool unpack_is_view(const ShapeContext& c) {
  const PartialShape& x = c.input(0);
  const std::int64_t axis = c.attrs().get_int("axis");
  return x.has_rank() && (axis == 0 || axis == -x.rank()) && has_aligned_rows(x, c.input_dtype(0));
}

std::vector<Value> unpack_gradient(GradContext& g) {
  std::vector<Value> dys;
  for (int i = 0; i < g.num_outputs(); ++i) dys.push_back(g.dy(i));
  return {stack(dys, static_cast<int>(g.attrs().get_int("axis")))};
}

std::vector<Value> outputs_of(Value first, std::size_t n) {
  std::vector<Value> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(first.output(static_cast<int>(i)));
  return values;
}

}  // namespace

void define_joins(OpRegistry& ops) {
  const auto concat_op = [&](const char* name, std::vector<std::string> inputs, std::vector<std::string> attrs,
                             int axis) {
    ops.add({.name = name,
             .doc = "The values one after the other along an axis.",
             .inputs = std::move(inputs),
             .outputs = {"output: T"},
             .attrs = std::move(attrs),
             .shape = concat_shape,
             .gradient = concat_gradient,
             .known_ints = concat_ints,
             .linear = Linear::kJointly,
             .host_inputs = {axis}});
  };
  concat_op("Concat", {"concat_dim: int32", "values: N * T"}, {"N: int >= 2", "T: type"}, 0);
  concat_op("ConcatV2", {"values: N * T", "axis: Tidx"}, {"N: int >= 2", "T: type", "Tidx: index = int32"}, 1);
  ops.add({.name = "ConcatOffset",
           .doc = "Where each input of a concat begins in its output.",
           .inputs = {"concat_dim: int32", "shape: N * shape_type"},
           .outputs = {"offset: N * shape_type"},
           .attrs = {"N: int >= 2", "shape_type: index = int32"},
           .shape = concat_offset_shape,
           .gradient = kNotDifferentiable,
           .known_ints = concat_offset_ints,
           .blocks_gradient = true,
           .sharding = "whole: it compares sizes",
           .host_inputs = {0, 1},
           .host_outputs = {0}});
  ops.add({.name = "Split",
           .doc = "num_split equal pieces along an axis.",
           .inputs = {"split_dim: int32", "value: T"},
           .outputs = {"output: num_split * T"},
           .attrs = {"num_split: int >= 1", "T: type"},
           .shape = split_shape,
           .gradient = split_gradient,
           .sharding_rule = split_sharding,
           .host_inputs = {0}});
  ops.add({.name = "SplitV",
           .doc = "Pieces of given sizes along an axis; one may be -1, the rest.",
           .inputs = {"value: T", "size_splits: Tlen", "split_dim: int32"},
           .outputs = {"output: num_split * T"},
           .attrs = {"num_split: int >= 1", "T: type", "Tlen: {int8, int32, int64} = int64"},
           .shape = split_v_shape,
           .gradient = split_v_gradient,
           .view = split_v_is_view,
           .sharding_rule = split_v_sharding,
           .host_inputs = {1, 2}});
  ops.add({.name = "Pack",
           .doc = "The values side by side along a new axis.",
           .inputs = {"values: N * T"},
           .outputs = {"output: T"},
           .attrs = {"N: int >= 1", "T: type", "axis: int = 0"},
           .shape = pack_shape,
           .gradient = pack_gradient,
           .known_ints = pack_ints,
           .linear = Linear::kJointly,
           .sharding_rule = pack_sharding});
  ops.add({.name = "Unpack",
           .doc = "The pieces of x along an axis, which goes.",
           .inputs = {"value: T"},
           .outputs = {"output: num * T"},
           .attrs = {"num: int >= 0", "T: type", "axis: int = 0"},
           .shape = unpack_shape,
           .gradient = unpack_gradient,
           .known_ints = unpack_ints,
           .view = unpack_is_view,
           .sharding_rule = unpack_sharding});
}

Value concat(const std::vector<Value>& values, int axis) {
  if (values.empty() || !values[0].valid()) return {};
  if (values.size() == 1) return identity(values[0]);
  std::vector<Value> inputs = values;
  inputs.push_back(constant(values[0].graph(), std::int32_t{axis}));
  return values[0].graph().add("ConcatV2", inputs);
}

std::vector<Value> split(Value x, int num, int axis) {
  if (!x.valid()) return std::vector<Value>(static_cast<std::size_t>(std::max(num, 0)));
  return outputs_of(x.graph().add("Split", {constant(x.graph(), std::int32_t{axis}), x}, {{"num_split", num}}),
                    static_cast<std::size_t>(std::max(num, 0)));
}

std::vector<Value> split(Value x, const std::vector<std::int64_t>& sizes, int axis) {
  if (!x.valid()) return std::vector<Value>(sizes.size());
  Graph& graph = x.graph();
  return outputs_of(
      graph.add("SplitV", {x, constant(graph, Tensor::vector(sizes)), constant(graph, std::int32_t{axis})},
                {{"num_split", sizes.size()}}),
      sizes.size());
}

Value stack(const std::vector<Value>& values, int axis) {
  if (values.empty() || !values[0].valid()) return {};
  return values[0].graph().add("Pack", values, {{"axis", axis}});
}

std::vector<Value> unstack(Value x, int num, int axis) {
  if (!x.valid() || num <= 0) return std::vector<Value>(static_cast<std::size_t>(std::max(num, 0)));
  return outputs_of(x.graph().add("Unpack", {x}, {{"num", num}, {"axis", axis}}), static_cast<std::size_t>(num));
}

}  // namespace argosy
