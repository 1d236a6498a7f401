// All-reduce between real GPUs (bench_gpus.cc), or emulated ones of one process, on their communication streams, against
// what memory allows.
//
// All-reduce of S bytes on n ranks must read and write n buffers of S bytes. The memory limit is that traffic at the
// speed at which as many threads as ranks or cores, whichever is less, pass over an array too large for any cache,
// reading and writing every line in place. The cache limit is the same pass over just the ranks' buffers, each thread
// over its own share again and again: no waiting, and no line that another core has touched.
#include <cstring>

#include "argosy/base/threads/parallel.h"
#include "argosy/comm/combine.h"
#include "argosy/comm/inproc_group.h"
#include "argosy/device/device.h"
#include "benchmarks/measure.h"
#include "tools/argosy/bench/bench.h"
#include "tools/argosy/bench/bench_gpus.h"
#include "tools/argosy/cli/device_flags.h"

namespace argosy::cli {

namespace {

using benchmark::time_of;
using benchmark::Times;

struct Options {
  DeviceRequest request;
  std::int64_t ranks = 0;
  std::int64_t mebibytes = 64;
};

using Devices = std::vector<std::unique_ptr<Device>>;

// Runs work(rank) on every rank's communication stream, all at once.
template <typename Work>
void on_ranks(Devices& devices, int ranks, const Work& work) {
  for (int r = 0; r < ranks; ++r) {
    devices[static_cast<std::size_t>(r + 1)]->communication().run([&work, r] { work(r); });
  }
  for (int r = 0; r < ranks; ++r) {
    if (!devices[static_cast<std::size_t>(r + 1)]->synchronize().ok()) std::abort();
  }
}

// Seconds of one pass of the first `threads` ranks, together, over all the buffers.
double pass_over(Devices& devices, int threads, const std::vector<Buffer>& buffers, int repeats) {
  static const CombineFn pass = find_combine(DType::kFloat32, Reduction::kSum, CombineOrder::kChain).value();
  std::vector<double> seconds(static_cast<std::size_t>(threads));
  on_ranks(devices, threads, [&](int thread) {
    const auto t = static_cast<std::size_t>(thread), of = static_cast<std::size_t>(threads);
    seconds[t] = time_of(repeats, [&] {
      for (const Buffer& buffer : buffers) {
        const std::size_t n = buffer.bytes() / sizeof(float);
        const std::byte* in = buffer.data();
        std::byte* out = buffer.data();
        pass({&in, &out, 1, 1, 1}, n * t / of, n * (t + 1) / of);
      }
    });
  });
  return *std::max_element(seconds.begin(), seconds.end());
}

Result<BenchRow> measure_one(int ranks, std::size_t bytes) {
  constexpr std::size_t kLarge = std::size_t{256} << 20;
  constexpr std::size_t kCached = std::size_t{1}
                                  << 20;  // all buffers together, when they stay in the cores' own caches
  Devices devices = make_devices({.emulate = std::to_string(ranks)}).value();
  InprocGroup group(ranks);
  std::vector<Buffer> buffers;
  std::vector<Tensor> tensors;
  for (int r = 0; r < ranks; ++r) {
    buffers.push_back(devices[static_cast<std::size_t>(r + 1)]->allocator().allocate(bytes).value());
    std::memset(buffers.back().data(), 0, bytes);
    tensors.emplace_back(DType::kFloat32, Shape{static_cast<std::int64_t>(bytes / sizeof(float))}, buffers.back());
  }
  const std::vector<Buffer> large = {devices[0]->allocator().allocate(kLarge).value()};
  std::memset(large[0].data(), 0, kLarge);
  const int threads = std::min(ranks, available_cores());
  const std::size_t traffic = bytes * static_cast<std::size_t>(ranks);
  const int repeats = static_cast<int>(std::clamp<std::size_t>((std::size_t{64} << 20) / traffic, 2, 500));

  Times memory, cache, ours;
  for (int round = 0; round < 9; ++round) {
    memory.add(pass_over(devices, threads, large, 1) * static_cast<double>(traffic) / static_cast<double>(kLarge));
    cache.add(pass_over(devices, threads, buffers, repeats));
    std::vector<double> seconds(static_cast<std::size_t>(ranks));
    on_ranks(devices, ranks, [&](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      seconds[r] = time_of(repeats, [&] {
        if (!group.rank(rank).all_reduce({&tensors[r], 1}, Reduction::kSum).ok()) std::abort();
      });
    });
    ours.add(*std::max_element(seconds.begin(), seconds.end()));
  }
  const double giga = static_cast<double>(bytes) * 1e-9;
  // What fits the caches is bound by them, what does not by memory.
  const double limit = bytes * static_cast<std::size_t>(ranks) <= kCached ? cache.min() : memory.min();
  return BenchRow{str_cat(ranks, " ranks, ", format_bytes(bytes)), "GB/s", giga / ours.min(), giga / ours.median(),
                  giga / limit};
}

Result<BenchResult> measure(const Options& options, Console& console) {
  const std::size_t most_kib = static_cast<std::size_t>(options.mebibytes) << 10;
  ARGOSY_ASSIGN_OR_RETURN(const bool on_real_gpus, names_real_gpus(options.request));
  if (on_real_gpus) return bench_gpu_sums(options.request, static_cast<int>(options.ranks), most_kib, console);
  BenchResult result{.benchmark = "allreduce"};
  std::vector<int> counts = {2, 4};
  if (options.ranks != 0) counts = {static_cast<int>(options.ranks)};
  if (!options.request.devices.empty() || !options.request.emulate.empty()) {
    ARGOSY_RETURN_IF_ERROR(emulated_gpus(options.request, 2, 2).status());
    ARGOSY_ASSIGN_OR_RETURN(const std::vector<DeviceSpec> devices, chosen_devices(options.request));
    counts = {static_cast<int>(std::ssize(devices))};
  }
  for (const int ranks : counts) {
    if (ranks < 2) return invalid_argument("a sum needs two GPUs: --ranks 2").with_id("ARG-DEV-001");
    for (std::size_t kib = 64; kib <= most_kib; kib *= 4) {
      ARGOSY_ASSIGN_OR_RETURN(BenchRow row, measure_one(ranks, kib << 10));
      result.rows.push_back(std::move(row));
    }
  }
  result.notes.push_back("size over time; limit: as many threads passing once over as many buffers, and nothing else");
  return result;
}

}  // namespace

void add_bench_allreduce(Command& bench) {
  Options* options = nullptr;
  Command& command =
      add_benchmark(bench, "allreduce", "Sums over GPUs of one process, real or emulated ones", options, measure);
  add_device_flags(command, options->request);
  command
      .option("--ranks N", options->ranks, "emulated GPUs: 2 or 4; real ones: the first so many of them; 0: both, all",
              {.least = 0, .most = 64})
      .option("--mib N", options->mebibytes, "the largest size", {.least = 1, .most = 4096})
      .example("argosy bench allreduce", "64 KiB to 64 MiB between the real GPUs, or 2 and 4 emulated ones")
      .example("argosy bench allreduce --devices gpu:0,gpu:1", "between two GPUs, beside what their links allow");
}

}  // namespace argosy::cli
