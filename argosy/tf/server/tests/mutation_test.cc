// Mutated requests against decoder and service: every one ends, with an answer or an error, and honest requests work
// between them. ARGOSY_MUTATIONS=1000000 for the long run, ARGOSY_SEED for another one.
#include <cstdlib>

#include "argosy/base/clock.h"
#include "argosy/rpc/wire/wire_writer.h"
#include "argosy/tf/server/service/session_service.h"
#include "argosy/tf/server/testing/request_mutator.h"
#include "argosy/tf/server/tests/server_test.h"

namespace argosy::tf {
namespace {

std::int64_t from_environment(const char* name, std::int64_t fallback) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::atoll(text) : fallback;
}

// A call that somebody gives up after a while: a mutant may loop for ever, as graphs may.
class Call final : public CallContext {
 public:
  Call(Deadlines& deadlines, std::chrono::milliseconds limit) : deadlines_(deadlines) {
    token_ = deadlines.add(std::chrono::steady_clock::now() + limit, cancellation_, "test").value();
  }
  ~Call() override { deadlines_.remove(token_); }
  Cancellation& cancellation() override { return cancellation_; }
  void expect_duration(std::int64_t) override {}

 private:
  Deadlines& deadlines_;
  Cancellation cancellation_;
  Deadlines::Token token_ = 0;
};

constexpr std::chrono::milliseconds kPatience{300};

class Mutations : public testing::Test {
 protected:
  void SetUp() override {
    auto device_set = DeviceSet::make({.emulate = "gpu:32MiB"});
    ASSERT_TRUE(device_set.ok());
    service_ = std::make_unique<SessionService>(
        SessionService::Options{.device_set = *device_set, .feed_limit_bytes = 64 << 20, .max_sessions = 100});
  }
  // Honest requests are given all the time that a busy machine may need.
  Result<std::vector<WirePiece>> call(Method method, std::string_view request, std::size_t piece,
                                      std::chrono::milliseconds limit = std::chrono::seconds(30)) {
    std::vector<std::string_view> pieces;
    for (std::size_t at = 0; at < request.size(); at += piece) pieces.push_back(request.substr(at, piece));
    Call context(deadlines_, limit);
    return service_->call(method, WireReader(pieces), context);
  }
  std::string graph() const {
    const std::string flag = "attr { key: 'T' value { type: DT_BOOL } }";
    return graph_text(
        placeholder_node("x") + node("y", "AddV2", {"x", "c"}, "attr { key: 'T' value { type: DT_FLOAT } }", "/gpu:0") +
        variable_nodes("v") +
        node("c", "Const", {},
             "attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' "
             "value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: 3 } } }") +
        node("m", "MatMul", {"y2", "y2"},
             "attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'transpose_b' value { b: true } }") +
        node("y2", "Reshape", {"y", "s"},
             "attr { key: 'T' value { type: DT_FLOAT } } "
             "attr { key: 'Tshape' value { type: DT_INT32 } }") +
        node("s", "Const", {},
             "attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'value' value { tensor { "
             "dtype: DT_INT32 tensor_shape { dim { size: 2 } } tensor_content: "
             "'\\001\\000\\000\\000\\377\\377\\377\\377' } } }") +
        node("no", "Const", {},
             "attr { key: 'dtype' value { type: DT_BOOL } } attr { key: 'value' value { tensor { dtype: "
             "DT_BOOL tensor_shape {} bool_val: false } } }") +
        node("enter", "Enter", {"no"}, flag + "attr { key: 'frame_name' value { s: 'f' } }") +
        node("merge", "Merge", {"enter", "next"}, flag + "attr { key: 'N' value { i: 2 } }") +
        node("cond", "LoopCond", {"merge"}, "") + node("switch", "Switch", {"merge", "cond"}, flag) +
        node("next", "NextIteration", {"switch:1"}, flag) + node("exit", "Exit", {"switch"}, flag) +
        "library { function { signature { name: 'twice' input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'r' "
        "type: DT_FLOAT } } node_def { name: 'sum' op: 'AddV2' input: 'a' input: 'a' attr { key: 'T' value { type: "
        "DT_FLOAT } "
        "} } ret { key: 'r' value: 'sum:z:0' } } }" +
        node("call", "PartitionedCall", {"x"},
             "attr { key: 'f' value { func { name: 'twice' } } } attr { key: 'Tin' value { "
             "list { type: DT_FLOAT } } } attr { key: 'Tout' value { list { type: DT_FLOAT } } }"));
  }
  std::string create() {
    const auto reply = call(Method::kCreateSession, create_session_request(graph(), ""), 1000);
    EXPECT_TRUE(reply.ok()) << reply.status().to_string();
    tensorflow::CreateSessionResponse response;
    EXPECT_TRUE(reply.ok() && response.ParseFromString(joined(*reply)));
    return response.session_handle();
  }
  // Nodes that the graph gets later, named for the round.
  std::string addition(std::int64_t round) const {
    const std::string more = str_cat("more", round);
    return graph_text(node(more, "Mul", {"y", "x"}) + node(more + "/minus", "Sub", {more, "call"}, kFloat, "/gpu:0"));
  }
  // Nodes are looked at when a step reaches them: a session that a mutant made is asked for some.
  void run_some(std::string_view created, std::mt19937_64& random) {
    tensorflow::CreateSessionResponse response;
    if (!response.ParseFromString(std::string(created))) return;
    constexpr const char* kNames[] = {"y:0", "m:0", "exit:0", "call:0", "v/read:0", "y2:0", "switch:1", "c:0"};
    StepCall step = honest();
    step.fetches = {kNames[random() % std::size(kNames)], kNames[random() % std::size(kNames)]};
    if (random() % 2 == 0) step.targets = {"v/assign"};
    steps_answered_ +=
        call(Method::kRunStep, run_step_request(response.session_handle(), step), 1000, kPatience).ok() ? 1 : 0;
    (void)call(Method::kCloseSession,
               from_text<tensorflow::CloseSessionRequest>("session_handle: '" + response.session_handle() + "'"), 1000);
  }
  StepCall honest() const { return {.feeds = {{"x:0", Tensor::vector<float>({1, 2})}}, .fetches = {"m:0", "exit:0"}}; }

  static constexpr const char* kFloat = "attr { key: 'T' value { type: DT_FLOAT } }";
  std::int64_t steps_answered_ = 0;
  Deadlines deadlines_;
  std::unique_ptr<SessionService> service_;
};

TEST_F(Mutations, EveryMutantEndsAndHonestRequestsGoOn) {
  std::mt19937_64 random(static_cast<std::uint64_t>(from_environment("ARGOSY_SEED", 1)));
  const std::int64_t rounds = from_environment("ARGOSY_MUTATIONS", 3000);
  std::string session = create();
  std::int64_t answered = 0, slowest = 0, version = 0;
  for (std::int64_t i = 0; i < rounds; ++i) {
    StepCall assign{.feeds = {{"x:0", Tensor::vector<float>({1, 2})}}, .targets = {"v/assign"}};
    const StepCall asks{.feeds = assign.feeds,
                        .fetches = {"v/read:0", "call:0"},
                        .options = from_text<tensorflow::RunOptions>("trace_level: FULL_TRACE timeout_in_ms: 200 "
                                                                     "output_partition_graphs: true")};
    const StepCall strings{.feeds = {{"x:0", Tensor::vector<std::string>({"a", "bc"})}}, .fetches = {"y:0"}};
    const std::pair<Method, std::string> requests[] = {
        {Method::kCreateSession, create_session_request(graph(), config_text("gpu_options { visible_device_list: '0' "
                                                                             "per_process_gpu_memory_fraction: 0.5 } "
                                                                             "device_count { key: 'GPU' value: 1 }"))},
        {Method::kExtendSession, extend_session_request(session, addition(i), version)},
        {Method::kRunStep, run_step_request(session, honest())},
        {Method::kRunStep, run_step_request(session, assign)},
        {Method::kRunStep, run_step_request(session, asks)},
        {Method::kRunStep, run_step_request(session, strings)},
        {Method::kPartialRunSetup,
         from_text<tensorflow::PartialRunSetupRequest>("session_handle: '" + session +
                                                       "' feed: 'x:0' fetch: 'y:0' fetch: 'm:0' target: 'v/assign'")},
        {Method::kRunStep,
         run_step_request(session, {.feeds = assign.feeds, .fetches = {"y:0"}, .partial_run = session + ":1"})},
        {Method::kMakeCallable, from_text<tensorflow::MakeCallableRequest>(
                                    "session_handle: '" + session +
                                    "' options { feed: 'x:0' fetch: 'y:0' run_options { trace_level: FULL_TRACE } }")},
        {Method::kRunCallable,
         from_text<tensorflow::ReleaseCallableRequest>("session_handle: '" + session + "' handle: 1")},
        {Method::kReleaseCallable,
         from_text<tensorflow::ReleaseCallableRequest>("session_handle: '" + session + "' handle: 1")},
        {Method::kListDevices, from_text<tensorflow::ListDevicesRequest>("session_handle: '" + session + "'")},
        {Method::kReset, from_text<tensorflow::ResetRequest>("container: 'localhost'")},
        {Method::kCloseSession, from_text<tensorflow::CloseSessionRequest>("session_handle: '" + session + "'")},
    };
    const auto& [method, request] = requests[random() % std::size(requests)];
    const std::string mutant = mutate(request, random);
    const std::int64_t start = now_nanos();
    const auto got = call(method, mutant, 1 + random() % 200, kPatience);
    if (got.ok()) {
      ++answered;
      if (method == Method::kCreateSession) run_some(joined(*got), random);
      tensorflow::ExtendSessionResponse extended;
      if (method == Method::kExtendSession && extended.ParseFromString(joined(*got))) {
        version = extended.new_graph_version();
      }
    }
    slowest = std::max(slowest, now_nanos() - start);
    ASSERT_LT(seconds_since(start), 30) << method_name(method) << " in round " << i;
    if (i % 50 != 0) continue;
    const auto before = service_->sessions();
    if (std::ranges::none_of(before, [&](const auto& s) { return s.handle == session; }) || before.size() > 50) {
      service_->close_all();
      session = create();
      version = 0;
    }
    const auto reply = call(Method::kRunStep, run_step_request(session, honest()), 100);
    ASSERT_TRUE(reply.ok());
    const auto step = read_step_reply({.code = 0, .message = {}, .bytes = joined(*reply)});
    EXPECT_EQ(step.code, 0) << step.message << " in round " << i;
    EXPECT_EQ(step["m:0"].shape().to_string(), "[1,1]") << "the mutants cannot change an honest session's graph";
  }
  std::printf("%ld of %ld mutants answered, the slowest in %.0f ms; %ld steps of mutated graphs ran\n",
              static_cast<long>(answered), static_cast<long>(rounds), static_cast<double>(slowest) * 1e-6,
              static_cast<long>(steps_answered_));
  EXPECT_GT(steps_answered_, rounds / 1000);
  EXPECT_GT(answered, rounds / 20);
  EXPECT_LT(answered, rounds);
}

}  // namespace
}  // namespace argosy::tf
