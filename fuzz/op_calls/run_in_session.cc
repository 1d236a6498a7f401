#include "argosy/ops/ops.h"
#include "argosy/runtime/session/session.h"
#include "fuzz/op_calls/build_graph.h"
#include "fuzz/op_calls/run_call.h"

namespace argosy::op_calls {

namespace {
// Dequeues of empty queues and endless datasets take this long: most of a campaign's time.
constexpr std::chrono::milliseconds kLongest(60);
}  // namespace

Outcome run_in_session(const OpCall& call, const std::shared_ptr<DeviceSet>& device_set, const Complain& complain) {
  Graph graph;
  CallGraphBuilder builder(graph);
  const Value made = builder.add(call);
  if (!graph.status().ok() || !made.valid()) {
    const Status status = graph.status().ok() ? invalid_argument("a call that gives no such output") : graph.status();
    return {status.code() == Code::kInvalidArgument ? Stage::kShape : Stage::kAttributes, status};
  }
  Session session(graph, {.device_set = device_set});
  const RunOptions options{.timeout = kLongest};
  if (!builder.first.empty()) {
    const auto set = session.run({}, {}, builder.first, options);
    if (!set.ok()) return {Stage::kKernel, set.status()};
  }
  std::vector<Value> fetches, targets;
  const Node& node = graph.node(made.node());
  for (std::size_t i = 0; i < node.output_dtypes.size(); ++i) fetches.push_back(made.output(static_cast<int>(i)));
  if (fetches.empty()) targets.push_back(made.control());
  const auto run = [&] { return session.run(builder.feeds, fetches, targets, options); };
  auto outputs = run();
  if (!outputs.ok()) {
    if (outputs.status().message().empty()) complain("silent: an error without a message");
    if (is_bug(outputs.status())) complain("internal: " + outputs.status().to_string());
  }
  if (outputs.status().code() != Code::kDeadlineExceeded) {  // who waits for ever does so again
    const auto again = run();                                // the compiled step once more: state, memory plans
    if (!again.ok() && is_bug(again.status())) complain("internal: " + again.status().to_string());
  }
  device_set->reset();
  if (!outputs.ok()) return {Stage::kRun, outputs.status()};
  for (std::size_t i = 0; i < outputs->size() && !claims_shapes(*call.op); ++i) {
    const Tensor& t = (*outputs)[i];
    const PartialShape& shape = graph.shape({made.node(), static_cast<std::int32_t>(i)});
    // Of a variable's handle the value is fetched.
    if (!t.valid() || node.output_is_ref(static_cast<int>(i)) || node.output_dtypes[i] == DType::kResource) continue;
    if (!shape.compatible(t.shape()))
      complain(
          str_cat("shape: output ", i, " in a session, inferred ", shape.to_string(), ", got ", t.shape().to_string()));
  }
  return {Stage::kThrough, ok_status()};
}

}  // namespace argosy::op_calls
