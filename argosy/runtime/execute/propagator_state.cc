#include "argosy/runtime/execute/propagator_state.h"

#include <algorithm>

#include "argosy/runtime/execute/propagator_frame.h"

namespace argosy {

DynamicFlow::DynamicFlow(const Step& step, RunState& state)
    : step_(step),
      state_(state),
      is_constant_(step.slots.size(), 0),
      is_fetched_(step.slots.size(), 0),
      data_inputs_(step.items.size(), 0),
      root_(std::make_unique<Frame>()) {
  for (const auto& [slot, value] : step.presets) is_constant_[slot] = 1;
  for (const std::int32_t slot : step.feed_slots) is_constant_[slot] = 1;
  for (const std::int32_t slot : step.fetch_slots) {
    if (slot >= 0) is_fetched_[slot] = 1;
  }
  for (const auto& edges : step.successors) {
    for (const Step::Edge& e : edges) data_inputs_[e.item] += e.output >= 0 ? 1 : 0;
  }
}

DynamicFlow::~DynamicFlow() = default;

void DynamicFlow::start() {
  start_iteration(*root_, 0);
  for (std::size_t i = 0; i < step_.items.size(); ++i) {
    if (step_.pending[i] == 0) make_ready({static_cast<std::int32_t>(i), root_.get(), 0, false});
  }
}

void DynamicFlow::make_ready(const Entry& entry) {
  Iteration& it = entry.frame->iterations.at(entry.iteration);
  char& started = it.started[step_.local_of[entry.item]];
  if (started) return;
  started = 1;
  ++it.outstanding;
  ++outstanding_;
  ready_.push_back(entry);
}

void DynamicFlow::take_inputs(const Entry& entry, std::vector<Tensor>& inputs) {
  const Item& item = step_.items[entry.item];
  const auto& derefs = step_.extras[entry.item].derefs;
  Iteration& it = entry.frame->iterations.at(entry.iteration);
  const std::int32_t base = step_.base_of[entry.item];
  inputs.clear();
  const auto take = [&](std::int32_t slot) {
    Tensor& delivered = it.inputs[base + static_cast<std::int32_t>(inputs.size())];
    // Constants, handles and feeds are there for every iteration of every frame.
    const bool there = delivered.valid() || item.flow == Flow::kMerge;
    inputs.push_back(there ? std::exchange(delivered, Tensor()) : state_.tensors[slot]);
  };
  for (int k = 0; k < item.num_inputs; ++k) take(step_.input_slots[item.first_input + k]);
  for (const auto& [handle, value] : derefs) take(handle);
  // A Merge may take a constant or a feed too.
  if (item.flow == Flow::kMerge &&
      std::none_of(inputs.begin(), inputs.end(), [](const Tensor& t) { return t.valid(); })) {
    for (int k = 0; k < item.num_inputs; ++k) inputs[k] = state_.tensors[step_.input_slots[item.first_input + k]];
  }
}

void DynamicFlow::finish(const Entry& entry, const std::vector<Tensor>& outputs) {
  if (!failed_) propagate(entry, outputs);
  leave(*entry.frame, entry.iteration);
  --outstanding_;
}

std::int32_t DynamicFlow::stuck() const {
  const std::vector<char>& started = root_->iterations.at(0).started;
  const auto never = std::find(started.begin(), started.end(), 0);
  return never == started.end() ? -1 : step_.frames[root_->id].items[static_cast<std::size_t>(never - started.begin())];
}

void DynamicFlow::propagate(const Entry& entry, const std::vector<Tensor>& outputs) {
  const Item& item = step_.items[entry.item];
  Frame* frame = entry.frame;
  std::int64_t iteration = entry.iteration;
  switch (item.flow) {
    case Flow::kEnter: return enter(entry, entry.dead ? Tensor() : outputs[0]);
    case Flow::kNextIteration:
      if (!entry.dead) next_iteration(*frame, entry.iteration, entry.item, outputs[0]);
      return;
    case Flow::kExit: {
      if (entry.dead) return;  // told when the frame is over
      const auto& exits = step_.frames[frame->id].exits;
      frame->exited[std::find(exits.begin(), exits.end(), entry.item) - exits.begin()] = 1;
      iteration = frame->parent_iteration;
      frame = frame->parent;
      break;
    }
    default: break;
  }
  if (frame == root_.get()) keep(item, outputs);
  const bool all_dead = entry.dead;
  for (const Step::Edge& e : step_.successors[entry.item]) {
    deliver(*frame, iteration, e, all_dead || e.output < 0 ? Tensor() : outputs[e.output], all_dead);
  }
}

// What is fetched goes to its slot; all else lives as long as somebody is to read it.
void DynamicFlow::keep(const Item& item, const std::vector<Tensor>& outputs) {
  for (int o = 0; o < item.num_outputs; ++o) {
    const std::int32_t slot = item.first_output + o;
    if (is_fetched_[slot] && outputs[o].valid()) state_.tensors[slot] = outputs[o];
  }
}

void DynamicFlow::deliver(Frame& frame, std::int64_t iteration, const Step::Edge& e, const Tensor& value,
                          bool dead_control) {
  Iteration& it = frame.iterations.at(iteration);
  const std::int32_t local = step_.local_of[e.item];
  const Item& to = step_.items[e.item];
  const bool control = e.output < 0;
  const bool dead = control ? dead_control : !value.valid();
  if (!dead && e.input >= 0) it.inputs[step_.base_of[e.item] + e.input] = value;
  --it.pending[local];
  if (to.flow == Flow::kMerge) {
    if (!control && !dead) it.live[local] = 1;
    if (!control && dead) ++it.dead[local];
    // Loops feed a Merge once per iteration, so "all inputs came" is not to be waited for: one live input is enough.
    const bool constants = merge_has_constant(to);
    if (controls_pending(it, e.item) == 0 && (it.live[local] || constants))
      return make_ready({e.item, &frame, iteration, false});
    if (it.pending[local] == 0) make_ready({e.item, &frame, iteration, true});
    return;
  }
  if (dead) ++it.dead[local];
  if (it.pending[local] > 0) return;
  const bool runs_dead = it.dead[local] > 0 && to.flow != Flow::kControlTrigger;
  make_ready({e.item, &frame, iteration, runs_dead});
}

bool DynamicFlow::merge_has_constant(const Item& merge) const {
  for (int k = 0; k < merge.num_inputs; ++k) {
    if (state_.tensors[step_.input_slots[merge.first_input + k]].valid() &&
        is_constant_[step_.input_slots[merge.first_input + k]])
      return true;
  }
  return false;
}

// Control edges into a Merge still to come. Few: counted when asked.
int DynamicFlow::controls_pending(const Iteration& it, std::int32_t item) const {
  const std::int32_t local = step_.local_of[item];
  const int data = data_inputs_[item];
  const int arrived = step_.pending[item] - it.pending[local];
  const int data_arrived = std::min(data, it.dead[local] + (it.live[local] ? 1 : 0));
  const int controls = step_.pending[item] - data;
  return controls - std::max(0, arrived - data_arrived);
}

}  // namespace argosy
