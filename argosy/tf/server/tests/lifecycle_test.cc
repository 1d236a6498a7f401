// Steps that do not end, clients that leave, sessions that are forgotten.
#include <httplib.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "argosy/base/clock.h"
#include "argosy/base/sanitizers.h"
#include "argosy/tf/server/service/session_service.h"
#include "argosy/tf/server/tests/server_test.h"

namespace argosy::tf {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class LifecycleTest : public ServerTest {
 protected:
  // "spin" never ends where "again" is fed true, and does at once where it is fed false.
  std::string looping_graph() const {
    const std::string flag = "attr { key: 'T' value { type: DT_BOOL } }";
    return graph_text(node("again", "Placeholder", {},
                           "attr { key: 'dtype' value { type: DT_BOOL } } attr { key: 'shape' value { "
                           "shape {} } }") +
                      node("enter", "Enter", {"again"}, flag + "attr { key: 'frame_name' value { s: 'f' } }") +
                      node("merge", "Merge", {"enter", "next"}, flag + "attr { key: 'N' value { i: 2 } }") +
                      node("cond", "LoopCond", {"merge"}, "") + node("switch", "Switch", {"merge", "cond"}, flag) +
                      node("next", "NextIteration", {"switch:1"}, flag) + node("spin", "Exit", {"switch"}, flag) +
                      node("nothing", "NoOp", {}, ""));
  }
  static StepCall spin(bool for_ever) {
    return {.feeds = {{"again:0", Tensor::scalar(for_ever)}}, .fetches = {"spin:0"}};
  }
  std::string page(const std::string& path) {
    httplib::Client http("127.0.0.1", server_->http_port());
    const auto got = http.Get(path);
    return got ? got->body : "";
  }
  // Waits until the page says so.
  void wait_for(const std::string& path, const std::string& text) {
    const std::int64_t start = now_nanos();
    while (page(path).find(text) == std::string::npos) {
      ASSERT_LT(seconds_since(start), 10) << text << " is not in\n" << page(path);
      std::this_thread::sleep_for(milliseconds(10));
    }
  }
};

TEST_F(LifecycleTest, DeadlinesEndTheStepAndLeaveTheSession) {
  start();
  const std::string s = client_->create(looping_graph());
  StepCall call = spin(true);
  call.options = from_text<tensorflow::RunOptions>("timeout_in_ms: 100");
  for (int i = 0; i < 3; ++i) {
    const std::int64_t begin = now_nanos();
    const auto r = run(s, call);
    EXPECT_EQ(r.code, code(Code::kDeadlineExceeded)) << r.message;
    EXPECT_GT(seconds_since(begin), 0.09);
    EXPECT_LT(seconds_since(begin), 3);
  }
  EXPECT_EQ(run(s, spin(false)).code, 0);
  const std::string hasty = client_->create(looping_graph(), config_text("operation_timeout_in_ms: 100"));
  EXPECT_EQ(run(hasty, spin(true)).code, code(Code::kDeadlineExceeded));
  EXPECT_EQ(run(hasty, spin(false)).code, 0);
}

// What this process holds now, in bytes.
std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST_F(LifecycleTest, AThousandTimeoutsLeaveNothingBehind) {
  start();
  const std::string s = client_->create(looping_graph());
  StepCall call = spin(true);
  call.options = from_text<tensorflow::RunOptions>("timeout_in_ms: 1");
  std::int64_t before = 0;
  for (int i = 0; i < 1000; ++i) {
    if (i == 250) before = resident_bytes();
    ASSERT_EQ(run(s, call).code, code(Code::kDeadlineExceeded));
  }
  if (!kSanitized) {
    EXPECT_LT(resident_bytes() - before, std::max<std::int64_t>(before / 100, 1 << 20));
  }
  EXPECT_EQ(run(s, spin(false)).code, 0);
}

TEST_F(LifecycleTest, AClientThatLeavesTakesItsStepAlong) {
  start({.http_port = 0});
  const std::string s = client_->create(looping_graph());
  EXPECT_EQ(client_->run(s, spin(true), milliseconds(100)).code, code(Code::kDeadlineExceeded));
  wait_for("/metrics", "argosy_errors_total{code=\"CANCELLED\"} 1");
  EXPECT_EQ(run(s, spin(false)).code, 0);
}

TEST_F(LifecycleTest, ClosingEndsTheSessionsStepsAndWaitsForThem) {
  start({.http_port = 0});
  const std::string s = client_->create(looping_graph()), other = client_->create(looping_graph());
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      RawClient own(server_->address());
      EXPECT_EQ(own.run(s, spin(true)).code, code(Code::kCancelled));
    });
  }
  wait_for_calls(3);
  wait_for("/statusz", "at work on 3 calls");
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ(client_->close(s).code, 0);
  for (auto& t : threads) t.join();
  EXPECT_EQ(client_->close(s).code, code(Code::kAborted));
  EXPECT_EQ(run(other, spin(false)).code, 0);
}

TEST_F(LifecycleTest, AStepThatIsUsuallyShortAndBlocksHoldsNobodyUp) {
  start();
  const std::string s = client_->create(looping_graph());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run(s, spin(false)).code, 0);
  std::vector<std::thread> stuck;
  for (int i = 0; i < 4; ++i) {
    stuck.emplace_back([&] {
      RawClient own(server_->address());
      EXPECT_NE(own.run(s, spin(true)).code, 0);
    });
  }
  wait_for_calls(4);
  for (int i = 0; i < 20; ++i) {
    RawClient own(server_->address());
    const auto r = own.run(s, {.targets = {"nothing"}}, milliseconds(5000));
    EXPECT_EQ(r.code, 0) << r.message;
  }
  EXPECT_EQ(client_->close(s).code, 0);
  for (auto& t : stuck) t.join();
}

TEST_F(LifecycleTest, ForgottenSessionsEndWithTheirLease) {
  start({.session_lease = std::chrono::seconds(1)});
  const std::string s = client_->create(looping_graph()), busy = client_->create(looping_graph());
  std::thread works([&] {
    RawClient own(server_->address());
    EXPECT_EQ(own.run(busy, spin(true)).code, code(Code::kCancelled));
  });
  wait_for_calls(1);
  std::this_thread::sleep_for(milliseconds(2500));
  EXPECT_EQ(run(s, spin(false)).code, code(Code::kAborted));
  EXPECT_EQ(server_->num_sessions(), 1) << "a session at work is not forgotten";
  EXPECT_EQ(client_->close(busy).code, 0);
  works.join();
}

// A connection, as a lease sees it.
class Link final : public ClientLink {
 public:
  std::int64_t gone_at() const override { return gone_; }
  void leave() { gone_ = now_nanos(); }

 private:
  std::atomic<std::int64_t> gone_{0};
};

// A call whose client leaves once it was asked for: from then on nobody knows its connection.
class CallOfLeaver final : public CallContext {
 public:
  explicit CallOfLeaver(std::shared_ptr<Link> link) : link_(std::move(link)) {}
  Cancellation& cancellation() override { return cancellation_; }
  void expect_duration(std::int64_t) override {}
  std::shared_ptr<const ClientLink> client() override {
    if (link_ != nullptr) link_->leave();
    return std::exchange(link_, nullptr);
  }

 private:
  Cancellation cancellation_;
  std::shared_ptr<Link> link_;
};

TEST(SessionLease, WhoLeavesWhileACallIsServedIsGone) {
  using std::chrono::nanoseconds;
  const auto link = std::make_shared<Link>();
  SessionLease lease;
  lease.opened_by(link);
  EXPECT_FALSE(lease.orphaned(nanoseconds(0)));
  link->leave();
  CallOfLeaver last(nullptr);
  lease.called_by(last);
  std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(lease.orphaned(nanoseconds(0))) << "its last call is served after its end";
  CallOfLeaver again(std::make_shared<Link>());
  lease.called_by(again);
  EXPECT_FALSE(lease.orphaned(std::chrono::hours(1))) << "it came back";
}

TEST(SessionLease, ASessionWhoseClientLeftWhileItWasMadeIsClosed) {
  auto device_set = DeviceSet::make({});
  ASSERT_TRUE(device_set.ok());
  SessionService service({.device_set = *device_set, .client_lease = std::chrono::seconds(1)});
  CallOfLeaver call(std::make_shared<Link>());
  const std::string request = create_session_request(graph_text(placeholder_node("x")), "");
  const std::string_view pieces[] = {request};
  ASSERT_TRUE(service.call(Method::kCreateSession, WireReader(pieces), call).ok());
  EXPECT_EQ(service.close_expired(), 0);
  std::this_thread::sleep_for(milliseconds(1200));
  EXPECT_EQ(service.close_expired(), 1);
  EXPECT_TRUE(service.sessions().empty());
}

TEST_F(LifecycleTest, SessionsAreCountedAndLimited) {
  start({.max_sessions = 2});
  const std::string a = client_->create(looping_graph());
  EXPECT_NE(client_->create(looping_graph()), "");
  RawReply reply;
  EXPECT_EQ(client_->create(looping_graph(), "", &reply), "");
  EXPECT_EQ(reply.code, code(Code::kResourceExhausted));
  EXPECT_EQ(client_->close(a).code, 0);
  EXPECT_NE(client_->create(looping_graph()), "");
}

TEST_F(LifecycleTest, StoppingEndsStepsWithinTheGraceGiven) {
  start();
  const std::string s = client_->create(looping_graph());
  std::thread works([&] {
    RawClient own(server_->address());
    EXPECT_NE(own.run(s, spin(true)).code, 0);
  });
  wait_for_calls(1);
  std::this_thread::sleep_for(milliseconds(100));
  const std::int64_t begin = now_nanos();
  server_->stop(milliseconds(100));
  EXPECT_LT(seconds_since(begin), 5);
  works.join();
}

TEST_F(LifecycleTest, PagesForPeopleAndMachines) {
  start({.devices = {.emulate = "1"}, .http_port = 0});
  const std::string s = client_->create(looping_graph());
  EXPECT_EQ(run(s, spin(false)).code, 0);
  EXPECT_EQ(run(s, {.fetches = {"no:0"}}).code, code(Code::kNotFound));
  const std::string metrics = page("/metrics");
  for (const char* line :
       {"argosy_rpcs_total{method=\"RunStep\"} 2\n", "argosy_sessions 1\n",
        "argosy_errors_total{code=\"NOT_FOUND\"} 1\n", "argosy_step_seconds_count 2\n",
        "argosy_device_bytes{device=\"gpu:0\"}", "argosy_connections 1\n",
        "argosy_connections_total{fate=\"shut_out\"} 0\n", "# TYPE argosy_step_seconds histogram\n"}) {
    EXPECT_THAT(metrics, HasSubstr(line));
  }
  EXPECT_THAT(page("/statusz"), HasSubstr("emulated"));
  EXPECT_EQ(page("/healthz"), "ok\n");
  EXPECT_EQ(page("/other"), "");
  SessionServerOptions taken{.port = server_->port()};
  EXPECT_EQ(SessionServer::start(taken).status().code(), Code::kUnavailable);
  SessionServerOptions http_taken{.port = 0, .http_port = server_->http_port()};
  EXPECT_EQ(SessionServer::start(http_taken).status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace argosy::tf
