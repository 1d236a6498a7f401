// Sizes that other tasks state: whatever they say, the collective ends with an error, and no memory but its own is
// touched.
#include "argosy/comm/net/damaged_peers.h"

#include <gmock/gmock.h>

#include <future>
#include <random>

#include "argosy/comm/net/net_group.h"

namespace argosy {
namespace {

Tensor floats(std::int64_t n) { return Tensor::zeros(DType::kFloat32, {n}); }

// One word of the first peer's message is another one.
std::string word(int number, std::int64_t value) {
  std::string order = {1, static_cast<char>(number)};
  return order.append(reinterpret_cast<const char*>(&value), sizeof value);
}
const std::string kAgree = {0, 0};  // what both peers say first

Status run(const std::string& orders, CollectiveCall call, bool all_pairs = true) {
  NetGroup group(std::make_unique<DamagedPeers>(orders, all_pairs));
  call.total = 3;
  call.name = "c";
  std::promise<Status> ended;
  group.start(call, [&](Result<Event> event) { ended.set_value(event.status()); });
  return ended.get_future().get();
}

class DamagedPeersTest : public testing::Test {
 protected:
  const std::vector<Tensor> part_ = {floats(2)}, whole_ = {floats(6)}, sum_ = {floats(6)};
  const std::vector<Tensor> six_ = {floats(1), floats(1), floats(1)}, into_ = {floats(1), floats(1), floats(1)};
  const std::vector<Shard> shards_ = {{.index = 1, .tensors = whole_}};
};

constexpr std::int64_t kStrange[] = {-1, -5, INT64_MIN, INT64_MAX, std::int64_t{1} << 62, (std::int64_t{1} << 46) + 1};

TEST_F(DamagedPeersTest, PartsOfAGather) {
  for (const std::int64_t n : kStrange) {
    const Status status = run(kAgree + word(1, n), {.kind = Collective::kAllGather, .tensors = part_, .out = whole_});
    EXPECT_EQ(status.id(), "ARG-COMM-029") << n << ": " << status.to_string();
  }
  // Parts that are sizes and do not make up the whole, and a list that is shorter than this task's.
  for (const std::string& orders : {word(1, 3), word(0, 0), word(0, 16), word(0, 7)}) {
    const Status status = run(kAgree + orders, {.kind = Collective::kAllGather, .tensors = part_, .out = whole_});
    EXPECT_EQ(status.id(), "ARG-COMM-001") << status.to_string();
  }
}

TEST_F(DamagedPeersTest, PartsOfASum) {
  for (const std::int64_t n : kStrange) {
    const Status status =
        run(kAgree + word(1, n), {.kind = Collective::kReduceScatter, .tensors = whole_, .out = part_});
    EXPECT_EQ(status.id(), "ARG-COMM-029") << n << ": " << status.to_string();
  }
  // As many elements as no memory has.
  EXPECT_FALSE(run(kAgree + word(1, std::int64_t{1} << 46),
                   {.kind = Collective::kReduceScatterShards, .out = part_, .shards = shards_})
                   .ok());
}

TEST_F(DamagedPeersTest, ListsOfAnExchange) {
  for (const std::int64_t bytes : {0, 8, 40, 56}) {
    const Status status =
        run(kAgree + word(0, bytes), {.kind = Collective::kAllToAllParts, .tensors = six_, .out = into_});
    EXPECT_EQ(status.id(), "ARG-COMM-001") << bytes << ": " << status.to_string();
  }
}

TEST_F(DamagedPeersTest, ShardsOfASum) {
  for (const std::int64_t shard : {std::int64_t{-1}, std::int64_t{3}, std::int64_t{INT32_MAX}, std::int64_t{1} << 32}) {
    const Status status =
        run(kAgree + word(1, shard), {.kind = Collective::kAllReduceShards, .out = sum_, .shards = shards_});
    EXPECT_EQ(status.id(), "ARG-COMM-001") << shard << ": " << status.to_string();
    EXPECT_THAT(status.message(), testing::HasSubstr(std::to_string(shard)));
  }
}

// Two lengths whose sum is a small number again.
TEST_F(DamagedPeersTest, LengthsOfTexts) {
  for (const std::string& orders : {word(0, INT64_MAX), word(0, -1), word(0, INT64_MIN) + word(0, INT64_MIN),
                                    word(0, (std::int64_t{1} << 30) + 1)}) {
    NetGroup group(std::make_unique<DamagedPeers>(kAgree + orders, true));
    const auto texts = group.gather_texts(std::string(600, 'x'), "name");
    ASSERT_FALSE(texts.ok());
    EXPECT_EQ(texts.status().id(), "ARG-COMM-029") << texts.status().to_string();
  }
  // More than comes: memory that nobody wrote is not taken.
  NetGroup group(std::make_unique<DamagedPeers>(kAgree + word(0, 1 << 30) + word(0, 1 << 30), true));
  EXPECT_EQ(group.gather_texts("text", "name").status().code(), Code::kUnavailable);
}

// Words: the blob's length, how many values, dtype, rank, the size.
TEST_F(DamagedPeersTest, ValuesOfAnyShape) {
  for (const std::string& orders :
       {word(2, 0), word(2, 300), word(2, 257), word(2, 7), word(3, -1), word(3, 255), word(3, 254), word(4, -1),
        word(4, std::int64_t{1} << 40), word(4, 7), word(1, 2), word(1, INT64_MAX), word(1, 0)}) {
    NetGroup group(std::make_unique<DamagedPeers>(orders, true));
    std::promise<Status> ended;
    group.start_gather_values(whole_, 9, [&](Result<std::vector<Tensor>> values) { ended.set_value(values.status()); });
    const Status status = ended.get_future().get();
    EXPECT_FALSE(status.ok()) << static_cast<int>(orders[1]);
  }
}

TEST_F(DamagedPeersTest, AnythingIsAnswered) {
  std::mt19937_64 random(34);
  for (int round = 0; round < 500; ++round) {
    std::string orders;
    for (int i = 0; i < 6; ++i) {
      orders += random() % 2 == 0 ? std::string(1, '\0')
                                  : word(static_cast<int>(random() % 6),
                                         random() % 2 == 0 ? kStrange[random() % std::size(kStrange)]
                                                           : static_cast<std::int64_t>(random() % 16));
    }
    CollectiveCall call{.kind = static_cast<Collective>(random() % 9), .tensors = whole_};
    switch (call.kind) {
      case Collective::kAllReduceShards: call.tensors = {}, call.out = sum_, call.shards = shards_; break;
      case Collective::kReduceScatterShards: call.tensors = {}, call.out = part_, call.shards = shards_; break;
      case Collective::kReduceScatter: call.out = part_; break;
      case Collective::kAllGather: call.tensors = part_, call.out = whole_; break;
      case Collective::kAllToAll: call.out = sum_; break;
      case Collective::kAllToAllParts: call.tensors = six_, call.out = into_; break;
      default: break;
    }
    const Status status = run(orders, call, random() % 2 == 0);
    EXPECT_NE(status.code(), Code::kInternal) << status.to_string();  // a check that failed
  }
}

}  // namespace
}  // namespace argosy
