// PlannedStep: what a replayed plan was made for. A value type, internal to the session server and tools.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace argosy::tf {

struct PlannedStep {
  std::string file;                  // that holds the plan, as it was typed
  std::vector<std::string> targets;  // names of the nodes that train, in any order
  std::int64_t batch = 0;            // examples of all devices together
};

// What a plan is for, and how a step differs from that: "a batch of 64, this step has 32". "": it does not.
// `nodes`: that the step fetches or runs, others than the planned ones among them. `batch`: its examples; 0: not known.
std::string difference(const PlannedStep& planned, const std::vector<std::string>& nodes, std::int64_t batch);

}  // namespace argosy::tf
