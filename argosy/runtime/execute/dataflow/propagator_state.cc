#include "argosy/runtime/execute/dataflow/propagator_state.h"

#include <algorithm>

#include "argosy/runtime/execute/dataflow/propagator_frame.h"

namespace argosy {

PropagatorState::PropagatorState(const Step& step, RunState& state)
    : step_(step),
      state_(state),
      is_constant_(step.slots.size(), 0),
      is_fetched_(step.slots.size(), 0),
      data_inputs_(step.instructions.size(), 0),
      back_inputs_(step.instructions.size(), 0),
      root_(std::make_unique<Frame>()) {
  for (const auto& [slot, value] : step.constants) is_constant_[slot] = 1;
  for (const std::int32_t slot : step.feed_slots) is_constant_[slot] = 1;
  for (const std::int32_t slot : step.fetch_slots) {
    if (slot >= 0) is_fetched_[slot] = 1;
  }
  for (std::size_t i = 0; i < step.instructions.size(); ++i) {
    const bool back = step.instructions[i].flow == Flow::kNextIteration;
    for (const DataflowGraph::Edge& e : step.dataflow.successors[i]) {
      data_inputs_[e.instruction] += e.output >= 0 ? 1 : 0;
      back_inputs_[e.instruction] += e.output >= 0 && back ? 1 : 0;
    }
  }
}

PropagatorState::~PropagatorState() = default;

void PropagatorState::start() {
  start_iteration(*root_, 0);
  for (std::size_t i = 0; i < step_.instructions.size(); ++i) {
    if (step_.dataflow.pending[i] == 0) make_ready({static_cast<std::int32_t>(i), root_.get(), 0, false});
  }
}

void PropagatorState::make_ready(const Entry& entry) {
  Iteration& it = entry.frame->iterations.at(entry.iteration);
  char& started = it.started[step_.dataflow.local_of[entry.instruction]];
  if (started) return;
  started = 1;
  ++it.outstanding;
  ++outstanding_;
  ready_.push_back(entry);
}

void PropagatorState::take_inputs(const Entry& entry, std::vector<Tensor>& inputs) {
  const Instruction& instruction = step_.instructions[entry.instruction];
  const auto& derefs = step_.meta[entry.instruction].derefs;
  Iteration& it = entry.frame->iterations.at(entry.iteration);
  const std::int32_t base = step_.dataflow.base_of[entry.instruction];
  inputs.clear();
  const auto take = [&](std::int32_t slot) {
    Tensor& delivered = it.inputs[base + static_cast<std::int32_t>(inputs.size())];
    // Constants, handles and feeds are there for every iteration of every frame.
    const bool there = delivered.valid() || instruction.flow == Flow::kMerge;
    inputs.push_back(there ? std::exchange(delivered, Tensor()) : state_.tensors[slot]);
  };
  for (int k = 0; k < instruction.num_inputs; ++k) take(step_.input_slots[instruction.first_input + k]);
  for (const auto& [handle, value] : derefs) take(handle);
  // A Merge may take a constant or a feed too.
  if (instruction.flow == Flow::kMerge &&
      std::none_of(inputs.begin(), inputs.end(), [](const Tensor& t) { return t.valid(); })) {
    for (int k = 0; k < instruction.num_inputs; ++k)
      inputs[k] = state_.tensors[step_.input_slots[instruction.first_input + k]];
  }
}

void PropagatorState::finish(const Entry& entry, const std::vector<Tensor>& outputs) {
  if (!failed_) propagate(entry, outputs);
  decrement_outstanding(*entry.frame, entry.iteration);
  --outstanding_;
}

std::int32_t PropagatorState::stuck() const {
  const std::vector<char>& started = root_->iterations.at(0).started;
  const auto never = std::find(started.begin(), started.end(), 0);
  return never == started.end()
             ? -1
             : step_.dataflow.frames[root_->id].instructions[static_cast<std::size_t>(never - started.begin())];
}

void PropagatorState::propagate(const Entry& entry, const std::vector<Tensor>& outputs) {
  const Instruction& instruction = step_.instructions[entry.instruction];
  Frame* frame = entry.frame;
  std::int64_t iteration = entry.iteration;
  switch (instruction.flow) {
    case Flow::kEnter: return enter(entry, entry.dead ? Tensor() : outputs[0]);
    case Flow::kNextIteration:
      if (entry.dead) return dead_next(*frame, entry.iteration, entry.instruction);
      return next_iteration(*frame, entry.iteration, entry.instruction, outputs[0]);
    case Flow::kExit: {
      if (entry.dead) return;  // delivered when the frame is over
      const auto& exits = step_.dataflow.frames[frame->id].exits;
      frame->exited[std::find(exits.begin(), exits.end(), entry.instruction) - exits.begin()] = 1;
      iteration = frame->parent_iteration;
      frame = frame->parent;
      break;
    }
    default: break;
  }
  if (frame == root_.get()) keep(instruction, outputs);
  const bool all_dead = entry.dead || (instruction.receives && !outputs[0].valid());
  for (const DataflowGraph::Edge& e : step_.dataflow.successors[entry.instruction]) {
    deliver(*frame, iteration, e, all_dead || e.output < 0 ? Tensor() : outputs[e.output], all_dead);
  }
}

// Puts fetched outputs into their slots. Any other output lives for as long as a reader holds it.
void PropagatorState::keep(const Instruction& instruction, const std::vector<Tensor>& outputs) {
  for (int o = 0; o < instruction.num_outputs; ++o) {
    const std::int32_t slot = instruction.first_output + o;
    if (is_fetched_[slot] && outputs[o].valid()) state_.tensors[slot] = outputs[o];
  }
}

void PropagatorState::deliver(Frame& frame, std::int64_t iteration, const DataflowGraph::Edge& e, const Tensor& value,
                              bool dead_control) {
  Iteration& it = frame.iterations.at(iteration);
  const std::int32_t local = step_.dataflow.local_of[e.instruction];
  const Instruction& to = step_.instructions[e.instruction];
  const bool control = e.output < 0;
  const bool dead = control ? dead_control : !value.valid();
  if (!dead && e.input >= 0) it.inputs[step_.dataflow.base_of[e.instruction] + e.input] = value;
  --it.pending[local];
  if (to.flow == Flow::kMerge) {
    if (!control && !dead) it.live[local] = 1;
    if (!control && dead) ++it.dead[local];
    // In a loop only one input of a Merge comes in each iteration: one live input is enough, the others are not waited
    // for.
    const bool constants = merge_has_constant(to);
    if (controls_pending(it, e.instruction, iteration) == 0 && (it.live[local] || constants))
      return make_ready({e.instruction, &frame, iteration, false});
    if (it.pending[local] == 0) make_ready({e.instruction, &frame, iteration, true});
    return;
  }
  if (dead) ++it.dead[local];
  if (it.pending[local] > 0) return;
  const bool runs_dead = it.dead[local] > 0 && to.flow != Flow::kControlTrigger;
  make_ready({e.instruction, &frame, iteration, runs_dead});
}

bool PropagatorState::merge_has_constant(const Instruction& merge) const {
  for (int k = 0; k < merge.num_inputs; ++k) {
    if (state_.tensors[step_.input_slots[merge.first_input + k]].valid() &&
        is_constant_[step_.input_slots[merge.first_input + k]])
      return true;
  }
  return false;
}

// Returns how many inputs and controls an instruction waits for when its iteration begins.
int PropagatorState::first_pending(std::int32_t instruction, std::int64_t iteration) const {
  const int pending = step_.dataflow.pending[instruction], back = back_inputs_[instruction];
  if (back == 0 || step_.instructions[instruction].flow != Flow::kMerge) return pending;
  return pending - (iteration == 0 ? back : data_inputs_[instruction] - back);
}

// Returns how many control edges into a Merge are still to come. They are few, so they are counted here.
int PropagatorState::controls_pending(const Iteration& it, std::int32_t instruction, std::int64_t iteration) const {
  const std::int32_t local = step_.dataflow.local_of[instruction];
  const int data = data_inputs_[instruction];
  const int arrived = first_pending(instruction, iteration) - it.pending[local];
  const int data_arrived = std::min(data, it.dead[local] + (it.live[local] ? 1 : 0));
  const int controls = step_.dataflow.pending[instruction] - data;
  return controls - std::max(0, arrived - data_arrived);
}

}  // namespace argosy
