#include "argosy/passes/fuse/hidden_waits.h"

#include <algorithm>

#include "argosy/passes/has_op.h"
#include "argosy/passes/place/resolve_collective_groups.h"
#include "argosy/passes/place/resource_users.h"

namespace argosy {

namespace {

// An iterator's next element waits for nothing that a step does. Its op says so: it is a collective of its own.
bool blocks(const Node& n) { return n.op->async && (!n.op->collective || meets_by_key(n)); }

}  // namespace

HiddenWaits::HiddenWaits(const Graph& graph) {
  if (!has_op(graph, [](const OpDef& op) { return op.async; })) return;
  find_groups(graph);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    if (blocks(graph.node(NodeId{i}))) blocking_.push_back(NodeId{i});
  }
  if (blocking_.empty()) return;
  releases_.assign(static_cast<std::size_t>(graph.size()), 0);
  std::size_t releasing = 0;
  const auto release = [&](NodeId id) {
    if (!std::exchange(releases_[static_cast<std::size_t>(id.index)], 1)) ++releasing;
  };
  for (const NodeId id : blocking_) release(id);
  // Whatever else changes what some node waits on: it closes a queue, it puts a piece behind a barrier.
  ResourceUsers users;
  users.look_at(graph);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const auto of = users.of(NodeId{i});
    if (std::none_of(of.begin(), of.end(), [&](NodeId user) { return blocks(graph.node(user)); })) continue;
    for (const NodeId user : of) {
      if (graph.node(user).op->stateful) release(user);
    }
  }
  any_ = any_ || releasing > 1;  // nobody waits for itself
}

// What the strategies add needs no look: no rank reads what another rank was given.
void HiddenWaits::find_groups(const Graph& graph) {
  std::map<std::string, int> numbers;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(NodeId{i});
    if (!n.op->collective || n.op->group == nullptr) continue;
    std::string name = n.attrs.get_or<std::string>("group", "");
    if (name.empty()) continue;
    const auto [known, is_new] = numbers.try_emplace(std::move(name), static_cast<int>(groups_.size()));
    if (is_new) groups_.emplace_back();
    std::vector<NodeId>& members = groups_[static_cast<std::size_t>(known->second)];
    members.push_back(NodeId{i});
    group_of_.emplace(NodeId{i}, known->second);
    any_ = any_ || members.size() > 1;
  }
}

std::span<const NodeId> HiddenWaits::behind(NodeId id) const {
  if (!any_) return {};
  const auto at = static_cast<std::size_t>(id.index);
  if (at < releases_.size() && releases_[at] != 0) return blocking_;
  const auto group = group_of_.find(id);
  return group == group_of_.end() ? std::span<const NodeId>() : groups_[static_cast<std::size_t>(group->second)];
}

}  // namespace argosy
