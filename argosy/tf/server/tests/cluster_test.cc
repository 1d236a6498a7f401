// Three servers of one cluster in this process, on loopback: a master's steps over them, and the worker's methods.
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <random>
#include <thread>

#include "argosy/formats/proto/worker.pb.h"
#include "argosy/rpc/gate/listening_socket.h"
#include "argosy/tf/server/testing/request_mutator.h"
#include "argosy/tf/server/tests/server_test.h"
#include "argosy/tf/worker/peers/recv_tensor.h"
#include "argosy/tf/worker/run_graph_message.h"

namespace argosy::tf {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kPs = "/job:ps/replica:0/task:0";
constexpr const char* kFirst = "/job:worker/replica:0/task:0";
constexpr const char* kSecond = "/job:worker/replica:0/task:1";
constexpr const char* kWorkerService = "/tensorflow.WorkerService/";

class ClusterTest : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<Descriptor> taken;
    std::vector<std::string> addresses;
    for (int i = 0; i < 3; ++i) {
      auto socket = listening_socket("127.0.0.1", 0);
      ASSERT_TRUE(socket.ok());
      addresses.push_back(str_cat("127.0.0.1:", port_of(socket->get())));
      taken.push_back(*std::move(socket));
    }
    taken.clear();
    cluster_.jobs["ps"][0] = addresses[0];
    cluster_.jobs["worker"][0] = addresses[1];
    cluster_.jobs["worker"][1] = addresses[2];
    for (const TaskName& task : cluster_.tasks()) start(task);
    client_ = std::make_unique<RawClient>(*cluster_.address({"worker", 0}));
    ps_ = std::make_unique<RawClient>(*cluster_.address({"ps", 0}));
  }

  void start(const TaskName& task) {
    const std::string& address = *cluster_.address(task);
    auto server = SessionServer::start({.cluster = ClusterTask{cluster_, task},
                                        .host = "127.0.0.1",
                                        .port = std::atoi(address.substr(address.rfind(':') + 1).c_str())});
    ASSERT_TRUE(server.ok()) << server.status().to_string();
    servers_[task] = *std::move(server);
  }

  // v on the ps; doubled = 2 x on the second worker; product = v * doubled on the ps; bad checks it on the first worker.
  std::string graph() const {
    const std::string dtype = "attr { key: 'dtype' value { type: DT_FLOAT } }";
    const std::string handle = dtype + " attr { key: 'shape' value { shape {} } }";
    const std::string message = " attr { key: 'message' value { s: 'no number' } }";
    return graph_text(placeholder_node("x") + node("v", "VarHandleOp", {}, handle, kPs) +
                      node("assign", "AssignVariableOp", {"v", "x"}, dtype) +
                      node("read", "ReadVariableOp", {"v"}, dtype) +
                      node("doubled", "AddV2", {"x", "x"}, kFloat, kSecond) +
                      node("product", "Mul", {"read", "doubled"}, kFloat, kPs) +
                      node("bad", "CheckNumerics", {"product"}, kFloat + message, kSecond));
  }
  std::string create(const std::string& config = "") {
    RawReply reply;
    std::string handle = client_->create(graph(), config, &reply);
    EXPECT_EQ(handle.size(), 16u) << reply.message;
    return handle;
  }
  StepReply run(const std::string& session, float x, std::vector<std::string> fetches,
                std::vector<std::string> targets = {}) {
    return client_->run(session, {.feeds = {{"x", Tensor::scalar(x)}}, .fetches = fetches, .targets = targets});
  }
  tensorflow::GetStatusResponse status(RawClient& of) {
    tensorflow::GetStatusResponse response;
    EXPECT_TRUE(response.ParseFromString(of.call(str_cat(kWorkerService, "GetStatus"), "").bytes));
    return response;
  }
  RawReply worker(std::string_view method, const std::vector<WirePiece>& request) {
    return ps_->call(str_cat(kWorkerService, method), joined(request));
  }

  const std::string kFloat = "attr { key: 'T' value { type: DT_FLOAT } }";
  ClusterSpec cluster_;
  std::map<TaskName, std::unique_ptr<SessionServer>> servers_;
  std::unique_ptr<RawClient> client_, ps_;
};

TEST_F(ClusterTest, StepRunsOnTheDevicesOfThreeTasks) {
  const std::string s = create();
  EXPECT_EQ(run(s, 3, {}, {"assign"}).code, 0);
  for (int i = 0; i < 20; ++i) {
    const StepReply reply = run(s, 5, {"product:0", "doubled:0"});
    ASSERT_EQ(reply.code, 0) << reply.message;
    EXPECT_EQ(reply["product:0"].values<float>()[0], 30);
    EXPECT_EQ(reply["doubled:0"].values<float>()[0], 10);
  }
  // The variable lives on the ps, whoever asks.
  RawClient other(*cluster_.address({"worker", 1}));
  const std::string t = other.create(graph());
  const StepReply reply = other.run(t, {.feeds = {{"x", Tensor::scalar(1.0f)}}, .fetches = {"product:0"}});
  ASSERT_EQ(reply.code, 0) << reply.message;
  EXPECT_EQ(reply["product:0"].values<float>()[0], 6);
}

TEST_F(ClusterTest, DevicesAreOfTheirTasksAndFilters) {
  tensorflow::ListDevicesRequest request;
  request.set_session_handle(create());
  tensorflow::ListDevicesResponse all;
  ASSERT_TRUE(all.ParseFromString(client_->master("ListDevices", request.SerializeAsString()).bytes));
  ASSERT_EQ(all.local_device_size(), 1);
  EXPECT_EQ(all.local_device(0).name(), str_cat(kFirst, "/device:CPU:0"));
  ASSERT_EQ(all.remote_device_size(), 2);
  EXPECT_EQ(all.remote_device(0).name(), str_cat(kPs, "/device:CPU:0"));
  EXPECT_EQ(all.remote_device(0).incarnation(), status(*ps_).device_attributes(0).incarnation());

  RawReply reply;
  EXPECT_EQ(client_->create(graph(), config_text("device_filters: '/job:ps'"), &reply), "");
  EXPECT_THAT(reply.message, HasSubstr("/job:worker/replica:0/task:1"));  // the graph names it
  request.set_session_handle(client_->create("", config_text("device_filters: '/job:ps'"), &reply));
  ASSERT_TRUE(all.ParseFromString(client_->master("ListDevices", request.SerializeAsString()).bytes));
  EXPECT_EQ(all.remote_device_size(), 1);
}

TEST_F(ClusterTest, ErrorIsOfItsTaskAndNode) {
  const std::string s = create();
  EXPECT_EQ(run(s, INFINITY, {}, {"assign"}).code, 0);
  const StepReply reply = run(s, 1, {"bad:0"});
  EXPECT_EQ(reply.code, static_cast<int>(Code::kInvalidArgument));
  EXPECT_THAT(reply.message, HasSubstr(str_cat("From ", kSecond)));
  EXPECT_THAT(reply.message, HasSubstr("{{node bad}}"));
  EXPECT_EQ(run(s, 1, {}, {"assign"}).code, 0);
  EXPECT_EQ(run(s, 1, {"bad:0"}).code, 0) << "the session stays usable";
}

TEST_F(ClusterTest, LostTaskIsUnavailableAndARestartIsNoticed) {
  const std::string s = create();
  EXPECT_EQ(run(s, 3, {}, {"assign"}).code, 0);
  EXPECT_EQ(run(s, 3, {"product:0"}).code, 0);
  servers_.erase({"ps", 0});
  const StepReply lost = run(s, 1, {"product:0"});
  EXPECT_EQ(lost.code, static_cast<int>(Code::kUnavailable)) << lost.message;
  EXPECT_THAT(lost.message, HasSubstr(kPs));
  start({"ps", 0});
  int code = 0;
  for (int i = 0; i < 50 && code != static_cast<int>(Code::kAborted); ++i) {
    code = run(s, 1, {"product:0"}).code;
    EXPECT_NE(code, 0) << "its variables are gone";
    std::this_thread::sleep_for(milliseconds(50));
  }
  EXPECT_EQ(code, static_cast<int>(Code::kAborted));
  // Also a step that the session never ran before.
  EXPECT_EQ(run(s, 1, {"read:0"}).code, static_cast<int>(Code::kAborted));
  const std::string t = create();
  EXPECT_EQ(run(t, 4, {}, {"assign"}).code, 0);
  EXPECT_EQ(run(t, 1, {"product:0"})["product:0"].values<float>()[0], 8);
}

TEST_F(ClusterTest, TaskThatIsNotThereIsNamed) {
  servers_.erase({"worker", 1});
  RawReply reply;
  EXPECT_EQ(client_->create(graph(), config_text("operation_timeout_in_ms: 500"), &reply), "");
  EXPECT_EQ(reply.code, static_cast<int>(Code::kUnavailable)) << reply.message;
  EXPECT_THAT(reply.message, HasSubstr(kSecond));
}

TEST_F(ClusterTest, ResetEmptiesContainersOfAllTasks) {
  const std::string s = create();
  EXPECT_EQ(run(s, 3, {}, {"assign"}).code, 0);
  EXPECT_EQ(client_->master("Reset", "").code, 0);
  EXPECT_EQ(run(create(), 1, {"product:0"}).code, static_cast<int>(Code::kFailedPrecondition));
}

TEST_F(ClusterTest, IsolatedSessionsShareNoVariable) {
  const std::string config = config_text("isolate_session_state: true");
  const std::string a = create(config), b = create(config);
  EXPECT_EQ(run(a, 3, {}, {"assign"}).code, 0);
  EXPECT_EQ(run(b, 4, {}, {"assign"}).code, 0);
  EXPECT_EQ(run(a, 1, {"product:0"})["product:0"].values<float>()[0], 6);
  EXPECT_EQ(run(b, 1, {"product:0"})["product:0"].values<float>()[0], 8);
}

// --- the worker's methods ----------------------------------------------------------------------------------------

TEST_F(ClusterTest, ValueOfAnotherIncarnationIsRefusedInTensorFlowsWords) {
  const std::string device = str_cat(kPs, "/device:CPU:0");
  RendezvousKey key{.send_device = device, .send_incarnation = 7, .receive_device = device, .edge = "e"};
  const RawReply wrong = worker("RecvTensor", write_recv_request({.step_id = 1, .key = key.to_string()}));
  EXPECT_EQ(wrong.code, static_cast<int>(Code::kAborted));
  EXPECT_THAT(wrong.message, HasSubstr("RecvTensor expects a different device incarnation: 7 vs. "));
  EXPECT_EQ(worker("RecvTensor", write_recv_request({.step_id = 1, .key = "no key"})).code,
            static_cast<int>(Code::kInvalidArgument));
}

TEST_F(ClusterTest, ReceiveWaitsWithoutAThreadAndEndsWithItsStep) {
  const auto incarnation = status(*ps_).device_attributes(0).incarnation();
  const std::string device = str_cat(kPs, "/device:CPU:0");
  std::vector<std::future<RawReply>> waiting;
  for (int i = 0; i < 64; ++i) {
    RendezvousKey key{
        .send_device = device, .send_incarnation = incarnation, .receive_device = device, .edge = str_cat("edge_", i)};
    waiting.push_back(std::async(std::launch::async, [this, key] {
      return RawClient(*cluster_.address({"ps", 0}))
          .call(str_cat(kWorkerService, "RecvTensor"),
                joined(write_recv_request({.step_id = 9, .key = key.to_string()})));
    }));
  }
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_EQ(status(*ps_).device_attributes_size(), 1) << "others are served meanwhile";
  tensorflow::CleanupGraphRequest over;
  over.set_step_id(9);
  for (auto& reply : waiting) {
    do {  // a busy machine may bring a receive after the step's end
      EXPECT_EQ(ps_->call(str_cat(kWorkerService, "CleanupGraph"), over.SerializeAsString()).code, 0);
    } while (reply.wait_for(milliseconds(100)) != std::future_status::ready);
    EXPECT_NE(reply.get().code, 0);
  }
}

TEST_F(ClusterTest, RunGraphOfAnUnknownGraphOrTwiceIsAborted) {
  const RunGraphCall call{.session = "s", .graph = "none", .step_id = 5, .request_id = 77};
  const auto request = write_run_graph(call);
  ASSERT_TRUE(request.ok());
  const auto error_of = [](const RawReply& reply) {
    const std::string_view pieces[] = {reply.bytes};
    return read_run_graph_answer(WireReader(pieces)).status();
  };
  const Status unknown = error_of(worker("RunGraph", *request));
  EXPECT_EQ(unknown.code(), Code::kAborted);
  EXPECT_THAT(unknown.message(), HasSubstr("Session handle is not found: s")) << "it has no graph here";
  const Status twice = error_of(worker("RunGraph", *request));
  EXPECT_EQ(twice.code(), Code::kAborted);
  EXPECT_THAT(twice.message(), HasSubstr("received twice"));
}

TEST_F(ClusterTest, SessionsOfAMasterThatIsGoneEndWithItsNextLife) {
  tensorflow::CreateWorkerSessionRequest request;
  request.set_session_handle("one");
  request.set_master_task(kFirst);
  request.set_master_incarnation(1);
  const std::string create = str_cat(kWorkerService, "CreateWorkerSession");
  EXPECT_EQ(ps_->call(create, request.SerializeAsString()).code, 0);
  EXPECT_EQ(ps_->call(create, request.SerializeAsString()).code, static_cast<int>(Code::kAlreadyExists));
  request.set_session_handle("two");
  request.set_master_incarnation(2);
  EXPECT_EQ(ps_->call(create, request.SerializeAsString()).code, 0);
  request.set_session_handle("one");
  EXPECT_EQ(ps_->call(create, request.SerializeAsString()).code, 0) << "the first was ended";
}

TEST_F(ClusterTest, UnknownOpsAndDamagedGraphsAreErrors) {
  WireWriter request;
  request.bytes_field(1, "s");
  request.bytes_field(2, graph_text(node("odd", "NoSuchOp", {}, "")));
  const RawReply reply = worker("RegisterGraph", request.take());
  EXPECT_EQ(reply.code, static_cast<int>(Code::kNotFound)) << reply.message;
  EXPECT_THAT(reply.message, HasSubstr("NoSuchOp"));
}

// Whatever arrives at the worker's methods, the server answers, and goes on working.
TEST_F(ClusterTest, MutantsOfTheWorkersRequests) {
  const char* const wanted = std::getenv("ARGOSY_MUTATIONS");
  const int count = wanted != nullptr ? std::atoi(wanted) : 600;
  const std::string device = str_cat(kPs, "/device:CPU:0");
  const RendezvousKey key{.send_device = device, .send_incarnation = 7, .receive_device = device, .edge = "e"};
  WireWriter graph_request;
  graph_request.bytes_field(1, "s");
  graph_request.bytes_field(2, graph_text(node("a", "NoOp", {}, "", device) + placeholder_node("x")));
  tensorflow::CreateWorkerSessionRequest session;
  session.set_session_handle("m");
  (*session.mutable_server_def()->mutable_cluster()->add_job()->mutable_tasks())[0] = "127.0.0.1:1";
  const std::pair<const char*, std::string> seeds[] = {
      {"RegisterGraph", joined(graph_request.take())},
      {"RunGraph",
       joined(*write_run_graph(
           {.session = "s", .graph = "g", .step_id = 3, .sends = {{key.to_string(), Tensor::scalar(1.0f)}}}))},
      {"RecvTensor", joined(write_recv_request({.step_id = 3, .key = key.to_string(), .request_id = 4}))},
      {"CreateWorkerSession", session.SerializeAsString()},
      {"CleanupAll", "\x0a\x01x"}};
  std::mt19937_64 random(11);
  for (int i = 0; i < count; ++i) {
    const auto& [method, seed] = seeds[random() % std::size(seeds)];
    const RawReply reply = ps_->call(str_cat(kWorkerService, method), mutate(seed, random), milliseconds(20'000));
    ASSERT_NE(reply.code, static_cast<int>(Code::kUnavailable)) << "run " << i << " of " << method;
    ASSERT_NE(reply.code, static_cast<int>(Code::kDeadlineExceeded)) << "run " << i << " of " << method;
  }
  const std::string s = create();
  EXPECT_EQ(run(s, 3, {"doubled:0"}, {"assign"}).code, 0);
}

}  // namespace
}  // namespace argosy::tf
