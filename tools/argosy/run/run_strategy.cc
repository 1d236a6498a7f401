#include "tools/argosy/run/run_strategy.h"

#include "argosy/planner/runners_up.h"
#include "tools/argosy/plan/plan_graph_file.h"

namespace argosy::cli {

Result<std::string> set_strategy(const RunStrategy& choice, tf::SessionServerOptions& server) {
  server.replicate = server.replicate || choice.given;
  if (!server.replicate) return std::string();
  const std::string& file = choice.spec.file;
  if (file.empty()) {
    server.strategy = choice.spec;
    return std::string();
  }
  if (server.cluster) {
    return invalid_argument("a strategy file is for the devices of one task, and this is one of a cluster")
        .with_id("ARG-USAGE")
        .with_where("--strategy @" + file)
        .with_hint("--strategy dp");
  }
  ARGOSY_ASSIGN_OR_RETURN(SavedGraphStrategy saved, load_graph_strategy(file, server.devices, server.sync_batch_norm));
  server.devices = saved.request;
  server.strategy = saved.strategy;
  const std::string text = str_cat("strategy    ", saved.strategy.to_string(), " on ", saved.request.devices, ", of ",
                                   file, ": planned for ", str_join(saved.step.targets), " with a batch of ",
                                   saved.step.batch, ", ", format_seconds(saved.step_seconds), " a step");
  server.planned = std::make_shared<const tf::PlannedStep>(std::move(saved.step));
  if (server.strategy.dp == 1 && server.strategy.accumulate == 1) {  // nothing is replicated, synchronised or compared
    server.replicate = server.sync_batch_norm = false;
    server.check = 0;
    server.strategy = {};
  }
  return text;
}

}  // namespace argosy::cli
