// A server and a client of it in one process, and the graph that the tests run.
#pragma once

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "argosy/formats/proto/config.pb.h"
#include "argosy/formats/proto/master.pb.h"
#include "argosy/tf/server/testing/raw_client.h"
#include "argosy/tf/server/transport/session_server.h"

namespace argosy::tf {

template <typename Message>
std::string from_text(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message.SerializeAsString();
}
inline std::string graph_text(const std::string& nodes) { return from_text<tensorflow::GraphDef>(nodes); }
inline std::string config_text(const std::string& text) { return from_text<tensorflow::ConfigProto>(text); }

// A node of one float type attribute T.
inline std::string node(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                        const std::string& attrs = "attr { key: 'T' value { type: DT_FLOAT } }",
                        const std::string& device = "") {
  std::string text = str_cat("node { name: '", name, "' op: '", op, "' device: '", device, "' ");
  for (const std::string& input : inputs) text += str_cat("input: '", input, "' ");
  return text + attrs + " } ";
}
inline std::string placeholder_node(const std::string& name) {
  return node(name, "Placeholder", {},
              "attr { key: 'dtype' value { type: DT_FLOAT } } "
              "attr { key: 'shape' value { shape { unknown_rank: true } } }");
}
inline std::string variable_nodes(const std::string& name) {
  const std::string handle =
      "attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { shape {} } } "
      "attr { key: 'shared_name' value { s: '" +
      name + "' } }";
  const std::string dtype = "attr { key: 'dtype' value { type: DT_FLOAT } }";
  return node(name, "VarHandleOp", {}, handle) + node(name + "/read", "ReadVariableOp", {name}, dtype) +
         node(name + "/assign", "AssignVariableOp", {name, "x"}, dtype) +
         node(name + "/add", "AssignAddVariableOp", {name, "x"}, dtype);
}

class ServerTest : public testing::Test {
 protected:
  void start(SessionServerOptions options = {}) {
    options.port = 0;
    auto started = SessionServer::start(options);
    ASSERT_TRUE(started.ok()) << started.status().to_string();
    server_ = *std::move(started);
    client_ = std::make_unique<RawClient>(server_->address());
  }
  // x, y = x + x, e = x * y; a variable v; a node of no output.
  std::string simple_graph() const {
    return graph_text(placeholder_node("x") + node("y", "AddV2", {"x", "x"}) + node("e", "Mul", {"x", "y"}) +
                      variable_nodes("v") + node("nothing", "NoOp", {}, "") + node("odd", "NoSuchOp", {"x"}, ""));
  }
  std::string create(const std::string& config = "") {
    RawReply reply;
    std::string handle = client_->create(simple_graph(), config, &reply);
    EXPECT_EQ(handle.size(), 16u) << reply.message;
    return handle;
  }
  // Waits until so many calls have reached their sessions.
  void wait_for_calls(int calls) {
    for (int i = 0; i < 6000 && server_->num_running_calls() < calls; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ASSERT_EQ(server_->num_running_calls(), calls);
  }
  StepReply run(const std::string& session, const StepCall& call) { return client_->run(session, call); }
  static int code(Code c) { return static_cast<int>(c); }

  std::unique_ptr<SessionServer> server_;
  std::unique_ptr<RawClient> client_;
};

}  // namespace argosy::tf
