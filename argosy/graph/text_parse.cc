// Reads the text form in two rounds: lines become RawNodes, then nodes are added in their order. An input that stands
// further down (a loop's way back) is connected last; its node gets unknown shapes.
#include <algorithm>
#include <unordered_map>

#include "argosy/graph/text.h"
#include "argosy/graph/text_values.h"

namespace argosy {

namespace {

using text::Scanner;

constexpr std::int64_t kMaxOutputs = 1 << 20;  // of a whole text: no line may claim the memory of millions

struct RawInput {
  std::string node;
  std::int64_t index = 0;  // Value::kControl for ^node
  std::size_t position = 0;
};

struct RawNode {
  std::string name;
  const OpDef* op = nullptr;
  std::vector<RawInput> inputs;
  AttrMap attrs;
  std::string device;
  std::size_t position = 0;
};

// Makes graphs of the nodes that were read. `in` is where errors point to.
class GraphBuilder {
 public:
  GraphBuilder(const Scanner& in, const OpRegistry& ops) : in_(in), ops_(ops) {}

  Result<Graph> build(std::vector<RawNode> nodes) {
    Graph graph(ops_);
    std::unordered_map<std::string_view, std::size_t> lines;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!lines.emplace(nodes[i].name, i).second) {
        return in_.error_at(nodes[i].position, str_cat("node \"", nodes[i].name, "\" is defined twice"));
      }
    }
    std::vector<std::size_t> open;  // nodes with inputs further down
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const bool forward = std::any_of(nodes[i].inputs.begin(), nodes[i].inputs.end(), [&](const RawInput& input) {
        const auto line = lines.find(input.node);
        return line != lines.end() && line->second >= i;
      });
      ARGOSY_RETURN_IF_ERROR(add(graph, nodes[i], forward));
      if (forward) open.push_back(i);
    }
    for (const std::size_t i : open) ARGOSY_RETURN_IF_ERROR(connect(graph, nodes[i]));
    ARGOSY_RETURN_IF_ERROR(graph.topological_order().status());
    return graph;
  }

  // REQUIRES for the index to be checked: the node is in the graph.
  Result<Endpoint> resolve(const Graph& graph, const RawInput& input) const {
    const auto id = graph.find(input.node);
    if (!id) return in_.error_at(input.position, str_cat("there is no node \"", input.node, "\""));
    const auto outputs = static_cast<std::int64_t>(graph.node(*id).output_dtypes.size());
    if (input.index >= outputs) {
      return in_.error_at(input.position, str_cat("node \"", input.node, "\" has ", outputs, " outputs"));
    }
    return Endpoint{*id, static_cast<std::int32_t>(input.index)};
  }

 private:
  Status add(Graph& graph, RawNode& raw, bool forward) {
    const auto here = [&](const Status& s) { return in_.error_at(raw.position, s.message()).with_hint(s.hint()); };
    NodeSpec spec{.name = raw.name, .op = raw.op->name, .attrs = std::move(raw.attrs), .device = raw.device};
    std::vector<DType> dtypes;
    if (forward) {
      // What is yet to come has the dtype of what is there; connect() holds it to that.
      std::size_t data = 0;
      DType first = DType::kInvalid;
      for (const RawInput& input : raw.inputs) {
        if (input.index == Value::kControl) continue;
        ++data;
        const auto known = graph.find(input.node) ? resolve(graph, input) : Result<Endpoint>(not_found("later"));
        if (known.ok() && first == DType::kInvalid) first = graph.dtype(*known);
      }
      if (const auto* t = spec.attrs.find_as<DType>("T")) first = *t;
      dtypes.assign(data, first);
    } else {
      for (const RawInput& input : raw.inputs) {
        ARGOSY_ASSIGN_OR_RETURN(const Endpoint e, resolve(graph, input));
        if (e.index == Value::kControl) {
          spec.controls.push_back(e.node);
        } else {
          spec.inputs.push_back(e);
          dtypes.push_back(graph.dtype(e));
        }
      }
    }
    const Status complete = complete_attrs(*raw.op, dtypes, spec.attrs);
    if (!complete.ok()) return here(complete);
    const auto outputs = arg_dtypes(raw.op->output_args, spec.attrs);
    if (!outputs.ok()) return here(outputs.status());
    total_outputs_ += static_cast<std::int64_t>(outputs->size());
    if (total_outputs_ > kMaxOutputs) return here(resource_exhausted("the graph has over ", kMaxOutputs, " outputs"));
    if (forward) spec.shapes.resize(std::max<std::size_t>(outputs->size(), 1));
    const auto added = graph.add_node(std::move(spec));
    return added.ok() ? ok_status() : here(added.status());
  }

  Status connect(Graph& graph, const RawNode& raw) {
    const NodeId id = *graph.find(raw.name);
    ARGOSY_ASSIGN_OR_RETURN(const auto wanted, arg_dtypes(raw.op->input_args, graph.node(id).attrs, &refs_));
    std::size_t at = 0;
    for (const RawInput& input : raw.inputs) {
      ARGOSY_ASSIGN_OR_RETURN(const Endpoint e, resolve(graph, input));
      if (e.index == Value::kControl) {
        graph.add_control_input(id, e.node);
        continue;
      }
      const bool fits = graph.dtype(e) == wanted[at] && (!refs_[at] || graph.node(e.node).output_is_ref(e.index));
      if (!fits) {
        return in_.error_at(input.position, str_cat("input ", at, " of ", raw.op->name, " must be ",
                                                    refs_[at] ? "a reference to " : "", dtype_name(wanted[at])));
      }
      graph.add_input(id, e);
      ++at;
    }
    return ok_status();
  }

  const Scanner& in_;
  const OpRegistry& ops_;
  std::int64_t total_outputs_ = 0;  // of all graphs of the text
  std::vector<bool> refs_;
};

// Reads the lines, and the functions.
class Parser {
 public:
  Parser(std::string_view text, const OpRegistry& ops) : in_(text), ops_(ops), builder_(in_, ops) {}

  Result<Graph> run() {
    std::vector<RawNode> nodes;
    std::vector<std::shared_ptr<const Function>> functions;
    for (in_.skip_lines(); !in_.at_end(); in_.skip_lines()) {
      const std::size_t start = in_.position();
      ARGOSY_ASSIGN_OR_RETURN(std::string name, in_.name("the name of a node"));
      if (name == "function" && !in_.next_is('=')) {
        ARGOSY_ASSIGN_OR_RETURN(auto function, read_function());
        functions.push_back(std::move(function));
      } else {
        ARGOSY_ASSIGN_OR_RETURN(RawNode node, read_node(std::move(name), start));
        nodes.push_back(std::move(node));
      }
    }
    ARGOSY_ASSIGN_OR_RETURN(Graph graph, builder_.build(std::move(nodes)));
    for (auto& f : functions) {
      if (graph.function(f->name) != nullptr) return in_.error(str_cat("function \"", f->name, "\" is defined twice"));
      graph.add_function(std::move(f));
    }
    return graph;
  }

 private:
  Result<RawInput> read_input() {
    RawInput input;
    input.position = in_.position();
    const bool control = in_.take("^");
    ARGOSY_ASSIGN_OR_RETURN(input.node, in_.name("an input"));
    if (control) {
      input.index = Value::kControl;
    } else if (in_.take(":")) {
      ARGOSY_ASSIGN_OR_RETURN(input.index, in_.integer("the number of an output"));
      if (input.index < 0) return in_.error("outputs are numbered from 0");
    }
    return input;
  }

  // "(a, b:1, ^c)"
  Result<std::vector<RawInput>> read_inputs() {
    std::vector<RawInput> inputs;
    in_.set_across_lines(true);
    while (!in_.take(")")) {
      if (!inputs.empty() && !in_.take(",")) return in_.error("expected ',' or ')'");
      ARGOSY_ASSIGN_OR_RETURN(RawInput input, read_input());
      inputs.push_back(std::move(input));
    }
    in_.set_across_lines(false);
    return inputs;
  }

  Status read_attrs(RawNode& node) {
    in_.set_across_lines(true);
    for (bool first = true; !in_.take("]"); first = false) {
      if (!first && !in_.take(",")) return in_.error("expected ',' or ']' after an attribute");
      const std::size_t start = in_.position();
      ARGOSY_ASSIGN_OR_RETURN(const std::string name, in_.name("an attribute"));
      if (!in_.take("=")) return in_.error("expected '=' after the attribute's name");
      if (node.attrs.find(name) != nullptr) return in_.error_at(start, str_cat("attribute ", name, " is given twice"));
      ARGOSY_ASSIGN_OR_RETURN(AttrValue value, text::read_value(in_, node.op->attr(name)));
      node.attrs.set(name, std::move(value));
    }
    in_.set_across_lines(false);
    return ok_status();
  }

  Result<RawNode> read_node(std::string name, std::size_t start) {
    RawNode node;
    node.name = std::move(name);
    node.position = start;
    if (!in_.take("=")) return in_.error("expected '=' after the node's name");
    const std::size_t op_position = in_.position();
    ARGOSY_ASSIGN_OR_RETURN(const std::string op, in_.name("an op"));
    const auto found = ops_.lookup(op);
    if (!found.ok()) {
      return in_.error_at(op_position, found.status().message()).with_hint(found.status().hint());
    }
    node.op = *found;
    if (in_.take("(")) {
      ARGOSY_ASSIGN_OR_RETURN(node.inputs, read_inputs());
    }
    if (in_.take("[")) ARGOSY_RETURN_IF_ERROR(read_attrs(node));
    if (in_.take("@")) {
      if (in_.next_is('"')) {
        ARGOSY_ASSIGN_OR_RETURN(node.device, in_.quoted());
      } else {
        node.device = in_.until_blank();
      }
    }
    if (!in_.at_line_end()) return in_.error("expected the end of the line");
    return node;
  }

  // After the word "function".
  Result<std::shared_ptr<const Function>> read_function() {
    auto function = std::make_shared<Function>(Function{.name = "", .body = Graph(ops_)});
    ARGOSY_ASSIGN_OR_RETURN(function->name, in_.name("the name of a function"));
    if (!in_.take("(")) return in_.error("expected '(' and the parameters");
    ARGOSY_ASSIGN_OR_RETURN(const auto args, read_inputs());
    if (!in_.take("->") || !in_.take("(")) return in_.error("expected '-> (' and the returned values");
    ARGOSY_ASSIGN_OR_RETURN(const auto returns, read_inputs());
    if (!in_.take("{")) return in_.error("expected '{' and the nodes of the function");
    std::vector<RawNode> nodes;
    for (in_.skip_lines(); !in_.take("}"); in_.skip_lines()) {
      if (in_.at_end()) return in_.error("this function has no closing '}'");
      const std::size_t start = in_.position();
      ARGOSY_ASSIGN_OR_RETURN(std::string name, in_.name("the name of a node, or '}'"));
      ARGOSY_ASSIGN_OR_RETURN(RawNode node, read_node(std::move(name), start));
      nodes.push_back(std::move(node));
    }
    ARGOSY_ASSIGN_OR_RETURN(function->body, builder_.build(std::move(nodes)));
    for (std::size_t i = 0; i < args.size(); ++i) {
      const auto id = function->body.find(args[i].node);
      const bool is_arg = id && function->body.node(*id).op->name == "_Arg" &&
                          function->body.node(*id).attrs.get_int("index") == static_cast<std::int64_t>(i);
      if (!is_arg) return in_.error_at(args[i].position, str_cat("parameter ", i, " must be its _Arg node"));
      function->args.push_back(*id);
    }
    for (const RawInput& r : returns) {
      ARGOSY_ASSIGN_OR_RETURN(const Endpoint e, builder_.resolve(function->body, r));
      if (e.index == Value::kControl) {
        function->control_returns.push_back(e.node);
      } else {
        function->returns.push_back(e);
      }
    }
    return std::shared_ptr<const Function>(std::move(function));
  }

  Scanner in_;
  const OpRegistry& ops_;
  GraphBuilder builder_;
};

}  // namespace

Result<Graph> parse_text(std::string_view text, const OpRegistry& ops) { return Parser(text, ops).run(); }

}  // namespace argosy
