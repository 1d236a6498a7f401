// The state of a loop while it runs. Internal to PropagatorState.
#pragma once

#include "argosy/runtime/execute/dataflow/propagator_state.h"

namespace argosy {

struct PropagatorState::Iteration {
  std::vector<std::int32_t> pending;  // by local instruction: inputs and controls still to come
  std::vector<std::int32_t> dead;     // by local instruction: dead inputs so far (data and control)
  std::vector<char> live;             // by local instruction: a Merge that has its live input
  std::vector<char> started;          // by local instruction: ready once, never again
  std::vector<Tensor> inputs;         // by frame input
  int outstanding = 0;                // entries and child frames
};

struct PropagatorState::Frame {
  int id = 0;
  std::uint64_t key = 0;  // 0: the root; else the same for this loop, entered in this iteration, on every task
  Frame* parent = nullptr;
  std::int64_t parent_iteration = 0;
  int entered = 0;
  std::map<std::int64_t, Iteration> iterations;
  std::vector<Iteration> spare;  // ended ones: their memory is used again
  std::int64_t newest = -1;
  std::vector<std::pair<std::int32_t, Tensor>> invariants;  // (Enter instruction, value; invalid = dead)
  // NextIterations whose iteration begins when an earlier one has ended: no more run in parallel.
  std::vector<std::pair<std::int32_t, Tensor>> deferred_next_iterations;
  // Dead NextIterations (instruction, iteration) of an iteration that has not begun.
  std::vector<std::pair<std::int32_t, std::int64_t>> dead_next_iterations;
  std::vector<char> exited;  // by position in Frame::exits: fired live
};

}  // namespace argosy
