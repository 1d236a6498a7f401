// The order in which devices do their instructions.
//
// One global topological order is built. The devices are asked in turn, so that equal replicas advance in step. Each
// offers its most urgent ready instruction:
//
//   1. collectives and other asynchronous instructions: the sooner they start, the more they overlap; and what is fed
//      to asynchronous devices
//   2. light ones: an update (what it reads may go), a scalar (it takes no room, and lets others go on)
//   3. ordinary ones, in the order the graph was built
//   4. instructions that wait for asynchronous ones
//   5. writers that were asked to be late
//   6. what asynchronous devices bring to the host: it would part in two what is captured as one
//      (argosy/runtime/compile/capture_regions.h)
//
// Turns (argosy/ops/collective/turns.h) come before all of that: a device is offered nothing of a turn before it has
// done all earlier ones. What an instruction of a turn needs belongs to that turn or an earlier one, on whichever device.
// What has no mark belongs to the latest turn of what it reads, or to the turn that needs it.
// So the turns of one device interleave exactly where one of them waits for another, and nothing waits for ever.
//
// Members of a collective group leave together. So every rank starts its groups in the same order, and none waits for
// ever. Groups that have ranks on other tasks leave in the order of their numbers, whatever is ready first: every task
// starts them in one order, though it has other devices.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "argosy/base/status.h"

namespace argosy {

// Its lists are the caller's, and stay there for the length of the call.
struct ScheduledInstruction {
  int device = 0;
  bool async = false;
  bool light = false;                        // nothing, or next to nothing, has to be kept of what it gives
  bool late = false;                         // a writer: as late as can be, so that readers come first
  bool first = false;                        // before all else that is ready
  bool last = false;                         // behind all else that is ready, be it a writer
  std::span<const std::int32_t> after = {};  // instructions that must come before
  std::int32_t group = 0;                    // the number of its collective group; 0: none
  std::int32_t turn = -1;                    // of its device; -1: no mark
  std::int32_t over_tasks = -1;              // the number of its group among those that span tasks; -1: it does not
};

// Positions to instructions: the global order. INTERNAL when there is a cycle.
Result<std::vector<std::int32_t>> schedule(const std::vector<ScheduledInstruction>& instructions, int devices);

}  // namespace argosy
