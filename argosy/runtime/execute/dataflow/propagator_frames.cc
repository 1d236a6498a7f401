// PropagatorState's frames and iterations: how loops begin, iterate and end. As TensorFlow's executor.
#include <algorithm>

#include "argosy/runtime/execute/dataflow/propagator_frame.h"
#include "argosy/runtime/step/frame_keys.h"

namespace argosy {

FrameIteration PropagatorState::place_of(const Entry& entry) { return {entry.frame->key, entry.iteration}; }

void PropagatorState::enter(const Entry& entry, const Tensor& value) {
  const DataflowGraph::Enter& facts = step_.dataflow.enters[entry.instruction];
  Frame& frame = child_frame(entry, facts.frame);
  ++frame.entered;
  Iteration& first = frame.iterations.at(0);
  ++first.outstanding;  // keeps the iteration alive while values are delivered
  const bool dead = !value.valid();
  if (facts.is_constant) {
    frame.invariants.emplace_back(entry.instruction, value);
    for (auto& [number, it] : frame.iterations) {
      for (const DataflowGraph::Edge& e : step_.dataflow.successors[entry.instruction])
        deliver(frame, number, e, value, dead);
    }
  } else {
    for (const DataflowGraph::Edge& e : step_.dataflow.successors[entry.instruction]) deliver(frame, 0, e, value, dead);
  }
  decrement_outstanding(frame, 0);
}

PropagatorState::Frame& PropagatorState::child_frame(const Entry& entry, std::int32_t id) {
  auto& slot = frames_[{entry.frame, entry.iteration, id}];
  if (slot == nullptr) {
    slot = std::make_unique<Frame>();
    slot->id = id;
    slot->key = child_frame_key(entry.frame->key, entry.iteration, step_.dataflow.frames[slot->id].name_key);
    slot->parent = entry.frame;
    slot->parent_iteration = entry.iteration;
    slot->exited.assign(step_.dataflow.frames[slot->id].exits.size(), 0);
    ++entry.frame->iterations.at(entry.iteration).outstanding;
    start_iteration(*slot, 0);
  }
  return *slot;
}

void PropagatorState::start_iteration(Frame& frame, std::int64_t number) {
  const DataflowGraph::Frame& info = step_.dataflow.frames[frame.id];
  Iteration& it = frame.iterations[number];
  if (!frame.spare.empty()) {
    it = std::move(frame.spare.back());
    frame.spare.pop_back();
  }
  it.pending.resize(info.instructions.size());
  for (std::size_t i = 0; i < info.instructions.size(); ++i)
    it.pending[i] = first_pending(info.instructions[i], number);
  it.dead.assign(info.instructions.size(), 0);
  it.live.assign(info.instructions.size(), 0);
  it.started.assign(info.instructions.size(), 0);
  it.inputs.resize(static_cast<std::size_t>(info.inputs));
  frame.newest = number;
  for (const auto& [instruction, value] : frame.invariants) {
    for (const DataflowGraph::Edge& e : step_.dataflow.successors[instruction])
      deliver(frame, number, e, value, !value.valid());
  }
  for (const auto& [instruction, of_number] : frame.dead_next_iterations) {
    if (of_number != number) continue;
    for (const DataflowGraph::Edge& e : step_.dataflow.successors[instruction])
      deliver(frame, number, e, Tensor(), true);
  }
  frame.dead_next_iterations.clear();
}

// Delivers a dead NextIteration, or keeps it until another value starts the next iteration.
void PropagatorState::dead_next(Frame& frame, std::int64_t iteration, std::int32_t instruction) {
  if (!frame.iterations.contains(iteration + 1)) {
    frame.dead_next_iterations.emplace_back(instruction, iteration + 1);
    return;
  }
  for (const DataflowGraph::Edge& e : step_.dataflow.successors[instruction])
    deliver(frame, iteration + 1, e, Tensor(), true);
}

void PropagatorState::next_iteration(Frame& frame, std::int64_t iteration, std::int32_t instruction,
                                     const Tensor& value) {
  const std::int64_t number = iteration + 1;
  if (number > frame.newest) {
    if (static_cast<int>(frame.iterations.size()) >= step_.dataflow.frames[frame.id].parallel) {
      frame.deferred_next_iterations.emplace_back(instruction, value);
      return;
    }
    start_iteration(frame, number);
  }
  for (const DataflowGraph::Edge& e : step_.dataflow.successors[instruction]) deliver(frame, number, e, value, false);
}

// One entry or child frame of the iteration is done. Iterations without any retire in order; the frame ends with the last.
void PropagatorState::decrement_outstanding(Frame& frame, std::int64_t iteration) {
  --frame.iterations.at(iteration).outstanding;
  if (&frame == root_.get() || failed_) return;
  if (frame.entered < step_.dataflow.frames[frame.id].enters) return;
  while (!frame.iterations.empty() && frame.iterations.begin()->second.outstanding == 0) {
    const bool last = frame.iterations.size() == 1 && frame.deferred_next_iterations.empty();
    if (last) return end_frame(frame);
    const std::int64_t oldest = frame.iterations.begin()->first;
    if (!frame.deferred_next_iterations.empty()) {
      const auto held = std::exchange(frame.deferred_next_iterations, {});
      const std::int64_t number = frame.newest + 1;
      start_iteration(frame, number);
      Iteration& fresh = frame.iterations.at(number);
      ++fresh.outstanding;
      for (const auto& [instruction, value] : held) {
        for (const DataflowGraph::Edge& e : step_.dataflow.successors[instruction])
          deliver(frame, number, e, value, false);
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
  const DataflowGraph::Frame& info = step_.dataflow.frames[frame.id];
  ++parent.iterations.at(iteration).outstanding;
  for (std::size_t x = 0; x < info.exits.size(); ++x) {
    if (frame.exited[x]) continue;
    for (const DataflowGraph::Edge& e : step_.dataflow.successors[info.exits[x]])
      deliver(parent, iteration, e, Tensor(), true);
  }
  std::erase_if(frames_, [&](const auto& entry) { return entry.second.get() == &frame; });
  --parent.iterations.at(iteration).outstanding;
  decrement_outstanding(parent, iteration);  // which counted this frame
}

}  // namespace argosy
