// A kernel that does not end although its step is over: it is named, who called is told, other steps run, and nothing
// is freed under it.
#include "argosy/runtime/device_set/watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "argosy/base/clock.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/ops.h"
#include "argosy/runtime/session/session.h"

namespace argosy {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::atomic<bool> let_go{false};
std::atomic<int> spinning{0};

// Uses its core, and looks at its input, until told; asks nobody whether its step is over.
Status spin(KernelContext& c) {
  const Tensor& x = c.input(0);
  ++spinning;
  float seen = 0;
  while (!let_go.load(std::memory_order_relaxed)) seen = x.data<float>()[0];
  --spinning;
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
  *y->data<float>() = seen;
  return ok_status();
}

class Told final : public StuckObserver {
 public:
  void stuck(const StuckStep& step) override { stuck_.set_value(step.status.to_string()); }
  void ended(const StuckStep&) override { ended_ = true; }
  std::future<std::string> told() { return stuck_.get_future(); }
  bool has_ended() const { return ended_; }

 private:
  std::promise<std::string> stuck_;
  std::atomic<bool> ended_{false};
};

class WatchdogTest : public testing::Test {
 protected:
  WatchdogTest() {
    let_go = false;
    ops_.add({.name = "Spin",
              .doc = "for these tests",
              .inputs = {"x: float"},
              .outputs = {"y: float"},
              .shape = same_as_input,
              .gradient = kNotDifferentiable,
              .stateful = true});
    kernels_.add("Spin", "cpu", spin);
  }
  ~WatchdogTest() override { let_go = true; }

  OpRegistry ops_ = copy_builtin_ops();
  KernelRegistry kernels_ = cpu_kernels();
};

TEST_F(WatchdogTest, NamesTheKernelAndLetsOthersRun) {
  for (const std::string device : {"/cpu:0", "/gpu:0"}) {
    let_go = false;
    Graph g(ops_);
    Value y;
    {
      const auto on = g.device(device);
      y = g.add("Spin", {placeholder(g, DType::kFloat32, {}, "x")}, {}, "turns");
    }
    Session session(g, {.devices = {.emulate = "1"}, .kernels = &kernels_, .stuck_after = 100ms});
    Told told;
    auto stuck = told.told();
    auto run = std::async(std::launch::async, [&] {
      return session.run({{g.value("x").value(), Tensor::scalar(3.0f)}}, {y}, {}, {.timeout = 50ms, .stuck = &told});
    });
    ASSERT_EQ(stuck.wait_for(30s), std::future_status::ready) << device;
    const std::string text = stuck.get();
    EXPECT_THAT(text, HasSubstr("DEADLINE_EXCEEDED")) << device;
    EXPECT_THAT(text, HasSubstr("node 'turns' (Spin) on " + device.substr(1)));
    EXPECT_EQ(spinning, 1);
    // The same device set's other sessions, on the host.
    Graph other(ops_);
    Value z;
    {
      const auto on = other.device("/cpu:0");
      z = identity(placeholder(other, DType::kFloat32, {}, "z"));
    }
    {
      SessionOptions options{.kernels = &kernels_};
      options.device_set = std::shared_ptr<DeviceSet>(std::shared_ptr<DeviceSet>(), &session.device_set());
      Session beside(other, options);
      const auto out = beside.run({{other.value("z").value(), Tensor::scalar(4.0f)}}, {z});
      ASSERT_TRUE(out.ok()) << out.status().to_string();
      EXPECT_EQ(*out->at(0).data<float>(), 4);
    }
    // Closing does not wait for it for ever, and frees nothing that it reads.
    const std::int64_t start = now_nanos();
    const Status closed = session.close();
    EXPECT_EQ(closed.id(), "ARG-STUCK-002") << closed.to_string();
    EXPECT_THAT(closed.message(), HasSubstr("turns"));
    EXPECT_LT(seconds_since(start), 5);
    EXPECT_EQ(spinning, 1);
    EXPECT_FALSE(told.has_ended());
    let_go = true;
    const auto out = run.get();
    EXPECT_EQ(out.status().code(), Code::kDeadlineExceeded) << out.status().to_string();
    EXPECT_TRUE(told.has_ended());
    EXPECT_EQ(spinning, 0);
    EXPECT_TRUE(session.close().ok());
  }
}

// One after another they would take six times as long.
TEST_F(WatchdogTest, ManyStuckSessionsCloseInTheTimeOfOne) {
  constexpr int kSessions = 6;
  Graph g(ops_);
  const Value y = g.add("Spin", {placeholder(g, DType::kFloat32, {}, "x")}, {}, "turns");
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::future<Status>> runs;
  for (int i = 0; i < kSessions; ++i) {
    sessions.push_back(std::make_unique<Session>(g, SessionOptions{.kernels = &kernels_, .stuck_after = 1s}));
    runs.push_back(std::async(std::launch::async, [&g, y, session = sessions.back().get()] {
      return session->run({{g.value("x").value(), Tensor::scalar(3.0f)}}, {y}).status();
    }));
  }
  while (spinning < kSessions) std::this_thread::sleep_for(1ms);
  const std::int64_t start = now_nanos();
  for (const auto& session : sessions) session->begin_close();
  EXPECT_LT(seconds_since(start), 1) << "it waits for nobody";
  for (const auto& session : sessions) EXPECT_EQ(session->close().id(), "ARG-STUCK-002");
  EXPECT_LT(seconds_since(start), 4);
  EXPECT_EQ(sessions[0]->run({{g.value("x").value(), Tensor::scalar(1.0f)}}, {y}).status().id(), "ARG-RUN-002");
  let_go = true;
  for (auto& run : runs) EXPECT_EQ(run.get().code(), Code::kCancelled);
  for (const auto& session : sessions) EXPECT_TRUE(session->close().ok());
}

TEST_F(WatchdogTest, IsQuietWhereStepsEnd) {
  Graph g(ops_);
  const Value y = identity(placeholder(g, DType::kFloat32, {}, "x"));
  Session session(g, {.stuck_after = 1ms});
  class Never final : public StuckObserver {
   public:
    void stuck(const StuckStep& step) override { ADD_FAILURE() << step.status.to_string(); }
    void ended(const StuckStep&) override { ADD_FAILURE(); }
  } never;
  Cancellation cancellation;
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(session
                    .run({{g.value("x").value(), Tensor::scalar(1.0f)}}, {y}, {},
                         {.timeout = 10s, .cancellation = &cancellation, .stuck = &never})
                    .ok());
  }
}

}  // namespace
}  // namespace argosy
