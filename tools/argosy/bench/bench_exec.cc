// The executor alone: graphs of scalar additions, through the full kernel interface, nothing folded or merged.
//
//   chain   x ─► + ─► + ─► … ─► y          fan   x ─► N additions ─► AddN          tree   N/2 leaves, summed in pairs
//   loop    while i < N: i += 1, x = x · w          loop and gradient: dx/dw too
//   conds   x = i is even ? x + 1 : x + 1, N times
#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/functional.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/runtime/session/session.h"
#include "benchmarks/measure.h"
#include "tools/argosy/bench/bench.h"
#include "tools/argosy/cli/console.h"

namespace argosy::cli {

namespace {

using benchmark::time_of;
using benchmark::Times;

struct Options {
  std::int64_t ops = 10000;
};

struct Shape {
  const char* name;
  Value (*build)(Value x, Value one, std::int64_t ops);
};

Value plus(Value a, Value b) { return a.graph().add("AddV2", {a, b}, {}, "add"); }

Value chain(Value x, Value one, std::int64_t ops) {
  for (std::int64_t i = 0; i < ops; ++i) x = plus(x, one);
  return x;
}

Value fan(Value x, Value one, std::int64_t ops) {
  std::vector<Value> all;
  for (std::int64_t i = 0; i < ops; ++i) all.push_back(plus(x, one));
  return x.graph().add("AddN", all);
}

Value tree(Value x, Value one, std::int64_t ops) {
  std::vector<Value> level;
  for (std::int64_t i = 0; i < (ops + 1) / 2; ++i) level.push_back(plus(x, one));
  while (level.size() > 1) {
    std::vector<Value> next;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2) next.push_back(plus(level[i], level[i + 1]));
    if (level.size() % 2 == 1) next.push_back(level.back());
    level = std::move(next);
  }
  return level[0];
}

Value power(Value x, Value w, std::int64_t turns) {
  Graph& graph = x.graph();
  const Value zero = constant(graph, std::int32_t{0}), end = constant(graph, static_cast<std::int32_t>(turns));
  return while_loop(
      {zero, x}, [&](const auto& v) { return less(v[0], end); },
      [&](const auto& v) {
        return std::vector<Value>{v[0] + 1, v[1] * w};
      })[1];
}

Value power_gradient(Value x, Value w, std::int64_t turns) {
  return gradients(x.graph(), {power(x, w, turns)}, {x})[0];
}

Value conds(Value x, Value one, std::int64_t count) {
  const Value even = equal(x, one);
  for (std::int64_t i = 0; i < count; ++i) {
    x = cond_value(
        even, [&] { return plus(x, one); }, [&] { return plus(one, x); });
  }
  return x;
}

constexpr Shape kShapes[] = {{"chain", chain}, {"fan", fan}, {"tree", tree}};
constexpr Shape kFlow[] = {{"loop", power}, {"loop and gradient", power_gradient}, {"conds", conds}};

// The least a graph of this size can cost here: one indirect call per addition, operands in memory, no order to find.
double bare_calls(std::int64_t ops) {
  using Add = void (*)(const float*, const float*, float*);
  static Add volatile add = [](const float* a, const float* b, float* c) { *c = *a + *b; };
  std::vector<float> values(static_cast<std::size_t>(ops) + 1, 1);
  const float one = 1;
  Times times;
  for (int round = 0; round < 9; ++round) {
    times.add(time_of(1, [&] {
      for (std::int64_t i = 0; i < ops; ++i) add(&values[i], &one, &values[i + 1]);
    }));
  }
  return times.min() * 1e9 / static_cast<double>(ops);
}

Result<BenchRow> measure_one(const Shape& shape, std::int64_t ops) {
  Graph graph;
  const Value x = placeholder(graph, DType::kFloat32, PartialShape::scalar(), "x");
  const Value y = shape.build(x, constant(graph, 1.0f), ops);
  Session session(graph, {.devices = {.devices = "cpu:0", .cpu_threads = 1}, .optimize = false});
  ARGOSY_ASSIGN_OR_RETURN(const auto callable, session.prepare({x}, {y}));
  const Tensor feed = Tensor::scalar(1.0f);
  Tensor fetched;
  ARGOSY_RETURN_IF_ERROR(callable->run({&feed, 1}, {&fetched, 1}));
  const int repeats = static_cast<int>(std::clamp<std::int64_t>(200000 / ops, 1, 1000));
  Times times;
  Status status;
  for (int round = 0; round < 9; ++round) {
    times.add(time_of(repeats, [&] {
      if (status.ok()) status = callable->run({&feed, 1}, {&fetched, 1});
    }));
  }
  ARGOSY_RETURN_IF_ERROR(status);
  const double scale = 1e9 / static_cast<double>(ops);
  return BenchRow{shape.name, "ns/op", times.min() * scale, times.median() * scale, bare_calls(ops)};
}

// Feed four bytes, add, fetch four bytes.
Result<BenchRow> measure_run() {
  ARGOSY_ASSIGN_OR_RETURN(BenchRow row, measure_one({"run", chain}, 1));
  row.unit = "ns";
  row.name = "feed, add, fetch";
  row.limit = std::nullopt;
  return row;
}

Result<BenchResult> measure(const Options& options, Console&) {
  BenchResult result{.benchmark = "exec"};
  for (const Shape& shape : kShapes) {
    ARGOSY_ASSIGN_OR_RETURN(BenchRow row, measure_one(shape, options.ops));
    result.rows.push_back(std::move(row));
  }
  for (const Shape& shape : kFlow) {
    ARGOSY_ASSIGN_OR_RETURN(BenchRow row, measure_one(shape, options.ops));
    row.unit = shape.build == conds ? "ns/cond" : "ns/iteration";
    row.limit = std::nullopt;
    result.rows.push_back(std::move(row));
  }
  ARGOSY_ASSIGN_OR_RETURN(BenchRow run, measure_run());
  result.rows.push_back(std::move(run));
  result.notes.push_back(str_cat(options.ops, " scalar additions per graph, one thread; limit: bare indirect calls"));
  return result;
}

}  // namespace

void add_bench_exec(Command& bench) {
  Options* options = nullptr;
  add_benchmark(bench, "exec", "What the executor costs per op", options, measure)
      .option("--ops N", options->ops, "scalar additions in each graph", {.least = 1, .most = 1e6})
      .example("argosy bench exec", "chain, fan and tree of 10,000 additions; loops of 10,000 iterations")
      .example("argosy bench exec --ops 1000000 --json", "the largest, for a script");
}

}  // namespace argosy::cli
