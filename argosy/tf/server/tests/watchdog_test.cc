// A server whose client has a kernel that goes on for seconds after its deadline: the client is answered, the pages
// name the kernel, other sessions run, and the session may be closed at once.
#include <httplib.h>

#include <future>
#include <thread>

#include "argosy/base/clock.h"
#include "argosy/base/sanitizers.h"
#include "argosy/tf/server/service/stuck_steps.h"
#include "argosy/tf/server/tests/server_test.h"

namespace argosy::tf {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using namespace std::chrono_literals;

// One decomposition of a library, which nothing interrupts: seconds on any machine, where the test wants three.
constexpr std::int64_t kLarge = kSanitized ? 1200 : 2400;
std::string svd_graph() {
  return graph_text(placeholder_node("x") +
                    node("turns", "Svd", {"x"},
                         "attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'compute_uv' value { b: true } } "
                         "attr { key: 'full_matrices' value { b: true } }"));
}

Tensor noise(std::int64_t n) {
  Tensor t = Tensor::zeros(DType::kFloat32, {n, n});
  std::uint32_t state = 1;
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    state = state * 1664525u + 1013904223u;
    t.data<float>()[i] = static_cast<float>(state >> 8) * 0x1p-24f;
  }
  return t;
}

class StuckTest : public ServerTest {
 protected:
  void SetUp() override { start({.http_port = 0, .stuck_after = 300ms}); }
  std::string page(const std::string& path) const {
    httplib::Client http("127.0.0.1", server_->http_port());
    const auto answer = http.Get(path);
    return answer ? answer->body : "no answer";
  }
};

TEST_F(StuckTest, IsAnsweredNamedAndLeft) {
#ifdef ARGOSY_TSAN
  GTEST_SKIP() << "its kernels take minutes, not seconds";
#endif
  const std::string other = create();
  RawReply reply;
  const std::string stuck = client_->create(svd_graph(), "", &reply);
  ASSERT_EQ(stuck.size(), 16u) << reply.message;
  const std::string timeout = from_text<tensorflow::RunOptions>("timeout_in_ms: 1000");
  for (const bool errors_in_body : {true, false}) {
    const std::int64_t start = now_nanos();
    const StepReply step = run(stuck, {.feeds = {{"x:0", noise(kLarge)}},
                                       .fetches = {"turns:0"},
                                       .options = timeout,
                                       .request_id = errors_in_body ? 1 : 2,
                                       .errors_in_body = errors_in_body});
    EXPECT_EQ(step.code, code(Code::kDeadlineExceeded)) << step.message;
    EXPECT_THAT(step.message, AllOf(HasSubstr("turns"), HasSubstr("Svd"), HasSubstr("cpu:0")));
    EXPECT_LT(seconds_since(start), 6);
  }
  EXPECT_THAT(page("/statusz"), AllOf(HasSubstr("do not end"), HasSubstr("node 'turns' (Svd) on cpu:0")));
  EXPECT_THAT(page("/metrics"), AllOf(HasSubstr("argosy_stuck_steps 2"), HasSubstr("argosy_stuck_steps_total 2"),
                                      HasSubstr("node=\"turns\",op=\"Svd\",device=\"cpu:0\"")));
  // Others run meanwhile.
  const StepReply quick = run(other, {.feeds = {{"x:0", Tensor::scalar(2.0f)}}, .fetches = {"y:0"}});
  EXPECT_EQ(quick.code, 0) << quick.message;
  const std::int64_t start = now_nanos();
  EXPECT_EQ(client_->close(stuck).code, 0);
  EXPECT_LT(seconds_since(start), 6);
  EXPECT_THAT(page("/metrics"), HasSubstr("argosy_stuck_steps 2"));
  const StepReply after = run(other, {.feeds = {{"x:0", Tensor::scalar(3.0f)}}, .fetches = {"y:0"}});
  EXPECT_EQ(after.code, 0) << after.message;
  // They end after all: nobody is told, and nothing is named any more.
  for (int i = 0; i < 3000 && page("/metrics").find("argosy_stuck_steps 0") == std::string::npos; ++i) {
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_THAT(page("/metrics"), AllOf(HasSubstr("argosy_stuck_steps 0"), HasSubstr("argosy_stuck_steps_total 2")));
  EXPECT_EQ(client_->close(other).code, 0);
}

TEST(StuckSteps, AreCountedInWords) {
  StuckSteps steps;
  EXPECT_EQ(steps.status_section(), "");
  steps.add(&steps, {});
  EXPECT_THAT(steps.status_section(), HasSubstr("1 step is over and does not end"));
  const int another = 0;
  steps.add(&another, {});
  EXPECT_THAT(steps.status_section(), HasSubstr("2 steps are over and do not end"));
}

}  // namespace
}  // namespace argosy::tf
