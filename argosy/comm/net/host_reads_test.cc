// Tasks that read each other's memory: what arrives, what sockets still carry, and who is not read.
#include "argosy/comm/net/host_reads.h"

#include <gmock/gmock.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <future>
#include <mutex>

#include "argosy/comm/net/mailbox.h"
#include "argosy/comm/net/net_test_support.h"

namespace argosy {
namespace {

// Of this process' own memory: a container may forbid the call itself.
bool may_read() {
  int from = 7, to = 0;
  const iovec here{&to, sizeof to}, there{&from, sizeof from};
  const auto box = Mailbox::make(1);
  return ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == sizeof to && to == 7 && box.ok() &&
         Mailbox::open((*box)->address(), 1) != nullptr;
}

#define NEEDS_READS()                                               \
  if (!has_gloo()) GTEST_SKIP() << "no Gloo plug-in in this build"; \
  if (!may_read()) GTEST_SKIP() << "this system forbids to share memory, or to read it"

constexpr std::size_t kLarge = 5 << 20, kSmall = 1000;

// An engine that counts what it sends in exchanges, and may change it on the way.
class WatchedEngine final : public NetEngine {
 public:
  using Change = std::function<void(int exchange, std::byte* data, std::size_t bytes)>;
  WatchedEngine(std::unique_ptr<NetEngine> engine, std::atomic<std::size_t>& bytes, Change change)
      : engine_(std::move(engine)), bytes_(bytes), change_(std::move(change)) {}
  int rank() const override { return engine_->rank(); }
  int size() const override { return engine_->size(); }
  bool all_pairs() const override { return true; }
  Status all_reduce(std::byte*, std::size_t, std::size_t, const Combine&, std::uint32_t) override {
    return internal_error("not called");
  }
  Status exchange(std::span<const Piece> sent, std::span<const Piece> received, std::uint32_t tag) override {
    std::vector<std::vector<std::byte>> changed;
    std::vector<Piece> pieces;
    for (const Piece& piece : sent) {
      bytes_ += piece.bytes;
      changed.emplace_back(piece.data, piece.data + piece.bytes);
      if (change_ != nullptr) change_(exchanges_, changed.back().data(), piece.bytes);
      pieces.push_back({piece.peer, changed.back().data(), piece.bytes});
    }
    ++exchanges_;
    return engine_->exchange(pieces, received, tag);
  }
  Status all_gather(const std::byte*, std::byte*, std::span<const std::size_t>, std::uint32_t) override {
    return internal_error("not called");
  }
  Status broadcast(std::byte* data, std::size_t bytes, int root, std::uint32_t tag) override {
    return engine_->broadcast(data, bytes, root, tag);
  }
  Status barrier(std::uint32_t tag) override { return engine_->barrier(tag); }
  void abort() override { engine_->abort(); }
  std::size_t chunk_bytes() const override { return 16 << 10; }  // so that a sum has many

 private:
  const std::unique_ptr<NetEngine> engine_;
  std::atomic<std::size_t>& bytes_;
  const Change change_;
  int exchanges_ = 0;
};

// Runs `body` as every task, each on a thread, over a Gloo engine that is watched below the reads. Returns the bytes
// that sockets carried in exchanges.
std::size_t over_watched(int size, const std::function<void(NetEngine&)>& body,
                         const std::function<HostReadsOptions(int rank)>& options = nullptr,
                         const std::function<WatchedEngine::Change(int rank)>& change = nullptr) {
  MemoryBook book;
  std::atomic<std::size_t> bytes = 0;
  std::vector<std::thread> threads;
  std::mutex keep;
  std::vector<std::unique_ptr<NetEngine>> kept;
  setenv("ARGOSY_HOST_READS", "0", 1);  // of open_gloo(); the reads are put over the watched engine
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      auto gloo =
          open_gloo({.rank = rank, .size = size, .address = "127.0.0.1", .group = "reads", .book = book.book()});
      ASSERT_TRUE(gloo.ok()) << gloo.status().to_string();
      auto engine = with_host_reads(
          std::make_unique<WatchedEngine>(*std::move(gloo), bytes, change == nullptr ? nullptr : change(rank)),
          options == nullptr ? HostReadsOptions{} : options(rank));
      ASSERT_TRUE(engine.ok()) << engine.status().to_string();
      body(**engine);
      (void)(*engine)->barrier(9);
      // Nobody leaves before the last has what it waits for.
      const std::lock_guard lock(keep);
      kept.push_back(*std::move(engine));
    });
  }
  for (std::thread& thread : threads) thread.join();
  unsetenv("ARGOSY_HOST_READS");
  return bytes;
}

std::byte value_of(int from, int to, std::size_t piece, std::size_t i) {
  return static_cast<std::byte>(static_cast<std::size_t>(from * 31 + to * 7) + piece * 3 + i % 251);
}

// Sends each other task a large piece, a small one and a large one, and expects theirs.
Status exchange_three(NetEngine& engine) {
  const std::size_t sizes[] = {kLarge, kSmall, kLarge + 13};
  std::vector<std::vector<std::byte>> buffers;
  std::vector<NetEngine::Piece> sent, received;
  for (int peer = 0; peer < engine.size(); ++peer) {
    for (std::size_t piece = 0; piece < 3 && peer != engine.rank(); ++piece) {
      std::vector<std::byte>& out = buffers.emplace_back(sizes[piece]);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = value_of(engine.rank(), peer, piece, i);
      sent.push_back({peer, out.data(), out.size()});
      std::vector<std::byte>& in = buffers.emplace_back(sizes[piece]);
      received.push_back({peer, in.data(), in.size()});
    }
  }
  ARGOSY_RETURN_IF_ERROR(engine.exchange(sent, received, 5));
  std::size_t wrong = 0;
  for (std::size_t n = 0; n < received.size(); ++n) {
    for (std::size_t i = 0; i < received[n].bytes; ++i) {
      wrong += received[n].data[i] != value_of(received[n].peer, engine.rank(), n % 3, i);
    }
  }
  EXPECT_EQ(wrong, 0u);
  return ok_status();
}

TEST(HostReads, NothingGoesThroughSockets) {
  NEEDS_READS();
  for (const int tasks : {2, 3, 5}) {
    const std::size_t bytes = over_watched(tasks, [](NetEngine& engine) {
      for (int times = 0; times < 3; ++times) EXPECT_TRUE(exchange_three(engine).ok());
      std::byte told{static_cast<unsigned char>(engine.rank() + 1)};
      EXPECT_TRUE(engine.broadcast(&told, 1, engine.size() - 1, 6).ok());
      EXPECT_EQ(told, static_cast<std::byte>(engine.size()));
      EXPECT_TRUE(engine.barrier(7).ok());
    });
    EXPECT_LT(bytes, static_cast<std::size_t>(tasks * (tasks - 1)) * 200) << tasks;  // the tasks find each other
  }
}

TEST(HostReads, ATaskThatDoesNotWantThemIsSentAll) {
  NEEDS_READS();
  const std::size_t bytes = over_watched(
      3, [](NetEngine& engine) { EXPECT_TRUE(exchange_three(engine).ok()); },
      [](int rank) { return HostReadsOptions{.wanted = rank != 1}; });
  EXPECT_GE(bytes, 4 * 2 * kLarge);           // of the pairs 0-1 and 1-2, both ways
  EXPECT_LT(bytes, 4 * 2 * kLarge + kLarge);  // the pair 0-2 reads
}

// As a task of another host, or of another namespace of processes: its process' number means another process here.
TEST(HostReads, ATaskWhoseSecretIsNotFoundIsSentAll) {
  NEEDS_READS();
  const std::size_t bytes = over_watched(
      3, [](NetEngine& engine) { EXPECT_TRUE(exchange_three(engine).ok()); }, nullptr,
      [](int rank) -> WatchedEngine::Change {
        if (rank != 1) return nullptr;
        return [](int exchange, std::byte* data, std::size_t size) {
          if (exchange == 0) data[size - 1] ^= std::byte{1};  // of the secret that it tells
        };
      });
  EXPECT_GE(bytes, 4 * 2 * kLarge);
  EXPECT_LT(bytes, 4 * 2 * kLarge + kLarge);
}

TEST(HostReads, ATaskThatNamesNoMemoryIsAnError) {
  NEEDS_READS();
  over_watched(2, [](NetEngine& engine) {
    std::vector<std::byte> own(kLarge), theirs(kLarge);
    // NOLINTNEXTLINE: an address of nothing, which is only told
    std::byte* const nothing = reinterpret_cast<std::byte*>(std::uintptr_t{0x1111});
    const NetEngine::Piece sent{1 - engine.rank(), engine.rank() == 1 ? nothing : own.data(), kLarge};
    const NetEngine::Piece received{1 - engine.rank(), theirs.data(), kLarge};
    const Status status = engine.exchange({&sent, 1}, {&received, 1}, 5);
    EXPECT_EQ(status.id(), "ARG-COMM-025") << status.to_string();
    if (engine.rank() == 0) {
      EXPECT_THAT(status.message(), testing::HasSubstr("the memory of task 1 cannot be read"));
    }
    engine.abort();
  });
}

TEST(HostReads, TasksThatDisagreeAboutSizesGetAnError) {
  NEEDS_READS();
  constexpr std::size_t kSizes[][2] = {{kLarge, kLarge + 8}, {kLarge, 8}, {16, kLarge}, {8, 16}};
  for (const auto& [sends, expects] : kSizes) {
    over_watched(2, [&, sends = sends, expects = expects](NetEngine& engine) {
      std::vector<std::byte> bytes(2 * kLarge);
      const NetEngine::Piece piece{1 - engine.rank(), bytes.data(), engine.rank() == 0 ? sends : expects};
      const std::span<const NetEngine::Piece> one(&piece, 1), none;
      const Status status = engine.rank() == 0 ? engine.exchange(one, none, 5) : engine.exchange(none, one, 5);
      if (engine.rank() == 1) {
        EXPECT_EQ(status.id(), "ARG-COMM-029") << sends << ", " << expects;
      }
    });
  }
}

// Task 0 gives up while task 1 has its address, and writes something else there. Task 1 must not take it for the piece.
TEST(HostReads, WhatIsReadAfterItsTaskGaveUpIsAnError) {
  NEEDS_READS();
  std::promise<void> gave_up;
  std::shared_future<void> has_given_up = gave_up.get_future().share();
  over_watched(2, [&](NetEngine& engine) {
    std::vector<std::byte> bytes(kLarge, std::byte{1});
    const NetEngine::Piece piece{1 - engine.rank(), bytes.data(), kLarge};
    if (engine.rank() == 0) {
      std::thread aborts([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        engine.abort();
      });
      EXPECT_EQ(engine.exchange({&piece, 1}, {}, 5).id(), "ARG-COMM-025");
      std::fill(bytes.begin(), bytes.end(), std::byte{2});
      gave_up.set_value();
      aborts.join();
      std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the memory is there
    } else {
      has_given_up.wait();
      EXPECT_EQ(engine.exchange({}, {&piece, 1}, 5).id(), "ARG-COMM-025");
    }
  });
}

// Runs `body` as every task of a group with these options.
void over_groups(int tasks, const std::function<HostReadsOptions(int rank)>& options,
                 const std::function<void(NetGroup&)>& body) {
  MemoryBook book;
  std::atomic<std::size_t> bytes = 0;
  std::vector<std::thread> threads;
  setenv("ARGOSY_HOST_READS", "0", 1);  // of open_gloo()
  for (int rank = 0; rank < tasks; ++rank) {
    threads.emplace_back([&, rank] {
      set_thread_budget(1);
      auto gloo =
          open_gloo({.rank = rank, .size = tasks, .address = "127.0.0.1", .group = "modes", .book = book.book()});
      ASSERT_TRUE(gloo.ok()) << gloo.status().to_string();
      auto engine = with_host_reads(std::make_unique<WatchedEngine>(*std::move(gloo), bytes, nullptr), options(rank));
      ASSERT_TRUE(engine.ok()) << engine.status().to_string();
      NetGroup group(*std::move(engine));
      body(group);
      if (group.cause().ok()) {
        EXPECT_TRUE(group.barrier({.name = "end"}).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  unsetenv("ARGOSY_HOST_READS");
}

struct Mode {
  const char* name;
  std::function<HostReadsOptions(int rank)> options;
};

// All ways of a group.
std::vector<Mode> modes() {
  return {{"sockets", [](int) { return HostReadsOptions{.wanted = false}; }},
          {"all read", [](int) { return HostReadsOptions{}; }},
          {"mail alone", [](int) { return HostReadsOptions{.reads = [](int) { return false; }}; }},
          {"one task by sockets", [](int rank) { return HostReadsOptions{.wanted = rank != 1}; }},
          {"one pair by sockets",
           [](int rank) { return HostReadsOptions{.opens = [rank](int task) { return rank + task != 1; }}; }},
          {"one pair does not read",
           [](int rank) { return HostReadsOptions{.reads = [rank](int task) { return rank != 0 || task != 1; }}; }}};
}

float number_of(unsigned shard, std::int64_t i) {
  return static_cast<float>((static_cast<std::uint64_t>(i) * 2654435761u + shard * 97u) % 2001) / 7.f;
}

// Sums of shards, in place and not, spread evenly and unevenly, of sizes around every limit, once more and once more in
// the same memory. The results of all modes, by rank.
std::vector<std::vector<float>> sums_by(const Mode& mode, const std::vector<int>& shares) {
  const int tasks = static_cast<int>(shares.size()) - 1;
  std::vector<std::vector<float>> found(static_cast<std::size_t>(tasks));
  over_groups(tasks, mode.options, [&](NetGroup& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    for (const std::int64_t elements : {1, 5003, 8191, 16'400, 250'007}) {
      std::vector<Tensor> shards;
      for (int s = shares[rank]; s < shares[rank + 1]; ++s) {
        shards.push_back(Tensor::zeros(DType::kFloat32, {elements}));
      }
      const Tensor apart = Tensor::zeros(DType::kFloat32, {elements});
      for (int times = 0; times < 3; ++times) {
        std::vector<Shard> own;
        for (std::size_t s = 0; s < shards.size(); ++s) {
          const int index = shares[rank] + static_cast<int>(s);
          for (std::int64_t i = 0; i < elements; ++i) {
            shards[s].data<float>()[i] = number_of(static_cast<unsigned>(index + 10 * times), i);
          }
          own.push_back({index, {&shards[s], 1}});
        }
        const Tensor out = times == 1 || shards.empty() ? apart : shards.back();
        const Status status = group.all_reduce_shards(own, shares.back(), {&out, 1}, Reduction::kSum, {.name = "sum"});
        ASSERT_TRUE(status.ok()) << status.to_string();
        found[rank].insert(found[rank].end(), out.values<float>().begin(), out.values<float>().end());
        // At once: the memory is this task's own again.
        for (const Tensor& t : shards) std::memset(t.raw(), 0x7f, t.bytes());
      }
    }
    EXPECT_TRUE(group.barrier().ok());
    Tensor told = Tensor::scalar(static_cast<float>(group.rank()));
    EXPECT_TRUE(group.broadcast({&told, 1}, tasks - 1).ok());
    EXPECT_EQ(*told.data<float>(), static_cast<float>(tasks - 1));
    Tensor large = Tensor::zeros(DType::kFloat32, {300'000});
    for (float& v : large.values<float>()) v = static_cast<float>(group.rank() + 1);
    EXPECT_TRUE(group.broadcast({&large, 1}, 0).ok());
    EXPECT_EQ(large.values<float>()[299'999], 1.f);
  });
  return found;
}

TEST(HostReads, SumsHaveTheBitsOfSocketsInEveryMode) {
  NEEDS_READS();
  const std::vector<std::vector<int>> shares = {{0, 1, 2},    {0, 3, 4},       {0, 1, 2, 3},
                                                {0, 2, 2, 5}, {0, 1, 2, 3, 4}, {0, 3, 4, 4, 8}};
  for (const std::vector<int>& share : shares) {
    std::vector<std::vector<float>> expected;
    for (const Mode& mode : modes()) {
      const std::vector<std::vector<float>> found = sums_by(mode, share);
      if (expected.empty()) expected = found;
      for (std::size_t rank = 0; rank < found.size(); ++rank) {
        EXPECT_TRUE(found[rank] == expected[0]) << mode.name << ", task " << rank << " of " << found.size();
      }
    }
  }
}

}  // namespace
}  // namespace argosy
