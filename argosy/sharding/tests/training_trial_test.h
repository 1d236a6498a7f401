// A harness for tests: resolves a small training graph for a mesh axis, verifies it, and runs it on virtual devices. It
// compares every value of every step, and every variable, with one device.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/ops/state/state.h"
#include "argosy/sharding/resolve/resolve.h"
#include "argosy/sharding/testing/virtual_devices.h"
#include "argosy/sharding/verify/verify.h"

namespace argosy {

struct TrainingTrial {
  Graph graph;
  std::vector<Value> feeds;  // with the batch as dimension 0
  std::vector<Value> fetches;
  std::vector<NodeId> train;  // what a step runs
  std::vector<VariableNode> variables;
  // A feed's value for a batch; unset: random numbers.
  std::function<std::optional<Tensor>(std::size_t feed, std::int64_t batch, std::uint64_t seed)> feed_value = {};
};

struct TrialOptions {
  MeshAxis axis;
  std::vector<std::int64_t> batches;  // one step each
  double tolerance = 1e-9;
  std::vector<Seed> seeds = {};  // beside those of feeds
  int turns = 1;                 // for run_lowered(): shards of a device; it divides the size of the axis
  // Makes an assignment wrong on purpose. Then it is not verified.
  std::function<void(Assignment&)> change = {};
};

struct TrialResult {
  std::map<std::string, int> collectives;  // by name: how often, of the first batch's assignment
  std::vector<Reshard> reshards;
  std::vector<WholeNode> whole;
  int compared = 0;        // values
  std::string wrong = {};  // the first difference, or error
};

TrialResult run_trial(const TrainingTrial& trial, const TrialOptions& options);

// Returns the feeds of a step of the trial.
std::map<Endpoint, Tensor> feeds_for(const TrainingTrial& t, std::int64_t batch, std::uint64_t step);

// Builds the graph of the assignment and runs it in a session on emulated devices. Compares fetches and variables with
// those of the graph on one device, for the batches that the plan covers. "": equal.
std::string run_lowered(const TrainingTrial& trial, const TrialOptions& options);

// "all-reduce 4, slice 2": what moves data comes first.
std::string collectives_text(const TrialResult& result);

}  // namespace argosy
