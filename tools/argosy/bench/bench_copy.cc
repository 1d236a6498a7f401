// Copies from one device to another in the same process: the latency of a small tensor while both sides are awake, and
// the bandwidth of a large one.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "argosy/base/threads/spin.h"
#include "argosy/device/copy.h"
#include "argosy/device/device.h"
#include "argosy/device/event.h"
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
  std::int64_t mebibytes = 64;
};

// A ball of `bytes` thrown between the streams of two devices: each task copies it from the other side's buffer to its
// own and queues the other's task. The limit is the same copies by two threads that watch one cache line and do nothing
// else.
class Game {
 public:
  Game(Stream& first, Stream& second, const Buffer* buffers) : streams_{&first, &second}, buffers_(buffers) {}

  double play(int hops) {
    done_ = false;
    const std::int64_t start = now_nanos();
    streams_[1]->run([this, hops] { turn(1, hops); });
    while (!done_) std::this_thread::sleep_for(std::chrono::microseconds(200));
    return static_cast<double>(end_ - start) * 1e-9 / hops;
  }

 private:
  void turn(int side, int left) {
    copy_memory(buffers_[side].data(), buffers_[1 - side].data(), buffers_[side].bytes());
    if (left > 1) return streams_[1 - side]->run([this, side, left] { turn(1 - side, left - 1); });
    end_ = now_nanos();
    done_ = true;
  }

  Stream* streams_[2];
  const Buffer* buffers_;
  alignas(64) std::atomic<bool> done_{false};
  std::int64_t end_ = 0;
};

double bare_hop(const Buffer* buffers, int hops) {
  alignas(64) std::atomic<int> ball{0};
  const auto play = [&](int side) {
    for (int i = side; i < hops; i += 2) {
      while (ball.load(std::memory_order_acquire) != i) spin_pause();
      std::memcpy(buffers[side].data(), buffers[1 - side].data(), buffers[side].bytes());
      ball.store(i + 1, std::memory_order_release);
    }
  };
  const std::int64_t start = now_nanos();
  std::thread other([&] { play(1); });
  play(0);
  other.join();
  return seconds_since(start) / hops;
}

// Hops for some milliseconds: on a busy machine, where a side waits for its core, one may take as long.
template <typename Play>
int hops_for(const Play& play) {
  constexpr int kFew = 100, kMany = 20000;
  constexpr double kSeconds = 0.02;
  return static_cast<int>(std::clamp(kSeconds / play(kFew), double{kFew}, double{kMany}));
}

Result<BenchRow> hop(const std::string& emulate, std::size_t bytes) {
  ARGOSY_ASSIGN_OR_RETURN(auto devices, make_devices({.emulate = emulate}));
  std::vector<Buffer> buffers;
  for (std::size_t d : {1, 2}) {
    ARGOSY_ASSIGN_OR_RETURN(Buffer buffer, devices[d]->allocator().allocate(bytes));
    std::memset(buffer.data(), 1, bytes);
    buffers.push_back(std::move(buffer));
  }
  Game game(devices[1]->copies(), devices[2]->copies(), buffers.data());
  const auto play = [&](int hops) { return game.play(hops); };
  const auto play_bare = [&](int hops) { return bare_hop(buffers.data(), hops); };
  const int hops = hops_for(play), bare_hops = hops_for(play_bare);
  Times ours, limit;
  for (int round = 0; round < 9; ++round) {
    ours.add(play(hops));
    limit.add(play_bare(bare_hops));
  }
  return BenchRow{str_cat("hop, ", bytes, " B"), "us", ours.min() * 1e6, ours.median() * 1e6, limit.min() * 1e6};
}

// One large copy on a stream against std::memcpy on the same memory.
Result<BenchRow> large(const std::string& what, const std::string& emulate, std::size_t from, std::size_t to,
                       std::size_t bytes) {
  ARGOSY_ASSIGN_OR_RETURN(auto devices, make_devices({.emulate = emulate}));
  ARGOSY_ASSIGN_OR_RETURN(const Buffer source, devices[from]->allocator().allocate(bytes));
  ARGOSY_ASSIGN_OR_RETURN(const Buffer target, devices[to]->allocator().allocate(bytes));
  std::memset(source.data(), 1, bytes);
  std::memset(target.data(), 2, bytes);
  Times ours, limit;
  Status status;
  for (int round = 0; round < 15 && status.ok(); ++round) {
    ours.add(time_of(1, [&] {
      devices[to]->copies().copy(target, source);
      status = devices[to]->synchronize();
    }));
    limit.add(time_of(1, [&] { std::memcpy(target.data(), source.data(), bytes); }));
  }
  ARGOSY_RETURN_IF_ERROR(status);
  const double giga = static_cast<double>(bytes) * 1e-9;
  return BenchRow{what, "GB/s", giga / ours.min(), giga / ours.median(), giga / limit.min()};
}

// --- GPUs ---------------------------------------------------------------------------------------------------------

// One way of a pair: `from` or `to` may be the host's, number 0 of the devices.
struct Way {
  Device *from, *to;
  std::string name;
  std::optional<double> limit;  // bytes a second
};

// Runs on the compute thread of the GPU, which starts what it does.
template <typename Work>
Status on_gpu(Device& gpu, const Work& work) {
  Status status;
  gpu.compute().run([&] { status = work(*gpu.launch_queue()); });
  ARGOSY_RETURN_IF_ERROR(gpu.synchronize());
  return status;
}

// As a step does it: to a GPU by its queue, from a GPU to the host by that GPU's.
Result<Event> start_copy(LaunchQueue& queue, const Way& way, const Buffer& to, const Buffer& from) {
  return way.to->launch_queue() != nullptr ? queue.copy_in(to, from) : queue.copy_out(to, from);
}

Result<BenchRow> large_on_gpus(const Way& way, std::size_t bytes) {
  Device& driven = way.to->launch_queue() != nullptr ? *way.to : *way.from;
  ARGOSY_ASSIGN_OR_RETURN(const Buffer source, way.from->allocator().allocate(bytes));
  ARGOSY_ASSIGN_OR_RETURN(const Buffer target, way.to->allocator().allocate(bytes));
  if (way.from->launch_queue() == nullptr) std::memset(source.data(), 1, bytes);
  if (way.to->launch_queue() == nullptr) std::memset(target.data(), 2, bytes);
  Times ours;
  for (int round = 0; round < 15; ++round) {
    ARGOSY_RETURN_IF_ERROR(on_gpu(driven, [&](LaunchQueue& queue) -> Status {
      const std::int64_t start = now_nanos();
      ARGOSY_ASSIGN_OR_RETURN(const Event done, start_copy(queue, way, target, source));
      if (done.state() != nullptr) done.state()->wait();
      ours.add(seconds_since(start));
      return queue.failure();
    }));
  }
  const double giga = static_cast<double>(bytes) * 1e-9;
  BenchRow row{way.name, "GB/s", giga / ours.min(), giga / ours.median()};
  if (way.limit) row.limit = *way.limit * 1e-9;
  return row;
}

// A small tensor, there and back, again and again: every copy waits for the one before, the host for the last.
Result<BenchRow> hop_on_gpus(const Way& there, std::size_t bytes) {
  constexpr int kHops = 200;
  Device *const a = there.from, *const b = there.to;
  ARGOSY_ASSIGN_OR_RETURN(const Buffer first, a->allocator().allocate(bytes));
  ARGOSY_ASSIGN_OR_RETURN(const Buffer second, b->allocator().allocate(bytes));
  Times ours;
  for (int round = 0; round < 9; ++round) {
    Event last;
    const std::int64_t start = now_nanos();
    // Each GPU's thread is the only one that may drive its queue: they take turns.
    for (int hop = 0; hop < kHops; ++hop) {
      Device& to = *(hop % 2 == 0 ? b : a);
      Status status;
      to.compute().run([&] {
        LaunchQueue& queue = *to.launch_queue();
        status = queue.wait(last);
        if (!status.ok()) return;
        auto event = hop % 2 == 0 ? queue.copy_in(second, first) : queue.copy_in(first, second);
        status = event.status();
        if (event.ok()) last = *std::move(event);
      });
      ARGOSY_RETURN_IF_ERROR(to.compute().synchronize());
      ARGOSY_RETURN_IF_ERROR(std::move(status));
    }
    if (last.state() != nullptr) last.state()->wait();
    ours.add(seconds_since(start) / kHops);
  }
  return BenchRow{str_cat("hop, ", bytes, " B, ", there.name), "us", ours.min() * 1e6, ours.median() * 1e6};
}

Result<BenchResult> measure_gpus(const Options& options) {
  BenchResult result{.benchmark = "copy"};
  ARGOSY_ASSIGN_OR_RETURN(const auto devices, make_devices(options.request));
  const GpuLinks links = links_of_gpus(options.request);
  std::vector<Device*> gpus;
  for (const auto& device : devices) {
    if (device->launch_queue() != nullptr) gpus.push_back(device.get());
  }
  const auto between = [&](Device* from, Device* to) {
    return Way{from, to, str_cat(from->spec().name.short_string(), " to ", to->spec().name.short_string()),
               link_limit(links, from->spec(), to->spec())};
  };
  std::vector<Way> ways;
  for (Device* from : gpus) {
    for (Device* to : gpus) {
      if (from != to) ways.push_back(between(from, to));
    }
  }
  for (const std::size_t bytes : {4, 256, 4096}) {
    if (ways.empty()) break;
    ARGOSY_ASSIGN_OR_RETURN(BenchRow row, hop_on_gpus(ways[0], bytes));
    result.rows.push_back(std::move(row));
  }
  for (Device* gpu : gpus) {
    ways.push_back(between(devices[0].get(), gpu));
    ways.push_back(between(gpu, devices[0].get()));
  }
  const std::size_t bytes = static_cast<std::size_t>(options.mebibytes) << 20;
  for (Way& way : ways) {
    way.name = str_cat(options.mebibytes, " MiB, ", way.name);
    ARGOSY_ASSIGN_OR_RETURN(BenchRow row, large_on_gpus(way, bytes));
    result.rows.push_back(std::move(row));
  }
  result.notes.push_back("limit: the link, as copies of 32 MiB from pinned memory or GPU to GPU found it just now");
  return result;
}

Result<BenchResult> measure(const Options& options, Console&) {
  ARGOSY_ASSIGN_OR_RETURN(const bool on_real_gpus, names_real_gpus(options.request));
  if (on_real_gpus) return measure_gpus(options);
  ARGOSY_ASSIGN_OR_RETURN(const std::string two_gpus, emulated_gpus(options.request, 2, 2));
  ARGOSY_ASSIGN_OR_RETURN(const std::string one_gpu, emulated_gpus(options.request, 2, 1));
  BenchResult result{.benchmark = "copy"};
  for (const std::size_t bytes : {4, 256, 4096}) {
    ARGOSY_ASSIGN_OR_RETURN(BenchRow row, hop(two_gpus, bytes));
    result.rows.push_back(std::move(row));
  }
  const std::size_t bytes = static_cast<std::size_t>(options.mebibytes) << 20;
  ARGOSY_ASSIGN_OR_RETURN(BenchRow one, large(str_cat(options.mebibytes, " MiB, gpu to gpu"), two_gpus, 1, 2, bytes));
  ARGOSY_ASSIGN_OR_RETURN(BenchRow two, large(str_cat(options.mebibytes, " MiB, cpu to gpu"), one_gpu, 0, 1, bytes));
  result.rows.push_back(std::move(one));
  result.rows.push_back(std::move(two));
  result.notes.push_back("hop limit: two threads and one cache line; copy limit: memcpy by one thread");
  return result;
}

}  // namespace

void add_bench_copy(Command& bench) {
  Options* options = nullptr;
  Command& command = add_benchmark(bench, "copy", "From device to device: a hop, and the speed of memory or of a link",
                                   options, measure);
  add_device_flags(command, options->request);
  command.option("--mib N", options->mebibytes, "size of the large copy", {.least = 1, .most = 4096})
      .example("argosy bench copy", "between the GPUs, or emulated ones where there are none, and from the CPU")
      .example("argosy bench copy --devices gpu:0,gpu:1", "between two GPUs, beside what their links can do");
}

}  // namespace argosy::cli
