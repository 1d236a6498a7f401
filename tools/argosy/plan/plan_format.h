// The format of strategy files, whatever they are for. A file is a JSON document. It has the strategy, the devices that it
// uses and what they are, the batch, and what was planned (`for`). Internal to `plan_file` and `plan_graph_file`.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "argosy/planner/plan.h"

namespace argosy::cli {

using Json = nlohmann::ordered_json;

// NOT_FOUND where the file cannot be written.
Status write_plan(const std::string& path, const Plan& plan, const Json& planned_for);

struct PlanDocument {
  StrategySpec strategy;  // names a strategy that the devices can have
  DeviceRequest request;  // the run's, for the plan's devices alone
  std::int64_t batch = 0;
  double step_seconds = 0;  // as predicted
  Json planned_for;
};
// NOT_FOUND: no such file. INVALID_ARGUMENT ARG-SHARD-004: it is no strategy file. FAILED_PRECONDITION ARG-SHARD-003: a
// device of the plan is not among `devices`, or is another one here. `compare`: says what else differs.
using ComparePlan = std::function<Status(const PlanDocument&)>;
Result<PlanDocument> read_plan(const std::string& path, const DeviceRequest& devices, const ComparePlan& compare);

// ARG-SHARD-003: "the plan in PATH is for WHAT".
Status other_plan(const std::string& path, const std::string& what,
                  const std::string& hint = "--strategy auto (it plans anew)");
// ARG-SHARD-004.
Status no_plan(const std::string& path, const std::string& why);

}  // namespace argosy::cli
