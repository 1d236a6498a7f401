// Training steps as users make them: a batch fed, the loss fetched, every step. Beside each row the time (or rate) at
// which its arithmetic alone would go, at the speed of oneDNN's matrix product on the same cores.
#include <algorithm>

#include "argosy/base/clock.h"
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

struct Options {
  DeviceRequest request;
  std::string only;
  double seconds = 4;
  std::int64_t product = 4096;
};

struct TrainBench {
  std::string name;
  ModelBuilder model;
  Optimizer optimizer;
  std::int64_t batch = 0;
  int devices = 0;  // 0: the CPU with this many `cores`, or real GPUs; else emulated ones, which share the cores
  int cores = 1;
  DType compute = DType::kInvalid;
  bool per_step = false;              // microseconds a step instead of samples a second
  std::vector<DeviceSpec> gpus = {};  // those it runs on, where it does
};

std::vector<TrainBench> rows() {
  const int cores = available_cores();
  const models::ClassifierOptions digits{}, photos{.image_size = 224, .channels = 3, .classes = 1000};
  const models::AutoencoderOptions images{.image_size = 64, .channels = 1, .depth = 6, .width = 64};
  const Optimizer sgd_001 = sgd(0.01), slow_adam = adam(1e-4);
  std::vector<TrainBench> all;
  const auto add = [&](const std::string& name, const ModelBuilder& model, const Optimizer& optimizer,
                       std::int64_t batch, int devices, int with, DType compute, bool per_step) {
    const std::string where = devices > 0 ? str_cat(", ", devices, " towers")
                              : with == 1 ? std::string(", 1 core")
                                          : str_cat(", ", with, " cores");
    all.push_back({name + where, model, optimizer, batch, devices, with, compute, per_step});
  };
  std::vector<int> counts = {1};
  if (cores > 1) counts.push_back(cores);
  const DType fp32 = DType::kInvalid;
  for (const std::int64_t batch : {10, 128}) {
    for (const int c : counts) add(str_cat("mlp B=", batch), models::mlp(digits), sgd_001, batch, 0, c, fp32, true);
  }
  for (const int c : counts) add("lenet B=128", models::lenet(digits), sgd_001, 128, 0, c, fp32, false);
  if (cores > 1) add("lenet B=128", models::lenet(digits), sgd_001, 128, 2, cores, fp32, false);
  add("autoencoder 64x64 B=4", models::autoencoder(images), slow_adam, 4, 0, cores, fp32, false);
  add("autoencoder 64x64 B=4 bf16", models::autoencoder(images), slow_adam, 4, 0, cores, DType::kBfloat16, false);
  add("resnet-50 B=8", models::resnet(photos, 50, 0), sgd_001, 8, 0, cores, fp32, false);
  add("transformer B=64", models::transformer({}), slow_adam, 64, 0, cores, fp32, false);
  add("transformer B=64 bf16", models::transformer({}), slow_adam, 64, 0, cores, DType::kBfloat16, false);
  return all;
}

// The same models on the first of these GPUs, and on all.
std::vector<TrainBench> gpu_rows(const std::vector<DeviceSpec>& gpus) {
  std::vector<TrainBench> all;
  for (TrainBench row : rows()) {
    if (row.devices > 0 || row.cores != available_cores()) continue;
    row.name = row.name.substr(0, row.name.rfind(", "));
    for (const std::size_t count : {std::size_t{1}, gpus.size()}) {
      if (count == 1 && !all.empty() && all.back().name == row.name + ", 1 gpu") break;
      all.push_back(row);
      all.back().name = str_cat(row.name, ", ", count, count == 1 ? " gpu" : " gpus");
      all.back().gpus.assign(gpus.begin(), gpus.begin() + static_cast<std::ptrdiff_t>(count));
    }
  }
  return all;
}

struct Measured {
  benchmark::Times times;  // seconds a step
  double gflop = 0;        // a step
};

Result<Measured> measure_row(const TrainBench& row, double seconds, const DeviceRequest& request) {
  SessionOptions session;
  if (!row.gpus.empty()) {
    // The session has all that were asked for; the program takes the first so many.
    session.devices = request;
  } else {
    session.devices.devices = row.devices > 0 ? str_cat(row.devices) : "cpu:0";
    if (row.devices > 0) session.devices.emulate = str_cat(row.devices);
    session.devices.cpu_threads = row.devices > 0 ? 0 : row.cores;
  }
  std::vector<DeviceSpec> devices = row.gpus;
  if (devices.empty()) {
    ARGOSY_ASSIGN_OR_RETURN(devices, chosen_devices(session.devices));
  }
  ARGOSY_ASSIGN_OR_RETURN(BuiltModel built, build_model(row.model, {.compute = row.compute}, &row.optimizer));
  ARGOSY_ASSIGN_OR_RETURN(const auto program,
                          CompiledModel::make(std::move(built), {.devices = devices, .session = session}));
  ARGOSY_RETURN_IF_ERROR(program->initialize());
  const std::vector<Tensor> feeds = made_up_batch(program->built().inputs, row.batch);
  Measured measured;
  ARGOSY_ASSIGN_OR_RETURN(const Cost cost, step_cost(*program, row.batch));
  measured.gflop = cost.flops * 1e-9;
  for (int i = 0; i < 2; ++i) ARGOSY_RETURN_IF_ERROR(program->step(feeds).status());
  const std::int64_t began = now_nanos();
  for (int i = 0; i < 3 || (seconds_since(began) < seconds && i < 20'000); ++i) {
    const std::int64_t start = now_nanos();
    ARGOSY_RETURN_IF_ERROR(program->step(feeds).status());
    measured.times.add(seconds_since(start));
  }
  return measured;
}

// GFLOP/s of products where a row runs; nothing where several share a physical GPU.
struct Rates {
  double one_core = 0, all_cores = 0;
  std::vector<double> by_gpu;  // of the GPUs asked for

  double of(const TrainBench& row) const {
    if (row.gpus.empty()) return row.cores == 1 ? one_core : all_cores;
    double sum = 0;
    for (std::size_t i = 0; i < row.gpus.size(); ++i) {
      bool seen = false;
      for (std::size_t k = 0; k < i; ++k) seen = seen || row.gpus[k].physical_gpu == row.gpus[i].physical_gpu;
      if (!seen) sum += by_gpu[i];
    }
    return sum;
  }
};

Result<BenchResult> measure(const Options& options, Console& console) {
  BenchResult result{.benchmark = "train"};
  const int cores = available_cores();
  // Where nothing is said, the CPU's rows; GPUs are named.
  std::vector<DeviceSpec> gpus;
  if (!options.request.devices.empty()) {
    ARGOSY_ASSIGN_OR_RETURN(gpus, chosen_devices(options.request));
    std::erase_if(gpus, [](const DeviceSpec& spec) { return spec.kind != DeviceKind::kCuda; });
    if (gpus.empty()) {
      return invalid_argument("bench train takes GPUs by --devices; ", options.request.devices, " has none")
          .with_id("ARG-DEV-001")
          .with_hint("argosy bench train: the CPU, and emulated GPUs");
    }
  }
  Rates rates;
  if (gpus.empty()) {
    ARGOSY_ASSIGN_OR_RETURN(rates.one_core, raw_matmul_rate(1024, 1, 1));
    ARGOSY_ASSIGN_OR_RETURN(rates.all_cores, raw_matmul_rate(1024, 1, cores));
  }
  for (const DeviceSpec& gpu : gpus) {
    ARGOSY_ASSIGN_OR_RETURN(const double rate, gpu_matmul_rate(options.request, gpu, options.product));
    rates.by_gpu.push_back(rate);
  }
  for (const TrainBench& row : gpus.empty() ? rows() : gpu_rows(gpus)) {
    if (!options.only.empty() && row.name.find(options.only) == std::string::npos) continue;
    console.note(str_cat("measuring ", row.name));
    auto measured = measure_row(row, options.seconds, options.request);
    if (!measured.ok() && measured.status().code() == Code::kUnimplemented) {
      result.notes.push_back(str_cat(row.name, " left out: ", measured.status().message()));
      continue;
    }
    ARGOSY_RETURN_IF_ERROR(measured.status());
    const double best = measured->times.min(), median = measured->times.median();
    // The limit is one of float32 arithmetic: nothing is said of bfloat16's.
    std::optional<double> ideal;
    if (row.compute == DType::kInvalid) ideal = measured->gflop / rates.of(row);
    if (row.per_step) {
      if (ideal) *ideal *= 1e6;
      result.rows.push_back({row.name, "us/step", best * 1e6, median * 1e6, ideal});
    } else {
      const auto batch = static_cast<double>(row.batch);
      if (ideal) ideal = batch / *ideal;
      result.rows.push_back({row.name, "samples/s", batch / best, batch / median, ideal});
    }
  }
  result.notes.push_back("the limit is the step's arithmetic at the speed of a raw float32 matrix product");
  return result;
}

}  // namespace

void add_bench_train(Command& bench) {
  Options* options = nullptr;
  Command& command =
      add_benchmark(bench, "train", "Training steps of the models, beside their arithmetic alone", options, measure);
  add_device_flags(command, options->request);
  command.option("--only NAME", options->only, "rows whose name has this in it")
      .option("--seconds S", options->seconds, "how long to measure each row", {.least = 0.1, .most = 3600})
      .option("--product N", options->product, "GPUs: size of the matrices by which the limit is found",
              {.least = 64, .most = 32768})
      .example("argosy bench train --only lenet", "LeNet on one core, on all, and as two towers")
      .example("argosy bench train --devices gpu:0,gpu:1", "every model on one GPU, and on two");
}

}  // namespace argosy::cli
