// From nothing to the first finished training step of a small perceptron: what a user waits for before anything moves.
#include <vector>

#include "argosy/train/loop/compiled_model.h"
#include "argosy/train/models/models.h"
#include "benchmarks/measure.h"
#include "tools/argosy/bench/bench.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/device_flags.h"

namespace argosy::cli {

namespace {

struct Options {
  DeviceRequest request;
  std::int64_t batch = 10;
};

Result<BenchResult> measure(const Options& options, Console&) {
  const std::int64_t start = now_nanos();
  const Optimizer optimizer = sgd(0.01);
  SessionOptions session;
  session.devices = options.request;
  if (session.devices.devices.empty()) session.devices.devices = "cpu:0";
  ARGOSY_ASSIGN_OR_RETURN(const auto devices, chosen_devices(session.devices));
  ARGOSY_ASSIGN_OR_RETURN(BuiltModel built, build_model(models::mlp({}), {}, &optimizer));
  std::vector<Tensor> feeds;
  for (const Layers::Input& input : built.inputs) {
    std::vector<std::int64_t> sizes = input.placeholder.shape().sizes();
    sizes[0] = options.batch;
    feeds.push_back(Tensor::zeros(input.placeholder.dtype(), Shape(std::span<const std::int64_t>(sizes))));
  }
  ARGOSY_ASSIGN_OR_RETURN(const auto program,
                          CompiledModel::make(std::move(built), {.devices = devices, .session = session}));
  const double made = seconds_since(start);
  ARGOSY_RETURN_IF_ERROR(program->initialize());
  const double initialized = seconds_since(start);
  ARGOSY_RETURN_IF_ERROR(program->step(feeds).status());
  const double stepped = seconds_since(start);
  BenchResult result{.benchmark = "start"};
  result.rows.push_back({"model and session", "s", made, made});
  result.rows.push_back({"first values", "s", initialized - made, initialized - made});
  result.rows.push_back({"first step", "s", stepped - initialized, stepped - initialized});
  result.notes.push_back("once, cold; for the whole of it time this command");
  return result;
}

}  // namespace

void add_bench_start(Command& bench) {
  Options* options = nullptr;
  Command& command = add_benchmark(bench, "start", "The first training step of a small model", options, measure);
  add_device_flags(command, options->request);
  command.option("--batch N", options->batch, "examples in the step", {.least = 1, .most = 100000})
      .example("time argosy bench start", "from process start to the first finished step, on the CPU")
      .example("time argosy bench start --devices gpu:0", "on a GPU");
}

}  // namespace argosy::cli
