// argosy graph import: what of a TensorFlow graph can be run here.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "argosy/ops/ops.h"
#include "argosy/tf/coverage.h"
#include "tools/argosy/command.h"
#include "tools/argosy/console.h"
#include "tools/argosy/exit_code.h"
#include "tools/argosy/graph_parts.h"
#include "tools/argosy/table.h"

namespace argosy::cli {

namespace {

using nlohmann::ordered_json;

struct Options {
  std::string file;
  std::vector<std::string> tags;
  bool report = false;
};

ordered_json to_json(const tf::Coverage& coverage) {
  ordered_json ops = ordered_json::array(), problems = ordered_json::array();
  for (const auto& op : coverage.ops) {
    ops.push_back({{"op", op.op}, {"native", op.native}, {"count", op.nodes.size()}, {"nodes", op.nodes}});
  }
  for (const auto& p : coverage.problems) problems.push_back({{"node", p.node}, {"op", p.op}, {"error", p.error}});
  return {{"schema_version", 1},
          {"kind", coverage.kind},
          {"nodes", coverage.nodes},
          {"functions", coverage.functions},
          {"producer", coverage.producer},
          {"min_consumer", coverage.min_consumer},
          {"ops_native", static_cast<int>(coverage.ops.size()) - coverage.missing()},
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
  const bool complete = coverage.missing() == 0 && coverage.problems.empty();
  if (console.json()) {
    console.print(to_json(coverage).dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
    return complete ? kDone : kFailed;
  }
  console.print(str_cat(coverage.kind, " of producer ", coverage.producer, ": ", coverage.nodes, " nodes, ",
                        coverage.functions, " functions, ", coverage.ops.size(),
                        " ops: ", coverage.ops.size() - static_cast<std::size_t>(coverage.missing()), " native, ",
                        coverage.missing(), " missing\n"));
  std::vector<std::vector<std::string>> rows = {{"op", "nodes", "", "where"}};
  for (const auto& op : coverage.ops) {
    if (op.native && !options.report) continue;
    rows.push_back({op.op, std::to_string(op.nodes.size()), op.native ? "native" : "MISSING", some(op.nodes)});
  }
  if (rows.size() > 1) console.print(format_table(rows));
  for (const auto& p : coverage.problems) {
    console.print(str_cat("node '", p.node, "' (", p.op, "): ", p.error, "\n"));
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
      .about("Exit code 0 when all of it can be run, 1 when ops are missing or nodes cannot be converted.")
      .example("argosy graph import model.pb --report", "ops native and missing, with counts and node names")
      .runs([&options](Console& console) { return run(options, console); });
}

}  // namespace argosy::cli
