// What people believe each field of ConfigProto does, held against what it does here.
#include <thread>

#include "argosy/rpc/wire/wire_writer.h"
#include "argosy/runtime/device_set/device_set_view.h"
#include "argosy/tf/server/service/session_service.h"
#include "argosy/tf/server/session/run_options.h"
#include "argosy/tf/server/session/session_config.h"
#include "argosy/tf/server/session/session_devices.h"
#include "argosy/tf/server/tests/server_test.h"

namespace argosy::tf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const char* const kFloat = "attr { key: 'T' value { type: DT_FLOAT } }";

class ConfigTest : public ServerTest {
 protected:
  void SetUp() override { start({.devices = {.emulate = "gpu:64MiB,gpu:64MiB"}}); }
  std::string graph_on(const std::string& device) const {
    return graph_text(placeholder_node("x") + node("y", "AddV2", {"x", "x"}, kFloat, device) +
                      node("z", "Neg", {"y"}, kFloat, device));
  }
  // A session with this graph; its error is in `reply_`.
  std::string create_on(const std::string& device, const std::string& config) {
    return client_->create(graph_on(device), config_text(config), &reply_);
  }
  tensorflow::ListDevicesResponse devices(const std::string& session) {
    tensorflow::ListDevicesResponse response;
    const auto reply =
        client_->master("ListDevices", from_text<tensorflow::ListDevicesRequest>("session_handle: '" + session + "'"));
    EXPECT_TRUE(response.ParseFromString(reply.bytes));
    return response;
  }
  std::vector<std::string> names(const std::string& session) {
    std::vector<std::string> list;
    const tensorflow::ListDevicesResponse all = devices(session);
    for (const auto& d : all.local_device()) list.push_back(d.name().substr(d.name().rfind("device:") + 7));
    return list;
  }
  StepReply run_floats(const std::string& session, std::int64_t n) {
    return run(session, {.feeds = {{"x:0", Tensor::zeros(DType::kFloat32, {n})}}, .targets = {"z"}});
  }
  RawReply reply_;
};

TEST_F(ConfigTest, AllDevicesByDefault) {
  EXPECT_THAT(names(create()), ElementsAre("CPU:0", "GPU:0", "GPU:1"));
  const auto list = devices(create());
  EXPECT_EQ(list.local_device(0).memory_limit(), 256 << 20);
  EXPECT_EQ(list.local_device(1).memory_limit(), 64 << 20);
  EXPECT_EQ(list.local_device(1).device_type(), "GPU");
  for (const auto& d : list.local_device()) EXPECT_NE(d.incarnation(), 0u);
}

TEST_F(ConfigTest, VisibleDevicesAreThoseOfEachSession) {
  const std::string one = create(config_text("gpu_options { visible_device_list: '1' }"));
  const std::string other = create(config_text("gpu_options { visible_device_list: '0' }"));
  const std::string turned = create(config_text("gpu_options { visible_device_list: '1, 0' }"));
  EXPECT_THAT(names(one), ElementsAre("CPU:0", "GPU:0"));
  const auto seen_by_one = devices(one), seen_by_other = devices(other), seen_turned = devices(turned);
  EXPECT_THAT(seen_by_one.local_device(1).physical_device_desc(), HasSubstr("gpu:1 of the server"));
  EXPECT_THAT(seen_by_other.local_device(1).physical_device_desc(), Not(HasSubstr("of the server")));
  EXPECT_THAT(seen_turned.local_device(1).physical_device_desc(), HasSubstr("gpu:1 of the server"));
  EXPECT_THAT(seen_turned.local_device(2).physical_device_desc(), HasSubstr("gpu:0 of the server"));

  std::vector<std::thread> threads;
  for (const char* config : {"gpu_options { visible_device_list: '1' }", "gpu_options { visible_device_list: '0' }"}) {
    threads.emplace_back([&, session = create_on("/device:GPU:0", config)] {
      for (int i = 0; i < 20; ++i) EXPECT_EQ(run_floats(session, 1000).code, 0);
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(create_on("/device:GPU:1", "gpu_options { visible_device_list: '1' }"), "") << "there is only GPU:0";
  for (const char* bad : {"7", "-1", "x", "0,0", ","}) {
    EXPECT_EQ(create_on("", str_cat("gpu_options { visible_device_list: '", bad, "' }")), "") << bad;
    EXPECT_EQ(reply_.code, code(Code::kInvalidArgument));
  }
}

TEST_F(ConfigTest, AShareOfMemoryIsAHardCapOfThatSessionAlone) {
  const std::string half = create_on("/device:GPU:0", "gpu_options { per_process_gpu_memory_fraction: 0.25 }");
  ASSERT_NE(half, "") << reply_.message;
  const auto seen = devices(half);
  EXPECT_EQ(seen.local_device(1).memory_limit(), 16 << 20);
  EXPECT_EQ(run_floats(half, 1 << 20).code, 0);
  const auto refused = run_floats(half, 6 << 20);
  EXPECT_EQ(refused.code, code(Code::kResourceExhausted)) << refused.message;
  EXPECT_EQ(run_floats(create_on("/device:GPU:0", ""), 6 << 20).code, 0);
  EXPECT_EQ(run_floats(half, 1 << 20).code, 0) << "usable afterwards";
  EXPECT_EQ(create_on("", "gpu_options { per_process_gpu_memory_fraction: 1.5 }"), "");
  EXPECT_EQ(create_on("", "gpu_options { per_process_gpu_memory_fraction: nan }"), "");
}

TEST_F(ConfigTest, WhatVariablesOfACappedSessionHoldOutlivesIt) {
  const std::string config =
      config_text("gpu_options { per_process_gpu_memory_fraction: 0.25 visible_device_list: '1' }");
  for (int i = 0; i < 3; ++i) {
    const std::string s = create(config);
    EXPECT_EQ(run(s, {.feeds = {{"x:0", Tensor::scalar(5.0f)}}, .targets = {"v/assign"}}).code, 0);
    EXPECT_EQ(client_->close(s).code, 0);
  }
  EXPECT_EQ(run(create(config), {.fetches = {"v/read:0"}})["v/read:0"].to_string(), "float[] {5}");
}

// What `argosy run` reports: a session that sees one GPU calls it gpu:0, whichever it is.
class WorkTest : public ServerTest {};

TEST_F(WorkTest, IsTheServersDevices) {
  start({.devices = {.emulate = "2"}, .count_work = true});
  const std::string s = create(config_text("gpu_options { visible_device_list: '1' }"));
  ASSERT_EQ(run(s, {.feeds = {{"x:0", Tensor::scalar(2.0f)}}, .fetches = {"y:0"}}).code, 0);
  const auto devices = server_->work().devices;
  ASSERT_EQ(devices.size(), 3u);
  EXPECT_EQ(devices[1].ops, 0);
  EXPECT_GT(devices[2].ops, 0);
}

TEST_F(ConfigTest, GrowthIsAcceptedAndAlreadySo) {
  EXPECT_EQ(run_floats(create_on("/device:GPU:0", "gpu_options { allow_growth: true }"), 10).code, 0);
}

// A call of the service itself, whose device set can be inspected.
class PlainCall final : public CallContext {
 public:
  Cancellation& cancellation() override { return cancellation_; }
  void expect_duration(std::int64_t) override {}

 private:
  Cancellation cancellation_;
};

TEST(SessionMemory, IsTakenAsItIsNeededAndReturnsAtClose) {
  auto device_set = DeviceSet::make({.emulate = "gpu:64MiB"});
  ASSERT_TRUE(device_set.ok());
  SessionService service({.device_set = *device_set});
  const auto in_use = [&] { return (*device_set)->device(1).allocator().stats().in_use_bytes; };
  const auto call = [&](Method method, const std::string& request) {
    PlainCall context;
    const std::string_view pieces[] = {request};
    auto reply = service.call(method, WireReader(pieces), context);
    EXPECT_TRUE(reply.ok()) << reply.status().to_string();
    return reply.ok() ? joined(*reply) : "";
  };
  const std::string graph = graph_text(placeholder_node("x") + node("y", "AddV2", {"x", "x"}, kFloat, "/device:GPU:0") +
                                       node("z", "Neg", {"y"}, kFloat, "/device:GPU:0"));
  const std::uint64_t at_first = in_use();
  EXPECT_LT(at_first, 1u << 20) << "nothing is grabbed before it is needed";
  tensorflow::CreateSessionResponse created;
  ASSERT_TRUE(created.ParseFromString(call(Method::kCreateSession, create_session_request(graph, ""))));
  const StepCall step{.feeds = {{"x:0", Tensor::zeros(DType::kFloat32, {4 << 20})}}, .fetches = {"z:0"}};
  (void)call(Method::kRunStep, run_step_request(created.session_handle(), step));
  EXPECT_GE((*device_set)->device(1).allocator().stats().peak_bytes, 16u << 20);
  (void)call(Method::kCloseSession,
             from_text<tensorflow::CloseSessionRequest>("session_handle: '" + created.session_handle() + "'"));
  EXPECT_EQ(in_use(), at_first);
}

TEST_F(ConfigTest, DeviceCountLeavesGpusOut) {
  EXPECT_THAT(names(create(config_text("device_count { key: 'GPU' value: 0 }"))), ElementsAre("CPU:0"));
  EXPECT_THAT(names(create(config_text("device_count { key: 'GPU' value: 1 }"))), ElementsAre("CPU:0", "GPU:0"));
  EXPECT_THAT(names(create(config_text("device_count { key: 'CPU' value: 0 }"))),
              ElementsAre("CPU:0", "GPU:0", "GPU:1"));
  EXPECT_EQ(create_on("/device:GPU:0", "device_count { key: 'GPU' value: 0 }"), "");
}

// As of TensorFlow's servers: they are made once, for variables live on them beyond a session.
TEST_F(ConfigTest, DeviceCountMakesNoCpus) {
  const std::string two = "device_count { key: 'CPU' value: 2 }";
  EXPECT_THAT(names(create(config_text(two))), ElementsAre("CPU:0", "GPU:0", "GPU:1"));
  EXPECT_EQ(create_on("/device:CPU:1", two), "");
  EXPECT_EQ(reply_.code, code(Code::kInvalidArgument));
  EXPECT_THAT(reply_.message, HasSubstr("explicitly assigned to /device:CPU:1 but available devices are ["));
  EXPECT_THAT(reply_.message, HasSubstr("2 CPU devices: argosy run (or serve) --devices gpu,cpu:1\n"));
  start({.devices = {.devices = "cpu:1"}});
  EXPECT_THAT(names(create(config_text(two))), ElementsAre("CPU:0", "CPU:1"));
  EXPECT_EQ(run_floats(create_on("/device:CPU:1", two), 10).code, 0);
  EXPECT_THAT(names(create(config_text("device_count { key: 'CPU' value: 1 }"))), ElementsAre("CPU:0"));
}

TEST_F(ConfigTest, WhatAStockClientSaysOfItsOwnMachineAsksNothingOfOurs) {
  const std::string counts = "device_count { key: 'GPU' value: 0 } device_count { key: 'CPU' value: 1 } ";
  const std::string of_1_15 = counts + "gpu_options { experimental {} } ", of_2_15 = of_1_15 + "experimental {} ";
  for (const std::string& text : {of_1_15, of_2_15, of_2_15 + "pluggable_device_options { experimental {} }"}) {
    EXPECT_THAT(names(create(config_text(text))), ElementsAre("CPU:0", "GPU:0", "GPU:1")) << text;
  }
  EXPECT_THAT(names(create(config_text(counts))), ElementsAre("CPU:0")) << "a program's own words";
}

TEST_F(ConfigTest, PlacementIsCheckedWhenTheGraphArrives) {
  EXPECT_EQ(create_on("/device:GPU:5", ""), "");
  EXPECT_EQ(reply_.code, code(Code::kInvalidArgument));
  EXPECT_THAT(reply_.message, HasSubstr("Cannot assign a device for operation y: {{node y}} was explicitly assigned to "
                                        "/device:GPU:5 but available devices are ["));
  EXPECT_THAT(reply_.message, HasSubstr("\n\t [[y]]"));
  const std::string soft = create_on("/device:GPU:5", "allow_soft_placement: true");
  EXPECT_EQ(run_floats(soft, 10).code, 0);
  EXPECT_EQ(create_on("/job:worker/task:3", "allow_soft_placement: true"), "") << "another task is not here";
  EXPECT_EQ(create_on("/device:", ""), "");
}

TEST_F(ConfigTest, WhatSoftPlacementMovesIsToldOnce) {
  const std::string s = create_on("/device:GPU:5", "allow_soft_placement: true log_device_placement: true");
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run_floats(s, 10).code, 0);
  const std::string log = testing::internal::GetCapturedStderr();
  const std::size_t first = log.find("moved from");
  ASSERT_NE(first, std::string::npos) << log;
  EXPECT_THAT(log.substr(first), HasSubstr("there is no such device"));
  EXPECT_EQ(log.find("placement of", log.find("placement of") + 1), std::string::npos) << log;
}

TEST_F(ConfigTest, ADeviceThatIsFullSaysWhatFillsIt) {
  const std::string s = create_on("/device:GPU:0", "");
  StepCall call{.feeds = {{"x:0", Tensor::zeros(DType::kFloat32, {20 << 20})}}, .targets = {"z"}};
  call.options = from_text<tensorflow::RunOptions>("report_tensor_allocations_upon_oom: true");
  const auto reply = run(s, call);
  EXPECT_EQ(reply.code, code(Code::kResourceExhausted));
  EXPECT_THAT(reply.message, HasSubstr("64.0 MiB"));
  EXPECT_THAT(reply.message, HasSubstr("gpu:0"));
  EXPECT_THAT(reply.message, HasSubstr("80.0 MiB"));
}

TEST_F(ConfigTest, OpsBesideEachOtherNeverExceedWhatWasAllowed) {
  // A device runs one op at a time, so that every number of inter-op threads is kept to.
  for (const char* threads : {"1", "2", "64"}) {
    const std::string s = create_on("", str_cat("inter_op_parallelism_threads: ", threads));
    EXPECT_EQ(run_floats(s, 10).code, 0) << reply_.message;
  }
  EXPECT_EQ(create_on("", "inter_op_parallelism_threads: -1"), "");
}

TEST_F(ConfigTest, WhatCannotBeDoneIsAnErrorNotSilence) {
  const std::string s = create_on("", "");
  StepCall call{.feeds = {{"x:0", Tensor::scalar(1.0f)}}, .fetches = {"z:0"}};
  const std::string watch =
      "debug_options { debug_tensor_watch_opts { node_name: 'y' output_slot: 0 debug_ops: "
      "'DebugIdentity' debug_urls: 'file:///tmp/dumps' } }";
  call.options = from_text<tensorflow::RunOptions>(watch);
  const auto refused = run(s, call);
  EXPECT_EQ(refused.code, code(Code::kUnimplemented));
  EXPECT_THAT(refused.message, HasSubstr("y:0"));
  tensorflow::RunOptions unused;
  EXPECT_EQ(read_options(call.options, unused).id(), "ARG-RPC-006");
  const auto make = [&](const std::string& options) {
    return client_->master("MakeCallable", from_text<tensorflow::MakeCallableRequest>(
                                               "session_handle: '" + s + "' options { fetch: 'z:0' " + options + " }"));
  };
  EXPECT_EQ(make("feed: 'x:0' run_options { " + watch + " }").code, code(Code::kUnimplemented));
  call.options = from_text<tensorflow::RunOptions>("debug_options { }");
  EXPECT_EQ(run(s, call).code, 0);
}

TEST_F(ConfigTest, PlacementIsLoggedByTheServer) {
  const std::string s = create_on("/device:GPU:1", "log_device_placement: true");
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_floats(s, 10).code, 0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("device:GPU:1  1 nodes: z"));
}

TEST_F(ConfigTest, ThreadPoolOptionsThatServersRefuse) {
  EXPECT_EQ(create_on("", "use_per_session_threads: true"), "");
  EXPECT_EQ(reply_.code, code(Code::kInvalidArgument));
  EXPECT_EQ(create_on("", "session_inter_op_thread_pool { num_threads: 2 }"), "");
  EXPECT_EQ(create_on("", "intra_op_parallelism_threads: -1"), "");
  EXPECT_NE(create_on("", "intra_op_parallelism_threads: 1 inter_op_parallelism_threads: 1"), "") << reply_.message;
  EXPECT_NE(create_on("", "graph_options { optimizer_options { opt_level: L0 } }"), "") << reply_.message;
  EXPECT_EQ(client_->create(graph_on(""), "\xff\xff", &reply_), "");
}

TEST(SessionDevices, ThreadsAreThoseOfTheSessionAndVariablesThoseOfTheServer) {
  auto server = DeviceSet::make({.emulate = "2", .cpu_threads = 4});
  ASSERT_TRUE(server.ok());
  SessionConfig config{.cpu_threads = 1};
  auto mine = session_device_set(*server, config);
  ASSERT_TRUE(mine.ok());
  EXPECT_EQ((*mine)->device(0).spec().cores, 1);
  EXPECT_EQ((*server)->device(0).spec().cores, 4);
  EXPECT_EQ(&(*mine)->resources(0), &(*server)->resources(0));
  EXPECT_EQ(&(*mine)->launch_mutex(), &(*server)->launch_mutex());
  config.isolate_state = true;
  mine = session_device_set(*server, config);
  EXPECT_NE(&(*mine)->resources(0), &(*server)->resources(0));
  EXPECT_EQ(*session_device_set(*server, {}), *server) << "nothing asked: no view";
  EXPECT_FALSE(view_device_set(*server, {.parts = {{.device = 9}}}).ok());
  EXPECT_FALSE(view_device_set(*server, {.parts = {{.device = 1}}}).ok()) << "begins with a GPU";
  EXPECT_FALSE(view_device_set(*server, {}).ok());
}

}  // namespace
}  // namespace argosy::tf
