#include "argosy/runtime/compile/frames.h"

#include <map>

namespace argosy {

Status find_frames(Step& step) {
  const auto n = static_cast<std::int32_t>(step.instructions.size());
  step.frames.assign(1, {});
  step.frame_of.assign(step.instructions.size(), -1);
  step.local_of.assign(step.instructions.size(), 0);
  step.base_of.assign(step.instructions.size(), 0);
  std::map<std::pair<int, std::string>, int> children;  // (parent, frame_name)
  const auto child = [&](int parent, const AttrMap& attrs) {
    const auto [at, fresh] =
        children.try_emplace({parent, attrs.get_string("frame_name")}, static_cast<int>(step.frames.size()));
    if (fresh) {
      Step::Frame frame;
      frame.parent = parent;
      frame.parallel =
          static_cast<int>(std::max<std::int64_t>(1, attrs.get_or<std::int64_t>("parallel_iterations", 10)));
      step.frames.push_back(std::move(frame));
    }
    return at->second;
  };
  std::vector<std::int32_t> work;
  for (std::int32_t i = 0; i < n; ++i) {
    if (step.pending[i] == 0) {
      step.frame_of[i] = 0;
      work.push_back(i);
    }
  }
  while (!work.empty()) {
    const std::int32_t i = work.back();
    work.pop_back();
    const Instruction& instruction = step.instructions[i];
    int frame = step.frame_of[i];
    if (instruction.flow == Flow::kEnter) {
      frame = child(frame, step.nodes[instruction.node].flow_attrs);
      ++step.frames[frame].enters;
    } else if (instruction.flow == Flow::kExit) {
      if (frame == 0)
        return invalid_argument("Exit '", step.nodes[instruction.node].name, "' is in no loop").with_id("ARG-LOOP-001");
      frame = step.frames[frame].parent;
    }
    for (const Step::Edge& e : step.successors[i]) {
      if (step.frame_of[e.instruction] < 0) {
        step.frame_of[e.instruction] = frame;
        work.push_back(e.instruction);
      } else if (step.frame_of[e.instruction] != frame) {
        return invalid_argument("node '", step.nodes[step.instructions[e.instruction].node].name,
                                "' takes inputs of different loops")
            .with_id("ARG-LOOP-002")
            .with_hint("bring outer values into the loop by Enter (a loop variable or a captured value)");
      }
    }
  }
  for (std::int32_t i = 0; i < n; ++i) {
    if (step.frame_of[i] < 0) {
      return invalid_argument("node '", step.nodes[step.instructions[i].node].name, "' is on a cycle without an Enter")
          .with_id("ARG-LOOP-003");
    }
    Step::Frame& frame = step.frames[step.frame_of[i]];
    step.local_of[i] = static_cast<std::int32_t>(frame.instructions.size());
    step.base_of[i] = frame.inputs;
    frame.instructions.push_back(i);
    frame.inputs += step.instructions[i].num_inputs + static_cast<std::int32_t>(step.meta[i].derefs.size());
    if (step.instructions[i].flow == Flow::kExit) frame.exits.push_back(i);
  }
  return ok_status();
}

}  // namespace argosy
