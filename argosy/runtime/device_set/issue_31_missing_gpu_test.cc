// device("/gpu:1") without a GPU ran on the CPU without a word.
#include <gmock/gmock.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/runtime/session/session.h"

namespace argosy {
namespace {

using ::testing::HasSubstr;

// y = -x on /gpu:1, run twice; what was said meanwhile.
std::string run_on_gpu_1(const SessionOptions& options, Status* status) {
  Graph graph;
  Value y;
  const Value x = placeholder(graph, DType::kFloat32, {2}, "x");
  {
    const auto on = graph.device("/gpu:1");
    y = graph.add("Neg", {x}, {}, "y");
  }
  ::testing::internal::CaptureStderr();
  Session session(graph, options);
  for (int i = 0; i < 2 && status->ok(); ++i) {
    *status = session.run({{x, Tensor::zeros(DType::kFloat32, {2})}}, {y}).status();
  }
  return ::testing::internal::GetCapturedStderr();
}

TEST(MissingGpu, IsToldOnceWithWhatMakesItBe) {
  Status status;
  const std::string said = run_on_gpu_1({.devices = {.devices = "cpu:0"}}, &status);
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_THAT(said, HasSubstr("there is no gpu:1 here"));
  EXPECT_THAT(said, HasSubstr("runs on cpu:0"));
  EXPECT_THAT(said, HasSubstr("DeviceRequest.emulate = \"2\""));
  EXPECT_THAT(said, HasSubstr("--emulate 2"));
  EXPECT_EQ(said.find("there is no"), said.rfind("there is no"));
}

TEST(MissingGpu, IsAnErrorWithoutSoftPlacement) {
  Status status;
  run_on_gpu_1({.devices = {.devices = "cpu:0"}, .allow_soft_placement = false}, &status);
  EXPECT_EQ(status.id(), "ARG-PLACE-001");
  EXPECT_THAT(status.hint(), HasSubstr("DeviceRequest.emulate = \"2\""));
  EXPECT_THAT(status.hint(), HasSubstr("--emulate 2"));
}

TEST(MissingGpu, NothingIsSaidWhereItIs) {
  Status status;
  EXPECT_EQ(run_on_gpu_1({.devices = {.emulate = "2"}, .allow_soft_placement = false}, &status), "");
  EXPECT_TRUE(status.ok()) << status.to_string();
}

}  // namespace
}  // namespace argosy
