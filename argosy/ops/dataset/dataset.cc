#include "argosy/ops/dataset/dataset.h"

#include <algorithm>

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/dataset/signatures.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace datasets {

namespace {

// True for arguments that need not be scalars.
bool takes_any_shape(const ArgDef& arg) {
  static constexpr const char* kNames[] = {"components",
                                           "record_defaults",
                                           "select_cols",
                                           "exclude_cols",
                                           "row_shape",
                                           "batch_sizes",
                                           "patterns",
                                           "filenames",
                                           "byte_offsets",
                                           "transformations",
                                           "indices",
                                           "values",
                                           "dense_shape",
                                           "optimizations",
                                           "optimizations_enabled",
                                           "optimizations_disabled",
                                           "optimizations_default"};
  if (!arg.number_attr.empty() || !arg.type_list_attr.empty()) return true;
  return std::any_of(std::begin(kNames), std::end(kNames), [&](const char* name) { return arg.name == name; });
}

Status check_scalars(ShapeContext& c) {
  int i = 0;
  for (const ArgDef& arg : c.op().input_args) {
    ARGOSY_ASSIGN_OR_RETURN(const auto dtypes, arg_dtypes({arg}, c.attrs()));
    if (!takes_any_shape(arg)) ARGOSY_RETURN_IF_ERROR(c.with_rank(i, 0).status());
    i += static_cast<int>(dtypes.size());
  }
  return ok_status();
}

Status handle_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_scalars(c));
  c.set_output(0, PartialShape::scalar());
  return ok_status();
}

Status elements_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_scalars(c));
  const auto& shapes = c.attrs().get<std::vector<PartialShape>>("output_shapes");
  const auto& types = c.attrs().get<std::vector<DType>>("output_types");
  if (shapes.size() != types.size()) {
    return invalid_argument("`output_shapes` must be the same length as `output_types` (", shapes.size(), " vs. ",
                            types.size(), ")");
  }
  for (std::size_t i = 0; i < shapes.size(); ++i) c.set_output(static_cast<int>(i), shapes[i]);
  return ok_status();
}

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = text.find("; ");
    std::string part(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
    if (part == "$types") part = "output_types: list(type) >= 1";
    if (part == "$shapes") part = "output_shapes: list(shape) >= 1";
    if (part == "$metadata") part = "metadata: string = ''";
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace

}  // namespace datasets

namespace {

// True for ops that TensorFlow also places on GPUs: they pass elements to a device.
bool on_gpus(std::string_view op) { return op == "GeneratorDataset" || op == "PrefetchDataset"; }

void define(OpRegistry& ops, const std::vector<datasets::Signature>& signatures) {
  for (const datasets::Signature& s : signatures) {
    const bool elements = std::string_view(s.output) == "components: output_types";
    ops.add({.name = s.name,
             .doc = s.doc,
             .inputs = datasets::parts_of(s.inputs),
             .outputs = {s.output},
             .attrs = datasets::parts_of(s.attrs),
             .shape = elements ? datasets::elements_shape : datasets::handle_shape,
             .gradient = kNotDifferentiable,
             .cost = free_cost,
             .stateful = s.stateful,
             .cpu_only = true,
             .in_host_memory = on_gpus(s.name),
             .blocks_gradient = true,
             .opens_files = s.opens_files});
  }
}

}  // namespace

static void add_dataset_ops(OpRegistry& ops) {
  define(ops, datasets::signatures());
  define(ops, datasets::record_and_batch_signatures());
}

void define_dataset(OpRegistry& ops) {
  with_sharding(ops, add_dataset_ops, {}, "once: a dataset is read from one place");
}

}  // namespace argosy
