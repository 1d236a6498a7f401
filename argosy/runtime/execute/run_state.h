// RunState: the tensors of one run of a Step. Made once, then recycled: a steady run allocates nothing that the step's
// plan has a place for. Used by one run at a time.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "argosy/runtime/execute/captured_region.h"
#include "argosy/runtime/execute/event_count.h"
#include "argosy/runtime/execute/running_instruction.h"
#include "argosy/runtime/step/step.h"

namespace argosy {

class RunContext;

// The event counts at which the threads of a run wait for each other. Every thread that may still notify one shares the
// ownership. The run does not wait for a thread that is preempted between its last signal and its end.
struct RunEventCounts {
  explicit RunEventCounts(std::size_t devices) : of_device(devices) {}
  std::vector<EventCount> of_device;
  EventCount end;               // the caller waits here until `running` is 0
  std::atomic<int> running{0};  // devices, without the host, that have not ended
};

struct RunState {
  std::vector<Tensor> tensors;                         // by slot
  std::uint64_t generation = 0;                        // resource_generation() before its handles were found
  std::vector<OutputSlot> outputs;                     // by slot
  std::vector<const Tensor*> inputs;                   // parallel to Step::input_slots
  std::vector<Buffer> arenas;                          // by device; empty while the state is idle, but for small ones
  std::vector<char> lent;                              // by device: its arena goes back to Arenas after the run
  std::vector<const std::byte*> arena_bases;           // by device: where `tensors` point
  std::unique_ptr<std::atomic<std::uint32_t>[]> done;  // by instruction: the epoch in which it last ended
  std::uint32_t epoch = 0;
  std::unique_ptr<RunningInstruction[]> running;  // by device
  // By instruction: the event of what it enqueued. Empty without asynchronous devices.
  std::vector<Event> events;
  std::vector<std::vector<Event>> pending_host_copies;  // by device: this run's copies to the host
  std::vector<std::vector<CapturedRegion>> captured;    // as StaticPlan::capture_regions
  // Flags of dead values, in steps with control flow: by slot (outputs of Switches), then by instruction.
  std::vector<std::uint8_t> dead;
  std::vector<std::uint8_t> first_iteration;  // by frame: its loop is in its first iteration
  std::shared_ptr<RunEventCounts> event_counts;
};

std::unique_ptr<RunState> make_run_state(const Step& step);

// Called before every run. If a resource has been destroyed since the handles were found, finds Step::handles again:
// the name may now be another resource's. An error names the handle's node.
Status find_handles(const Step& step, RunState& state, RunContext& context);

// Called around every run. borrow_arenas: RESOURCE_EXHAUSTED when a device has no room; then no shared arena is held.
Status borrow_arenas(const Step& step, RunState& state);
void return_arenas(const Step& step, RunState& state);

}  // namespace argosy
