#include "tools/argosy/plan/plan_graph.h"

#include <charconv>

#include "argosy/data/files/npy.h"
#include "argosy/tf/server/planning/graph_plan.h"
#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/graph/graph_source.h"
#include "tools/argosy/plan/plan_format.h"
#include "tools/argosy/plan/plan_graph_file.h"
#include "tools/argosy/plan/plan_text.h"

namespace argosy::cli {

namespace {

Status wrong(const char* flag, const std::string& word, const std::string& why, const char* type) {
  return invalid_argument(flag, " ", word, ": ", why).with_id(kUsageId).with_where(flag).with_hint(type);
}

struct Named {
  std::string name, value;
};
Result<Named> split(const char* flag, const std::string& word, const char* type) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == word.size()) {
    return wrong(flag, word, "it wants NAME=VALUE", type);
  }
  return Named{word.substr(0, equals), word.substr(equals + 1)};
}

Result<Shape> shape_of(const std::string& word, const std::string& text) {
  constexpr const char* kType = "--shape images=32,28,28";
  std::vector<std::int64_t> sizes;
  for (const std::string& part : str_split(text, ',')) {
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), size);
    if (part.empty() || error != std::errc() || end != part.data() + part.size() || size < 1) {
      return wrong("--shape", word, str_cat("\"", part, "\" is no size"), kType);
    }
    sizes.push_back(size);
  }
  if (sizes.size() > 8) return wrong("--shape", word, "it has more than eight sizes", kType);
  return to_shape(Tensor::vector(sizes), "--shape");
}

Result<tf::GraphStepRequest> request_of(const TrainChoices& choices, const GraphChoices& graph) {
  tf::GraphStepRequest request{
      .path = choices.model, .tags = graph.tags, .targets = graph.targets, .fetches = graph.fetches};
  request.batch = choices.batch;
  for (const std::string& word : graph.feeds) {
    ARGOSY_ASSIGN_OR_RETURN(const Named named, split("--feed", word, "--feed x=batch.npy"));
    auto tensor = data::read_npy(named.value);
    if (!tensor.ok()) return std::move(tensor).status().with_where(str_cat("--feed ", word));
    request.feeds[named.name] = *std::move(tensor);
  }
  for (const std::string& word : graph.shapes) {
    ARGOSY_ASSIGN_OR_RETURN(const Named named, split("--shape", word, "--shape images=32,28,28"));
    ARGOSY_ASSIGN_OR_RETURN(request.shapes[named.name], shape_of(word, named.value));
  }
  return request;
}

// Flags that say which model is built: a graph is what it is.
Status refuse_model_flags(const TrainChoices& c) {
  const TrainChoices none;
  const struct {
    const char* flag;
    bool given;
  } flags[] = {{"--data", c.data != none.data},
               {"--image-size", c.image_size != none.image_size},
               {"--depth", c.depth != none.depth},
               {"--width", c.width != none.width},
               {"--layers", c.layers != none.layers},
               {"--dropout", c.dropout.has_value()},
               {"--precision", c.precision != none.precision},
               {"--seed", c.seed != none.seed},
               {"--optimizer", c.optimizer != none.optimizer},
               {"--clip-norm", c.clip_norm != none.clip_norm},
               {"--combine", c.combine != none.combine},
               {"--reproducible", c.reproducible},
               {"--shards", c.shards != none.shards}};
  for (const auto& f : flags) {
    if (!f.given) continue;
    return invalid_argument(f.flag, " is of the models of argosy train, and ", c.model, " is a graph")
        .with_id("ARG-PLAN-049")
        .with_where(f.flag)
        .with_hint("leave it out");
  }
  return ok_status();
}

std::string run_by_hand(const Plan& plan, const TrainChoices& c) {
  std::string line = str_cat("argosy run", machine_flags(c.request), " --devices ", device_list(plan));
  if (plan.devices.size() > 1 || plan.strategy.accumulate > 1) {
    line += str_cat(" --replicate --strategy ", plan.strategy.to_string());
    if (c.sync_batch_norm) line += " --sync-batch-norm";
  }
  return line + " -- python SCRIPT";
}

// "Adam" and "Mean", and what a batch is.
std::string step_line(const tf::GraphStep& step) {
  std::vector<std::string> feeds;
  for (std::size_t i = 0; i < step.subject().feeds.size(); ++i) {
    const Tensor& fed = step.subject().feeds[i];
    feeds.push_back(str_cat(step.subject().values.feeds[i].name(), " ", dtype_name(fed.dtype()), fed.shape()));
  }
  return str_cat("step        ", str_join(step.targets()), " trains by the gradient of ", str_join(step.losses()),
                 "; fed ", str_join(feeds), "\n");
}

}  // namespace

bool is_graph(const std::string& name) {
  if (is_tensorflow(name)) return true;
  return name.ends_with(".pb.txt") || name.ends_with(".txt");
}

void add_graph_flags(Command& command, GraphChoices& c) {
  command.group("Graphs")
      .option("--target NAME", c.targets, "the node that trains, where the graph has several (repeat it)")
      .option("--fetch NAME", c.fetches, "what a step gives; default: its losses (repeat it)")
      .option("--shape NAME=SIZES", c.shapes, "of what is fed, where the graph leaves sizes open: x=32,28,28")
      .option("--feed NAME=FILE", c.feeds, "a batch from a .npy file, where made-up numbers do not do")
      .option("--tags TAG", c.tags, "which graph of a SavedModel (repeat it)");
}

Status refuse_graph_flags(const TrainChoices& model, const GraphChoices& c) {
  const struct {
    const char* flag;
    const std::vector<std::string>& values;
  } flags[] = {
      {"--target", c.targets}, {"--fetch", c.fetches}, {"--shape", c.shapes}, {"--feed", c.feeds}, {"--tags", c.tags}};
  for (const auto& f : flags) {
    if (f.values.empty()) continue;
    return invalid_argument(f.flag, " is of graph files, and ", model.model, " is a model of argosy train")
        .with_id(kUsageId)
        .with_where(f.flag)
        .with_hint("leave it out");
  }
  return ok_status();
}

Result<int> run_graph_plan(const TrainChoices& choices, const GraphChoices& graph, const std::vector<std::string>& why,
                           const std::string& save, Console& console) {
  ARGOSY_RETURN_IF_ERROR(refuse_model_flags(choices));
  ARGOSY_ASSIGN_OR_RETURN(const tf::GraphStepRequest request, request_of(choices, graph));
  ARGOSY_ASSIGN_OR_RETURN(const auto step, tf::GraphStep::open(request));
  PlanOptions how;
  how.nodes = why;
  DeviceRequest devices = choices.request;
  StrategySpec strategy = choices.strategy;
  tf::PlannedStep replayed;
  if (!strategy.file.empty()) {
    ARGOSY_ASSIGN_OR_RETURN(SavedGraphStrategy saved,
                            load_graph_strategy(strategy.file, devices, choices.sync_batch_norm));
    strategy = saved.strategy;
    devices = saved.request;
    replayed = std::move(saved.step);
  }
  ARGOSY_ASSIGN_OR_RETURN(const Plan plan, tf::plan_graph(*step, devices, strategy, choices.sync_batch_norm, how));
  if (!replayed.file.empty()) {
    const std::string other = tf::difference(replayed, step->target_nodes(), plan.batch);
    if (!other.empty()) return other_plan(replayed.file, other);
  }
  if (console.json()) {
    console.print(plan_json(plan, step.get()));
  } else {
    console.print(step_line(*step) + plan_text(plan, choices.model, run_by_hand(plan, choices)));
  }
  ARGOSY_RETURN_IF_ERROR(console.flush());
  if (save.empty()) return kDone;
  ARGOSY_RETURN_IF_ERROR(save_graph_strategy(save, plan, choices.model, *step, choices.sync_batch_norm));
  console.note(str_cat("saved  ", save, ": argosy run --strategy @", shell_word(save), " … -- python SCRIPT"));
  return kDone;
}

}  // namespace argosy::cli
