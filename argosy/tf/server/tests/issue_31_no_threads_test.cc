// Issue 31: 300 blocked dequeues under a limit of threads ended the server: the call that came next, CloseSession,
// threw where nobody caught. Every method is called while the system has no thread left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <system_error>

#include "argosy/base/threads/test_no_threads.h"
#include "argosy/runtime/device_set/device_set.h"
#include "argosy/tf/server/service/session_service.h"
#include "argosy/tf/server/tests/server_test.h"
#include "argosy/tf/server/transport/status_page_server.h"

namespace argosy::tf {
namespace {

class ThreadlessCall final : public CallContext {
 public:
  Cancellation& cancellation() override { return cancellation_; }
  void expect_duration(std::int64_t nanos) override {
    if (nanos < 0 || nanos > 100'000)
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  }

 private:
  Cancellation cancellation_;
};

class NoThreadsTest : public testing::Test {
 protected:
  void SetUp() override {
    auto device_set = DeviceSet::make({});
    ASSERT_TRUE(device_set.ok());
    service_ = std::make_unique<SessionService>(SessionService::Options{.device_set = *device_set});
  }
  Result<std::vector<WirePiece>> call(Method method, const std::string& request) {
    ThreadlessCall context;
    const std::string_view pieces[] = {request};
    return service_->call(method, WireReader(pieces), context);
  }
  std::unique_ptr<SessionService> service_;
};

TEST_F(NoThreadsTest, EveryMethodEndsInAStatus) {
  const std::string graph =
      graph_text(placeholder_node("x") + node("y", "AddV2", {"x", "x"}, "attr { key: 'T' value { type: DT_FLOAT } }"));
  auto created = call(Method::kCreateSession, create_session_request(graph, ""));
  ASSERT_TRUE(created.ok()) << "it ends by itself: " << created.status().to_string();
  tensorflow::CreateSessionResponse response;
  ASSERT_TRUE(response.ParseFromString(joined(*created)));
  const std::string session = "session_handle: '" + response.session_handle() + "'";
  // What may block is refused, for nobody would be served meanwhile.
  const StepCall step{.feeds = {{"x:0", Tensor::scalar(2.0f)}}, .fetches = {"y:0"}};
  const auto ran = call(Method::kRunStep, run_step_request(response.session_handle(), step));
  EXPECT_EQ(ran.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(ran.status().id(), "ARG-THREAD-001");
  // Whatever comes, nothing is thrown: requests that make no sense among them.
  for (int m = 0; m < kNumMethods; ++m) {
    const auto method = static_cast<Method>(m);
    if (method == Method::kReset) continue;  // last: it closes all sessions
    for (const std::string& request :
         {std::string(), std::string("\xff"), from_text<tensorflow::CloseSessionRequest>("session_handle: 'no such'")})
      EXPECT_NO_THROW((void)call(method, request)) << method_name(method);
  }
  EXPECT_TRUE(call(Method::kListDevices, from_text<tensorflow::ListDevicesRequest>(session)).ok());
  EXPECT_TRUE(call(Method::kCloseSession, from_text<tensorflow::CloseSessionRequest>(session)).ok());
  EXPECT_TRUE(call(Method::kReset, "").ok());
}

TEST(StatusPageServer, SaysSoWhereNoThreadCanBeStarted) {
  const NoThreads none;
  const auto refused = StatusPageServer::start(
      "127.0.0.1", 0, {}, [] { return "m"; }, [] { return "s"; });
  EXPECT_EQ(refused.status().id(), "ARG-THREAD-001") << refused.status().to_string();
}

}  // namespace
}  // namespace argosy::tf
