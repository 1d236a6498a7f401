#include "argosy/runtime/execute/captured_region.h"

#include <algorithm>

#include "argosy/op/state/resource_manager.h"
#include "argosy/op/state/variable.h"
#include "argosy/runtime/execute/executor.h"
#include "argosy/runtime/execute/run_state.h"

namespace argosy {

namespace {

std::vector<CapturedPlace> variables_of(const CaptureRegion& region, const RunState& state) {
  std::vector<CapturedPlace> places;
  for (const std::int32_t slot : region.handles) {
    const Tensor& handle = state.tensors[static_cast<std::size_t>(slot)];
    const auto variable = handle.valid() && handle.elements() == 1
                              ? std::dynamic_pointer_cast<Variable>(handle.data<ResourceHandle>()->resource())
                              : nullptr;
    const auto value = variable == nullptr ? Result<Tensor>(internal_error("no variable")) : variable->read("");
    places.push_back(value.ok() ? CapturedPlace{value->raw(), value->shape()} : CapturedPlace{});
  }
  return places;
}

// Those, then the arena and the inputs.
std::vector<CapturedPlace> places_of(const CaptureRegion& region, const RunState& state, int d) {
  std::vector<CapturedPlace> places = variables_of(region, state);
  places.push_back({state.arena_bases[static_cast<std::size_t>(d)], {}});
  for (const std::int32_t slot : region.inputs) {
    const Tensor& value = state.tensors[static_cast<std::size_t>(slot)];
    places.push_back({value.raw(), value.shape()});
  }
  return places;
}

}  // namespace

Result<bool> run_captured(const Step& step, RunState& state, int d, std::size_t k, GraphCapturer& capturer,
                          const RegionCallbacks& calls) {
  const CaptureRegion& region = step.plan.capture_regions[static_cast<std::size_t>(d)][k];
  CapturedRegion& captured = state.captured[static_cast<std::size_t>(d)][k];
  if (captured.dropped >= kMaxDroppedCaptures) {
    captured.graph = nullptr;  // with the memory it keeps
    return false;
  }
  const auto instructions =
      std::span(step.plan.order[static_cast<std::size_t>(d)])
          .subspan(static_cast<std::size_t>(region.begin), static_cast<std::size_t>(region.end - region.begin));
  for (const std::int32_t instruction : instructions) ARGOSY_RETURN_IF_ERROR(calls.wait(instruction));
  std::vector<CapturedPlace> places = places_of(region, state, d);
  if (captured.graph != nullptr && captured.places == places) {
    ARGOSY_RETURN_IF_ERROR(capturer.replay(*captured.graph));
    captured.dropped = 0;
    for (const std::int32_t instruction : instructions) calls.let_go(instruction);
    return true;
  }
  if (captured.graph == nullptr && captured.seen++ < kRunsBeforeCapture) return false;

  if (captured.graph != nullptr) ++captured.dropped;
  ARGOSY_RETURN_IF_ERROR(capturer.begin());
  for (const std::int32_t instruction : instructions) {
    Status status = calls.run(instruction);
    if (status.ok()) continue;
    capturer.give_up();
    return name_node(std::move(status), step, step.instructions[static_cast<std::size_t>(instruction)]);
  }
  auto made = capturer.end(std::move(captured.graph));
  if (!made.ok()) {
    captured.dropped = kMaxDroppedCaptures;
    return std::move(made).status();
  }
  // Whatever comes of it, this time it is what the step does.
  ARGOSY_RETURN_IF_ERROR(capturer.replay(**made));
  // Where a variable has moved meanwhile, the next run would write where it was. (Inputs may have been let go of.)
  const std::vector<CapturedPlace> variables = variables_of(region, state);
  if ((*made)->fits() && std::equal(variables.begin(), variables.end(), places.begin())) {
    captured.graph = *std::move(made);
    captured.places = std::move(places);
  } else {
    ++captured.dropped;
  }
  return true;
}

}  // namespace argosy
