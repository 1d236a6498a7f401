#include "fuzz/op_calls/fault_cases.h"

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/control_flow.h"
#include "argosy/ops/iterator/iterator.h"
#include "argosy/ops/queue/queue.h"

namespace argosy::op_calls {

namespace {

Value number(Graph& graph, float x) { return constant(graph, Tensor::scalar(x)); }
Value count(Graph& graph, std::int32_t n) { return constant(graph, Tensor::scalar(n)); }
Value sum(Graph& graph, const Value& a, const Value& b) { return graph.add("AddV2", {a, b}); }
Value below(Graph& graph, const Value& a, std::int32_t n) { return graph.add("Less", {a, count(graph, n)}); }

// Not known before the step runs, so that nothing is folded.
Value fresh(Graph& graph) {
  const Value shape = constant(graph, Tensor::scalar(std::int32_t{4}));
  return graph.add("RandomUniform", {graph.add("ExpandDims", {shape, count(graph, 0)})}, {{"dtype", DType::kFloat32}});
}

std::vector<Value> between_devices(Graph& graph) {
  Value x = fresh(graph);
  for (const char* device : {"/gpu:0", "/gpu:1", "/cpu:0", "/gpu:1"}) {
    const auto on = graph.device(device);
    x = graph.add("Tanh", {sum(graph, x, x)});
  }
  return {x};
}

std::vector<Value> loop_over_devices(Graph& graph) {
  return while_loop(
      {count(graph, 0), fresh(graph)}, [&](const auto& v) { return below(graph.current(), v[0], 3); },
      [&](const auto& v) {
        Graph& body = graph.current();
        Value y = v[1];
        for (const char* device : {"/gpu:0", "/gpu:1"}) {
          const auto on = body.device(device);
          y = body.add("Sin", {sum(body, y, y)});
        }
        return std::vector<Value>{sum(body, v[0], count(body, 1)), y};
      });
}

std::vector<Value> loop_in_order(Graph& graph) {
  const auto on = graph.device("/cpu:0");
  return while_loop(
      {count(graph, 0), fresh(graph)}, [&](const auto& v) { return below(graph.current(), v[0], 3); },
      [&](const auto& v) {
        Graph& body = graph.current();
        return std::vector<Value>{sum(body, v[0], count(body, 1)), body.add("Sin", {v[1]})};
      });
}

std::vector<Value> branches(Graph& graph) {
  const Value x = fresh(graph);
  const Value first = graph.add("Sum", {x, count(graph, 0)});
  return cond(
      graph.add("Less", {first, number(graph, 2)}), [&] { return std::vector<Value>{graph.current().add("Sin", {x})}; },
      [&] { return std::vector<Value>{graph.current().add("Neg", {x})}; });
}

std::vector<Value> through_a_queue(Graph& graph) {
  const Value queue = fifo_queue(graph, {.dtypes = {DType::kFloat32}, .shapes = {PartialShape({4})}, .capacity = 1});
  const Value in = enqueue(queue, {fresh(graph)});
  auto out = dequeue(queue, {DType::kFloat32});
  out.push_back(in);
  return out;
}

std::vector<Value> rows_through_a_queue(Graph& graph) {
  const Value queue = padding_fifo_queue(graph, {.dtypes = {DType::kFloat32}, .shapes = {PartialShape({-1})}});
  const Value in = enqueue(queue, {fresh(graph)}), again = enqueue(queue, {fresh(graph)});
  auto out = dequeue_many(queue, count(graph, 2), {DType::kFloat32});
  out.push_back(in);
  out.push_back(again);
  return out;
}

std::vector<Value> loop_over_a_queue(Graph& graph) {
  const Value queue = fifo_queue(graph, {.dtypes = {DType::kFloat32}, .shapes = {PartialShape({4})}});
  std::vector<Value> in;
  for (int i = 0; i < 2; ++i) in.push_back(enqueue(queue, {fresh(graph)}));
  auto last = while_loop(
      {count(graph, 0), fresh(graph)}, [&](const auto& v) { return below(graph.current(), v[0], 2); },
      [&](const auto& v) {
        Graph& body = graph.current();
        const Value taken = dequeue(queue, {DType::kFloat32})[0];
        return std::vector<Value>{sum(body, v[0], count(body, 1)), sum(body, v[1], taken)};
      });
  last.insert(last.end(), in.begin(), in.end());
  return last;
}

std::vector<Value> pipeline(Graph& graph, std::int64_t parallel_calls) {
  const IteratorValue iterator = one_shot_iterator(graph, [&](Graph& inner) {
    auto elements = range_dataset(inner, 0, 1000);
    elements = map_dataset(
        elements, [](const auto& c) { return std::vector<Value>{c[0].graph().current().add("Square", {c[0]})}; },
        parallel_calls);
    elements = batch_dataset(shuffle_dataset(elements, 5, 1, 2), 4);
    return prefetch_dataset(repeat_dataset(elements), 2);
  });
  return iterator.next;
}
std::vector<Value> plain_pipeline(Graph& graph) { return pipeline(graph, 0); }
std::vector<Value> parallel_pipeline(Graph& graph) { return pipeline(graph, 2); }

std::vector<Value> interleaved(Graph& graph) {
  const IteratorValue iterator = one_shot_iterator(graph, [&](Graph& inner) {
    return repeat_dataset(interleave_dataset(
        range_dataset(inner, 0, 9), [](const auto& c) { return repeat_dataset(tensor_dataset({c[0]}), 3); }, 2, 1, 2));
  });
  return iterator.next;
}

std::vector<Value> variables(Graph& graph) {
  const Value v = graph.add("VarHandleOp", {}, {{"dtype", DType::kFloat32}, {"shape", PartialShape({4})}});
  const Value set = graph.add("AssignVariableOp", {v, fresh(graph)});
  const auto after = graph.control_dependencies({set});
  const Value add = graph.add("AssignAddVariableOp", {v, fresh(graph)});
  const auto then = graph.control_dependencies({add});
  return {graph.add("ReadVariableOp", {v}, {{"dtype", DType::kFloat32}}), set};
}

std::vector<Value> references(Graph& graph) {
  const Value v = graph.add("VariableV2", {}, {{"dtype", DType::kFloat32}, {"shape", PartialShape({4})}});
  const Value set = graph.add("Assign", {v, fresh(graph)});
  return {graph.add("AssignAdd", {set, fresh(graph)})};
}

std::vector<Value> calls(Graph& graph) {
  const FunctionValue f =
      define_function(graph, "half", {{DType::kFloat32, PartialShape({4})}}, [](const std::vector<Value>& p) {
        Graph& body = p[0].graph();
        return std::vector<Value>{body.add("Mul", {p[0], number(body, 0.5F)})};
      });
  return call(graph, f, {call(graph, f, {fresh(graph)})[0]});
}

std::vector<Value> texts(Graph& graph) {
  const Value text = constant(graph, Tensor::scalar(std::string(60, 'a') + " " + std::string(60, 'b')));
  const Value parts = graph.add("StringSplitV2", {graph.add("ExpandDims", {text, count(graph, 0)}),
                                                  constant(graph, Tensor::scalar(std::string(" ")))});
  return {parts.output(1), graph.add("StringJoin", {text, text}), graph.add("AsString", {fresh(graph)})};
}

}  // namespace

const std::vector<FaultCase>& fault_cases() {
  static const std::vector<FaultCase> all = {
      {"between devices", between_devices},
      {"loop over devices", loop_over_devices},
      {"loop in order", loop_in_order},
      {"branches", branches},
      {"through a queue", through_a_queue},
      {"rows through a queue", rows_through_a_queue},
      {"loop over a queue", loop_over_a_queue},
      {"pipeline", plain_pipeline},
      {"parallel pipeline", parallel_pipeline},
      {"interleaved", interleaved},
      {"variables", variables},
      {"references", references},
      {"calls", calls},
      {"texts", texts},
  };
  return all;
}

}  // namespace argosy::op_calls
