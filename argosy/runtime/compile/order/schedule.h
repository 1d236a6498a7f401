// The scheduler: it decides the order in which devices do their instructions.
//
// It builds one global topological order. It asks the devices in turn (round robin), so that equal replicas advance in
// step. Each offers its most urgent ready instruction:
//
//   1. asynchronous instructions, collectives among them: the sooner they start, the more they overlap; and copies of
//      host values to asynchronous devices, and kernels of these that only use the host's memory
//   2. light ones: an update (its inputs may be freed), a scalar (it takes no memory, and unblocks others)
//   3. ordinary ones, in the order of the graph
//   4. instructions that wait for an asynchronous one or for another device, light or not
//   5. writers of variables that were asked to be late
//   6. small copies to the host that no instruction reads: earlier, one would split a capture region
//      (argosy/runtime/compile/capture_regions.h)
//
// Turns (argosy/ops/collective/turns.h) take precedence over all of that: a device is offered nothing of a turn before
// it has done all earlier ones. Whatever an instruction depends on is given its turn or an earlier one, on any device.
// An instruction without a mark belongs to the latest turn of its inputs, or to the turn that needs it. So the turns of
// one device interleave exactly where one of them waits for another, and there is no deadlock.
//
// The members of a collective group are scheduled together, once all of them are ready. So every rank starts its groups
// in the same order, without deadlock. Groups that span tasks are scheduled in the order of their numbers, not by
// readiness: every task starts them in the same order, although it has other devices.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "argosy/base/status.h"

namespace argosy {

// What schedule() needs to know of an instruction. `after` is borrowed for the length of the call.
struct ScheduledInstruction {
  int device = 0;
  bool async = false;
  bool light = false;                        // its outputs take next to no memory, or it frees more than it takes
  bool late = false;                         // a writer of a variable: as late as possible, so that readers come first
  bool first = false;                        // before everything else that is ready
  bool last = false;                         // after everything else that is ready, late writers included
  std::span<const std::int32_t> after = {};  // instructions that must come before
  std::int32_t group = 0;                    // the number of its collective group; 0: none
  std::int32_t turn = -1;                    // the turn of its device that it belongs to; -1: not marked
  std::int32_t cross_task_number = -1;       // the number of its group among those that span tasks; -1: not one
};

// Returns the global order: by position, the instruction. INTERNAL when there is a cycle.
Result<std::vector<std::int32_t>> schedule(const std::vector<ScheduledInstruction>& instructions, int devices);

}  // namespace argosy
