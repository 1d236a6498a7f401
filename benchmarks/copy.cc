// From one device to another in the same process: the hop of a small tensor while both sides are awake, and a large
// copy at the speed of memory.
#include <atomic>
#include <cstring>
#include <thread>

#include "argosy/base/spin.h"
#include "argosy/device/copy.h"
#include "argosy/device/device.h"
#include "benchmarks/measure.h"

namespace argosy::benchmark {
namespace {

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

void hop(std::size_t bytes) {
  constexpr int kHops = 20000;
  auto devices = make_devices({.emulate = "2"}).value();
  const Buffer buffers[2] = {devices[1]->allocator().allocate(bytes).value(),
                             devices[2]->allocator().allocate(bytes).value()};
  std::memset(buffers[0].data(), 1, bytes);
  Game game(devices[1]->copies(), devices[2]->copies(), buffers);
  Times ours, limit;
  for (int round = 0; round < 9; ++round) {
    ours.add(game.play(kHops));
    limit.add(bare_hop(buffers, kHops));
  }
  std::printf("hop %8zu B       %s  %s  limit %s  ratio %.2f\n", bytes, format_time(ours.min()).c_str(),
              format_time(ours.median()).c_str(), format_time(limit.min()).c_str(), limit.min() / ours.min());
}

// One large copy on a stream against std::memcpy on the same memory.
void large(const char* what, const std::string& devices_wanted, std::size_t from, std::size_t to) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  auto devices = make_devices({.emulate = devices_wanted}).value();
  const Buffer source = devices[from]->allocator().allocate(kBytes).value();
  const Buffer target = devices[to]->allocator().allocate(kBytes).value();
  std::memset(source.data(), 1, kBytes);
  std::memset(target.data(), 2, kBytes);
  Times ours, limit;
  for (int round = 0; round < 15; ++round) {
    ours.add(time_of(1, [&] {
      devices[to]->copies().copy(target, source);
      if (!devices[to]->synchronize().ok()) std::abort();
    }));
    limit.add(time_of(1, [&] { std::memcpy(target.data(), source.data(), kBytes); }));
  }
  std::printf("%-20s %s  %s  %6.2f GB/s, memcpy %6.2f GB/s  ratio %.2f\n", what, format_time(ours.min()).c_str(),
              format_time(ours.median()).c_str(), static_cast<double>(kBytes) / ours.min() * 1e-9,
              static_cast<double>(kBytes) / limit.min() * 1e-9, limit.min() / ours.min());
}

}  // namespace
}  // namespace argosy::benchmark

int main() {
  using namespace argosy::benchmark;
  std::printf("                        min        median\n");
  for (const std::size_t bytes : {4, 256, 4096}) hop(bytes);
  large("64 MiB, 1 thread", "2", 1, 2);
  large("64 MiB, 2 threads", "1", 0, 1);
}
