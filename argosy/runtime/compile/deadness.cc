#include "argosy/runtime/compile/deadness.h"

#include <algorithm>

namespace argosy {

namespace {

using Literal =
    std::pair<std::int32_t, std::int32_t>;  // (slot of the predicate, value), or (-1 - instruction, 0): unknown
using Condition = std::vector<Literal>;     // sorted

constexpr std::size_t kMostLiterals = 48;  // a longer condition becomes unknown

class DeadnessAnalysis {
 public:
  DeadnessAnalysis(Step& step, const InstructionGraph& instructions, const std::vector<InstructionGraph::Before>& after)
      : step_(step),
        instructions_(instructions),
        after_(after),
        of_instruction_(step.instructions.size()),
        entered_(step.dataflow.frames.size()),
        nexts_(step.dataflow.frames.size()) {}

  bool run(std::span<const std::int32_t> sequence) {
    for (const std::int32_t i : sequence) {
      if (i >= 0) {
        visit(i);
      } else if (const int frame = ControlFlowSchedule::frame_ended(i); frame >= 0 && !is_regular(frame)) {
        return false;
      }
    }
    for (Loop& loop : step_.plan.loops) {
      if (std::find(loop.enters.begin(), loop.enters.end(), -1) != loop.enters.end()) loop.enters.clear();
    }
    for (const std::int32_t slot : step_.fetch_slots)
      step_.plan.fetch_dead_flags.push_back(slot < 0 ? -1 : flag_of(slot));
    return true;
  }

 private:
  Condition condition_of(std::int32_t slot) const {
    const std::int32_t p = instructions_.producer[slot];
    if (p < 0) return {};
    Condition condition = of_instruction_[p];
    if (const Instruction& instruction = step_.instructions[p]; instruction.role == Role::kSwitch) {
      add(condition, {{predicate(step_.input_slots[instruction.first_input + 1]), slot - instruction.first_output}});
    }
    return condition;
  }

  // The slot in which a predicate was computed: follows copies and forwarding ops back to it.
  std::int32_t predicate(std::int32_t slot) const {
    while (true) {
      const std::int32_t p = instructions_.producer[slot];
      if (p < 0) return slot;
      const bool forwards_input = step_.instructions[p].role == Role::kCopy ||
                                  (instructions_.ops[p] != nullptr && instructions_.ops[p]->forwards);
      if (!forwards_input || step_.instructions[p].num_inputs == 0) return slot;
      slot = step_.input_slots[step_.instructions[p].first_input];
    }
  }

  static void add(Condition& to, const Condition& more) {
    Condition both;
    std::set_union(to.begin(), to.end(), more.begin(), more.end(), std::back_inserter(both));
    to = std::move(both);
  }

  // The flag that is set when a slot's value is dead; -1: it never is.
  std::int32_t flag_of(std::int32_t slot) const {
    const std::int32_t p = instructions_.producer[slot];
    if (condition_of(slot).empty()) return -1;
    return step_.instructions[p].role == Role::kSwitch ? slot : instruction_flag(p);
  }
  std::int32_t instruction_flag(std::int32_t instruction) const {
    return static_cast<std::int32_t>(step_.slots.size()) + instruction;
  }

  void visit(std::int32_t i) {
    Instruction& instruction = step_.instructions[i];
    InstructionMeta& meta = step_.meta[i];
    if (instruction.role == Role::kMerge) return visit_merge(i);
    if (instruction.flow == Flow::kControlTrigger) return;
    const int frame = step_.dataflow.frame_of[i];
    std::vector<std::int32_t> producers, flags;
    Condition all;
    const auto input = [&](std::int32_t slot) {
      producers.push_back(instructions_.producer[slot]);
      add(all, condition_of(slot));
      flags.push_back(flag_of(slot));
    };
    for (int k = 0; k < instruction.num_inputs; ++k) input(step_.input_slots[instruction.first_input + k]);
    for (const auto& [handle, value] : meta.derefs) input(handle);
    for (const std::int32_t p : after_[i]) {
      if (std::find(producers.begin(), producers.end(), p) != producers.end()) continue;
      add(all, of_instruction_[p]);
      flags.push_back(of_instruction_[p].empty() ? -1 : instruction_flag(p));
    }
    std::sort(flags.begin(), flags.end());
    flags.erase(std::unique(flags.begin(), flags.end()), flags.end());
    std::erase(flags, -1);
    if (instruction.flow == Flow::kExit) {
      auto& leaving = step_.plan.loops[frame].leaving;
      leaving.insert(leaving.end(), flags.begin(), flags.end());
      if (!nexts_[frame].empty()) all = entered_[frame];
      if (all.empty()) flags.clear();
    } else if (instruction.flow == Flow::kNextIteration) {
      nexts_[frame].push_back(all);
      step_.plan.loops[frame].nexts.push_back(instruction_flag(i));
    } else if (instruction.flow == Flow::kEnter) {
      const int inner = inner_frame(i);
      add(entered_[inner], all);
      step_.plan.loops[inner].enters.push_back(all.empty() ? -1 : instruction_flag(i));
    }
    if (all.size() > kMostLiterals) all = {{-1 - i, 0}};
    instruction.may_be_dead = !all.empty();
    meta.dead_flags = std::move(flags);
    of_instruction_[i] = std::move(all);
  }

  int inner_frame(std::int32_t enter) const {
    const auto& edges = step_.dataflow.successors[enter];
    return edges.empty() ? 0 : step_.dataflow.frame_of[edges[0].instruction];
  }

  void visit_merge(std::int32_t i) {
    Instruction& instruction = step_.instructions[i];
    InstructionMeta& meta = step_.meta[i];
    std::vector<Condition> inputs;
    for (int k = 0; k < instruction.num_inputs; ++k) {
      std::int32_t slot = step_.input_slots[instruction.first_input + k];
      // The value of a variable is live exactly when the reference to it is.
      for (const auto& [handle, value] : meta.derefs) slot = value == slot ? handle : slot;
      const std::int32_t p = instructions_.producer[slot];
      if (p >= 0 && step_.instructions[p].flow == Flow::kNextIteration) {
        meta.back_edge_inputs |= std::uint64_t{1} << k;
        meta.dead_flags.push_back(instruction_flag(p));
        continue;
      }
      inputs.push_back(condition_of(slot));
      meta.dead_flags.push_back(flag_of(slot));
    }
    if (meta.back_edge_inputs != 0) meta.loop = step_.dataflow.frame_of[i];
    of_instruction_[i] = meta.back_edge_inputs != 0 ? entered_[meta.loop] : either(i, inputs);
    instruction.may_be_dead = !of_instruction_[i].empty();
  }

  // The condition under which some input of a Merge is live.
  static Condition either(std::int32_t merge, const std::vector<Condition>& inputs) {
    if (std::any_of(inputs.begin(), inputs.end(), [](const Condition& c) { return c.empty(); })) return {};
    if (inputs.size() == 2) {
      for (const Literal& literal : inputs[0]) {
        if (literal.first < 0) continue;
        Condition rest = inputs[0], other = inputs[1];
        std::erase(rest, literal);
        if (std::erase(other, Literal{literal.first, 1 - literal.second}) != 0 && rest == other) return rest;
      }
    }
    return {{-1 - merge, 0}};
  }

  // True if the loop is regular: one predicate ends it (deadness.h). REQUIRES: all its instructions have been visited.
  bool is_regular(int frame) const {
    if (nexts_[frame].empty()) return true;
    std::int32_t decides = -1;
    const auto decided = [&](const Condition& condition, int value) {
      const Condition beyond = beyond_entered(frame, condition);
      if (beyond.size() != 1 || beyond[0].first < 0 || beyond[0].second != value) return false;
      if (decides < 0) decides = beyond[0].first;
      return beyond[0].first == decides;
    };
    for (const Condition& condition : nexts_[frame]) {
      if (!decided(condition, 1)) return false;
    }
    for (const std::int32_t i : step_.dataflow.frames[frame].exits) {
      Condition condition = condition_of(step_.input_slots[step_.instructions[i].first_input]);
      for (const std::int32_t p : after_[i]) add(condition, of_instruction_[p]);
      if (!decided(condition, 0)) return false;
    }
    return beyond_entered(frame, condition_of(decides)).empty();
  }
  Condition beyond_entered(int frame, const Condition& condition) const {
    Condition beyond;
    std::set_difference(condition.begin(), condition.end(), entered_[frame].begin(), entered_[frame].end(),
                        std::back_inserter(beyond));
    return beyond;
  }

  Step& step_;
  const InstructionGraph& instructions_;
  const std::vector<InstructionGraph::Before>& after_;
  std::vector<Condition> of_instruction_;
  std::vector<Condition> entered_;             // by frame: of all its Enters together
  std::vector<std::vector<Condition>> nexts_;  // by frame: of its NextIterations
};

}  // namespace

bool analyze_deadness(Step& step, const InstructionGraph& instructions,
                      const std::vector<InstructionGraph::Before>& after, std::span<const std::int32_t> sequence) {
  return DeadnessAnalysis(step, instructions, after).run(sequence);
}

}  // namespace argosy
