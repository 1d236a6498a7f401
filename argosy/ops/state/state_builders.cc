#include "argosy/ops/constant/constant.h"
#include "argosy/ops/state/state.h"

namespace argosy {

namespace {

// The variable and its read, under "name".
VariableNode declare(Graph& graph, PartialShape shape, DType dtype, std::string_view name,
                     const VariableOptions& options) {
  VariableNode v;
  AttrMap attrs = {{"shape", std::move(shape)},
                   {"dtype", dtype},
                   {"container", options.container},
                   {"shared_name", options.shared_name}};
  const bool resource = options.kind == VariableKind::kResource;
  v.ref = graph.add(resource ? "VarHandleOp" : "VariableV2", {}, std::move(attrs), name);
  if (!v.ref.valid()) return {};
  if (resource && options.shared_name.empty())
    v.ref.graph().set_attr(v.ref.node(), "shared_name", std::string(v.ref.node_name()));
  return v;
}

void add_read(VariableNode& v, DType dtype) {
  if (!v.ref.valid()) return;
  Graph& graph = v.ref.graph();
  const auto inside = graph.name_scope(str_cat(v.ref.node_name(), "/"));
  if (!v.is_resource()) {
    const auto colocated = graph.colocate_with(v.ref);
    v.read = graph.add("Identity", {v.ref}, {}, "read");
  } else {
    v.read = graph.add("ReadVariableOp", {v.ref}, {{"dtype", dtype}}, "Read/ReadVariableOp");
  }
}

Value change(const VariableNode& v, const char* ref_op, const char* resource_op, std::vector<Value> inputs,
             std::string_view name, AttrMap attrs = {}) {
  if (!v.ref.valid()) return {};
  Graph& graph = v.ref.graph();
  if (v.is_resource()) return graph.add(resource_op, std::move(inputs), std::move(attrs), name);
  const auto colocated = graph.colocate_with(v.ref);
  return graph.add(ref_op, std::move(inputs), std::move(attrs), name);
}

}  // namespace

VariableNode variable(Graph& graph, PartialShape shape, DType dtype, std::string_view name,
                      const VariableOptions& options) {
  VariableNode v = declare(graph, std::move(shape), dtype, name, options);
  add_read(v, dtype);
  return v;
}

VariableNode variable(Value initial_value, std::string_view name, const VariableOptions& options) {
  if (!initial_value.valid()) return {};
  Graph& graph = initial_value.graph();
  VariableNode v = declare(graph, initial_value.shape(), initial_value.dtype(), name, options);
  if (!v.ref.valid()) return {};
  {
    const auto inside = graph.name_scope(str_cat(v.ref.node_name(), "/"));
    if (v.is_resource()) graph.add("VarIsInitializedOp", {v.ref}, {}, "IsInitialized/VarIsInitializedOp");
    v.initializer = assign(v, initial_value);
  }
  add_read(v, initial_value.dtype());
  return v;
}

VariableNode variable(Graph& graph, Tensor initial_value, std::string_view name, const VariableOptions& options) {
  VariableNode v = declare(graph, initial_value.shape(), initial_value.dtype(), name, options);
  if (!v.ref.valid()) return {};
  const DType dtype = initial_value.dtype();
  {
    const auto inside = graph.name_scope(str_cat(v.ref.node_name(), "/"));
    const Value value = constant(graph, std::move(initial_value), "initial_value");
    if (v.is_resource()) graph.add("VarIsInitializedOp", {v.ref}, {}, "IsInitialized/VarIsInitializedOp");
    v.initializer = assign(v, value);
  }
  add_read(v, dtype);
  return v;
}

Value assign(const VariableNode& v, Value value, std::string_view name) {
  // The op itself takes any shape of a resource variable.
  if (v.is_resource() && v.ref.valid() && value.valid()) {
    const HandleFact* const fact = v.ref.graph().handle(v.ref.endpoint());
    if (fact != nullptr && !fact->shape.compatible(value.shape())) {
      v.ref.graph().fail(invalid_argument("variable '", v.ref.name(), "' of shape ", fact->shape,
                                          " cannot take a value of shape ", value.shape())
                             .with_id("ARG-SHAPE-005"));
      return {};
    }
  }
  return change(v, "Assign", "AssignVariableOp", {v.ref, value}, name);
}
Value assign_add(const VariableNode& v, Value value, std::string_view name) {
  return change(v, "AssignAdd", "AssignAddVariableOp", {v.ref, value}, name);
}
Value assign_sub(const VariableNode& v, Value value, std::string_view name) {
  return change(v, "AssignSub", "AssignSubVariableOp", {v.ref, value}, name);
}

Value scatter(std::string_view update, const VariableNode& v, Value indices, Value updates) {
  const std::string ref = str_cat("Scatter", update);
  const std::string resource = str_cat("ResourceScatter", update);
  return change(v, ref.c_str(), resource.c_str(), {v.ref, indices, updates}, ref);
}
Value scatter_nd(std::string_view update, const VariableNode& v, Value indices, Value updates) {
  return scatter(str_cat("Nd", update), v, indices, updates);
}

Value is_initialized(const VariableNode& v, std::string_view name) {
  return change(v, "IsVariableInitialized", "VarIsInitializedOp", {v.ref}, name);
}

Value read_value(const VariableNode& v, std::string_view name) {
  if (!v.ref.valid()) return {};
  if (v.is_resource()) return v.ref.graph().add("ReadVariableOp", {v.ref}, {{"dtype", v.dtype()}}, name);
  return change(v, "Identity", "", {v.ref}, name);
}

Value count_up_to(const VariableNode& v, std::int64_t limit, std::string_view name) {
  AttrMap attrs = {{"limit", limit}};
  if (v.is_resource()) attrs.set("T", v.dtype());
  return change(v, "CountUpTo", "ResourceCountUpTo", {v.ref}, name, std::move(attrs));
}

}  // namespace argosy
