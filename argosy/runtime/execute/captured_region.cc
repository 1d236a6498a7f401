#include "argosy/runtime/execute/captured_region.h"

#include <algorithm>

#include "argosy/op/state/resource_manager.h"
#include "argosy/op/state/variable.h"
#include "argosy/runtime/execute/executor.h"
#include "argosy/runtime/execute/run_state.h"

namespace argosy {

namespace {

// Values of variables (null: it has none yet).
std::vector<const void*> variables_of(const Stretch& stretch, const RunState& state) {
  std::vector<const void*> places;
  for (const std::int32_t slot : stretch.handles) {
    const Tensor& handle = state.tensors[static_cast<std::size_t>(slot)];
    const auto variable = handle.valid() && handle.elements() == 1
                              ? std::dynamic_pointer_cast<Variable>(handle.data<ResourceHandle>()->resource())
                              : nullptr;
    const auto value = variable == nullptr ? Result<Tensor>(internal_error("no variable")) : variable->read("");
    places.push_back(value.ok() ? value->raw() : nullptr);
  }
  return places;
}

// Those, then the arena and the inputs.
std::vector<const void*> places_of(const Stretch& stretch, const RunState& state, int d) {
  std::vector<const void*> places = variables_of(stretch, state);
  places.push_back(state.arena_bases[static_cast<std::size_t>(d)]);
  for (const std::int32_t slot : stretch.inputs) places.push_back(state.tensors[static_cast<std::size_t>(slot)].raw());
  return places;
}

}  // namespace

Result<bool> run_recorded(const Step& step, RunState& state, int d, std::size_t k, Recorder& recorder,
                          const StretchCalls& calls) {
  const Stretch& stretch = step.stretches[static_cast<std::size_t>(d)][k];
  RecordedStretch& recorded = state.recorded[static_cast<std::size_t>(d)][k];
  if (recorded.dropped >= kMostDropped) {
    recorded.recording = nullptr;  // with the memory it keeps
    return false;
  }
  const auto items =
      std::span(step.order[static_cast<std::size_t>(d)])
          .subspan(static_cast<std::size_t>(stretch.begin), static_cast<std::size_t>(stretch.end - stretch.begin));
  for (const std::int32_t item : items) ARGOSY_RETURN_IF_ERROR(calls.wait(item));
  std::vector<const void*> places = places_of(stretch, state, d);
  if (recorded.recording != nullptr && recorded.places == places) {
    ARGOSY_RETURN_IF_ERROR(recorder.repeat(*recorded.recording));
    recorded.dropped = 0;
    for (const std::int32_t item : items) calls.let_go(item);
    return true;
  }
  if (recorded.recording == nullptr && recorded.seen++ < kRunsBeforeRecording) return false;

  if (recorded.recording != nullptr) ++recorded.dropped;
  ARGOSY_RETURN_IF_ERROR(recorder.begin());
  for (const std::int32_t item : items) {
    Status status = calls.run(item);
    if (status.ok()) continue;
    recorder.give_up();
    return name_node(std::move(status), step, step.items[static_cast<std::size_t>(item)]);
  }
  auto made = recorder.end(std::move(recorded.recording));
  if (!made.ok()) {
    recorded.dropped = kMostDropped;
    return std::move(made).status();
  }
  // Whatever comes of it, this time it is what the step does.
  ARGOSY_RETURN_IF_ERROR(recorder.repeat(**made));
  // Where a variable has moved meanwhile, the next run would write where it was. (Inputs may have been let go of.)
  const std::vector<const void*> variables = variables_of(stretch, state);
  if ((*made)->fits() && std::equal(variables.begin(), variables.end(), places.begin())) {
    recorded.recording = *std::move(made);
    recorded.places = std::move(places);
  } else {
    ++recorded.dropped;
  }
  return true;
}

}  // namespace argosy
