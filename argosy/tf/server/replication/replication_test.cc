// Training steps of a client on all GPUs: the same as on one, whatever runs in between.
#include <thread>

#include "argosy/graph/gradients.h"
#include "argosy/ops/cast/cast.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/control_flow.h"
#include "argosy/ops/control_flow/functional.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/queue/queue.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/ops/state/state.h"
#include "argosy/testing/op_cases/op_case.h"
#include "argosy/tf/graph/graph_export.h"
#include "argosy/tf/server/replication/replicated_step.h"
#include "argosy/tf/server/tests/server_test.h"

namespace argosy::tf {
namespace {

using testing::HasSubstr;

// A line fitted by gradient descent with momentum, as a client would send it; `rows` of its placeholders. All of it
// asks for `device`.
std::string line_graph(std::int64_t rows, const std::string& device = "") {
  Graph g;
  const auto on = g.device(device);
  const Value x = placeholder(g, DType::kFloat32, {rows, 4}, "x"), t = placeholder(g, DType::kFloat32, {rows, 1}, "t");
  const VariableNode w = variable(g, random_tensor(DType::kFloat32, {4, 1}, 5), "w");
  const VariableNode speed = variable(g, Tensor::zeros(DType::kFloat32, {4, 1}), "speed");
  const Value loss = reduce_mean(square(matmul(x, w.read) - t));
  const Value slope = gradients(g, {loss}, {w.ref})[0];
  group(g, {g.add("ApplyMomentum", {w.ref, speed.ref, constant(g, 0.05f), slope, constant(g, 0.9f)})}, "train");
  group(g, {w.initializer, speed.initializer}, "init");
  g.add("Identity", {loss}, {}, "loss");
  g.add("Identity", {w.read}, {}, "value");
  group(g, {g.add("Assign", {w.ref, constant(g, random_tensor(DType::kFloat32, {4, 1}, 6))})}, "set");
  const auto text = export_graph(g);
  EXPECT_TRUE(text.ok()) << text.status().to_string();
  return text.ok() ? *text : "";
}

// What trains this variable by gradient descent ("train"), initialises it ("init") and gives the loss ("loss").
std::string descent(Graph& g, Value loss, const VariableNode& w) {
  const Value slope = gradients(g, {loss}, {w.ref})[0];
  group(g, {g.add("ApplyGradientDescent", {w.ref, constant(g, 0.05f), slope})}, "train");
  group(g, {w.initializer}, "init");
  g.add("Identity", {loss}, {}, "loss");
  const auto text = export_graph(g);
  EXPECT_TRUE(text.ok()) << text.status().to_string();
  return text.ok() ? *text : "";
}

// The same whose gradient a function computes. `updates`: the function writes the variable, too.
std::string descent_in_function(bool updates) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x"), t = placeholder(g, DType::kFloat32, {-1, 1}, "t");
  const Tensor start = random_tensor(DType::kFloat32, {4, 1}, 5);
  const Value w = g.add("VarHandleOp", {},
                        {{"dtype", DType::kFloat32}, {"shape", PartialShape(start.shape())}, {"shared_name", "w"}});
  const auto update = [&](const Value& slope) {
    return g.add("ResourceApplyGradientDescent", {w, constant(g, 0.05f), slope});
  };
  const FunctionValue f = define_function(g, "step", {}, [&](const std::vector<Value>&) -> std::vector<Value> {
    const Value read = g.add("ReadVariableOp", {w}, {{"dtype", DType::kFloat32}});
    const Value loss = reduce_mean(square(matmul(x, read) - t));
    const Value slope = gradients(g, {loss}, {read})[0];
    if (!updates) return {loss, slope};
    const auto after = g.control_dependencies({update(slope)});
    return {g.add("Identity", {loss}), slope};
  });
  const std::vector<Value> given = call(g, f, {}, "call");
  group(g, {updates ? given[0].control() : update(given[1])}, "train");
  group(g, {g.add("AssignVariableOp", {w, constant(g, start)})}, "init");
  g.add("Identity", {given[0]}, {}, "loss");
  const auto text = export_graph(g);
  EXPECT_TRUE(text.ok()) << text.status().to_string();
  return text.ok() ? *text : "";
}

class ReplicationTest : public ServerTest {
 protected:
  void start_with(bool replicate) {
    start({.devices = {.emulate = "gpu:64MiB,gpu:64MiB@0.5,gpu:64MiB"}, .count_work = true, .replicate = replicate});
  }
  static StepCall step(std::int64_t x_rows, std::int64_t t_rows) {
    return {.feeds = {{"x:0", random_tensor(DType::kFloat32, {x_rows, 4}, static_cast<std::uint64_t>(x_rows))},
                      {"t:0", random_tensor(DType::kFloat32, {t_rows, 1}, 77)}},
            .fetches = {"loss:0"},
            .targets = {"train"}};
  }
  // These steps have the same losses on one device and on all; `replicated` of them were sharded. The second's session.
  std::string check_alike(const std::string& graph, const std::vector<StepCall>& steps, int replicated) {
    std::vector<Tensor> losses[2];
    std::string session;
    for (const bool replicate : {false, true}) {
      start_with(replicate);
      session = client_->create(graph);
      EXPECT_EQ(run(session, {.targets = {"init"}}).code, 0);
      for (const StepCall& call : steps) {
        const StepReply reply = run(session, call);
        EXPECT_EQ(reply.code, 0) << reply.message;
        losses[replicate].push_back(reply["loss:0"]);
      }
      EXPECT_EQ(server_->work().replicated_steps, replicate ? replicated : 0);
    }
    for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(difference(losses[1][i], losses[0][i], 1e-5), "") << i;
    return session;
  }
  // Losses, then the variable.
  std::vector<Tensor> train(bool replicate) {
    start_with(replicate);
    const std::string session = client_->create(line_graph(-1));
    EXPECT_EQ(run(session, {.targets = {"init"}}).code, 0);
    std::vector<Tensor> kept;
    for (const std::int64_t rows : {7, 2, 12, 1}) {
      const StepReply reply = run(session, step(rows, rows));
      EXPECT_EQ(reply.code, 0) << reply.message;
      kept.push_back(reply["loss:0"]);
      if (rows == 2) {
        EXPECT_EQ(run(session, {.targets = {"set"}}).code, 0);
      }
    }
    kept.push_back(run(session, {.fetches = {"value:0"}})["value:0"]);
    return kept;
  }
};

TEST_F(ReplicationTest, GivesWhatOneDeviceGives) {
  const std::vector<Tensor> alone = train(false);
  EXPECT_EQ(server_->work().replicated_steps, 0);
  const std::vector<Tensor> replicated = train(true);
  EXPECT_EQ(server_->work().replicated_steps, 3);
  EXPECT_EQ(server_->work().small_steps, 1);  // one example is not sharded
  EXPECT_THAT(server_->work().replicas, HasSubstr("3 devices, loss: a mean over the batch"));
  EXPECT_EQ(server_->work().not_replicated, "");
  ASSERT_EQ(alone.size(), replicated.size());
  for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_EQ(difference(replicated[i], alone[i], 1e-5), "") << i;
}

// The client's own variables are those of replica 0, wherever they are.
TEST_F(ReplicationTest, WhatAsksForAnotherGpuIsReplicated) {
  for (const char* const device : {"/gpu:1", "/device:GPU:2", "/gpu:0"}) {
    check_alike(line_graph(-1, device), {step(7, 7), step(12, 12), step(7, 7)}, 3);
  }
}

TEST_F(ReplicationTest, GradientsThatAFunctionComputesAreSummed) {
  for (const bool updates : {false, true}) {
    check_alike(descent_in_function(updates), {step(7, 7), step(2, 2), step(12, 12)}, 3);
    EXPECT_THAT(server_->work().replicas, HasSubstr("3 devices, 1 sum in 1 all-reduce"));
  }
}

TEST_F(ReplicationTest, ASessionOfOneGpuNamesTheFunctionThatTrains) {
  start({.devices = {.emulate = "1"}, .replicate = true});
  const std::string session = client_->create(descent_in_function(true));
  EXPECT_EQ(run(session, {.targets = {"init"}}).code, 0);
  EXPECT_EQ(run(session, step(6, 6)).code, 0);
  ASSERT_EQ(server_->work().reasons.size(), 1U);
  EXPECT_EQ(server_->work().reasons[0].why, "its session has 1 GPU");
  EXPECT_EQ(server_->work().reasons[0].node, "call");
}

TEST_F(ReplicationTest, AVariableWithoutAValueIsToldAsEver) {
  start_with(true);
  const std::string session = client_->create(line_graph(-1));
  const StepReply reply = run(session, step(6, 6));
  EXPECT_EQ(reply.code, code(Code::kFailedPrecondition));
  EXPECT_THAT(reply.message, HasSubstr("uninitialized value"));
  EXPECT_EQ(run(session, {.targets = {"init"}}).code, 0);
  EXPECT_EQ(run(session, step(6, 6)).code, 0);
  EXPECT_EQ(server_->work().replicated_steps, 1);
}

TEST_F(ReplicationTest, ABatchOfFixedSizeIsShardedToo) {
  std::vector<StepReply> replies;
  for (const std::int64_t rows : {6, -1}) {
    start_with(rows > 0);
    const std::string session = client_->create(line_graph(rows));
    EXPECT_EQ(run(session, {.targets = {"init"}}).code, 0);
    for (int i = 0; i < 3; ++i) replies.push_back(run(session, step(6, 6)));
    EXPECT_EQ(server_->work().replicated_steps, rows > 0 ? 3 : 0);
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(difference(replies[i]["loss:0"], replies[i + 3]["loss:0"], 1e-5), "") << i;
}

// Sentences, over their length, which follows the feed: a shard without examples is told it.
TEST_F(ReplicationTest, FewerExamplesThanDevicesAreShardedAndOneIsCounted) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, -1}, "x"), t = placeholder(g, DType::kFloat32, {-1, 1}, "t");
  const VariableNode w = variable(g, random_tensor(DType::kFloat32, {1}, 5), "w");
  const Value length = cast(slice(shape(x), {1}, {1}), DType::kFloat32);
  const Value loss = reduce_mean(square(w.read * reduce_sum(x, {1}, true) / length - t));
  check_alike(descent(g, loss, w), {step(2, 2), step(6, 6), step(1, 1)}, 2);
  EXPECT_EQ(server_->work().small_steps, 1);
  EXPECT_EQ(server_->work().not_replicated, "");
}

// Sentences of which ten words count at most, one is left out or all are pooled by sixteen: lengths that differ from
// step to step, on either side of where they are cut.
TEST_F(ReplicationTest, LengthsMayBeCut) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, -1}, "x"), t = placeholder(g, DType::kFloat32, {-1, 1}, "t");
  const VariableNode w = variable(g, random_tensor(DType::kFloat32, {1}, 5), "w");
  const auto columns = [&](std::int32_t from, std::int32_t to, std::int64_t open_end) {
    const auto at = [&](std::int32_t column) { return constant(g, Tensor::vector<std::int32_t>({0, column})); };
    return g.add("StridedSlice", {x, at(from), at(to), constant(g, Tensor::vector<std::int32_t>({1, 1}))},
                 {{"begin_mask", std::int64_t{1}}, {"end_mask", open_end}});
  };
  Value loss = reduce_mean(square(w.read - t));
  for (const Value part : {columns(0, 10, 1), columns(10, 0, 3), columns(-10, 0, 3)}) {
    const Value length = cast(slice(shape(part), {1}, {1}), DType::kFloat32);
    loss = loss + reduce_mean(square(w.read * reduce_sum(part, {1}, true) / (length + 1.0f) - t * length));
  }
  std::vector<StepCall> steps;
  for (const std::int64_t length : {12, 5, 40, 10, 2, 300, 1, 12}) {
    StepCall call = step(6, 6);
    call.feeds[0].second = random_tensor(DType::kFloat32, {6, length}, static_cast<std::uint64_t>(length));
    steps.push_back(std::move(call));
  }
  check_alike(descent(g, loss, w), steps, 8);
  EXPECT_EQ(server_->work().not_replicated, "");
}

// Rows of images, shaped with the batch's size, which comes as a number beside them; and a loss over that number.
TEST_F(ReplicationTest, TheSizeOfTheBatchMayBeFedAsANumber) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 4}, "x"), t = placeholder(g, DType::kFloat32, {-1, 1}, "t");
  const Value size = placeholder(g, DType::kInt32, {}, "size");
  const VariableNode w = variable(g, random_tensor(DType::kFloat32, {2, 1}, 5), "w");
  const Value two = constant(g, 2), pairs = reshape(x, stack({size, two, two}));
  const Value line = matmul(reshape(pairs, stack({size * two, two})), w.read);
  const Value both = reduce_sum(reshape(line, stack({size, two})), {1}, true);
  const Value loss = reduce_sum(square(both - t)) / cast(size, DType::kFloat32);
  const auto sized = [](std::int64_t rows, std::int32_t number) {
    StepCall call = step(rows, rows);
    call.feeds.emplace_back("size:0", Tensor::scalar(number));
    return call;
  };
  // The first might as well be a switch.
  const std::string session =
      check_alike(descent(g, loss, w), {sized(1, 1), sized(7, 7), sized(2, 2), sized(12, 12), sized(1, 1)}, 3);
  EXPECT_THAT(server_->work().not_replicated, HasSubstr("'size:0' is fed 1, which may be the batch's size"));
  ASSERT_EQ(server_->work().reasons.size(), 1U);
  EXPECT_EQ(server_->work().reasons[0].steps, 2);
  EXPECT_EQ(server_->work().reasons[0].node, "size");
  EXPECT_EQ(run(session, sized(6, 5)).code, code(Code::kInvalidArgument));
}

// The same line, with every example a column.
TEST_F(ReplicationTest, ExamplesMayLieInColumns) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {4, -1}, "x"), t = placeholder(g, DType::kFloat32, {1, -1}, "t");
  const VariableNode w = variable(g, random_tensor(DType::kFloat32, {1, 4}, 5), "w");
  const Value loss = reduce_mean(square(matmul(w.read, x) - t));
  const auto columns = [](std::int64_t n, std::int64_t m) {
    return StepCall{.feeds = {{"x:0", random_tensor(DType::kFloat32, {4, n}, static_cast<std::uint64_t>(n))},
                              {"t:0", random_tensor(DType::kFloat32, {1, m}, 77)}},
                    .fetches = {"loss:0"},
                    .targets = {"train"}};
  };
  const std::string session = check_alike(descent(g, loss, w), {columns(7, 7), columns(2, 2), columns(12, 12)}, 3);
  EXPECT_NE(run(session, columns(7, 5)).code, 0);
  EXPECT_EQ(server_->work().replicated_steps, 3);
}

TEST_F(ReplicationTest, FeedsOfDifferentRowsAreThatStepsOwnError) {
  start_with(true);
  const std::string session = client_->create(line_graph(-1));
  EXPECT_EQ(run(session, {.targets = {"init"}}).code, 0);
  EXPECT_NE(run(session, step(6, 4)).code, 0);
  EXPECT_TRUE(server_->work().reasons.empty());  // it ran nowhere
  EXPECT_EQ(run(session, step(6, 6)).code, 0);
  EXPECT_EQ(server_->work().replicated_steps, 1);
}

// Steps that nobody was told of: those of a session with one GPU.
TEST_F(ReplicationTest, ASessionOfOneGpuSaysSo) {
  start({.devices = {.emulate = "1"}, .replicate = true});
  const std::string session = client_->create(line_graph(-1));
  EXPECT_EQ(run(session, {.targets = {"init"}}).code, 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(session, step(6, 6)).code, 0);
  ASSERT_EQ(server_->work().reasons.size(), 1U);
  EXPECT_EQ(server_->work().reasons[0].why, "its session has 1 GPU");
  EXPECT_EQ(server_->work().reasons[0].steps, 3);
  EXPECT_EQ(server_->work().replicated_steps, 0);
}

TEST_F(ReplicationTest, MicroBatchesNeedOneGpuOnly) {
  std::vector<std::vector<Tensor>> losses;
  for (const int accumulate : {1, 3}) {
    start({.devices = {.emulate = "1"}, .replicate = true, .strategy = {.accumulate = accumulate}});
    const std::string session = client_->create(line_graph(-1));
    EXPECT_EQ(run(session, {.targets = {"init"}}).code, 0);
    auto& seen = losses.emplace_back();
    for (const int rows : {6, 7, 2}) seen.push_back(run(session, step(rows, rows))["loss:0"]);
    EXPECT_EQ(server_->work().replicated_steps, accumulate > 1 ? 3 : 0);
  }
  EXPECT_THAT(server_->work().replicas, HasSubstr("1 device, 3 micro-batches"));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(difference(losses[1][i], losses[0][i], 1e-5), "") << i;
}

TEST_F(ReplicationTest, ThreadsOfOneSessionTakeTurns) {
  start_with(true);
  const std::string session = client_->create(line_graph(-1));
  EXPECT_EQ(run(session, {.targets = {"init"}}).code, 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      RawClient own(server_->address());
      for (int k = 0; k < 10; ++k) {
        EXPECT_EQ(own.run(session, step(3 + i, 3 + i)).code, 0);
        EXPECT_EQ(own.run(session, {.targets = {i == 0 ? "set" : "nothing"}}).code, i == 0 ? 0 : code(Code::kNotFound));
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(server_->work().replicated_steps, 40);
  EXPECT_EQ(client_->close(session).code, 0);
}

TEST(FeedsOfBatch, AreThoseWhoseRowsAreOpen) {
  using Axes = std::vector<int>;
  using Tries = std::vector<Axes>;
  Graph g;
  const Value open = placeholder(g, DType::kFloat32, {-1, 4}), fixed = placeholder(g, DType::kFloat32, {8});
  const Value anything = g.add("Placeholder", {}, {{"dtype", DType::kFloat32}, {"shape", PartialShape::unknown()}});
  const auto zeros = [](const Shape& shape) { return Tensor::zeros(DType::kFloat32, shape); };
  const auto batch = [&](const std::vector<Value>& feeds, const std::vector<Shape>& shapes) {
    std::vector<Tensor> tensors;
    for (const Shape& shape : shapes) tensors.push_back(zeros(shape));
    return feeds_of_batch(g, feeds, tensors);
  };
  const std::vector<Value> several = {open, fixed, anything};
  EXPECT_EQ(*batch(several, {{8, 4}, {8}, {}}), (Tries{{0, -1, -1}}));      // a rate
  EXPECT_EQ(*batch(several, {{8, 4}, {8}, {8}}), (Tries{{0, -1, 0}}));      // one for each row
  EXPECT_EQ(*batch(several, {{8, 4}, {8}, {5, 2}}), (Tries{{0, -1, -1}}));  // something else
  EXPECT_EQ(*batch({anything}, {{5, 2}}), Tries{{0}});
  // Examples in columns, also beside others in rows.
  const Value columns = placeholder(g, DType::kFloat32, {3, -1});
  EXPECT_EQ(*batch({columns, columns}, {{3, 5}, {3, 5}}), (Tries{{1, 1}, {0, 0}}));
  EXPECT_EQ(*batch({columns, columns}, {{3, 5}, {3, 4}}), (Tries{{0, 0}}));
  EXPECT_EQ(*batch({columns, open}, {{3, 6}, {6, 4}}), (Tries{{1, 0}}));
  EXPECT_EQ(*batch({columns, open}, {{3, 5}, {6, 4}}), (Tries{{-1, 0}}));
  // What has other rows than most is everybody's: elements of a sparse tensor.
  const Value elements = placeholder(g, DType::kFloat32, {-1}), places = placeholder(g, DType::kFloat32, {-1, 2});
  EXPECT_EQ(*batch({elements, places, open, anything}, {{23}, {23, 2}, {7, 4}, {7}}),
            (Tries{{0, 0, -1, -1}, {-1, -1, 0, 0}}));
  EXPECT_EQ(*batch({places, open, open}, {{23, 2}, {7, 4}, {7, 4}}), (Tries{{-1, 0, 0}, {0, -1, -1}}));
  // Without any of these, those of the size that most have.
  const Value rate = placeholder(g, DType::kFloat32, {}), few = placeholder(g, DType::kFloat32, {2});
  EXPECT_EQ(*batch({few, fixed, rate, fixed}, {{2}, {8}, {}, {8}}), (Tries{{-1, 0, -1, 0}}));
  // Lengths are open: likely, where something else has as many rows.
  const Value sentences = placeholder(g, DType::kFloat32, {8, -1, 3});
  EXPECT_EQ(*batch({sentences, fixed}, {{8, 5, 3}, {8}}), (Tries{{0, 0}, {1, -1}}));
  EXPECT_EQ(*batch({sentences, few}, {{8, 5, 3}, {2}}), (Tries{{1, -1}, {-1, 0}}));
  EXPECT_FALSE(batch({rate}, {{}}).ok());
  EXPECT_FALSE(batch({}, {}).ok());
}

// A node that waits for the batch waits for what another part of the step has brought.
TEST_F(ReplicationTest, WhoWaitsForTheBatchIsNoReasonForOneDevice) {
  Graph g;
  const Value queue = fifo_queue(
      g, {.dtypes = {DType::kFloat32, DType::kFloat32}, .shapes = {PartialShape{4}, PartialShape{1}}}, "queue");
  const Value rows = constant(g, random_tensor(DType::kFloat32, {24, 4}, 3));
  group(g, {enqueue_many(queue, {rows, constant(g, random_tensor(DType::kFloat32, {24, 1}, 4))})}, "fill");
  const std::vector<Value> batch =
      dequeue_many(queue, constant(g, std::int32_t{8}), {DType::kFloat32, DType::kFloat32});
  const VariableNode w = variable(g, random_tensor(DType::kFloat32, {4, 1}, 5), "w");
  const VariableNode steps = variable(g, Tensor::scalar(0.0f), "steps");
  const Value counted = assign_add(steps, constant(g, 1.0f));
  g.add_control_input(counted.node(), batch[0].node());
  group(g, {steps.initializer}, "zero");
  identity(counted, "count");
  const std::string graph = descent(g, reduce_mean(square(matmul(batch[0], w.read) - batch[1])), w);
  std::vector<Tensor> losses[2];
  for (const bool replicate : {false, true}) {
    start_with(replicate);
    const std::string session = client_->create(graph);
    ASSERT_EQ(run(session, {.targets = {"init", "zero", "fill"}}).code, 0);
    for (int i = 1; i <= 3; ++i) {
      const StepReply reply = run(session, {.fetches = {"loss:0", "count:0"}, .targets = {"train"}});
      ASSERT_EQ(reply.code, 0) << reply.message;
      EXPECT_EQ(reply["count:0"].data<float>()[0], static_cast<float>(i));
      losses[replicate].push_back(reply["loss:0"]);
    }
    EXPECT_EQ(server_->work().replicated_steps, replicate ? 3 : 0);
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(difference(losses[1][i], losses[0][i], 1e-5), "") << i;
}

TEST_F(ReplicationTest, ABatchThatABranchBringsIsTold) {
  Graph g;
  const Value queue = fifo_queue(g, {.dtypes = {DType::kFloat32}, .shapes = {PartialShape{4}}}, "queue");
  group(g, {enqueue_many(queue, {constant(g, random_tensor(DType::kFloat32, {24, 4}, 3))})}, "fill");
  const Value flag = placeholder(g, DType::kBool, PartialShape::scalar(), "flag");
  const Value pivot = identity(switch_value(flag, flag).second);
  const std::vector<Value> batch = dequeue_many(queue, constant(g, std::int32_t{8}), {DType::kFloat32});
  g.add_control_input(batch[0].node(), pivot.node());
  const VariableNode w = variable(g, random_tensor(DType::kFloat32, {4, 1}, 5), "w");
  const std::string graph = descent(g, reduce_mean(square(matmul(batch[0], w.read))), w);
  start_with(true);
  const std::string session = client_->create(graph);
  ASSERT_EQ(run(session, {.targets = {"init", "fill"}}).code, 0);
  const StepReply reply =
      run(session, {.feeds = {{"flag:0", Tensor::scalar(true)}}, .fetches = {"loss:0"}, .targets = {"train"}});
  ASSERT_EQ(reply.code, 0) << reply.message;
  ASSERT_EQ(server_->work().reasons.size(), 1U);
  EXPECT_THAT(server_->work().reasons[0].why, HasSubstr("(QueueDequeueManyV2) brings the batch in a branch"));
}

TEST_F(ReplicationTest, ACheckedStepsStatisticsSayWhatItsOpsGave) {
  start({.devices = {.emulate = "2"}, .count_work = true, .replicate = true, .check = 1});
  const std::string session = client_->create(line_graph(-1));
  ASSERT_EQ(run(session, {.targets = {"init"}}).code, 0);
  for (const bool checked : {true, false}) {
    StepCall call = step(4, 4);
    call.options = from_text<tensorflow::RunOptions>("trace_level: FULL_TRACE");
    tensorflow::RunMetadata metadata;
    ASSERT_TRUE(metadata.ParseFromString(run(session, call).metadata));
    std::int64_t bytes = 0;
    for (const auto& device : metadata.step_stats().dev_stats()) {
      for (const auto& node : device.node_stats()) {
        for (const auto& output : node.output()) {
          bytes += output.tensor_description().allocation_description().requested_bytes();
        }
      }
    }
    EXPECT_GT(bytes, 0) << checked;
    EXPECT_EQ(server_->work().checked_steps, 1);
  }
  EXPECT_EQ(server_->work().replicated_steps, 2);
}

}  // namespace
}  // namespace argosy::tf
