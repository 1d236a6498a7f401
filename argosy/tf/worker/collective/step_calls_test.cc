// Pending waits of collectives: what their members are told.
#include "argosy/tf/worker/collective/step_calls.h"

#include <gtest/gtest.h>

namespace argosy::tf {
namespace {

// Its answer to cancel() comes at once, as that of a call whose task answers quickly.
class QuickCall final : public RpcClientCall {
 public:
  explicit QuickCall(std::function<void()> answer) : answer_(std::move(answer)) {}
  void cancel() override { answer_(); }

 private:
  const std::function<void()> answer_;
};

TEST(StepCalls, MembersAreToldWhyAndNotThatTheirCallIsCancelled) {
  StepCalls calls;
  Status told;
  int times = 0, cancelled_calls = 0;
  const StepCalls::Token token = calls.add(7, [&](Result<KeyedTasks::Membership> membership) {
    told = std::move(membership).status();
    ++times;
  });
  calls.set_call(token, std::make_shared<QuickCall>([&] {
                   ++cancelled_calls;
                   calls.finish(token, cancelled(""));
                 }));
  calls.end(8, internal_error("another step"));
  EXPECT_EQ(times, 0);
  calls.end(7, deadline_exceeded("nobody came"));
  EXPECT_EQ(told.message(), "nobody came");
  EXPECT_EQ(times, 1);
  EXPECT_EQ(cancelled_calls, 1);
  EXPECT_TRUE(calls.steps().empty());
  calls.set_call(token, std::make_shared<QuickCall>([&] { ++cancelled_calls; }));
  EXPECT_EQ(cancelled_calls, 2) << "its wait has ended";
}

}  // namespace
}  // namespace argosy::tf
