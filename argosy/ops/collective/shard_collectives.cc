#include "argosy/ops/collective/shard_collectives.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/collective/shard_batch.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/layout/layout.h"

namespace argosy {

namespace {

using Int64s = std::vector<std::int64_t>;

// --- shapes ----------------------------------------------------------------------------------------------------------

Status check_group(const ShapeContext& c) {
  const std::int64_t rank = c.attrs().get_int("rank"), size = c.attrs().get_int("size");
  const auto& weights = c.attrs().get<Int64s>("weights");
  if (c.attrs().get_string("group").empty()) return invalid_argument(c.op().name, ": the group has no name");
  if (rank >= size) return invalid_argument(c.op().name, ": rank ", rank, " of a group of ", size);
  if (static_cast<std::int64_t>(weights.size()) != size) {
    return invalid_argument(c.op().name, ": ", weights.size(), " weights for ", size, " ranks");
  }
  return shard_batch(0, weights, rank).status();
}

// Returns how many of `rows` the shard has; unknown if `rows` is unknown.
Result<std::int64_t> rows_of(const ShapeContext& c, std::int64_t rows, std::int64_t shard) {
  if (rows < 0) return kUnknownSize;
  ARGOSY_ASSIGN_OR_RETURN(const auto mine, shard_batch(rows, c.attrs().get<Int64s>("weights"), shard));
  return mine.second - mine.first;
}

Status scalar_has_no_rows(const ShapeContext& c) { return invalid_argument(c.op().name, ": a scalar has no rows"); }

Status reduce_scatter_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_group(c));
  const std::int64_t outputs = c.attrs().get_int("M"), inputs = c.attrs().get_int("N");
  const auto& shards = c.attrs().get<Int64s>("shards");
  for (const std::int64_t s : shards) {
    if (s < 0 || s >= c.attrs().get_int("total")) {
      return invalid_argument("_ReduceScatter: shard ", s, " of ", c.attrs().get_int("total"));
    }
  }
  const auto copies = shards.empty() ? std::int64_t{1} : static_cast<std::int64_t>(shards.size());
  if (inputs % copies != 0 || inputs / copies != outputs) {
    return invalid_argument("_ReduceScatter: ", inputs, " values of ", copies, " shards cannot be ", outputs, " parts");
  }
  for (std::int64_t i = 0; i < outputs; ++i) {
    PartialShape shape = c.input(static_cast<int>(i));
    for (std::int64_t s = 1; s < copies; ++s) {
      auto merged = shape.merge(c.input(static_cast<int>(s * outputs + i)));
      if (!merged.ok()) return invalid_argument("_ReduceScatter: value ", i, ": ", merged.status().message());
      shape = std::move(*merged);
    }
    if (!shape.has_rank()) continue;
    if (shape.rank() == 0) return scalar_has_no_rows(c);
    Int64s sizes = shape.sizes();
    ARGOSY_ASSIGN_OR_RETURN(sizes[0], rows_of(c, sizes[0], c.attrs().get_int("rank")));
    c.set_output(static_cast<int>(i), PartialShape(std::move(sizes)));
  }
  return ok_status();
}

// Returns the global size of value number `value`, from `sizes`, the last input.
Result<std::int64_t> global_size(const ShapeContext& c, int value) {
  const std::int64_t values = c.attrs().get_int("N");
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape shape, c.with_rank(static_cast<int>(values), 1));
  if (shape[0] >= 0 && shape[0] != values) {
    return invalid_argument(c.op().name, ": ", shape[0], " sizes of ", values, " values");
  }
  return c.int_at(static_cast<int>(values), value).value_or(kUnknownSize);
}

Status all_gather_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_group(c));
  for (int i = 0; i + 1 < c.num_inputs(); ++i) {
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t size, global_size(c, i));
    const PartialShape& part = c.input(i);
    if (!part.has_rank()) continue;
    if (part.rank() == 0) return scalar_has_no_rows(c);
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t mine, rows_of(c, size, c.attrs().get_int("rank")));
    if (mine >= 0 && part[0] >= 0 && mine != part[0]) {
      return invalid_argument("_AllGather: value ", i, " has ", part[0], " rows; the shard of rank ",
                              c.attrs().get_int("rank"), " of ", size, " has ", mine);
    }
    Int64s sizes = part.sizes();
    sizes[0] = size;
    c.set_output(i, PartialShape(std::move(sizes)));
  }
  return ok_status();
}

Status all_to_all_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_group(c));
  const std::int64_t ranks = c.attrs().get_int("size"), dim = c.attrs().get_int("dim");
  if (c.attrs().get_int("M") != c.attrs().get_int("N") * ranks) {
    return invalid_argument("_AllToAll: ", c.attrs().get_int("M"), " parts of ", c.attrs().get_int("N"), " values and ",
                            ranks, " ranks");
  }
  for (int i = 0; i + 1 < c.num_inputs(); ++i) {
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t size, global_size(c, i));
    const PartialShape& part = c.input(i);
    if (!part.has_rank()) continue;
    if (dim >= part.rank()) return invalid_argument("_AllToAll: value ", i, " of shape ", part, " has no axis ", dim);
    for (std::int64_t from = 0; from < ranks; ++from) {
      Int64s sizes = part.sizes();
      ARGOSY_ASSIGN_OR_RETURN(sizes[0], rows_of(c, part[0], c.attrs().get_int("rank")));
      ARGOSY_ASSIGN_OR_RETURN(sizes[static_cast<std::size_t>(dim)], rows_of(c, size, from));
      c.set_output(static_cast<int>(i * ranks + from), PartialShape(std::move(sizes)));
    }
  }
  return ok_status();
}

Status local_size_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(shard_batch(0, c.attrs().get<Int64s>("weights"), c.attrs().get_int("index")).status());
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  return scalar_output(c);
}

std::optional<PartialInts> local_size_ints(const ShapeContext& c, int index) {
  const auto size = c.input_as_int(0);
  if (!size) return std::nullopt;
  const auto rows = shard_batch(*size, c.attrs().get<Int64s>("weights"), c.attrs().get_int("index"));
  if (!rows.ok()) return std::nullopt;
  return PartialInts{index == 0 ? rows->second - rows->first : rows->first};
}

// --- costs -----------------------------------------------------------------------------------------------------------

// Each value read once and written once; no arithmetic.
Cost move_cost(const ShapeContext& c) {
  Cost cost = elementwise_cost(c);
  cost.flops = 0;
  return cost;
}

// --- building --------------------------------------------------------------------------------------------------------

// The permutation that brings an axis to the front, or back.
std::vector<int> to_front(int rank, int axis) {
  std::vector<int> perm = {axis};
  for (int i = 0; i < rank; ++i) {
    if (i != axis) perm.push_back(i);
  }
  return perm;
}
std::vector<int> from_front(int rank, int axis) {
  std::vector<int> perm;
  for (int i = 0; i < rank; ++i) perm.push_back(i < axis ? i + 1 : i == axis ? 0 : i);
  return perm;
}

Result<int> rank_with(Value v, int axis, std::string_view name) {
  const PartialShape& shape = v.shape();
  if (!shape.has_rank()) {
    return invalid_argument(name, ": the number of axes of '", v.node_name(), "' must be known to use its axis ", axis);
  }
  if (axis < 0 || axis >= shape.rank()) {
    return invalid_argument(name, ": '", v.node_name(), "' of shape ", shape, " has no axis ", axis);
  }
  return shape.rank();
}

// Returns every value with the axis in front; empty if the graph has an error.
std::vector<Value> in_front(const std::vector<Value>& values, int axis, std::string_view name) {
  if (axis == 0) return values;
  std::vector<Value> turned;
  for (const Value& v : values) {
    const Result<int> rank = rank_with(v, axis, name);
    if (!rank.ok()) return v.graph().fail(rank.status()), std::vector<Value>();
    turned.push_back(transpose(v, to_front(*rank, axis)));
  }
  return turned;
}
// Moves the first axis back. `like`: the values before in_front().
std::vector<Value> back(std::vector<Value> values, const std::vector<Value>& like, int axis) {
  for (std::size_t i = 0; i < values.size() && axis != 0; ++i) {
    values[i] = transpose(values[i], from_front(like[i].shape().rank(), axis));
  }
  return values;
}

AttrMap attrs_of(const ShardGroup& g) {
  return {{"group", g.group},
          {"rank", g.rank},
          {"size", g.size},
          {"weights", g.weights.empty() ? Int64s(static_cast<std::size_t>(g.size), 1) : g.weights}};
}

std::vector<Value> outputs_of(Value node, std::size_t count) {
  std::vector<Value> outputs;
  for (std::size_t i = 0; i < count && node.valid(); ++i) outputs.push_back(node.output(static_cast<int>(i)));
  return outputs;
}

}  // namespace

// Called by define_collective.
void define_shard_collectives(OpRegistry& ops) {
  const std::vector<std::string> place = {"group: string", "rank: int >= 0", "size: int >= 1",
                                          "weights: list(int) >= 1"};
  const auto with = [&](std::vector<std::string> attrs) {
    attrs.insert(attrs.end(), place.begin(), place.end());
    return attrs;
  };
  ops.add({.name = "_ReduceScatter",
           .doc = "The rank's rows of elementwise sums over the nodes of a group.",
           .inputs = {"values: N * T"},
           .outputs = {"parts: M * T"},
           .attrs = with({"T: number", "N: int >= 1", "M: int >= 1", "shards: list(int) = []", "total: int = 0"}),
           .shape = reduce_scatter_shape,
           .gradient = kNotDifferentiable,
           .stateful = true,
           .async = true,
           .collective = true});
  ops.add({.name = "_AllGather",
           .doc = "Values whose rows the nodes of a group hold; `sizes`: how many rows each has.",
           .inputs = {"parts: N * T", "sizes: int64"},
           .outputs = {"values: N * T"},
           .attrs = with({"T: type", "N: int >= 1"}),
           .shape = all_gather_shape,
           .gradient = kNotDifferentiable,
           .cost = move_cost,
           .stateful = true,
           .async = true,
           .collective = true,
           .host_inputs = {1}});
  ops.add({.name = "_AllToAll",
           .doc =
               "From each node of a group, the rank's rows of what that node holds along axis `dim`; `sizes`: of the "
               "values along it.",
           .inputs = {"values: N * T", "sizes: int64"},
           .outputs = {"parts: M * T"},
           .attrs = with({"T: type", "N: int >= 1", "M: int >= 1", "dim: int >= 1"}),
           .shape = all_to_all_shape,
           .gradient = kNotDifferentiable,
           .cost = move_cost,
           .stateful = true,
           .async = true,
           .collective = true,
           .host_inputs = {1}});
  ops.add({.name = "_LocalSize",
           .doc = "How many of `size` rows a shard has, and the first of them.",
           .inputs = {"size: T"},
           .outputs = {"local: T", "begin: T"},
           .attrs = {"T: index", "index: int >= 0", "weights: list(int) >= 1"},
           .shape = local_size_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .known_ints = local_size_ints,
           .blocks_gradient = true,
           .host_inputs = {0},
           .host_outputs = {0, 1}});
  for (const bool resource : {false, true}) {
    ops.add({.name = resource ? "_ResourceAllGatherVariables" : "_AllGatherVariables",
             .doc = "Gives the nodes of a group each other's elements of variables, in place.",
             .inputs = {resource ? "variables: N * resource" : "variables: Ref(N * T)"},
             .attrs = with({"T: type", "N: int >= 1"}),
             .shape = [](ShapeContext& c) { return check_group(c); },
             .gradient = kNotDifferentiable,
             .cost = move_cost,
             .stateful = true,
             .async = true,
             .collective = true});
  }
}

std::vector<Value> reduce_scatter(const std::vector<Value>& values, const ShardGroup& to, const Contributions& from,
                                  int dim, std::string_view name) {
  if (values.empty() || !values[0].valid()) return {};
  const std::vector<Value> turned = in_front(values, dim, name);
  if (turned.empty()) return {};
  const std::size_t outputs = values.size() / std::max<std::size_t>(from.shards.size(), 1);
  AttrMap attrs = attrs_of(to);
  attrs.set("shards", from.shards);
  attrs.set("total", from.total);
  attrs.set("M", outputs);
  const Value node = values[0].graph().add("_ReduceScatter", turned, std::move(attrs), name);
  return back(outputs_of(node, outputs), values, dim);
}

std::vector<Value> all_gather(const std::vector<Value>& parts, Value sizes, const ShardGroup& of, int dim,
                              std::string_view name) {
  if (parts.empty() || !parts[0].valid()) return {};
  std::vector<Value> inputs = in_front(parts, dim, name);
  if (inputs.empty()) return {};
  inputs.push_back(sizes);
  const Value node = parts[0].graph().add("_AllGather", std::move(inputs), attrs_of(of), name);
  return back(outputs_of(node, parts.size()), parts, dim);
}

std::vector<Value> all_gather(const std::vector<Value>& parts, const Int64s& sizes, const ShardGroup& of, int dim,
                              std::string_view name) {
  if (parts.empty() || !parts[0].valid()) return {};
  return all_gather(parts, constant(parts[0].graph(), Tensor::vector<std::int64_t>(sizes)), of, dim, name);
}

std::vector<Value> all_to_all(const std::vector<Value>& parts, Value sizes, const ShardGroup& of, int concat_axis,
                              int split_axis, std::string_view name) {
  if (parts.empty() || !parts[0].valid()) return {};
  Graph& graph = parts[0].graph();
  for (const Value& v : parts) {
    for (const int axis : {concat_axis, split_axis}) {
      if (const Result<int> rank = rank_with(v, axis, name); !rank.ok()) return graph.fail(rank.status()), parts;
    }
  }
  if (concat_axis == split_axis) {
    graph.fail(invalid_argument(name, ": axis ", split_axis, " is split already"));
    return {};
  }
  std::vector<Value> inputs = in_front(parts, split_axis, name);
  if (inputs.empty()) return {};
  inputs.push_back(sizes);
  const int dim = concat_axis < split_axis ? concat_axis + 1 : concat_axis;
  const auto ranks = static_cast<std::size_t>(of.size);
  AttrMap attrs = attrs_of(of);
  attrs.set("dim", dim);
  attrs.set("M", parts.size() * ranks);
  const Value node = graph.add("_AllToAll", std::move(inputs), std::move(attrs), name);
  const std::vector<Value> got = outputs_of(node, parts.size() * ranks);
  std::vector<Value> joined;
  for (std::size_t i = 0; i < got.size(); i += ranks) {
    joined.push_back(concat(
        {got.begin() + static_cast<std::ptrdiff_t>(i), got.begin() + static_cast<std::ptrdiff_t>(i + ranks)}, dim));
  }
  return back(std::move(joined), parts, split_axis);
}

Value local_size(Value size, const Int64s& weights, std::int64_t index, std::string_view name) {
  if (!size.valid()) return {};
  return size.graph().add("_LocalSize", {size}, {{"weights", weights}, {"index", index}}, name);
}

Value all_gather_variables(const std::vector<Value>& variables, DType dtype, const ShardGroup& of,
                           std::string_view name) {
  if (variables.empty() || !variables[0].valid()) return {};
  AttrMap attrs = attrs_of(of);
  attrs.set("T", dtype);
  const bool resource = variables[0].dtype() == DType::kResource;
  return variables[0].graph().add(resource ? "_ResourceAllGatherVariables" : "_AllGatherVariables", variables,
                                  std::move(attrs), name);
}

}  // namespace argosy
