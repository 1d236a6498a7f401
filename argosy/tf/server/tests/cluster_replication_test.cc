// Training steps of a client over the GPUs of several tasks: the bits of one process with as many GPUs, whatever runs in
// between; and what is refused.
#include "argosy/graph/gradients.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/queue/queue.h"
#include "argosy/ops/random/random.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/ops/state/state.h"
#include "argosy/rpc/gate/listening_socket.h"
#include "argosy/testing/loop.h"
#include "argosy/testing/op_cases/op_case.h"
#include "argosy/tf/graph/graph_export.h"
#include "argosy/tf/server/tests/server_test.h"

namespace argosy::tf {
namespace {

using testing::HasSubstr;

std::string exported(const Graph& g) {
  const auto text = export_graph(g);
  EXPECT_TRUE(text.ok()) << text.status().to_string();
  return text.ok() ? *text : "";
}

// Trains `w` with momentum ("train") on the loss ("loss"); "init", "set", "value".
void train_line(Graph& g, Value loss, const VariableNode& w) {
  const VariableNode speed = variable(g, Tensor::zeros(DType::kFloat32, {4, 1}), "speed");
  const Value slope = gradients(g, {loss}, {w.ref})[0];
  group(g, {g.add("ApplyMomentum", {w.ref, speed.ref, constant(g, 0.05f), slope, constant(g, 0.9f)})}, "train");
  group(g, {w.initializer, speed.initializer}, "init");
  g.add("Identity", {loss}, {}, "loss");
  g.add("Identity", {w.read}, {}, "value");
  group(g, {g.add("Assign", {w.ref, constant(g, random_tensor(DType::kFloat32, {4, 1}, 6))})}, "set");
}

// A line of rows, of which dropout leaves seven tenths.
std::string dropout_graph() {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x"), t = placeholder(g, DType::kFloat32, {-1, 1}, "t");
  const VariableNode w = variable(g, random_tensor(DType::kFloat32, {4, 1}, 5), "w");
  const Value drawn = random_uniform(g, shape(x), 0, 1, {.seed = 7});
  const Value kept = x * cast(g.add("Less", {drawn, constant(g, 0.7f)}), DType::kFloat32) / constant(g, 0.7f);
  train_line(g, reduce_mean(square(matmul(kept, w.read) - t)), w);
  return exported(g);
}

StepCall step(std::int64_t rows, std::vector<std::string> targets = {"train"}) {
  return {.feeds = {{"x:0", random_tensor(DType::kFloat32, {rows, 4}, static_cast<std::uint64_t>(rows))},
                    {"t:0", random_tensor(DType::kFloat32, {rows, 1}, 77)}},
          .fetches = {"loss:0"},
          .targets = std::move(targets)};
}

class ClusterReplication : public testing::Test {
 protected:
  // A server for each task, with so many emulated GPUs. The client is the first one's.
  void start(const std::vector<int>& gpus, const SessionServerOptions& options = {.replicate = true}) {
    client_.reset();
    servers_.clear();
    cluster_ = {};
    std::vector<Descriptor> taken;
    for (std::size_t t = 0; t < gpus.size(); ++t) {
      auto socket = listening_socket("127.0.0.1", 0);
      ASSERT_TRUE(socket.ok());
      cluster_.jobs["worker"][static_cast<int>(t)] = str_cat("127.0.0.1:", port_of(socket->get()));
      taken.push_back(*std::move(socket));
    }
    taken.clear();
    for (std::size_t t = 0; t < gpus.size(); ++t) {
      const TaskName task{"worker", static_cast<int>(t)};
      const std::string& address = *cluster_.address(task);
      SessionServerOptions own = options;
      if (gpus[t] > 0)
        own.devices.devices = own.devices.emulate = str_cat(gpus[t]);
      else
        own.devices.devices = "cpu:0";
      own.count_work = true;
      own.cluster = ClusterTask{cluster_, task};
      own.host = "127.0.0.1";
      own.port = std::atoi(address.substr(address.rfind(':') + 1).c_str());
      auto server = SessionServer::start(own);
      ASSERT_TRUE(server.ok()) << server.status().to_string();
      servers_.push_back(*std::move(server));
    }
    client_ = std::make_unique<RawClient>(*cluster_.address({"worker", 0}));
  }
  void start_alone(int gpus, bool replicate) {
    client_.reset();
    servers_.clear();
    SessionServerOptions options{.port = 0, .count_work = true, .replicate = replicate};
    options.devices.devices = options.devices.emulate = str_cat(gpus);
    auto server = SessionServer::start(options);
    ASSERT_TRUE(server.ok()) << server.status().to_string();
    servers_.push_back(*std::move(server));
    client_ = std::make_unique<RawClient>(servers_[0]->address());
  }
  StepReply run(const std::string& session, const StepCall& call) { return client_->run(session, call); }
  WorkTotals work() const { return servers_[0]->work(); }

  // Losses of training steps and evaluations of many sizes, with a write in between; then the variable.
  std::vector<Tensor> train(const std::string& graph) {
    const std::string session = client_->create(graph);
    EXPECT_EQ(run(session, {.targets = {"init"}}).code, 0);
    std::vector<Tensor> kept;
    const auto keep = [&](const StepCall& call) {
      const StepReply reply = run(session, call);
      EXPECT_EQ(reply.code, 0) << reply.message;
      if (reply.code == 0) kept.push_back(reply["loss:0"]);
    };
    for (const std::int64_t rows : {8, 7, 1, 12, 9}) {
      keep(step(rows));
      keep(step(rows + 3, {}));  // draws from the same stream, on one device
      if (rows == 7) {
        EXPECT_EQ(run(session, {.targets = {"set"}}).code, 0);
      }
    }
    const StepReply value = run(session, {.fetches = {"value:0"}});
    EXPECT_EQ(value.code, 0) << value.message;
    if (value.code == 0) kept.push_back(value["value:0"]);
    return kept;
  }

  ClusterSpec cluster_;
  std::vector<std::unique_ptr<SessionServer>> servers_;
  std::unique_ptr<RawClient> client_;
};

TEST_F(ClusterReplication, TheBitsAreThoseOfOneProcess) {
  start_alone(1, false);
  const std::vector<Tensor> one = train(dropout_graph());
  for (const std::vector<int>& gpus : {std::vector<int>{2, 2}, {1, 1, 1}, {1, 3}}) {
    int all = 0;
    for (const int n : gpus) all += n;
    start_alone(all, true);
    const std::vector<Tensor> alone = train(dropout_graph());
    const std::int64_t steps = work().replicated_steps;
    EXPECT_GE(steps, 4);
    start(gpus);
    const std::vector<Tensor> many = train(dropout_graph());
    EXPECT_EQ(work().replicated_steps, steps) << work().not_replicated;
    EXPECT_THAT(work().replicas, HasSubstr(str_cat(all, " devices")));
    ASSERT_EQ(many.size(), alone.size());
    for (std::size_t i = 0; i < many.size(); ++i) {
      EXPECT_EQ(difference(many[i], alone[i], 0), "") << i << " of " << all;
      EXPECT_EQ(difference(many[i], one[i], 1e-5), "") << i << " of " << all;
    }
  }
}

TEST_F(ClusterReplication, AQueueIsReadOnceAStep) {
  start({1, 2});
  Graph g;
  const Value rows = placeholder(g, DType::kFloat32, {-1, 4}, "rows");
  const Value queue = fifo_queue(g, {.dtypes = {DType::kFloat32}, .shapes = {PartialShape({4})}}, "queue");
  group(g, {enqueue_many(queue, {rows})}, "fill");
  const Value x = dequeue_many(queue, constant(g, 6), {DType::kFloat32})[0];
  const VariableNode w = variable(g, random_tensor(DType::kFloat32, {4, 1}, 5), "w");
  train_line(g, reduce_mean(square(matmul(x, w.read))), w);
  g.add("Identity", {queue_size(queue)}, {}, "size");
  const std::string session = client_->create(exported(g));
  EXPECT_EQ(run(session, {.targets = {"init"}}).code, 0);
  EXPECT_EQ(run(session, {.feeds = {{"rows:0", random_tensor(DType::kFloat32, {50, 4}, 3)}}, .targets = {"fill"}}).code,
            0);
  for (int i = 1; i <= 4; ++i) {
    const StepReply reply = run(session, {.fetches = {"loss:0"}, .targets = {"train"}});
    ASSERT_EQ(reply.code, 0) << reply.message;
    EXPECT_EQ(run(session, {.fetches = {"size:0"}})["size:0"].values<std::int32_t>()[0], 50 - 6 * i);
  }
  EXPECT_EQ(work().replicated_steps, 4) << work().not_replicated;
}

TEST_F(ClusterReplication, StepsAreComparedWithOneDeviceToo) {
  start({1, 1}, {.replicate = true, .check = 2});
  const std::string session = client_->create(dropout_graph());
  EXPECT_EQ(run(session, {.targets = {"init"}}).code, 0);
  for (int i = 0; i < 4; ++i) {
    const StepReply reply = run(session, step(8));
    EXPECT_EQ(reply.code, 0) << reply.message;
  }
  EXPECT_EQ(work().replicated_steps, 4) << work().not_replicated;
  EXPECT_EQ(work().checked_steps, 2);
  EXPECT_EQ(work().differing_steps, 0);
}

TEST_F(ClusterReplication, SoManyGpusAsWereAskedFor) {
  start({2, 2}, {.replicate = true, .most_gpus = 3});
  const std::string session = client_->create(dropout_graph());
  EXPECT_EQ(run(session, {.targets = {"init"}}).code, 0);
  EXPECT_EQ(run(session, step(8)).code, 0);
  EXPECT_THAT(work().replicas, HasSubstr("3 devices"));
  start({2, 1}, {.replicate = true, .most_gpus = 4});
  RawReply reply;
  EXPECT_EQ(client_->create(dropout_graph(), "", &reply), "");
  EXPECT_THAT(reply.message,
              HasSubstr("--replicate 4: the session has 3 GPUs: /job:worker/replica:0/task:0/device:GPU:0"));
}

TEST_F(ClusterReplication, TheMasterHasAGpu) {
  start({0, 2});
  const std::string session = client_->create(dropout_graph());
  EXPECT_EQ(run(session, {.targets = {"init"}}).code, 0);
  EXPECT_EQ(run(session, step(8)).code, 0);
  EXPECT_EQ(work().replicated_steps, 0);
  EXPECT_THAT(work().not_replicated, HasSubstr("are of other tasks"));
  // Filters leave the others out.
  start({1, 2});
  const std::string filtered = client_->create(dropout_graph(), config_text("device_filters: '/job:worker/task:0'"));
  EXPECT_EQ(run(filtered, {.targets = {"init"}}).code, 0);
  EXPECT_EQ(run(filtered, step(8)).code, 0);
  EXPECT_EQ(work().not_replicated, "its session has 1 GPU");
}

TEST_F(ClusterReplication, StateOnAnotherTaskIsRefusedByName) {
  start({1, 1});
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x"), t = placeholder(g, DType::kFloat32, {-1, 1}, "t");
  VariableNode w;
  {
    const auto there = g.device("/job:worker/task:1");
    w = variable(g, random_tensor(DType::kFloat32, {4, 1}, 5), "w");
    train_line(g, reduce_mean(square(matmul(x, w.read) - t)), w);
  }
  RawReply reply;
  EXPECT_EQ(client_->create(exported(g), "", &reply), "");
  EXPECT_THAT(reply.message, HasSubstr("'w' (VariableV2) is to be on /job:worker/task:1"));
  EXPECT_THAT(reply.message, HasSubstr("isolate_session_state"));
  // A client that says that its state is its own has one device's steps, and the reason.
  const std::string session = client_->create(exported(g), config_text("isolate_session_state: true"), &reply);
  ASSERT_EQ(session.size(), 16U) << reply.message;
  EXPECT_EQ(run(session, {.targets = {"init"}}).code, 0);
  const StepReply done = run(session, step(8));
  EXPECT_EQ(done.code, 0) << done.message;
}

TEST_F(ClusterReplication, ALostTaskIsTold) {
  start({1, 1});
  const std::string session = client_->create(dropout_graph());
  EXPECT_EQ(run(session, {.targets = {"init"}}).code, 0);
  EXPECT_EQ(run(session, step(8)).code, 0);
  servers_[1].reset();
  const StepReply lost = run(session, step(8));
  EXPECT_EQ(lost.code, static_cast<int>(Code::kUnavailable)) << lost.message;
  EXPECT_THAT(lost.message, HasSubstr("/job:worker/replica:0/task:1"));
  EXPECT_EQ(client_->close(session).code, 0);
}

}  // namespace
}  // namespace argosy::tf
