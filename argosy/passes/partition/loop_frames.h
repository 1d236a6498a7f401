// LoopFrames: which loop every node of a graph runs in, before the step is compiled. The rules are the compiler's
// (argosy/runtime/compile/frames.h): constants, feeds and handles are there in every frame, and belong to none.
#pragma once

#include <string>
#include <vector>

#include "argosy/passes/partition/placed_step.h"

namespace argosy {

class LoopFrames {
 public:
  static constexpr int kRoot = 0;
  static constexpr int kNone = -1;  // of what is there in every frame

  struct Frame {
    int parent = kRoot;
    std::string name;            // of its Enter nodes
    std::int64_t parallel = 10;  // "parallel_iterations"
    NodeId cond;                 // its LoopCond; index -1: it has none, or several
    int conds = 0;               // how many it has
  };

  // INVALID_ARGUMENT "ARG-LOOP-001", "ARG-LOOP-002" as compilation would say.
  static Result<LoopFrames> find(const PlacedStep& placed);

  const std::vector<Frame>& frames() const { return frames_; }  // parents come before their children
  // Of a node: an Enter runs in the outer frame, an Exit in the inner one.
  int of(NodeId id) const { return frame_of_[static_cast<std::size_t>(id.index)]; }
  // Where its outputs, and who waits for it, are.
  int of_outputs(const Graph& graph, NodeId id) const;
  // A node that was added to the graph after this was made.
  void add(NodeId id, int frame);

 private:
  std::vector<Frame> frames_{1};
  std::vector<int> frame_of_;  // by node
  std::vector<int> entered_;   // by node: of an Enter, the frame that it enters
};

}  // namespace argosy
