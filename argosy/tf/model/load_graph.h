// Models that TensorFlow wrote, ready to be run: frozen graphs (.pb, .pbtxt), graphs of a tf.train.Saver (.meta),
// SavedModels (folders).
//
//   Result<LoadedGraph> model = load_graph("mnist.pb");
//   Session session(model->graph());
//   ARGOSY_RETURN_IF_ERROR(model->restore(session));          // nothing to do for a frozen graph
//   auto out = session.run({{*model->value("x"), image}}, {*model->value("y")});
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

class Session;

// Of load_graph() and load_saved_model().
struct LoadOptions {
  // Which graph of a SavedModel that holds several; empty: its only one, or the one tagged "serve" alone.
  std::vector<std::string> tags = {};
};

// What a SavedModel says may be asked of it: values by the names that its author gave them.
struct ModelSignature {
  std::string name;                            // "serving_default"
  std::string method;                          // "tensorflow/serving/predict"
  std::map<std::string, std::string> inputs;   // "image" -> "serving_default_image:0"
  std::map<std::string, std::string> outputs;  // "probabilities" -> "StatefulPartitionedCall:0"
  // What a signature says of an input or output.
  struct Type {
    DType dtype = DType::kInvalid;  // not known
    PartialShape shape = {};        // as written in the file
  };
  std::map<std::string, Type> types = {};  // by the graph's name of the value, "serving_default_image:0"

  // " float[?,28,28,1]" of a value by the graph's name; empty where it is not known.
  std::string type_text(const std::string& tensor) const;
  // "signature serving_default: feed image float[?,28,28,1]; fetch probabilities float[?,10]", in one line.
  std::string to_string() const;
};

// The graph grows as values are asked for: each brings what it depends on. So ask before the first run, or inside
// Session::mutate_graph(). Not thread-safe.
class LoadedGraph {
 public:
  LoadedGraph(LoadedGraph&&) noexcept;             // The other one is empty then.
  LoadedGraph& operator=(LoadedGraph&&) noexcept;  // The other one is empty then.
  ~LoadedGraph();

  // Stays where it is, also when this object is moved.
  Graph& graph();
  // "node", "node:1" or "^node"; also the name of an input or output of a signature, where no node is called so: of the
  // one that use_signature() chose, else of "serving_default", else of the only one that has the name (INVALID_ARGUMENT
  // where several mean different values). The error names the node that cannot be run here, and why.
  Result<Value> value(std::string_view name);
  // The same for a value that is to be fed, which need not be computable here: the node's op, or one it depends on, may
  // be one we lack.
  Result<Value> value_to_feed(std::string_view name);
  // The names of all nodes, in the file's order.
  const std::vector<std::string>& node_names() const;

  const std::vector<ModelSignature>& signatures() const;  // sorted by name
  // Names are this signature's from now on. NOT_FOUND lists those there are.
  Status use_signature(std::string_view name);
  // What stands for a signature where there is none: placeholders, and what no node reads, by the graph's own names.
  const ModelSignature& ends() const;
  // Null when there is none of that name.
  const ModelSignature* signature(std::string_view name = "serving_default") const;

  // Must this model be restored before it can be run?
  bool has_variables() const;
  // Gives the variables of the session's graph their values and runs what the model wants run first (tables, assets).
  // `checkpoint`: the prefix to read them from; empty: the SavedModel's own. FAILED_PRECONDITION when there is none.
  // NOTHING happens for a frozen graph. To be called once, before the first run.
  Status restore(Session& session, const std::string& checkpoint = "");

 private:
  friend Result<LoadedGraph> load_graph(const std::string& path, const LoadOptions& options);
  class Impl;
  explicit LoadedGraph(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// NOT_FOUND; INVALID_ARGUMENT for what is no graph, naming the node or the line; FAILED_PRECONDITION when no graph of
// the SavedModel has these tags.
Result<LoadedGraph> load_graph(const std::string& path, const LoadOptions& options = {});

}  // namespace argosy
