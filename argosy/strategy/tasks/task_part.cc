#include "argosy/strategy/tasks/task_part.h"

#include <algorithm>
#include <utility>

#include "argosy/ops/collective/shard_batch.h"
#include "argosy/strategy/tasks/task_cutter.h"

namespace argosy {

int TaskDevices::first(int of_task) const {
  return static_cast<int>(std::find(task.begin(), task.end(), of_task) - task.begin());
}
int TaskDevices::count(int of_task) const { return static_cast<int>(std::count(task.begin(), task.end(), of_task)); }

Result<TaskPart> TaskPart::make(Graph& graph, const TaskDevices& devices, const std::vector<NodeId>& fed,
                                const std::vector<Endpoint>& fetched) {
  return TaskCutter(graph, devices, fed).run(fetched);
}

Endpoint TaskPart::local(Endpoint e) const {
  const auto found = mirror_.find(e);
  return found != mirror_.end() ? found->second : e;
}

std::vector<NodeId> TaskPart::targets(const std::vector<Endpoint>& fetches, const std::vector<NodeId>& targets,
                                      const std::vector<Endpoint>& feeds) const {
  // Marks the nodes that any task runs, from the fetches and targets backwards.
  std::vector<char> seen(static_cast<std::size_t>(global_->size()), 0), exchanged(exchanges_.size(), 0);
  std::vector<NodeId> open;
  const auto visit = [&](NodeId id) {
    if (id.index < global_->size() && !std::exchange(seen[static_cast<std::size_t>(id.index)], 1)) open.push_back(id);
  };
  const auto read = [&](Endpoint e, int reader) {
    if (std::find(feeds.begin(), feeds.end(), e) != feeds.end()) return;
    const auto travels = exchange_.find(e);
    if (travels != exchange_.end() && owner_[static_cast<std::size_t>(e.node.index)] != reader) {
      exchanged[static_cast<std::size_t>(travels->second)] = 1;
      // The others of that exchange are brought along.
      for (const auto& [other, position] : exchange_) {
        if (position == travels->second) visit(other.node);
      }
    }
    visit(e.node);
  };
  for (const Endpoint e : fetches) read(e, kEveryTask);
  for (const NodeId id : targets) visit(id);
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    const Node& n = global_->node(id);
    for (const Endpoint e : n.inputs) read(e, owner_[static_cast<std::size_t>(id.index)]);
    for (const NodeId c : n.controls) visit(c);
    if (!n.op->collective) continue;
    const auto group = groups_.find(n.attrs.get_or<std::string>("group", ""));
    for (std::size_t k = 0; group != groups_.end() && k < group->second.size(); ++k) visit(group->second[k]);
  }
  std::vector<NodeId> mine;
  for (std::int32_t i = 0; i < global_->size(); ++i) {
    const int owner = owner_[static_cast<std::size_t>(i)];
    if (!seen[static_cast<std::size_t>(i)] || (owner != kEveryTask && owner != own_)) continue;
    const Node& n = global_->node(NodeId{i});
    const bool asked = std::find(targets.begin(), targets.end(), NodeId{i}) != targets.end();
    // A feed takes the place of its node.
    const bool fed = std::any_of(feeds.begin(), feeds.end(), [&](Endpoint e) { return e.node.index == i; });
    if (!fed && (has_effect(*n.op) || asked)) mine.push_back(NodeId{i});
  }
  for (std::size_t k = 0; k < exchanges_.size(); ++k) {
    if (exchanged[k]) mine.push_back(exchanges_[k]);
  }
  return mine;
}

std::optional<std::pair<std::int64_t, std::int64_t>> TaskPart::own_rows(NodeId placeholder, std::int64_t batch) const {
  const Graph::Uses uses = global_->consumers();
  std::int64_t begin = batch, end = 0;
  for (const Graph::Use use : uses[placeholder.index]) {
    if (use.input < 0) continue;
    const Node& n = global_->node(use.node);
    const int owner = owner_[static_cast<std::size_t>(use.node.index)];
    const RowsRead rows = rows_read_by(*n.op);
    if (rows == RowsRead::kNone) continue;
    if (rows == RowsRead::kAll || use.input != 0) {
      if (owner == kEveryTask || owner == own_) return std::nullopt;
      continue;
    }
    bool mine = owner == own_;
    for (const Graph::Use reader : uses[use.node.index]) {
      const int by = owner_[static_cast<std::size_t>(reader.node.index)];
      if (by == kEveryTask) return std::nullopt;
      mine = mine || by == own_;
    }
    if (!mine) continue;
    const auto shard = shard_batch(batch, n.attrs.get<std::vector<std::int64_t>>("weights"), n.attrs.get_int("index"));
    if (!shard.ok()) return std::nullopt;
    if (shard->first == shard->second) continue;
    begin = std::min(begin, shard->first);
    end = std::max(end, shard->second);
  }
  return begin < end ? std::pair(begin, end) : std::pair<std::int64_t, std::int64_t>(0, 0);
}

}  // namespace argosy
