// argosy graph diff and strip: graphs compared and made smaller, as files.
#include <nlohmann/json.hpp>

#include "argosy/base/system/file.h"
#include "argosy/graph/text.h"
#include "argosy/ops/ops.h"
#include "argosy/tf/graph/tools/graph_tools.h"
#include "tools/argosy/cli/command.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/graph/graph_source.h"
#include "tools/argosy/graph/graph_subcommands.h"

namespace argosy::cli {

namespace {

using nlohmann::ordered_json;
using tf::GraphDifference;
using tf::GraphForm;

Result<GraphForm> read(const std::string& path, const std::vector<std::string>& tags) {
  if (holds_tensorflow(path)) return GraphForm::read(path, tags, builtin_ops());
  ARGOSY_ASSIGN_OR_RETURN(const Graph graph, load_text(path));
  return GraphForm::of(graph);
}

struct DiffOptions {
  std::string first, second;
  std::vector<std::string> tags;
};

Result<int> diff(const DiffOptions& options, Console& console) {
  ARGOSY_ASSIGN_OR_RETURN(const GraphForm first, read(options.first, options.tags));
  ARGOSY_ASSIGN_OR_RETURN(const GraphForm second, read(options.second, options.tags));
  const auto differences = first.differences(second);
  constexpr const char* kKinds[] = {"only_first", "only_second", "changed"};
  if (console.json()) {
    ordered_json list = ordered_json::array();
    for (const GraphDifference& d : differences) {
      list.push_back({{"kind", kKinds[static_cast<int>(d.kind)]}, {"what", d.what}, {"details", d.details}});
    }
    const ordered_json document = {{"schema_version", 1}, {"equal", differences.empty()}, {"differences", list}};
    console.print(document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
    return differences.empty() ? kDone : kFailed;
  }
  for (const GraphDifference& d : differences) {
    const char* mark = d.kind == GraphDifference::Kind::kOnlyFirst    ? "- "
                       : d.kind == GraphDifference::Kind::kOnlySecond ? "+ "
                                                                      : "~ ";
    console.print(str_cat(mark, d.what, d.details.empty() ? "" : ": ", d.details, "\n"));
  }
  console.note(differences.empty() ? std::string("the graphs are equal") : str_cat(differences.size(), " differences"));
  return differences.empty() ? kDone : kFailed;
}

struct StripCommand {
  std::string file, out;
  std::vector<std::string> tags;
  GraphForm::StripOptions strip;
  bool keep_training = false;
};

Result<int> strip(StripCommand options, Console& console) {
  options.strip.training = !options.keep_training;
  ARGOSY_ASSIGN_OR_RETURN(GraphForm form, read(options.file, options.tags));
  ARGOSY_ASSIGN_OR_RETURN(const std::string done, form.strip(options.strip));
  ARGOSY_RETURN_IF_ERROR(form.save(options.out));
  if (console.json()) {
    const ordered_json document = {
        {"schema_version", 1}, {"file", options.out}, {"nodes", form.num_nodes()}, {"left_out", done}};
    console.print(document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
  }
  console.note(str_cat(options.out, ": ", done));
  return kDone;
}

}  // namespace

void define_graph_diff(Command& graph) {
  Command& command = graph.add("diff", "Compare two graphs, node by node");
  auto& options = command.own<DiffOptions>();
  command.argument("FIRST", options.first, "a .pb, .pbtxt or .meta file, a SavedModel's folder, or a graph's text form")
      .argument("SECOND", options.second, "another")
      .option("--tags TAG", options.tags, "which graph of a SavedModel (repeat it)")
      .json()
      .about(
          "Attributes that are left out count as their defaults; the order of nodes does not count. Exit code 1 when\n"
          "the graphs differ.")
      .example("argosy graph diff before.pb after.pb", "- only in the first, + only in the second, ~ changed")
      .runs([&options](Console& console) { return diff(options, console); });
}

void define_graph_strip(Command& graph) {
  Command& command = graph.add("strip", "Leave out what a graph does not need to compute its outputs");
  auto& options = command.own<StripCommand>();
  command.argument("FILE", options.file, "a .pb, .pbtxt or .meta file, a SavedModel's folder, or a graph's text form")
      .argument("OUT", options.out, "where the rest goes: .pb, or .pbtxt as text")
      .option("--output NODE", options.strip.outputs,
              "what must still be computable (repeat it); none: what nobody takes")
      .option("--defaults", options.strip.defaults, "leave out attributes that have their default values")
      .option("--devices", options.strip.devices, "forget where nodes were to run")
      .option("--keep-training", options.keep_training, "keep checks, gradient stops, savers and updates")
      .option("--tags TAG", options.tags, "which graph of a SavedModel (repeat it)")
      .json()
      .example("argosy graph strip model.meta small.pb --output softmax", "what inference needs")
      .runs([&options](Console& console) { return strip(options, console); });
}

}  // namespace argosy::cli
