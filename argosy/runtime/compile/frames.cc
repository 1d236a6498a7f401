#include "argosy/runtime/compile/frames.h"
#include "argosy/base/narrow.h"
#include "argosy/runtime/step/frame_keys.h"

#include <algorithm>
#include <map>

namespace argosy {

void link_instructions(Step& step, const InstructionGraph& instructions) {
  DataflowGraph& graph = step.dataflow;
  graph.successors.resize(step.instructions.size());
  graph.pending.assign(step.instructions.size(), 0);
  for (std::size_t i = 0; i < step.instructions.size(); ++i) {
    const Instruction& instruction = step.instructions[i];
    std::vector<std::int32_t> data;
    const auto edge = [&](std::int32_t slot, std::int32_t input) {
      const std::int32_t p = instructions.producer[slot];
      if (p < 0) return;
      graph.successors[p].push_back({static_cast<std::int32_t>(i), slot - step.instructions[p].first_output, input});
      data.push_back(p);
      ++graph.pending[i];
    };
    for (int k = 0; k < instruction.num_inputs; ++k) edge(step.input_slots[instruction.first_input + k], k);
    std::int32_t next = instruction.num_inputs;
    for (const auto& [handle, value] : step.meta[i].derefs) edge(handle, next++);
    for (const std::int32_t p : instructions.after[i]) {
      if (std::find(data.begin(), data.end(), p) != data.end()) continue;
      graph.successors[p].push_back({static_cast<std::int32_t>(i), -1, -1});
      ++graph.pending[i];
    }
  }
}

Status find_frames(Step& step, const InstructionGraph& instructions) {
  const auto n = static_cast<std::int32_t>(step.instructions.size());
  step.dataflow.frames.assign(1, {});
  step.dataflow.frame_of.assign(step.instructions.size(), -1);
  step.dataflow.local_of.assign(step.instructions.size(), 0);
  step.dataflow.base_of.assign(step.instructions.size(), 0);
  step.dataflow.enters.assign(step.instructions.size(), {});
  std::map<std::pair<int, std::string>, int> children;  // (parent, frame_name)
  const auto child = [&](int parent, const AttrMap& attrs) {
    const auto [at, fresh] =
        children.try_emplace({parent, attrs.get_string("frame_name")}, static_cast<int>(step.dataflow.frames.size()));
    if (fresh) {
      DataflowGraph::Frame frame;
      frame.parent = parent;
      frame.name_key = frame_name_key(at->first.second);
      frame.parallel = saturated_int(std::max<std::int64_t>(1, attrs.get_or<std::int64_t>("parallel_iterations", 10)));
      step.dataflow.frames.push_back(std::move(frame));
    }
    return at->second;
  };
  std::vector<std::int32_t> work;
  for (std::int32_t i = 0; i < n; ++i) {
    if (step.dataflow.pending[i] == 0) {
      step.dataflow.frame_of[i] = 0;
      work.push_back(i);
    }
  }
  while (!work.empty()) {
    const std::int32_t i = work.back();
    work.pop_back();
    const Instruction& instruction = step.instructions[i];
    int frame = step.dataflow.frame_of[i];
    if (instruction.flow == Flow::kEnter) {
      const AttrMap& attrs = instructions.nodes[i]->attrs;
      frame = child(frame, attrs);
      step.dataflow.enters[i] = {frame, attrs.get_or<bool>("is_constant", false)};
      ++step.dataflow.frames[frame].enters;
    } else if (instruction.flow == Flow::kExit) {
      if (frame == 0)
        return invalid_argument("Exit '", step.info.nodes[instruction.node].name, "' is in no loop")
            .with_id("ARG-LOOP-001");
      frame = step.dataflow.frames[frame].parent;
    }
    for (const DataflowGraph::Edge& e : step.dataflow.successors[i]) {
      if (step.dataflow.frame_of[e.instruction] < 0) {
        step.dataflow.frame_of[e.instruction] = frame;
        work.push_back(e.instruction);
      } else if (step.dataflow.frame_of[e.instruction] != frame) {
        return invalid_argument("node '", step.info.nodes[step.instructions[e.instruction].node].name,
                                "' takes inputs of different loops")
            .with_id("ARG-LOOP-002")
            .with_hint("bring outer values into the loop by Enter (a loop variable or a captured value)");
      }
    }
  }
  for (std::int32_t i = 0; i < n; ++i) {
    if (step.dataflow.frame_of[i] < 0) {
      return invalid_argument("node '", step.info.nodes[step.instructions[i].node].name,
                              "' is on a cycle without an Enter")
          .with_id("ARG-LOOP-003");
    }
    DataflowGraph::Frame& frame = step.dataflow.frames[step.dataflow.frame_of[i]];
    step.dataflow.local_of[i] = static_cast<std::int32_t>(frame.instructions.size());
    step.dataflow.base_of[i] = frame.inputs;
    frame.instructions.push_back(i);
    frame.inputs += step.instructions[i].num_inputs + static_cast<std::int32_t>(step.meta[i].derefs.size());
    if (step.instructions[i].flow == Flow::kExit) frame.exits.push_back(i);
  }
  return ok_status();
}

}  // namespace argosy
