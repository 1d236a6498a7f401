#include "tools/argosy/plan/plan_graph_file.h"

#include "tools/argosy/plan/plan_format.h"

namespace argosy::cli {

namespace {

constexpr const char* kSyncBatchNorm = "sync-batch-norm";

}  // namespace

Status save_graph_strategy(const std::string& path, const Plan& plan, const std::string& graph,
                           const tf::GraphStep& step, bool sync_batch_norm) {
  return write_plan(path, plan,
                    {{"graph", graph}, {"targets", step.target_nodes()}, {kSyncBatchNorm, sync_batch_norm}});
}

Result<SavedGraphStrategy> load_graph_strategy(const std::string& path, const DeviceRequest& devices,
                                               bool sync_batch_norm) {
  const auto compare = [&](const PlanDocument& plan) -> Status {
    const Json& saved = plan.planned_for;
    if (saved.contains("model")) {
      const std::string model = saved.at("model");
      return other_plan(path, str_cat("the model ", model, " of argosy train; this run wants a graph's"),
                        "argosy plan train.meta --save FILE (of the script's tf.train.export_meta_graph)");
    }
    if (saved.at(kSyncBatchNorm) == sync_batch_norm) return ok_status();
    return other_plan(path, sync_batch_norm ? "a step without --sync-batch-norm" : "a step with --sync-batch-norm");
  };
  ARGOSY_ASSIGN_OR_RETURN(const PlanDocument plan, read_plan(path, devices, compare));
  SavedGraphStrategy saved{.strategy = plan.strategy,
                           .request = plan.request,
                           .step = {.file = path, .targets = {}, .batch = plan.batch},
                           .step_seconds = plan.step_seconds};
  try {
    saved.step.targets = plan.planned_for.at("targets").get<std::vector<std::string>>();
  } catch (const Json::exception& e) {
    return no_plan(path, e.what());
  }
  if (saved.step.targets.empty()) return no_plan(path, "it names no node that trains");
  return saved;
}

}  // namespace argosy::cli
