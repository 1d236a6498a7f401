// What a worker keeps of names that nobody has: nothing for long.
#include "argosy/tf/worker/worker_service.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>

#include <future>
#include <thread>

#include "argosy/formats/proto/tensor_proto.h"
#include "argosy/formats/proto/worker.pb.h"
#include "argosy/tf/worker/peers/recv_tensor.h"

namespace argosy::tf {
namespace {

using ::testing::HasSubstr;

class Open final : public DeferredReply {
 public:
  Cancellation& cancellation() override { return cancellation_; }
  void answer(Result<std::vector<WirePiece>> reply) override {
    if (!answered) status = reply.status();
    answered = true;
  }
  bool answered = false;
  Status status;

 private:
  Cancellation cancellation_;
};

class Call final : public CallContext {
 public:
  Cancellation& cancellation() override { return open->cancellation(); }
  void expect_duration(std::int64_t) override {}
  std::shared_ptr<DeferredReply> defer_reply() override { return open; }
  const std::shared_ptr<Open> open = std::make_shared<Open>();
};

constexpr int kNames = 100'000;

class WorkerNames : public testing::Test {
 protected:
  WorkerNames() {
    device_set_ = DeviceSet::make({.task = {"ps", 0, 0, "", std::nullopt}}).value();
    const auto cluster = ClusterSpec::parse(R"({"ps": ["127.0.0.1:1"], "worker": ["127.0.0.1:2"]})").value();
    service_ = std::make_unique<WorkerService>(WorkerServiceOptions{
        .device_set = device_set_, .peers = std::make_shared<Peers>(cluster, TaskName{"ps", 0}, PeerCredentials{})});
    methods_ = service_->methods();
  }
  RpcReply call(std::string_view method, const std::string& bytes, Call& context) {
    const auto at = std::ranges::find(methods_, str_cat("/tensorflow.WorkerService/", method), &RpcMethod::path);
    const std::string_view pieces[] = {bytes};
    return at->handler(WireReader(pieces), context);
  }
  RpcReply call(std::string_view method, const std::string& bytes) {
    Call context;
    return call(method, bytes, context);
  }
  RpcReply call(std::string_view method, const google::protobuf::MessageLite& request) {
    return call(method, request.SerializeAsString());
  }
  RpcReply register_graph(const std::string& session, const std::string& op) {
    tensorflow::GraphDef graph;
    tensorflow::NodeDef& node = *graph.add_node();
    node.set_name("n");
    node.set_op(op);
    WireWriter out;
    out.bytes_field(1, session);
    const std::string text = graph.SerializeAsString();
    out.bytes_field(2, text);
    return call("RegisterGraph", joined(out.take()));
  }
  // The run's error, which is in the body of the answer.
  Status run_graph(const RunGraphCall& run) {
    const RpcReply reply = call("RunGraph", joined(write_run_graph(run).value()));
    if (!reply.ok()) return reply.status();
    const std::string text = joined(*reply);
    const std::string_view pieces[] = {text};
    return read_run_graph_answer(WireReader(pieces)).status();
  }
  std::string key() const {
    const DeviceSpec spec = device_set_->specs()[0];
    return RendezvousKey{.send_device = spec.name.to_string(),
                         .send_incarnation = spec.incarnation,
                         .receive_device = "/job:worker/replica:0/task:0/device:CPU:0",
                         .edge = "x"}
        .to_string();
  }

  std::shared_ptr<DeviceSet> device_set_;
  std::unique_ptr<WorkerService> service_;
  std::vector<RpcMethod> methods_;
};

TEST_F(WorkerNames, RunsOfUnknownGraphsAndSessionsKeepNothing) {
  for (int i = 0; i < kNames; ++i) {
    const std::string handle = str_cat("nobody_", i);
    const RunGraphCall run{
        .session = handle, .graph = "graph", .step_id = i + 1, .request_id = i + 1, .session_called = i % 2 == 0};
    const Status status = run_graph(run);
    ASSERT_EQ(status.code(), Code::kAborted);
    ASSERT_THAT(std::string(status.message()), HasSubstr("Session handle is not found: " + handle));
    tensorflow::DeregisterGraphRequest deregister;
    deregister.set_session_handle(handle);
    deregister.set_graph_handle("graph");
    ASSERT_EQ(call("DeregisterGraph", deregister).status().code(), Code::kAborted);
    tensorflow::CleanupGraphRequest cleanup;
    cleanup.set_step_id(i + 1);
    ASSERT_TRUE(call("CleanupGraph", cleanup).ok());
  }
  EXPECT_EQ(service_->steps().size(), 0u);
  EXPECT_EQ(service_->sessions().size(), 0u);
  EXPECT_EQ(service_->shared_sessions().size(), 0u);
}

TEST_F(WorkerNames, AGraphThatCannotBeRegisteredLeavesNoSession) {
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(register_graph(str_cat("nobody_", i), "NoSuchOp").ok());
  EXPECT_EQ(service_->shared_sessions().size(), 0u);
  // One of a handle that has a graph stays, and goes with it.
  const RpcReply reply = register_graph("somebody", "NoOp");
  ASSERT_TRUE(reply.ok()) << reply.status().to_string();
  ASSERT_FALSE(register_graph("somebody", "NoSuchOp").ok());
  EXPECT_EQ(service_->shared_sessions().size(), 1u);
  tensorflow::RegisterGraphResponse registered;
  ASSERT_TRUE(registered.ParseFromString(joined(*reply)));
  RunGraphCall run{.session = "somebody", .graph = "another", .step_id = 7, .request_id = 1};
  EXPECT_THAT(std::string(run_graph(run).message()), HasSubstr("Graph handle is not found: another"));
  EXPECT_EQ(service_->steps().size(), 0u);
  run.graph = registered.graph_handle();
  run.request_id = 2;
  EXPECT_TRUE(run_graph(run).ok());
  tensorflow::DeregisterGraphRequest deregister;
  deregister.set_session_handle("somebody");
  deregister.set_graph_handle(registered.graph_handle());
  EXPECT_TRUE(call("DeregisterGraph", deregister).ok());
  EXPECT_EQ(service_->shared_sessions().size(), 0u);
}

// A client that runs a step in several calls went away, and the step waits for what nobody brings.
TEST_F(WorkerNames, CleanupEndsAPartialStepThatIsBlocked) {
  tensorflow::GraphDef graph;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "node { name: 'q' op: 'FIFOQueueV2' attr { key: 'component_types' value { list { type: DT_FLOAT } } } } "
      "node { name: 'd' op: 'QueueDequeueV2' input: 'q' attr { key: 'component_types' value { list { type: DT_FLOAT } "
      "} } }",
      &graph));
  WireWriter out;
  out.bytes_field(1, "partial");
  const std::string text = graph.SerializeAsString();
  out.bytes_field(2, text);
  const RpcReply reply = call("RegisterGraph", joined(out.take()));
  ASSERT_TRUE(reply.ok()) << reply.status().to_string();
  tensorflow::RegisterGraphResponse registered;
  ASSERT_TRUE(registered.ParseFromString(joined(*reply)));
  WireWriter run;  // RunGraphRequest: graph, step, is_partial, session, request
  run.bytes_field(1, registered.graph_handle());
  run.varint_field(2, 77);
  run.varint_field(6, 1);
  run.bytes_field(8, "partial");
  run.varint_field(11, 1);
  const RpcReply started = call("RunGraph", joined(run.take()));
  ASSERT_TRUE(started.ok()) << started.status().to_string();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  auto cleaned = std::async(std::launch::async, [&] {
    tensorflow::CleanupGraphRequest cleanup;
    cleanup.set_step_id(77);
    return call("CleanupGraph", cleanup).status();
  });
  const bool ended = cleaned.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  EXPECT_TRUE(ended) << "it waits for the step";
  if (!ended) service_->stop();
  EXPECT_TRUE(cleaned.get().ok());
  EXPECT_EQ(service_->steps().size(), 0u);
}

TEST_F(WorkerNames, RegisterGraphEndsWithItsCall) {
  tensorflow::GraphDef graph;
  for (int i = 0; i < 5000; ++i) {
    tensorflow::NodeDef& node = *graph.add_node();
    node.set_name(str_cat("n", i));
    node.set_op("NoOp");
  }
  WireWriter out;
  out.bytes_field(1, "late");
  const std::string text = graph.SerializeAsString();
  out.bytes_field(2, text);
  Call context;
  context.cancellation().cancel(cancelled("the client is gone"));
  EXPECT_EQ(call("RegisterGraph", joined(out.take()), context).status().code(), Code::kCancelled);
  EXPECT_EQ(service_->shared_sessions().size(), 0u);
}

TEST_F(WorkerNames, SessionsThatNobodyUsesGoAndUsedOnesStay) {
  const auto create = [&](const std::string& handle) {
    tensorflow::CreateWorkerSessionRequest request;
    request.set_session_handle(handle);
    return call("CreateWorkerSession", request).status();
  };
  ASSERT_TRUE(create("used").ok());
  ASSERT_TRUE(service_->sessions().find("used", TaskName{"ps", 0}).ok());
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_TRUE(create(str_cat("nobody_", i)).ok());
    ASSERT_LE(service_->sessions().size(), WorkerSessions::kUnused + 1);
  }
  EXPECT_TRUE(service_->sessions().find("used", TaskName{"ps", 0}).ok());
  EXPECT_TRUE(service_->sessions().find("nobody_19999", TaskName{"ps", 0}).ok());
  EXPECT_EQ(service_->sessions().find("nobody_0", TaskName{"ps", 0}).status().id(), "ARG-CLUSTER-012");
}

TEST_F(WorkerNames, ReceivesOfStepsThatNeverBeginAreBoundedAndHonestOnesWork) {
  const auto receive = [&](std::int64_t step, Call& context) {
    const RecvTensorRequest request{.step_id = step, .key = key(), .request_id = step};
    return call("RecvTensor", joined(write_recv_request(request)), context).status();
  };
  std::vector<std::shared_ptr<Open>> open;
  for (int i = 0; i < kNames; ++i) {
    Call context;
    ASSERT_TRUE(receive(i + 1, context).ok());
    open.push_back(context.open);
    ASSERT_LE(service_->steps().size(), static_cast<std::size_t>(StepRendezvous::kEarlyReceives));
  }
  EXPECT_EQ(open.front()->status.id(), "ARG-SEND-008");
  Call honest;
  ASSERT_TRUE(receive(-7, honest).ok());
  EXPECT_FALSE(honest.open->answered);
  ASSERT_TRUE(service_->steps().find(-7)->send(RendezvousKey::parse(key()).value(), Tensor::scalar(1.0f), false).ok());
  EXPECT_TRUE(honest.open->answered);
  EXPECT_TRUE(honest.open->status.ok());
  service_->forget(-7);
  for (const auto& call : open) call->cancellation().cancel(cancelled("the client is gone"));
  EXPECT_EQ(service_->steps().size(), 0u) << "who is gone leaves nothing";
}

TEST_F(WorkerNames, GroupsAndStepNumbersOfCollectivesAreBounded) {
  tensorflow::CompleteGroupRequest request;
  request.set_group_size(2);
  request.set_device_type("CPU");
  request.mutable_device_attributes()->set_name("/job:worker/replica:0/task:0/device:CPU:0");
  request.mutable_device_attributes()->set_device_type("CPU");
  for (int i = 0; i < kNames; ++i) {
    request.set_group_key(i);
    Call context;
    ASSERT_TRUE(call("CompleteGroup", request.SerializeAsString(), context).ok());
    context.open->cancellation().cancel(cancelled("the client is gone"));
    ASSERT_LE(service_->collectives().groups().size(), GroupTable::kFailed);
    tensorflow::GetStepSequenceRequest numbers;
    numbers.add_graph_key(i);
    ASSERT_TRUE(call("GetStepSequence", numbers).ok());
  }
  EXPECT_LT(service_->collectives().numbers().size(), 70'000u);
}

}  // namespace
}  // namespace argosy::tf
