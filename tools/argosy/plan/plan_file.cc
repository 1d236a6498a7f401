#include "tools/argosy/plan/plan_file.h"

#include "argosy/planner/planner.h"
#include "argosy/planner/runners_up.h"
#include "tools/argosy/cli/progress.h"
#include "tools/argosy/plan/plan_format.h"

namespace argosy::cli {

namespace {

// What decides about the graph of a step, as it is typed.
Json model_json(const TrainChoices& c) {
  return {{"model", c.model},
          {"data", c.data},
          {"image-size", c.image_size},
          {"depth", c.depth},
          {"width", c.width},
          {"layers", c.layers},
          {"dropout", c.dropout ? Json(*c.dropout) : Json(nullptr)},
          {"precision", c.precision},
          {"optimizer", c.optimizer},
          {"clip-norm", c.clip_norm},
          {"reproducible", c.reproducible},
          {"shards", c.shards},
          {"sync-batch-norm", c.sync_batch_norm}};
}

Status compare_model(const std::string& path, const Json& saved, const TrainChoices& choices) {
  if (saved.contains("graph")) {
    return other_plan(
        path, str_cat("the graph ", saved.at("graph").get<std::string>(), ", this run has the model ", choices.model));
  }
  const Json run = model_json(choices);
  for (const auto& [key, here] : run.items()) {
    // Files of older versions say nothing of dropout: they are for the model's own.
    if (!saved.contains(key) && key != "dropout") return no_plan(path, str_cat("\"", key, "\" is missing"));
    const Json there = saved.contains(key) ? saved[key] : Json(nullptr);
    if (there == here) continue;
    const std::string name = key == "model" ? "" : str_cat("--", key, " ");
    const auto text = [&](const Json& value) {
      const bool unset = value.is_null() || value == "" || value == false || (value == 0 && key != "dropout");
      if (unset) return str_cat("no ", name.empty() ? "model" : name.substr(0, name.size() - 1));
      return name + (value.is_string() ? value.get<std::string>() : value.dump());
    };
    return other_plan(path, str_cat(text(there), ", this run has ", text(here)));
  }
  return ok_status();
}

}  // namespace

Status save_strategy(const std::string& path, const Plan& plan, const TrainChoices& choices) {
  return write_plan(path, plan, model_json(choices));
}

Result<SavedStrategy> load_strategy(const std::string& path, const TrainChoices& choices, std::int64_t batch) {
  ARGOSY_ASSIGN_OR_RETURN(const PlanDocument plan,
                          read_plan(path, choices.request, [&](const PlanDocument& file) -> Status {
                            ARGOSY_RETURN_IF_ERROR(compare_model(path, file.planned_for, choices));
                            if (file.batch == batch) return ok_status();
                            return other_plan(path, str_cat("--batch ", file.batch, ", this run has ", batch));
                          }));
  return SavedStrategy{.strategy = plan.strategy, .request = plan.request};
}

Result<std::string> resolve_strategy(const TrainChoices& choices, TrainJob& job) {
  TrainerOptions& options = job.options;
  const std::int64_t batch = std::min(options.batch, std::max<std::int64_t>(job.train->size(), 1));
  if (!choices.strategy.file.empty()) {
    ARGOSY_ASSIGN_OR_RETURN(const SavedStrategy saved, load_strategy(choices.strategy.file, choices, batch));
    options.strategy = saved.strategy;
    options.devices = saved.request;
    return str_cat(saved.strategy.to_string(), ", of ", choices.strategy.file);
  }
  if (!choices.strategy.automatic) return std::string();
  ARGOSY_ASSIGN_OR_RETURN(const Plan plan, make_plan(job.model, options, *job.train));
  options.strategy = plan.strategy;
  options.devices = request_of(plan, options.devices);
  std::string text =
      str_cat(plan.strategy.to_string(), " of ", plan.devices_asked, plan.devices_asked == 1 ? " device" : " devices",
              ", predicted ", format_rate(plan.predicted.samples_per_second), " samples/s");
  if (!plan.alternatives.empty()) {
    const Alternative& next = plan.alternatives[0];
    text += str_cat("; ", next.strategy.to_string(), " would be ", next.why);
  }
  return text;
}

}  // namespace argosy::cli
