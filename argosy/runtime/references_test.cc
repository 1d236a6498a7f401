// Reference variables read as TensorFlow's are: Identity of one is the variable's memory, not a snapshot of it.
#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/state/state.h"
#include "argosy/runtime/session.h"

namespace argosy {
namespace {

// The read runs first; who reads *it* after an update sees the update. What TensorFlow's SyncReplicasOptimizer fills
// its token queue with.
class References : public testing::TestWithParam<bool> {  // on a GPU
 protected:
  VariableNode counter() {
    const auto on = g_.device(GetParam() ? "/gpu:0" : "/cpu:0");
    return variable(g_, Tensor::scalar(std::int64_t{5}), "v");
  }
  std::int64_t run_after_init(const VariableNode& v, Value fetch) {
    EXPECT_TRUE(g_.status().ok()) << g_.status().to_string();
    Session session(g_, {.devices = {.devices = "cpu:0,gpu:0", .emulate = "1"}});
    EXPECT_TRUE(session.run_targets({v.initializer}).ok());
    const auto out = session.run({fetch});
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    return out.ok() ? *out->at(0).data<std::int64_t>() : -1;
  }
  Graph g_;
};

TEST_P(References, ReadersThatComeAfterAnUpdateSeeIt) {
  const VariableNode v = counter();
  const Value added = assign_add(v, constant(g_, std::int64_t{1}));
  const auto after = g_.control_dependencies({added});
  EXPECT_EQ(run_after_init(v, square(v.read)), 36);
}

TEST_P(References, AlsoThroughAReadOfTheRead) {
  const VariableNode v = counter();
  const Value old = identity(v.read);
  const Value added = [&] {
    const auto after = g_.control_dependencies({old});
    return assign_add(v, constant(g_, std::int64_t{1}));
  }();
  const auto after = g_.control_dependencies({added});
  EXPECT_EQ(run_after_init(v, square(old)), 36);
}

TEST_P(References, ReadersThatComeBeforeItDoNot) {
  const VariableNode v = counter();
  const Value before = square(v.read);
  const Value added = [&] {
    const auto after = g_.control_dependencies({before});
    return assign_add(v, constant(g_, std::int64_t{1}));
  }();
  const auto after = g_.control_dependencies({added});
  EXPECT_EQ(run_after_init(v, before * read_value(v)), 25 * 6);
}

TEST_P(References, AResourceVariablesReadIsASnapshot) {
  const VariableNode v = [&] {
    const auto on = g_.device(GetParam() ? "/gpu:0" : "/cpu:0");
    return variable(g_, Tensor::scalar(std::int64_t{5}), "v", {.kind = VariableKind::kResource});
  }();
  const Value added = [&] {
    const auto after = g_.control_dependencies({v.read});
    return assign_add(v, constant(g_, std::int64_t{1}));
  }();
  const auto after = g_.control_dependencies({added});
  EXPECT_EQ(run_after_init(v, square(v.read)), 25);
}

// Objects live in the host's memory whatever device their variable is on: they are never copied as bytes.
TEST_P(References, StringsAreTheHosts) {
  const std::string text(100, 's');
  const auto on = g_.device(GetParam() ? "/gpu:0" : "/cpu:0");
  const VariableNode v = variable(g_, Tensor::vector<std::string>({text, "b"}), "v");
  const Value copy = g_.add("Reshape", {v.ref, constant(g_, Tensor::vector<std::int32_t>({2, 1}))});
  ASSERT_TRUE(g_.status().ok()) << g_.status().to_string();
  Session session(g_, {.devices = {.devices = "cpu:0,gpu:0", .emulate = "1"}});
  ASSERT_TRUE(session.run_targets({v.initializer}).ok());
  for (int i = 0; i < 3; ++i) {
    const auto out = session.run({copy, v.read});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(out->at(0).data<std::string>()[0], text);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, References, testing::Bool(),
                         [](const auto& info) { return info.param ? "Gpu" : "Cpu"; });

}  // namespace
}  // namespace argosy
