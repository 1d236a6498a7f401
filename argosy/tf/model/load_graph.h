// Loads TensorFlow's models: frozen graphs (.pb, .pbtxt), graphs of a tf.train.Saver (.meta), SavedModels (folders).
// Each may be text, whatever the file's name.
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

// Options of load_graph().
struct LoadOptions {
  // Selects a graph of a SavedModel; empty: its only graph, else the one with the single tag "serve".
  std::vector<std::string> tags = {};
};

// A signature of a SavedModel: inputs and outputs by the names that its author gave them.
struct ModelSignature {
  std::string name;                            // "serving_default"
  std::string method;                          // "tensorflow/serving/predict"
  std::map<std::string, std::string> inputs;   // "image" -> "serving_default_image:0"
  std::map<std::string, std::string> outputs;  // "probabilities" -> "StatefulPartitionedCall:0"
  // The type of an input or output, as the signature gives it.
  struct Type {
    DType dtype = DType::kInvalid;  // kInvalid: not known
    PartialShape shape = {};        // as written in the file
  };
  std::map<std::string, Type> types = {};  // by the graph's name of the value, "serving_default_image:0"

  // Returns the type of a value as text, by the value's name in the graph: " float[?,28,28,1]"; empty: not known.
  std::string type_text(const std::string& tensor) const;
  // Returns one line: "signature serving_default: feed image float[?,28,28,1]; fetch probabilities float[?,10]".
  std::string to_string() const;
};

// A loaded model. value() adds the nodes that a value depends on to the graph: call it before the first run, or inside
// Session::mutate_graph(). Not thread-safe.
class LoadedGraph {
 public:
  LoadedGraph(LoadedGraph&&) noexcept;             // Afterwards the source is empty.
  LoadedGraph& operator=(LoadedGraph&&) noexcept;  // Afterwards the source is empty.
  ~LoadedGraph();

  // The graph. Its address does not change when this object is moved.
  Graph& graph();
  // `name` is, in this order:
  //   * "node", "node:1" or "^node";
  //   * an input or output of the signature that use_signature() chose, else of "serving_default";
  //   * an input or output of any signature. INVALID_ARGUMENT: it is a different value in several signatures.
  // An error names the node that cannot be converted, and says why.
  Result<Value> value(std::string_view name);
  // Likewise for a value that is to be fed. Its node, and the nodes that it depends on, may have unknown ops.
  Result<Value> value_to_feed(std::string_view name);
  // The names of all nodes, in the file's order.
  const std::vector<std::string>& node_names() const;
  // The op of each node, in the same order.
  const std::vector<std::string>& node_ops() const;

  const std::vector<ModelSignature>& signatures() const;  // sorted by name
  // Makes value() look names up in this signature first. NOT_FOUND lists the signatures.
  Status use_signature(std::string_view name);
  // A substitute for a signature, by the graph's names: placeholders are the inputs, values without consumers the
  // outputs.
  const ModelSignature& ends() const;
  // Returns the signature of that name; null: there is none.
  const ModelSignature* signature(std::string_view name = "serving_default") const;

  // True if restore() is needed before the first run.
  bool has_variables() const;
  // Gives the variables their values and runs the model's initialisation (tables, assets). Call it once, before the
  // first run. A frozen graph has nothing to restore.
  // `checkpoint`: the prefix to read; empty: the SavedModel's own. FAILED_PRECONDITION if there is none.
  Status restore(Session& session, const std::string& checkpoint = "");
  // Returns the variables of a SavedModel that its signatures read and that restore() does not set, sorted. Steps that
  // read them fail. Keras 3 models written by tf.saved_model.save have such variables: Keras restores them in Python.
  const std::vector<std::string>& unrestored() const;

 private:
  friend Result<LoadedGraph> load_graph(const std::string& path, const LoadOptions& options);
  class Impl;
  explicit LoadedGraph(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Loads a model. NOT_FOUND: no file. INVALID_ARGUMENT: the file is no graph; it names the node or the line.
// FAILED_PRECONDITION: no graph of the SavedModel has these tags.
Result<LoadedGraph> load_graph(const std::string& path, const LoadOptions& options = {});

}  // namespace argosy
