// Models that TensorFlow wrote, ready to be run: frozen graphs (.pb, .pbtxt), graphs of a tf.train.Saver (.meta),
// SavedModels (folders). Each may be text, whatever the file's name.
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

// A signature of a SavedModel: inputs and outputs by the names that its author gave them.
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

// value() adds the nodes that a value depends on to the graph: call it before the first run, or inside
// Session::mutate_graph(). Not thread-safe.
class LoadedGraph {
 public:
  LoadedGraph(LoadedGraph&&) noexcept;             // The other one is empty then.
  LoadedGraph& operator=(LoadedGraph&&) noexcept;  // The other one is empty then.
  ~LoadedGraph();

  // Stays where it is, also when this object is moved.
  Graph& graph();
  // `name` is, in this order:
  //   * "node", "node:1" or "^node";
  //   * an input or output of the signature that use_signature() chose, else of "serving_default";
  //   * an input or output of any signature. INVALID_ARGUMENT: several signatures mean different values by it.
  // An error names the node that cannot run here, and why.
  Result<Value> value(std::string_view name);
  // The same for a value that is to be fed. Its node, and what it depends on, may have unknown ops.
  Result<Value> value_to_feed(std::string_view name);
  // The names of all nodes, in the file's order.
  const std::vector<std::string>& node_names() const;
  // The op of each of them.
  const std::vector<std::string>& node_ops() const;

  const std::vector<ModelSignature>& signatures() const;  // sorted by name
  // value() reads names as this signature's from now on. NOT_FOUND lists the signatures.
  Status use_signature(std::string_view name);
  // A substitute for a signature: placeholders as inputs, values that no node reads as outputs, by the graph's names.
  const ModelSignature& ends() const;
  // Null when there is none of that name.
  const ModelSignature* signature(std::string_view name = "serving_default") const;

  // Whether restore() is needed before the first run.
  bool has_variables() const;
  // Gives the variables their values and runs the model's initialisation (tables, assets). Call it once, before the
  // first run. A frozen graph has nothing to restore.
  // `checkpoint`: the prefix to read; empty: the SavedModel's own. FAILED_PRECONDITION if there is none.
  Status restore(Session& session, const std::string& checkpoint = "");
  // The variables of a SavedModel that its signatures read and restore() gives no value, sorted: steps that read them
  // fail. What tf.saved_model.save writes of a Keras 3 model has such, for its Python restores them.
  const std::vector<std::string>& unrestored() const;

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
