// Aⁿ⁺¹ + Bⁿ⁺¹ as in the tutorial everybody starts with: both chains on the first device, then one on each of two
// devices, the sum on the CPU, or where the first chain is.
#include <algorithm>
#include <memory>
#include <thread>

#include "argosy/base/threads/core_use.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/onednn/onednn.h"
#include "argosy/runtime/session/session.h"
#include "benchmarks/measure.h"
#include "tools/argosy/bench/bench.h"
#include "tools/argosy/bench/bench_gpus.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/device_flags.h"

namespace argosy::cli {

namespace {

using benchmark::time_of;
using benchmark::Times;

struct Options {
  DeviceRequest request;
  std::int64_t size = 2000;
  std::int64_t power = 10;
  std::int64_t rounds = 3;
  std::string precision = "fp32", sum = "cpu";
  DType dtype() const { return precision == "bf16" ? DType::kBfloat16 : DType::kFloat32; }
};

// Uniform in [0, 2/n): rows sum to about one, so that no power overflows.
Tensor random_matrix(std::int64_t n, std::uint64_t seed) {
  Tensor m = Tensor::zeros(DType::kFloat32, {n, n});
  std::uint64_t state = seed;
  for (float& v : m.values<float>()) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = static_cast<float>(state >> 40) * 0x1p-24f * 2.0f / static_cast<float>(n);
  }
  return m;
}

Value matpow(Value m, std::int64_t n) { return n < 1 ? m : matmul(m, matpow(m, n - 1)); }

struct Program {
  Graph graph;
  Value a, b, sum;
};

Program build(const Options& options, const std::vector<DeviceSpec>& devices) {
  Program p;
  Value powers[2];
  for (int i = 0; i < 2; ++i) {
    const auto on = p.graph.device(devices[static_cast<std::size_t>(i) % devices.size()].name.to_string());
    Value& m = i == 0 ? p.a : p.b;
    m = placeholder(p.graph, DType::kFloat32, {options.size, options.size}, i == 0 ? "A" : "B");
    powers[i] = matpow(cast(m, options.dtype()), options.power);
  }
  const auto on = p.graph.device(options.sum == "cpu" ? "/cpu:0" : devices[0].name.to_string());
  p.sum = p.graph.add("AddN", {powers[0], powers[1]}, {}, "sum");
  return p;
}

// The program on some devices, run after run.
class Side {
 public:
  Side(const Options& options, const std::vector<DeviceSpec>& devices)
      : program_(build(options, devices)), session_(program_.graph, {.devices = options.request}) {}

  Status open() const { return session_.status(); }
  Result<std::string> placement(const Tensor& a, const Tensor& b) {
    ARGOSY_ASSIGN_OR_RETURN(const PlacementReport report,
                            session_.placement({{program_.a, a.shape()}, {program_.b, b.shape()}}, {program_.sum}, {}));
    return report.summary();
  }
  // Once more. Of a run that is not `counted`, because it compiles, only the result is kept.
  Status run(const Tensor& a, const Tensor& b, bool counted) {
    StepStats stats;
    stats.keep_ops = true;
    const std::int64_t start = now_nanos();
    ARGOSY_ASSIGN_OR_RETURN(auto out,
                            session_.run({{program_.a, a}, {program_.b, b}}, {program_.sum}, {}, {.stats = &stats}));
    const double seconds = seconds_since(start);
    result_ = std::move(out[0]);
    if (!counted) return ok_status();
    times_.add(seconds);
    rates_.push_back(1 / seconds);
    if (seconds > times_.min()) return ok_status();
    std::vector<double> products(static_cast<std::size_t>(session_.device_set().size()), 0);
    for (const OpRecord& op : stats.ops) {
      if (op.op == "MatMul")
        products[static_cast<std::size_t>(op.device)] += static_cast<double>(op.end_nanos - op.start_nanos) * 1e-9;
    }
    outside_ = 1 - *std::max_element(products.begin(), products.end()) / seconds;
    return ok_status();
  }

  const Tensor& result() const { return result_; }
  double best() const { return times_.min(); }
  double median() const { return times_.median(); }
  const std::vector<double>& rates() const { return rates_; }
  // Share of the best run that was not spent in products, on the busiest device.
  double outside() const { return outside_; }

 private:
  Program program_;
  Session session_;
  Times times_;
  std::vector<double> rates_;  // runs a second, one by one
  double outside_ = 0;
  Tensor result_;
};

float element(const Tensor& t, std::int64_t i) {
  return t.dtype() == DType::kBfloat16 ? static_cast<float>(t.data<bfloat16>()[i]) : t.data<float>()[i];
}

// Seconds at best of a run on one GPU: the products at `rate` GFLOP/s, both matrices there and what the host wants
// back, over the link as it was tried out just now. Nothing where the link was not measured.
std::optional<double> gpu_seconds(const Options& options, const DeviceSpec& gpu, double gflop, double rate) {
  const GpuLinks links = links_of_gpus(options.request);
  DeviceSpec host;
  host.kind = DeviceKind::kCpu;
  const auto in = link_limit(links, host, gpu), out = link_limit(links, gpu, host);
  if (!in || !out) return std::nullopt;
  const auto elements = static_cast<double>(options.size * options.size);
  const double back = elements * (options.precision == "bf16" ? 2 : 4) * (options.sum == "cpu" ? 2 : 1);
  return gflop / rate + 2 * 4 * elements / *in + back / *out;
}

Status check_same(const Options& options, const Tensor& one, const Tensor& two) {
  for (std::int64_t i = 0; i < one.elements(); ++i) {
    const float x = element(one, i), y = element(two, i);
    if (!(std::abs(x - y) <= (options.precision == "bf16" ? 2e-2f : 1e-4f) * std::abs(x)))
      return internal_error("one and two devices disagree at element ", i, ": ", x, " against ", y);
  }
  return ok_status();
}

Result<BenchResult> measure(const Options& options, Console& console) {
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<DeviceSpec> devices, chosen_devices(options.request));
  const std::vector<DeviceSpec> two(devices.begin(),
                                    devices.begin() + std::min<std::ptrdiff_t>(2, std::ssize(devices)));
  const Tensor a = random_matrix(options.size, 11), b = random_matrix(options.size, 12);
  const double n = static_cast<double>(options.size);
  const double gflop = 2.0 * static_cast<double>(options.power) * 2.0 * n * n * n * 1e-9;

  BenchResult result{.benchmark = "matpow"};
  const int cores = two[0].cores;
  const bool on_real_gpus = two[0].kind == DeviceKind::kCuda;
  ARGOSY_ASSIGN_OR_RETURN(const double raw_one,
                          on_real_gpus ? gpu_matmul_rate(options.request, two[0], options.size, options.dtype())
                                       : raw_matmul_rate(options.size, 1, cores));
  // In turn, so that whatever else the machine does falls on both.
  std::vector<std::unique_ptr<Side>> sides;
  for (std::size_t count = 1; count <= two.size(); ++count) {
    sides.push_back(std::make_unique<Side>(options, std::vector(two.begin(), two.begin() + std::ptrdiff_t(count))));
    ARGOSY_RETURN_IF_ERROR(Status(sides.back()->open()));
    ARGOSY_RETURN_IF_ERROR(sides.back()->run(a, b, false));
  }
  InterleavedRates rates{.cores = static_cast<double>(available_cores())};
  CoreUseMeter use;
  const std::int64_t began = now_nanos();
  for (std::int64_t round = 0; round < options.rounds; ++round) {
    for (const auto& side : sides) ARGOSY_RETURN_IF_ERROR(side->run(a, b, true));
  }
  rates.seconds = seconds_since(began);
  rates.use = use.read();
  const Side& one = *sides[0];
  // Of a GPU the records say when products were started, not how long they took.
  const auto outside = [&](const Side& side, double raw) {
    return on_real_gpus ? std::max(0.0, 1 - gflop / raw / side.best()) : side.outside();
  };
  // Of bfloat16 on the CPU no limit is known: oneDNN's is measured in float32.
  const bool limited = on_real_gpus || options.precision == "fp32";
  const auto limit = [&](double value) { return limited ? std::optional(value) : std::nullopt; };
  result.rows.push_back({"1 device", "GFLOP/s", gflop / one.best(), gflop / one.median(), limit(raw_one)});
  if (limited) result.rows.push_back({"products alone", "GFLOP/s", raw_one, raw_one});
  const auto ideal = on_real_gpus ? gpu_seconds(options, two[0], gflop, raw_one) : limit(gflop / raw_one);
  result.rows.push_back({"1 device, in all", "s", one.best(), one.median(), ideal});
  result.notes.push_back(
      str_cat("1 device:  ", one.best(), " s, ", outside(one, raw_one) * 100, " % outside the products"));
  if (two.size() < 2) {
    console.note("only one device: name two with --devices gpu:0,gpu:1 (and --emulate 2 where there are no GPUs)");
    return result;
  }
  double raw_two = raw_one;
  if (!on_real_gpus) {
    ARGOSY_ASSIGN_OR_RETURN(raw_two, raw_matmul_rate(options.size, 2, cores));
  } else if (two[1].physical_gpu != two[0].physical_gpu) {
    ARGOSY_ASSIGN_OR_RETURN(const double other,
                            gpu_matmul_rate(options.request, two[1], options.size, options.dtype()));
    raw_two = raw_one + other;
  }
  Side& both = *sides[1];
  ARGOSY_RETURN_IF_ERROR(check_same(options, one.result(), both.result()));
  ARGOSY_ASSIGN_OR_RETURN(const std::string placement, both.placement(a, b));
  result.rows.push_back({"2 devices", "GFLOP/s", gflop / both.best(), gflop / both.median(), limit(raw_two)});
  result.notes.push_back(
      str_cat("2 devices: ", both.best(), " s, ", outside(both, raw_two) * 100, " % outside the products"));
  result.notes.push_back(placement);
  rates.one = one.rates();
  rates.many = both.rates();
  result.compared = compare(rates, (two[0].speed + two[1].speed) / two[0].speed, "one device", "two devices");
  return result;
}

}  // namespace

Result<double> raw_matmul_rate(std::int64_t n, int workers, int cores_each) {
  std::vector<double> seconds(static_cast<std::size_t>(workers));
  std::vector<Status> failures(static_cast<std::size_t>(workers));
  std::vector<std::thread> threads;
  for (int w = 0; w < workers; ++w) {
    threads.emplace_back([&, w] {
      set_thread_budget(cores_each);
      const Tensor a = random_matrix(n, 1), b = random_matrix(n, 2);
      Tensor c = Tensor::zeros(DType::kFloat32, {n, n});
      auto program = onednn::make_matmul({.threads = cores_each, .m = n, .n = n, .k = n});
      if (!program.ok()) {
        failures[static_cast<std::size_t>(w)] = program.status();
        return;
      }
      const Tensor scratch = Tensor::zeros(DType::kUint8, {static_cast<std::int64_t>((*program)->scratch_bytes()) + 1});
      void* const data[] = {a.raw(), b.raw(), c.raw()};
      Times primitive, plain;
      for (int round = 0; round < 4; ++round) {
        primitive.add(
            time_of(1, [&] { failures[static_cast<std::size_t>(w)] = (*program)->run(data, scratch.raw()); }));
        plain.add(time_of(1, [&] {
          failures[static_cast<std::size_t>(w)] =
              onednn::sgemm(false, false, n, n, n, a.data<float>(), b.data<float>(), false, c.data<float>());
        }));
      }
      seconds[static_cast<std::size_t>(w)] = std::min(primitive.min(), plain.min());
    });
  }
  for (std::thread& t : threads) t.join();
  for (const Status& s : failures) ARGOSY_RETURN_IF_ERROR(Status(s));
  const double flops = 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  double rate = 0;
  for (const double s : seconds) rate += flops / s * 1e-9;
  return rate;
}

void add_bench_matpow(Command& bench) {
  Options* options = nullptr;
  Command& command =
      add_benchmark(bench, "matpow", "Powers of two matrices, on one device and on two", options, measure);
  add_device_flags(command, options->request);
  command.option("--size N", options->size, "rows of the matrices", {.least = 1, .most = 32768})
      .option("--power N", options->power, "products per matrix", {.least = 1, .most = 1000})
      .option("--rounds N", options->rounds, "timed runs of each", {.least = 1, .most = 1000})
      .option("--precision P", options->precision, "of the products (TensorFloat-32: --tf32)",
              {.one_of = {"fp32", "bf16"}})
      .option("--sum WHERE", options->sum, "where the two powers are added", {.one_of = {"cpu", "device"}})
      .example("argosy bench matpow --emulate 2", "on two emulated GPUs, each with its share of the cores")
      .example("argosy bench matpow --size 4000 --devices gpu:0,gpu:1 --json", "on two GPUs, for a script")
      .about(
          "The limit is oneDNN alone on the same matrices with the same cores, in the same run; on GPUs,\n"
          "products in a row and nothing else; \"in all\": and the copies over the link.");
}

}  // namespace argosy::cli
