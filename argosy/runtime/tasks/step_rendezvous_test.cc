// Which steps are kept on a task, whatever others ask for.
#include <gmock/gmock.h>

#include <vector>

#include "argosy/runtime/tasks/task_rendezvous.h"

namespace argosy {
namespace {

constexpr const char* kTask = "/job:ps/replica:0/task:0";

RendezvousKey key_of(int number) {
  return {.send_device = str_cat(kTask, "/device:CPU:0"),
          .send_incarnation = 7,
          .receive_device = "/job:worker/replica:0/task:0/device:CPU:0",
          .edge = str_cat("edge_", number)};
}

class StepRendezvousTest : public testing::Test {
 protected:
  // What a receive was told; null: it waits.
  using Told = std::shared_ptr<std::unique_ptr<Result<Rendezvous::Received>>>;
  Told receive(std::int64_t step, int key, std::int64_t* number = nullptr) {
    auto told = std::make_shared<std::unique_ptr<Result<Rendezvous::Received>>>();
    const std::int64_t got = steps_.receive(step, key_of(key), [told](Result<Rendezvous::Received> value) {
      EXPECT_EQ(*told, nullptr) << "told twice";
      *told = std::make_unique<Result<Rendezvous::Received>>(std::move(value));
    });
    EXPECT_EQ(got == 0, *told != nullptr);
    if (number != nullptr) *number = got;
    return told;
  }
  static std::string error(const Told& told) { return *told == nullptr ? "" : std::string((*told)->status().id()); }

  StepRendezvous steps_{kTask, [](std::int64_t, const RendezvousKey&, Rendezvous::Done) {}};
};

TEST_F(StepRendezvousTest, AnEarlyReceiveGetsTheValueOnceTheStepHasBegun) {
  const Told early = receive(5, 1);
  EXPECT_EQ(*early, nullptr);
  ASSERT_TRUE(steps_.find(5)->send(key_of(1), Tensor::scalar(2.0f), false).ok());
  ASSERT_NE(*early, nullptr);
  EXPECT_EQ(*(**early)->value.data<float>(), 2.0f);
  const Told late = receive(5, 2);
  steps_.forget(5);
  EXPECT_EQ(error(late), "ARG-SEND-004");
  EXPECT_EQ(error(receive(5, 3)), "ARG-SEND-004") << "a step that was forgotten";
  EXPECT_EQ(steps_.size(), 0u);
}

TEST_F(StepRendezvousTest, WhoGivesUpLeavesNothingBehind) {
  for (int step = 0; step < 100'000; ++step) {
    std::int64_t number = 0;
    (void)receive(step, 1, &number);
    steps_.cancel_receive(step, key_of(1), number);
  }
  EXPECT_EQ(steps_.size(), 0u);
}

TEST_F(StepRendezvousTest, AValueStaysWhereItsReceiverGaveUp) {
  std::int64_t number = 0;
  const auto step = steps_.find(5);
  const Told first = receive(5, 1, &number);
  steps_.cancel_receive(5, key_of(1), number);
  steps_.cancel_receive(5, key_of(1), number);
  EXPECT_EQ(steps_.size(), 1u) << "a step that has begun stays";
  ASSERT_TRUE(step->send(key_of(1), Tensor::scalar(2.0f), false).ok());
  EXPECT_NE(*receive(5, 1), nullptr);
  EXPECT_EQ(*first, nullptr);
}

TEST_F(StepRendezvousTest, OneThatAsksTwiceTakesNothingFromTheOther) {
  std::int64_t first_number = 0, second_number = 0;
  const Told first = receive(5, 1, &first_number);
  EXPECT_EQ(error(receive(5, 1, &second_number)), "ARG-SEND-002");
  steps_.cancel_receive(5, key_of(1), second_number);
  EXPECT_EQ(steps_.size(), 1u);
  ASSERT_TRUE(steps_.find(5)->send(key_of(1), Tensor::scalar(2.0f), false).ok());
  EXPECT_NE(*first, nullptr);
}

TEST_F(StepRendezvousTest, OfReceivesThatWaitForStepsThatNeverBeginTheOldestGo) {
  std::vector<Told> told;
  for (int step = 0; step < 100'000; ++step) {
    told.push_back(receive(step, 1));
    ASSERT_LE(steps_.size(), static_cast<std::size_t>(StepRendezvous::kEarlyReceives));
    // An honest one among them: its step begins soon.
    if (step % 1000 != 999) continue;
    const std::int64_t honest = 1'000'000 + step;
    const Told early = receive(honest, 1);
    ASSERT_TRUE(steps_.find(honest)->send(key_of(1), Tensor::scalar(2.0f), false).ok());
    EXPECT_TRUE(*early != nullptr && (**early).ok());
    steps_.forget(honest);
  }
  EXPECT_EQ(error(told.front()), "ARG-SEND-008");
  EXPECT_EQ(*told.back(), nullptr);
}

TEST_F(StepRendezvousTest, OfStepsThatNobodyForgetsTheOldestGoButNotOneThatRuns) {
  const auto running = steps_.find(-1);
  for (int step = 0; step < 100'000; ++step) {
    (void)steps_.find(step)->send(key_of(1), Tensor::scalar(2.0f), false);
    ASSERT_LE(steps_.size(), StepRendezvous::kBegunSteps + 1);
  }
  EXPECT_TRUE(running->cause().ok());
  EXPECT_EQ(steps_.find(-1), running);
  EXPECT_NE(*receive(99'999, 1), nullptr) << "a step that has just ended has its values";
}

}  // namespace
}  // namespace argosy
