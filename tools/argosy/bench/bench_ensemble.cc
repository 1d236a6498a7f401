// Many small models at once in one step: E of them on one device, and D of them on D logical devices beside the same D
// on one. They share nothing but the batch, so what more of them cost is the engine's.
#include <algorithm>

#include "argosy/ops/constant/constant.h"
#include "argosy/runtime/session/session.h"
#include "argosy/train/model/layers.h"
#include "argosy/train/model/optimizers.h"
#include "argosy/train/models/models.h"
#include "benchmarks/measure.h"
#include "tools/argosy/bench/bench.h"
#include "tools/argosy/bench/bench_gpus.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/count_of.h"
#include "tools/argosy/cli/device_flags.h"

namespace argosy::cli {

namespace {

using benchmark::Times;

struct Options {
  DeviceRequest request;
  std::string counts;
  std::int64_t batch = 10;
  double seconds = 1;
};

// Perceptrons of the ensemble of the tutorials: 784-256-256-10, plain SGD. Member k is on device k modulo all.
Result<Times> time_members(const DeviceRequest& request, const std::vector<DeviceSpec>& devices, std::int64_t members,
                           std::int64_t batch, double seconds) {
  Graph graph;
  std::vector<Value> losses, trains, initializers, inputs;
  for (std::int64_t k = 0; k < members; ++k) {
    const auto scope = graph.name_scope(str_cat("model_", k));
    const auto on = graph.device(devices[static_cast<std::size_t>(k) % devices.size()].name.to_string());
    Layers net(graph, {.seed = static_cast<std::uint64_t>(k)});
    const Model model = models::mlp({})(net);
    const TrainStep train = sgd(0.01).minimize(model.loss, net.trainable());
    losses.push_back(model.loss);
    trains.push_back(train.run);
    for (const Layers::Input& input : net.inputs()) inputs.push_back(input.placeholder);
    for (const VariableNode& v : net.variables()) initializers.push_back(v.initializer);
    for (const VariableNode& v : train.slots) initializers.push_back(v.initializer);
  }
  ARGOSY_RETURN_IF_ERROR(graph.status());
  const Value all = group(graph, trains), first = group(graph, initializers);
  Session session(graph, {.devices = request});
  ARGOSY_RETURN_IF_ERROR(Status(session.status()));
  ARGOSY_RETURN_IF_ERROR(session.run_targets({first}));
  ARGOSY_ASSIGN_OR_RETURN(const auto step, session.prepare(inputs, losses, {all}));
  std::vector<Tensor> feeds, fetched(losses.size());
  for (const Value& input : inputs) {
    std::vector<std::int64_t> sizes = input.shape().sizes();
    sizes[0] = batch;
    // The same batch for every member; zeros are as much work as anything else.
    feeds.push_back(feeds.size() < 2 ? Tensor::zeros(input.dtype(), Shape(std::span<const std::int64_t>(sizes)))
                                     : feeds[feeds.size() - 2]);
  }
  for (int i = 0; i < 5; ++i) ARGOSY_RETURN_IF_ERROR(step->run(feeds, fetched));  // compiles, records
  Times times;
  const std::int64_t began = now_nanos();
  for (int i = 0; i < 3 || (seconds_since(began) < seconds && i < 20'000); ++i) {
    const std::int64_t start = now_nanos();
    ARGOSY_RETURN_IF_ERROR(step->run(feeds, fetched));
    times.add(seconds_since(start));
  }
  return times;
}

// "1,2,4"
Result<std::vector<std::int64_t>> parse_counts(const std::string& text) {
  std::vector<std::int64_t> counts;
  for (const std::string& part : str_split(text, ',')) {
    const Limits limits{.least = 1, .most = 64};
    ARGOSY_RETURN_IF_ERROR(parse_value(part, limits, counts.emplace_back()).with_where("--counts"));
  }
  return counts;
}

Result<BenchResult> measure_ensemble(const Options& options, Console& console) {
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<DeviceSpec> devices, chosen_devices(options.request));
  ARGOSY_ASSIGN_OR_RETURN(const auto counts, parse_counts(options.counts));
  BenchResult result{.benchmark = "ensemble"};
  double one = 0;
  for (const std::int64_t members : counts) {
    console.note(str_cat("measuring ", count_of(members, "model")));
    ARGOSY_ASSIGN_OR_RETURN(const Times times,
                            time_members(options.request, {devices[0]}, members, options.batch, options.seconds));
    result.rows.push_back({str_cat("E=", members), "us/step", times.min() * 1e6, times.median() * 1e6});
    if (members == 1) one = times.min();
    if (members > 1 && one > 0) {
      result.notes.push_back(str_cat(members, " models take ", times.min() / one, " times as long as one"));
    }
  }
  return result;
}

// `count` logical devices of the first physical GPU asked for; emulated GPUs where there is none.
Result<DeviceRequest> logical_devices(DeviceRequest request, const DeviceSpec& first, std::int64_t count) {
  request.devices.clear();
  if (first.kind != DeviceKind::kCuda) {
    request.emulate = str_cat(count);
    return request;
  }
  request.virtual_gpus = str_cat(first.physical_gpu, ":", count);
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<DeviceSpec> all, list_devices(request));
  for (const DeviceSpec& device : all) {
    if (device.kind != DeviceKind::kCuda || device.physical_gpu != first.physical_gpu) continue;
    request.devices += str_cat(request.devices.empty() ? "" : ",", device.name.short_string());
  }
  return request;
}

Result<BenchResult> measure_virtual(const Options& options, Console& console) {
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<DeviceSpec> devices, chosen_devices(options.request));
  ARGOSY_ASSIGN_OR_RETURN(const auto counts, parse_counts(options.counts));
  BenchResult result{.benchmark = "virtual"};
  for (const std::int64_t count : counts) {
    ARGOSY_ASSIGN_OR_RETURN(const DeviceRequest request, logical_devices(options.request, devices[0], count));
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<DeviceSpec> logical, chosen_devices(request));
    console.note(str_cat("measuring ", count_of(count, "device")));
    ARGOSY_ASSIGN_OR_RETURN(const Times apart, time_members(request, logical, count, options.batch, options.seconds));
    ARGOSY_ASSIGN_OR_RETURN(const Times together,
                            time_members(options.request, {devices[0]}, count, options.batch, options.seconds));
    result.rows.push_back(
        {str_cat("D=", count), "us/step", apart.min() * 1e6, apart.median() * 1e6, together.min() * 1e6});
  }
  result.notes.push_back("limit: as many models, all of them on one device");
  return result;
}

}  // namespace

void add_bench_ensemble(Command& bench) {
  Options* options = nullptr;
  Command& command =
      add_benchmark(bench, "ensemble", "Many small models in one step on one device", options, measure_ensemble);
  options->counts = "1,2,4,8,16,32";
  add_device_flags(command, options->request);
  command.option("--counts LIST", options->counts, "how many models")
      .option("--batch N", options->batch, "examples in a step of each", {.least = 1, .most = 1 << 20})
      .option("--seconds S", options->seconds, "how long to measure each row", {.least = 0.01, .most = 3600})
      .example("argosy bench ensemble --devices gpu:0", "1 to 32 perceptrons on one GPU");
}

void add_bench_virtual(Command& bench) {
  Options* options = nullptr;
  Command& command =
      add_benchmark(bench, "virtual", "Logical devices of one physical GPU, each with a model, beside one device",
                    options, measure_virtual);
  options->counts = "2,4,8,16,32,64";
  options->batch = 128;
  add_device_flags(command, options->request);
  command.option("--counts LIST", options->counts, "how many logical devices")
      .option("--batch N", options->batch, "examples in a step of each", {.least = 1, .most = 1 << 20})
      .option("--seconds S", options->seconds, "how long to measure each row", {.least = 0.01, .most = 3600})
      .example("argosy bench virtual --devices gpu:0", "2 to 64 logical devices of the first physical GPU");
}

}  // namespace argosy::cli
