// Tasks that read each other's memory: what arrives, what sockets still carry, and who is not read.
#include "argosy/comm/net/host_reads.h"

#include <gmock/gmock.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <random>

#include "argosy/comm/net/net_test_support.h"

namespace argosy {
namespace {

// Of this process' own memory: a container may forbid the call itself.
bool may_read() {
  int from = 7, to = 0;
  const iovec here{&to, sizeof to}, there{&from, sizeof from};
  return ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == sizeof to && to == 7;
}

#define NEEDS_READS()                                               \
  if (!has_gloo()) GTEST_SKIP() << "no Gloo plug-in in this build"; \
  if (!may_read()) GTEST_SKIP() << "this system forbids process_vm_readv"

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
  Status broadcast(std::byte*, std::size_t, int, std::uint32_t) override { return internal_error("not called"); }
  Status barrier(std::uint32_t tag) override { return engine_->barrier(tag); }
  void abort() override { engine_->abort(); }

 private:
  const std::unique_ptr<NetEngine> engine_;
  std::atomic<std::size_t>& bytes_;
  const Change change_;
  int exchanges_ = 0;
};

// Runs `body` as every task, each on a thread, over a Gloo engine that is watched below the reads. Returns the bytes
// that sockets carried in exchanges.
std::size_t over_watched(int size, const std::function<void(NetEngine&)>& body,
                         const std::function<bool(int rank)>& wanted = nullptr,
                         const std::function<WatchedEngine::Change(int rank)>& change = nullptr) {
  MemoryBook book;
  std::atomic<std::size_t> bytes = 0;
  std::vector<std::thread> threads;
  setenv("ARGOSY_HOST_READS", "0", 1);  // of open_gloo(); the reads are put over the watched engine
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      auto gloo =
          open_gloo({.rank = rank, .size = size, .address = "127.0.0.1", .group = "reads", .book = book.book()});
      ASSERT_TRUE(gloo.ok()) << gloo.status().to_string();
      auto engine = with_host_reads(
          std::make_unique<WatchedEngine>(*std::move(gloo), bytes, change == nullptr ? nullptr : change(rank)),
          wanted == nullptr || wanted(rank));
      ASSERT_TRUE(engine.ok()) << engine.status().to_string();
      body(**engine);
      (void)(*engine)->barrier(9);
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
      3, [](NetEngine& engine) { EXPECT_TRUE(exchange_three(engine).ok()); }, [](int rank) { return rank != 1; });
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

// Sums of one large array after another in one place: what a task still reads is never overwritten.
TEST(HostReads, SumsInPlaceHaveTheBitsOfSockets) {
  NEEDS_READS();
  constexpr std::int64_t kElements = 6'000'011;
  for (const int tasks : {2, 3, 4}) {
    std::vector<std::vector<float>> results[2];
    for (const char* const reads : {"0", "1"}) {
      std::vector<std::vector<float>>& found = results[reads[0] - '0'];
      found.resize(static_cast<std::size_t>(tasks));
      setenv("ARGOSY_HOST_READS", reads, 1);
      spawn_tasks(tasks, [&](NetGroup& group) {
        const Tensor t = Tensor::zeros(DType::kFloat32, {kElements});
        for (unsigned step = 0; step < 4; ++step) {
          std::mt19937 random(step * 100 + static_cast<unsigned>(group.rank()));
          for (float& v : t.values<float>()) v = static_cast<float>(random() % 2001) / 7.f;
          const Status status = group.all_reduce({&t, 1}, Reduction::kSum, {.name = "sum"});
          ASSERT_TRUE(status.ok()) << status.to_string();
          std::vector<float>& own = found[static_cast<std::size_t>(group.rank())];
          own.insert(own.end(), t.values<float>().begin(), t.values<float>().end());
          std::memset(t.raw(), 0, t.bytes());  // at once: it is this task's own again
        }
      });
      unsetenv("ARGOSY_HOST_READS");
    }
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(tasks); ++rank) {
      EXPECT_TRUE(results[0][rank] == results[1][rank]) << rank << " of " << tasks;
      EXPECT_TRUE(results[1][rank] == results[1][0]) << rank << " of " << tasks;
    }
  }
}

}  // namespace
}  // namespace argosy
