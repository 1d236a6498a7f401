// PropagatorState: TensorFlow's dataflow rules for one run. It says which instructions become ready when another is
// done. Words:
//
//   dead       a value on a branch not taken. An instruction with a dead input does not run; its outputs are dead. A
//              Merge runs with its first live input, and is dead when all are.
//   frame      one entry into a loop. It has iterations, each with its own inputs and counts. Enter carries values in,
//              NextIteration to the next iteration, Exit out to the parent's iteration.
//   entry      an instruction in one iteration of one frame.
//
// Invariants: (1) A frame is over when all its Enters have fired and nothing of it is outstanding; exits that never
// fired live are dead then. (2) An entry is ready once. (3) In every iteration that begins, every
// instruction of the loop becomes ready, live or dead. So a Merge waits for Enters in the first iteration, and for
// NextIterations in others. A dead NextIteration is told to an iteration that another one begins. Thus a loop over
// several tasks sends everything in every iteration. Not thread-safe: EntryQueues has one lock around every call.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "argosy/op/kernel/step_context.h"
#include "argosy/runtime/execute/run_state.h"

namespace argosy {

class PropagatorState {
 public:
  struct Frame;
  struct Entry {
    std::int32_t instruction;
    Frame* frame;
    std::int64_t iteration;
    bool dead;
  };

  // REQUIRES: feeds are in `state`. Both outlive this.
  PropagatorState(const Step& step, RunState& state);
  ~PropagatorState();

  // Makes the entries without predecessors ready.
  void start();
  // Takes the entries that became ready since the last call. Each must be finished once. Dead ones are not run, unless
  // they send.
  void take_ready(std::vector<Entry>& ready) {
    ready.clear();
    ready.swap(ready_);
  }
  // Fills `inputs` with what the entry's instruction reads. REQUIRES: the entry is ready and not dead; called once for
  // it.
  void take_inputs(const Entry& entry, std::vector<Tensor>& inputs);
  // The frame and the iteration of the entry, for the keys of values that it sends and receives.
  static FrameIteration place_of(const Entry& entry);
  // Ends the entry and delivers these outputs. A dead entry's are ignored.
  void finish(const Entry& entry, const std::vector<Tensor>& outputs);
  // The run has failed: finish() counts down, and nothing becomes ready any more.
  void fail() { failed_ = true; }
  // Entries ready or running. The run is over at zero.
  int outstanding() const { return outstanding_; }
  // An instruction outside of all loops that never became ready, since it waits for itself: a value goes through the
  // loop and comes back to where the loop is entered. -1: none. REQUIRES: the run is over and has not failed.
  std::int32_t stuck() const;

 private:
  struct Iteration;

  void make_ready(const Entry& entry);
  void propagate(const Entry& entry, const std::vector<Tensor>& outputs);
  void keep(const Instruction& instruction, const std::vector<Tensor>& outputs);
  void deliver(Frame& frame, std::int64_t iteration, const DataflowGraph::Edge& e, const Tensor& value,
               bool dead_control);
  bool merge_has_constant(const Instruction& merge) const;
  int first_pending(std::int32_t instruction, std::int64_t iteration) const;
  int controls_pending(const Iteration& it, std::int32_t instruction, std::int64_t iteration) const;

  // propagator_frames.cc
  void enter(const Entry& entry, const Tensor& value);
  Frame& child_frame(const Entry& entry, std::int32_t id);
  void start_iteration(Frame& frame, std::int64_t number);
  void next_iteration(Frame& frame, std::int64_t iteration, std::int32_t instruction, const Tensor& value);
  void dead_next(Frame& frame, std::int64_t iteration, std::int32_t instruction);
  void decrement_outstanding(Frame& frame, std::int64_t iteration);
  void end_frame(Frame& frame);

  const Step& step_;
  RunState& state_;
  std::vector<char> is_constant_;  // by slot: a constant, a handle or a feed
  std::vector<char> is_fetched_;   // by slot
  std::vector<int> data_inputs_;   // by instruction: data edges into it
  std::vector<int> back_inputs_;   // by instruction: of these, edges from a NextIteration
  std::unique_ptr<Frame> root_;
  // By the frame and iteration that an Enter is in, and the frame that it enters.
  std::map<std::tuple<Frame*, std::int64_t, std::int32_t>, std::unique_ptr<Frame>> frames_;
  std::vector<Entry> ready_;
  int outstanding_ = 0;
  bool failed_ = false;
};

}  // namespace argosy
