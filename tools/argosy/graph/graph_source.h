// GraphSource: the graph that `argosy graph` is given: our own text form, or a file or folder of TensorFlow.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/tf/model/load_graph.h"

namespace argosy::cli {

// Files of TensorFlow are known by their endings (.pb, .pbtxt, .meta), folders by what is in them.
bool is_tensorflow(const std::string& path);
// The same, and recognizes files of any name by their beginning: a text message, or bytes that are no text.
bool holds_tensorflow(const std::string& path);

bool is_saved_model(const std::string& path);

// Our text form; "-" reads standard input.
Result<Graph> load_text(const std::string& path);

// A graph of either form, ready to run.
class GraphSource {
 public:
  static Result<GraphSource> open(const std::string& path, const std::vector<std::string>& tags);

  Graph& graph() { return model_ ? model_->graph() : *text_; }
  Result<Value> value(const std::string& name) { return model_ ? model_->value(name) : text_->value(name); }
  Result<Value> value_to_feed(const std::string& name) {
    return model_ ? model_->value_to_feed(name) : text_->value(name);
  }
  LoadedGraph* model() { return model_ ? &*model_ : nullptr; }

 private:
  std::optional<LoadedGraph> model_;
  std::unique_ptr<Graph> text_;
};

}  // namespace argosy::cli
