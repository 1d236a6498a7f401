// LoopFrames: the loop frame of every node of a graph, before the step is compiled. The rules are the compiler's
// (argosy/runtime/compile/frames.h): constants, feeds and handles are available in every frame, and belong to none.
#pragma once

#include <string>
#include <vector>

#include "argosy/passes/partition/placed_step.h"

namespace argosy {

class LoopFrames {
 public:
  static constexpr int kRoot = 0;
  static constexpr int kNone = -1;  // the frame of constants, feeds and handles

  struct Frame {
    int parent = kRoot;
    std::string name;            // of its Enter nodes
    std::int64_t parallel = 10;  // "parallel_iterations"
    NodeId cond;                 // its LoopCond; index -1: it has none, or several
    int conds = 0;               // how many it has
  };

  // INVALID_ARGUMENT "ARG-LOOP-001", "ARG-LOOP-002": the same errors as of compilation.
  static Result<LoopFrames> find(const PlacedStep& placed);

  const std::vector<Frame>& frames() const { return frames_; }  // parents come before their children
  // The frame in which a node runs: an Enter in the outer frame, an Exit in the inner one.
  int of(NodeId id) const { return frame_of_[static_cast<std::size_t>(id.index)]; }
  // The frame of a node's outputs and of the nodes that wait for it.
  int of_outputs(const Graph& graph, NodeId id) const;
  // Registers a node that was added to the graph after find().
  void add(NodeId id, int frame);

 private:
  std::vector<Frame> frames_{1};
  std::vector<int> frame_of_;  // by node
  std::vector<int> entered_;   // by node: for an Enter, the frame that it enters
};

}  // namespace argosy
