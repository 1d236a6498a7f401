#include "argosy/data/loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <set>
#include <thread>

#include "argosy/base/threads/test_no_threads.h"
#include "argosy/data/array_dataset.h"
#include "argosy/data/permutation.h"
#include "argosy/data/recycling_allocator.h"

namespace argosy::data {
namespace {

// Example i is the number i; fails or dawdles on request.
class Numbers final : public Dataset {
 public:
  explicit Numbers(std::int64_t size) : size_(size) {}
  std::int64_t size() const override { return size_; }
  std::span<const Component> components() const override { return components_; }
  std::string describe() const override { return "numbers"; }

  std::int64_t broken = -1;
  std::int64_t too_large = -1;  // memory ends at this example
  bool slow = false;
  mutable std::atomic<int> fetches = 0;

 protected:
  Status fill(std::span<const std::int64_t> indices, std::span<const Tensor> to) const override {
    const int fetch = fetches++;
    if (slow && fetch % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] == too_large) throw std::bad_alloc();
      if (indices[i] == broken) return data_loss("number ", broken, " is broken");
      to[0].data<std::int64_t>()[i] = indices[i];
    }
    return ok_status();
  }

 private:
  std::int64_t size_;
  std::vector<Component> components_ = {{"number", DType::kInt64, {}}};
};

std::vector<std::int64_t> numbers(const Batch& batch) {
  const auto values = batch.tensors[0].values<std::int64_t>();
  return {values.begin(), values.end()};
}

TEST(Permutation, IsOneForEverySize) {
  for (const std::int64_t n : {1, 2, 3, 4, 5, 16, 17, 100, 1000, 4096, 4097}) {
    const Permutation order(n, 1, 2);
    std::vector<bool> seen(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
      ASSERT_TRUE(order[i] >= 0 && order[i] < n);
      seen[static_cast<std::size_t>(order[i])] = true;
    }
    EXPECT_TRUE(std::ranges::all_of(seen, [](bool b) { return b; })) << n;
  }
}

TEST(Permutation, LooksRandom) {
  // Mean distance between neighbours of a random order is n/3; of an unshuffled one 1.
  for (const int epoch : {0, 1}) {
    const Permutation order(10'000, 7, epoch);
    double distance = 0;
    int fixed = 0;
    for (std::int64_t i = 1; i < 10'000; ++i) {
      distance += static_cast<double>(std::abs(order[i] - order[i - 1])) / 9'999;
      fixed += order[i] == i ? 1 : 0;
    }
    EXPECT_NEAR(distance, 10'000.0 / 3, 100);
    EXPECT_LT(fixed, 8);
  }
  EXPECT_NE(Permutation(1000, 7, 0)[5], Permutation(1000, 7, 1)[5]);
}

TEST(Loader, EveryExampleOnceAnEpochOnAnyNumberOfThreads) {
  Numbers dataset(103);
  dataset.slow = true;
  for (const int threads : {1, 4}) {
    for (const std::int64_t batch : {1, 10, 103, 500}) {
      auto loader = *Loader::open(dataset, {.batch = batch, .seed = 9, .epochs = 2, .threads = threads, .prefetch = 4});
      Cursor at;
      for (int epoch = 0; epoch < 2; ++epoch) {
        std::vector<std::int64_t> all;
        std::int64_t batches = 0;
        while (at.epoch == epoch) {
          const auto b = loader->next();
          ASSERT_TRUE(b.ok()) << b.status().to_string();
          EXPECT_EQ(b->begin, at);
          EXPECT_EQ(b->examples, std::min(batch, 103 - at.position));
          at = b->end;
          EXPECT_EQ(loader->cursor(), at);
          for (const auto n : numbers(*b)) all.push_back(n);
          ++batches;
        }
        EXPECT_EQ(batches, loader->batches_per_epoch());
        EXPECT_EQ(all, epoch_order(dataset, loader->options(), epoch));
        EXPECT_EQ(std::set(all.begin(), all.end()).size(), 103u);
      }
      EXPECT_EQ(loader->next().status().code(), Code::kOutOfRange);
      EXPECT_EQ(loader->next().status().code(), Code::kOutOfRange);
    }
  }
}

TEST(Loader, ResumesExactlyWhereItStopped) {
  const Numbers dataset(50);
  const LoaderOptions options{.batch = 7, .seed = 3, .epochs = 3, .threads = 2};
  std::vector<std::int64_t> whole;
  auto loader = *Loader::open(dataset, options);
  std::vector<Tensor> states = {loader->state()};
  for (auto b = loader->next(); b.ok(); b = loader->next()) {
    for (const auto n : numbers(*b)) whole.push_back(n);
    states.push_back(loader->state());
  }
  EXPECT_EQ(whole.size(), 150u);
  for (const Tensor& state : states) {
    LoaderOptions resumed = options;
    resumed.batch = 9;  // another device count may want another batch
    const auto cursor = cursor_from_state(state, dataset, resumed);
    ASSERT_TRUE(cursor.ok()) << cursor.status().to_string();
    resumed.start = *cursor;
    loader = *Loader::open(dataset, resumed);
    std::vector<std::int64_t> rest;
    for (auto b = loader->next(); b.ok(); b = loader->next()) {
      for (const auto n : numbers(*b)) rest.push_back(n);
    }
    const auto done = static_cast<std::size_t>(cursor->epoch * 50 + cursor->position);
    EXPECT_EQ(rest, std::vector(whole.begin() + static_cast<std::ptrdiff_t>(done), whole.end())) << done;
  }
  EXPECT_EQ(cursor_from_state(states[1], Numbers(51), options).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(cursor_from_state(states[1], dataset, {.seed = 4}).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(cursor_from_state(Tensor::scalar(1.0f), dataset, options).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(cursor_from_state(Tensor::vector<std::int64_t>({0, 60, 3, 50}), dataset, options).status().code(),
            Code::kDataLoss);
}

// Of tasks that share a batch: the same batches, of which each reads its rows and nothing else.
TEST(Loader, ReadsOnlyTheRowsOfItsShare) {
  const Numbers data(23);
  const auto all = Loader::open(data, {.batch = 10, .seed = 4, .epochs = 2});
  ASSERT_TRUE(all.ok());
  std::vector<std::unique_ptr<Loader>> halves;
  for (const int half : {0, 1}) {
    auto loader = Loader::open(data, {.batch = 10, .seed = 4, .epochs = 2, .rows = [half](std::int64_t n) {
                                        return half == 0 ? std::pair(std::int64_t{0}, n / 2) : std::pair(n / 2, n);
                                      }});
    ASSERT_TRUE(loader.ok());
    halves.push_back(*std::move(loader));
  }
  for (int step = 0; step < 6; ++step) {
    const auto batch = (*all)->next();
    ASSERT_TRUE(batch.ok());
    std::vector<std::int64_t> joined;
    for (std::size_t half = 0; half < 2; ++half) {
      const auto part = halves[half]->next();
      ASSERT_TRUE(part.ok());
      EXPECT_EQ(part->examples, batch->examples);
      EXPECT_EQ(part->end, batch->end);
      const std::vector<std::int64_t> rows = numbers(*part);
      ASSERT_EQ(std::ssize(rows), batch->examples);
      const auto cut = rows.begin() + batch->examples / 2;
      joined.insert(joined.end(), half == 0 ? rows.begin() : cut, half == 0 ? cut : rows.end());
    }
    EXPECT_EQ(joined, numbers(*batch));
    EXPECT_EQ(halves[1]->cursor(), (*all)->cursor());
  }
  // An example that another task reads may be broken.
  Numbers broken(8);
  broken.broken = 5;
  const auto first = Loader::open(broken, {.batch = 8, .shuffle = false, .epochs = 1, .rows = [](std::int64_t) {
                                             return std::pair(std::int64_t{0}, std::int64_t{4});
                                           }});
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE((*first)->next().ok());
}

TEST(Loader, DropsTheLastBatchOnRequest) {
  const Numbers dataset(25);
  auto loader = *Loader::open(dataset, {.batch = 10, .shuffle = false, .drop_last = true, .epochs = 2});
  EXPECT_EQ(loader->batches_per_epoch(), 2);
  std::vector<std::int64_t> firsts;
  for (auto b = loader->next(); b.ok(); b = loader->next()) {
    EXPECT_EQ(b->examples, 10);
    firsts.push_back(numbers(*b)[0]);
  }
  EXPECT_EQ(firsts, (std::vector<std::int64_t>{0, 10, 0, 10}));
  loader = *Loader::open(dataset, {.batch = 10, .shuffle = false, .drop_last = true, .start = {0, 20}});
  EXPECT_EQ(loader->next()->begin, (Cursor{1, 0}));
}

TEST(Loader, ErrorsOfTheDataComeOutInOrder) {
  Numbers dataset(40);
  dataset.broken = 25;
  auto loader = *Loader::open(dataset, {.batch = 10, .shuffle = false, .threads = 3});
  EXPECT_TRUE(loader->next().ok());
  EXPECT_TRUE(loader->next().ok());
  EXPECT_EQ(loader->next().status().code(), Code::kDataLoss);
  EXPECT_EQ(loader->next().status().code(), Code::kDataLoss);
}

TEST(Loader, RefusesNonsense) {
  const Numbers dataset(5);
  const auto code = [&](LoaderOptions o) { return Loader::open(dataset, o).status().code(); };
  EXPECT_EQ(code({.batch = 0}), Code::kInvalidArgument);
  EXPECT_EQ(code({.batch = 6, .drop_last = true}), Code::kInvalidArgument);
  EXPECT_EQ(code({.start = {0, 6}}), Code::kInvalidArgument);
  EXPECT_EQ(code({.start = {-1, 0}}), Code::kInvalidArgument);
  EXPECT_EQ(code({.threads = 0}), Code::kInvalidArgument);
  EXPECT_EQ(code({.prefetch = 0}), Code::kInvalidArgument);
  EXPECT_EQ(Loader::open(Numbers(0), {}).status().code(), Code::kInvalidArgument);
}

TEST(Loader, StopsAtOnceAndStaysAheadNoMoreThanAsked) {
  Numbers dataset(1000);
  for (int i = 0; i < 30; ++i) {
    auto loader = *Loader::open(dataset, {.batch = 10, .threads = 3, .prefetch = 2});
    for (int n = 0; n < i % 4; ++n) ASSERT_TRUE(loader->next().ok());
  }
  dataset.fetches = 0;
  auto loader = *Loader::open(dataset, {.batch = 10, .threads = 4, .prefetch = 2});
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_LE(dataset.fetches, 2);
}

TEST(Loader, AnExceptionOfItsThreadIsAnErrorOfNext) {
  Numbers dataset(100);
  dataset.too_large = 10;
  auto loader = *Loader::open(dataset, {.batch = 10, .shuffle = false});
  ASSERT_TRUE(loader->next().ok());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(loader->next().status().code(), Code::kResourceExhausted);
}

TEST(Loader, SaysSoWhereNoThreadCanBeStarted) {
  Numbers dataset(100);
  {
    const NoThreads none;
    const auto refused = Loader::open(dataset, {.batch = 10, .threads = 3});
    EXPECT_EQ(refused.status().id(), "ARG-THREAD-001") << refused.status().to_string();
  }
  auto loader = *Loader::open(dataset, {.batch = 10, .threads = 3});
  EXPECT_TRUE(loader->next().ok());
}

TEST(RecyclingAllocator, UsesMemoryAgain) {
  auto allocator = std::make_unique<RecyclingAllocator>(2);
  Buffer first = *allocator->allocate(4096);
  void* where = first.data();
  first = {};
  Buffer second = *allocator->allocate(4096);
  EXPECT_EQ(second.data(), where);
  Buffer third = *allocator->allocate(4096);
  EXPECT_NE(third.data(), where);
  EXPECT_EQ(allocator->stats().in_use_bytes, 8192u);
  allocator.reset();  // buffers outlive it
  second.data()[0] = std::byte{1};
}

}  // namespace
}  // namespace argosy::data
