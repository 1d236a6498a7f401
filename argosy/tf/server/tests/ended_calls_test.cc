// Imports and partial runs that somebody ends: by a deadline, by leaving, by closing the session.
#include <future>
#include <thread>

#include "argosy/base/clock.h"
#include "argosy/base/memory/host_budget.h"
#include "argosy/tf/server/session/partial_runs.h"
#include "argosy/tf/server/tests/server_test.h"

namespace argosy::tf {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

class EndedCallsTest : public ServerTest {
 protected:
  // "d" waits for ever; "a" adds it to what is fed; "n" is there at once.
  static std::string blocking_graph() {
    const std::string types = "attr { key: 'component_types' value { list { type: DT_FLOAT } } }";
    return graph_text(placeholder_node("x") + placeholder_node("z") + node("q", "FIFOQueueV2", {}, types) +
                      node("d", "QueueDequeueV2", {"q"}, types) + node("a", "AddV2", {"x", "d"}) +
                      node("n", "Neg", {"z"}));
  }
  // Far too many functions: f0 calls f1 twice, each with other attributes, and so on. Seconds of import.
  static std::string functions_graph() {
    constexpr int kLevels = 22;
    std::string library, zeros;
    for (int i = 0; i < kLevels; ++i) zeros += str_cat("attr { key: 'A", i, "' value { i: 0 } } ");
    const auto function = [](int k, const std::string& body, const std::string& returned) {
      std::string text = str_cat("function { signature { name: 'f", k,
                                 "' input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'r' type: DT_FLOAT } ");
      for (int i = 0; i < kLevels; ++i) text += str_cat("attr { name: 'A", i, "' type: 'int' } ");
      return text + "} " + body + "ret { key: 'r' value: '" + returned + "' } } ";
    };
    const std::string f = "attr { key: 'T' value { type: DT_FLOAT } } } ";
    for (int k = 0; k < kLevels; ++k) {
      std::string body;
      for (int bit = 0; bit < 2; ++bit) {
        body += str_cat("node_def { name: 'c", bit, "' op: 'f", k + 1, "' input: 'a' ");
        for (int i = 0; i < kLevels; ++i) {
          body += str_cat("attr { key: 'A", i, "' value { ",
                          i == k ? str_cat("i: ", bit) : str_cat("placeholder: 'A", i, "'"), " } } ");
        }
        body += "} ";
      }
      body += "node_def { name: 'm0' op: 'Mul' input: 'c0:r:0' input: 'c1:r:0' " + f;
      for (int i = 1; i < 20; ++i) {
        body += str_cat("node_def { name: 'm", i, "' op: 'Neg' input: 'm", i - 1, i == 1 ? ":z:0' " : ":y:0' ", f);
      }
      library += function(k, body, "m19:y:0");
    }
    library += function(kLevels, "node_def { name: 'i' op: 'Identity' input: 'a' " + f, "i:output:0");
    return graph_text(placeholder_node("x") + node("y", "f0", {"x"}, zeros) + node("n", "Neg", {"x"}) + "library { " +
                      library + "}");
  }
  std::string set_up(const std::string& session, const std::string& names, RawReply* reply = nullptr) {
    const RawReply made = client_->master(
        "PartialRunSetup", from_text<tensorflow::PartialRunSetupRequest>("session_handle: '" + session + "' " + names));
    if (reply != nullptr) *reply = made;
    tensorflow::PartialRunSetupResponse response;
    EXPECT_TRUE(response.ParseFromString(made.bytes));
    return response.partial_run_handle();
  }
  StepCall blocked(const std::string& handle) const {
    return {.feeds = {{"x:0", Tensor::scalar(1.0f)}}, .fetches = {"a:0"}, .partial_run = handle};
  }
  std::future<StepReply> later(const std::string& session, const StepCall& call,
                               std::chrono::milliseconds timeout = {}) {
    return std::async(std::launch::async, [this, session, call, timeout] {
      RawClient own(server_->address());
      return own.run(session, call, timeout);
    });
  }
};

constexpr const char* kNames = "feed: 'x:0' feed: 'z:0' fetch: 'a:0' fetch: 'n:0'";

TEST_F(EndedCallsTest, AnImportEndsWithTheTimeoutOfItsStep) {
  start();
  const std::string s = client_->create(functions_graph());
  StepCall call{.feeds = {{"x:0", Tensor::scalar(1.0f)}}, .fetches = {"y:0"}};
  call.options = from_text<tensorflow::RunOptions>("timeout_in_ms: 30");
  const StepReply r = run(s, call);
  EXPECT_EQ(r.code, code(Code::kDeadlineExceeded)) << r.message;
  EXPECT_THAT(r.message, HasSubstr("longer than 30 ms"));
  // Others of the session are not held up for long, and without a timeout the import says what is too much.
  call.options.clear();
  const StepReply full = run(s, call);
  EXPECT_EQ(full.code, code(Code::kResourceExhausted)) << full.message;
  EXPECT_THAT(full.message, HasSubstr("10000 different sets of attributes"));
  EXPECT_EQ(run(s, {.feeds = {{"x:0", Tensor::scalar(1.0f)}}, .fetches = {"n:0"}}).code, 0);
}

TEST_F(EndedCallsTest, AnImportEndsWithItsSession) {
  start();
  const std::string s = client_->create(functions_graph());
  auto step = later(s, {.feeds = {{"x:0", Tensor::scalar(1.0f)}}, .fetches = {"y:0"}});
  wait_for_calls(1);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(client_->close(s).code, 0);
  const StepReply closed = step.get();
  EXPECT_EQ(closed.code, code(Code::kCancelled)) << closed.message;
}

TEST_F(EndedCallsTest, PartialRunsObeyTheirTimeouts) {
  start();
  const std::string s = client_->create(blocking_graph());
  StepCall call = blocked(set_up(s, kNames));
  call.options = from_text<tensorflow::RunOptions>("timeout_in_ms: 100");
  const std::int64_t begin = now_nanos();
  StepReply r = run(s, call);
  EXPECT_EQ(r.code, code(Code::kDeadlineExceeded)) << r.message;
  EXPECT_THAT(r.message, HasSubstr("longer than 100 ms"));
  const std::string hasty = client_->create(blocking_graph(), config_text("operation_timeout_in_ms: 100"));
  r = run(hasty, blocked(set_up(hasty, kNames)));
  EXPECT_EQ(r.code, code(Code::kDeadlineExceeded)) << r.message;
  EXPECT_LT(seconds_since(begin), 10);
}

TEST_F(EndedCallsTest, CloseAndResetEndPartialRuns) {
  start();
  for (const bool reset : {false, true}) {
    const std::string s = client_->create(blocking_graph());
    auto step = later(s, blocked(set_up(s, kNames)), 30s);
    wait_for_calls(1);
    std::this_thread::sleep_for(100ms);
    EXPECT_EQ(reset ? client_->master("Reset", "").code : client_->close(s).code, 0);
    ASSERT_EQ(step.wait_for(10s), std::future_status::ready) << "it runs on";
    const StepReply r = step.get();
    EXPECT_EQ(r.code, code(Code::kCancelled)) << r.message;
  }
}

TEST_F(EndedCallsTest, CallsThatWaitForTheirTurnEndWithTheirTimeouts) {
  start();
  const std::string s = client_->create(blocking_graph());
  const std::string handle = set_up(s, kNames);
  auto first = later(s, blocked(handle), 60s);
  wait_for_calls(1);
  std::this_thread::sleep_for(100ms);
  StepCall next{.feeds = {{"z:0", Tensor::scalar(1.0f)}}, .fetches = {"n:0"}, .partial_run = handle};
  next.options = from_text<tensorflow::RunOptions>("timeout_in_ms: 100");
  for (int i = 0; i < 3; ++i) {
    const StepReply r = run(s, next);
    EXPECT_EQ(r.code, code(Code::kDeadlineExceeded)) << r.message;
  }
  EXPECT_EQ(first.wait_for(0s), std::future_status::timeout) << "they ended the call that runs";
  auto waiting = later(s, {.feeds = next.feeds, .fetches = next.fetches, .partial_run = handle}, 60s);
  wait_for_calls(2);
  EXPECT_EQ(client_->close(s).code, 0);
  ASSERT_EQ(waiting.wait_for(10s), std::future_status::ready);
  EXPECT_EQ(waiting.get().code, code(Code::kCancelled));
  ASSERT_EQ(first.wait_for(10s), std::future_status::ready);
  EXPECT_EQ(first.get().code, code(Code::kCancelled));
}

// A partial run takes from the session's streams of random numbers and its queues without a shared name.
TEST_F(EndedCallsTest, PartialRunsShareTheSessionsState) {
  start();
  const std::string types = "attr { key: 'component_types' value { list { type: DT_FLOAT } } }";
  const std::string random =
      node("u", "RandomUniform", {"n"},
           "attr { key: 'T' value { type: DT_INT32 } } attr { key: 'dtype' value { type: DT_FLOAT } } "
           "attr { key: 'seed' value { i: 1 } } attr { key: 'seed2' value { i: 2 } }");
  const std::string sizes =
      "node { name: 'n' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'value' value { tensor "
      "{ "
      "dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 1 } } } } ";
  const std::string s =
      client_->create(graph_text(placeholder_node("x") + placeholder_node("z") + sizes + random +
                                 node("a", "AddV2", {"x", "u"}) + node("q", "FIFOQueueV2", {}, types) +
                                 node("e", "QueueEnqueueV2", {"q", "x"},
                                      "attr { key: 'Tcomponents' value { "
                                      "list { type: DT_FLOAT } } }") +
                                 node("size", "QueueSizeV2", {"q"}) + node("m", "Neg", {"z"})));
  std::vector<float> drawn;
  const auto draw = [&](StepCall call) {
    const StepReply r = run(s, call);
    ASSERT_EQ(r.code, 0) << r.message;
    drawn.push_back(r["a:0"].data<float>()[0]);
  };
  const StepCall plain{.feeds = {{"x:0", Tensor::scalar(0.0f)}}, .fetches = {"a:0"}};
  const std::string names = "feed: 'x:0' feed: 'z:0' fetch: 'a:0' fetch: 'm:0' fetch: 'size:0'";
  for (const bool partial : {false, true, true, false, true}) {
    StepCall call = plain;
    if (partial) call.partial_run = set_up(s, names);
    draw(call);
  }
  std::sort(drawn.begin(), drawn.end());
  EXPECT_EQ(std::unique(drawn.begin(), drawn.end()), drawn.end()) << "one stream gives each number once";
  ASSERT_EQ(run(s, {.feeds = {{"x:0", Tensor::scalar(0.0f)}}, .targets = {"e"}}).code, 0);
  const StepReply r = run(s, {.fetches = {"size:0"}, .partial_run = set_up(s, names)});
  ASSERT_EQ(r.code, 0) << r.message;
  EXPECT_EQ(*r["size:0"].data<std::int32_t>(), 1);
}

TEST_F(EndedCallsTest, OpenPartialRunsAreLimited) {
  start();
  const std::string s = client_->create(blocking_graph());
  std::string last;
  for (std::size_t i = 0; i < PartialRuns::kMostOpen; ++i) last = set_up(s, kNames);
  RawReply refused;
  set_up(s, kNames, &refused);
  EXPECT_EQ(refused.code, code(Code::kResourceExhausted));
  EXPECT_THAT(refused.message, HasSubstr("256 partial runs"));
  // One that is over makes room.
  EXPECT_NE(run(s, {.fetches = {"no such"}, .partial_run = last}).code, 0);
  EXPECT_NE(set_up(s, kNames), "");
  EXPECT_EQ(client_->close(s).code, 0);
}

TEST_F(EndedCallsTest, CopiesOfPartialRunsTakeOfTheBudget) {
  start();
  std::string nodes = placeholder_node("x") + node("n0", "Neg", {"x"});
  for (int i = 1; i < 2000; ++i) nodes += node(str_cat("n", i), "Neg", {str_cat("n", i - 1)});
  const std::string s = client_->create(graph_text(nodes));
  const std::int64_t before = host_budget().in_use();
  set_up(s, "feed: 'x:0' fetch: 'n1999:0'");
  EXPECT_GE(host_budget().in_use() - before, 2000 * 100);
  EXPECT_EQ(client_->close(s).code, 0);
  EXPECT_LE(host_budget().in_use(), before);
}

}  // namespace
}  // namespace argosy::tf
