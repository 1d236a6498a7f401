// RunState: the tensors of one run of a Step. Made once, then recycled: a steady run allocates nothing that the step's
// plan has a place for. Used by one run at a time.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "argosy/runtime/execute/captured_region.h"
#include "argosy/runtime/execute/gate.h"
#include "argosy/runtime/execute/running_instruction.h"
#include "argosy/runtime/step/step.h"

namespace argosy {

class RunContext;

// Where the threads of a run meet. Every thread that may still open a gate shares the gates. A thread may be held up
// between saying that it is done and leaving; the run does not wait for that.
struct RunGates {
  explicit RunGates(std::size_t devices) : of_device(devices) {}
  std::vector<Gate> of_device;
  Gate end;                     // the caller's, for `running`
  std::atomic<int> running{0};  // devices with threads of their own that are not through
};

struct RunState {
  std::vector<Tensor> tensors;                         // by slot
  std::uint64_t generation = 0;                        // resource_generation() before its handles were found
  std::vector<OutputSlot> outputs;                     // by slot
  std::vector<const Tensor*> inputs;                   // parallel to Step::input_slots
  std::vector<Buffer> arenas;                          // by device; empty while the state is idle, but for small ones
  std::vector<char> lent;                              // by device: its arena is one of Arenas
  std::vector<const std::byte*> arena_bases;           // by device: where `tensors` point
  std::unique_ptr<std::atomic<std::uint32_t>[]> done;  // by instruction: the epoch in which it last ended
  std::uint32_t epoch = 0;
  std::unique_ptr<RunningInstruction[]> running;  // by device
  // By instruction: what it started is done. Of asynchronous devices; empty where there are none.
  std::vector<Event> events;
  std::vector<std::vector<Event>> pending_host_copies;  // by device: its copies to the host of this run
  std::vector<std::vector<CapturedRegion>> captured;    // as StaticPlan::capture_regions
  // Steps with control flow: by slot (outputs of Switches), then by instruction; who has been passed over this time.
  std::vector<std::uint8_t> dead;
  std::vector<std::uint8_t> first_iteration;  // by frame: its loop is in its first iteration
  std::shared_ptr<RunGates> gates;
};

std::unique_ptr<RunState> make_run_state(const Step& step);

// Before every run. Where a resource has gone since, finds Step::handles anew: by a name that was destroyed there may be
// another resource now. An error is that of the handle's node.
Status find_handles(const Step& step, RunState& state, RunContext& context);

// Around every run. borrow_arenas: RESOURCE_EXHAUSTED when a device has no room; then nothing is held.
Status borrow_arenas(const Step& step, RunState& state);
void return_arenas(const Step& step, RunState& state);

}  // namespace argosy
