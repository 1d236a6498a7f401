#include "argosy/ops/send_recv/send_recv.h"

#include <gtest/gtest.h>

#include <optional>

#include "argosy/op/kernel/local_rendezvous.h"
#include "argosy/op/kernel/step_context.h"
#include "argosy/ops/ops.h"
#include "argosy/testing/op_cases/op_case.h"

namespace argosy {
namespace {

constexpr const char* kA = "/job:a/replica:0/task:0/device:CPU:0";
constexpr const char* kB = "/job:b/replica:0/task:0/device:CPU:0";

class Step final : public StepContext {
 public:
  std::int64_t step_id() const override { return 1; }
  Cancellation& cancellation() override { return cancellation_; }
  ResourceManager& step_resources() override { return resources_; }
  Rendezvous* rendezvous() const override { return rendezvous_; }
  FrameIteration frame_iteration() const override { return at_; }

  Rendezvous* rendezvous_ = nullptr;
  FrameIteration at_;

 private:
  Cancellation cancellation_;
  ResourceManager resources_;
};

AttrMap attrs_of(const char* op, DType dtype) {
  return {{transfer_of(*builtin_ops().find(op)) == Transfer::kSend ? "T" : "tensor_type", dtype},
          {"tensor_name", "edge_1_x"},
          {"send_device", kA},
          {"send_device_incarnation", std::int64_t{-2}},
          {"recv_device", kB}};
}

// One run of a node of this op. The output is not valid where it is dead.
Result<Tensor> run(const char* op, const Tensor& input, Step* step, DType dtype = DType::kFloat32) {
  const OpDef& def = *builtin_ops().find(op);
  AttrMap attrs = attrs_of(op, dtype);
  const bool sends = transfer_of(def) == Transfer::kSend;
  ARGOSY_RETURN_IF_ERROR(complete_attrs(def, {&dtype, sends ? 1u : 0u}, attrs));
  ARGOSY_ASSIGN_OR_RETURN(const auto kernel, cpu_kernels().make({.op = def, .attrs = attrs, .node = "n"}, "cpu"));
  const Tensor* const in = &input;
  Tensor out;
  OutputSlot slot{.tensor = &out};
  KernelContext c({.inputs = &in,
                   .num_inputs = sends ? 1 : 0,
                   .outputs = &slot,
                   .num_outputs = sends ? 0 : 1,
                   .output_dtypes = &dtype,
                   .node = "n",
                   .step = step});
  ARGOSY_RETURN_IF_ERROR(kernel->run(c));
  return out;
}

TEST(SendRecvOps, ValuesAndDeadValuesMeet) {
  for (const auto& [send, receive] : {std::pair("_Send", "_Recv"), std::pair("_HostSend", "_HostRecv")}) {
    LocalRendezvous rendezvous;
    Step step;
    step.rendezvous_ = &rendezvous;
    const Tensor x = Tensor::vector<float>({1, 2});
    ASSERT_TRUE(run(send, x, &step).ok());
    step.at_ = {.frame = 77, .iteration = 3};
    ASSERT_TRUE(run(send, Tensor(), &step).ok());
    const auto dead = run(receive, {}, &step);
    ASSERT_TRUE(dead.ok()) << dead.status().to_string();
    EXPECT_FALSE(dead->valid());
    step.at_ = {};
    const auto got = run(receive, {}, &step);
    ASSERT_TRUE(got.ok()) << got.status().to_string();
    EXPECT_EQ(difference(*got, x, 0), "");
  }
}

TEST(SendRecvOps, KeysAreTheAttributes) {
  LocalRendezvous rendezvous;
  Step step;
  step.rendezvous_ = &rendezvous;
  step.at_ = {.frame = 5, .iteration = 2};
  ASSERT_TRUE(run("_Send", Tensor::scalar(1.0f), &step).ok());
  std::optional<Result<Rendezvous::Received>> got;
  rendezvous.receive({kA, ~std::uint64_t{1}, kB, "edge_1_x", 5, 2}, [&](auto r) { got.emplace(std::move(r)); });
  ASSERT_TRUE(got.has_value());
  EXPECT_TRUE(got->ok());
}

TEST(SendRecvOps, WhatIsSentIsNobodyElsesMemory) {
  LocalRendezvous rendezvous;
  Step step;
  step.rendezvous_ = &rendezvous;
  float memory[2] = {1, 2};  // as in a step's arena, which the next instruction writes
  ASSERT_TRUE(
      run("_Send", Tensor(DType::kFloat32, {2}, Buffer::borrow(reinterpret_cast<std::byte*>(memory), 8)), &step).ok());
  memory[0] = 7;
  const auto got = run("_Recv", {}, &step);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(difference(*got, Tensor::vector<float>({1, 2}), 0), "");
}

TEST(SendRecvOps, RefusesAnotherDtypeAndASingleTask) {
  LocalRendezvous rendezvous;
  Step step;
  EXPECT_EQ(run("_Send", Tensor::scalar(1.0f), &step).status().id(), "ARG-SEND-005");
  EXPECT_EQ(run("_Recv", {}, &step).status().id(), "ARG-SEND-005");
  EXPECT_EQ(run("_Recv", {}, nullptr).status().id(), "ARG-SEND-005");
  step.rendezvous_ = &rendezvous;
  ASSERT_TRUE(run("_Send", Tensor::scalar(std::int32_t{1}), &step, DType::kInt32).ok());
  EXPECT_EQ(run("_Recv", {}, &step).status().id(), "ARG-SEND-006");
}

TEST(SendRecvOps, AbortEndsAReceive) {
  LocalRendezvous rendezvous;
  Step step;
  step.rendezvous_ = &rendezvous;
  rendezvous.abort(unavailable("gone"));
  EXPECT_EQ(run("_Recv", {}, &step).status().code(), Code::kUnavailable);
  EXPECT_EQ(run("_Send", Tensor::scalar(1.0f), &step).status().code(), Code::kUnavailable);
}

TEST(SendRecvOps, NodesCarryTheEnds) {
  Graph g(builtin_ops());
  const Value x = g.add("Const", {}, {{"dtype", DType::kFloat32}, {"value", Tensor::scalar(1.0f)}});
  const TransferEnds ends{.name = "edge_0_Const",
                          .send_device = kA,
                          .send_incarnation = ~std::uint64_t{0},
                          .receive_device = kB,
                          .never_dead = true};
  const auto send = add_send(g, x.endpoint(), ends);
  const auto receive = add_receive(g, DType::kFloat32, PartialShape::scalar(), ends, {*send});
  ASSERT_TRUE(send.ok() && receive.ok());
  EXPECT_EQ(g.node(*send).name, "edge_0_Const/send");
  EXPECT_EQ(g.node(*send).device, kA);
  EXPECT_EQ(g.node(*receive).device, kB);
  EXPECT_EQ(g.node(*receive).attrs.get_int("send_device_incarnation"), -1);
  EXPECT_EQ(g.node(*receive).attrs.get<bool>(kNeverDead), true);
  EXPECT_EQ(g.shape({*receive, 0}).to_string(), "[]");
  EXPECT_EQ(transfer_of(*g.node(*receive).op), Transfer::kReceive);
  EXPECT_EQ(transfer_of(*builtin_ops().find("Neg")), Transfer::kNone);
}

}  // namespace
}  // namespace argosy
