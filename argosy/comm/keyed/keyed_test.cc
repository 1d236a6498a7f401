#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "argosy/comm/keyed/ring.h"
#include "argosy/comm/keyed/ring_order.h"
#include "argosy/comm/keyed/tree_broadcast.h"

namespace argosy {
namespace {

// Members of one thread: what is offered waits here.
class Post {
 public:
  class End final : public PieceExchange {
   public:
    End(Post& post, int rank) : post_(post), rank_(rank) {}
    void send(const std::string& key, std::span<const std::byte> bytes, Done done) override {
      if (!post_.cause_.ok()) return done(post_.cause_);
      EXPECT_TRUE(post_.keys_.insert({rank_, key}).second) << key;
      ++post_.pieces;
      if (post_.left > 0 && --post_.left == 0) return done(unavailable("the cable is out"));
      const auto waiting = post_.waiting_.find({rank_, key});
      if (waiting == post_.waiting_.end()) {
        post_.offers_[{rank_, key}] = {bytes, std::move(done)};
        return;
      }
      const auto [to, received] = waiting->second;
      post_.waiting_.erase(waiting);
      give(bytes, to, received);
      done(ok_status());
    }
    void receive(int from, const std::string& key, std::span<std::byte> to, Done done) override {
      if (!post_.cause_.ok()) return done(post_.cause_);
      const auto offer = post_.offers_.find({from, key});
      if (offer == post_.offers_.end()) {
        post_.waiting_[{from, key}] = {to, std::move(done)};
        return;
      }
      const auto [bytes, sent] = offer->second;
      post_.offers_.erase(offer);
      give(bytes, to, done);
      sent(ok_status());
    }
    void abort(const Status& cause) override { post_.abort(cause); }

   private:
    static void give(std::span<const std::byte> bytes, std::span<std::byte> to, const Done& done) {
      EXPECT_EQ(bytes.size(), to.size());
      std::copy(bytes.begin(), bytes.end(), to.begin());
      done(ok_status());
    }
    Post& post_;
    const int rank_;
  };

  std::shared_ptr<PieceExchange> end(int rank) { return std::make_shared<End>(*this, rank); }
  void abort(const Status& cause) {
    if (!cause_.ok()) return;
    cause_ = cause;
    for (const auto& [key, waiting] : std::exchange(waiting_, {})) waiting.second(cause);
    for (const auto& [key, offer] : std::exchange(offers_, {})) offer.second(cause);
  }
  bool empty() const { return offers_.empty() && waiting_.empty(); }
  int pieces = 0;  // that were sent
  int left = 0;    // above 0: the send with that number fails

 private:
  using Name = std::pair<int, std::string>;
  std::set<Name> keys_;
  std::map<Name, std::pair<std::span<const std::byte>, PieceExchange::Done>> offers_;
  std::map<Name, std::pair<std::span<std::byte>, PieceExchange::Done>> waiting_;
  Status cause_;
};

const std::vector<std::vector<int>> kLayouts = {{0}, {0, 1}, {0, 1, 2}, {0, 0, 1, 1}, {0, 0, 0, 1, 2, 2}, {0, 0, 0}};

Tensor numbers(int rank, std::int64_t count) {
  Tensor t = Tensor::zeros(DType::kFloat32, {count});
  for (std::int64_t i = 0; i < count; ++i) t.data<float>()[i] = static_cast<float>((rank + 1) * 0.37 + i * 0.01 * rank);
  return t;
}

// The members' results, or their errors.
std::vector<Tensor> reduce(const std::vector<int>& tasks, const std::vector<int>& offsets, std::int64_t count,
                           bool mean, Post& post, std::vector<Status>& ends) {
  std::vector<Tensor> values;
  const auto size = static_cast<int>(tasks.size());
  ends.assign(tasks.size(), internal_error("did not end"));
  for (int rank = 0; rank < size; ++rank) values.push_back(numbers(rank, count));
  for (int rank = 0; rank < size; ++rank) {
    start_ring_reduce(
        {.group = {tasks, rank}, .key = "1:2:0:0", .offsets = offsets, .values = values[rank], .mean = mean},
        post.end(rank), [&, rank](Status status) { ends[rank] = std::move(status); });
  }
  return values;
}

TEST(Ring, EveryMemberGetsTheSameSum) {
  for (const auto& tasks : kLayouts) {
    for (const auto& offsets : std::vector<std::vector<int>>{{0}, {0, -1}, {0, -1, 2, -3}}) {
      for (const std::int64_t count : {0, 1, 7, 16, 17, 33, 1000}) {
        for (const bool mean : {false, true}) {
          Post post;
          std::vector<Status> ends;
          const auto values = reduce(tasks, offsets, count, mean, post, ends);
          EXPECT_TRUE(post.empty());
          for (std::size_t rank = 0; rank < tasks.size(); ++rank) {
            ASSERT_TRUE(ends[rank].ok()) << ends[rank].to_string();
            for (std::int64_t i = 0; i < count; ++i) {
              double wanted = 0;
              for (std::size_t r = 0; r < tasks.size(); ++r)
                wanted += numbers(static_cast<int>(r), count).data<float>()[i];
              if (mean) wanted /= static_cast<double>(tasks.size());
              ASSERT_NEAR(values[rank].data<float>()[i], wanted, 1e-4);
              ASSERT_EQ(values[rank].data<float>()[i], values[0].data<float>()[i]);
            }
          }
        }
      }
    }
  }
}

TEST(Ring, ALostPieceEndsEveryMemberAndIsTheCause) {
  Post whole;
  std::vector<Status> ends;
  reduce({0, 1, 2}, {0}, 200, false, whole, ends);
  ASSERT_GE(whole.pieces, 8);
  for (int lost = 1; lost <= whole.pieces; ++lost) {
    Post post;
    post.left = lost;
    reduce({0, 1, 2}, {0}, 200, false, post, ends);
    int failed = 0;
    for (const Status& end : ends) {
      if (end.ok()) continue;  // it had all its pieces before
      EXPECT_EQ(end.message(), "the cable is out") << lost;
      ++failed;
    }
    EXPECT_GE(failed, 1) << lost;
    EXPECT_TRUE(post.empty());
  }
}

TEST(Ring, AGatheringPutsPartsInTheOrderOfTheRanks) {
  for (const auto& tasks : kLayouts) {
    Post post;
    const auto size = static_cast<int>(tasks.size());
    std::vector<Tensor> all;
    int ended = 0;
    for (int rank = 0; rank < size; ++rank) {
      all.push_back(Tensor::zeros(DType::kFloat32, {size, 5}));
      copy_elements(all[rank].rows(rank, rank + 1), numbers(rank, 5));
    }
    for (int rank = 0; rank < size; ++rank) {
      start_ring_gather({.group = {tasks, rank}, .key = "g", .offsets = {0}, .values = all[rank]}, post.end(rank),
                        [&](Status status) { ended += status.ok() ? 1 : 0; });
    }
    EXPECT_EQ(ended, size);
    EXPECT_EQ(post.pieces, size * (size - 1));
    for (int rank = 0; rank < size; ++rank) {
      for (int r = 0; r < size; ++r) {
        for (int i = 0; i < 5; ++i) EXPECT_EQ(all[rank].data<float>()[r * 5 + i], numbers(r, 5).data<float>()[i]);
      }
    }
  }
}

TEST(TreeBroadcast, EveryMemberGetsTheSourcesValues) {
  for (const auto& tasks : kLayouts) {
    const auto size = static_cast<int>(tasks.size());
    for (int source = 0; source < size; ++source) {
      Post post;
      std::vector<Tensor> values;
      int ended = 0;
      for (int rank = 0; rank < size; ++rank) values.push_back(numbers(rank, 9));
      for (int rank = 0; rank < size; ++rank) {
        start_tree_broadcast({tasks, rank}, source, "b", values[rank], post.end(rank),
                             [&](Status status) { ended += status.ok() ? 1 : 0; });
      }
      EXPECT_EQ(ended, size);
      EXPECT_EQ(post.pieces, size - 1) << "each member receives once";
      for (int rank = 0; rank < size; ++rank) {
        for (int i = 0; i < 9; ++i) EXPECT_EQ(values[rank].data<float>()[i], numbers(source, 9).data<float>()[i]);
      }
    }
  }
}

TEST(RingOrder, RingsOfATaskAreTurnedAndWalkedBackwards) {
  const KeyedGroup group{{0, 0, 0, 1, 1}, 1};
  const auto rings = make_rings(group, {0, -1, 2});
  EXPECT_EQ(rings[0].member, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(rings[1].member, (std::vector<int>{1, 0, 2, 3, 4}));
  EXPECT_EQ(rings[2].member, (std::vector<int>{2, 0, 1, 3, 4}));
  EXPECT_EQ(rings[0].place, 1);
  EXPECT_EQ(rings[1].place, 0);
  EXPECT_EQ(rings[2].place, 2);
}

TEST(RingOrder, LargeArraysGetMoreRings) {
  const KeyedGroup group{{0, 0, 1, 1}, 0};
  EXPECT_EQ(*ring_offsets(group, 64, -1), (std::vector<int>{0}));
  EXPECT_EQ(*ring_offsets(group, 64, 2), (std::vector<int>{0}));
  EXPECT_EQ(*ring_offsets(group, std::int64_t{64} << 20, 0), (std::vector<int>{0, -1, 2, -3}));
  EXPECT_FALSE(ring_offsets(group, 0, 2).ok());
}

}  // namespace
}  // namespace argosy
