// From one device to another in the same process: the hop of a small tensor while both sides are awake, and a large
// copy at the speed of memory.
#include <atomic>
#include <cstring>
#include <thread>

#include "argosy/base/spin.h"
#include "argosy/device/copy.h"
#include "argosy/device/device.h"
#include "benchmarks/measure.h"
#include "tools/argosy/bench.h"

namespace argosy::cli {

namespace {

using benchmark::time_of;
using benchmark::Times;

struct Options {
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

Result<BenchRow> hop(std::size_t bytes) {
  constexpr int kHops = 20000;
  ARGOSY_ASSIGN_OR_RETURN(auto devices, make_devices({.emulate = "2"}));
  std::vector<Buffer> buffers;
  for (std::size_t d : {1, 2}) {
    ARGOSY_ASSIGN_OR_RETURN(Buffer buffer, devices[d]->allocator().allocate(bytes));
    std::memset(buffer.data(), 1, bytes);
    buffers.push_back(std::move(buffer));
  }
  Game game(devices[1]->copies(), devices[2]->copies(), buffers.data());
  Times ours, limit;
  for (int round = 0; round < 9; ++round) {
    ours.add(game.play(kHops));
    limit.add(bare_hop(buffers.data(), kHops));
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

Result<BenchResult> measure(const Options& options, Console&) {
  BenchResult result{.benchmark = "copy"};
  for (const std::size_t bytes : {4, 256, 4096}) {
    ARGOSY_ASSIGN_OR_RETURN(BenchRow row, hop(bytes));
    result.rows.push_back(std::move(row));
  }
  const std::size_t bytes = static_cast<std::size_t>(options.mebibytes) << 20;
  ARGOSY_ASSIGN_OR_RETURN(BenchRow one, large(str_cat(options.mebibytes, " MiB, gpu to gpu"), "2", 1, 2, bytes));
  ARGOSY_ASSIGN_OR_RETURN(BenchRow two, large(str_cat(options.mebibytes, " MiB, cpu to gpu"), "1", 0, 1, bytes));
  result.rows.push_back(std::move(one));
  result.rows.push_back(std::move(two));
  result.notes.push_back("hop limit: two threads and one cache line; copy limit: memcpy by one thread");
  return result;
}

}  // namespace

void add_bench_copy(Command& bench) {
  Options* options = nullptr;
  add_benchmark(bench, "copy", "From device to device: a hop, and the speed of memory", options, measure)
      .option("--mib N", options->mebibytes, "size of the large copy", {.least = 1, .most = 4096})
      .example("argosy bench copy", "between emulated GPUs, and from the CPU");
}

}  // namespace argosy::cli
