#include "argosy/ops/optimizer/apply_many.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"

namespace argosy {

std::optional<ApplyParts> apply_parts(const OpDef& op) {
  const bool resource = op.name.starts_with("ResourceApply");
  if (!resource && !op.name.starts_with("Apply")) return std::nullopt;
  ApplyParts parts;
  for (int i = 0; i < static_cast<int>(op.input_args.size()); ++i) {
    const ArgDef& arg = op.input_args[i];
    if (arg.is_ref || arg.dtype == DType::kResource) {
      if (i != parts.variables) return std::nullopt;
      ++parts.variables;
    } else if (arg.name == "grad" || arg.name == "delta") {
      parts.gradient = i;
    } else if (arg.type_attr == "T") {
      parts.scalars.push_back(i);
    } else {
      return std::nullopt;  // indices, a global step
    }
  }
  return parts.variables > 0 && parts.gradient >= 0 ? std::optional(parts) : std::nullopt;
}

// Called by define_optimizer.
void define_apply_many(OpRegistry& ops) {
  for (const bool resource : {false, true}) {
    ops.add({.name = resource ? "_ResourceApplyMany" : "_ApplyMany",
             .doc = "The update `op` of several variables: variables and slots of each in turn, then the numbers they "
                    "share, then the gradients; written by a pass, not by people.",
             .inputs = {resource ? "variables: N * resource" : "variables: Ref(N * T)", "values: M * T"},
             .attrs = {"op: string", "T: number", "N: int >= 1", "M: int >= 1", "flag: string = ''"},
             .shape = no_output,
             .gradient = kNotDifferentiable,
             .stateful = true});
  }
}

}  // namespace argosy
