// Issue 31: strings, files, graphs and images had bounds one by one only: many pieces, each below its bound, took all
// of the host's memory. They count against one budget now; what does not fit fails its step, and the next one works.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/base/memory/host_budget.h"
#include "argosy/base/system/test_files.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/functional.h"
#include "argosy/runtime/session/session.h"
#include "argosy/tensor/string_budget.h"

namespace argosy {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class HostBudgetTest : public testing::Test {
 protected:
  HostBudgetTest() : before_(host_budget().in_use()) {}
  void TearDown() override { EXPECT_EQ(host_budget().in_use(), before_) << "all of it was given back"; }

  static void expect_refused(const Status& status, std::string_view what) {
    EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.to_string();
    EXPECT_EQ(status.id(), "ARG-MEM-004") << status.to_string();
    EXPECT_THAT(status.to_string(), AllOf(HasSubstr(std::string(what)), HasSubstr("in use"), HasSubstr("64.0 MiB"),
                                          HasSubstr("--mem cpu:0")));
  }
  static void expect_works(Session& session, Graph& g) {
    const auto out = session.run({constant(g, std::string("still here"))});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
  }

  const std::int64_t before_;
  const std::shared_ptr<void> limit_ = host_budget().with_limit(64 << 20);
};

TEST_F(HostBudgetTest, StringsThatDoubleInALoop) {
  Graph g;
  const Value start = placeholder(g, DType::kString, {}, "start");
  const auto last = while_loop(
      {constant(g, std::int32_t{0}), start},
      [&](const auto& v) {
        return v[0].graph().add("Less", {v[0], constant(v[0].graph(), std::int32_t{60})});
      },
      [&](const auto& v) {
        Graph& body = v[0].graph();
        return std::vector<Value>{body.add("AddV2", {v[0], constant(body, std::int32_t{1})}),
                                  body.add("StringJoin", {v[1], v[1]})};
      });
  Session session(g);
  const auto out = session.run({{start, Tensor::scalar(std::string(1000, 'x'))}}, {last[1]});
  expect_refused(out.status(), "StringJoin");
  expect_works(session, g);
}

TEST_F(HostBudgetTest, FilesThatAreKept) {
  const TempDirectory folder;
  folder.write("f", std::string(3 << 20, 'y'));
  Graph g;
  const Value path = placeholder(g, DType::kString, {}, "path");
  std::vector<Value> contents;
  for (int i = 0; i < 100; ++i) {
    // Each a file of its own to whoever merges equal nodes.
    contents.push_back(g.add("ReadFile", {path}));
  }
  Session session(g);
  const auto out = session.run({{path, Tensor::scalar(folder.path("f"))}}, contents);
  expect_refused(out.status(), "ReadFile");
  expect_works(session, g);
  const auto few = session.run({{path, Tensor::scalar(folder.path("f"))}}, {contents[0], contents[1]});
  ASSERT_TRUE(few.ok()) << few.status().to_string();
  EXPECT_EQ(few->at(1).data<std::string>()->size(), 3u << 20);
}

TEST_F(HostBudgetTest, AFileAboveTheLimit) {
  const TempDirectory folder;
  folder.write("f", std::string(65 << 20, 'y'));
  Graph g;
  const Value contents = g.add("ReadFile", {constant(g, folder.path("f"))});
  Session session(g);
  expect_refused(session.run({contents}).status(), "the contents of");
  expect_works(session, g);
}

TEST_F(HostBudgetTest, StringsInAQueue) {
  Graph g;
  const Value queue = g.add("FIFOQueueV2", {}, {{"component_types", std::vector<DType>{DType::kString}}});
  const Value x = placeholder(g, DType::kString, {}, "x");
  const Value put = g.add("QueueEnqueueV2", {queue, g.add("StringJoin", {x, x})}).control();
  Status end;
  {
    Session session(g);
    int kept = 0;
    for (; kept < 1000 && end.ok(); ++kept) {
      end = session.run({{x, Tensor::scalar(std::string(1 << 19, 'q'))}}, {}, {put}).status();
    }
    EXPECT_GT(kept, 50);
    EXPECT_LT(kept, 70);
    expect_refused(end, "StringJoin");
    expect_works(session, g);
  }
}

// Rows without an element take no memory of a tensor, and a queue as many as there are.
TEST_F(HostBudgetTest, RowsWithoutElementsInAQueue) {
  constexpr std::size_t kComponents = 16;
  Graph g;
  const std::vector<DType> types(kComponents, DType::kFloat32);
  const Value queue = g.add("FIFOQueueV2", {}, {{"component_types", types}});
  const Value rows = placeholder(g, DType::kFloat32, {-1, 0}, "rows");
  std::vector<Value> inputs(1 + kComponents, rows);
  inputs[0] = queue;
  const Value put = g.add("QueueEnqueueManyV2", inputs).control();
  {
    Session session(g);
    const auto many = session.run({{rows, Tensor::zeros(DType::kFloat32, {std::int64_t{1} << 40, 0})}}, {}, {put});
    expect_refused(many.status(), "the elements of a queue");
  }
  Session session(g);  // the queue went with its session
  EXPECT_TRUE(session.run({{rows, Tensor::zeros(DType::kFloat32, {1000, 0})}}, {}, {put}).ok());
  expect_works(session, g);
}

// A few hundred bytes that say how large they are.
TEST_F(HostBudgetTest, AnImageAboveTheLimit) {
  Graph g;
  const Value image = g.add("EncodePng", {placeholder(g, DType::kUint8, {-1, -1, 3}, "pixels")});
  const Value decoded = g.add("DecodePng", {image}, {{"channels", std::int64_t{3}}});
  Session session(g);
  const Value pixels = g.value("pixels").value();
  expect_refused(session.run({{pixels, Tensor::zeros(DType::kUint8, {5000, 5000, 3})}}, {decoded}).status(),
                 "a decoded image");
  EXPECT_TRUE(session.run({{pixels, Tensor::zeros(DType::kUint8, {50, 50, 3})}}, {decoded}).ok());
  expect_works(session, g);
}

TEST_F(HostBudgetTest, SharedStringsCountOnce) {
  const Tensor t = Tensor::scalar(std::string(1 << 20, 's'));
  ASSERT_TRUE(reserve_strings(t, "it").ok());
  const std::int64_t now = host_budget().in_use();
  EXPECT_GE(now - before_, 1 << 20);
  const Tensor same = t.reshaped(Shape{1});
  ASSERT_TRUE(reserve_strings(same, "it").ok());
  EXPECT_EQ(host_budget().in_use(), now);
}

}  // namespace
}  // namespace argosy
