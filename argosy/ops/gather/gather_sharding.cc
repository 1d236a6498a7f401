#include "argosy/ops/gather/gather_sharding.h"

#include <algorithm>

#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

// The dimensions of params, indices and output of a gather along `axis`.
struct GatherNames {
  DimNames params, indices, output;
  std::string roles;  // "; rows v"
};

std::optional<GatherNames> gather_names(int params, int indices, std::int64_t along, std::int64_t batch_dims) {
  const auto axis = axis_within(along, params);
  const std::int64_t batch = batch_dims < 0 ? batch_dims + indices : batch_dims;
  if (!axis || batch < 0 || batch > indices || batch > *axis) return std::nullopt;
  GatherNames n{dim_names(params), dim_names(indices, "n"), {}, "; rows v"};
  std::copy_n(n.params.begin(), batch, n.indices.begin());
  n.params[static_cast<std::size_t>(*axis)] = "v";
  n.output.assign(n.params.begin(), n.params.begin() + *axis);
  n.output.insert(n.output.end(), n.indices.begin() + batch, n.indices.end());
  n.output.insert(n.output.end(), n.params.begin() + *axis + 1, n.params.end());
  return n;
}

int rank_of_first(const ShapeContext& c) {
  const HandleFact* behind = c.handle(0);
  return behind != nullptr ? behind->shape.rank() : c.input_dtype(0) == DType::kResource ? -1 : c.input(0).rank();
}

// Returns how many leading dimensions of a table of rank `rank` an index vector covers; nullopt if unknown.
std::optional<int> named_dims(const PartialShape& indices, int rank) {
  if (indices.rank() < 1) return std::nullopt;
  const std::int64_t depth = indices[indices.rank() - 1];
  if (depth < 0 || depth > rank) return std::nullopt;
  return static_cast<int>(depth);
}

DimNames concatenated(DimNames x, const DimNames& y) {
  x.insert(x.end(), y.begin(), y.end());
  return x;
}

Result<ShardingRule> into(const ShapeContext& c, const std::string& clauses) {
  const int rank = rank_of_first(c);
  if (rank < 0) return whole_because("what it writes to is not known");
  const auto depth = named_dims(c.input(1), rank);
  if (!depth) return whole_because("how many dimensions its indices name is not known");
  const DimNames rows = dim_names(*depth, "v"), row = dim_names(rank - *depth),
                 n = dim_names(c.input(1).rank() - 1, "n");
  const std::string table = joined(concatenated(rows, row));
  const std::string roles = (rows.empty() ? "" : "; rows " + joined(rows)) + (n.empty() ? "" : "; whole " + joined(n));
  const bool writes = c.op().has_ref_input() || c.input_dtype(0) == DType::kResource;
  return sharding_rule_from_text(
      str_cat(table, ", ", joined(concatenated(n, {"1"})), ", ", joined(concatenated(n, row)), " -> ",
              c.num_outputs() > 0 ? table : std::string(), roles, writes ? "; updates 0" : "", clauses),
      c);
}

}  // namespace

Result<ShardingRule> gather_v2_sharding(const ShapeContext& c) {
  const auto along = c.input_as_int(2);
  if (!along) return whole_because("its axis is not known");
  const auto n = gather_names(c.input(0).rank(), c.input(1).rank(), *along, c.attrs().get_int("batch_dims"));
  if (!n) return whole_because("its axis is out of range");
  return sharding_rule_from_text(
      str_cat(joined(n->params), ", ", joined(n->indices), ", . -> ", joined(n->output), n->roles, "; linear 0"), c);
}

Result<ShardingRule> gather_grad_sharding(const ShapeContext& c) {
  const auto along = c.input_as_int(3);
  if (!along) return whole_because("its axis is not known");
  const auto n = gather_names(c.output(0).rank(), c.input(1).rank(), *along, c.attrs().get_int("batch_dims"));
  if (!n) return whole_because("its axis is out of range");
  std::string sums;
  for (const std::string& name : n->indices) sums += name.starts_with("n") ? " " + name : "";
  return sharding_rule_from_text(str_cat(joined(n->output), ", ", joined(n->indices), ", size(0), . -> ",
                                         joined(n->params), n->roles, sums.empty() ? "" : "; sum" + sums, "; linear 0"),
                                 c);
}

Result<ShardingRule> resource_gather_sharding(const ShapeContext& c) {
  const int rank = rank_of_first(c);
  if (rank < 0) return whole_because("the variable is not known");
  const std::int64_t batch = c.attrs().get_int("batch_dims");
  const auto n = gather_names(rank, c.input(1).rank(), batch < 0 ? batch + c.input(1).rank() : batch, batch);
  if (!n) return whole_because("its axis is out of range");
  return sharding_rule_from_text(
      str_cat(joined(n->params), ", ", joined(n->indices), " -> ", joined(n->output), n->roles), c);
}

Result<ShardingRule> gather_nd_sharding(const ShapeContext& c) {
  const int rank = rank_of_first(c);
  if (rank < 0) return whole_because("the variable is not known");
  const auto depth = named_dims(c.input(1), rank);
  if (!depth) return whole_because("how many dimensions its indices name is not known");
  const DimNames rows = dim_names(*depth, "v"), row = dim_names(rank - *depth),
                 n = dim_names(c.input(1).rank() - 1, "n");
  const bool variable = c.input_dtype(0) == DType::kResource;  // its kernel refuses one without elements
  return sharding_rule_from_text(str_cat(joined(concatenated(rows, row)), ", ", joined(concatenated(n, {"1"})), " -> ",
                                         joined(concatenated(n, row)), rows.empty() ? "" : "; rows " + joined(rows),
                                         !variable     ? "; linear 0"
                                         : row.empty() ? ""
                                                       : "; whole " + joined(row)),
                                 c);
}

Result<ShardingRule> scatter_nd_sharding(const ShapeContext& c) {
  const int rank = c.output(0).rank();
  const auto depth = named_dims(c.input(0), rank);
  if (!depth) return whole_because("how many dimensions its indices name is not known");
  const DimNames rows = dim_names(*depth, "v"), row = dim_names(rank - *depth),
                 n = dim_names(c.input(0).rank() - 1, "n");
  return sharding_rule_from_text(
      str_cat(joined(concatenated(n, {"1"})), ", ", joined(concatenated(n, row)), ", size(0) -> ",
              joined(concatenated(rows, row)), rows.empty() ? "" : "; rows " + joined(rows),
              n.empty() ? "" : "; sum " + joined(n), "; linear 1"),
      c);
}

Result<ShardingRule> scatter_nd_into_sharding(const ShapeContext& c) { return into(c, ""); }
Result<ShardingRule> linear_scatter_nd_into_sharding(const ShapeContext& c) { return into(c, "; linear 0 2"); }

Result<ShardingRule> one_hot_sharding(const ShapeContext& c) {
  const auto axis = axis_within(c.attrs().get_int("axis"), c.output(0).rank());
  if (!axis) return whole_because("its axis is out of range");
  const DimNames indices = dim_names(c.input(0).rank());
  DimNames output = indices;
  output.insert(output.begin() + *axis, "1");
  return sharding_rule_from_text(str_cat(joined(indices), ", ., -, - -> ", joined(output), "; linear 2 3"), c);
}

}  // namespace argosy
