#include "argosy/tf/server/planning/planned_step.h"

#include <algorithm>

#include "argosy/base/str.h"

namespace argosy::tf {

std::string difference(const PlannedStep& planned, const std::vector<std::string>& nodes, std::int64_t batch) {
  for (const std::string& target : planned.targets) {
    if (std::find(nodes.begin(), nodes.end(), target) != nodes.end()) continue;
    return str_cat("a step that runs ", target, ", this one does not");
  }
  if (batch == 0 || batch == planned.batch) return "";
  return str_cat("a batch of ", planned.batch, ", this step has ", batch);
}

}  // namespace argosy::tf
