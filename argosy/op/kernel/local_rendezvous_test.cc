#include "argosy/op/kernel/local_rendezvous.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <thread>

#include "argosy/op/kernel/derived_status.h"

namespace argosy {
namespace {

RendezvousKey key(const std::string& edge, std::uint64_t frame = 0, std::int64_t iteration = 0) {
  return {"/job:a/replica:0/task:0/device:CPU:0",
          0x0123456789abcdefu,
          "/job:b/replica:0/task:1/device:CPU:0",
          edge,
          frame,
          iteration};
}

using Answer = std::optional<Result<Rendezvous::Received>>;
Rendezvous::Done into(Answer& answer) {
  return [&answer](Result<Rendezvous::Received> r) {
    EXPECT_FALSE(answer.has_value()) << "answered twice";
    answer.emplace(std::move(r));
  };
}

TEST(RendezvousKey, TextIsTensorFlows) {
  const RendezvousKey k = key("edge_12_weights/read", 7, 3);
  EXPECT_EQ(k.to_string(),
            "/job:a/replica:0/task:0/device:CPU:0;0123456789abcdef;/job:b/replica:0/task:1/device:CPU:0;"
            "edge_12_weights/read;7:3");
  const auto back = RendezvousKey::parse(k.to_string());
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  EXPECT_EQ(*back, k);
}

TEST(RendezvousKey, ExtremesSurvive) {
  const RendezvousKey k{"s", ~std::uint64_t{0}, "r", "e", ~std::uint64_t{0}, std::int64_t{1} << 62};
  const auto back = RendezvousKey::parse(k.to_string());
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  EXPECT_EQ(*back, k);
}

TEST(RendezvousKey, RefusesOtherForms) {
  for (const char* text : {"", ";;;;", "a;0;b;e;0:0", "a;0123456789abcdeg;b;e;0:0", "a;0123456789abcdef;b;e;0",
                           "a;0123456789abcdef;b;e;0:", "a;0123456789abcdef;b;e;:0", "a;0123456789abcdef;b;e;0:-1",
                           "a;0123456789abcdef;b;e;0:0;", "a;0123456789abcdef;b;;0:0", ";0123456789abcdef;b;e;0:0",
                           "a;0123456789abcdef;b;e;99999999999999999999999:0"}) {
    const auto parsed = RendezvousKey::parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().id(), "ARG-SEND-001") << text;
  }
}

TEST(LocalRendezvous, SendThenReceive) {
  LocalRendezvous r;
  ASSERT_TRUE(r.send(key("e"), Tensor::scalar(2.5f), false).ok());
  Answer answer;
  r.receive(key("e"), into(answer));
  ASSERT_TRUE(answer.has_value() && answer->ok());
  EXPECT_FALSE((*answer)->dead);
  EXPECT_EQ((*answer)->value.data<float>()[0], 2.5f);
}

TEST(LocalRendezvous, ReceiveThenSendAndDead) {
  LocalRendezvous r;
  Answer answer, other;
  r.receive(key("e"), into(answer));
  r.receive(key("e", 5, 1), into(other));
  EXPECT_FALSE(answer.has_value());
  ASSERT_TRUE(r.send(key("e", 5, 1), Tensor::scalar(1.0f), false).ok());
  EXPECT_FALSE(answer.has_value()) << "another frame's value";
  ASSERT_TRUE(r.send(key("e"), Tensor(), true).ok());
  ASSERT_TRUE(answer.has_value() && answer->ok());
  EXPECT_TRUE((*answer)->dead);
  EXPECT_FALSE((*answer)->value.valid());
  ASSERT_TRUE(other.has_value() && other->ok());
}

TEST(LocalRendezvous, OneValueAKey) {
  LocalRendezvous r;
  ASSERT_TRUE(r.send(key("e"), Tensor::scalar(1.0f), false).ok());
  EXPECT_EQ(r.send(key("e"), Tensor::scalar(1.0f), false).id(), "ARG-SEND-002");
  Answer first, second, third;
  r.receive(key("e"), into(first));
  ASSERT_TRUE(first.has_value() && first->ok());
  EXPECT_EQ(r.send(key("e"), Tensor::scalar(1.0f), false).code(), Code::kInternal) << "after it was received";
  r.receive(key("e"), into(second));
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->status().id(), "ARG-SEND-002");
  Answer waits;
  r.receive(key("f"), into(waits));
  r.receive(key("f"), into(third));
  ASSERT_TRUE(third.has_value());
  EXPECT_FALSE(third->ok());
  EXPECT_FALSE(waits.has_value());
  r.abort(cancelled("over"));
}

TEST(LocalRendezvous, AbortTellsTheFirstCause) {
  LocalRendezvous r;
  Answer early, late;
  r.receive(key("e"), into(early));
  r.abort(invalid_argument("the first"));
  r.abort(internal_error("the second"));
  ASSERT_TRUE(early.has_value());
  EXPECT_EQ(early->status().message(), "the first");
  r.receive(key("g"), into(late));
  ASSERT_TRUE(late.has_value());
  EXPECT_EQ(late->status().message(), "the first");
  EXPECT_EQ(r.send(key("h"), Tensor::scalar(1.0f), false).message(), "the first");
}

TEST(LocalRendezvous, AbortDropsValues) {
  const Tensor value = Tensor::scalar(1.0f).owned();
  const std::weak_ptr<void> memory = value.buffer().owner();
  LocalRendezvous r;
  const long before = memory.use_count();
  ASSERT_TRUE(r.send(key("e"), value, false).ok());
  EXPECT_GT(memory.use_count(), before);
  r.abort(cancelled("over"));
  EXPECT_EQ(memory.use_count(), before);
}

TEST(LocalRendezvous, EndOfSendsAnswersWhoWaits) {
  LocalRendezvous r;
  Answer waits, late, there;
  ASSERT_TRUE(r.send(key("there"), Tensor::scalar(1.0f), false).ok());
  r.receive(key("e"), into(waits));
  r.end_sends();
  ASSERT_TRUE(waits.has_value());
  EXPECT_EQ(waits->status().id(), "ARG-SEND-003");
  r.receive(key("f"), into(late));
  ASSERT_TRUE(late.has_value());
  EXPECT_EQ(late->status().id(), "ARG-SEND-003");
  r.receive(key("there"), into(there));
  EXPECT_TRUE(there.has_value() && there->ok());
}

TEST(LocalRendezvous, GoingAnswersWhoWaits) {
  Answer answer;
  {
    LocalRendezvous r;
    r.receive(key("e"), into(answer));
  }
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status().code(), Code::kCancelled);
}

// Values of 2,000 keys, sent and asked for by four threads in random orders: each arrives once.
TEST(LocalRendezvous, ThreadsInAnyOrder) {
  constexpr int kKeys = 500, kThreads = 4;
  LocalRendezvous r;
  std::atomic<int> right{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      std::vector<int> work(2 * kKeys);
      for (int i = 0; i < 2 * kKeys; ++i) work[static_cast<std::size_t>(i)] = i;
      std::shuffle(work.begin(), work.end(), random);
      for (const int w : work) {
        const int number = t * kKeys + w % kKeys;  // sends of its own keys, receives of the next thread's
        if (w < kKeys) {
          if (!r.send(key("e", 1, number), Tensor::scalar(static_cast<float>(number)), false).ok()) ++wrong;
        } else {
          const int wanted = (number + kKeys) % (kThreads * kKeys);
          r.receive(key("e", 1, wanted), [&, wanted](Result<Rendezvous::Received> got) {
            (got.ok() && got->value.data<float>()[0] == static_cast<float>(wanted) ? right : wrong)++;
          });
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, kThreads * kKeys);
  EXPECT_EQ(wrong, 0);
}

TEST(DerivedStatus, MarkIsPutOnceAndTaken) {
  const Status cause = invalid_argument("no").with_id("ARG-X-001").with_where("node 'x'").with_hint("y");
  const Status marked = derived_status(derived_status(cause));
  EXPECT_TRUE(is_derived(marked));
  EXPECT_FALSE(is_derived(cause));
  EXPECT_EQ(without_derived_mark(marked).to_string(), cause.to_string());
  EXPECT_EQ(without_derived_mark(cause).to_string(), cause.to_string());
}

}  // namespace
}  // namespace argosy
