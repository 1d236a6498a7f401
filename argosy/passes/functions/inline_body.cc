#include "argosy/passes/functions/inline_body.h"

#include <algorithm>

#include "argosy/base/threads/interrupt.h"
#include "argosy/graph/function_body.h"
#include "argosy/passes/functions/lower_functions.h"

namespace argosy::lowering {

namespace {

std::vector<char> needed_nodes(const Function& f) {
  std::vector<char> needed(static_cast<std::size_t>(f.body.size()), 0);
  std::vector<NodeId> stack;
  const auto need = [&](NodeId id) {
    if (!needed[id.index]) {
      needed[id.index] = 1;
      stack.push_back(id);
    }
  };
  for (const Endpoint e : f.returns) need(e.node);
  for (const NodeId id : f.control_returns) need(id);
  while (!stack.empty()) {
    const Node& n = f.body.node(stack.back());
    stack.pop_back();
    for (const Endpoint e : n.inputs) need(e.node);
    for (const NodeId c : n.controls) need(c);
  }
  return needed;
}

std::string joined_device(const std::string& caller, const std::string& node) {
  if (caller.empty() || node.empty()) return caller.empty() ? node : caller;
  return str_cat(caller, ";", node);
}

}  // namespace

void Inliner::begin(NodeId caller, int depth) {
  caller_ = caller;
  caller_name_ = graph_.node(caller).name;
  caller_device_ = graph_.node(caller).device;
  depth_ = depth;
}

void Inliner::move_to(const std::string& device) { caller_device_ = joined_device(caller_device_, device); }

Status Inliner::count() {
  constexpr std::int64_t kTogether = 4096, kBytesOfNode = 2048;
  check_interrupted();
  if (++added_ > options_.max_nodes) {
    return resource_exhausted("the functions called grow the graph by more than ", options_.max_nodes, " nodes")
        .with_id("ARG-FN-007")
        .with_hint("loops (While) in place of functions that call each other again and again");
  }
  if (added_ % kTogether != 0) return ok_status();
  ARGOSY_ASSIGN_OR_RETURN(auto reserved, host_budget().reserve(HostUse::kFunctions, kTogether * kBytesOfNode,
                                                               str_cat("putting functions in place of their callers, ",
                                                                       added_, " nodes so far, which")));
  reserved_.push_back(std::move(reserved));
  return ok_status();
}

Result<NodeId> Inliner::add(std::string_view op, std::vector<Endpoint> inputs, AttrMap attrs, std::string_view name,
                            std::vector<NodeId> controls, std::vector<PartialShape> shapes) {
  ARGOSY_RETURN_IF_ERROR(count());
  ARGOSY_ASSIGN_OR_RETURN(const OpDef* const def, graph_.ops().lookup(op));
  std::vector<DType> dtypes;
  for (const Endpoint e : inputs) dtypes.push_back(graph_.dtype(e));
  // The head of a loop has an input that is yet to come.
  const std::int64_t n = attrs.get_or("N", static_cast<std::int64_t>(dtypes.size()));
  if (op == "Merge") dtypes.resize(static_cast<std::size_t>(n), dtypes[0]);
  ARGOSY_RETURN_IF_ERROR(complete_attrs(*def, dtypes, attrs));
  return graph_.add_node({.name = graph_.unique_name(str_cat(caller_name_, "/", name)),
                          .op = std::string(op),
                          .inputs = std::move(inputs),
                          .controls = std::move(controls),
                          .attrs = std::move(attrs),
                          .device = caller_device_,
                          .shapes = std::move(shapes)});
}

Result<Endpoint> Inliner::constant(Tensor value) {
  const DType dtype = value.dtype();
  ARGOSY_ASSIGN_OR_RETURN(const NodeId id, add("Const", {}, {{"value", std::move(value)}, {"dtype", dtype}}, "const"));
  return Endpoint{id, 0};
}

bool Inliner::is_free(const Node& n) {
  if (!n.controls.empty() || !n.inputs.empty()) return false;
  if (n.op->name == "Const") return true;
  return n.op->stateful && n.output_dtypes.size() == 1 &&
         (n.output_is_ref(0) || n.output_dtypes[0] == DType::kResource);
}

NodeId Inliner::gate_of(const Node& caller) const {
  for (const Endpoint e : caller.inputs) {
    if (!always_alive(e)) return e.node;
  }
  return {};
}

Result<Endpoint> Inliner::gated(Endpoint x) {
  const Node& caller = graph_.node(caller_);
  std::vector<NodeId> controls = caller.controls;
  const NodeId gate = always_alive(x) ? gate_of(caller) : NodeId{};
  if (gate.index >= 0) controls.push_back(gate);
  if (controls.empty()) return x;
  ARGOSY_ASSIGN_OR_RETURN(const NodeId late, add("Identity", {x}, {}, "in", std::move(controls)));
  return Endpoint{late, 0};
}

Status Inliner::copy_node(const Graph& body, NodeId id, NodeId pivot, const std::string& prefix,
                          std::vector<Endpoint>& copies, std::vector<char>& guarded,
                          std::vector<std::pair<NodeId, Endpoint>>& open) {
  ARGOSY_RETURN_IF_ERROR(count());
  const Node& n = body.node(id);
  NodeSpec spec{.name = graph_.unique_name(str_cat(prefix, n.name)),
                .op = n.op->name,
                .attrs = n.attributes(),
                .device = joined_device(caller_device_, n.device)};
  bool alive_only = true;  // does it depend on nothing that could be dead?
  std::vector<Endpoint> back_edges;
  for (const Endpoint e : n.inputs) {
    const Endpoint from = copies[e.node.index];
    if (from.node.index < 0) {  // from a NextIteration further on
      back_edges.push_back(e);
      continue;
    }
    // A parameter stands for one endpoint, a node for all of its own.
    spec.inputs.push_back(body.node(e.node).op->name == "_Arg" ? from : Endpoint{from.node, e.index});
    alive_only = alive_only && !guarded[e.node.index];
  }
  for (const NodeId c : n.controls) {
    if (body.node(c).op->name == "_Arg" || copies[c.index].node.index < 0) continue;
    spec.controls.push_back(copies[c.index].node);
    alive_only = alive_only && !guarded[c.index];
  }
  const bool free = is_free(n);
  if (alive_only && !free && pivot.index >= 0) spec.controls.push_back(pivot);
  guarded[id.index] = !free && (!alive_only || pivot.index >= 0);
  if (const auto* classes = spec.attrs.find_as<std::vector<std::string>>("_class")) {
    std::vector<std::string> renamed;
    for (const std::string& c : *classes) {
      const auto other = c.starts_with("loc:@") ? body.find(c.substr(5)) : std::nullopt;
      if (!other) {
        renamed.push_back(c);
      } else if (copies[other->index].node.index >= 0) {
        renamed.push_back(str_cat("loc:@", graph_.node(copies[other->index].node).name));
      }
    }
    if (renamed.empty()) {
      spec.attrs.erase("_class");
    } else {
      spec.attrs.set("_class", std::move(renamed));
    }
  }
  if (!back_edges.empty()) spec.shapes = n.output_shapes;
  auto added = graph_.add_node(std::move(spec));
  if (!added.ok())
    return std::move(added).status().with_where(str_cat("node '", prefix, n.name, "' (", n.op->name, ")"));
  copies[id.index] = {*added, 0};
  for (const Endpoint e : back_edges) open.emplace_back(*added, e);
  if (n.op->calls != Calls::kNothing) to_lower.emplace_back(*added, depth_ + 1);
  return ok_status();
}

Result<Body> Inliner::put(const std::string& function, const std::vector<Endpoint>& args, std::size_t outputs,
                          NodeId pivot, std::string_view label, bool guard_returns) {
  if (depth_ >= options_.max_depth) {
    return invalid_argument("functions call each other more than ", depth_, " deep, \"", function, "\" among them")
        .with_id("ARG-FN-008");
  }
  ARGOSY_ASSIGN_OR_RETURN(const Function* const f, find_function(graph_, function, args.size(), outputs));
  const std::string prefix = label.empty() ? caller_name_ + "/" : str_cat(caller_name_, "/", label, "/");
  const std::vector<char> needed = needed_nodes(*f);
  ARGOSY_ASSIGN_OR_RETURN(const auto order, f->body.topological_order());
  std::vector<Endpoint> copies(needed.size());
  std::vector<char> guarded(needed.size(), 0);
  std::vector<std::pair<NodeId, Endpoint>> open;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const DType wanted = f->body.dtype({f->args[i], 0});
    if (graph_.dtype(args[i]) != wanted) {
      return invalid_argument("function \"", function, "\" takes ", dtype_name(wanted), " at position ", i, ", not ",
                              dtype_name(graph_.dtype(args[i])));
    }
    copies[f->args[i].index] = args[i];
    guarded[f->args[i].index] = !always_alive(args[i]);
  }
  for (const NodeId id : order) {
    if (!needed[id.index] || copies[id.index].node.index >= 0) continue;
    ARGOSY_RETURN_IF_ERROR(copy_node(f->body, id, pivot, prefix, copies, guarded, open));
  }
  for (const auto& [merge, from] : open) graph_.add_input(merge, {copies[from.node.index].node, from.index});
  Body put;
  for (const Endpoint e : f->returns) {
    const bool parameter = f->body.node(e.node).op->name == "_Arg";
    Endpoint there = parameter ? copies[e.node.index] : Endpoint{copies[e.node.index].node, e.index};
    if (guard_returns && !guarded[e.node.index] && pivot.index >= 0) {
      ARGOSY_ASSIGN_OR_RETURN(const NodeId late, add("Identity", {there}, {}, "value", {pivot}));
      there = {late, 0};
    }
    put.returns.push_back(there);
  }
  for (const NodeId id : f->control_returns) put.effects.push_back(copies[id.index].node);
  return put;
}

}  // namespace argosy::lowering
