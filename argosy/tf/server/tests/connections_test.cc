// Tensors that a callable connects (CallableOptions.tensor_connection), as Keras does with what a dataset's iterator gives.
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "argosy/graph/gradients.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/state/state.h"
#include "argosy/testing/op_cases/op_case.h"
#include "argosy/tf/graph/graph_export.h"
#include "argosy/tf/server/tests/server_test.h"

namespace argosy::tf {
namespace {

using testing::HasSubstr;

// q ─► n = -q, m = 10 q        x ─► y = x + x ─► z = -y
class ConnectionsTest : public ServerTest {
 protected:
  void SetUp() override {
    start();
    session_ = client_->create(graph_text(
        placeholder_node("q") + node("n", "Neg", {"q"}) + node("ten", "Const", {}, kTen) +
        node("m", "Mul", {"q", "ten"}) + placeholder_node("x") + node("y", "AddV2", {"x", "x"}) +
        node("z", "Neg", {"y"}) + placeholder_node("p") + node("xp", "Sub", {"x", "p"}) +
        node("whole", "Const", {},
             "attr { key: 'dtype' value { type: DT_INT32 } } attr { key: 'value' value { tensor { dtype: DT_INT32 "
             "tensor_shape {} int_val: 5 } } }") +
        node("after", "Identity", {"ten", "^x"}) + node("nothing", "NoOp", {}, "")));
    ASSERT_EQ(session_.size(), 16u);
  }
  // The callable's handle; 0 with the error in `reply_`. `connections`: "from>to from>to".
  int make(const std::string& connections, const std::string& more) {
    std::string text = "session_handle: '" + session_ + "' options { " + more;
    std::istringstream all(connections);
    for (std::string one; all >> one;) {
      const std::size_t arrow = one.find('>');
      text += " tensor_connection { from_tensor: '" + one.substr(0, arrow) + "' to_tensor: '" + one.substr(arrow + 1) +
              "' }";
    }
    reply_ = client_->master("MakeCallable", from_text<tensorflow::MakeCallableRequest>(text + " }"));
    return reply_.code == 0 && reply_.bytes.size() == 2 ? reply_.bytes[1] : 0;
  }
  // What it gives for one scalar that is fed; NaN with the error in `reply_`.
  float call(int callable, float fed) {
    tensorflow::CloseSessionRequest head;
    head.set_session_handle(session_);
    tensorflow::TensorProto value;
    value.set_dtype(tensorflow::DT_FLOAT);
    value.mutable_tensor_shape();
    value.add_float_val(fed);
    const std::string tensor = value.SerializeAsString();
    reply_ = client_->master("RunCallable", head.SerializeAsString() + "\x10" + static_cast<char>(callable) + "\x1a" +
                                                static_cast<char>(tensor.size()) + tensor);
    const std::size_t content = reply_.bytes.find("\x22\x04");
    float given = std::numeric_limits<float>::quiet_NaN();
    if (reply_.code == 0 && content != std::string::npos)
      std::memcpy(&given, reply_.bytes.data() + content + 2, sizeof(given));
    return given;
  }
  float run(const std::string& connections, const std::string& fetch) {
    const int callable = make(connections, "feed: 'q:0' fetch: '" + fetch + "'");
    EXPECT_NE(callable, 0) << reply_.message;
    return call(callable, 3);
  }
  void expect_refused(Code wanted, const std::string& connections, const std::string& message,
                      const std::string& more = "feed: 'q:0' fetch: 'z:0'") {
    EXPECT_EQ(make(connections, more), 0) << connections;
    EXPECT_EQ(reply_.code, code(wanted)) << connections;
    EXPECT_THAT(reply_.message, HasSubstr(message)) << connections;
  }

  static constexpr const char* kTen =
      "attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor { dtype: DT_FLOAT "
      "tensor_shape {} float_val: 10 } } }";
  std::string session_;
  RawReply reply_;
};

TEST_F(ConnectionsTest, WhoReadsOneReadsTheOther) {
  EXPECT_EQ(run("n:0>x:0", "z:0"), 6);
  EXPECT_EQ(run("n>x:0", "z:0"), 6);
  EXPECT_EQ(run("n:0>y:0", "z:0"), 3) << "whatever would have computed it";
  EXPECT_EQ(run("n:0>x:0 m:0>p:0", "xp:0"), -33);
  EXPECT_EQ(run("n:0>x:0 n:0>p:0", "xp:0"), 0);
  EXPECT_EQ(run("n:0>x:0 y:0>p:0", "xp:0"), 3) << "what is connected may itself depend on a connection";
  EXPECT_EQ(run("n:0>x:0", "after:0"), 10) << "who waits for a placeholder does not wait for ever";
  EXPECT_EQ(run("n:0>x:0", "n:0"), -3);
  const int again = make("n:0>x:0", "feed: 'q:0' fetch: 'z:0'");
  for (const float fed : {1.0f, 2.0f, 3.0f}) EXPECT_EQ(call(again, fed), 2 * fed);
}

TEST_F(ConnectionsTest, AreMadeOneAfterAnother) {
  EXPECT_EQ(run("x:0>p:0 n:0>x:0", "xp:0"), 0);
  EXPECT_TRUE(std::isnan(run("n:0>x:0 x:0>p:0", "xp:0"))) << "p reads the placeholder that nobody feeds";
  EXPECT_EQ(reply_.code, code(Code::kInvalidArgument));
  EXPECT_THAT(reply_.message, HasSubstr("'x'"));
}

TEST_F(ConnectionsTest, ThatCannotBeAreErrorsOfTensorFlows) {
  const Code wrong = Code::kInvalidArgument;
  expect_refused(wrong, "nobody:0>x:0", "Requested tensor connection from unknown node: \"x:0\".");
  expect_refused(wrong, "n:3>x:0",
                 "Requested tensor connection from unknown edge: \"x:0\" (actual number of outputs = 1).");
  expect_refused(wrong, "nothing>x:0", "(actual number of outputs = 0)");
  expect_refused(Code::kNotFound, "n:0>nobody:0", "FeedInputs: unable to find feed output nobody:0");
  expect_refused(wrong, "n:0>x:3", "node \"x\" has 1 outputs");
  expect_refused(wrong, "whole:0>x:0", "from _identity_x_0:0 incompatible with expected float");
  expect_refused(wrong, "z:0>x:0", "Requested Tensor connection between nodes \"x\" and \"z\" would create a cycle.");
  expect_refused(wrong, "x:0>x:0", "would create a cycle");
  expect_refused(wrong, "y:0>p:0 xp:0>x:0", "between nodes \"x\" and \"xp\" would create a cycle", "fetch: 'z:0'");
  expect_refused(wrong, "n:0>x:0 m:0>x:0", "Endpoint \"x:0\" fed more than once.");
  expect_refused(wrong, "n:0>x:0", "Endpoint \"x:0\" fed more than once.", "feed: 'x:0' fetch: 'z:0'");
  expect_refused(wrong, "n:0>x:0", "x:0 is both fed and fetched.", "feed: 'q:0' fetch: 'x:0'");
  expect_refused(wrong, "n:0>x:0", "Must specify at least one target to fetch or execute.", "feed: 'q:0'");
}

// A field of a RunCallableRequest.
std::string feed_of(const std::vector<float>& values, int columns) {
  tensorflow::TensorProto tensor;
  tensor.set_dtype(tensorflow::DT_FLOAT);
  tensor.mutable_tensor_shape()->add_dim()->set_size(static_cast<int>(values.size()) / columns);
  tensor.mutable_tensor_shape()->add_dim()->set_size(columns);
  for (const float v : values) tensor.add_float_val(v);
  const std::string bytes = tensor.SerializeAsString();
  ARGOSY_CHECK(bytes.size() < 128);
  return std::string("\x1a") + static_cast<char>(bytes.size()) + bytes;
}

TEST_F(ServerTest, StepsWithConnectionsAreReplicated) {
  Graph g;
  const Value x = placeholder(g, DType::kFloat32, {-1, 2}, "x"), t = placeholder(g, DType::kFloat32, {-1, 1}, "t");
  identity(placeholder(g, DType::kFloat32, {-1, 2}, "rows"), "source");
  const VariableNode w = variable(g, random_tensor(DType::kFloat32, {2, 1}, 5), "w");
  const Value loss = reduce_mean(square(matmul(x, w.read) - t));
  group(g, {g.add("ApplyGradientDescent", {w.ref, constant(g, 0.1f), gradients(g, {loss}, {w.ref})[0]})}, "train");
  group(g, {w.initializer}, "init");
  identity(loss, "loss");
  const auto graph = export_graph(g);
  ASSERT_TRUE(graph.ok()) << graph.status().to_string();
  float losses[2][2] = {};
  for (const bool replicate : {false, true}) {
    start({.devices = {.emulate = "2"}, .count_work = true, .replicate = replicate});
    const std::string session = client_->create(*graph);
    ASSERT_EQ(run(session, {.targets = {"init"}}).code, 0);
    const RawReply made =
        client_->master("MakeCallable", from_text<tensorflow::MakeCallableRequest>(
                                            "session_handle: '" + session +
                                            "' options { feed: 'rows:0' feed: 't:0' fetch: 'loss:0' target: 'train' "
                                            "tensor_connection { from_tensor: 'source:0' to_tensor: 'x:0' } }"));
    ASSERT_EQ(made.bytes, "\x08\x01") << made.message;
    tensorflow::CloseSessionRequest head;
    head.set_session_handle(session);
    const std::string request =
        head.SerializeAsString() + "\x10\x01" + feed_of({1, 2, 3, 4, 5, 6, 7, 8}, 2) + feed_of({1, 0, 1, 0}, 1);
    for (float& given : losses[replicate]) {
      const RawReply reply = client_->master("RunCallable", request);
      ASSERT_EQ(reply.code, 0) << reply.message;
      const std::size_t content = reply.bytes.find("\x22\x04");
      ASSERT_NE(content, std::string::npos);
      std::memcpy(&given, reply.bytes.data() + content + 2, sizeof(given));
    }
    EXPECT_EQ(server_->work().replicated_steps, replicate ? 2 : 0) << server_->work().not_replicated;
  }
  for (int i = 0; i < 2; ++i) EXPECT_NEAR(losses[1][i], losses[0][i], 1e-4 * std::abs(losses[0][i])) << i;
}

}  // namespace
}  // namespace argosy::tf
