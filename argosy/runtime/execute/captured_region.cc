#include "argosy/runtime/execute/captured_region.h"

#include <algorithm>

#include "argosy/op/state/resource_manager.h"
#include "argosy/op/state/variable.h"
#include "argosy/runtime/execute/executor.h"
#include "argosy/runtime/execute/run_state.h"

namespace argosy {

namespace {

// By position in CaptureRegion::handles; null: the handle is of no variable.
using Variables = std::vector<std::shared_ptr<Variable>>;

Variables variables_of(const CaptureRegion& region, const RunState& state) {
  Variables variables;
  for (const std::int32_t slot : region.handles) {
    const Tensor& handle = state.tensors[static_cast<std::size_t>(slot)];
    variables.push_back(handle.valid() && handle.elements() == 1
                            ? std::dynamic_pointer_cast<Variable>(handle.data<ResourceHandle>()->resource())
                            : nullptr);
  }
  return variables;
}

std::vector<CapturedPlace> places_of(const Variables& variables) {
  std::vector<CapturedPlace> places;
  for (const auto& variable : variables) {
    const auto value = variable == nullptr ? Result<Tensor>(internal_error("no variable")) : variable->read("");
    places.push_back(value.ok() ? CapturedPlace{value->raw(), value->shape()} : CapturedPlace{});
  }
  return places;
}

std::vector<std::int64_t> writes_of(const Variables& variables) {
  std::vector<std::int64_t> writes;
  for (const auto& variable : variables) writes.push_back(variable == nullptr ? 0 : variable->writes());
  return writes;
}

// True if the region's updates would still write in place. Its own inputs are released by then, so they do not count.
bool writes_in_place(const CaptureRegion& region, const CapturedRegion& captured, const Variables& variables,
                     const RunState& state) {
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (captured.written[i] == 0) continue;
    const auto value = variables[i]->read("");
    if (!value.ok()) return false;
    const std::shared_ptr<void>& owner = value->buffer().owner();
    long holders = owner.use_count() - 2;  // the variable, and `value`
    for (const std::int32_t slot : region.inputs) {
      if (state.tensors[static_cast<std::size_t>(slot)].buffer().owner() == owner) --holders;
    }
    if (holders > 0) return false;
  }
  return true;
}

// Returns the places of the variables, then those of the arena and of the inputs.
std::vector<CapturedPlace> places_of(const CaptureRegion& region, const Variables& variables, const RunState& state,
                                     int d) {
  std::vector<CapturedPlace> places = places_of(variables);
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
  if (captured.invalidations >= kMaxInvalidations) {
    captured.graph = nullptr;  // with the memory it keeps
    return false;
  }
  const auto instructions =
      std::span(step.plan.order[static_cast<std::size_t>(d)])
          .subspan(static_cast<std::size_t>(region.begin), static_cast<std::size_t>(region.end - region.begin));
  for (const std::int32_t instruction : instructions) ARGOSY_RETURN_IF_ERROR(calls.wait(instruction));
  const Variables variables = variables_of(region, state);
  std::vector<CapturedPlace> places = places_of(region, variables, state, d);
  if (captured.graph != nullptr && captured.places == places) {
    if (!writes_in_place(region, captured, variables, state)) return false;
    ARGOSY_RETURN_IF_ERROR(capturer.replay(*captured.graph));
    captured.invalidations = 0;
    for (const std::int32_t instruction : instructions) calls.release(instruction);
    return true;
  }
  if (captured.graph == nullptr && captured.warm_up_runs++ < kWarmUpRuns) return false;

  if (captured.graph != nullptr) ++captured.invalidations;
  const std::vector<std::int64_t> before = writes_of(variables);
  ARGOSY_RETURN_IF_ERROR(capturer.begin());
  for (const std::int32_t instruction : instructions) {
    Status status = calls.run(instruction);
    if (status.ok()) continue;
    capturer.abort_capture();
    return name_node(std::move(status), step, step.instructions[static_cast<std::size_t>(instruction)]);
  }
  auto made = capturer.end(std::move(captured.graph));
  if (!made.ok()) {
    captured.invalidations = kMaxInvalidations;
    return std::move(made).status();
  }
  // This run needs its results, whether or not the graph is kept.
  ARGOSY_RETURN_IF_ERROR(capturer.replay(**made));
  // A graph is kept only if no variable has moved during the capture: a replay would write to its old address. Inputs
  // are not compared, because their tensors may have been released.
  const std::vector<CapturedPlace> moved = places_of(variables);
  if ((*made)->fits() && std::equal(moved.begin(), moved.end(), places.begin())) {
    captured.graph = *std::move(made);
    captured.places = std::move(places);
    const std::vector<std::int64_t> after = writes_of(variables);
    captured.written.clear();
    for (std::size_t i = 0; i < after.size(); ++i) captured.written.push_back(after[i] != before[i] ? 1 : 0);
  } else {
    ++captured.invalidations;
  }
  return true;
}

}  // namespace argosy
