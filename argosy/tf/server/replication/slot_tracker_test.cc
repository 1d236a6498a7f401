// ZeRO-1 for clients: slots are sharded while replicated steps follow each other, and gathered in the
// client's variables for every other step. The numbers are those of plain data parallelism, to the bit.
#include "argosy/tf/server/replication/slot_tracker.h"

#include <cstring>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/state/state.h"
#include "argosy/testing/op_cases/op_case.h"
#include "argosy/tf/graph/graph_export.h"
#include "argosy/tf/server/tests/server_test.h"

namespace argosy::tf {
namespace {

using testing::HasSubstr;

// Momentum on a matrix large enough to be sharded. Its variables are in this container.
std::string graph(const std::string& container = "") {
  Graph g;
  const VariableOptions kept{.container = container};
  const Value x = placeholder(g, DType::kFloat32, {-1, 128}, "x");
  const VariableNode w = variable(g, random_tensor(DType::kFloat32, {128, 192}, 5), "w", kept);
  const VariableNode speed = variable(g, Tensor::zeros(DType::kFloat32, {128, 192}), "speed", kept);
  const Value loss = reduce_mean(square(matmul(x, w.read)));
  const Value slope = gradients(g, {loss}, {w.ref})[0];
  group(g, {g.add("ApplyMomentum", {w.ref, speed.ref, constant(g, 0.05f), slope, constant(g, 0.9f)})}, "train");
  group(g, {w.initializer, speed.initializer}, "init");
  g.add("Identity", {loss}, {}, "loss");
  g.add("Identity", {w.read}, {}, "value");
  g.add("Identity", {speed.read}, {}, "speed_value");
  group(g, {g.add("Assign", {speed.ref, constant(g, random_tensor(DType::kFloat32, {128, 192}, 9))})}, "set_speed");
  const auto text = export_graph(g);
  EXPECT_TRUE(text.ok()) << text.status().to_string();
  return text.ok() ? *text : "";
}

class SlotHomesTest : public ServerTest {
 protected:
  StepReply step(const std::string& session, int seed) {
    return run(session, {.feeds = {{"x:0", random_tensor(DType::kFloat32, {9, 128}, static_cast<unsigned>(seed))}},
                         .fetches = {"loss:0"},
                         .targets = {"train"}});
  }
  Tensor value(const std::string& session, const std::string& name) {
    StepReply reply = run(session, {.fetches = {name}});
    EXPECT_EQ(reply.code, 0) << reply.message;
    return reply[name];
  }
  // Steps, looks at the slot in between, and a step that writes it. All values that were seen.
  std::vector<Tensor> train(const std::string& emulate, const StrategySpec& strategy, std::string* how = nullptr) {
    start({.devices = {.emulate = emulate}, .count_work = true, .replicate = true, .strategy = strategy});
    const std::string session = client_->create(graph());
    EXPECT_EQ(run(session, {.targets = {"init"}}).code, 0);
    std::vector<Tensor> seen;
    const auto steps = [&](int first, int count) {
      for (int i = first; i < first + count; ++i) {
        const StepReply reply = step(session, i);
        EXPECT_EQ(reply.code, 0) << reply.message;
        seen.push_back(reply["loss:0"]);
      }
    };
    steps(0, 3);
    seen.push_back(value(session, "speed_value:0"));
    seen.push_back(value(session, "value:0"));
    steps(3, 2);
    EXPECT_EQ(run(session, {.targets = {"set_speed"}}).code, 0);
    steps(5, 2);
    seen.push_back(value(session, "value:0"));
    seen.push_back(value(session, "speed_value:0"));
    EXPECT_EQ(server_->work().replicated_steps, 7);
    if (how != nullptr) *how = server_->work().replicas;
    return seen;
  }
};

TEST_F(SlotHomesTest, AClientSeesWhatPlainDataParallelismGives) {
  for (const char* const emulate : {"2", "3", "gpu:64MiB,gpu:64MiB@0.5"}) {
    const std::vector<Tensor> plain = train(emulate, {});
    std::string how;
    const std::vector<Tensor> zero = train(emulate, {.zero = 1}, &how);
    EXPECT_THAT(how, HasSubstr("slots sharded over"));
    ASSERT_EQ(zero.size(), plain.size());
    for (std::size_t i = 0; i < zero.size(); ++i) {
      ASSERT_EQ(zero[i].bytes(), plain[i].bytes());
      EXPECT_EQ(std::memcmp(zero[i].raw(), plain[i].raw(), plain[i].bytes()), 0) << emulate << ", value " << i;
    }
  }
}

// Two clients of a server, whose variables have the same names.
TEST_F(SlotHomesTest, ContainersHaveSlotsOfTheirOwn) {
  const auto losses = [&](const std::vector<std::string>& containers) {
    start({.devices = {.emulate = "2"}, .count_work = true, .replicate = true, .strategy = {.zero = 1}});
    std::vector<std::string> sessions;
    for (const std::string& container : containers) {
      sessions.push_back(client_->create(graph(container)));
      EXPECT_EQ(run(sessions.back(), {.targets = {"init"}}).code, 0);
    }
    std::vector<std::vector<Tensor>> seen(sessions.size());
    for (int i = 0; i < 4; ++i) {
      for (std::size_t k = sessions.size(); k-- > 0;) {
        if (i == 0 && k == 1) {
          EXPECT_EQ(run(sessions[k], {.targets = {"set_speed"}}).code, 0);
        }
        const StepReply reply = step(sessions[k], i);
        EXPECT_EQ(reply.code, 0) << reply.message;
        seen[k].push_back(reply["loss:0"]);
      }
    }
    for (std::size_t k = 0; k < sessions.size(); ++k) seen[k].push_back(value(sessions[k], "speed_value:0"));
    EXPECT_EQ(server_->work().replicated_steps, 4 * sessions.size());
    return seen;
  };
  const auto alone = losses({"a"})[0], both = losses({"a", "b"})[0];
  for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_EQ(difference(both[i], alone[i], 0), "") << i;
}

TEST_F(SlotHomesTest, ASlotWithoutAValueIsToldAsEver) {
  start({.devices = {.emulate = "2"}, .replicate = true, .strategy = {.zero = 1}});
  const std::string session = client_->create(graph());
  const StepReply reply = step(session, 1);
  EXPECT_EQ(reply.code, code(Code::kFailedPrecondition));
  EXPECT_THAT(reply.message, HasSubstr("uninitialized value"));
  EXPECT_EQ(run(session, {.targets = {"init"}}).code, 0);
  EXPECT_EQ(step(session, 1).code, 0);
}

TEST_F(SlotHomesTest, OptionsThatContradictEachOtherAreRefused) {
  const auto id_of = [](SessionServerOptions options) {
    options.port = 0;
    const auto started = SessionServer::start(options);
    return started.ok() ? std::string() : std::string(started.status().message());
  };
  EXPECT_THAT(id_of({.replicate = true, .check = 2, .strategy = {.zero = 1}}), HasSubstr("--check"));
  EXPECT_THAT(id_of({.strategy = {.zero = 1}}), HasSubstr("--strategy is of replicated steps"));
  EXPECT_THAT(id_of({.replicate = true, .strategy = {.file = "a"}}), HasSubstr("argosy run"));
  EXPECT_THAT(id_of({.devices = {.emulate = "2"}, .replicate = true, .strategy = {.dp = 3}}),
              HasSubstr("for 3 devices"));
  EXPECT_THAT(id_of({.devices = {.emulate = "2"}, .replicate = true, .most_gpus = 3}),
              HasSubstr("the session has 2 GPUs"));
}

}  // namespace
}  // namespace argosy::tf
