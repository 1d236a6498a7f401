// GraphStep: the training step in a graph file of TensorFlow, and a batch for it, ready to be planned. Internal to the
// session server and tools.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "argosy/tf/graph/imported_graph.h"
#include "argosy/tf/server/replication/advice/step_subject.h"

namespace argosy::tf {

// What to plan of a file. Empty fields are found in the file.
struct GraphStepRequest {
  std::string path;                          // .pb, .pbtxt, .meta, or a SavedModel's folder
  std::vector<std::string> tags = {};        // which graph of a SavedModel
  std::vector<std::string> targets = {};     // nodes that train, run together
  std::vector<std::string> fetches = {};     // what a step gives; empty: its losses
  std::map<std::string, Tensor> feeds = {};  // by name: of one batch
  std::map<std::string, Shape> shapes = {};  // by name: of a batch that is made up
  std::int64_t batch = 0;                    // examples; 0: what the graph says, else kBatch
  static constexpr std::int64_t kBatch = 128;
};

class GraphStep {
 public:
  // ARG-IMPORT-…: the file cannot be read.
  // ARG-PLAN-040: no training step. -041: several. -042: a target does not train. -046: no such node.
  // ARG-PLAN-050: the step cannot be replicated. -051: a feed without a value.
  // ARG-PLAN-043: the size of a feed is open. -044: it is fed another shape or dtype. -045: no feed brings a batch.
  static Result<std::unique_ptr<GraphStep>> open(const GraphStepRequest& request);

  const Graph& graph() const { return imported_.graph(); }
  const SubjectStep& subject() const { return subject_; }
  const std::vector<std::string>& targets() const { return targets_; }
  std::vector<std::string> losses() const;        // by name
  std::vector<std::string> target_nodes() const;  // by name, however the request wrote them

 private:
  GraphStep() = default;
  Status load(const GraphStepRequest& request);
  Status find_targets(const GraphStepRequest& request);
  Status find_feeds(const GraphStepRequest& request);
  Result<Value> value(const std::string& name);
  // Nodes that no node of the file reads, and those of its collection of training ops.
  Result<std::vector<std::string>> training_ends();

  std::string path_;
  std::vector<std::string> ends_;       // nodes that nobody reads, in the file's order
  std::vector<std::string> collected_;  // its collection "train_op"
  ImportedGraph imported_;
  SubjectStep subject_;
  std::vector<std::string> targets_;
};

}  // namespace argosy::tf
