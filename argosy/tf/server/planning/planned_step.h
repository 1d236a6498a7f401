// PlannedStep: the training step for which a replayed plan was made. Internal to the session server and tools.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace argosy::tf {

struct PlannedStep {
  std::string file;                  // path of the plan's file, as the user typed it
  std::vector<std::string> targets;  // names of the nodes that train, in any order
  std::int64_t batch = 0;            // examples of the global batch
};

// Describes how a step differs from the planned one: "a batch of 64, this step has 32"; "": it does not differ.
// `nodes`: the nodes that the step fetches or runs; more than the planned ones is no difference. `batch`: its examples;
// 0: not known.
std::string difference(const PlannedStep& planned, const std::vector<std::string>& nodes, std::int64_t batch);

}  // namespace argosy::tf
