// Loops on several devices, with a sum over the devices between them, as the gradient of a weighted mean has it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/ops/collective/collective.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/runtime/session/session.h"
#include "argosy/testing/loop.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

using testing::HasSubstr;

// start ──► three times · 2 ──► all_reduce ──┬─► Enter
//                               0 ──► three times + what entered ──► last
class LoopsAndSums : public testing::Test {
 protected:
  void build(int devices) {
    for (int d = 0; d < devices; ++d) {
      const auto here = on(d);
      const Value start = constant(graph, static_cast<float>(d + 1));
      const std::string name = str_cat("first_", d);
      first.push_back(DataflowLoop(
                          graph, start, [](Value v) { return v + v; }, name.c_str())
                          .out);
    }
    for (int d = 0; d < devices; ++d) {
      const auto here = on(d);
      sums.push_back(all_reduce({first[d]}, {.group = "sum", .rank = d, .size = devices})[0]);
      const std::string name = str_cat("second_", d);
      const Value entered = DataflowLoop::enter(graph, sums[d], name.c_str());
      last.push_back(DataflowLoop(
                         graph, constant(graph, 0.f), [&](Value v) { return v + entered; }, name.c_str())
                         .out);
    }
    ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
  }
  Graph::Scope on(int d) { return graph.device(str_cat("/gpu:", d)); }

  Graph graph;
  std::vector<Value> first, sums, last;
};

TEST_F(LoopsAndSums, HaveAStaticSchedule) {
  build(3);
  TestSession session(graph, {.devices = {.emulate = "3"}, .optimize = false});
  const auto report = session.placement({}, last, {});
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_THAT(report->passes, testing::Contains(HasSubstr("order: static; 6 loops")));
  for (int again = 0; again < 3; ++again) {
    const auto out = session.run(last);
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    for (const Tensor& t : *out) EXPECT_EQ(*t.data<float>(), 3 * 8 * (1 + 2 + 3));
  }
}

// One exchange for the sum that enters the second loop and for what leaves that loop: nobody can begin it.
TEST_F(LoopsAndSums, ASumThatWaitsForItselfIsNamed) {
  for (int d = 0; d < 2; ++d) {
    const auto here = on(d);
    const Value start = constant(graph, 1.f);
    const auto both = all_reduce({start, start}, {.group = "sum", .rank = d, .size = 2}, str_cat("both_", d));
    const std::string name = str_cat("loop_", d);
    const Value entered = DataflowLoop::enter(graph, both[0], name.c_str());
    const DataflowLoop loop(
        graph, constant(graph, 0.f), [&](Value v) { return v + entered; }, name.c_str());
    graph.set_input(both[0].node(), 1, loop.out.endpoint());
    last.push_back(both[1]);
  }
  ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
  TestSession session(graph, {.devices = {.emulate = "2"}, .optimize = false});
  for (const Status& ran : {session.run(last).status(), session.run_targets(last)}) {
    EXPECT_EQ(ran.id(), "ARG-LOOP-004") << ran.to_string();
    EXPECT_THAT(ran.to_string(), HasSubstr("node 'both_0' (_AllReduce)"));
  }
}

}  // namespace
}  // namespace argosy
