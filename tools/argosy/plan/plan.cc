#include "argosy/planner/planner.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/plan/plan_file.h"
#include "tools/argosy/plan/plan_graph.h"
#include "tools/argosy/plan/plan_text.h"
#include "tools/argosy/train/train_choices.h"

namespace argosy::cli {

// The MODEL of a plan: a model's name, or a graph's file or folder.
struct PlannedModelName {
  std::string* name = nullptr;
};

Status parse_value(std::string_view text, const Limits& limits, PlannedModelName& to) {
  if (!is_graph(std::string(text))) return parse_value(text, limits, *to.name);
  *to.name = text;
  return ok_status();
}
std::string show_value(const PlannedModelName&) { return ""; }

namespace {

struct PlanChoices {
  TrainChoices train;
  PlannedModelName model;
  GraphChoices graph;
  std::vector<std::string> why;
  std::string save;
};

Result<int> run_plan(const PlanChoices& choices, Console& console) {
  if (is_graph(choices.train.model)) {
    return run_graph_plan(choices.train, choices.graph, choices.why, choices.save, console);
  }
  ARGOSY_RETURN_IF_ERROR(refuse_graph_flags(choices.train, choices.graph));
  ARGOSY_ASSIGN_OR_RETURN(TrainJob job, make_job(choices.train));
  if (!choices.train.strategy.file.empty()) ARGOSY_RETURN_IF_ERROR(resolve_strategy(choices.train, job).status());
  PlanOptions how;
  how.nodes = choices.why;
  ARGOSY_ASSIGN_OR_RETURN(const Plan plan, make_plan(job.model, job.options, *job.train, how));
  console.print(console.json() ? plan_json(plan) : plan_text(plan, choices.train.model, by_hand(plan, choices.train)));
  ARGOSY_RETURN_IF_ERROR(console.flush());
  if (!job.note.empty()) console.note(job.note);
  if (choices.save.empty()) return kDone;
  ARGOSY_RETURN_IF_ERROR(save_strategy(choices.save, plan, choices.train));
  console.note(
      str_cat("saved  ", choices.save, ": argosy train ", choices.train.model, " … --strategy @", choices.save));
  return kDone;
}

}  // namespace

void define_plan(Command& program) {
  Command& plan = program.add("plan", "Choose how devices share the training of a model, and say why");
  auto& choices = plan.own<PlanChoices>();
  choices.train.strategy.automatic = true;
  choices.model.name = &choices.train.model;
  plan.argument("MODEL", choices.model,
                "what would be trained: a model of argosy train, or a graph: a .pb, .pbtxt or .meta file, or a "
                "SavedModel's folder",
                {.one_of = planned_models()});
  add_model_flags(plan, choices.train);
  add_strategy_flags(plan, choices.train);
  add_graph_flags(plan, choices.graph);
  plan.group("Output")
      .option("--why NODE", choices.why, "say where this node of the model is, and why")
      .option("--save FILE", choices.save, "write the strategy there, for --strategy @FILE");
  plan.json()
      .example("argosy plan autoencoder --emulate 2", "the fastest strategy that fits two emulated GPUs")
      .example("argosy plan mlp --emulate 4 --strategy dp,zero=1", "what that strategy would take, beside others")
      .example("argosy plan mlp --emulate \"gpu:1GiB,gpu:1GiB;link=1GB/s\" --save mlp.plan",
               "over slow links; argosy train mlp … --strategy @mlp.plan replays it")
      .example("argosy plan train.meta --emulate 4 --batch 64", "the training step of a graph that a script saved")
      .about(
          "Runs a few steps of the model on single devices and a few tiny sums over all of them, about half a second. "
          "From these it predicts the step of every strategy by simulating the compiled step. Memory is what the "
          "compiled step takes, exactly. Nothing is trained. A graph is tried with variables and a batch that are made "
          "up.")
      .runs([&choices](Console& console) { return run_plan(choices, console); });
}

}  // namespace argosy::cli
