// The first step of a training graph: every pass, kernels made, memory planned, run once. Deep perceptrons of narrow
// layers with their gradients and updates, so that the graph's size alone determines the time. Every graph is built and
// run in a process of its own, since earlier graphs fragment a process's memory.
#include <sys/mman.h>

#include <cmath>

#include "argosy/base/memory/huge_pages.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/train/loop/compiled_model.h"
#include "benchmarks/measure.h"
#include "tools/argosy/bench/bench.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/own_process.h"

namespace argosy::cli {

namespace {

using benchmark::Times;

struct Options {
  std::int64_t most = 100000;
};

constexpr int kWidth = 4, kBatch = 4;
constexpr std::size_t kBytesPerNode = 2048;  // more than a first step takes

Model deep_perceptron(Layers& net, std::int64_t layers) {
  Value x = net.input("x", DType::kFloat32, {kWidth});
  for (std::int64_t i = 0; i < layers; ++i) x = net.dense(x, kWidth, {.activation = [](Value v) { return relu(v); }});
  return {.loss = reduce_mean(square(x)), .metrics = {}};
}

struct First {
  std::int64_t nodes = 0;
  double build = 0, run = 0, again = 0;  // seconds
};

Result<First> first_step(std::int64_t layers) {
  First first;
  std::int64_t start = now_nanos();
  const Optimizer optimizer = sgd(0.01);
  ARGOSY_ASSIGN_OR_RETURN(BuiltModel built,
                          build_model([layers](Layers& net) { return deep_perceptron(net, layers); }, {}, &optimizer));
  first.nodes = built.graph->size();
  first.build = seconds_since(start);
  Session session(*built.graph, {.devices = {.devices = "cpu:0"}});
  ARGOSY_RETURN_IF_ERROR(session.run_targets({built.initializer}));
  const Feeds feeds = {{built.inputs[0].placeholder, Tensor::zeros(DType::kFloat32, {kBatch, kWidth})}};
  start = now_nanos();
  ARGOSY_RETURN_IF_ERROR(session.run(feeds, {built.model.loss}, {built.train.run}).status());
  first.run = seconds_since(start);
  start = now_nanos();
  ARGOSY_RETURN_IF_ERROR(session.run(feeds, {built.model.loss}, {built.train.run}).status());
  first.again = seconds_since(start);
  return first;
}

// Virtual machines give free memory back to their host, and wait for it when it is next touched: two seconds a
// gigabyte, now and then. Touched just before it is measured, memory costs what this system's own pages cost.
void have_memory_at_hand(std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  prefer_huge_pages(memory, bytes);
  constexpr std::size_t kPage = 4096;
  for (std::size_t at = 0; at < bytes; at += kPage) static_cast<volatile char*>(memory)[at] = 1;
  ::munmap(memory, bytes);
}

Result<First> first_step_alone(std::int64_t layers, std::int64_t nodes) {
  have_memory_at_hand(static_cast<std::size_t>(nodes) * kBytesPerNode);
  return in_own_process<First>([layers] { return first_step(layers); });
}

Result<BenchResult> measure(const Options& options, Console& console) {
  BenchResult result{.benchmark = "compile"};
  ARGOSY_ASSIGN_OR_RETURN(const First small, first_step_alone(10, 0));
  ARGOSY_ASSIGN_OR_RETURN(const First larger, first_step_alone(20, 0));
  const std::int64_t per_layer = (larger.nodes - small.nodes) / 10;
  double smallest = 0, smallest_nodes = 0;
  for (std::int64_t nodes = 10000; nodes <= options.most; nodes *= 10) {
    console.note(str_cat("measuring ", nodes, " nodes"));
    Times build, run, again;
    std::int64_t actual = 0;
    for (int round = 0; round < (nodes > 100000 ? 3 : 5); ++round) {
      ARGOSY_ASSIGN_OR_RETURN(const First first, first_step_alone(nodes / per_layer, nodes));
      build.add(first.build);
      run.add(first.run);
      again.add(first.again);
      actual = first.nodes;
    }
    const auto each = 1e6 / static_cast<double>(actual);
    result.rows.push_back({str_cat("build, ", actual, " nodes"), "us/node", build.min() * each, build.median() * each});
    result.rows.push_back(
        {str_cat("first step, ", actual, " nodes"), "us/node", run.min() * each, run.median() * each});
    result.rows.push_back(
        {str_cat("second step, ", actual, " nodes"), "us/node", again.min() * each, again.median() * each});
    if (smallest == 0) {
      smallest = run.min();
      smallest_nodes = static_cast<double>(actual);
    } else {
      const double exponent = std::log(run.min() / smallest) / std::log(static_cast<double>(actual) / smallest_nodes);
      result.notes.push_back(
          str_cat("first step grows with nodes to the power of ", std::round(exponent * 100) / 100, " up to ", actual));
    }
  }
  result.notes.push_back(
      "training graphs of narrow layers, each in a process of its own; build includes gradients and updates");
  return result;
}

}  // namespace

void add_bench_compile(Command& bench) {
  Options* options = nullptr;
  add_benchmark(bench, "compile", "What the first step of a large training graph costs", options, measure)
      .option("--nodes N", options->most, "of the largest graph; smaller ones in powers of ten from 10,000",
              {.least = 10000, .most = 1e7})
      .example("argosy bench compile", "10,000 and 100,000 nodes");
}

}  // namespace argosy::cli
