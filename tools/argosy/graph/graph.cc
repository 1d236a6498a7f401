#include "argosy/graph/graph.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

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

constexpr int kShownValues = 8;  // of a constant

struct Options {
  std::string file;
  std::vector<std::string> tags;
  bool all_attrs = false, all_values = false;
};

// A graph to look at; of TensorFlow's, all that can be converted, and why the rest cannot.
struct Shown {
  struct Failure {
    std::string name, op, why;
  };
  GraphSource source;
  std::vector<Failure> failures;
};

Result<Shown> load(const Options& options) {
  ARGOSY_ASSIGN_OR_RETURN(GraphSource source, GraphSource::open(options.file, options.tags));
  Shown shown{std::move(source), {}};
  if (LoadedGraph* model = shown.source.model()) {
    const std::vector<std::string>&names = model->node_names(), &ops = model->node_ops();
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto value = model->value(names[i]);
      if (!value.ok()) shown.failures.push_back({names[i], ops[i], value.status().message()});
    }
  }
  return shown;
}

ordered_json to_json(const Graph& graph, const std::vector<Shown::Failure>& failures) {
  ordered_json nodes = ordered_json::array(), not_converted = ordered_json::array();
  for (const auto& [name, op, why] : failures) not_converted.push_back({{"name", name}, {"op", op}, {"why", why}});
  const auto name_of = [&](NodeId id) { return graph.node(id).name; };
  for (const Node& node : graph.nodes()) {
    ordered_json inputs = ordered_json::array(), outputs = ordered_json::array();
    for (const Endpoint& input : node.inputs) inputs.push_back(str_cat(name_of(input.node), ":", input.index));
    for (const NodeId control : node.controls) inputs.push_back(str_cat("^", name_of(control)));
    for (std::size_t i = 0; i < node.output_dtypes.size(); ++i) {
      outputs.push_back({{"dtype", dtype_name(node.output_dtypes[i])}, {"shape", node.output_shapes[i].to_string()}});
    }
    nodes.push_back({{"name", node.name},
                     {"op", node.op->name},
                     {"device", node.device},
                     {"inputs", inputs},
                     {"outputs", outputs}});
  }
  return {{"schema_version", 1}, {"nodes", nodes}, {"not_converted", not_converted}};
}

// "12 nodes: 5 Const, 3 MatMul, …; 2 functions".
std::string summary(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const Node& node : graph.nodes()) ++counts[std::string(node.op->name)];
  std::vector<std::pair<int, std::string>> by_count;
  for (const auto& [op, count] : counts) by_count.emplace_back(-count, op);
  std::sort(by_count.begin(), by_count.end());
  std::vector<std::string> parts;
  for (const auto& [count, op] : by_count) {
    if (parts.size() < 8) parts.push_back(str_cat(-count, " ", op));
  }
  if (by_count.size() > parts.size()) parts.push_back(str_cat(by_count.size() - parts.size(), " more ops"));
  return str_cat(graph.size(), " nodes: ", str_join(parts),
                 graph.functions().empty() ? "" : str_cat("; ", graph.functions().size(), " functions"));
}

bool has_long_constants(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& node) {
    const auto* value = node.op->name == "Const" ? node.attrs.find("value") : nullptr;
    const auto* tensor = value != nullptr ? std::get_if<Tensor>(value) : nullptr;
    return tensor != nullptr && tensor->elements() > kShownValues;
  });
}

Result<int> show(const Options& options, Console& console) {
  ARGOSY_ASSIGN_OR_RETURN(Shown shown, load(options));
  const Graph& graph = shown.source.graph();
  if (console.json()) {
    console.print(to_json(graph, shown.failures).dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
    return kDone;
  }
  TextOptions form{.all_attrs = options.all_attrs};
  if (!options.all_values) form.max_values = kShownValues;
  console.print(to_text(graph, form));
  for (const Shown::Failure& f : shown.failures) console.print(str_cat("# not converted: ", f.name, ": ", f.why, "\n"));
  console.note(summary(graph));
  if (!shown.failures.empty()) console.note(str_cat(shown.failures.size(), " more nodes cannot be converted"));
  if (!options.all_values && has_long_constants(graph)) {
    console.note(str_cat("constants of more than ", kShownValues, " values are cut: --all-values prints them"));
  }
  return kDone;
}

Result<int> dot(const Options& options, Console& console) {
  if (holds_tensorflow(options.file)) {
    // As it is, whatever its ops.
    ARGOSY_ASSIGN_OR_RETURN(const auto form, tf::GraphForm::read(options.file, options.tags, builtin_ops()));
    return console.print(form.dot()), kDone;
  }
  ARGOSY_ASSIGN_OR_RETURN(const Graph graph, load_text(options.file));
  return console.print(to_dot(graph)), kDone;
}

}  // namespace

void define_graph(Command& program) {
  Command& graph = program.add("graph", "Graphs: ours as text, and TensorFlow's: check, draw, compare, strip, run");
  graph.example("argosy graph show model.txt", "with every dtype and shape inferred")
      .example("argosy graph dot model.txt | dot -Tsvg -o model.svg", "a picture")
      .about(
          "The text form is one node a line, inputs before their users:\n"
          "  x = Placeholder [dtype=float, shape=shape[?,4]] @/device:GPU:0\n"
          "  y = Identity(x)\n"
          "TensorFlow's graphs are .pb, .pbtxt and .meta files, messages as text in files of any name, and the folders "
          "of SavedModels.");

  Command& show_command = graph.add("show", "Check a graph and print it with inferred dtypes and shapes");
  auto& show_options = show_command.own<Options>();
  show_command
      .argument("FILE", show_options.file, "a graph's text form (- reads standard input), or a TensorFlow graph")
      .option("--tags TAG", show_options.tags, "which graph of a SavedModel (repeat it)")
      .option("--all-attrs", show_options.all_attrs, "print attributes that equal their defaults, too")
      .option("--all-values", show_options.all_values, "print constants whole: a form that can be read again")
      .json()
      .example("argosy graph show model.txt", "the graph, and on stderr what it is made of")
      .runs([&o = show_options](Console& console) { return show(o, console); });

  Command& dot_command = graph.add("dot", "Print a graph for Graphviz: devices as clusters, control edges dashed");
  auto& dot_options = dot_command.own<Options>();
  dot_command.argument("FILE", dot_options.file, "a graph's text form (- reads standard input), or a TensorFlow graph")
      .option("--tags TAG", dot_options.tags, "which graph of a SavedModel (repeat it)")
      .example("argosy graph dot model.txt | dot -Tsvg -o model.svg", "a picture")
      .runs([&o = dot_options](Console& console) { return dot(o, console); });

  define_graph_import(graph);
  define_graph_diff(graph);
  define_graph_strip(graph);
  define_graph_run(graph);
}

}  // namespace argosy::cli
