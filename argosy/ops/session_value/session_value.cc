#include "argosy/ops/session_value/session_value.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

Status value_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 0).status());
  return unknown_output(c);
}

Status handle_only(ShapeContext& c) { return c.with_rank(0, 0).status(); }

}  // namespace

static void add_session_value_ops(OpRegistry& ops) {
  const auto add = [&](const char* name, const char* doc, std::vector<std::string> in, std::vector<std::string> out,
                       std::vector<std::string> attrs, ShapeFn shape) {
    ops.add({.name = name,
             .doc = doc,
             .inputs = std::move(in),
             .outputs = std::move(out),
             .attrs = std::move(attrs),
             .shape = shape,
             .gradient = kNotDifferentiable,
             .cost = free_cost,
             .stateful = true,
             .cpu_only = true,
             .in_host_memory = true});
  };
  const char* keeps = "Keeps a value in the session.";
  add("GetSessionHandle", keeps, {"value: T"}, {"handle: string"}, {"T: type"}, scalar_output);
  add("GetSessionHandleV2", keeps, {"value: T"}, {"handle: resource"}, {"T: type"}, scalar_output);
  add("GetSessionTensor", "A value that was kept.", {"handle: string"}, {"value: dtype"}, {"dtype: type"}, value_shape);
  add("DeleteSessionTensor", "Lets go of a value that was kept.", {"handle: string"}, {}, {}, handle_only);
}

void define_session_value(OpRegistry& ops) {
  with_sharding(ops, add_session_value_ops, {}, "once: the session holds the value");
}

Value session_handle(Value value) { return value.valid() ? value.graph().add("GetSessionHandle", {value}) : Value(); }
Value session_value(Value handle, DType dtype) {
  return handle.valid() ? handle.graph().add("GetSessionTensor", {handle}, {{"dtype", dtype}}) : Value();
}
Value delete_session_value(Value handle) {
  return handle.valid() ? handle.graph().add("DeleteSessionTensor", {handle}).control() : Value();
}

}  // namespace argosy
