// Finds a static schedule for a step with control flow or blocking instructions, where a safe one exists.
//
// *Loops.* A loop becomes one contiguous range of one device's order, from its LoopBegin to its LoopEnd. The range runs
// once per iteration; its Enters come before it, its Exits after it. This is TensorFlow's semantics with one iteration
// at a time, which every loop allows. There is no such order if a loop spans devices or has asynchronous instructions
// inside, or if a value that leaves a loop is needed to enter it.
//
// *Blocking instructions* are started in order. They are those of OpDef::async (dequeue, enqueue, IteratorGetNext, a
// receive); of collectives only those that meet other tasks' steps. The first instruction that depends on one waits for
// it, and delays all later instructions of its device. Let b be a blocking instruction. Let e be an instruction that
// may unblock a blocking instruction of this or another step. Such are blocking ones, stateful ones that take a
// resource other than a variable, and those that send a value to another task. The order is safe when
//
//   (1) instructions that depend on no blocking instruction come first on every device, and
//   (2) each e that depends on some blocking instruction is an ancestor or a descendant of every other
//       blocking instruction b.
//
// Proof. Suppose the step waits for b for ever, although b would be unblocked under dataflow rules. Then b waits for
// some e of this step that has not run, perhaps through other steps. By (1) e depends on a blocking instruction. By (2)
// e is one of these:
//
//   an ancestor of b     it has run, because b was started;
//   a descendant of b    it would not have run under dataflow rules either;
//   b itself.
//
// In none of these cases does the order delay what would have unblocked b.
//
// *Steps over several tasks.* Each task runs its partition; a receive is a blocking instruction, a send may unblock
// one. Suppose the step waits for ever. Take the send s of a value that some task waits for. Take an ancestor i of s,
// on any task, that has not run although all its predecessors have. The order of its task delays i: the task waits for
// a receive b. By (1) the path from i to s leaves that task through a send e that depends on a receive, or e is s. By
// (2) e is an ancestor or a descendant of b. An ancestor of b has run, so e is a descendant, and s depends on b. So the
// send of b's value is an ancestor of s that has not run. Repeat the argument with that send: each send is an ancestor
// of the one before, and the graph has no cycle. Partitions with loops or dead values that cross tasks run under
// dataflow rules, where nothing is delayed.
//
// *Streams are shared* by the steps of all sessions, so a step must not hold one while it waits. Devices other than the
// host's get two phases. Phase one has the instructions that depend on no blocking instruction; it starts at once.
// Phase two has the rest; it starts when all blocking instructions that it depends on are done. There is no order where
// a blocking instruction before phase two depends on phase two. The host's thread is the caller's own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "argosy/runtime/compile/instruction_graph.h"

namespace argosy {

class ControlFlowSchedule {
 public:
  // All arguments must outlive this object. REQUIRES: the step has its successors and frames (frames.h).
  ControlFlowSchedule(const Step& step, const InstructionGraph& instructions, const std::vector<std::int32_t>& groups);

  // True if the rules above allow a schedule. sequence() may still fail: the ranges of loops may close a cycle.
  bool possible() const { return why_not_.empty(); }
  const std::string& why_not() const { return why_not_; }

  // Returns the global order: instructions and, as negative numbers, the begins and ends of loops. `late`: by
  // instruction, see ScheduledInstruction.
  Result<std::vector<std::int32_t>> sequence(const std::vector<char>& late) const;
  static std::int32_t begin_of(int frame) { return -1 - 2 * frame; }
  static std::int32_t end_of(int frame) { return -2 - 2 * frame; }
  static int frame_ended(std::int32_t end) { return end < 0 && end % 2 == 0 ? (-2 - end) / 2 : -1; }
  static int frame_begun(std::int32_t begin) { return begin < 0 && begin % 2 != 0 ? (-1 - begin) / 2 : -1; }

  // The frame in whose range an instruction runs (for an Exit: the parent's); 0 is the root.
  int home(std::int32_t instruction) const { return home_[instruction]; }
  int loop_device(int frame) const { return loop_device_[frame]; }
  // The outermost loop that contains frame `inner` but not frame `outer`; 0: none.
  int loop_between(int inner, int outer) const;

  // Blocking instructions that devices other than the host's depend on: their phase two waits for them.
  const std::vector<std::int32_t>& shared_blocking() const { return shared_blocking_; }
  // True if the instruction, or (negative) the begin or end of a loop, belongs to phase two.
  bool in_phase_two(std::int32_t element) const;

 private:
  std::string check_loops();  // why there is no schedule; "": none found
  // Also fills in rank_: 0 depends on no blocking instruction; 1 does, and leads to one of shared_blocking(); 2 is the
  // rest. rank_ is empty without blocking instructions.
  std::string check_blocking();
  void find_groups();
  bool releases_others(std::int32_t instruction, const std::vector<const Tensor*>& constant_of) const;
  // The node of frame `frame` that is or contains the instruction. A frame's nodes are its own instructions, and one
  // for each loop directly inside it: number of instructions + that loop's frame.
  std::int32_t node_at(std::int32_t instruction, int frame) const;
  int device_of(std::int32_t node) const;
  // By node: the nodes of its frame that must come before it. Members of a collective group start together, so each has
  // the predecessors of all.
  using Edges = std::vector<std::vector<std::int32_t>>;
  Edges edges() const;
  std::vector<std::int32_t> turns() const;  // by node; -1: none
  // The smallest number of a group over tasks in this loop, nested loops included; -1: there is none.
  std::int32_t first_cross_task_number(int frame) const;
  // Appends the order of the frame's nodes of rank `rank` (-1: all) to `sequence`, with those of nested loops. `local`:
  // scratch by node, all -1 before and after.
  Status add_level(int frame, int rank, const Edges& before, const std::vector<char>& late,
                   const std::vector<std::int32_t>& turns, std::vector<std::int32_t>& local,
                   std::vector<std::int32_t>& sequence) const;

  const Step& step_;
  const InstructionGraph& instructions_;
  const std::vector<std::int32_t>& groups_;
  std::map<std::int32_t, std::vector<std::int32_t>>
      groups_of_;  // collectives of several members in one frame, by group
  std::vector<int> home_, depth_, loop_device_;
  std::vector<std::vector<std::int32_t>> members_;  // by frame: nodes, in the order the graph was built
  std::vector<char> rank_;                          // by node of the root: see check_blocking()
  std::vector<std::int32_t> shared_blocking_;
  std::string why_not_;
};

}  // namespace argosy
