#include "argosy/ops/parsing/examples.h"

#include "argosy/op/definition/shape_context.h"

namespace argosy {

namespace examples {

Result<std::map<std::string, int>> first_of(const std::vector<ArgDef>& args, const AttrMap& attrs) {
  std::map<std::string, int> first;
  int at = 0;
  for (const ArgDef& arg : args) {
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<DType> dtypes, arg_dtypes({arg}, attrs));
    first[arg.name] = at;
    at += static_cast<int>(dtypes.size());
  }
  return first;
}

Columns Columns::read(const OpDef& op, const AttrMap& attrs, const std::string& part) {
  const auto types = [&](const std::string& name) {
    const auto* found = op.attr(name) != nullptr ? attrs.find_as<std::vector<DType>>(name) : nullptr;
    return found != nullptr ? *found : std::vector<DType>();
  };
  Columns columns;
  columns.sparse = types(part + "sparse_types");
  columns.dense = types(part == "feature_list_" ? "feature_list_dense_types"
                        : part.empty()          ? "Tdense"
                                                : "Tcontext_dense");
  columns.ragged = types(part + "ragged_value_types");
  columns.splits = types(part + "ragged_split_types");
  const auto* shapes = attrs.find_as<std::vector<PartialShape>>(part + "dense_shapes");
  if (shapes != nullptr) columns.dense_shapes = *shapes;
  return columns;
}

Status check_counts(const OpDef& op, const AttrMap& attrs) {
  const bool sequence = op.name.find("Sequence") != std::string::npos;
  for (const std::string part : {sequence ? "context_" : "", sequence ? "feature_list_" : ""}) {
    const Columns columns = Columns::read(op, attrs, part);
    if (columns.ragged.size() != columns.splits.size()) {
      return invalid_argument(op.name, ": ", columns.ragged.size(), " types of ragged values, ", columns.splits.size(),
                              " of their splits");
    }
    const auto check = [&](const ArgDef& arg) {
      const std::pair<std::string, std::size_t> kinds[] = {{part + "sparse_", columns.sparse.size()},
                                                           {part + "dense_", columns.dense.size()},
                                                           {part + "ragged_", columns.ragged.size()}};
      for (const auto& [prefix, count] : kinds) {
        if (!arg.name.starts_with(prefix) || (arg.number_attr.empty() && arg.type_list_attr.empty())) continue;
        ARGOSY_ASSIGN_OR_RETURN(const std::vector<DType> dtypes, arg_dtypes({arg}, attrs));
        if (dtypes.size() != count) {
          return invalid_argument(op.name, ": ", dtypes.size(), " ", arg.name, " for ", count, " columns");
        }
      }
      return ok_status();
    };
    for (const ArgDef& arg : op.input_args) ARGOSY_RETURN_IF_ERROR(check(arg));
    for (const ArgDef& arg : op.output_args) ARGOSY_RETURN_IF_ERROR(check(arg));
  }
  return ok_status();
}

}  // namespace examples

namespace {

using examples::Columns;
PartialShape joined(std::vector<std::int64_t> first, const PartialShape& rest) {
  if (!rest.has_rank()) return PartialShape::unknown();
  first.insert(first.end(), rest.sizes().begin(), rest.sizes().end());
  return PartialShape(std::move(first));
}

// Outputs of one part; `lead`: the axes of a batch ([], or one), `steps`: is there one of time steps?
void part_shapes(ShapeContext& c, const std::map<std::string, int>& out, const std::string& part,
                 const std::vector<std::int64_t>& lead, bool steps) {
  const Columns columns = Columns::read(c.op(), c.attrs(), part);
  const auto set = [&](const std::string& name, std::size_t k, PartialShape shape) {
    if (const auto at = out.find(part + name); at != out.end()) {
      c.set_output(at->second + static_cast<int>(k), std::move(shape));
    }
  };
  const auto rank = static_cast<std::int64_t>(lead.size()) + (steps ? 2 : 1);
  for (std::size_t k = 0; k < columns.sparse.size(); ++k) {
    set("sparse_indices", k, {kUnknownSize, rank});
    set("sparse_values", k, {kUnknownSize});
    set("sparse_shapes", k, {rank});
  }
  for (std::size_t k = 0; k < columns.dense.size(); ++k) {
    std::vector<std::int64_t> first = lead;
    if (steps) first.push_back(kUnknownSize);
    set("dense_values", k, k < columns.dense_shapes.size() ? joined(first, columns.dense_shapes[k]) : PartialShape());
    set("dense_lengths", k, PartialShape(lead));
  }
  for (std::size_t k = 0; k < columns.ragged.size(); ++k) {
    set("ragged_values", k, {kUnknownSize});
    const std::int64_t ends = lead.empty() ? 0 : lead[0] < 0 ? kUnknownSize : lead[0] + 1;
    set("ragged_row_splits", k, lead.empty() && !part.empty() ? PartialShape::scalar() : PartialShape{ends});
    set("ragged_outer_splits", k, lead.empty() ? PartialShape::scalar() : PartialShape{ends});
    set("ragged_inner_splits", k, {kUnknownSize});
  }
}

Status examples_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(examples::check_counts(c.op(), c.attrs()));
  const PartialShape& serialized = c.input(0);
  const bool single = c.op().name.starts_with("ParseSingle");
  if (single) ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  if (serialized.rank() > 1) {
    return invalid_argument(c.op().name, ": serialized must be a scalar or a vector, not of shape ", serialized);
  }
  const bool scalars_too = c.op().name.ends_with("V2");
  if (serialized.rank() == 0 && !single && !scalars_too) {
    return invalid_argument(c.op().name, ": serialized must be a vector, not of shape ", serialized);
  }
  if (!serialized.has_rank() && scalars_too) return ok_status();
  std::vector<std::int64_t> lead;
  if (!single && serialized.rank() != 0) lead.push_back(serialized.has_rank() ? serialized[0] : kUnknownSize);
  ARGOSY_ASSIGN_OR_RETURN(const auto out, examples::first_of(c.op().output_args, c.attrs()));
  if (c.op().name.find("Sequence") == std::string::npos) {
    part_shapes(c, out, "", lead, false);
  } else {
    part_shapes(c, out, "context_", lead, false);
    part_shapes(c, out, "feature_list_", lead, true);
  }
  return ok_status();
}

}  // namespace

void define_examples(OpRegistry& ops) {
  ops.add({.name = "ParseExample",
           .doc = "The features of serialized Examples, as dense and sparse tensors.",
           .inputs = {"serialized: string", "names: string", "sparse_keys: Nsparse * string",
                      "dense_keys: Ndense * string", "dense_defaults: Tdense"},
           .outputs = {"sparse_indices: Nsparse * int64", "sparse_values: sparse_types",
                       "sparse_shapes: Nsparse * int64", "dense_values: Tdense"},
           .attrs = {"Nsparse: int >= 0", "Ndense: int >= 0", "sparse_types: list({float, int64, string}) >= 0",
                     "Tdense: list({float, int64, string}) >= 0", "dense_shapes: list(shape) >= 0"},
           .shape = examples_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add({.name = "ParseExampleV2",
           .doc = "The features of serialized Examples, as dense, sparse and ragged tensors.",
           .inputs = {"serialized: string", "names: string", "sparse_keys: string", "dense_keys: string",
                      "ragged_keys: string", "dense_defaults: Tdense"},
           .outputs = {"sparse_indices: num_sparse * int64", "sparse_values: sparse_types",
                       "sparse_shapes: num_sparse * int64", "dense_values: Tdense", "ragged_values: ragged_value_types",
                       "ragged_row_splits: ragged_split_types"},
           .attrs = {"Tdense: list({float, int64, string}) >= 0", "num_sparse: int >= 0",
                     "sparse_types: list({float, int64, string}) >= 0",
                     "ragged_value_types: list({float, int64, string}) >= 0", "ragged_split_types: list(index) >= 0",
                     "dense_shapes: list(shape) >= 0"},
           .shape = examples_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add({.name = "ParseSingleExample",
           .doc = "The features of one serialized Example.",
           .inputs = {"serialized: string", "dense_defaults: Tdense"},
           .outputs = {"sparse_indices: num_sparse * int64", "sparse_values: sparse_types",
                       "sparse_shapes: num_sparse * int64", "dense_values: Tdense"},
           .attrs = {"num_sparse: int >= 0", "sparse_keys: list(string) >= 0", "dense_keys: list(string) >= 0",
                     "sparse_types: list({float, int64, string}) >= 0", "Tdense: list({float, int64, string}) >= 0",
                     "dense_shapes: list(shape) >= 0"},
           .shape = examples_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add(
      {.name = "ParseSequenceExample",
       .doc = "The context and the steps of serialized SequenceExamples.",
       .inputs = {"serialized: string", "debug_name: string", "context_dense_defaults: Tcontext_dense"},
       .outputs = {"context_sparse_indices: Ncontext_sparse * int64", "context_sparse_values: context_sparse_types",
                   "context_sparse_shapes: Ncontext_sparse * int64", "context_dense_values: Tcontext_dense",
                   "feature_list_sparse_indices: Nfeature_list_sparse * int64",
                   "feature_list_sparse_values: feature_list_sparse_types",
                   "feature_list_sparse_shapes: Nfeature_list_sparse * int64",
                   "feature_list_dense_values: feature_list_dense_types",
                   "feature_list_dense_lengths: Nfeature_list_dense * int64"},
       .attrs = {"feature_list_dense_missing_assumed_empty: list(string) >= 0",
                 "context_sparse_keys: list(string) >= 0", "context_dense_keys: list(string) >= 0",
                 "feature_list_sparse_keys: list(string) >= 0", "feature_list_dense_keys: list(string) >= 0",
                 "Ncontext_sparse: int >= 0 = 0", "Ncontext_dense: int >= 0 = 0", "Nfeature_list_sparse: int >= 0 = 0",
                 "Nfeature_list_dense: int >= 0 = 0", "context_sparse_types: list({float, int64, string}) >= 0 = []",
                 "Tcontext_dense: list({float, int64, string}) >= 0 = []",
                 "feature_list_dense_types: list({float, int64, string}) >= 0 = []",
                 "context_dense_shapes: list(shape) >= 0 = []",
                 "feature_list_sparse_types: list({float, int64, string}) >= 0 = []",
                 "feature_list_dense_shapes: list(shape) >= 0 = []"},
       .shape = examples_shape,
       .gradient = kNotDifferentiable,
       .cpu_only = true});
  ops.add({.name = "ParseSequenceExampleV2",
           .doc = "The context and the steps of serialized SequenceExamples, also as ragged tensors.",
           .inputs = {"serialized: string", "debug_name: string", "context_sparse_keys: string",
                      "context_dense_keys: string", "context_ragged_keys: string", "feature_list_sparse_keys: string",
                      "feature_list_dense_keys: string", "feature_list_ragged_keys: string",
                      "feature_list_dense_missing_assumed_empty: bool", "context_dense_defaults: Tcontext_dense"},
           .outputs = {"context_sparse_indices: Ncontext_sparse * int64", "context_sparse_values: context_sparse_types",
                       "context_sparse_shapes: Ncontext_sparse * int64", "context_dense_values: Tcontext_dense",
                       "context_ragged_values: context_ragged_value_types",
                       "context_ragged_row_splits: context_ragged_split_types",
                       "feature_list_sparse_indices: Nfeature_list_sparse * int64",
                       "feature_list_sparse_values: feature_list_sparse_types",
                       "feature_list_sparse_shapes: Nfeature_list_sparse * int64",
                       "feature_list_dense_values: feature_list_dense_types",
                       "feature_list_dense_lengths: Nfeature_list_dense * int64",
                       "feature_list_ragged_values: feature_list_ragged_value_types",
                       "feature_list_ragged_outer_splits: feature_list_ragged_split_types",
                       "feature_list_ragged_inner_splits: feature_list_ragged_split_types"},
           .attrs = {"Ncontext_sparse: int >= 0 = 0", "Tcontext_dense: list({float, int64, string}) >= 0 = []",
                     "context_sparse_types: list({float, int64, string}) >= 0 = []",
                     "context_ragged_value_types: list({float, int64, string}) >= 0 = []",
                     "context_ragged_split_types: list(index) >= 0 = []", "context_dense_shapes: list(shape) >= 0 = []",
                     "Nfeature_list_sparse: int >= 0 = 0", "Nfeature_list_dense: int >= 0 = 0",
                     "feature_list_dense_types: list({float, int64, string}) >= 0 = []",
                     "feature_list_sparse_types: list({float, int64, string}) >= 0 = []",
                     "feature_list_ragged_value_types: list({float, int64, string}) >= 0 = []",
                     "feature_list_ragged_split_types: list(index) >= 0 = []",
                     "feature_list_dense_shapes: list(shape) >= 0 = []"},
           .shape = examples_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true});
  ops.add(
      {.name = "ParseSingleSequenceExample",
       .doc = "The context and the steps of one serialized SequenceExample.",
       .inputs = {"serialized: string", "feature_list_dense_missing_assumed_empty: string",
                  "context_sparse_keys: Ncontext_sparse * string", "context_dense_keys: Ncontext_dense * string",
                  "feature_list_sparse_keys: Nfeature_list_sparse * string",
                  "feature_list_dense_keys: Nfeature_list_dense * string", "context_dense_defaults: Tcontext_dense",
                  "debug_name: string"},
       .outputs = {"context_sparse_indices: Ncontext_sparse * int64", "context_sparse_values: context_sparse_types",
                   "context_sparse_shapes: Ncontext_sparse * int64", "context_dense_values: Tcontext_dense",
                   "feature_list_sparse_indices: Nfeature_list_sparse * int64",
                   "feature_list_sparse_values: feature_list_sparse_types",
                   "feature_list_sparse_shapes: Nfeature_list_sparse * int64",
                   "feature_list_dense_values: feature_list_dense_types"},
       .attrs = {"Ncontext_sparse: int >= 0 = 0", "Ncontext_dense: int >= 0 = 0", "Nfeature_list_sparse: int >= 0 = 0",
                 "Nfeature_list_dense: int >= 0 = 0", "context_sparse_types: list({float, int64, string}) >= 0 = []",
                 "Tcontext_dense: list({float, int64, string}) >= 0 = []",
                 "feature_list_dense_types: list({float, int64, string}) >= 0 = []",
                 "context_dense_shapes: list(shape) >= 0 = []",
                 "feature_list_sparse_types: list({float, int64, string}) >= 0 = []",
                 "feature_list_dense_shapes: list(shape) >= 0 = []"},
       .shape = examples_shape,
       .gradient = kNotDifferentiable,
       .cpu_only = true});
}

}  // namespace argosy
