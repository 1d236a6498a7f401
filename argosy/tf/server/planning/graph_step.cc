#include "argosy/tf/server/planning/graph_step.h"

#include <algorithm>
#include <set>

#include "argosy/base/str.h"
#include "argosy/formats/proto/meta_graph.pb.h"
#include "argosy/tf/graph/graph_file.h"
#include "argosy/tf/server/planning/made_up_batch.h"
#include "argosy/tf/server/replication/replicated_step.h"
#include "argosy/tf/server/replication/step_rewrite.h"

namespace argosy::tf {

namespace {

constexpr std::size_t kMostNamed = 6;  // training steps in one error

std::string_view node_of(std::string_view input) {
  return input.substr(input.starts_with('^') ? 1 : 0, input.find(':') - (input.starts_with('^') ? 1 : 0));
}

std::vector<std::string> ends_of(const tensorflow::GraphDef& def) {
  std::set<std::string_view> read;
  for (const auto& node : def.node()) {
    for (const std::string& input : node.input()) read.insert(node_of(input));
  }
  std::vector<std::string> ends;
  for (const auto& node : def.node()) {
    if (!read.contains(node.name())) ends.push_back(node.name());
  }
  return ends;
}

std::string quoted(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNamed); ++i) shown.push_back(str_cat("'", names[i], "'"));
  if (names.size() > kMostNamed) shown.push_back(str_cat(names.size() - kMostNamed, " more"));
  return str_join(shown);
}

}  // namespace

Result<std::unique_ptr<GraphStep>> GraphStep::open(const GraphStepRequest& request) {
  std::unique_ptr<GraphStep> step(new GraphStep());
  ARGOSY_RETURN_IF_ERROR(step->load(request));
  ARGOSY_RETURN_IF_ERROR(step->find_targets(request));
  ARGOSY_RETURN_IF_ERROR(step->find_feeds(request));
  return step;
}

std::vector<std::string> GraphStep::losses() const {
  std::vector<std::string> names;
  for (const Endpoint e : subject_.losses) names.emplace_back(graph().node(e.node).name);
  return names;
}

std::vector<std::string> GraphStep::target_nodes() const {
  std::vector<std::string> names;
  for (const Value& target : subject_.values.targets) names.emplace_back(target.node_name());
  return names;
}

Status GraphStep::load(const GraphStepRequest& request) {
  path_ = request.path;
  ARGOSY_ASSIGN_OR_RETURN(GraphFile file, read_graph_file(request.path, request.tags));
  ends_ = ends_of(file.meta->graph_def());
  const auto trains = file.meta->collection_def().find("train_op");
  if (trains != file.meta->collection_def().end()) {
    const auto& nodes = trains->second.node_list().value();
    collected_.assign(nodes.begin(), nodes.end());
  }
  return imported_.extend(std::move(*file.meta->mutable_graph_def())).with_where(path_);
}

Result<Value> GraphStep::value(const std::string& name) {
  if (imported_.has(std::string(node_of(name)))) return imported_.value(name);
  return not_found(path_, " has no node '", name, "'")
      .with_id("ARG-PLAN-046")
      .with_hint(str_cat("argosy graph import ", path_));
}

Result<std::vector<std::string>> GraphStep::training_ends() {
  std::vector<std::string> found;
  std::set<std::string> losses;  // of the steps so far: a step that another contains is none of its own
  for (const auto* names : {&collected_, &ends_}) {
    for (const std::string& name : *names) {
      const auto node = imported_.value(str_cat("^", node_of(name)));
      if (!node.ok()) continue;  // not converted: it could not be run
      const TrainingStep step = analyze_training_step(imported_, {.feeds = {}, .fetches = {}, .targets = {*node}});
      if (!step.trains.empty()) found.emplace_back(node_of(name));
    }
    if (!found.empty()) break;
  }
  return found;
}

Status GraphStep::find_targets(const GraphStepRequest& request) {
  targets_ = request.targets;
  if (targets_.empty()) {
    ARGOSY_ASSIGN_OR_RETURN(targets_, training_ends());
    if (targets_.empty()) {
      return invalid_argument(path_, " has no training step: nothing in it follows gradients to a variable")
          .with_id("ARG-PLAN-040")
          .with_where(path_)
          .with_hint(
              "tf.train.export_meta_graph('train.meta') after optimizer.minimize(loss), then argosy plan train.meta");
    }
    if (targets_.size() > 1) {
      return invalid_argument(path_, " has ", targets_.size(), " training steps: ", quoted(targets_))
          .with_id("ARG-PLAN-041")
          .with_where(path_)
          .with_hint(str_cat("--target ", targets_[0], " (repeat it for those that one session.run runs together)"));
    }
  }
  StepValues& values = subject_.values;
  for (const std::string& name : targets_) {
    ARGOSY_ASSIGN_OR_RETURN(const Value node, value(name));
    values.targets.push_back(node.control());
  }
  for (const std::string& name : request.fetches) {
    ARGOSY_ASSIGN_OR_RETURN(const Value fetch, value(name));
    values.fetches.push_back(fetch);
  }
  for (const auto& [name, tensor] : request.feeds) {
    ARGOSY_ASSIGN_OR_RETURN(const Value feed, value(name));
    if (feed.index() == Value::kControl) {
      return invalid_argument("'", name, "' has no output to feed").with_id("ARG-PLAN-051").with_where("--feed");
    }
    values.feeds.push_back(feed);
    subject_.feeds.push_back(tensor);
  }
  TrainingStep step = analyze_training_step(imported_, values);
  if (!step.why.empty()) return invalid_argument("the step is not replicated: ", step.why).with_id("ARG-PLAN-050");
  if (step.trains.empty()) {
    return invalid_argument(quoted(targets_), targets_.size() == 1 ? " does" : " do",
                            " not train: no gradient leads from a loss to a variable that ",
                            targets_.size() == 1 ? "it writes" : "they write")
        .with_id("ARG-PLAN-042")
        .with_where(path_)
        .with_hint("--target NAME of what optimizer.minimize() returned");
  }
  subject_.losses = step.losses;
  if (values.fetches.empty()) {
    for (const Endpoint e : step.losses) values.fetches.push_back(imported_.graph().value(e));
  }
  values.feeds.insert(values.feeds.end(), step.sources.begin(), step.sources.end());
  return ok_status();
}

Status GraphStep::find_feeds(const GraphStepRequest& request) {
  StepValues& values = subject_.values;
  ARGOSY_ASSIGN_OR_RETURN(const StepGraph part, prune_step(graph(), signature_of(values)));
  for (const Node& n : part.graph.nodes()) {
    if (n.op->name != "Placeholder" && n.op->name != "PlaceholderV2") continue;
    ARGOSY_ASSIGN_OR_RETURN(const Value feed, imported_.value(std::string(n.name)));
    values.feeds.push_back(feed);
  }
  ARGOSY_ASSIGN_OR_RETURN(subject_.feeds, made_up_batch(graph(), values.feeds, subject_.feeds, request));
  const auto axes = feeds_of_batch(graph(), values.feeds, subject_.feeds);
  if (!axes.ok()) {
    return Status(axes.status().code(), axes.status().message())
        .with_id("ARG-PLAN-045")
        .with_where(path_)
        .with_hint("--feed NAME=FILE.npy, or --shape NAME=SIZES, for what brings the batch");
  }
  subject_.axes = (*axes)[0];
  return ok_status();
}

}  // namespace argosy::tf
