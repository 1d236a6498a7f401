// RunState: the tensors of one run of a Step. Made once, then recycled: a steady step allocates nothing that its plan
// knew of.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "argosy/runtime/step.h"

namespace argosy {

struct RunState {
  std::vector<Tensor> tensors;                         // by slot
  std::vector<OutputSlot> outputs;                     // by slot
  std::vector<const Tensor*> inputs;                   // parallel to Step::input_slots
  std::vector<Buffer> arenas;                          // by device; empty while the state rests, but for small ones
  std::vector<const std::byte*> arena_bases;           // by device: where `tensors` point
  std::unique_ptr<std::atomic<std::uint32_t>[]> done;  // by item: the epoch in which it was last finished
  std::uint32_t epoch = 0;
};

std::unique_ptr<RunState> make_run_state(const Step& step);

// Around every run. borrow_arenas: RESOURCE_EXHAUSTED when a device has no room; then nothing is held.
Status borrow_arenas(const Step& step, RunState& state);
void return_arenas(const Step& step, RunState& state);

}  // namespace argosy
