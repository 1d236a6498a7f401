// A static schedule for steps with control flow or blocking instructions, wherever one is safe.
//
// *Loops.* A loop becomes one contiguous range of one device's order, from its LoopBegin to its LoopEnd, done once per
// iteration; its Enters come before the range, its Exits after it. That is TensorFlow's meaning with one iteration
// under way at a time, which every loop allows. There is an order unless a loop spans devices or has asynchronous
// instructions inside, or a value that leaves a loop is needed to enter it.
//
// *Blocking instructions* (OpDef::async: dequeue, enqueue, IteratorGetNext; of collectives those that meet other tasks'
// steps) are started in order. The
// first instruction that needs one waits for it, and holds up all later instructions of its device. Let b be a blocking
// instruction. Let e be an instruction that may release a blocking instruction of this or another step. Such are
// asynchronous ones, stateful ones that take a resource that is no variable, and those that send a value to another
// task. The order is safe when
//
//   (1) instructions that depend on no blocking instruction come first on every device, and
//   (2) each e that depends on some blocking instruction is an ancestor or a descendant of every other
//       blocking instruction b.
//
// Proof. Suppose the step waits for b for ever, though by dataflow rules b would be released. Then b waits for some e
// of this step that has not run, perhaps through other steps. By (1) e depends on a blocking instruction. By (2) e is
// one of these:
//
//   an ancestor of b     it has run, because b was started;
//   a descendant of b    it would not have run by dataflow rules either;
//   b itself.
//
// In none of these cases does the order hold up what would have released b.
//
// *Steps over several tasks.* Each task runs its partition; a receive is a blocking instruction, a send may release one.
// Suppose the step waits for ever. Take the send s of a value that some task waits for, and an ancestor i of s, on whatever
// task, that has not run though all before it has. Its task holds i up: it waits there for a receive b. By (1) what leads
// from i to s leaves that task by a send e that depends on a receive, or e is s. By (2) e is an ancestor of b, and has
// run, or a descendant: then s depends on b. So the send of b's value is an ancestor of s that has not run. Take that
// one instead: each is an ancestor of the one before, and the graph has no circle. Partitions with loops or dead values
// that cross run by dataflow rules, where nothing is held up.
//
// *Streams are shared* by the steps of all sessions, so none may be held while a step waits. Devices other than the
// host's get two phases. Phase one has the instructions that depend on no blocking instruction; it starts at once.
// Phase two has the rest; it starts when all blocking instructions that it depends on are done. There is no order where
// a blocking instruction before phase two depends on phase two. The host's thread is the caller's own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "argosy/runtime/compile/instruction_graph.h"

namespace argosy {

class StaticSchedule {
 public:
  // All are borrowed. REQUIRES: the step has its successors and frames.
  StaticSchedule(const Step& step, const InstructionGraph& instructions, const std::vector<std::int32_t>& groups);

  // Whether the rules above allow one. Ends of loops may still prove it impossible: sequence() then fails.
  bool possible() const { return why_not_.empty(); }
  const std::string& why_not() const { return why_not_; }

  // The global order: instructions and, as negative numbers, the ends of loops. `late`: by instruction, see
  // ScheduledInstruction.
  Result<std::vector<std::int32_t>> sequence(const std::vector<char>& late) const;
  static std::int32_t begin_of(int frame) { return -1 - 2 * frame; }
  static std::int32_t end_of(int frame) { return -2 - 2 * frame; }
  static int frame_ended(std::int32_t end) { return end < 0 && end % 2 == 0 ? (-2 - end) / 2 : -1; }
  static int frame_begun(std::int32_t begin) { return begin < 0 && begin % 2 != 0 ? (-1 - begin) / 2 : -1; }

  // The frame in whose range an instruction is (of an Exit: the parent's); 0 is the root.
  int home(std::int32_t instruction) const { return home_[instruction]; }
  int loop_device(int frame) const { return loop_device_[frame]; }
  // The outermost loop around frame `inner` that is not around frame `outer`; 0: none.
  int loop_between(int inner, int outer) const;

  // Blocking instructions that devices other than the host's depend on: their phase two waits for them.
  const std::vector<std::int32_t>& shared_blocking() const { return shared_blocking_; }
  // Does the instruction (or, negative, the end of a loop) belong to phase two?
  bool in_phase_two(std::int32_t element) const;

 private:
  std::string check_loops();  // why not; "": nothing speaks against it
  std::string check_blocking();
  void find_groups();
  bool releases_others(std::int32_t instruction, const std::vector<const Tensor*>& constant_of) const;
  // Instructions are nodes of the frame they are in; a loop is one node of its parent: instructions, then frames.
  std::int32_t node_at(std::int32_t instruction, int frame) const;
  int device_of(std::int32_t node) const;
  // By node: the nodes of its frame that must come before it. Members of a collective begin together: what one of them
  // waits for, all do.
  using Edges = std::vector<std::vector<std::int32_t>>;
  Edges edges() const;
  std::vector<std::int32_t> turns() const;  // by node; -1: none
  // The smallest number of the groups over tasks in this loop; -1: there is none.
  std::int32_t first_over_tasks(int frame) const;
  // `rank` -1: all. `local`: scratch, all -1 before and after.
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
  std::vector<char> rank_;                          // by node of the root; empty without blocking instructions
  std::vector<std::int32_t> shared_blocking_;
  std::string why_not_;
};

}  // namespace argosy
