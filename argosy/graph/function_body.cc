#include "argosy/graph/function_body.h"

#include <algorithm>

namespace argosy {

bool has_effect(const Node& node) {
  if (node.op->has_ref_input()) return !node.op->forwards && node.op->flow == Flow::kNone;
  return node.op->stateful && !node.inputs.empty() && !node.op->forwards;
}

FunctionBody::FunctionBody(Graph& graph, std::string_view name) : outer_(graph.current()) {
  function_ = std::make_shared<Function>(Function{.name = outer_.new_function_name(name), .body = Graph(outer_.ops())});
  Graph& body = function_->body;
  body.body_ = this;
  body.function_prefix_ = function_->name + "/";
  outer_.inner_ = &body;
}

FunctionBody::~FunctionBody() { close(); }

void FunctionBody::close() {
  if (!open_) return;
  open_ = false;
  outer_.inner_ = nullptr;
  function_->body.body_ = nullptr;
}

// Into this very graph, whatever body is open in it and whatever scopes are in force: captures are asked for in the
// middle of other things.
Value FunctionBody::add_plainly(Graph& graph, std::string_view op, std::vector<Value> inputs, AttrMap attrs,
                                std::string_view name) {
  Graph* const inner = std::exchange(graph.inner_, nullptr);
  const auto prefix = std::exchange(graph.name_prefix_, {});
  const auto device = std::exchange(graph.device_, {});
  const auto controls = std::exchange(graph.control_scope_, {});
  const auto colocated_with = std::exchange(graph.colocation_, {});
  const Value added = graph.add(op, std::move(inputs), std::move(attrs), name);
  graph.inner_ = inner;
  graph.name_prefix_ = prefix;
  graph.device_ = device;
  graph.control_scope_ = controls;
  graph.colocation_ = colocated_with;
  return added;
}

Value FunctionBody::add_parameter(DType dtype, PartialShape shape, const HandleFact* refers_to, std::string_view name) {
  AttrMap attrs = {{"T", dtype}, {"index", function_->args.size()}, {"shape", std::move(shape)}};
  if (refers_to != nullptr) {
    attrs.set("_handle_dtype", refers_to->dtype);
    attrs.set("_handle_shape", refers_to->shape);
  }
  const Value arg = add_plainly(function_->body, "_Arg", {}, std::move(attrs), name);
  if (arg.valid()) function_->args.push_back(arg.node());
  return arg;
}

Value FunctionBody::parameter(DType dtype, PartialShape shape, const HandleFact* refers_to) {
  return add_parameter(dtype, std::move(shape), refers_to, "arg");
}

Value FunctionBody::parameter_like(const Value& outer, PartialShape shape) {
  if (!outer.valid()) return {};
  const bool ref = outer.graph().node(outer.node()).output_is_ref(outer.index());
  const HandleFact variable{outer.dtype(), outer.shape()};
  const HandleFact* fact = ref ? &variable : outer.graph().handle(outer.endpoint());
  const Value arg = add_parameter(ref ? DType::kResource : outer.dtype(),
                                  ref ? PartialShape::scalar() : std::move(shape), fact, "arg");
  return from_argument(arg, outer);
}

// A reference travels as its handle.
Value FunctionBody::as_argument(const Value& outer) {
  const bool ref = outer.graph().node(outer.node()).output_is_ref(outer.index());
  if (!ref) return outer;
  return add_plainly(outer_, "_RefToHandle", {outer}, {}, str_cat(outer.node_name(), "/handle"));
}

Value FunctionBody::from_argument(Value parameter, const Value& outer) {
  if (!parameter.valid() || !outer.graph().node(outer.node()).output_is_ref(outer.index())) return parameter;
  return add_plainly(function_->body, "_HandleToRef", {parameter}, {{"T", outer.dtype()}}, outer.node_name());
}

Value FunctionBody::capture(const Value& outer) {
  const Node& from = outer.graph().node(outer.node());
  if (const Tensor* value = outer.graph().constant(outer.endpoint())) {
    return add_plainly(function_->body, "Const", {}, {{"value", *value}, {"dtype", value->dtype()}}, from.name);
  }
  const Value argument = as_argument(outer);
  if (!argument.valid()) return {};
  const bool ref = from.output_is_ref(outer.index());
  const HandleFact variable{outer.dtype(), outer.shape()};
  const HandleFact* fact = ref ? &variable : outer.graph().handle(outer.endpoint());
  captures_.push_back(argument);
  const Value arg = add_parameter(argument.dtype(), argument.shape(), fact, str_cat("in/", from.name));
  return from_argument(arg, outer);
}

Value FunctionBody::local(const Value& v) {
  if (!v.valid() || &v.graph() == &function_->body) return v;
  Value outer = v;
  if (&v.graph() != &outer_) {
    if (outer_.body_ == nullptr) return {};  // of no graph around this one
    outer = outer_.body_->local(v);
    if (!outer.valid()) return {};
  }
  const auto known = std::find_if(seen_.begin(), seen_.end(), [&](const auto& s) { return s.first == outer; });
  if (known != seen_.end()) return known->second;
  if (outer.index() == Value::kControl) {
    control_captures_.push_back(outer);
    return {};
  }
  const Value here = capture(outer);
  if (here.valid()) seen_.emplace_back(outer, here);
  return here;
}

std::shared_ptr<Function> FunctionBody::finish(const std::vector<Value>& returns) {
  for (const Value& r : returns) {
    const Value here = local(r);
    if (here.valid() && here.index() == Value::kControl) {
      function_->control_returns.push_back(here.node());
      continue;
    }
    if (!here.valid()) {
      function_->body.fail(
          invalid_argument("function \"", name(), "\" returns no value at position ", function_->returns.size()));
      break;
    }
    function_->returns.push_back(here.endpoint());
  }
  close();
  Graph& body = function_->body;
  auto& controls = function_->control_returns;
  for (std::int32_t i = 0; i < body.size(); ++i) {
    const bool listed = std::find(controls.begin(), controls.end(), NodeId{i}) != controls.end();
    if (!listed && has_effect(body.node({i}))) controls.push_back({i});
  }
  if (!body.status().ok()) outer_.fail(body.status());
  for (const auto& [made, inside] : body.functions()) outer_.add_function(inside);
  outer_.add_function(function_);
  return function_;
}

Result<const Function*> find_function(const Graph& graph, std::string_view name, std::size_t inputs,
                                      std::size_t outputs) {
  const Function* f = graph.function(name);
  if (f == nullptr) return not_found("there is no function \"", name, "\"").with_id("ARG-FN-005");
  if (f->args.size() != inputs || f->returns.size() != outputs) {
    return invalid_argument("function \"", name, "\" takes ", f->args.size(), " and gives ", f->returns.size(),
                            " values; its caller gives ", inputs, " and takes ", outputs)
        .with_id("ARG-FN-006");
  }
  return f;
}

}  // namespace argosy
