// argosy graph import: reports which parts of a TensorFlow graph can run here.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "argosy/ops/ops.h"
#include "argosy/tf/graph/tools/coverage.h"
#include "argosy/tf/model/load_graph.h"
#include "tools/argosy/cli/command.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/cli/table.h"
#include "tools/argosy/graph/graph_subcommands.h"

namespace argosy::cli {

namespace {

using nlohmann::ordered_json;

struct Options {
  std::string file;
  std::vector<std::string> tags;
  bool report = false;
};

ordered_json values_json(const ModelSignature& signature, const std::map<std::string, std::string>& names) {
  ordered_json values = ordered_json::array();
  for (const auto& [key, name] : names) {
    const auto type = signature.types.find(name);
    const bool known = type != signature.types.end() && type->second.dtype != DType::kInvalid;
    values.push_back({{"name", key},
                      {"value", name},
                      {"dtype", known ? ordered_json(dtype_name(type->second.dtype)) : ordered_json(nullptr)},
                      {"shape", known ? ordered_json(type->second.shape.to_string()) : ordered_json(nullptr)}});
  }
  return values;
}

ordered_json signatures_json(const std::vector<ModelSignature>& signatures) {
  ordered_json all = ordered_json::array();
  for (const ModelSignature& s : signatures) {
    all.push_back({{"name", s.name},
                   {"method", s.method},
                   {"inputs", values_json(s, s.inputs)},
                   {"outputs", values_json(s, s.outputs)}});
  }
  return all;
}

// What may be fed and fetched, a line each, and how to run it.
std::string signatures_text(const std::string& file, const LoadedGraph& model) {
  const std::vector<ModelSignature>& signatures = model.signatures();
  const ModelSignature& ends = model.ends();
  const bool runs = model.unrestored().empty();
  std::string text;
  const auto add = [&](const ModelSignature& s) {
    constexpr std::size_t kMost = 12;
    text += s.name.empty() ? std::string("inputs and outputs\n") : str_cat("signature ", s.name, "\n");
    std::vector<std::vector<std::string>> rows;
    std::string run = str_cat("argosy graph run ", file);
    for (const auto& [what, names] : {std::pair("  feed", &s.inputs), std::pair("  fetch", &s.outputs)}) {
      std::size_t shown = 0;
      for (const auto& [key, name] : *names) {
        if (++shown > kMost) break;
        const bool same = name == key || name == key + ":0";
        rows.push_back({what, key, std::string(str_trim(s.type_text(name))), same ? "" : name});
      }
      if (names->size() > kMost) rows.push_back({what, str_cat("… ", names->size() - kMost, " more"), "", ""});
    }
    text += format_table(rows);
    for (const auto& [key, name] : s.inputs) run += str_cat(" --feed ", key, "=FILE.npy");
    if (!s.outputs.empty()) run += str_cat(" --fetch ", s.outputs.begin()->first);
    if (signatures.size() > 1 && s.name != "serving_default") run += str_cat(" --signature ", s.name);
    if (s.inputs.size() <= kMost && runs) text += str_cat("  run    ", run, "\n");
  };
  for (const ModelSignature& s : signatures) add(s);
  if (signatures.empty() && !(ends.inputs.empty() && ends.outputs.empty())) add(ends);
  return text;
}

ordered_json to_json(const tf::Coverage& coverage) {
  ordered_json ops = ordered_json::array(), problems = ordered_json::array();
  for (const auto& op : coverage.ops) {
    ops.push_back(
        {{"op", op.op}, {"native", op.native}, {"needed", op.needed}, {"count", op.nodes.size()}, {"nodes", op.nodes}});
  }
  for (const auto& p : coverage.problems) problems.push_back({{"node", p.node}, {"op", p.op}, {"error", p.error}});
  return {
      {"schema_version", 1},
      {"kind", coverage.kind},
      {"nodes", coverage.nodes},
      {"functions", coverage.functions},
      {"producer", coverage.producer},
      {"min_consumer", coverage.min_consumer},
      {"ops_native", std::count_if(coverage.ops.begin(), coverage.ops.end(), [](const auto& o) { return o.native; })},
      {"ops_missing", coverage.missing()},
      {"ops", ops},
      {"problems", problems}};
}

std::string some(const std::vector<std::string>& nodes) {
  const std::size_t shown = std::min<std::size_t>(nodes.size(), 3);
  std::string text =
      str_join(std::vector<std::string>(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(shown)));
  return nodes.size() > shown ? str_cat(text, ", … ", nodes.size() - shown, " more") : text;
}

Result<int> run(const Options& options, Console& console) {
  ARGOSY_ASSIGN_OR_RETURN(const auto coverage, tf::read_coverage(options.file, options.tags, builtin_ops()));
  ARGOSY_ASSIGN_OR_RETURN(const LoadedGraph model, load_graph(options.file, {.tags = options.tags}));
  const bool complete = coverage.missing() == 0 && coverage.problems.empty() && model.unrestored().empty();
  if (console.json()) {
    ordered_json document = to_json(coverage);
    document["unrestored"] = model.unrestored();
    document["signatures"] = signatures_json(model.signatures());
    document["graph"] = {{"inputs", values_json(model.ends(), model.ends().inputs)},
                         {"outputs", values_json(model.ends(), model.ends().outputs)}};
    console.print(document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
    return complete ? kDone : kFailed;
  }
  const auto not_needed = std::count_if(coverage.ops.begin(), coverage.ops.end(),
                                        [](const tf::OpCoverage& o) { return !o.native && !o.needed; });
  console.print(str_cat(coverage.kind, " of producer ", coverage.producer, ": ", coverage.nodes, " nodes, ",
                        coverage.functions, " functions, ", coverage.ops.size(),
                        " ops: ", coverage.ops.size() - static_cast<std::size_t>(coverage.missing() + not_needed),
                        " native, ", coverage.missing(), " missing",
                        not_needed > 0 ? str_cat(", ", not_needed, " that no signature needs") : std::string(), "\n"));
  console.print(signatures_text(options.file, model));
  std::vector<std::vector<std::string>> rows = {{"op", "nodes", "", "where"}};
  for (const auto& op : coverage.ops) {
    if ((op.native || !op.needed) && !options.report) continue;
    const char* const state = op.native ? "native" : op.needed ? "MISSING" : "missing, not needed";
    rows.push_back({op.op, std::to_string(op.nodes.size()), state, some(op.nodes)});
  }
  if (rows.size() > 1) console.print(format_table(rows));
  for (const auto& p : coverage.problems) {
    console.print(str_cat("node '", p.node, "' (", p.op, "): ", p.error, "\n"));
  }
  if (!model.unrestored().empty()) {
    console.print(str_cat("no value for ", model.unrestored().size(), " variables that signatures read: ",
                          some(model.unrestored()), "\n  the file does not say how they are restored; ",
                          "of a Keras 3 model, model.export(FOLDER) writes what does\n"));
  }
  return complete ? kDone : kFailed;
}

}  // namespace

void define_graph_import(Command& graph) {
  Command& command = graph.add("import", "Read a TensorFlow graph and say what of it can be run here");
  auto& options = command.own<Options>();
  command.argument("FILE", options.file, "a .pb, .pbtxt or .meta file, or a SavedModel's folder")
      .option("--report", options.report, "every op, native or missing, with its nodes")
      .option("--tags TAG", options.tags, "which graph of a SavedModel (repeat it)")
      .json()
      .about(
          "Says what may be fed and fetched, and which ops are missing. Exit code 0 when all of it can be run (of a "
          "SavedModel: its signatures), 1 when ops are missing, nodes cannot be converted, or variables are never "
          "given a value.")
      .example("argosy graph import models/mnist", "a SavedModel: its signatures, and whether they run here")
      .example("argosy graph import model.pb --report", "ops native and missing, with counts and node names")
      .runs([&options](Console& console) { return run(options, console); });
}

}  // namespace argosy::cli
