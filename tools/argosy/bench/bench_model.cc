// One model of a given size on any devices: the time of its step, its peak of device memory, and how often a steady
// step allocates. The peers' scripts train the same (benchmarks/peers).
#include <algorithm>

#include "argosy/base/threads/parallel.h"
#include "argosy/train/loop/compiled_model.h"
#include "argosy/train/models/models.h"
#include "argosy/train/report/step_cost.h"
#include "benchmarks/measure.h"
#include "tools/argosy/bench/bench.h"
#include "tools/argosy/bench/bench_batch.h"
#include "tools/argosy/bench/bench_gpus.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/device_flags.h"

namespace argosy::cli {

namespace {

using benchmark::Times;

struct Options {
  DeviceRequest request;
  std::string model, optimizer = "sgd", precision = "fp32", unit = "samples/s";
  std::int64_t batch = 128;
  int image_size = 0, depth = 6, width = 0, layers = 0, length = 16, heads = 4;
  double seconds = 4;
  std::int64_t product = 4096;
};

Result<ModelBuilder> builder(const Options& options) {
  const auto image = [&](int otherwise) { return options.image_size > 0 ? options.image_size : otherwise; };
  const auto width = [&](int otherwise) { return options.width > 0 ? options.width : otherwise; };
  const auto layers = [&](int otherwise) { return options.layers > 0 ? options.layers : otherwise; };
  if (options.model == "mlp") return models::mlp({}, width(256));
  if (options.model == "lenet") return models::lenet({});
  if (options.model == "autoencoder") {
    return models::autoencoder({.image_size = image(64), .channels = 1, .depth = options.depth, .width = width(64)});
  }
  if (options.model == "resnet") {
    return models::resnet({.image_size = image(224), .channels = 3, .classes = 1000}, layers(50), 0);
  }
  return models::transformer({.length = options.length,
                              .vocabulary = 32,
                              .width = width(64),
                              .heads = options.heads,
                              .layers = layers(2),
                              .dropout = 0});
}

// GFLOP/s of products and nothing else, where the model runs; nothing where that is not known of this precision.
Result<std::optional<double>> product_rate(const Options& options, const std::vector<DeviceSpec>& devices) {
  const bool bf16 = options.precision == "bf16";
  if (devices[0].kind == DeviceKind::kCuda) {
    double sum = 0;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const bool seen = std::any_of(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(i),
                                    [&](const DeviceSpec& d) { return d.physical_gpu == devices[i].physical_gpu; });
      if (seen) continue;
      ARGOSY_ASSIGN_OR_RETURN(const double rate, gpu_matmul_rate(options.request, devices[i], options.product,
                                                                 bf16 ? DType::kBfloat16 : DType::kFloat32));
      sum += rate;
    }
    return std::optional(sum);
  }
  if (bf16) return std::optional<double>();
  ARGOSY_ASSIGN_OR_RETURN(
      const double rate,
      raw_matmul_rate(std::min<std::int64_t>(options.product, 1024), 1,
                      options.request.cpu_threads > 0 ? options.request.cpu_threads : available_cores()));
  return std::optional(rate);
}

Result<BenchResult> measure(const Options& options, Console&) {
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<DeviceSpec> devices, chosen_devices(options.request));
  ARGOSY_ASSIGN_OR_RETURN(const auto rate, product_rate(options, devices));
  ARGOSY_ASSIGN_OR_RETURN(const ModelBuilder model, builder(options));
  const Optimizer optimizer = options.optimizer == "adam" ? adam(1e-4) : sgd(0.01);
  const LayersOptions layers{.compute = options.precision == "bf16" ? DType::kBfloat16 : DType::kInvalid};
  ARGOSY_ASSIGN_OR_RETURN(BuiltModel built, build_model(model, layers, &optimizer));
  SessionOptions session;
  session.devices = options.request;
  ARGOSY_ASSIGN_OR_RETURN(const auto program,
                          CompiledModel::make(std::move(built), {.devices = devices, .session = session}));
  ARGOSY_RETURN_IF_ERROR(program->initialize());
  const std::vector<Tensor> feeds = made_up_batch(program->built().inputs, options.batch);
  ARGOSY_ASSIGN_OR_RETURN(const Cost cost, step_cost(*program, options.batch));
  for (int i = 0; i < 5; ++i) ARGOSY_RETURN_IF_ERROR(program->step(feeds).status());  // compiles, records
  const DeviceSet& device_set = program->session().device_set();
  // Devices that compute: a GPU's own memory, not the host's beside it.
  const auto stats = [&] {
    MemoryStats all;
    for (int d = 0; d < device_set.size(); ++d) {
      if (devices[0].is_gpu() && !device_set.device(d).spec().is_gpu()) continue;
      const MemoryStats one = device_set.device(d).allocator().stats();
      all.peak_bytes = std::max(all.peak_bytes, one.peak_bytes);
      all.allocations += one.allocations;
    }
    return all;
  };
  Times times;
  const std::uint64_t before = stats().allocations;
  const std::int64_t began = now_nanos();
  std::int64_t steps = 0;
  for (; steps < 3 || (seconds_since(began) < options.seconds && steps < 20'000); ++steps) {
    const std::int64_t start = now_nanos();
    ARGOSY_RETURN_IF_ERROR(program->step(feeds).status());
    times.add(seconds_since(start));
  }
  const MemoryStats after = stats();

  BenchResult result{.benchmark = "model"};
  std::optional<double> limit;
  if (rate) limit = cost.flops * 1e-9 / *rate;
  const auto batch = static_cast<double>(options.batch);
  if (options.unit == "us/step") {
    if (limit) *limit *= 1e6;
    result.rows.push_back({"step", options.unit, times.min() * 1e6, times.median() * 1e6, limit});
  } else {
    if (limit) limit = batch / *limit;
    result.rows.push_back({"step", options.unit, batch / times.min(), batch / times.median(), limit});
  }
  const double peak = static_cast<double>(after.peak_bytes) * 1e-6;
  result.rows.push_back({"peak memory", "MB", peak, peak});
  const double allocations = static_cast<double>(after.allocations - before) / static_cast<double>(steps);
  result.rows.push_back({"allocations", "a step", allocations, allocations});
  // The least it must read and write, were every op's data read and written once.
  const double moved = cost.bytes * 1e-9;
  result.rows.push_back({"bytes of its ops", "GB/s", moved / times.min(), moved / times.median()});
  result.notes.push_back("the limit is the step's arithmetic at the speed of raw matrix products");
  return result;
}

}  // namespace

void add_bench_model(Command& bench) {
  Options* options = nullptr;
  Command& command =
      add_benchmark(bench, "model", "Training steps of one model of any size, and its memory", options, measure);
  command.argument("MODEL", options->model, "which",
                   {.one_of = {"mlp", "lenet", "autoencoder", "resnet", "transformer"}});
  add_device_flags(command, options->request);
  command.option("--batch N", options->batch, "examples per step", {.least = 1, .most = 1 << 20})
      .option("--precision P", options->precision, "of the computation (TensorFloat-32: --tf32)",
              {.one_of = {"fp32", "bf16"}})
      .option("--optimizer NAME", options->optimizer, "which", {.one_of = {"sgd", "adam"}})
      .option("--unit U", options->unit, "of the result", {.one_of = {"samples/s", "us/step"}})
      .option("--image-size N", options->image_size, "height and width of images; 0: the model's", {.least = 0})
      .option("--depth N", options->depth, "autoencoder: how often images are halved", {.least = 1, .most = 16})
      .option("--width N", options->width, "units, first filters or width of a token; 0: the model's", {.least = 0})
      .option("--layers N", options->layers, "resnet, transformer; 0: the model's", {.least = 0, .most = 1000})
      .option("--length N", options->length, "transformer: tokens in a sequence", {.least = 1, .most = 1 << 20})
      .option("--heads N", options->heads, "transformer: heads of its attention", {.least = 1, .most = 1024})
      .option("--seconds S", options->seconds, "how long to measure", {.least = 0.01, .most = 3600})
      .option("--product N", options->product, "size of the matrices by which the limit is found",
              {.least = 64, .most = 32768})
      .example("argosy bench model resnet --batch 256 --precision bf16 --devices gpu:0", "ResNet-50 on a GPU");
}

}  // namespace argosy::cli
