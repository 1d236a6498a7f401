// GraphStep: finds the training step in a TensorFlow graph file, and makes a batch for it, so that the planner can plan
// it. Internal to the session server and tools.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "argosy/tf/graph/imported_graph.h"
#include "argosy/tf/server/replication/advice/client_step_subject.h"

namespace argosy::tf {

// The step to plan. Empty fields are taken from the file.
struct GraphStepRequest {
  std::string path;                          // .pb, .pbtxt, .meta, or a SavedModel's folder
  std::vector<std::string> tags = {};        // selects a graph of a SavedModel
  std::vector<std::string> targets = {};     // the nodes that train, run together
  std::vector<std::string> fetches = {};     // values to fetch; empty: the losses
  std::map<std::string, Tensor> feeds = {};  // by name: values for one batch
  std::map<std::string, Shape> shapes = {};  // by name: shapes of feeds whose values are made up
  std::int64_t batch = 0;                    // examples of a batch; 0: as in the graph's shapes, else kBatch
  static constexpr std::int64_t kBatch = 128;
};

class GraphStep {
 public:
  // Reads the file and finds the step. Errors:
  // * ARG-IMPORT-…: the file cannot be read.
  // * ARG-PLAN-040: no training step. -041: several. -042: a target does not train. -046: no such node.
  // * ARG-PLAN-043: a size of a feed is unknown. -044: a given value has another shape or dtype than the feed.
  // * ARG-PLAN-045: no feed has a batch axis. -050: the step cannot be replicated. -051: a feed has no value.
  static Result<std::unique_ptr<GraphStep>> open(const GraphStepRequest& request);

  const Graph& graph() const { return imported_.graph(); }
  const ClientStep& subject() const { return subject_; }
  const std::vector<std::string>& targets() const { return targets_; }
  std::vector<std::string> losses() const;        // by name
  std::vector<std::string> target_nodes() const;  // by name, however the request wrote them

 private:
  GraphStep() = default;
  Status load(const GraphStepRequest& request);
  Status find_targets(const GraphStepRequest& request);
  Status find_feeds(const GraphStepRequest& request);
  Result<Value> value(const std::string& name);
  // Returns the nodes that train: those in the collection of training ops, else those without consumers.
  Result<std::vector<std::string>> training_ends();

  std::string path_;
  std::vector<std::string> ends_;       // nodes without consumers, in the file's order
  std::vector<std::string> collected_;  // the file's collection "train_op"
  ImportedGraph imported_;
  ClientStep subject_;
  std::vector<std::string> targets_;
};

}  // namespace argosy::tf
