#include "tools/argosy/bench/bench_gpus.h"

#include <algorithm>

#include "argosy/device/gpu_discovery.h"
#include "argosy/ops/broadcast/broadcast.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/collective/collective.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/random/random.h"
#include "argosy/runtime/session/session.h"
#include "benchmarks/measure.h"
#include "tools/argosy/cli/console.h"

namespace argosy::cli {

namespace {

using benchmark::Times;

int gpu_of(const DeviceSpec& spec) { return spec.kind == DeviceKind::kCuda ? spec.physical_gpu : LinkFacts::kHost; }

// A scalar that is fed, so that nothing of it can be computed beforehand.
struct Program {
  Graph graph;
  Value small = placeholder(graph, DType::kFloat32, {}, "small");
  // On the device in scope.
  Value filled(const std::vector<std::int64_t>& shape) { return broadcast_to(small, shape); }
};

// Seconds of a step that computes `targets`.
Result<Times> time_steps(const DeviceRequest& request, Program& program, const std::vector<Value>& targets,
                         int rounds) {
  Session session(program.graph, {.devices = request});
  ARGOSY_RETURN_IF_ERROR(Status(session.status()));
  Times times;
  for (int round = -2; round < rounds; ++round) {
    const std::int64_t start = now_nanos();
    ARGOSY_RETURN_IF_ERROR(session.run({{program.small, Tensor::scalar(1e-3f)}}, {}, targets).status());
    if (round >= 0) times.add(seconds_since(start));  // before that it compiles, and is recorded
  }
  return times;
}

// `sums` all-reduces in a row, each of what the one before gave.
Result<Times> time_sums(const DeviceRequest& request, const std::vector<DeviceSpec>& gpus, std::int64_t elements,
                        int sums) {
  Program program;
  Graph& graph = program.graph;
  std::vector<Value> values;
  const auto ranks = static_cast<std::int64_t>(gpus.size());
  for (const DeviceSpec& gpu : gpus) {
    const auto on = graph.device(gpu.name.to_string());
    values.push_back(program.filled({elements}));
  }
  for (int k = 0; k < sums; ++k) {
    for (std::size_t r = 0; r < gpus.size(); ++r) {
      const auto on = graph.device(gpus[r].name.to_string());
      values[r] = all_reduce({values[r]},
                             {.group = str_cat("sum ", k), .rank = static_cast<std::int64_t>(r), .size = ranks})[0];
    }
  }
  return time_steps(request, program, values, 9);
}

}  // namespace

Result<bool> names_real_gpus(const DeviceRequest& request) {
  auto chosen = chosen_devices(request);
  if (!chosen.ok() && chosen.status().code() == Code::kNotFound) {
    // The CPU, which would do elsewhere, would not here.
    const Status& why = chosen.status();
    return Status(why.code(), why.message()).with_id(std::string(why.id())).with_hint("--devices auto --emulate 2");
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<DeviceSpec> devices, std::move(chosen));
  return !devices.empty() && devices[0].kind == DeviceKind::kCuda;
}

Result<std::string> emulated_gpus(const DeviceRequest& request, int least, int count) {
  if (request.emulate.empty() && request.devices.empty()) return str_cat(count);
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<DeviceSpec> devices, chosen_devices(request));
  const auto gpus = std::count_if(devices.begin(), devices.end(), [](const DeviceSpec& spec) { return spec.is_gpu(); });
  if (gpus < least) {
    return invalid_argument("this benchmark needs ", least, " GPUs, ", gpus, " are named")
        .with_id("ARG-DEV-001")
        .with_hint(str_cat("--devices auto --emulate ", least, ", or --devices gpu:0,gpu:1 where there are GPUs"));
  }
  return request.emulate.empty() ? str_cat(gpus) : request.emulate;
}

GpuLinks links_of_gpus(const DeviceRequest& request) {
  const GpuReport gpus = look_for_gpus(request);
  return gpus.backend == nullptr ? GpuLinks() : gpus.backend->try_links();
}

std::optional<double> link_limit(const GpuLinks& links, const DeviceSpec& from, const DeviceSpec& to) {
  for (const LinkFacts& link : links.links) {
    if (link.from != gpu_of(from) || link.to != gpu_of(to)) continue;
    if (link.bytes_per_second > 0) return link.bytes_per_second;
  }
  return std::nullopt;
}

Result<BenchResult> bench_gpu_sums(const DeviceRequest& request, int ranks, std::size_t most_kib, Console& console) {
  BenchResult result{.benchmark = "allreduce"};
  ARGOSY_ASSIGN_OR_RETURN(std::vector<DeviceSpec> gpus, chosen_devices(request));
  std::erase_if(gpus, [](const DeviceSpec& spec) { return spec.kind != DeviceKind::kCuda; });
  if (ranks > 0 && std::ssize(gpus) > ranks) gpus.resize(static_cast<std::size_t>(ranks));
  if (gpus.size() < 2) {
    return invalid_argument("a sum needs two GPUs, and one is named")
        .with_id("ARG-DEV-001")
        .with_hint("--devices gpu:0,gpu:1, or --virtual-gpus 2 for two on one physical GPU");
  }
  const GpuLinks links = links_of_gpus(request);
  // A ring sends 2 (n - 1) / n of the size over every link; the slowest of them decides.
  std::optional<double> slowest;
  for (const DeviceSpec& from : gpus) {
    for (const DeviceSpec& to : gpus) {
      const auto limit = link_limit(links, from, to);
      if (&from != &to && limit) slowest = std::min(slowest.value_or(*limit), *limit);
    }
  }
  const auto n = static_cast<double>(gpus.size());
  constexpr int kFew = 2, kMany = 10;
  for (std::size_t kib = 64; kib <= most_kib; kib *= 4) {
    const std::string size = format_bytes(kib << 10);
    console.note(str_cat("measuring ", size));
    const auto elements = static_cast<std::int64_t>((kib << 10) / sizeof(float));
    // What a step costs beside its sums is in both.
    ARGOSY_ASSIGN_OR_RETURN(const Times few, time_sums(request, gpus, elements, kFew));
    ARGOSY_ASSIGN_OR_RETURN(const Times many, time_sums(request, gpus, elements, kMany));
    const double best = std::max((many.min() - few.min()) / (kMany - kFew), 1e-9);
    const double median = std::max((many.median() - few.median()) / (kMany - kFew), 1e-9);
    const double giga = static_cast<double>(kib << 10) * 1e-9;
    BenchRow row{str_cat(gpus.size(), " GPUs, ", size), "GB/s", giga / best, giga / median};
    if (slowest) row.limit = *slowest * 1e-9 * n / (2 * (n - 1));
    result.rows.push_back(std::move(row));
  }
  result.notes.push_back(
      "size over the time by which a step with ten sums is longer than one with two; limit: a ring "
      "over the slowest of the links between these GPUs, as measured just now");
  if (!links.sums.way.empty()) {
    result.notes.push_back(str_cat("sums over all GPUs: ", links.sums.way, " (", links.sums.reason, ")"));
  }
  return result;
}

Result<double> gpu_matmul_rate(const DeviceRequest& request, const DeviceSpec& gpu, std::int64_t n, DType dtype) {
  const auto time_chain = [&](int products) -> Result<double> {
    Program program;
    const auto on = program.graph.device(gpu.name.to_string());
    // Numbers as matrices have them: a GPU multiplies equal ones faster, for its clock follows the power that takes.
    const Value m = cast(random_uniform(program.graph, {n, n}) * program.small, dtype);
    Value chain = m;
    for (int i = 0; i < products; ++i) chain = matmul(chain, m);
    ARGOSY_ASSIGN_OR_RETURN(const Times times, time_steps(request, program, {chain}, 5));
    return times.min();
  };
  constexpr int kFew = 2, kMany = 10;
  ARGOSY_ASSIGN_OR_RETURN(const double few, time_chain(kFew));
  ARGOSY_ASSIGN_OR_RETURN(const double many, time_chain(kMany));
  const double flops = 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  return flops * (kMany - kFew) / std::max(many - few, 1e-9) * 1e-9;
}

}  // namespace argosy::cli
