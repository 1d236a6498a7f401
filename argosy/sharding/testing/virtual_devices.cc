#include "argosy/sharding/testing/virtual_devices.h"

#include "argosy/op/state/variable.h"
#include "argosy/sharding/testing/virtual_step.h"

namespace argosy {

VirtualDevices::VirtualDevices(const Graph& graph, const Sizes& sizes, const RuleTable& rules, const MeshAxis& axis,
                               const Assignment& assignment)
    : graph_(graph), sizes_(sizes), rules_(rules), axis_(axis), a_(assignment) {
  for (const Reshard& r : a_.reshards) {
    for (const Graph::Use& use : r.users) reshards_[{use.node, use.input}].push_back(&r);
  }
  for (int d = 0; d < axis.size; ++d) resources_.push_back(std::make_shared<ResourceManager>());
}

Status VirtualDevices::run(const std::map<Endpoint, Tensor>& feeds, const std::vector<NodeId>& targets) {
  values_.clear();
  return VirtualStep(*this, feeds).run(targets);
}

Result<std::map<VirtualDevices::Name, Tensor>> VirtualDevices::values() const {
  std::map<Name, Tensor> all;
  for (const auto& [name, shards] : values_) {
    const Endpoint e = name.first;
    const Placement& p = a_.layout(e)[0];
    const bool handle =
        shards[0].valid() && (shards[0].dtype() == DType::kResource || shards[0].dtype() == DType::kVariant);
    if (handle || !shards[0].valid() || p.kind == Placement::Kind::kVarying) continue;
    auto global = join_value(shards, p, axis_);
    if (!global.ok()) {
      const Node& n = graph_.node(e.node);
      return std::move(global).status().with_where(
          str_cat("output ", e.index, " of '", n.name, "' (", n.op->name, "), ", to_string(p)));
    }
    all.emplace(name, *std::move(global));
  }
  return all;
}

Result<Tensor> VirtualDevices::fetch(int number, Endpoint e) const {
  const auto found = values_.find({e, ""});
  if (found == values_.end()) return not_found("fetch ", number, " was not computed");
  Shards shards = found->second;
  Placement p = a_.layout(e)[0];
  if (const auto changes = reshards_.find({kFetch, number}); changes != reshards_.end()) {
    for (const Reshard* r : changes->second) {
      ARGOSY_ASSIGN_OR_RETURN(shards, reshard_value(shards, r->from, r->to, axis_));
      p = r->to;
    }
  }
  const bool whole = p.is_replicate() || p.kind == Placement::Kind::kOnce;
  if (!whole) return invalid_argument("fetch ", number, " is ", to_string(p), " at the end");
  return join_value(shards, p, axis_);
}

Result<Tensor> VirtualDevices::variable(Endpoint reference) const {
  const Node& n = graph_.node(reference.node);
  const std::string shared = n.attrs.get_or<std::string>("shared_name", "");
  const std::string name = shared.empty() ? std::string(n.name) : shared;
  Shards shards;
  for (const auto& resources : resources_) {
    std::shared_ptr<Variable> found;
    for (const auto& [resource_name, resource] : resources->list()) {
      if (resource_name == name) found = std::dynamic_pointer_cast<Variable>(resource);
    }
    if (!found) return not_found("no variable '", name, "'");
    ARGOSY_ASSIGN_OR_RETURN(Tensor value, found->read(name));
    shards.push_back(std::move(value));
  }
  return join_value(shards, a_.layout(reference)[0], axis_);
}

Assignment all_replicated(const Graph& graph) {
  Assignment a;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    a.layouts.emplace_back(n.output_dtypes.size(), Layout(1));
    a.shardings.push_back({NodeSharding{n.inputs.empty() ? NodeSharding::Kind::kGiven : NodeSharding::Kind::kWhole}});
  }
  return a;
}

}  // namespace argosy
