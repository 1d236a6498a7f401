#include "argosy/device/cuda/fake/on_host_run.h"

#include <setjmp.h>  // NOLINT(modernize-deprecated-headers): _setjmp
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "argosy/base/sanitizers.h"

#if defined(ARGOSY_TSAN)
#include <sanitizer/tsan_interface.h>
#elif defined(ARGOSY_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif

namespace argosy::on_host {

namespace {

constexpr std::size_t kStackBytes = 128 << 10;

// The state of a thread of the block.
enum class State { kFresh, kRuns, kAtBlock, kAtWarp, kAtShuffle, kDone };

// A generator of pseudo-random numbers (xorshift64*), for orders. Seed 0: every order stays as it is.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u) {}
  // Below n.
  std::uint64_t roll(std::uint64_t n) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return (state_ * 0x2545f4914f6cdd1du >> 16) % n;
  }
  template <typename T>
  void shuffle(std::vector<T>& v) {
    if (state_ == 0) return;
    for (std::size_t i = v.size(); i > 1; --i) std::swap(v[i - 1], v[roll(i)]);
  }

 private:
  std::uint64_t state_;
};

// The point at which a fiber was suspended.
struct Position {
  ucontext_t context{};
  jmp_buf jump;
  bool begun = false;  // resumes at `jump`; else begins at `context`
};

// Suspends `from` and resumes `to`. swapcontext() asks the kernel for the signal mask, which takes four fifths of the
// time of a kernel full of barriers. _setjmp() does not, but it cannot begin on a new stack.
void switch_to(Position& from, Position& to) {
#if defined(ARGOSY_TSAN) || defined(ARGOSY_ASAN)  // they can follow swapcontext(), but not _longjmp(), between stacks
  swapcontext(&from.context, &to.context);
#else
  if (_setjmp(from.jump) != 0) return;
  from.begun = true;
  if (to.begun) _longjmp(to.jump, 1);
  setcontext(&to.context);
#endif
}

struct Fiber {
  Position position;
  std::unique_ptr<char[]> stack;
#if defined(ARGOSY_TSAN)
  void* tsan = nullptr;
#elif defined(ARGOSY_ASAN)
  void* asan = nullptr;
#endif
};

// Runs the blocks of one OS thread. Fibers are kept from block to block.
class Runner final : public Block {
 public:
  Runner(const Kernel& kernel, Dim3 grid_size, Dim3 block_size, void** arguments, const Ways& ways, Dice& dice)
      : kernel_(kernel),
        arguments_(arguments),
        threads_(static_cast<int>(block_size.x * block_size.y * block_size.z)),
        watch_(ways.watch),
        dice_(dice) {
    grid = grid_size;
    size = block_size;
    states_.resize(static_cast<std::size_t>(threads_));
    fiber_of_.resize(static_cast<std::size_t>(threads_));
    words_.resize(static_cast<std::size_t>(threads_ + 31) / 32);
    order_.resize(static_cast<std::size_t>(threads_));
    std::iota(order_.begin(), order_.end(), 0);
    if (watch_ != nullptr) watch_->begin(kernel, static_cast<unsigned>(threads_));
#if defined(ARGOSY_TSAN)
    main_tsan_ = __tsan_get_current_fiber();
#endif
  }
  ~Runner() {
#if defined(ARGOSY_TSAN)
    for (const auto& f : fibers_) __tsan_destroy_fiber(f->tsan);
#endif
  }

  // False: threads wait at different barriers.
  bool run_block(Dim3 at) {
    index = at;
    if (watch_ != nullptr) watch_->begin_block(at.x + std::uint64_t{grid.x} * (at.y + std::uint64_t{grid.y} * at.z));
    dice_.shuffle(order_);
    std::fill(states_.begin(), states_.end(), State::kFresh);
    next_ = 0;
    done_ = 0;
    while (done_ < threads_) {
      // Fresh threads first: one fiber runs them one after another until one waits.
      while (next_ < threads_) resume(idle_fiber());
      if (done_ == threads_) break;
      if (!release()) return false;
    }
    return true;
  }

  void sync() override { wait(State::kAtBlock); }
  void sync_warp() override { wait(State::kAtWarp); }
  std::uint64_t exchange(std::uint64_t word, unsigned from) override {
    auto& words = words_[static_cast<std::size_t>(running_) / 32];
    words[static_cast<std::size_t>(running_) % 32] = word;
    wait(State::kAtShuffle);
    const int asked = running_ / 32 * 32 + static_cast<int>(from);
    if (watch_ != nullptr && (asked >= threads_ || states_[static_cast<std::size_t>(asked)] == State::kDone))
      watch_->lane_missing(static_cast<unsigned>(running_), from);
    word = words[from];
    wait(State::kAtShuffle);
    return word;
  }
  void touched(const void* at, std::size_t bytes, Access access, const void* code) override {
    if (watch_ == nullptr) return;
    const auto stack = reinterpret_cast<std::uintptr_t>(fiber_->stack.get());
    watch_->touched(static_cast<unsigned>(running_), {stack, stack + kStackBytes}, at, bytes, access, code);
  }
  void misaligned(const void* at, const char* file, unsigned line, unsigned alignment) override {
    if (watch_ != nullptr) watch_->misaligned(static_cast<unsigned>(running_), at, file, line, alignment);
  }

 private:
  static void entry(unsigned high, unsigned low) {
    auto* const runner = reinterpret_cast<Runner*>((static_cast<std::uintptr_t>(high) << 32) | low);
    runner->fiber_main();
  }
  void fiber_main() {
    for (;;) {
#if defined(ARGOSY_ASAN)
      __sanitizer_finish_switch_fiber(fiber_->asan, &main_stack_, &main_bytes_);
#endif
      while (next_ < threads_) {
        const int t = order_[static_cast<std::size_t>(next_++)];
        Fiber* const self = fiber_;
        states_[static_cast<std::size_t>(t)] = State::kRuns;
        enter(t);
        kernel_.run_thread(*this, arguments_);
        states_[static_cast<std::size_t>(t)] = State::kDone;
        ++done_;
        fiber_ = self;
        if (woken_) break;  // back to who woke it
      }
      idle_.push_back(fiber_);
      leave();
    }
  }
  void enter(int t) {
    running_ = t;
    const auto u = static_cast<unsigned>(t);
    thread = {u % size.x, u / size.x % size.y, u / size.x / size.y};
  }

  void wait(State what) {
    const int t = running_;
    Fiber* const self = fiber_;
    states_[static_cast<std::size_t>(t)] = what;
    fiber_of_[static_cast<std::size_t>(t)] = self;
    leave();
#if defined(ARGOSY_ASAN)
    __sanitizer_finish_switch_fiber(self->asan, &main_stack_, &main_bytes_);
#endif
    fiber_ = self;
    states_[static_cast<std::size_t>(t)] = State::kRuns;
    enter(t);
  }

  // Resumes the threads that a complete barrier held. False when there are none.
  bool release() {
    bool any = false;
    for (int first = 0; first < threads_; first += 32) {
      for (const State barrier : {State::kAtWarp, State::kAtShuffle})
        any |= release_group(first, std::min(first + 32, threads_), barrier);
    }
    return any || release_group(0, threads_, State::kAtBlock);
  }
  bool release_group(int begin, int end, State barrier) {
    released_.clear();
    for (int t = begin; t < end; ++t) {
      const State s = states_[static_cast<std::size_t>(t)];
      if (s == State::kDone) continue;
      if (s != barrier) return false;
      released_.push_back(t);
    }
    if (released_.empty()) return false;
    if (watch_ != nullptr && barrier == State::kAtBlock) watch_->synced();
    if (watch_ != nullptr && barrier == State::kAtWarp) watch_->synced_warp(static_cast<unsigned>(begin) / 32);
    dice_.shuffle(released_);
    // Each runs to its next barrier. No barrier is checked before all of them have.
    for (const int t : released_) {
      woken_ = true;
      resume(*fiber_of_[static_cast<std::size_t>(t)]);
      woken_ = false;
    }
    return true;
  }

  Fiber& idle_fiber() {
    if (!idle_.empty()) {
      Fiber& f = *idle_.back();
      idle_.pop_back();
      return f;
    }
    auto f = std::make_unique<Fiber>();
    f->stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
    getcontext(&f->position.context);
    f->position.context.uc_stack.ss_sp = f->stack.get();
    f->position.context.uc_stack.ss_size = kStackBytes;
    f->position.context.uc_link = nullptr;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&f->position.context, reinterpret_cast<void (*)()>(&Runner::entry), 2,
                static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
#if defined(ARGOSY_TSAN)
    f->tsan = __tsan_create_fiber(0);
#endif
    fibers_.push_back(std::move(f));
    return *fibers_.back();
  }
  void resume(Fiber& f) {
    fiber_ = &f;
#if defined(ARGOSY_TSAN)
    __tsan_switch_to_fiber(f.tsan, 0);
#elif defined(ARGOSY_ASAN)
    void* mine = nullptr;
    __sanitizer_start_switch_fiber(&mine, f.stack.get(), kStackBytes);
#endif
    switch_to(main_, f.position);
#if defined(ARGOSY_ASAN)
    __sanitizer_finish_switch_fiber(mine, nullptr, nullptr);
#endif
  }
  void leave() {
    Fiber* const self = fiber_;
#if defined(ARGOSY_TSAN)
    __tsan_switch_to_fiber(main_tsan_, 0);
#elif defined(ARGOSY_ASAN)
    __sanitizer_start_switch_fiber(&self->asan, main_stack_, main_bytes_);
#endif
    switch_to(self->position, main_);
  }

  const Kernel& kernel_;
  void** const arguments_;
  const int threads_;
  Watch* const watch_;
  Dice& dice_;
  Position main_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  std::vector<State> states_;                         // by thread
  std::vector<Fiber*> fiber_of_;                      // by thread that waits
  std::vector<std::array<std::uint64_t, 32>> words_;  // by warp
  Fiber* fiber_ = nullptr;                            // that runs
  int running_ = 0;                                   // the thread that runs
  std::vector<int> order_;                            // of the block's threads
  std::vector<int> released_;                         // by a barrier, in the order in which they go on
  int next_ = 0;                                      // the first in that order that has not begun
  int done_ = 0;
  bool woken_ = false;
#if defined(ARGOSY_TSAN)
  void* main_tsan_ = nullptr;
#elif defined(ARGOSY_ASAN)
  const void* main_stack_ = nullptr;
  std::size_t main_bytes_ = 0;
#endif
};

}  // namespace

Status run(const Kernel& kernel, Dim3 grid, Dim3 block, void** arguments, const Ways& ways) {
  const auto volume = [](Dim3 d) { return static_cast<std::uint64_t>(d.x) * d.y * d.z; };
  if (volume(grid) == 0 || volume(block) == 0 || volume(block) > 1024 || block.z > 64 || grid.x > 0x7fffffffu ||
      grid.y > 65535 || grid.z > 65535) {
    return invalid_argument("a launch of ", grid.x, " x ", grid.y, " x ", grid.z, " blocks of ", block.x, " x ",
                            block.y, " x ", block.z, " threads is not possible");
  }
  Dice dice(ways.order);
  Runner runner(kernel, grid, block, arguments, ways, dice);
  // As the i-th of n blocks runs number (first + i * step) % n.
  const std::uint64_t n = volume(grid), first = ways.order == 0 ? 0 : dice.roll(n);
  std::uint64_t step = ways.order == 0 ? 1 : 1 + dice.roll(n);
  while (std::gcd(step, n) != 1) ++step;
  for (std::uint64_t i = 0, b = first; i < n; ++i, b = (b + step) % n) {
    const Dim3 at{static_cast<unsigned>(b % grid.x), static_cast<unsigned>(b / grid.x % grid.y),
                  static_cast<unsigned>(b / grid.x / grid.y)};
    if (!runner.run_block(at)) {
      return failed_precondition("threads of block ", at.x, " ", at.y, " ", at.z, " wait at different barriers");
    }
  }
  return ok_status();
}

}  // namespace argosy::on_host
