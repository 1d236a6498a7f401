#include "argosy/runtime/compile/loop_ends.h"

namespace argosy {

void LoopEnds::add(Step& step, InstructionGraph& instructions, const ControlFlowSchedule& flow,
                   std::vector<std::int32_t>& order) {
  const std::vector<DataflowGraph::Frame>& frames = step.dataflow.frames;
  const std::size_t count = step.instructions.size();  // without ends
  begins_.assign(frames.size(), -1);
  ends_.assign(frames.size(), -1);
  for (std::int32_t& e : order) {
    if (e >= 0) continue;
    const bool begin = ControlFlowSchedule::frame_begun(e) >= 0;
    const int frame = begin ? ControlFlowSchedule::frame_begun(e) : ControlFlowSchedule::frame_ended(e);
    (begin ? begins_ : ends_)[frame] = e = static_cast<std::int32_t>(step.instructions.size());
    const std::int32_t first = frames[frame].instructions.empty() ? 0 : frames[frame].instructions[0];
    step.instructions.push_back({.node = step.instructions[first].node,
                                 .device = static_cast<std::int16_t>(flow.loop_device(frame)),
                                 .role = begin ? Role::kLoopBegin : Role::kLoopEnd});
    step.meta.emplace_back().loop = frame;
    instructions.after.emplace_back();
    instructions.nodes.push_back(nullptr);
    instructions.ops.push_back(nullptr);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const int home = flow.home(static_cast<std::int32_t>(i));
    for (std::int32_t& p : instructions.after[i]) {
      if (step.instructions[p].flow == Flow::kNextIteration && step.instructions[i].flow == Flow::kMerge) continue;
      const int left = flow.loop_between(flow.home(p), home);
      const int entered = flow.loop_between(home, flow.home(p));
      const std::int32_t before = left != 0 ? ends_[left] : p;
      if (entered != 0) instructions.after[begins_[entered]].push_back(before);
      p = before;
    }
  }
}

void LoopEnds::place(Step& step, const Positions& positions) const {
  for (std::size_t f = 1; f < begins_.size(); ++f) {
    if (begins_[f] < 0) continue;
    step.plan.loops[f].begin = positions.of_instruction[begins_[f]];
    step.plan.loops[f].end = positions.of_instruction[ends_[f]];
  }
}

}  // namespace argosy
