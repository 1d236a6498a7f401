#include "argosy/runtime/compile/order/control_flow_schedule.h"

#include <algorithm>
#include <limits>

#include "argosy/ops/collective/net_attr.h"
#include "argosy/ops/send_recv/send_recv.h"
#include "argosy/passes/place/resolve_collective_groups.h"
#include "argosy/runtime/compile/order/schedule.h"
#include "argosy/runtime/compile/order/turn_marks.h"

namespace argosy {

namespace {

constexpr std::size_t kMostBlocking = 16;                         // each costs several searches of the graph
constexpr std::size_t kMostReceiveVisits = std::size_t{1} << 22;  // or so many receives x instructions
constexpr std::int32_t kFirstLoopGroup = 1 << 30;                 // loops as groups: numbers above those of all groups
constexpr int kMostMergeInputs = 64;                              // InstructionMeta::back_edge_inputs is one word

// Returns, by node, whether it can be reached from `start` by next(node, visit). `start` itself counts only on a cycle.
template <typename Next>
std::vector<char> reachable(std::int32_t start, std::size_t nodes, const Next& next) {
  std::vector<char> seen(nodes, 0);
  std::vector<std::int32_t> work = {start};
  while (!work.empty()) {
    const std::int32_t node = work.back();
    work.pop_back();
    next(node, [&](std::int32_t other) {
      if (std::exchange(seen[other], 1) == 0) work.push_back(other);
    });
  }
  return seen;
}

}  // namespace

ControlFlowSchedule::ControlFlowSchedule(const Step& step, const InstructionGraph& instructions,
                                         const std::vector<std::int32_t>& groups)
    : step_(step), instructions_(instructions), groups_(groups) {
  why_not_ = check_loops();
  if (!why_not_.empty()) return;
  find_groups();
  why_not_ = check_blocking();
}

std::int32_t ControlFlowSchedule::node_at(std::int32_t instruction, int frame) const {
  int at = home_[instruction];
  if (at == frame) return instruction;
  while (step_.dataflow.frames[at].parent != frame) at = step_.dataflow.frames[at].parent;
  return static_cast<std::int32_t>(step_.instructions.size()) + at;
}

int ControlFlowSchedule::loop_between(int inner, int outer) const {
  int last = 0;
  while (inner != outer) {
    if (depth_[inner] >= depth_[outer]) {
      inner = step_.dataflow.frames[last = inner].parent;
    } else {
      outer = step_.dataflow.frames[outer].parent;
    }
  }
  return last;
}

int ControlFlowSchedule::device_of(std::int32_t node) const {
  const auto instructions = static_cast<std::int32_t>(step_.instructions.size());
  return node < instructions ? step_.instructions[node].device : loop_device_[node - instructions];
}

bool ControlFlowSchedule::in_phase_two(std::int32_t element) const {
  if (rank_.empty()) return false;
  if (element >= 0) return rank_[node_at(element, 0)] == 2;
  const int frame = std::max(frame_begun(element), frame_ended(element));
  return rank_[static_cast<std::int32_t>(step_.instructions.size()) + loop_between(frame, 0)] == 2;
}

std::string ControlFlowSchedule::check_loops() {
  const auto instructions = static_cast<std::int32_t>(step_.instructions.size());
  const auto frames = static_cast<int>(step_.dataflow.frames.size());
  depth_.assign(step_.dataflow.frames.size(), 0);
  for (int f = 1; f < frames; ++f) depth_[f] = depth_[step_.dataflow.frames[f].parent] + 1;  // parents come first
  loop_device_.assign(step_.dataflow.frames.size(), -1);
  home_.resize(step_.instructions.size());
  for (std::int32_t i = 0; i < instructions; ++i) {
    const Instruction& instruction = step_.instructions[i];
    const int frame = step_.dataflow.frame_of[i];
    home_[i] = instruction.flow == Flow::kExit ? step_.dataflow.frames[frame].parent : frame;
    const std::string_view name = step_.info.nodes[instruction.node].name;
    if (instruction.sends || instruction.receives) {
      if (home_[i] != 0) return str_cat("'", name, "' meets another task and is in a loop");
      if (!instructions_.nodes[i]->attrs.get_or<bool>(kNeverDead, false))
        return str_cat("'", name, "' may send or receive a dead value");
    }
    if (home_[i] != 0 && instruction.async) return str_cat("'", name, "' is asynchronous and in a loop");
    for (int f = home_[i]; f != 0; f = step_.dataflow.frames[f].parent) {
      if (loop_device_[f] < 0) loop_device_[f] = instruction.device;
      if (loop_device_[f] != instruction.device) return str_cat("the loop around '", name, "' spans devices");
    }
    if (instruction.flow != Flow::kNextIteration) continue;
    if (home_[i] == 0) return str_cat("'", name, "' is in no loop");
    for (const DataflowGraph::Edge& e : step_.dataflow.successors[i]) {
      const Instruction& to = step_.instructions[e.instruction];
      if (e.output < 0 || to.flow != Flow::kMerge || to.num_inputs > kMostMergeInputs) {
        return str_cat("'", name, "' leads to what is no Merge");
      }
    }
  }
  members_.assign(step_.dataflow.frames.size(), {});
  std::vector<char> placed(step_.dataflow.frames.size(), 0);
  for (std::int32_t i = 0; i < instructions; ++i) {
    for (int f = home_[i]; f != 0 && std::exchange(placed[f], 1) == 0; f = step_.dataflow.frames[f].parent) {
      members_[step_.dataflow.frames[f].parent].push_back(instructions + f);
    }
    members_[home_[i]].push_back(i);
  }
  for (int f = 1; f < frames; ++f) {
    if (loop_device_[f] < 0 && placed[f] == 0) loop_device_[f] = 0;  // only Enters that nothing reads
  }
  return {};
}

void ControlFlowSchedule::find_groups() {
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(groups_.size()); ++i) {
    if (groups_[i] != 0) groups_of_[groups_[i]].push_back(i);
  }
  std::erase_if(groups_of_, [&](const auto& group) {
    const auto& members = group.second;
    return members.size() < 2 ||
           std::ranges::any_of(members, [&](std::int32_t m) { return home_[m] != home_[members[0]]; });
  });
}

// Lifts every edge to the innermost frame around both its ends, as an edge between two nodes of that frame.
ControlFlowSchedule::Edges ControlFlowSchedule::edges() const {
  Edges before(step_.instructions.size() + step_.dataflow.frames.size());
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(step_.instructions.size()); ++i) {
    for (const std::int32_t p : instructions_.after[i]) {
      if (step_.instructions[p].flow == Flow::kNextIteration) continue;  // a Merge takes it in the next iteration
      int common = home_[p];
      int other = home_[i];
      while (common != other) {
        int& deeper = depth_[common] >= depth_[other] ? common : other;
        deeper = step_.dataflow.frames[deeper].parent;
      }
      const std::int32_t from = node_at(p, common), to = node_at(i, common);
      if (from != to) before[to].push_back(from);
    }
  }
  for (const auto& [group, members] : groups_of_) {
    std::vector<std::int32_t> all;
    for (const std::int32_t m : members) all.insert(all.end(), before[m].begin(), before[m].end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    for (const std::int32_t m : members) before[m] = all;
  }
  return before;
}

bool ControlFlowSchedule::releases_others(std::int32_t instruction,
                                          const std::vector<const Tensor*>& constant_of) const {
  const OpDef* op = instructions_.ops[instruction];
  if (op == nullptr) return false;
  if (step_.instructions[instruction].sends) return true;
  if (op->async) return !op->collective || meets_by_key(*instructions_.nodes[instruction]);
  if (!op->stateful) return false;
  const Instruction& it = step_.instructions[instruction];
  for (int k = 0; k < it.num_inputs; ++k) {
    const std::int32_t slot = step_.input_slots[it.first_input + k];
    if (step_.slots[slot].dtype != DType::kResource) continue;
    const Tensor* const handle = constant_of[instructions_.root[slot]];
    if (handle == nullptr || handle->elements() != 1 ||
        std::dynamic_pointer_cast<Variable>(handle->data<ResourceHandle>()->resource()) == nullptr) {
      return true;
    }
  }
  return false;
}

std::string ControlFlowSchedule::check_blocking() {
  const auto instructions = static_cast<std::int32_t>(step_.instructions.size());
  const auto name_of = [&](std::int32_t i) -> std::string_view {
    return step_.info.nodes[step_.instructions[i].node].name;
  };
  std::vector<std::int32_t> blocking;
  for (std::int32_t i = 0; i < instructions; ++i) {
    if (!step_.instructions[i].async) continue;
    if (!instructions_.ops[i]->collective || meets_by_key(*instructions_.nodes[i])) blocking.push_back(i);
  }
  if (blocking.empty()) return {};
  const bool receives =
      std::all_of(blocking.begin(), blocking.end(), [&](std::int32_t b) { return step_.instructions[b].receives; });
  const bool too_many = blocking.size() * step_.instructions.size() > (receives ? kMostReceiveVisits : 0);
  if (blocking.size() > kMostBlocking && too_many) return str_cat(blocking.size(), " instructions may block");
  const Edges before = edges();
  const std::size_t nodes = before.size();
  std::vector<std::vector<std::int32_t>> following(nodes);  // nodes of the root
  for (const std::int32_t node : members_[0]) {
    for (const std::int32_t p : before[node]) following[p].push_back(node);
  }
  const auto forth = [&](std::int32_t node, const auto& visit) {
    for (const std::int32_t other : following[node]) visit(other);
  };
  const auto back = [&](std::int32_t node, const auto& visit) {
    for (const std::int32_t other : before[node]) visit(other);
  };
  std::vector<char> depends(nodes, 0), leads(nodes, 0);  // on a blocking instruction; to one of shared_blocking_
  bool split = false;
  for (const std::int32_t b : blocking) {
    if (step_.instructions[b].device != 0) return str_cat("'", name_of(b), "' may block a device that others use");
    const std::vector<char> after_b = reachable(b, nodes, forth);
    bool shared = false;
    for (std::size_t node = 0; node < nodes; ++node) {
      if (after_b[node] == 0) continue;
      depends[node] = 1;
      shared = shared || device_of(static_cast<std::int32_t>(node)) != 0;
    }
    if (!shared) continue;
    split = true;
    shared_blocking_.push_back(b);
    const std::vector<char> before_b = reachable(b, nodes, back);
    leads[b] = 1;
    for (std::size_t node = 0; node < nodes; ++node) leads[node] |= before_b[node];
  }
  rank_.assign(nodes, 0);
  for (const std::int32_t node : members_[0]) {
    if (depends[node] == 0) continue;
    rank_[node] = leads[node] != 0 ? 1 : 2;
    if (split && rank_[node] == 1 && device_of(node) != 0) {
      return "a device other than the host's comes between two instructions that may block";
    }
  }
  // Rule (2) is checked between instructions, not nodes: a loop's node has the predecessors of all that is in the loop.
  std::vector<const Tensor*> constant_of(step_.slots.size(), nullptr);
  for (const auto& [slot, value] : step_.constants) constant_of[slot] = &value;
  std::vector<std::int32_t> releasing;
  for (std::int32_t i = 0; i < instructions; ++i) {
    if (depends[node_at(i, 0)] != 0 && releases_others(i, constant_of)) releasing.push_back(i);
  }
  if (releasing.empty()) return {};
  const auto together = [&](std::int32_t i, const auto& visit) {
    const auto group = groups_of_.find(groups_[i]);
    for (std::size_t m = 0; group != groups_of_.end() && m < group->second.size(); ++m) visit(group->second[m]);
  };
  for (const std::int32_t b : blocking) {
    const auto after_b = reachable(b, step_.instructions.size(), [&](std::int32_t i, const auto& visit) {
      for (const DataflowGraph::Edge& e : step_.dataflow.successors[i]) visit(e.instruction);
      together(i, visit);
    });
    const auto before_b = reachable(b, step_.instructions.size(), [&](std::int32_t i, const auto& visit) {
      for (const std::int32_t p : instructions_.after[i]) visit(p);
      together(i, visit);
    });
    for (const std::int32_t e : releasing) {
      if (e != b && after_b[e] == 0 && before_b[e] == 0) {
        return str_cat("'", name_of(e), "' may release what '", name_of(b), "' waits for");
      }
    }
  }
  return {};
}

// By node. A loop has the earliest turn of the instructions in it.
std::vector<std::int32_t> ControlFlowSchedule::turns() const {
  std::vector<std::int32_t> turns(step_.instructions.size() + step_.dataflow.frames.size(), -1);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(step_.instructions.size()); ++i) {
    const std::int32_t turn = turns[i] = turn_of(instructions_, i).number;
    for (int f = home_[i]; f != 0 && turn >= 0; f = step_.dataflow.frames[f].parent) {
      std::int32_t& loop = turns[step_.instructions.size() + static_cast<std::size_t>(f)];
      loop = loop < 0 ? turn : std::min(loop, turn);
    }
  }
  return turns;
}

std::int32_t ControlFlowSchedule::first_cross_task_number(int frame) const {
  const auto instructions = static_cast<std::int32_t>(step_.instructions.size());
  std::int32_t first = -1;
  for (const std::int32_t node : members_[frame]) {
    const bool loop = node >= instructions;
    if (!loop && groups_[node] == 0) continue;
    const std::int32_t number =
        loop ? first_cross_task_number(node - instructions) : cross_task_number(*instructions_.nodes[node]);
    if (number >= 0 && (first < 0 || number < first)) first = number;
  }
  return first;
}

Status ControlFlowSchedule::add_level(int frame, int rank, const Edges& before, const std::vector<char>& late,
                                      const std::vector<std::int32_t>& turns, std::vector<std::int32_t>& local,
                                      std::vector<std::int32_t>& sequence) const {
  const auto instructions = static_cast<std::int32_t>(step_.instructions.size());
  std::vector<std::int32_t> members;
  for (const std::int32_t node : members_[frame]) {
    if (rank >= 0 && rank_[node] != rank) continue;
    local[node] = static_cast<std::int32_t>(members.size());
    members.push_back(node);
  }
  std::vector<ScheduledInstruction> list(members.size());
  std::vector<InstructionGraph::Before> after(members.size());
  for (std::size_t m = 0; m < members.size(); ++m) {
    const std::int32_t node = members[m];
    list[m].device = device_of(node);
    list[m].turn = turns[node];
    if (node < instructions) {
      list[m].async = step_.instructions[node].async;
      list[m].light = ends_lifetimes(step_, instructions_, node);
      list[m].late = !late.empty() && late[node] != 0;
      list[m].group = groups_[node];
      if (groups_[node] != 0) list[m].cross_task_number = cross_task_number(*instructions_.nodes[node]);
    } else if (const std::int32_t number = first_cross_task_number(node - instructions); number >= 0) {
      // A loop with groups over tasks is scheduled like one more such group: every task runs it at the same place among
      // them.
      list[m].group = kFirstLoopGroup + (node - instructions);
      list[m].cross_task_number = number;
    }
    for (const std::int32_t p : before[node]) {
      if (local[p] >= 0) after[m].push_back(local[p]);
    }
    list[m].after = after[m];
  }
  for (const std::int32_t node : members) local[node] = -1;
  ARGOSY_ASSIGN_OR_RETURN(const auto order, schedule(list, step_.device_set->size()));
  for (const std::int32_t m : order) {
    const std::int32_t node = members[m];
    if (node < instructions) {
      sequence.push_back(node);
      continue;
    }
    sequence.push_back(begin_of(node - instructions));
    ARGOSY_RETURN_IF_ERROR(add_level(node - instructions, -1, before, late, turns, local, sequence));
    sequence.push_back(end_of(node - instructions));
  }
  return ok_status();
}

Result<std::vector<std::int32_t>> ControlFlowSchedule::sequence(const std::vector<char>& late) const {
  const Edges before = edges();
  const std::vector<std::int32_t> turns = this->turns();
  std::vector<std::int32_t> sequence, local(before.size(), -1);
  if (rank_.empty()) {
    ARGOSY_RETURN_IF_ERROR(add_level(0, -1, before, late, turns, local, sequence));
    return sequence;
  }
  for (const int rank : {0, 1, 2}) ARGOSY_RETURN_IF_ERROR(add_level(0, rank, before, late, turns, local, sequence));
  return sequence;
}

}  // namespace argosy
