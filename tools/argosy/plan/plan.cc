#include "argosy/planner/planner.h"

#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/plan/plan_file.h"
#include "tools/argosy/plan/plan_text.h"
#include "tools/argosy/train/train_choices.h"

namespace argosy::cli {

namespace {

struct PlanChoices {
  TrainChoices train;
  std::vector<std::string> why;
  std::string save;
};

// A graph's file is no model of `argosy train`.
Status refuse_graph(const std::string& model) {
  for (const char* const end : {".pb", ".pbtxt", ".meta", ".txt"}) {
    if (!model.ends_with(end)) continue;
    return invalid_argument("\"", model, "\" is a graph: argosy plan takes the models of argosy train, whose steps it ",
                            "can try out (", str_join(planned_models()), ")")
        .with_id(kUsageId)
        .with_where("argosy plan")
        .with_hint("argosy plan mlp; for a script's graph, argosy run --replicate reports how it was replicated");
  }
  const std::vector<std::string> known = planned_models();
  if (std::find(known.begin(), known.end(), model) != known.end()) return ok_status();
  const std::string near = nearest_word(model, known);
  return invalid_argument("MODEL: \"", model, "\" is none of ", str_join(known))
      .with_id(kUsageId)
      .with_where("argosy plan")
      .with_hint(str_cat("argosy plan ", near.empty() ? "mlp" : near));
}

Result<int> run_plan(const PlanChoices& choices, Console& console) {
  ARGOSY_RETURN_IF_ERROR(refuse_graph(choices.train.model));
  ARGOSY_ASSIGN_OR_RETURN(TrainJob job, make_job(choices.train));
  if (!choices.train.strategy.file.empty()) ARGOSY_RETURN_IF_ERROR(resolve_strategy(choices.train, job).status());
  PlanOptions how;
  how.nodes = choices.why;
  ARGOSY_ASSIGN_OR_RETURN(const Plan plan, make_plan(job.model, job.options, *job.train, how));
  console.print(console.json() ? plan_json(plan) : plan_text(plan, choices.train));
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
  plan.argument("MODEL", choices.train.model, str_cat("what would be trained: ", str_join(planned_models())));
  add_model_flags(plan, choices.train);
  add_strategy_flags(plan, choices.train);
  plan.group("Output")
      .option("--why NODE", choices.why, "say where this node of the model is, and why; may be given again")
      .option("--save FILE", choices.save, "write the strategy there, for --strategy @FILE");
  plan.json()
      .example("argosy plan autoencoder --emulate 2", "the fastest strategy that fits two emulated GPUs")
      .example("argosy plan mlp --emulate 4 --strategy dp,zero=1", "what that strategy would take, beside others")
      .example("argosy plan mlp --emulate \"gpu:1GiB,gpu:1GiB;link=1GB/s\" --save mlp.plan",
               "over slow links; argosy train mlp … --strategy @mlp.plan replays it")
      .about(
          "Runs a few steps of the model on single devices and a few tiny sums over all of them, about half a second. "
          "From these it predicts the step of every strategy by simulating the compiled step. Memory is what the "
          "compiled step takes, exactly. Nothing is trained.")
      .runs([&choices](Console& console) { return run_plan(choices, console); });
}

}  // namespace argosy::cli
