#include "argosy/runtime/compile/schedule.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

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
  Scheduler(const std::vector<ScheduledInstruction>& instructions, int devices)
      : instructions_(instructions), heaps_(static_cast<std::size_t>(devices)), pending_(instructions.size(), 0) {
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
    }
  }

  Result<std::vector<std::int32_t>> run() {
    const auto n = static_cast<std::int32_t>(instructions_.size());
    order_.reserve(instructions_.size());
    // All of them first: a group that is ready leaves at once, and what comes after it is offered then.
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
      heaps_[instructions_[i].device].push({urgency(i), i});
      return;
    }
    // A member waits here until the whole group is ready; then all leave at once.
    auto& waiting = group_ready_[group];
    waiting.push_back(i);
    if (static_cast<int>(waiting.size()) < group_missing_[group]) return;
    const std::vector<std::int32_t> members = std::move(waiting);
    for (const std::int32_t m : members) order_.push_back(m);
    for (const std::int32_t m : members) release(m);
  }

  void emit(std::int32_t i) {
    order_.push_back(i);
    release(i);
  }
  void release(std::int32_t i) {
    for (std::int32_t k = offsets_[i]; k < offsets_[i + 1]; ++k) {
      if (--pending_[targets_[k]] == 0) offer(targets_[k]);
    }
  }

  const std::vector<ScheduledInstruction>& instructions_;
  std::vector<Heap> heaps_;
  std::vector<std::int32_t> pending_, offsets_, targets_, order_;
  std::unordered_map<std::int32_t, int> group_missing_;
  std::unordered_map<std::int32_t, std::vector<std::int32_t>> group_ready_;
};

}  // namespace

Result<std::vector<std::int32_t>> schedule(const std::vector<ScheduledInstruction>& instructions, int devices) {
  return Scheduler(instructions, devices).run();
}

}  // namespace argosy
