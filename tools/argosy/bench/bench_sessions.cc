// Sessions opened, run and closed, again and again, and what they leave behind.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "argosy/device/gpu_discovery.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/state/state.h"
#include "argosy/runtime/session/session.h"
#include "benchmarks/measure.h"
#include "tools/argosy/bench/bench.h"
#include "tools/argosy/bench/bench_gpus.h"
#include "tools/argosy/cli/console.h"
#include "tools/argosy/cli/device_flags.h"

namespace argosy::cli {

namespace {

using benchmark::Times;

struct Options {
  DeviceRequest request;
  std::int64_t rounds = 1000, size = 256;
  double seconds = 0;
};

// What this process has in the host's memory, without what the allocator keeps for reuse. UNAVAILABLE: the system does
// not tell.
Result<std::int64_t> resident_bytes() {
  (void)::malloc_trim(0);
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return unavailable("/proc/self/statm cannot be read: resident memory is not known");
  long long all = 0, resident = 0;
  const int got = std::fscanf(file, "%lld %lld", &all, &resident);
  (void)std::fclose(file);
  if (got != 2) return unavailable("/proc/self/statm does not say how much memory is resident");
  return resident * ::sysconf(_SC_PAGESIZE);
}

// In use on all GPUs, by whomever; nothing where NVML does not tell.
std::optional<std::int64_t> gpu_bytes(const GpuReport& gpus) {
  if (gpus.backend == nullptr) return std::nullopt;
  const auto found = gpus.backend->gpus();
  if (!found.ok()) return std::nullopt;
  std::int64_t sum = 0;
  for (const GpuFacts& gpu : *found) {
    if (gpu.memory_used_bytes < 0) return std::nullopt;
    sum += gpu.memory_used_bytes;
  }
  return sum;
}

// One life of a session: its variable made, two steps, closed.
Status one_round(const Options& options, const DeviceSpec& device) {
  Graph graph;
  const auto on = graph.device(device.name.to_string());
  const VariableNode w = variable(graph, PartialShape{options.size, options.size}, DType::kFloat32, "w");
  const Value x = placeholder(graph, DType::kFloat32, {options.size, options.size}, "x");
  const Value first = assign(w, x), next = assign(w, matmul(w.read, x));
  Session session(graph, {.devices = options.request});
  ARGOSY_RETURN_IF_ERROR(Status(session.status()));
  const Tensor fed = Tensor::zeros(DType::kFloat32, {options.size, options.size});
  for (std::int64_t i = 0; i < options.size; ++i) fed.data<float>()[i * options.size + i] = 2;
  ARGOSY_RETURN_IF_ERROR(session.run({{x, fed}}, {}, {first}).status());
  for (int i = 0; i < 2; ++i) ARGOSY_RETURN_IF_ERROR(session.run({{x, fed}}, {}, {next}).status());
  ARGOSY_ASSIGN_OR_RETURN(const auto out, session.run({w.read}));
  if (out[0].data<float>()[0] != 8) return internal_error("2 * 2 * 2 is ", out[0].data<float>()[0]);
  return session.close();
}

Result<BenchResult> measure(const Options& options, Console& console) {
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<DeviceSpec> devices, chosen_devices(options.request));
  // The driver is opened once, and stays.
  const bool on_real_gpus = devices[0].kind == DeviceKind::kCuda;
  const GpuReport gpus = on_real_gpus ? look_for_gpus(options.request) : GpuReport();
  // The first sessions fill what a process keeps: contexts of libraries, caches of kernels, pools of threads.
  const std::int64_t warm = std::clamp<std::int64_t>(options.rounds / 10, 1, 50);
  for (std::int64_t i = 0; i < warm; ++i) ARGOSY_RETURN_IF_ERROR(one_round(options, devices[0]));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t resident_before, resident_bytes());
  const auto gpus_before = gpu_bytes(gpus);
  Times times;
  std::int64_t rounds = 0;
  const std::int64_t began = now_nanos();
  while (rounds < options.rounds && (options.seconds <= 0 || rounds == 0 || seconds_since(began) < options.seconds)) {
    const std::int64_t start = now_nanos();
    ARGOSY_RETURN_IF_ERROR(one_round(options, devices[0]));
    times.add(seconds_since(start));
    if (++rounds % 100 == 0) console.note(str_cat(rounds, " sessions"));
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t resident_after, resident_bytes());
  const auto gpus_after = gpu_bytes(gpus);

  BenchResult result{.benchmark = "sessions"};
  result.rows.push_back({"a session", "ms", times.min() * 1e3, times.median() * 1e3});
  const std::int64_t resident = resident_after - resident_before;
  std::int64_t growth = resident;
  result.figures = {{"rounds", rounds}, {"resident_growth_bytes", resident}};
  if (gpus_before && gpus_after) {
    result.figures.emplace_back("device_growth_bytes", *gpus_after - *gpus_before);
    growth = std::max(growth, *gpus_after - *gpus_before);
  } else if (on_real_gpus) {
    result.notes.push_back("NVML is not there: what is left on the GPU is not known");
  }
  result.figures.emplace_back("growth_bytes", growth);
  result.notes.push_back(str_cat(rounds, " sessions after ", warm, " others leave ", growth, " B"));
  return result;
}

}  // namespace

void add_bench_sessions(Command& bench) {
  Options* options = nullptr;
  Command& command = add_benchmark(bench, "sessions", "Sessions opened and closed, and the memory they leave behind",
                                   options, measure);
  add_device_flags(command, options->request);
  command.option("--rounds N", options->rounds, "sessions", {.least = 1, .most = 1e6})
      .option("--seconds S", options->seconds, "end by then, with fewer sessions if need be; 0: all of them",
              {.least = 0})
      .option("--size N", options->size, "rows of each session's matrices", {.least = 1, .most = 8192})
      .example("argosy bench sessions --devices gpu:0 --json", "growth_bytes: of the host's memory or the GPU's");
}

}  // namespace argosy::cli
