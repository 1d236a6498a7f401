// Partition: one placed step is cut into one graph per task.
//
//   task a          task b                 task a                      task b
//   x ──► Neg ────► Add ──► y      ──►     x ─► Neg ─► _Send · · · ►  _Recv ─► Add ─► y
//
//   - A value that leaves its task crosses once for each receiving task, however many nodes read it there.
//   - A control edge that crosses becomes a transfer of an empty constant that waits for its source. If a value of that
//     source crosses anyway, the value serves as the order.
//   - Feeds and constants do not cross: every task that reads one has a copy.
//   - References and handles never cross. If a node on another task reads a reference's value, a read beside the
//     variable crosses instead (loop_edges.h). If it uses the variable itself, that is an error: placement avoids it.
//   - In loops on several tasks, Enter and NextIteration move to their readers, Exit to its producer (loop_edges.h).
//     Each task gets a control loop that follows the predicate (control_loops.h). So in every iteration each send and
//     each receive of the loop runs once, live or dead. The key of a value has its frame and iteration.
//   - A dead value crosses as dead.
//   - A collective over several tasks runs on one task: its inputs and results cross (gather_groups.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "argosy/passes/place/place.h"
#include "argosy/passes/simplify/prune.h"

namespace argosy {

struct PartitionOptions {
  // The incarnation of a device's process, by the device's full name. Null: 0.
  std::function<std::uint64_t(const std::string& device)> incarnation = nullptr;
  // True if the task of this device has the ops that pack small values (packed_transfers.h). Null: no task has.
  std::function<bool(const std::string& device)> packs = nullptr;
  // True if the task of this device numbers loop frames in another way, as TensorFlow 1.x does. Null: no task does.
  std::function<bool(const std::string& device)> is_foreign = nullptr;
  // Returns a new number for the name of a transfer. It must be unique in the session, since a task of TensorFlow
  // caches the kernels of `_Send` and `_Recv` by session and name. Null: numbers count from 0 in this step.
  std::function<std::int64_t()> next_transfer = nullptr;
  // Full name of a device of the task that starts the step. Its partition comes first, and exists even if it is empty.
  // Fetched constants and feeds belong to it.
  std::string own_device;
};

// The part of a step that one task runs.
struct Partition {
  std::string task;  // "/job:ps/replica:0/task:0"
  // Every node asks for its device by full name.
  StepGraph step;
  // Maps positions in the feeds, fetches and targets of `step` to positions in those of the whole step.
  std::vector<int> feeds, fetches, targets;
};

// How many transfers there are, for people and tests.
struct PartitionStats {
  int values = 0, orders = 0, messages = 0, control_loops = 0;  // messages: transfers that carry values and orders
  int groups = 0;                                               // collectives over several tasks that moved to one
};

// "/job:ps/replica:0/task:0" of a device's full name.
std::string task_of_device(const std::string& device);

// REQUIRES: the placement is of the step's graph. The step's notes go to the first partition. Errors name the node:
//   INVALID_ARGUMENT "ARG-PART-001"  a variable or handle on one task is used on another
//                    "ARG-PART-002"  a loop over several tasks without exactly one LoopCond
//                    "ARG-LOOP-004"  a loop that is entered only after something that leaves it
//   UNIMPLEMENTED    "ARG-PART-004"  a loop over a task of TensorFlow before 2.5 and another
//   UNIMPLEMENTED    "ARG-PART-003"  a collective over several tasks that is in a loop, updates variables, or is
//                                    found by name
Result<std::vector<Partition>> partition(StepGraph step, const DevicePlacement& placement,
                                         const PartitionOptions& options, PartitionStats* stats = nullptr);

}  // namespace argosy
