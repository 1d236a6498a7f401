#include "argosy/passes/place/resolve_collective_groups.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "argosy/device/name.h"
#include "argosy/ops/evaluate.h"
#include "argosy/passes/has_op.h"

namespace argosy {

namespace {

struct Found {
  NodeId id;
  GroupMember member;
  DeviceName device;
};

std::string named(const Graph& graph, const Found& f) {
  const Node& n = graph.node(f.id);
  return str_cat("'", n.name, "' (", n.op->name, n.device.empty() ? "" : ", ", n.device, ")");
}

// Those that functions were put into ask for several names, the innermost last.
Result<DeviceName> device_of(const Node& n) {
  DeviceName device;
  for (const std::string& part : str_split(n.device, ';')) {
    ARGOSY_ASSIGN_OR_RETURN(const DeviceName inner, DeviceName::parse(part));
    device = inner.filled_from(device);
  }
  return device;
}

bool before(const Found& a, const Found& b) {
  const auto key = [](const Found& f) {
    const DeviceName& d = f.device;
    return std::tuple(d.job, d.replica.value_or(-1), d.task.value_or(-1), d.type, d.id.value_or(-1), f.id.index);
  };
  return key(a) < key(b);
}

// Its members know each other by numbers, which those of other steps can tell as well.
bool has_keys(const OpDef& op) {
  if (op.attr("group_key") != nullptr) return true;
  return std::ranges::any_of(op.input_args, [](const ArgDef& input) { return input.name == "group_key"; });
}

class Joiner {
 public:
  Joiner(Graph& graph, bool over_tasks) : graph_(graph), over_tasks_(over_tasks) {}

  Result<int> run() {
    std::map<std::string, std::vector<Found>> groups;
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const Node& n = graph_.node({i});
      if (n.op->group == nullptr) continue;
      Result<Found> found = find({i});
      if (!found.ok()) {
        // The kernel reads keys that are computed.
        if (over_tasks_ && found.status().id() == "ARG-GROUP-001") continue;
        return std::move(found).status().with_where(str_cat("node '", n.name, "' (", n.op->name, ")"));
      }
      groups[found->member.group].push_back(*std::move(found));
    }
    int joined = 0;
    for (auto& [group, members] : groups) {
      if (over_tasks_ && meet_others(members)) continue;
      ARGOSY_RETURN_IF_ERROR(check(group, members));
      std::sort(members.begin(), members.end(), before);
      ARGOSY_ASSIGN_OR_RETURN(const std::size_t rounds, rounds_of(group, members));
      for (std::size_t round = 0; round < rounds; ++round) ARGOSY_RETURN_IF_ERROR(join(group, members, round, rounds));
      joined += static_cast<int>(rounds);
    }
    return joined;
  }

 private:
  Result<Found> find(NodeId id) const {
    const Node& n = graph_.node(id);
    std::vector<const PartialInts*> ints;
    std::vector<std::optional<PartialInts>> computed(n.inputs.size());
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const PartialInts* known = graph_.known_ints(n.inputs[i]);
      if (known == nullptr && (computed[i] = compute(n.inputs[i]))) known = &*computed[i];
      ints.push_back(known);
    }
    Found found{.id = id};
    ARGOSY_ASSIGN_OR_RETURN(found.member, n.op->group(n.attrs, ints));
    ARGOSY_ASSIGN_OR_RETURN(found.device, device_of(n));
    return found;
  }

  // Of an op that can tell integers, from constants that are no vectors.
  std::optional<PartialInts> compute(Endpoint e) const {
    const Node& n = graph_.node(e.node);
    if (n.op->known_ints == nullptr || n.op->async || n.op->flow != Flow::kNone) return std::nullopt;
    std::vector<Tensor> inputs;
    for (const Endpoint from : n.inputs) {
      const Tensor* const value = graph_.constant(from);
      if (value == nullptr) return std::nullopt;
      inputs.push_back(*value);
    }
    const auto outputs = evaluate_op(*n.op, n.attrs, inputs, {.reference = true});
    if (!outputs.ok()) return std::nullopt;
    const auto ints = to_int64s((*outputs)[static_cast<std::size_t>(e.index)], "key");
    if (!ints.ok()) return std::nullopt;
    return PartialInts(ints->begin(), ints->end());
  }

  Status check(const std::string& group, const std::vector<Found>& members) const {
    const Found& first = members[0];
    for (const Found& f : members) {
      if (f.member.size != first.member.size) {
        return Status(Code::kInternal, str_cat(named(graph_, f), " says that ", group, " has ", f.member.size,
                                               " members, ", named(graph_, first), " that it has ", first.member.size))
            .with_id("ARG-GROUP-002")
            .with_hint("give all members of a group the same size");
      }
      if (f.member.what == first.member.what) continue;
      return Status(Code::kInternal, str_cat(named(graph_, f), " of ", group, " wants ", f.member.what, ", ",
                                             named(graph_, first), " wants ", first.member.what))
          .with_id("ARG-GROUP-003")
          .with_hint("members of a group do one thing; another one needs another name or instance_key");
    }
    return ok_status();
  }

  // Members on several tasks, or with others in other steps.
  bool meet_others(const std::vector<Found>& members) const {
    const DeviceName& first = members[0].device;
    const bool one_task = std::all_of(members.begin(), members.end(), [&](const Found& f) {
      return f.device.job == first.job && f.device.replica == first.replica && f.device.task == first.task;
    });
    return has_keys(*graph_.node(members[0].id).op) &&
           (!one_task || members.size() < static_cast<std::size_t>(members[0].member.size));
  }

  // How often the group meets.
  Result<std::size_t> rounds_of(const std::string& group, const std::vector<Found>& members) const {
    const auto size = static_cast<std::size_t>(members[0].member.size);
    if (members.size() == size) return std::size_t{1};
    std::vector<std::string> names;
    for (const Found& f : members) names.push_back(named(graph_, f));
    if (members.size() < size) {
      return invalid_argument(group, " has ", size, " members, of which this step has ", members.size(), ": ",
                              str_join(names))
          .with_id("ARG-GROUP-004")
          .with_hint("add the members that the graph lacks, or say how many there are: none gets a result without all");
    }
    std::map<std::string, std::size_t> of_device;
    for (const Found& f : members) ++of_device[f.device.to_string()];
    const std::size_t each = of_device.begin()->second;
    const bool alike = of_device.size() == size &&
                       std::all_of(of_device.begin(), of_device.end(), [&](const auto& d) { return d.second == each; });
    if (alike) return each;
    return Status(Code::kInternal,
                  str_cat(group, " has ", size, " members, and this step has ", members.size(), ": ", str_join(names)))
        .with_id("ARG-GROUP-005")
        .with_hint("members of a group are on devices of their own; others need another name or instance_key");
  }

  // Members are sorted by device, and by node within one.
  Status join(const std::string& group, const std::vector<Found>& members, std::size_t round, std::size_t rounds) {
    const std::int64_t size = members[0].member.size;
    const std::string name = rounds == 1 ? group : str_cat(group, " turn ", round);
    std::int64_t root = -1;
    int roots = 0;
    for (std::int64_t rank = 0; rank < size; ++rank) {
      const Found& f = members[static_cast<std::size_t>(rank) * rounds + round];
      graph_.set_attr(f.id, "group", name);
      graph_.set_attr(f.id, "rank", rank);
      graph_.set_attr(f.id, "size", size);
      if (!f.member.root) continue;
      root = rank;
      ++roots;
    }
    if (!members[0].member.has_root) return ok_status();
    if (roots != 1) {
      return Status(Code::kInternal, str_cat(name, ": ", roots, " of ", size, " members send; one must"))
          .with_id("ARG-GROUP-006")
          .with_hint("of a broadcast one member sends and the others receive");
    }
    for (std::int64_t rank = 0; rank < size; ++rank) {
      graph_.set_attr(members[static_cast<std::size_t>(rank) * rounds + round].id, "root", root);
    }
    return ok_status();
  }

  Graph& graph_;
  const bool over_tasks_;
};

}  // namespace

Result<int> resolve_collective_groups(StepGraph& step, bool over_tasks) {
  if (!has_op(step.graph, [](const OpDef& op) { return op.group != nullptr; })) return 0;
  return Joiner(step.graph, over_tasks).run();
}

bool meets_by_key(const Node& node) {
  return node.op->group != nullptr && node.attrs.find("group") == nullptr && has_keys(*node.op);
}

std::optional<std::int64_t> collective_graph_key(const Graph& graph) {
  bool meets = false;
  std::set<std::int32_t> instances;
  for (const Node& n : graph.nodes()) {
    if (n.op->group == nullptr) continue;
    meets = meets || meets_by_key(n);
    // TensorFlow does not look at keys that are inputs.
    if (const auto* key = n.attrs.find_as<std::int64_t>("instance_key")) {
      instances.insert(static_cast<std::int32_t>(*key));
    }
  }
  if (!meets) return std::nullopt;
  std::uint64_t hash = 0x8774aa605c729c72;
  for (const std::int32_t instance : instances) {
    const auto key = static_cast<std::uint64_t>(std::int64_t{instance});
    hash = key ^ (hash + 0x9e3779b97f4a7800 + (key << 10) + (key >> 4));
  }
  return static_cast<std::int64_t>(hash);
}

}  // namespace argosy
