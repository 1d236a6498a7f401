#include "argosy/sharding/resolve/axis_state.h"

#include <algorithm>

#include "argosy/sharding/reshard/redistribution.h"

namespace argosy {

namespace {

constexpr double kLoop = 8;  // iterations that a loop is taken to have

std::vector<int> loop_depths(const Graph& graph, const std::vector<NodeId>& order) {
  std::vector<int> depth(static_cast<std::size_t>(graph.size()), 0);
  for (const NodeId id : order) {
    const Node& n = graph.node(id);
    int& own = depth[static_cast<std::size_t>(id.index)];
    for (const Endpoint e : n.inputs) own = std::max(own, depth[static_cast<std::size_t>(e.node.index)]);
    for (const NodeId c : n.controls) own = std::max(own, depth[static_cast<std::size_t>(c.index)]);
    if (n.op->flow == Flow::kEnter) ++own;
    if (n.op->flow == Flow::kExit) own = std::max(0, own - 1);
  }
  return depth;
}

// True if the outputs depend on hidden state, such as that of a random op. Devices do not share it.
bool has_random_output(const Graph& graph, const RuleTable& rules, NodeId id) {
  const Node& n = graph.node(id);
  const ShardingRule& rule = rules.rule(id);
  // Without inputs it is fed, or a rule says "once".
  if (!n.op->stateful || passes_on(*n.op) || n.output_dtypes.empty() || n.inputs.empty()) return false;
  if (rule.kind != ShardingRule::Kind::kWhole && !rule.draws) return false;
  const auto state = [&](Endpoint e) { return holds_state(graph, e) || graph.node(e.node).output_is_ref(e.index); };
  for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) {
    if (state({id, k})) return false;
  }
  return std::none_of(n.inputs.begin(), n.inputs.end(), state);
}

// True for variables. Every device has its own copy, unless a seed says otherwise.
bool is_variable(const Graph& graph, const Sizes& sizes, NodeId id) {
  const Node& n = graph.node(id);
  if (!n.inputs.empty() || n.output_dtypes.size() != 1 || n.attrs.find_as<DType>("dtype") == nullptr) return false;
  if (n.output_is_ref(0)) return n.output_dtypes[0] == *n.attrs.find_as<DType>("dtype");
  return graph.dtype({id, 0}) == DType::kResource && sizes.handle({id, 0}) != nullptr;
}

}  // namespace

AxisState::AxisState(const Graph& g, const Sizes& s, const RuleTable& r, const Mesh& m, int a, const ResolveRequest& q)
    : graph(g),
      sizes(s),
      rules(r),
      axis(m.axes[static_cast<std::size_t>(a)]),
      request(q),
      priced{.name = axis.name, .size = std::max(axis.size, 2)},
      uses(g.consumers()),
      containers(g, s, r) {
  const auto nodes = static_cast<std::size_t>(g.size());
  first_input.reserve(nodes + 1);
  first_input.push_back(0);
  for (std::int32_t i = 0; i < g.size(); ++i)
    first_input.push_back(first_input.back() + g.node(NodeId{i}).inputs.size());
  const std::size_t outputs = s.index().size();
  seed.assign(outputs, nullptr);
  given.assign(nodes, 0);
  is_random.assign(nodes, 0);
  bytes.resize(outputs);
  sharding.resize(nodes);
  need.resize(inputs());
  made.resize(outputs);
  base.resize(outputs);
  wish.resize(outputs);
  combined.resize(outputs);
  whole.assign(nodes, 0);
  no_wish.assign(nodes, 0);
  elsewhere.resize(outputs);
  std::vector<char> seeded(nodes, 0);  // on some axis: on the others it is replicated
  for (const Seed& given_seed : q.seeds) {
    seeded[static_cast<std::size_t>(given_seed.value.node.index)] = 1;
    if (given_seed.axis == a) seed[at(given_seed.value)] = &given_seed;
  }
  const std::vector<int> depth = loop_depths(g, s.order());
  for (std::int32_t i = 0; i < g.size(); ++i) {
    const Node& n = g.node(NodeId{i});
    for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) {
      double& b = bytes[at(Endpoint{NodeId{i}, k})];
      b = s.bytes({NodeId{i}, k}, q.batch);
      for (int d = 0; d < depth[static_cast<std::size_t>(i)]; ++d) b *= kLoop;
    }
    is_random[static_cast<std::size_t>(i)] = has_random_output(g, r, NodeId{i}) ? 1 : 0;
    const bool source = n.inputs.empty() && n.output_dtypes.size() == 1;
    if (source && (seeded[static_cast<std::size_t>(i)] != 0 || is_variable(g, s, NodeId{i}))) {
      given[static_cast<std::size_t>(i)] = 1;
    }
  }
}

double AxisState::all_reduce(Endpoint e) const { return bytes_moved(Redistribution::kAllReduce, priced, bytes[at(e)]); }

bool holds_state(const Graph& graph, Endpoint e) {
  const DType d = graph.dtype(e);
  return d == DType::kResource || d == DType::kVariant;
}

bool takes_reference(const Graph& graph, const Node& n, int input) {
  const Endpoint e = n.inputs[static_cast<std::size_t>(input)];
  if (!graph.node(e.node).output_is_ref(e.index)) return false;
  int at = 0;  // of the argument's first tensor
  for (const ArgDef& arg : n.op->input_args) {
    int count = 1;
    if (!arg.number_attr.empty()) count = static_cast<int>(n.attrs.get_or<std::int64_t>(arg.number_attr, 1));
    if (!arg.type_list_attr.empty()) count = static_cast<int>(n.inputs.size());
    if (input < at + count) return arg.is_ref;
    at += count;
  }
  return false;
}

}  // namespace argosy
