#include "argosy/sharding/testing/virtual_step.h"

#include <algorithm>

namespace argosy {

VirtualStep::VirtualStep(VirtualDevices& devices, const std::map<Endpoint, Tensor>& feeds)
    : d_(devices), feeds_(feeds), uses_(devices.graph_.consumers()), frames_(1) {
  needed_.assign(static_cast<std::size_t>(d_.graph_.size()), 0);
  position_.resize(needed_.size());
  const auto& order = d_.sizes_.order();
  for (std::size_t i = 0; i < order.size(); ++i) {
    position_[static_cast<std::size_t>(order[i].index)] = static_cast<std::int32_t>(i);
  }
  for (const auto& [e, value] : feeds) {
    for (const Placement& p : d_.a_.layout(e)) {
      if (p.is_shard()) batch_ = value.shape()[p.dim];
    }
  }
}

void VirtualStep::need(NodeId id) {
  std::vector<NodeId> open{id};
  while (!open.empty()) {
    const NodeId now = open.back();
    open.pop_back();
    if (std::exchange(needed_[static_cast<std::size_t>(now.index)], 1) != 0) continue;
    const Node& n = d_.graph_.node(now);
    if (feeds_.contains({now, 0})) continue;
    for (const Endpoint e : n.inputs) open.push_back(e.node);
    for (const NodeId c : n.controls) open.push_back(c);
  }
}

Status VirtualStep::run(const std::vector<NodeId>& targets) {
  for (const NodeId id : targets) need(id);
  for (std::int32_t i = 0; i < d_.graph_.size(); ++i) {
    if (needed_[static_cast<std::size_t>(i)] != 0 && is_source(NodeId{i})) ready_.insert({-1, {}, NodeId{i}});
  }
  while (!ready_.empty()) {
    const auto [at, tag, id] = *ready_.begin();
    ready_.erase(ready_.begin());
    Status done = fire(id, tag);
    if (!done.ok()) {
      const Node& n = d_.graph_.node(id);
      return std::move(done).with_where(str_cat("node '", n.name, "' (", n.op->name, ")"));
    }
  }
  return ok_status();
}

bool VirtualStep::is_source(NodeId id) const {
  const Node& n = d_.graph_.node(id);
  return (n.inputs.empty() && n.controls.empty()) || feeds_.contains({id, 0});
}

std::string VirtualStep::path(Tag tag) const {
  if (tag.frame == 0) return "";
  return str_cat(frames_[static_cast<std::size_t>(tag.frame)].path, "/", tag.iteration);
}

Status VirtualStep::fire(NodeId id, Tag tag) {
  const Node& n = d_.graph_.node(id);
  const auto waiting = waiting_.find({id, tag});
  std::vector<Shards> outputs(n.output_dtypes.size());
  std::vector<char> alive(outputs.size(), 1);
  if (const auto fed = feeds_.find({id, 0}); fed != feeds_.end()) {
    ARGOSY_ASSIGN_OR_RETURN(outputs[0], cut_value(fed->second, d_.a_.layout({id, 0})[0], d_.axis_));
  } else {
    std::vector<Shards> in(n.inputs.size());
    int came = -1;
    if (waiting != waiting_.end()) {
      for (auto& [i, shards] : waiting->second.inputs) {
        ARGOSY_ASSIGN_OR_RETURN(in[static_cast<std::size_t>(i)], input(n, {id, i}, shards));
        came = i;
      }
    }
    if (n.op->flow == Flow::kMerge) {
      outputs[0] = in[static_cast<std::size_t>(came)];
      if (outputs.size() > 1)
        outputs[1] = Shards(static_cast<std::size_t>(d_.axis_.size), Tensor::scalar(std::int32_t{came}));
    } else if (n.op->flow == Flow::kSwitch) {
      const bool taken = *in[1][0].data<bool>();
      for (const Tensor& t : in[1]) {
        if (*t.data<bool>() != taken) return internal_error("devices go different ways");
      }
      outputs[0] = outputs[1] = in[0];
      alive[taken ? 0 : 1] = 0;
    } else if (n.op->flow != Flow::kNone && n.op->flow != Flow::kControlTrigger) {
      outputs[0] = in[0];
    } else {
      ARGOSY_ASSIGN_OR_RETURN(outputs, compute(id, std::move(in)));
    }
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const Tag where = n.op->flow == Flow::kExit ? frames_[static_cast<std::size_t>(tag.frame)].parent : tag;
    if (alive[k] != 0) d_.values_[{Endpoint{id, static_cast<std::int32_t>(k)}, path(where)}] = outputs[k];
  }
  if (waiting != waiting_.end()) waiting_.erase(waiting);
  deliver(id, tag, outputs, alive);
  return ok_status();
}

void VirtualStep::deliver(NodeId from, Tag tag, const std::vector<Shards>& outputs, const std::vector<char>& alive) {
  const Node& n = d_.graph_.node(from);
  const auto send = [&](Tag to, const std::vector<Shards>& values) {
    for (const Graph::Use& use : uses_[from.index]) {
      if (needed_[static_cast<std::size_t>(use.node.index)] == 0) continue;
      if (use.input < 0) {
        arrive(use, to, nullptr);
        continue;
      }
      const auto k =
          static_cast<std::size_t>(d_.graph_.node(use.node).inputs[static_cast<std::size_t>(use.input)].index);
      if (alive[k] != 0) arrive(use, to, &values[k]);
    }
  };
  switch (n.op->flow) {
    case Flow::kEnter: {
      const auto key = std::tuple(tag.frame, tag.iteration, n.attrs.get_string("frame_name"));
      const auto [at, fresh] = frame_of_.emplace(key, static_cast<int>(frames_.size()));
      if (fresh) frames_.push_back({.path = path(tag), .parent = tag});
      const int frame = at->second;
      if (!n.attrs.get_or<bool>("is_constant", false)) return send({frame, 0}, outputs);
      frames_[static_cast<std::size_t>(frame)].constants.emplace_back(from, outputs);
      for (int i = 0; i < frames_[static_cast<std::size_t>(frame)].iterations; ++i) send({frame, i}, outputs);
      return;
    }
    case Flow::kExit: return send(frames_[static_cast<std::size_t>(tag.frame)].parent, outputs);
    case Flow::kNextIteration: {
      const Tag next{tag.frame, tag.iteration + 1};
      if (frames_[static_cast<std::size_t>(tag.frame)].iterations <= next.iteration) {
        frames_[static_cast<std::size_t>(tag.frame)].iterations = next.iteration + 1;
        const auto constants = frames_[static_cast<std::size_t>(tag.frame)].constants;
        for (const auto& [enter, values] : constants) {
          for (const Graph::Use& use : uses_[enter.index]) {
            if (needed_[static_cast<std::size_t>(use.node.index)] != 0) {
              arrive(use, next, use.input < 0 ? nullptr : &values[0]);
            }
          }
        }
      }
      return send(next, outputs);
    }
    default: return send(tag, outputs);
  }
}

void VirtualStep::arrive(Graph::Use use, Tag tag, const Shards* value) {
  const Node& n = d_.graph_.node(use.node);
  if (feeds_.contains({use.node, 0})) return;
  Instance& instance = waiting_[{use.node, tag}];
  if (value == nullptr) {
    ++instance.controls;
  } else {
    instance.inputs[use.input] = *value;
  }
  for (std::size_t i = 0; tag.frame != 0 && i < n.inputs.size(); ++i) {
    if (!is_source(n.inputs[i].node)) continue;
    if (const auto made = d_.values_.find({n.inputs[i], ""}); made != d_.values_.end()) {
      instance.inputs.try_emplace(static_cast<int>(i), made->second);
    }
  }
  const bool merge = n.op->flow == Flow::kMerge;
  const std::size_t wanted = merge ? 1 : n.inputs.size();
  if (instance.inputs.size() < wanted || (!merge && instance.controls < std::ssize(n.controls))) return;
  ready_.insert({position_[static_cast<std::size_t>(use.node.index)], tag, use.node});
}

}  // namespace argosy
