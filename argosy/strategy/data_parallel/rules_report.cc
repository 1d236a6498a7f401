#include "argosy/strategy/data_parallel/rules_report.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "argosy/strategy/analysis/reachability.h"
#include "argosy/strategy/data_parallel/step_summary.h"

namespace argosy {

namespace {

bool updates_variable(const ReplicationReportInput& step, Graph::Use use) {
  return use.node != kFetch && !step.rules.rule(use.node).updates.empty();
}

// True if an optimizer's update reads the value: it is a gradient.
bool is_gradient(const ReplicationReportInput& step, const Reshard& r) {
  return std::any_of(r.users.begin(), r.users.end(), [&](const Graph::Use& use) {
    return use.node != kFetch && step.base.node(use.node).op->update.has_value();
  });
}

// True if every path from these users ends in an update of a variable. On the way, rows may be scaled, or rows of equal
// index added up.
bool ends_in_updates(const ReplicationReportInput& step, const std::vector<Graph::Use>& users) {
  const Graph::Uses uses = step.base.consumers();
  std::vector<char> seen(static_cast<std::size_t>(step.base.size()), 0);
  for (const Endpoint loss : step.losses) seen[static_cast<std::size_t>(loss.node.index)] = 2;
  std::vector<NodeId> open;
  for (const Graph::Use& use : users) {
    if (use.node == kFetch) return false;
    if (!updates_variable(step, use)) open.push_back(use.node);
  }
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    char& own = seen[static_cast<std::size_t>(id.index)];
    if (own == 2) return false;
    if (std::exchange(own, 1) == 1) continue;
    bool read = false;
    for (const Graph::Use& use : uses[id.index]) {
      if (use.input < 0) continue;
      read = true;
      if (!updates_variable(step, use)) open.push_back(use.node);
    }
    if (!read) return false;
  }
  return true;
}

// True if the value is gathered for updates of variables: rows of a sparse gradient.
bool joins_rows(const ReplicationReportInput& step, const LoweredCollective& c) {
  if (c.op != "all-gather") return false;
  for (const Reshard& r : step.assignment.reshards) {
    if (r.value == c.value && r.to.is_replicate()) return ends_in_updates(step, r.users);
  }
  return false;
}

const Reshard& point(const ReplicationReportInput& step, int k) {
  return step.assignment.reshards[step.points[static_cast<std::size_t>(k)]];
}

std::string why_of(const ReplicationReportInput& step, const std::vector<int>& members) {
  const auto gradients =
      std::count_if(members.begin(), members.end(), [&](int k) { return is_gradient(step, point(step, k)); });
  if (gradients == std::ssize(members)) {
    return str_cat(gradients == 1 ? "gradient of a variable" : "gradients of variables", " that every device updates");
  }
  if (gradients > 0) return "gradients of variables that every device updates, and values of the global batch";
  return str_cat(members.size() == 1 ? "a value" : "values", " of the global batch: ", point(step, members[0]).why);
}

// Returns the name of the value's node. For a node that was added, it is the name of the caller's node for which it
// was.
std::string name_of(const ReplicationReportInput& step, Endpoint e) {
  NodeId id = e.node;
  while (id.index >= step.original && !step.base.node(id).inputs.empty()) id = step.base.node(id).inputs[0].node;
  return std::string(step.base.node(id).name);
}

std::string copies_of(const ReplicationReportInput& step, NodeId id) {
  if (!step.lowered.is_copied(id)) return "once";
  const std::size_t devices = step.layout.devices.size();
  const std::string each = devices == 1 ? std::string("one") : str_cat("one on each of ", devices, " devices");
  if (!step.lowered.is_per_shard(id)) return devices == 1 ? each : str_cat(each, ", all equal");
  return static_cast<std::size_t>(step.layout.shards()) == devices
             ? str_cat(each, ", of the device's examples")
             : str_cat(step.layout.shards(), ", of a shard's examples each");
}

}  // namespace

namespace {

bool has_reshard(const ReplicationReportInput& step, Graph::Use use, const std::function<bool(const Reshard&)>& is) {
  return std::any_of(step.assignment.reshards.begin(), step.assignment.reshards.end(), [&](const Reshard& r) {
    const auto same = [&](const Graph::Use& u) { return u.node == use.node && u.input == use.input; };
    return is(r) && std::any_of(r.users.begin(), r.users.end(), same);
  });
}
bool arrives_combined(const ReplicationReportInput& step, Graph::Use use) {
  return has_reshard(step, use, [](const Reshard& r) { return r.from.is_partial() && r.to.is_replicate(); });
}
bool becomes_partial(const ReplicationReportInput& step, Graph::Use use) {
  return has_reshard(step, use, [](const Reshard& r) { return r.to.is_partial(); });
}

// Returns flags by node: not 0 if it is replicated and computed from sums over shards.
std::vector<char> find_made_of_sums(const ReplicationReportInput& step) {
  std::vector<NodeId> takers;
  for (const Reshard& r : step.assignment.reshards) {
    for (const Graph::Use& use : r.users) {
      if (r.from.is_partial() && r.to.is_replicate() && use.node != kFetch) takers.push_back(use.node);
    }
  }
  std::vector<char> made = descendants(step.base, takers);
  for (std::int32_t i = 0; i < step.base.size(); ++i) {
    const bool has_value = !step.base.node(NodeId{i}).output_dtypes.empty();
    if (!has_value || !step.assignment.layout({NodeId{i}, 0})[0].is_replicate()) made[static_cast<std::size_t>(i)] = 0;
  }
  return made;
}

// Finds how partial values combine, recursively from the inputs of their nodes. Values around a loop are visited once.
class Combination {
 public:
  explicit Combination(const ReplicationReportInput& step) : step_(step), made_of_sums_(find_made_of_sums(step)) {}

  // nullopt: the value is being visited already.
  std::optional<PlacementKind> of(Endpoint value) {
    const auto [known, fresh] = known_.try_emplace(value);
    if (!fresh) return known->second;
    const PlacementKind found = find(value);
    known_[value] = found;
    return found;
  }

 private:
  PlacementKind find(Endpoint value) {
    const Placement& p = step_.assignment.layout(value)[0];
    if (p.is_shard()) return PlacementKind::kShard;
    const Node& n = step_.base.node(value.node);
    const NodeSharding& sharding = step_.assignment.shardings[static_cast<std::size_t>(value.node.index)][0];
    if (!p.is_partial() || n.inputs.empty()) return PlacementKind::kReplicate;
    if (sharding.kind == NodeSharding::Kind::kFactor) {
      const FactorRole role = step_.rules.rule(value.node).factors[static_cast<std::size_t>(sharding.index)].role;
      if (role == FactorRole::kMean) return PlacementKind::kPartialMean;
      return role == FactorRole::kSum ? PlacementKind::kPartialSum : PlacementKind::kReplicate;
    }
    if (sharding.kind != NodeSharding::Kind::kLinear && sharding.kind != NodeSharding::Kind::kPass)
      return PlacementKind::kReplicate;
    std::vector<PlacementKind> kinds;
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const Endpoint e = n.inputs[i];
      const Graph::Use use{value.node, static_cast<int>(i)};
      // Divided by a sum, or added to what is made of sums.
      if (arrives_combined(step_, use)) return PlacementKind::kPartialWeighted;
      if (made_of_sums_[static_cast<std::size_t>(e.node.index)] != 0) {
        return becomes_partial(step_, use) ? PlacementKind::kReplicate : PlacementKind::kPartialWeighted;
      }
      if (!step_.assignment.layout(e)[0].is_partial()) continue;
      if (const auto part = of(e)) kinds.push_back(*part);
    }
    if (kinds.empty()) return PlacementKind::kReplicate;
    const bool alike = std::all_of(kinds.begin(), kinds.end(), [&](PlacementKind k) { return k == kinds[0]; });
    return alike ? kinds[0] : PlacementKind::kPartialSum;
  }

  const ReplicationReportInput& step_;
  const std::vector<char> made_of_sums_;
  std::map<Endpoint, std::optional<PlacementKind>> known_;
};

}  // namespace

PlacementKind combines_as(const ReplicationReportInput& step, Endpoint value) {
  return Combination(step).of(value).value_or(PlacementKind::kReplicate);
}

bool gathers_whole(const ReplicationReportInput& step) {
  const auto& all = step.lowered.collectives();
  return std::any_of(all.begin(), all.end(),
                     [&](const LoweredCollective& c) { return c.op == "all-gather" && !joins_rows(step, c); });
}

std::string summary_of(const ReplicationReportInput& step, const std::vector<ReplicationNote>& notes) {
  StepSummary told{.layout = step.layout, .zero = step.zero, .notes = notes};
  for (const Endpoint loss : step.losses) told.losses.push_back(combines_as(step, loss));
  told.sums = step.points.size() - static_cast<std::size_t>(step.zero != nullptr ? step.zero->sums : 0);
  told.bucket_bytes = step.replicas.bucket_bytes;
  for (const LoweredCollective& c : step.lowered.collectives()) {
    const bool joined = joins_rows(step, c);
    told.joined += joined ? 1 : 0;
    told.gathered += joined ? 0 : 1;
  }
  return summary_text(told);
}

std::vector<PlannedCollective> collectives_of(const ReplicationReportInput& step) {
  std::vector<PlannedCollective> all;
  const auto bytes_of = [&](PlannedCollective& told, Endpoint e) {
    const double bytes = step.sizes.bytes(e, 1);
    const bool known = step.sizes.bytes(e, 2) == bytes && told.bytes >= 0;
    told.bytes = known ? told.bytes + static_cast<std::int64_t>(bytes) : -1;
  };
  const auto bucket = [&](const std::vector<int>& members, const char* op, std::string why) {
    PlannedCollective told{.op = op,
                           .value = name_of(step, point(step, members[0]).value),
                           .values = static_cast<int>(members.size()),
                           .why = std::move(why)};
    for (const int k : members) bytes_of(told, point(step, k).value);
    all.push_back(std::move(told));
  };
  for (const auto& members : step.replicas.buckets) bucket(members, "all-reduce", why_of(step, members));
  if (step.zero != nullptr) {
    for (const auto& members : step.zero->scatters) {
      bucket(members, "reduce-scatter",
             str_cat(members.size() == 1 ? "gradient of a variable" : "gradients of variables",
                     " of which each device updates its shard"));
    }
    for (const auto& variables : step.zero->gathers) {
      PlannedCollective told{.op = "all-gather",
                             .value = name_of(step, {variables[0], 0}),
                             .values = static_cast<int>(variables.size()),
                             .why = "each device has updated its shard, and the next step reads all of it"};
      for (const NodeId id : variables) {
        const HandleFact* const behind = step.base.handle({id, 0});
        const PartialShape& shape = behind != nullptr ? behind->shape : step.base.shape({id, 0});
        const DType dtype = behind != nullptr ? behind->dtype : step.base.dtype({id, 0});
        const bool known = shape.is_full() && told.bytes >= 0;
        told.bytes = known ? told.bytes + shape.elements() * static_cast<std::int64_t>(element_bytes(dtype)) : -1;
      }
      all.push_back(std::move(told));
    }
  }
  for (const LoweredCollective& c : step.lowered.collectives()) {
    all.push_back(
        {.op = c.op,
         .value = name_of(step, c.value),
         .bytes = c.bytes,
         .why = joins_rows(step, c) ? "an update takes the rows of all shards: it is no sum over the batch" : c.why});
  }
  return all;
}

std::vector<PlannedWhole> whole_of(const ReplicationReportInput& step) {
  std::vector<PlannedWhole> all;
  for (const WholeNode& w : step.assignment.whole) {
    const Node& n = step.base.node(w.node);
    all.push_back({.node = std::string(n.name), .op = n.op->name, .why = w.why});
  }
  return all;
}

namespace {

std::string why_there(const ReplicationReportInput& step, NodeId id) {
  if (!step.lowered.is_copied(id)) {
    return step.assignment.shardings[static_cast<std::size_t>(id.index)][0].kind == NodeSharding::Kind::kGiven
               ? "it is fed with the global batch, which is split along axis 0"
               : "no step of training computes it from the batch, or it keeps state that exists once";
  }
  if (!step.lowered.is_per_shard(id)) {
    return "every device needs it, and the batch does not reach it but through collectives";
  }
  if (step.base.node(id).output_dtypes.empty()) return "it has no value";
  const Placement& p = step.assignment.layout({id, 0})[0];
  if (p.is_shard()) return str_cat("its axis ", static_cast<int>(p.dim), " counts examples");
  if (p.is_partial() && p.combine != Combine::kSum) {
    return str_cat("it is the ", p.combine == Combine::kMax ? "largest" : "smallest", " of a shard's examples");
  }
  if (p.is_local()) return "it is made of statistics of a shard's own examples";
  if (!p.is_partial()) return "it is computed from the batch, and equal on all devices";
  return combines_as(step, {id, 0}) == PlacementKind::kPartialMean
             ? "it is a mean over a shard's examples, times their part of the batch"
             : "it is a sum over a shard's examples: a part of the global sum";
}

}  // namespace

PlannedNode planned_of(const ReplicationReportInput& step, NodeId id) {
  const Node& n = step.base.node(id);
  std::string layouts;
  for (const Layout& l : step.assignment.layouts[static_cast<std::size_t>(id.index)]) {
    layouts += (layouts.empty() ? "" : ", ") + to_string(l);
  }
  return {.node = std::string(n.name),
          .op = n.op->name,
          .copies = copies_of(step, id),
          .why = str_cat(why_there(step, id), "; its rule: ", to_string(step.rules.rule(id)),
                         layouts.empty() ? "" : "; it gives " + layouts)};
}

}  // namespace argosy
