// argosy graph run: a graph, fed from files, its values into files.
#include <nlohmann/json.hpp>

#include "argosy/data/files/npy.h"
#include "argosy/runtime/session/session.h"
#include "tools/argosy/cli/command.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/device_flags.h"
#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/graph/graph_feeds.h"
#include "tools/argosy/graph/graph_source.h"
#include "tools/argosy/graph/graph_subcommands.h"
#include "tools/argosy/graph/graph_values.h"

namespace argosy::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kMostShown = 1000;  // values of a tensor in a JSON document

struct Options {
  std::string file, checkpoint, signature;
  std::vector<std::string> feeds, fetches, targets, outs, tags;
  DeviceRequest devices;
};

ordered_json to_json(const std::string& name, const Tensor& tensor) {
  ordered_json values = values_json(tensor, kMostShown), shape = ordered_json::array();
  const bool complete = static_cast<std::int64_t>(values.size()) == tensor.elements();
  for (const std::int64_t size : tensor.shape().sizes()) shape.push_back(size);
  return {{"name", name},
          {"dtype", dtype_name(tensor.dtype())},
          {"shape", shape},
          {"values", std::move(values)},
          {"complete", complete}};
}

// The error, and what may be fed and fetched.
Status wants(GraphSource& source, const Options& options, Status why) {
  LoadedGraph* const model = source.model();
  if (model == nullptr || why.id().starts_with("ARG-FILE")) return why;
  std::string text;
  for (const ModelSignature& s : model->signatures()) {
    if (options.signature.empty() || s.name == options.signature) text += str_cat("\n  ", s.to_string());
  }
  if (model->signatures().empty()) text += str_cat("\n  ", model->ends().to_string());
  // TensorFlow's own loader of graphs leaves these variables without a value, too.
  if (why.id() == "ARG-VAR-001" && is_saved_model(options.file)) {
    why = Status(why.code(), why.message())
              .with_id(std::string(why.id()))
              .with_where(why.where())
              .with_hint(
                  "save a Keras 3 model by model.export(FOLDER): what tf.saved_model.save writes of one needs Python");
  }
  std::string feed;  // what was not fed, by the name that its author gave it
  for (const ModelSignature& s : model->signatures()) {
    for (const auto& [key, name] : s.inputs) {
      if (why.id() == "ARG-FEED-001" &&
          why.message().find(str_cat("'", name.substr(0, name.find(':')), "'")) != std::string::npos) {
        feed = str_cat("--feed ", key, "=FILE.npy");
      }
    }
  }
  if (!feed.empty()) {
    why = Status(why.code(), why.message()).with_id(std::string(why.id())).with_where(why.where()).with_hint(feed);
  }
  Status told(why.code(), why.message() + text);
  return std::move(told)
      .with_id(std::string(why.id()))
      .with_where(why.where())
      .with_hint(why.hint().empty() ? str_cat("argosy graph import ", options.file) : why.hint());
}

Result<int> run_source(GraphSource& source, const Options& options, Console& console) {
  if (!options.signature.empty() && source.model() != nullptr) {
    ARGOSY_RETURN_IF_ERROR(source.model()->use_signature(options.signature));
  }
  ARGOSY_ASSIGN_OR_RETURN(const Feeds feeds, read_feeds(source, options.feeds));
  std::vector<Value> fetches, targets;
  for (const std::string& name : options.fetches) {
    ARGOSY_ASSIGN_OR_RETURN(const Value value, source.value(name));
    fetches.push_back(value);
  }
  for (const std::string& name : options.targets) {
    ARGOSY_ASSIGN_OR_RETURN(const Value value, source.value(name));
    targets.push_back(value.control());
  }
  Session session(source.graph(), {.devices = options.devices});
  ARGOSY_RETURN_IF_ERROR(session.status());
  if (LoadedGraph* model = source.model(); model != nullptr) {
    // The graph of a Saver may also be run to give its variables their first values.
    const bool restores = !options.checkpoint.empty() || is_saved_model(options.file);
    if (restores) ARGOSY_RETURN_IF_ERROR(model->restore(session, options.checkpoint));
  }
  ARGOSY_ASSIGN_OR_RETURN(const auto values, session.run(feeds, fetches, targets));
  ordered_json results = ordered_json::array();
  for (std::size_t i = 0; i < fetches.size(); ++i) {
    const Tensor& value = values[i];
    if (!value.valid()) continue;  // a node that is only run
    if (!options.outs.empty()) {
      ARGOSY_ASSIGN_OR_RETURN(const Tensor stored, relabelled(value, storage_dtype(value.dtype())));
      ARGOSY_RETURN_IF_ERROR(data::write_npy(options.outs[i], stored));
    }
    if (console.json()) {
      results.push_back(to_json(options.fetches[i], value));
    } else if (options.outs.empty()) {
      ARGOSY_ASSIGN_OR_RETURN(const std::string text, values_text(value, 64));
      console.print(str_cat(options.fetches[i], " = ", text, "\n"));
    } else {
      console.note(str_cat(options.outs[i], ": ", options.fetches[i], " ", dtype_name(value.dtype()), value.shape()));
    }
  }
  if (console.json()) {
    const ordered_json document = {{"schema_version", 1}, {"fetches", results}};
    console.print(document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
  }
  return kDone;
}

Result<int> run(const Options& options, Console& console) {
  if (options.fetches.empty() && options.targets.empty()) {
    return invalid_argument("nothing to run: neither --fetch nor --target is given")
        .with_id(kUsageId)
        .with_hint(str_cat("argosy graph import ", options.file, " says what may be fetched"));
  }
  if (!options.outs.empty() && options.outs.size() != options.fetches.size()) {
    return invalid_argument(options.outs.size(), " files (--out) for ", options.fetches.size(), " values (--fetch)")
        .with_id(kUsageId)
        .with_hint("one --out for each --fetch, in the same order, or none");
  }
  ARGOSY_ASSIGN_OR_RETURN(GraphSource source, GraphSource::open(options.file, options.tags));
  auto code = run_source(source, options, console);
  // Most errors here are names, dtypes and shapes that are not the graph's: say which those are.
  if (!code.ok()) return wants(source, options, std::move(code).status());
  return code;
}

}  // namespace

void define_graph_run(Command& graph) {
  Command& command = graph.add("run", "Run a graph: feeds from .npy files, fetches printed or into .npy files");
  auto& options = command.own<Options>();
  command.argument("FILE", options.file, "a .pb, .pbtxt or .meta file, a SavedModel's folder, or a graph's text form")
      .option("--feed NAME=VALUE", options.feeds,
              "a value to feed: a .npy file, or a scalar: 3, -inf, true, 1+2j, text (repeat it)")
      .option("--fetch NAME", options.fetches, "a value to take: node, node:1, or a name of the signature (repeat it)")
      .option("--out FILE", options.outs, "where the fetched values go as .npy, one for each --fetch")
      .option("--signature NAME", options.signature, "whose names --feed and --fetch are; default: serving_default")
      .option("--target NAME", options.targets, "a node to run (repeat it)")
      .option("--tags TAG", options.tags, "which graph of a SavedModel (repeat it)")
      .option("--checkpoint PREFIX", options.checkpoint, "what variables are restored from")
      .json()
      .about(
          "A .npy file must have the dtype that the graph wants, and a scalar must be of it: 1.5 is no int32. "
          "Quantised\n"
          "dtypes are fed and written as the integers that they are stored as. Under --json complex numbers are\n"
          "[re, im], infinities and NaN \"inf\", \"-inf\" and \"nan\", strings that are no UTF-8 {\"b64\": \"…\"}; at "
          "most\n"
          "1000 values of a fetch are in it, and \"complete\" says whether that is all.")
      .example("argosy graph run mnist.pb --feed x=digits.npy --feed keep_prob=1 --fetch softmax --out p.npy",
               "a frozen graph, with no Python")
      .example("argosy graph run models/mnist --feed image=digits.npy --fetch probabilities",
               "a SavedModel, by the names of its signature");
  add_device_flags(command, options.devices);
  command.runs([&options](Console& console) { return run(options, console); });
}

}  // namespace argosy::cli
