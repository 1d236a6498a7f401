#include "argosy/ops/handle_ops.h"

#include "argosy/op/definition/shape_context.h"

namespace argosy {

Status ref_handle_shape(ShapeContext& c) {
  c.set_output(0, PartialShape{2});
  return ok_status();
}

Status check_ref_handle(ShapeContext& c) {
  const PartialShape& handle = c.input(0);
  if (handle.compatible(PartialShape{2})) return ok_status();
  return invalid_argument(c.op().name, ": the handle must be a vector of 2, not of shape ", handle);
}

OpRow with_handles_as(OpRow row, std::string_view type) {
  constexpr std::string_view kResource = "resource";
  for (auto* args : {&row.inputs, &row.outputs}) {
    for (std::string& arg : *args) {
      if (arg.ends_with(": resource")) arg.replace(arg.size() - kResource.size(), kResource.size(), type);
    }
  }
  return row;
}

void add_handle_rows(OpRegistry& ops, const std::vector<HandleOpRow>& rows, const OpFacts& shared) {
  OpFacts by_reference = shared, by_resource = shared;
  by_reference.in_host_memory = false;
  by_reference.accepts_uninitialized = true;
  by_resource.stateful = true;
  for (const HandleOpRow& row : rows) {
    OpRow current = row.op;
    current.name += "V2";
    add_row(ops, std::move(current), by_resource);
    if (row.ref_shape == nullptr) continue;
    OpRow old = with_handles_as(row.op, "Ref(string)");
    old.shape = row.ref_shape;
    add_row(ops, std::move(old), by_reference);
  }
}

}  // namespace argosy
