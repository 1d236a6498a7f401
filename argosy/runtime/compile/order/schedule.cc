#include "argosy/runtime/compile/order/schedule.h"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <unordered_map>
#include <utility>

#include "argosy/base/memory/huge_pages.h"

namespace argosy {

namespace {

// Lower runs first.
enum Urgency : int { kStart, kLight, kOrdinary, kWaits, kLate, kLast };

struct Ready {
  int urgency;
  std::int32_t instruction;
  bool operator>(const Ready& other) const {
    return urgency != other.urgency ? urgency > other.urgency : instruction > other.instruction;
  }
};
using Heap = std::priority_queue<Ready, std::vector<Ready>, std::greater<>>;

class Scheduler {
 public:
  // `turns`: by instruction, see inherited_turns(); empty: nothing is held back.
  Scheduler(const std::vector<ScheduledInstruction>& instructions, int devices, std::vector<std::int32_t> turns)
      : instructions_(instructions),
        turns_(std::move(turns)),
        heaps_(static_cast<std::size_t>(devices)),
        turns_of_device_(static_cast<std::size_t>(devices)),
        pending_(instructions.size(), 0) {
    for (std::size_t i = 0; i < turns_.size(); ++i) {
      if (turns_[i] >= 0) ++turns_of_device_[instructions[i].device][turns_[i]].left;
    }
    const auto n = static_cast<std::int32_t>(instructions.size());
    // Successors in CSR form: counts, then offsets, then targets.
    assign_large(offsets_, instructions.size() + 1, 0);
    for (const ScheduledInstruction& instruction : instructions) {
      for (const std::int32_t before : instruction.after) ++offsets_[before + 1];
    }
    for (std::size_t i = 1; i < offsets_.size(); ++i) offsets_[i] += offsets_[i - 1];
    assign_large(targets_, static_cast<std::size_t>(offsets_.back()), 0);
    std::vector<std::int32_t> at(offsets_.begin(), offsets_.end() - 1);
    for (std::int32_t i = 0; i < n; ++i) {
      for (const std::int32_t before : instructions[i].after) targets_[at[before]++] = i;
      pending_[i] = static_cast<std::int32_t>(instructions[i].after.size());
      if (instructions[i].group != 0) ++group_missing_[instructions[i].group];
      if (instructions[i].cross_task_number >= 0)
        cross_task_groups_[instructions[i].cross_task_number] = instructions[i].group;
    }
  }

  Result<std::vector<std::int32_t>> run() {
    const auto n = static_cast<std::int32_t>(instructions_.size());
    order_.reserve(instructions_.size());
    // Collects them before it offers any. A group that is ready leaves at once, and its successors are offered then.
    std::vector<std::int32_t> first;
    for (std::int32_t i = 0; i < n; ++i) {
      if (pending_[i] == 0) first.push_back(i);
    }
    for (const std::int32_t i : first) offer(i);
    std::size_t device = 0;
    std::size_t idle = 0;
    while (idle < heaps_.size()) {
      Heap& heap = heaps_[device];
      device = (device + 1) % heaps_.size();
      if (heap.empty()) {
        ++idle;
        continue;
      }
      idle = 0;
      const std::int32_t instruction = heap.top().instruction;
      heap.pop();
      emit(instruction);
    }
    if (order_.size() != instructions_.size()) return internal_error("schedule: the instructions form a cycle");
    return std::move(order_);
  }

 private:
  int urgency(std::int32_t i) const {
    const ScheduledInstruction& instruction = instructions_[i];
    if (instruction.async || instruction.first) return kStart;
    if (instruction.last) return kLast;
    const bool waits = std::any_of(instruction.after.begin(), instruction.after.end(), [&](std::int32_t b) {
      return instructions_[b].async || instructions_[b].device != instruction.device;
    });
    if (instruction.late) return kLate;
    return waits ? kWaits : instruction.light ? kLight : kOrdinary;
  }

  void offer(std::int32_t i) {
    const std::int32_t group = instructions_[i].group;
    if (group == 0) {
      std::vector<std::int32_t>* const later = later_turn(i);
      if (later != nullptr) {
        later->push_back(i);
      } else {
        heaps_[instructions_[i].device].push({urgency(i), i});
      }
      return;
    }
    // A member of a group waits here until the whole group is ready. Then all are scheduled at once.
    auto& waiting = group_ready_[group];
    waiting.push_back(i);
    if (static_cast<int>(waiting.size()) < group_missing_[group]) return;
    if (instructions_[i].cross_task_number < 0) return leave(group);
    // A group over tasks comes after all those of lower numbers, which do not depend on it.
    while (!cross_task_groups_.empty()) {
      const std::int32_t next = cross_task_groups_.begin()->second;
      if (static_cast<int>(group_ready_[next].size()) < group_missing_[next]) return;
      cross_task_groups_.erase(cross_task_groups_.begin());
      leave(next);
    }
  }

  void leave(std::int32_t group) {
    const std::vector<std::int32_t> members = std::exchange(group_ready_[group], {});
    for (const std::int32_t m : members) order_.push_back(m);
    for (const std::int32_t m : members) finish(m);
  }

  void emit(std::int32_t i) {
    order_.push_back(i);
    finish(i);
  }

  // The list in which a ready instruction waits for its turn; null: it may run now.
  std::vector<std::int32_t>* later_turn(std::int32_t i) {
    if (turns_.empty() || turns_[i] < 0) return nullptr;
    auto& turns = turns_of_device_[instructions_[i].device];
    return turns_[i] == turns.begin()->first ? nullptr : &turns[turns_[i]].ready;
  }
  void finish(std::int32_t i) {
    release(i);
    if (turns_.empty() || turns_[i] < 0) return;
    const int device = instructions_[i].device;
    auto& turns = turns_of_device_[device];
    const auto turn = turns.find(turns_[i]);
    const bool ends = --turn->second.left == 0 && turn == turns.begin();
    if (!ends) return;
    // A member of a group may have ended a later turn already.
    while (!turns.empty() && turns.begin()->second.left == 0) turns.erase(turns.begin());
    if (turns.empty()) return;
    for (const std::int32_t next : std::exchange(turns.begin()->second.ready, {})) {
      heaps_[device].push({urgency(next), next});
    }
  }
  void release(std::int32_t i) {
    for (std::int32_t k = offsets_[i]; k < offsets_[i + 1]; ++k) {
      if (--pending_[targets_[k]] == 0) offer(targets_[k]);
    }
  }

  struct TurnOfDevice {
    int left = 0;                     // instructions not scheduled yet
    std::vector<std::int32_t> ready;  // those that only earlier turns hold back
  };

  const std::vector<ScheduledInstruction>& instructions_;
  const std::vector<std::int32_t> turns_;
  std::vector<Heap> heaps_;
  std::vector<std::map<std::int32_t, TurnOfDevice>> turns_of_device_;  // by turn; the current one is first
  std::vector<std::int32_t> pending_, offsets_, targets_, order_;
  std::unordered_map<std::int32_t, int> group_missing_;
  std::map<std::int32_t, std::int32_t> cross_task_groups_;  // groups that span tasks, not scheduled yet, by number
  std::unordered_map<std::int32_t, std::vector<std::int32_t>> group_ready_;
};

// Returns by instruction its turn, or the earliest turn that depends on it if that is earlier; -1: none. Without a mark
// an instruction gets the latest turn of its inputs, so that it does not keep them alive. All members of a group get
// the earliest of their turns, since they are scheduled together. A group over tasks is scheduled after those of lower
// numbers, so it depends on them. `order`: any valid order.
std::vector<std::int32_t> inherited_turns(const std::vector<ScheduledInstruction>& instructions,
                                          const std::vector<std::int32_t>& order) {
  constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::max();
  std::vector<std::int32_t> turns(instructions.size(), -1);
  std::unordered_map<std::int32_t, std::vector<std::int32_t>> groups;
  for (const std::int32_t i : order) {
    turns[i] = instructions[i].turn;
    for (const std::int32_t before : instructions[i].after) {
      if (instructions[i].turn < 0) turns[i] = std::max(turns[i], turns[before]);
    }
    if (instructions[i].group != 0) groups[instructions[i].group].push_back(i);
  }
  std::replace(turns.begin(), turns.end(), -1, kNone);
  std::int32_t later = kNone;  // the earliest turn of the groups over tasks that come later
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    // Members lie together in the order: all that comes after any of them has been seen.
    if (const auto group = groups.find(instructions[*at].group); group != groups.end()) {
      std::int32_t earliest = kNone;
      for (const std::int32_t member : group->second) earliest = std::min(earliest, turns[member]);
      if (instructions[*at].cross_task_number >= 0) later = earliest = std::min(earliest, later);
      for (const std::int32_t member : group->second) turns[member] = earliest;
    }
    for (const std::int32_t before : instructions[*at].after) turns[before] = std::min(turns[before], turns[*at]);
  }
  std::replace(turns.begin(), turns.end(), kNone, -1);
  return turns;
}

}  // namespace

Result<std::vector<std::int32_t>> schedule(const std::vector<ScheduledInstruction>& instructions, int devices) {
  auto order = Scheduler(instructions, devices, {}).run();
  const bool turns = std::any_of(instructions.begin(), instructions.end(), [](const auto& i) { return i.turn >= 0; });
  if (!order.ok() || !turns) return order;
  return Scheduler(instructions, devices, inherited_turns(instructions, *order)).run();
}

}  // namespace argosy
