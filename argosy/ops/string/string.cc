#include "argosy/ops/string/string.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/reduction/reduction_sharding.h"
#include "argosy/ops/sharding_parts.h"
#include "argosy/ops/string/string_registration.h"

namespace argosy {

namespace {

Status join_shape(ShapeContext& c) {
  PartialShape shape = PartialShape::scalar();
  bool rank_open = false;
  for (int i = 0; i < c.num_inputs(); ++i) {
    const PartialShape& x = c.input(i);
    if (!x.has_rank()) rank_open = true;
    if (!x.has_rank() || x.rank() == 0) continue;
    if (shape.rank() == 0) {
      shape = x;
      continue;
    }
    auto merged = shape.merge(x);
    if (!merged.ok()) return invalid_argument("StringJoin: inputs of shapes ", shape, " and ", x);
    shape = *std::move(merged);
  }
  c.set_output(0, shape.rank() == 0 && rank_open ? PartialShape::unknown() : shape);
  return ok_status();
}

Status reduce_join_shape(ShapeContext& c) {
  if (c.input(1).rank() > 1) {
    return invalid_argument("ReduceJoin: reduction_indices must be a vector, not of shape ", c.input(1));
  }
  const PartialShape& x = c.input(0);
  const PartialInts* const axes = c.ints(1);
  const bool keep = c.attrs().get_bool("keep_dims");
  if (!x.has_rank()) return ok_status();
  if (axes == nullptr) {
    if (keep) c.set_output(0, PartialShape::unknown_of_rank(x.rank()));
    return ok_status();
  }
  std::vector<bool> gone(static_cast<std::size_t>(x.rank()), false);
  for (const auto& given : *axes) {
    if (!given) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(const int axis, normalize_axis(*given, x.rank(), "ReduceJoin"));
    if (gone[static_cast<std::size_t>(axis)]) return invalid_argument("ReduceJoin: axis ", axis, " is there twice");
    gone[static_cast<std::size_t>(axis)] = true;
  }
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < x.rank(); ++i) {
    const bool reduced = gone[static_cast<std::size_t>(i)];
    if (!reduced || keep) sizes.push_back(reduced ? 1 : x[i]);
  }
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

Status all_scalars(ShapeContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.input(i).rank() > 0) {
      return invalid_argument(c.op().name, ": ", c.op().input_args[i].name, " must be a scalar, not of shape ",
                              c.input(i));
    }
  }
  return scalar_output(c);
}

}  // namespace

static void add_string_ops(OpRegistry& ops) {
  const auto add = [&](OpSpec spec, bool zero_gradient) {
    spec.gradient = kNotDifferentiable;
    spec.blocks_gradient = zero_gradient;
    spec.cpu_only = true;
    ops.add(std::move(spec));
  };
  add({.name = "StringJoin",
       .doc = "The inputs joined element by element; scalars go with everything.",
       .inputs = {"inputs: N * string"},
       .outputs = {"output: string"},
       .attrs = {"N: int >= 0", "separator: string = ''"},
       .shape = join_shape,
       .sharding = "i.. * -> i..; broadcasts"},
      true);
  add({.name = "AsString",
       .doc = "Numbers as text.",
       .inputs = {"input: T"},
       .outputs = {"output: string"},
       .attrs = {"T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, "
                 "complex64, complex128, bool, variant, string}",
                 "precision: int = -1", "scientific: bool = false", "shortest: bool = false", "width: int = -1",
                 "fill: string = ''"},
       .shape = same_as_input,
       .sharding = "i.. -> i.."},
      true);
  add({.name = "StringFormat",
       .doc = "The template with each placeholder replaced by an input.",
       .inputs = {"inputs: T"},
       .outputs = {"output: string"},
       .attrs = {"T: list(type) >= 0", "template: string = '%s'", "placeholder: string = '%s'", "summarize: int = 3"},
       .shape = scalar_output},
      true);
  add({.name = "ReduceJoin",
       .doc = "Strings joined along axes, of which the first varies fastest.",
       .inputs = {"inputs: string", "reduction_indices: int32"},
       .outputs = {"output: string"},
       .attrs = {"keep_dims: bool = false", "separator: string = ''"},
       .shape = reduce_join_shape,
       .sharding_rule = fold_sharding},
      true);
  add({.name = "ShardedFilename",
       .doc = "basename-00001-of-00010.",
       .inputs = {"basename: string", "shard: int32", "num_shards: int32"},
       .outputs = {"filename: string"},
       .shape = all_scalars},
      true);
  add({.name = "ShardedFilespec",
       .doc = "The pattern that every shard of basename matches.",
       .inputs = {"basename: string", "num_shards: int32"},
       .outputs = {"filename: string"},
       .shape = all_scalars},
      true);
  define_text(ops);
  define_unicode(ops);
}

void define_string(OpRegistry& ops) {
  with_sharding(ops, add_string_ops, {}, "whole: one text is made of all elements");
}

Value string_join(const std::vector<Value>& inputs, std::string_view separator) {
  if (inputs.empty() || !inputs[0].valid()) return {};
  return inputs[0].graph().add("StringJoin", inputs, {{"separator", std::string(separator)}});
}

Value as_string(Value x, const AsStringOptions& options) {
  if (!x.valid()) return x;
  return x.graph().add("AsString", {x},
                       {{"precision", options.precision},
                        {"scientific", options.scientific},
                        {"shortest", options.shortest},
                        {"width", options.width},
                        {"fill", options.fill}});
}

Value string_format(Graph& graph, std::string_view format, const std::vector<Value>& inputs,
                    std::string_view placeholder, int summarize) {
  return graph.add(
      "StringFormat", inputs,
      {{"template", std::string(format)}, {"placeholder", std::string(placeholder)}, {"summarize", summarize}});
}

Value reduce_join(Value x, const std::vector<int>& axes, std::string_view separator, bool keep_dims) {
  if (!x.valid()) return x;
  return x.graph().add("ReduceJoin", {x, constant(x.graph(), Tensor::vector(axes))},
                       {{"keep_dims", keep_dims}, {"separator", std::string(separator)}});
}

}  // namespace argosy
