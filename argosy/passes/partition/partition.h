// Partition: one placed step is cut into one graph per task.
//
//   task a          task b                 task a                      task b
//   x ──► Neg ────► Add ──► y      ──►     x ─► Neg ─► _Send · · · ►  _Recv ─► Add ─► y
//
//   - A value that leaves its task crosses once for each task that takes it, whoever takes it there.
//   - A control edge that crosses is an order without a value: an empty constant that waits for its source; or, where a
//     value of that source crosses anyway, that value.
//   - Feeds and constants do not cross: every task that reads one has its own.
//   - References and handles never cross. Who takes a reference's value elsewhere gets a read of it beside the variable
//     (loop_edges.h). Who takes a variable itself elsewhere is an error: placement keeps users with their variable.
//   - Loops that several tasks share: Enter and NextIteration go to who reads them, Exit to what it reads (loop_edges.h);
//     each task gets a control loop that follows the predicate (control_loops.h). So every receive in a loop is started
//     once an iteration, and every send in it runs once an iteration, live or dead. Both count frames and iterations
//     alike: the key of a value has them.
//   - What is dead crosses as dead.
//   - A collective over several tasks is one task's work: its values and results cross (gather_groups.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "argosy/passes/place/place.h"
#include "argosy/passes/simplify/prune.h"

namespace argosy {

struct PartitionOptions {
  // Of a device, by its full name: a number of its process' life. Null: 0.
  std::function<std::uint64_t(const std::string& device)> incarnation = nullptr;
  // Has the task of this device the ops that make several small values one message (packed_transfers.h)? Null: no task.
  std::function<bool(const std::string& device)> packs = nullptr;
  // Does the task of this device number the frames of loops in another way, as TensorFlow 1.x does? Null: no task does.
  std::function<bool(const std::string& device)> is_foreign = nullptr;
  // The next number of a transfer; its name has it. A task of TensorFlow keeps `_Send` and `_Recv` by session and name,
  // so no two transfers of a session have the same number. Null: they count from 0 in this step.
  std::function<std::int64_t()> next_transfer = nullptr;
  // Full name of a device of the task that starts the step: its partition comes first, and is there even when it is
  // empty. Fetched constants and feeds are its own.
  std::string own_device;
};

// The part of a step that one task runs.
struct Partition {
  std::string task;  // "/job:ps/replica:0/task:0"
  // Every node asks for its device by full name.
  StepGraph step;
  // By position in `step`'s feeds, fetches and targets: the position in the whole step's.
  std::vector<int> feeds, fetches, targets;
};

// How many transfers there are, for people and tests.
struct PartitionStats {
  int values = 0, orders = 0, messages = 0, control_loops = 0;  // messages: what carries values and orders
  int groups = 0;                                               // collectives over tasks, which one task does
};

// "/job:ps/replica:0/task:0" of a device's full name.
std::string task_of_device(const std::string& device);

// REQUIRES: the placement is of the step's graph. The step's notes go to the first partition. Errors name the node:
//   INVALID_ARGUMENT "ARG-PART-001"  a variable or handle on one task is used on another
//                    "ARG-PART-002"  a loop over several tasks without exactly one LoopCond
//                    "ARG-LOOP-004"  a loop that is entered only after something that leaves it
//   UNIMPLEMENTED    "ARG-PART-004"  a loop over a task of TensorFlow before 2.5 and another
//   UNIMPLEMENTED    "ARG-PART-003"  a collective over several tasks in a loop, or that changes variables, or whose members find
//                                    each other by keys
Result<std::vector<Partition>> partition(StepGraph step, const DevicePlacement& placement,
                                         const PartitionOptions& options, PartitionStats* stats = nullptr);

}  // namespace argosy
