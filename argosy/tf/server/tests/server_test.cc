// The ten methods over a real port.
#include "argosy/tf/server/tests/server_test.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <fstream>
#include <thread>

#include "argosy/base/system/test_files.h"
#include "argosy/rpc/gate/descriptor.h"
#include "argosy/tf/server/testing/lent_block.h"

namespace argosy::tf {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const Tensor kTwo = Tensor::scalar(2.0f);

TEST_F(ServerTest, RunsAStepAndGivesEveryFetchByTheNameItWasAskedFor) {
  start();
  const std::string s = create();
  const auto r = run(s, {.feeds = {{"x:0", Tensor::vector<float>({1, 2})}}, .fetches = {"y:0", "e:0", "y", "y:0"}});
  ASSERT_EQ(r.code, 0) << r.message;
  ASSERT_EQ(r.tensors.size(), 3u);  // the one asked for twice comes once
  EXPECT_EQ(r["y:0"].to_string(), "float[2] {2, 4}");
  EXPECT_EQ(r["y"].to_string(), "float[2] {2, 4}");
  EXPECT_EQ(r["e:0"].to_string(), "float[2] {2, 8}");
  EXPECT_EQ(client_->close(s).code, 0);
}

TEST(RawClient, WaitsForAServerNoLongerThanItsDeadline) {
  // A port that is taken and not listened at: no other server can come to be there.
  const Descriptor taken(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(taken.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::getsockname(taken.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  RawClient nobody(str_cat("localhost:", ntohs(address.sin_port)), std::chrono::milliseconds(50));
  EXPECT_EQ(nobody.master("ListDevices", "").code, static_cast<int>(Code::kDeadlineExceeded));
  EXPECT_EQ(nobody.repeat("/tensorflow.MasterService/ListDevices", "", 3), -1);
}

TEST_F(ServerTest, LargeTensorsComeBackAsTheyWent) {
  start();
  const std::string s = create();
  Tensor big = Tensor::zeros(DType::kFloat32, {3, 1 << 20});
  for (std::int64_t i = 0; i < big.elements(); ++i) big.data<float>()[i] = static_cast<float>(i);
  const auto r = run(s, {.feeds = {{"x:0", big}}, .fetches = {"y:0"}});
  ASSERT_EQ(r.code, 0) << r.message;
  const Tensor out = r["y:0"];
  ASSERT_EQ(out.shape(), big.shape());
  for (std::int64_t i = 0; i < out.elements(); ++i) ASSERT_EQ(out.data<float>()[i], 2 * static_cast<float>(i));
}

TEST_F(ServerTest, LentFeedsAreReadWhereTheClientHasThem) {
  const TempDirectory folder;
  std::ofstream(folder.path() + "/secret") << "s3cret";
  start({.program_folder = folder.path()});
  const std::string session = create();
  LentBlock block("step");
  for (int i = 0; i < 4; ++i) block.floats()[i] = static_cast<float>(i);
  const Tensor token = Tensor::scalar(block.token("1 4").c_str());
  for (int times = 0; times < 3; ++times) {
    block.floats()[0] = static_cast<float>(times);
    const StepReply reply = run(session, {.feeds = {{"x:0", token}}, .fetches = {"y:0"}});
    ASSERT_EQ(reply.code, 0) << reply.message;
    EXPECT_EQ(reply["y:0"].to_string(), Tensor::vector<float>({2.f * static_cast<float>(times), 2, 4, 6}).to_string());
    EXPECT_EQ(block.users(), 0);
  }
  // A client that reads this error sends the elements.
  const StepReply refused =
      run(session, {.feeds = {{"x:0", Tensor::scalar(block.token("1 5").c_str())}}, .fetches = {"y:0"}});
  EXPECT_EQ(refused.code, code(Code::kFailedPrecondition));
  EXPECT_THAT(refused.message, HasSubstr("a lent feed cannot be used"));
}

TEST_F(ServerTest, AServerWithoutAProgramTakesATokenForAString) {
  start();
  LentBlock block("none");
  const StepReply reply =
      run(create(), {.feeds = {{"x:0", Tensor::scalar(block.token("1 4").c_str())}}, .fetches = {"y:0"}});
  EXPECT_EQ(reply.code, code(Code::kInvalidArgument));
  EXPECT_EQ(block.users(), 0);
}

TEST_F(ServerTest, NamesThatMeanNothingAreTensorFlowsErrors) {
  start();
  const std::string s = create();
  const std::pair<std::string, Tensor> x = {"x:0", kTwo};
  struct Case {
    StepCall call;
    Code code;
    std::string text;
  };
  const Case cases[] = {
      {{.feeds = {{"no:0", kTwo}}, .fetches = {"y:0"}}, Code::kNotFound, "FeedInputs: unable to find feed output no:0"},
      {{.feeds = {{"x:3", kTwo}}, .fetches = {"y:0"}}, Code::kInvalidArgument, "x:3"},
      {{.fetches = {"no:0"}}, Code::kNotFound, "FetchOutputs node no:0: not found"},
      {{.fetches = {"y:1"}}, Code::kInvalidArgument, "FetchOutputs y:1: output index too large, must be < 1"},
      {{.fetches = {"nothing:0"}}, Code::kInvalidArgument, "produces no output"},
      {{.targets = {"no"}}, Code::kNotFound, "PruneForTargets: Some target nodes not found: no"},
      {{}, Code::kInvalidArgument, "Must specify at least one target to fetch or execute."},
      {{.feeds = {x, x}, .fetches = {"y:0"}}, Code::kInvalidArgument, "fed more than once"},
      {{.feeds = {x}, .fetches = {"x:0"}}, Code::kInvalidArgument, "x:0 is both fed and fetched."},
      {{.feeds = {{"x:0", Tensor::scalar(1)}}, .fetches = {"y:0"}}, Code::kInvalidArgument, "takes float"},
      {{.fetches = {"y:0"}}, Code::kInvalidArgument, "You must feed a value for placeholder tensor 'x'"},
      {{.feeds = {x}, .fetches = {"odd:0"}}, Code::kNotFound, "Op type not registered 'NoSuchOp'"},
  };
  for (const Case& c : cases) {
    const auto r = run(s, c.call);
    EXPECT_EQ(r.code, code(c.code)) << c.text << " / " << r.message;
    EXPECT_THAT(r.message, HasSubstr(c.text));
  }
  EXPECT_EQ(run(s, {.feeds = {x}, .fetches = {"y:0"}}).code, 0) << "the session is usable after all that";
}

TEST_F(ServerTest, TheOutputOfAnOpWeLackCanBeFed) {
  start();
  const std::string s = client_->create(
      graph_text(placeholder_node("x") + node("odd", "NoSuchOp", {"x"}, "") + node("far", "Neg", {"odd"}) +
                 node("farther", "Mul", {"far", "x"}) + node("done", "NoOp", {"^farther"}, "")),
      "");
  const std::pair<std::string, Tensor> x = {"x:0", kTwo}, three = {"odd:0", Tensor::scalar(3.0f)};
  const auto missing = [&](const StepCall& call) {
    const auto r = run(s, call);
    EXPECT_EQ(r.code, code(Code::kNotFound));
    EXPECT_THAT(r.message, HasSubstr("Op type not registered 'NoSuchOp'"));
  };
  missing({.feeds = {x}, .fetches = {"farther:0"}});
  const auto fed = run(s, {.feeds = {x, three}, .fetches = {"farther:0"}});
  ASSERT_EQ(fed.code, 0) << fed.message;
  EXPECT_EQ(fed["farther:0"].to_string(), "float[] {-6}");
  const auto behind = run(s, {.feeds = {x, {"far:0", Tensor::scalar(5.0f)}}, .fetches = {"farther:0"}});
  ASSERT_EQ(behind.code, 0) << behind.message;
  EXPECT_EQ(behind["farther:0"].to_string(), "float[] {10}");
  missing({.feeds = {x}, .targets = {"done"}});
  missing({.feeds = {x}, .fetches = {"odd:0"}});
  EXPECT_EQ(run(s, {.feeds = {x, three}, .targets = {"done"}}).code, 0);
  EXPECT_EQ(run(s, {.feeds = {x, {"odd:0", Tensor::scalar(1)}}, .fetches = {"far:0"}}).code,
            code(Code::kInvalidArgument))
      << "its dtype is what its users take";
}

TEST_F(ServerTest, AnErrorNamesItsNodeAndTravelsAsTheClientAsked) {
  start();
  const std::string s = create();
  const StepCall asked{.fetches = {"v/read:0"}};
  const auto inside = run(s, asked);
  EXPECT_EQ(inside.code, code(Code::kFailedPrecondition));
  EXPECT_THAT(inside.message, StartsWith("From /job:localhost/replica:0/task:0:\n"));
  EXPECT_THAT(inside.message, HasSubstr("\n\t [[{{node v/read}}]]"));
  StepCall outside = asked;
  outside.errors_in_body = false;
  const RawReply reply = client_->master("RunStep", run_step_request(s, outside));
  EXPECT_EQ(reply.code, code(Code::kFailedPrecondition));
  EXPECT_EQ(reply.message, inside.message);
}

TEST_F(ServerTest, MessagesAreCutToWhatHeadersCarry) {
  start();
  const std::string long_name(5000, 'n');
  const std::string s = client_->create(graph_text(placeholder_node(long_name)));
  StepCall call{.fetches = {long_name + ":0"}, .errors_in_body = false};
  const RawReply reply = client_->master("RunStep", run_step_request(s, call));
  EXPECT_EQ(reply.code, code(Code::kInvalidArgument));
  EXPECT_LE(reply.message.size(), 3072u);
  EXPECT_GT(reply.message.size(), 2000u);
}

TEST_F(ServerTest, UnknownSessionsAreAborted) {
  start();
  const std::string gone = "0123456789abcdef";
  EXPECT_EQ(run(gone, {.fetches = {"y:0"}}).code, code(Code::kAborted));
  EXPECT_EQ(client_->close(gone).code, code(Code::kAborted));
  const std::string by_handle = from_text<tensorflow::CloseSessionRequest>("session_handle: '" + gone + "'");
  for (const char* method : {"ExtendSession", "PartialRunSetup", "MakeCallable", "RunCallable", "ReleaseCallable"}) {
    // ExtendSession's handle is its field 1 as well.
    EXPECT_EQ(client_->master(method, by_handle).code, code(Code::kAborted)) << method;
  }
  EXPECT_EQ(client_->master("ListDevices", by_handle).code, code(Code::kInvalidArgument));
}

TEST_F(ServerTest, RepeatedRequestsAreAbortedUnlessTheyHaveNoId) {
  start();
  const std::string s = create();
  StepCall call{.feeds = {{"x:0", kTwo}}, .fetches = {"y:0"}, .request_id = -77};
  EXPECT_EQ(run(s, call).code, 0);
  EXPECT_EQ(run(s, call).code, code(Code::kAborted));
  call.request_id = 0;
  EXPECT_EQ(run(s, call).code, 0);
  EXPECT_EQ(run(s, call).code, 0);
}

TEST_F(ServerTest, ExtendingCountsVersions) {
  start();
  const std::string s = create();
  const auto extend = [&](const std::string& nodes, int version) {
    tensorflow::GraphDef graph;
    graph.ParseFromString(graph_text(nodes));
    std::string request = from_text<tensorflow::CloseSessionRequest>("session_handle: '" + s + "'");
    const std::string bytes = graph.SerializeAsString();
    ARGOSY_CHECK(bytes.size() < 128 * 128);
    request += '\x12';
    if (bytes.size() >= 128) request += static_cast<char>(bytes.size() % 128 + 128);
    request += static_cast<char>(bytes.size() >= 128 ? bytes.size() / 128 : bytes.size());
    request += bytes;
    if (version != 0) request += std::string("\x18") + static_cast<char>(version);
    return client_->master("ExtendSession", request);
  };
  RawReply r = extend(node("z", "Neg", {"y"}), 0);
  ASSERT_EQ(r.code, 0) << r.message;
  EXPECT_EQ(r.bytes, "\x20\x01");
  EXPECT_EQ(run(s, {.feeds = {{"x:0", kTwo}}, .fetches = {"z:0"}})["z:0"].to_string(), "float[] {-4}");
  EXPECT_EQ(extend(node("w", "Neg", {"z"}), 0).code, code(Code::kAborted));
  EXPECT_EQ(extend(node("z", "Neg", {"y"}), 1).code, code(Code::kInvalidArgument));
  EXPECT_EQ(extend(node("w", "Neg", {"nobody"}), 1).code, code(Code::kInvalidArgument));
  EXPECT_EQ(extend(node("w", "Neg", {"z"}), 1).bytes, "\x20\x02");
}

TEST_F(ServerTest, VariablesOutliveSessionsUntilReset) {
  start();
  const std::string a = create(), b = create();
  EXPECT_EQ(run(a, {.feeds = {{"x:0", kTwo}}, .targets = {"v/assign"}}).code, 0);
  EXPECT_EQ(run(b, {.fetches = {"v/read:0"}})["v/read:0"].to_string(), "float[] {2}");
  EXPECT_EQ(client_->close(a).code, 0);
  EXPECT_EQ(run(b, {.fetches = {"v/read:0"}}).code, 0);
  const std::string alone = create(config_text("isolate_session_state: true"));
  EXPECT_EQ(run(alone, {.fetches = {"v/read:0"}}).code, code(Code::kFailedPrecondition));
  EXPECT_EQ(client_->master("Reset", from_text<tensorflow::ResetRequest>("container: 'other'")).code, 0);
  EXPECT_EQ(run(b, {.fetches = {"v/read:0"}}).code, code(Code::kAborted)) << "Reset ends all sessions";
  const std::string c = create();
  EXPECT_EQ(run(c, {.fetches = {"v/read:0"}}).code, 0) << "another container was cleared";
  EXPECT_EQ(client_->master("Reset", "").code, 0);
  EXPECT_EQ(run(create(), {.fetches = {"v/read:0"}}).code, code(Code::kFailedPrecondition));
}

TEST_F(ServerTest, HandlesOfVariablesCanBeFetchedAndFed) {
  start();
  const std::string s = create();
  EXPECT_EQ(run(s, {.feeds = {{"x:0", kTwo}}, .targets = {"v/assign"}}).code, 0);
  const RawReply reply = client_->master("RunStep", run_step_request(s, {.fetches = {"v:0"}}));
  EXPECT_THAT(reply.bytes, HasSubstr("localhost"));
  EXPECT_THAT(reply.bytes, HasSubstr("/device:CPU:0"));
}

TEST_F(ServerTest, CallablesTakeFeedsByPosition) {
  start();
  const std::string s = create();
  const auto made = client_->master(
      "MakeCallable",
      from_text<tensorflow::MakeCallableRequest>(
          "session_handle: '" + s + "' options { feed: 'x:0' fetch: 'y:0' fetch: 'e:0' fetch: 'y:0' } request_id: 5"));
  ASSERT_EQ(made.code, 0) << made.message;
  EXPECT_EQ(made.bytes, "\x08\x01");
  tensorflow::CloseSessionRequest head;
  head.set_session_handle(s);
  tensorflow::TensorProto three;
  three.set_dtype(tensorflow::DT_FLOAT);
  three.mutable_tensor_shape();
  three.add_float_val(3);
  const std::string tensor = three.SerializeAsString();
  const std::string request =
      head.SerializeAsString() + std::string("\x10\x01\x1a") + static_cast<char>(tensor.size()) + tensor;
  const RawReply reply = client_->master("RunCallable", request);
  ASSERT_EQ(reply.code, 0) << reply.message;
  // Three tensors of one element each.
  EXPECT_EQ(std::count(reply.bytes.begin(), reply.bytes.end(), '\x22'), 3);
  const std::string release = head.SerializeAsString() + "\x10\x01";
  EXPECT_EQ(client_->master("ReleaseCallable", release).code, 0);
  EXPECT_EQ(client_->master("RunCallable", request).code, code(Code::kInvalidArgument));
}

TEST_F(ServerTest, PartialRunsDoEachThingOnce) {
  start();
  const std::string s = client_->create(graph_text(
      placeholder_node("x") + placeholder_node("z") + variable_nodes("v") + node("sum", "AddV2", {"v/after", "z"}) +
      node("v/after", "ReadVariableOp", {"v", "^v/add"}, "attr { key: 'dtype' value { type: DT_FLOAT } }")));
  ASSERT_EQ(run(s, {.feeds = {{"x:0", kTwo}}, .targets = {"v/assign"}}).code, 0);
  const auto setup = client_->master(
      "PartialRunSetup", from_text<tensorflow::PartialRunSetupRequest>(
                             "session_handle: '" + s + "' feed: 'x:0' feed: 'z:0' fetch: 'v/after:0' fetch: 'sum:0'"));
  ASSERT_EQ(setup.code, 0) << setup.message;
  tensorflow::PartialRunSetupResponse response;
  ASSERT_TRUE(response.ParseFromString(setup.bytes));
  const std::string h = response.partial_run_handle();
  auto r = run(s, {.feeds = {{"x:0", kTwo}}, .fetches = {"v/after:0"}, .partial_run = h});
  ASSERT_EQ(r.code, 0) << r.message;
  EXPECT_EQ(r["v/after:0"].to_string(), "float[] {4}");
  r = run(s, {.feeds = {{"z:0", kTwo}}, .fetches = {"sum:0"}, .partial_run = h});
  ASSERT_EQ(r.code, 0) << r.message;
  EXPECT_EQ(r["sum:0"].to_string(), "float[] {6}");
  EXPECT_EQ(run(s, {.fetches = {"v/read:0"}})["v/read:0"].to_string(), "float[] {4}") << "added once";
  EXPECT_EQ(run(s, {.fetches = {"sum:0"}, .partial_run = h}).code, code(Code::kInvalidArgument)) << "it is over";
}

TEST_F(ServerTest, StepsRunInParallelFromManyThreads) {
  start();
  const std::string s = create();
  ASSERT_EQ(run(s, {.feeds = {{"x:0", Tensor::scalar(0.0f)}}, .targets = {"v/assign"}}).code, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      RawClient own(server_->address());
      for (int i = 0; i < 50; ++i) {
        const auto r = own.run(s, {.feeds = {{"x:0", Tensor::scalar(1.0f)}}, .targets = {"v/add"}});
        EXPECT_EQ(r.code, 0) << r.message;
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(run(s, {.fetches = {"v/read:0"}})["v/read:0"].to_string(), "float[] {400}");
}

TEST_F(ServerTest, MetadataOnlyWhereAsked) {
  start();
  const std::string s = create();
  StepCall call{.feeds = {{"x:0", kTwo}}, .fetches = {"e:0"}};
  EXPECT_EQ(run(s, call).metadata, "");
  call.options = from_text<tensorflow::RunOptions>("trace_level: FULL_TRACE output_partition_graphs: true");
  const auto r = run(s, call);
  tensorflow::RunMetadata metadata;
  ASSERT_TRUE(metadata.ParseFromString(r.metadata)) << r.message;
  ASSERT_EQ(metadata.step_stats().dev_stats_size(), 1);
  EXPECT_EQ(metadata.step_stats().dev_stats(0).device(), "/job:localhost/replica:0/task:0/device:CPU:0");
  EXPECT_GT(metadata.step_stats().dev_stats(0).node_stats_size(), 0);
  ASSERT_EQ(metadata.partition_graphs_size(), 1);
  EXPECT_EQ(metadata.partition_graphs(0).node(0).device(), "/job:localhost/replica:0/task:0/device:CPU:0");
}

// As TensorFlow's: tf.profiler.profile reads it.
TEST_F(ServerTest, StepStatsSayWhatOpsGaveAndWhatMemoryTheyTook) {
  start();
  const std::string s = create();
  ASSERT_EQ(run(s, {.feeds = {{"x:0", kTwo}}, .targets = {"v/assign"}}).code, 0);
  StepCall call{.feeds = {{"x:0", Tensor::zeros(DType::kFloat32, {8, 3})}}, .fetches = {"e:0", "v/read:0"}};
  call.options = from_text<tensorflow::RunOptions>("trace_level: FULL_TRACE");
  const auto r = run(s, call);
  tensorflow::RunMetadata metadata;
  ASSERT_TRUE(metadata.ParseFromString(r.metadata)) << r.message;
  ASSERT_EQ(metadata.step_stats().dev_stats_size(), 1);
  int found = 0;
  for (const auto& node : metadata.step_stats().dev_stats(0).node_stats()) {
    if (node.node_name() == "v/read") {
      ++found;
      ASSERT_EQ(node.output_size(), 1);
      EXPECT_EQ(node.output(0).tensor_description().allocation_description().requested_bytes(), 4);
      EXPECT_EQ(node.memory_size(), 0) << "the variable's";
    }
    if (node.node_name() != "e") continue;
    ++found;
    ASSERT_EQ(node.output_size(), 1) << node.DebugString();
    const auto& output = node.output(0).tensor_description();
    EXPECT_EQ(output.dtype(), tensorflow::DT_FLOAT);
    ASSERT_EQ(output.shape().dim_size(), 2);
    EXPECT_EQ(output.shape().dim(0).size(), 8);
    EXPECT_EQ(output.shape().dim(1).size(), 3);
    EXPECT_EQ(output.allocation_description().requested_bytes(), 96);
    EXPECT_GE(output.allocation_description().allocated_bytes(), 96);
    EXPECT_EQ(output.allocation_description().allocator_name(), "cpu");
    ASSERT_EQ(node.memory_size(), 1);
    EXPECT_EQ(node.memory(0).allocator_name(), "cpu");
    EXPECT_EQ(node.memory(0).total_bytes(), output.allocation_description().allocated_bytes());
    EXPECT_EQ(node.memory(0).live_bytes(), node.memory(0).total_bytes());
  }
  EXPECT_EQ(found, 2) << metadata.DebugString();
}

TEST_F(ServerTest, DamagedRequestsAreErrorsOfTheirOwn) {
  start();
  const std::string s = create();
  for (const char* method : {"CreateSession", "ExtendSession", "PartialRunSetup", "RunStep", "CloseSession",
                             "ListDevices", "Reset", "MakeCallable", "RunCallable", "ReleaseCallable"}) {
    EXPECT_EQ(client_->master(method, "\x0a\xff\xff\xff").code, code(Code::kInvalidArgument)) << method;
  }
  EXPECT_NE(client_->call("/tensorflow.MasterService/NoSuchMethod", "").code, 0);
  EXPECT_EQ(client_->call("/grpc.health.v1.Health/Check", "").bytes, "\x08\x01");
  EXPECT_EQ(run(s, {.feeds = {{"x:0", kTwo}}, .fetches = {"y:0"}}).code, 0);
}

}  // namespace
}  // namespace argosy::tf
