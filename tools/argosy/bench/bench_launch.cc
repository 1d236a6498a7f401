// The cost of launching work on a device: chains of additions of small tensors, each dependent on the one before.
//
//   one by one   every addition is started by itself (on a GPU: a stream of launches, nothing recorded)
//   recorded     on a GPU: the step is recorded once and repeated as a whole (a CUDA graph)
//   fused        with the graph's passes on: as few kernels as they make of it
#include <algorithm>
#include <cstdlib>

#include "argosy/device/graph_capturer.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/runtime/session/session.h"
#include "benchmarks/measure.h"
#include "tools/argosy/bench/bench.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/device_flags.h"

namespace argosy::cli {

namespace {

using benchmark::Times;

struct Options {
  DeviceRequest request;
  std::int64_t least = 100, most = 100'000, elements = 1000;
  double seconds = 1;
};

enum class Mode { kOneByOne, kCaptured, kFused };

// Steps that are compiled while one of these lives are not recorded. REQUIRES: no other thread runs.
class CaptureOff {
 public:
  explicit CaptureOff(bool wanted) : wanted_(wanted && std::getenv("ARGOSY_CUDA_GRAPHS") == nullptr) {
    if (wanted_) ::setenv("ARGOSY_CUDA_GRAPHS", "0", 1);
  }
  ~CaptureOff() {
    if (wanted_) ::unsetenv("ARGOSY_CUDA_GRAPHS");
  }
  CaptureOff(const CaptureOff&) = delete;
  CaptureOff& operator=(const CaptureOff&) = delete;

 private:
  const bool wanted_;
};

struct Measured {
  Times step;            // seconds
  std::string recorded;  // what the compiler says of recording
};

Result<Measured> measure_chain(const Options& options, const DeviceSpec& device, std::int64_t ops, Mode mode) {
  Graph graph;
  const auto on = graph.device(device.name.to_string());
  // Both are fed: nothing of it can be computed beforehand.
  const Value x = placeholder(graph, DType::kFloat32, {options.elements}, "x");
  const Value y = placeholder(graph, DType::kFloat32, {options.elements}, "y");
  Value sum = x;
  for (std::int64_t i = 0; i < ops; ++i) sum = sum + y;
  const CaptureOff capture_off(mode == Mode::kOneByOne);
  Session session(graph, {.devices = options.request, .optimize = mode == Mode::kFused});
  ARGOSY_RETURN_IF_ERROR(Status(session.status()));
  const Shape shape{options.elements};
  Measured measured;
  ARGOSY_ASSIGN_OR_RETURN(const PlacementReport placement, session.placement({{x, shape}, {y, shape}}, {sum}, {}));
  for (const std::string& line : placement.passes) {
    if (line.starts_with("captured: ")) measured.recorded = line.substr(std::string_view("captured: ").size());
  }
  ARGOSY_ASSIGN_OR_RETURN(const auto callable, session.prepare({x, y}, {sum}));
  const Tensor feeds[] = {Tensor::zeros(DType::kFloat32, shape), Tensor::zeros(DType::kFloat32, shape)};
  std::fill_n(feeds[1].data<float>(), options.elements, 1.0f);
  Tensor fetched;
  for (int i = 0; i < 5; ++i) ARGOSY_RETURN_IF_ERROR(callable->run(feeds, {&fetched, 1}));  // compiles, records
  if (fetched.data<float>()[0] != static_cast<float>(ops)) {
    return internal_error("a chain of ", ops, " additions of 1 gives ", fetched.data<float>()[0]);
  }
  const std::int64_t began = now_nanos();
  for (int i = 0; i < 5 || (seconds_since(began) < options.seconds && i < 20'000); ++i) {
    const std::int64_t start = now_nanos();
    ARGOSY_RETURN_IF_ERROR(callable->run(feeds, {&fetched, 1}));
    measured.step.add(seconds_since(start));
  }
  return measured;
}

Result<BenchResult> measure(const Options& options, Console& console) {
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<DeviceSpec> devices, chosen_devices(options.request));
  BenchResult result{.benchmark = "launch"};
  bool records = false;
  {
    ARGOSY_ASSIGN_OR_RETURN(const auto made, make_devices(options.request));
    for (const auto& device : made)
      records = records || dynamic_cast<GraphCapturer*>(device->launch_queue()) != nullptr;
  }
  for (const Mode mode : {Mode::kOneByOne, Mode::kCaptured, Mode::kFused}) {
    if (mode == Mode::kCaptured && !records) continue;
    const std::string name = mode == Mode::kOneByOne ? "one by one" : mode == Mode::kCaptured ? "recorded" : "fused";
    std::int64_t shorter = 0;
    Times before;
    for (std::int64_t ops = options.least; ops <= options.most; ops *= 10) {
      console.note(str_cat("measuring ", ops, " additions ", name));
      ARGOSY_ASSIGN_OR_RETURN(const Measured measured, measure_chain(options, devices[0], ops, mode));
      const double scale = 1e6 / static_cast<double>(ops);
      result.rows.push_back(
          {str_cat(ops, " additions, ", name), "us/op", measured.step.min() * scale, measured.step.median() * scale});
      if (shorter == 0 && !measured.recorded.empty()) result.notes.push_back(str_cat(name, ": ", measured.recorded));
      if (shorter > 0 && shorter == options.least) {
        // A line through both: what a step costs with no addition in it, its feeds and its fetch with it.
        const auto at_none = [&](double few, double many) {
          const double per_op = (many - few) / static_cast<double>(ops - shorter);
          return std::max(few - per_op * static_cast<double>(shorter), 0.0) * 1e6;
        };
        result.rows.push_back({str_cat("around a chain, ", name), "us", at_none(before.min(), measured.step.min()),
                               at_none(before.median(), measured.step.median())});
      }
      shorter = ops;
      before = measured.step;
    }
  }
  result.notes.push_back(str_cat("additions of ", options.elements,
                                 " floats; around a chain: the host's part of a step, and 3 copies of them"));
  return result;
}

}  // namespace

void add_bench_launch(Command& bench) {
  Options* options = nullptr;
  Command& command = add_benchmark(bench, "launch", "What it costs to start work on a device, op by op and recorded",
                                   options, measure);
  add_device_flags(command, options->request);
  command
      .option("--least N", options->least, "additions in the shortest chain; each has ten times more",
              {.least = 1, .most = 1e6})
      .option("--most N", options->most, "additions in the longest chain", {.least = 1, .most = 1e6})
      .option("--elements N", options->elements, "floats in each addition", {.least = 1, .most = 1e8})
      .option("--seconds S", options->seconds, "how long to measure each row", {.least = 0.01, .most = 3600})
      .example("argosy bench launch --devices gpu:0", "chains of 100 to 100,000 additions on a GPU");
}

}  // namespace argosy::cli
