// Steps over several tasks: the same values as on one, and one cause when something fails.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/control_flow.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/testing/fake_cluster.h"
#include "argosy/testing/loop.h"

namespace argosy {
namespace {

float number(const Tensor& t) { return t.data<float>()[0]; }

struct TwoTasks : testing::Test {
  FakeCluster cluster{{{.job = "worker"}, {.job = "ps"}}};
  Graph g;
  Value on_ps(const std::function<Value()>& build) {
    const auto scope = g.device("/job:ps/task:0");
    return build();
  }
  Value on_worker(const std::function<Value()>& build) {
    const auto scope = g.device("/job:worker/task:0");
    return build();
  }
};

TEST_F(TwoTasks, ValuesGoThereAndBack) {
  const Value x = placeholder(g, DType::kFloat32, {});
  const Value y = on_ps([&] { return neg(x); });
  const Value z = on_worker([&] { return y + y; });
  Session session(g, cluster.options());
  for (const float at : {1.0f, -3.0f}) {
    const auto out = session.run({{x, Tensor::scalar(at)}}, {z, y});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(number((*out)[0]), -2 * at);
    EXPECT_EQ(number((*out)[1]), -at);
  }
  EXPECT_EQ(cluster.registrations(), 1) << "once a signature";
  EXPECT_EQ(cluster.receives(), 2) << "one transfer a run, for both readers";
  EXPECT_EQ(cluster.steps_under_way(), 0u);
}

TEST_F(TwoTasks, ReportsWhereAllNodesRun) {
  const Value x = on_ps([&] { return neg(constant(g, 2.0f)); });
  const Value y = on_worker([&] { return abs(x); });
  auto options = cluster.options();
  options.optimize = false;
  Session session(g, options);
  const auto report = session.placement({}, {y}, {});
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  std::map<std::string, std::string> device;
  for (const auto& row : report->rows) device[row.node] = row.device;
  EXPECT_EQ(device[x.name().substr(0, x.name().find(':'))], "/job:ps/replica:0/task:0/device:CPU:0");
  EXPECT_EQ(device[y.name().substr(0, y.name().find(':'))], "/job:worker/replica:0/task:0/device:CPU:0");
  EXPECT_NE(report->summary().find("partition: 2 tasks, 1 values"), std::string::npos) << report->summary();
}

}  // namespace
}  // namespace argosy
