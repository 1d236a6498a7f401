#include "argosy/tf/server/session/resolved_step.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "argosy/passes/simplify/connect.h"
#include "argosy/tf/worker/peers/rpc_error.h"

namespace argosy::tf {

namespace {

// "node:1" is output 1 of node, "node" its output 0.
struct OutputName {
  std::string_view node;
  int index = 0;
};

OutputName split(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  OutputName out{name, 0};
  if (colon == std::string_view::npos || colon == 0) return out;
  const std::string_view digits = name.substr(colon + 1);
  int index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc() || end != digits.data() + digits.size() || index < 0) return out;
  return {name.substr(0, colon), index};
}

// Converts the node first: the number of its outputs is known only then.
Result<Value> find_output(ImportedGraph& graph, const std::string& name, OutputName output, std::string_view role) {
  const std::string node(output.node);
  ARGOSY_ASSIGN_OR_RETURN(const Value control, graph.value(str_cat("^", node)));
  const std::size_t outputs = graph.graph().node(control.node()).output_dtypes.size();
  if (outputs == 0 && role == "FetchOutputs") {
    return at_node(
        invalid_argument("Tried to fetch data for '", name,
                         "', which produces no output.  To run to a node but not fetch any data, pass '", name,
                         "' as an argument to the 'target_node_names' argument of the Session::Run API."),
        node);
  }
  if (output.index >= static_cast<int>(outputs)) {
    return invalid_argument(role, " ", name, ": output index too large, must be < ", outputs);
  }
  return graph.value(str_cat(node, ":", output.index));
}

// Its node, and what it depends on, need not be convertible.
Result<Value> find_fed(ImportedGraph& graph, const std::string& name) {
  const OutputName output = split(name);
  if (!graph.has(output.node)) return not_found("FeedInputs: unable to find feed output ", name);
  auto found = find_output(graph, name, output, "FeedInputs");
  if (found.ok()) return found;
  return graph.value_to_feed(str_cat(output.node, ":", output.index));
}

// TensorFlow's errors name what is connected, not where from.
Result<Value> find_source(ImportedGraph& graph, const StepNames::Connection& connection) {
  const OutputName output = split(connection.from);
  if (!graph.has(output.node)) {
    return invalid_argument("Requested tensor connection from unknown node: \"", connection.to, "\". (There is no '",
                            connection.from, "' to connect it to.)");
  }
  ARGOSY_ASSIGN_OR_RETURN(const Value control, graph.value(str_cat("^", output.node)));
  const std::size_t outputs = graph.graph().node(control.node()).output_dtypes.size();
  if (output.index >= static_cast<int>(outputs)) {
    return invalid_argument("Requested tensor connection from unknown edge: \"", connection.to,
                            "\" (actual number of outputs = ", outputs, ").");
  }
  return graph.value(str_cat(output.node, ":", output.index));
}

Status check_connections(const Graph& graph, const Connections& connections) {
  if (connections.empty()) return ok_status();
  std::vector<Connection> all;
  for (const auto& [to, from] : connections) all.push_back({to.endpoint(), from.endpoint()});
  return connect(graph, all).status();
}

}  // namespace

Result<StepValues> find_values(ImportedGraph& graph, const StepNames& names) {
  StepValues values;
  if (names.fetches.empty() && names.targets.empty()) {
    return invalid_argument("Must specify at least one target to fetch or execute.");
  }
  std::set<Endpoint> fed;
  for (const std::string& name : names.feeds) {
    ARGOSY_ASSIGN_OR_RETURN(const Value value, find_fed(graph, name));
    if (!fed.insert(value.endpoint()).second) return invalid_argument("Endpoint \"", name, "\" fed more than once.");
    values.feeds.push_back(value);
  }
  for (const StepNames::Connection& connection : names.connections) {
    ARGOSY_ASSIGN_OR_RETURN(const Value from, find_source(graph, connection));
    ARGOSY_ASSIGN_OR_RETURN(const Value to, find_fed(graph, connection.to));
    if (!fed.insert(to.endpoint()).second) {
      return invalid_argument("Endpoint \"", connection.to, "\" fed more than once.");
    }
    values.connections.emplace_back(to, from);
  }
  for (const std::string& name : names.fetches) {
    const OutputName output = split(name);
    if (!graph.has(output.node)) return not_found("FetchOutputs node ", name, ": not found");
    ARGOSY_ASSIGN_OR_RETURN(const Value value, find_output(graph, name, output, "FetchOutputs"));
    if (fed.contains(value.endpoint())) return invalid_argument(name, " is both fed and fetched.");
    values.fetches.push_back(value);
  }
  std::string missing;
  for (const std::string& name : names.targets) {
    const std::string_view node = name.starts_with('^') ? std::string_view(name).substr(1) : split(name).node;
    if (!graph.has(node)) {
      missing += str_cat(missing.empty() ? "" : " ", name);
      continue;
    }
    ARGOSY_ASSIGN_OR_RETURN(const Value value, graph.value(str_cat("^", node)));
    values.targets.push_back(value);
  }
  if (!missing.empty()) return not_found("PruneForTargets: Some target nodes not found: ", missing);
  ARGOSY_RETURN_IF_ERROR(check_connections(graph.graph(), values.connections));
  return values;
}

Result<std::shared_ptr<ResolvedStep>> ResolvedStep::make(Session& session, ImportedGraph& graph, StepNames names) {
  auto step = std::make_shared<ResolvedStep>();
  std::set<std::string> seen;
  std::erase_if(names.fetches, [&](const std::string& name) { return !seen.insert(name).second; });
  ARGOSY_RETURN_IF_ERROR(session.mutate_graph([&]() -> Status {
    ARGOSY_ASSIGN_OR_RETURN(step->values_, find_values(graph, names));
    return ok_status();
  }));
  step->names_ = std::move(names);
  ARGOSY_ASSIGN_OR_RETURN(step->callable_, session.prepare(step->values_.feeds, step->values_.fetches,
                                                           step->values_.targets, step->values_.connections));
  return step;
}

void ResolvedStep::ran(std::int64_t nanos) {
  if (!ran_before_.exchange(true, std::memory_order_relaxed)) return;
  const std::int64_t before = typical_nanos_.load(std::memory_order_relaxed);
  // Longer is believed at once, shorter bit by bit.
  typical_nanos_.store(before < 0 || nanos > before ? nanos : before + (nanos - before) / 8, std::memory_order_relaxed);
}

}  // namespace argosy::tf
