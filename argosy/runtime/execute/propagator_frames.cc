// Frames and iterations: how loops begin, iterate and end.
#include <algorithm>

#include "argosy/runtime/execute/propagator_frame.h"

namespace argosy {

void PropagatorState::enter(const Entry& entry, const Tensor& value) {
  const Instruction& instruction = step_.instructions[entry.instruction];
  const AttrMap& attrs = step_.nodes[instruction.node].flow_attrs;
  Frame& frame = child_frame(entry, attrs);
  ++frame.entered;
  Iteration& first = frame.iterations.at(0);
  ++first.outstanding;  // held while values arrive
  const bool dead = !value.valid();
  if (attrs.get_bool("is_constant")) {
    frame.invariants.emplace_back(entry.instruction, value);
    for (auto& [number, it] : frame.iterations) {
      for (const Step::Edge& e : step_.successors[entry.instruction]) deliver(frame, number, e, value, dead);
    }
  } else {
    for (const Step::Edge& e : step_.successors[entry.instruction]) deliver(frame, 0, e, value, dead);
  }
  leave(frame, 0);
}

PropagatorState::Frame& PropagatorState::child_frame(const Entry& entry, const AttrMap& attrs) {
  auto& slot = frames_[{entry.frame, entry.iteration, attrs.get_string("frame_name")}];
  if (slot == nullptr) {
    slot = std::make_unique<Frame>();
    // Its instructions' frame is that of whatever follows the Enter.
    slot->id = step_.successors[entry.instruction].empty()
                   ? 0
                   : step_.frame_of[step_.successors[entry.instruction][0].instruction];
    slot->parent = entry.frame;
    slot->parent_iteration = entry.iteration;
    slot->exited.assign(step_.frames[slot->id].exits.size(), 0);
    ++entry.frame->iterations.at(entry.iteration).outstanding;
    start_iteration(*slot, 0);
  }
  return *slot;
}

void PropagatorState::start_iteration(Frame& frame, std::int64_t number) {
  const Step::Frame& info = step_.frames[frame.id];
  Iteration& it = frame.iterations[number];
  if (!frame.spare.empty()) {
    it = std::move(frame.spare.back());
    frame.spare.pop_back();
  }
  it.pending.resize(info.instructions.size());
  for (std::size_t i = 0; i < info.instructions.size(); ++i) it.pending[i] = step_.pending[info.instructions[i]];
  it.dead.assign(info.instructions.size(), 0);
  it.live.assign(info.instructions.size(), 0);
  it.started.assign(info.instructions.size(), 0);
  it.inputs.resize(static_cast<std::size_t>(info.inputs));
  frame.newest = number;
  for (const auto& [instruction, value] : frame.invariants) {
    for (const Step::Edge& e : step_.successors[instruction]) deliver(frame, number, e, value, !value.valid());
  }
}

void PropagatorState::next_iteration(Frame& frame, std::int64_t iteration, std::int32_t instruction,
                                     const Tensor& value) {
  const std::int64_t number = iteration + 1;
  if (number > frame.newest) {
    if (static_cast<int>(frame.iterations.size()) >= step_.frames[frame.id].parallel) {
      frame.held_back.emplace_back(instruction, value);
      return;
    }
    start_iteration(frame, number);
  }
  for (const Step::Edge& e : step_.successors[instruction]) deliver(frame, number, e, value, false);
}

// Something of an iteration is done. Iterations end in order; an ended last one ends its frame.
void PropagatorState::leave(Frame& frame, std::int64_t iteration) {
  --frame.iterations.at(iteration).outstanding;
  if (&frame == root_.get() || failed_) return;
  if (frame.entered < step_.frames[frame.id].enters) return;
  while (!frame.iterations.empty() && frame.iterations.begin()->second.outstanding == 0) {
    const bool last = frame.iterations.size() == 1 && frame.held_back.empty();
    if (last) return end_frame(frame);
    const std::int64_t oldest = frame.iterations.begin()->first;
    if (!frame.held_back.empty()) {
      const auto held = std::exchange(frame.held_back, {});
      const std::int64_t number = frame.newest + 1;
      start_iteration(frame, number);
      Iteration& fresh = frame.iterations.at(number);
      ++fresh.outstanding;
      for (const auto& [instruction, value] : held) {
        for (const Step::Edge& e : step_.successors[instruction]) deliver(frame, number, e, value, false);
      }
      --fresh.outstanding;
    }
    Iteration& ended = frame.iterations.at(oldest);
    ended.inputs.clear();
    frame.spare.push_back(std::move(ended));
    frame.iterations.erase(oldest);
  }
}

void PropagatorState::end_frame(Frame& frame) {
  Frame& parent = *frame.parent;
  const std::int64_t iteration = frame.parent_iteration;
  const Step::Frame& info = step_.frames[frame.id];
  ++parent.iterations.at(iteration).outstanding;
  for (std::size_t x = 0; x < info.exits.size(); ++x) {
    if (frame.exited[x]) continue;
    for (const Step::Edge& e : step_.successors[info.exits[x]]) deliver(parent, iteration, e, Tensor(), true);
  }
  std::erase_if(frames_, [&](const auto& entry) { return entry.second.get() == &frame; });
  --parent.iterations.at(iteration).outstanding;
  leave(parent, iteration);  // the count the frame held
}

}  // namespace argosy
