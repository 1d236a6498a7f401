#include "argosy/ops/mutex/mutex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/control_flow/control_flow.h"
#include "argosy/ops/state/state.h"
#include "argosy/runtime/session/session.h"
#include "argosy/testing/op_cases/op_case.h"
#include "tests/session/support/test_session.h"

namespace argosy {
namespace {

Value plain_variable(Graph& graph, const char* name) {
  return graph.add("VarHandleOp", {},
                   {{"dtype", DType::kInt32}, {"shape", PartialShape::scalar()}, {"shared_name", name}});
}

// Under the lock: read, then write what was read and one more.
Value guarded_increment(Graph& graph, Value lock_of, Value handle) {
  const Value lock = mutex_lock(lock_of);
  const auto after = [&](Value node, Value before) { graph.add_control_input(node.node(), before.node()); };
  const Value read = graph.add("ReadVariableOp", {handle}, {{"dtype", DType::kInt32}});
  after(read, lock);
  const Value write = graph.add("AssignVariableOp", {handle, graph.add("AddV2", {read, constant(graph, 1)})});
  const Value consume = consume_mutex_lock(lock);
  after(consume, write);
  return consume;
}

// Two sections of one step, and of steps that run at once: no increment is lost, nobody waits for ever.
TEST(Mutex, GuardsSections) {
  Graph graph;
  const Value handle = plain_variable(graph, "guarded"), lock = mutex(graph, "the lock");
  const Value init = graph.add("AssignVariableOp", {handle, constant(graph, 0)});
  const Value one = guarded_increment(graph, lock, handle), other = guarded_increment(graph, lock, handle);
  const Value read = graph.add("ReadVariableOp", {handle}, {{"dtype", DType::kInt32}});
  ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
  TestSession session(graph);
  ASSERT_TRUE(session.run_targets({init}).ok());
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) failed += session.run_targets({one, other}).ok() ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  const auto got = session.run({read});
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  EXPECT_EQ(*(*got)[0].data<std::int32_t>(), 200);
}

// A lock that no node gives back ends with the step, also when the step fails.
TEST(Mutex, GoesWithTheStep) {
  Graph graph;
  const Value lock = mutex_lock(mutex(graph, "leaked"));
  const Value fails = graph.add("Assert", {constant(graph, false), constant(graph, 1)});
  graph.add_control_input(fails.node(), lock.node());
  ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
  TestSession session(graph);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(session.run_targets({lock}).ok());
    EXPECT_EQ(session.run_targets({fails}).code(), Code::kInvalidArgument);
  }
}

TEST(Mutex, Refuses) {
  Graph graph;
  const Value no_lock = consume_mutex_lock(graph.add("EmptyTensorMap", {}));
  const Value handle = plain_variable(graph, "no mutex");
  const Value no_mutex = mutex_lock(handle);
  const Value lock = mutex_lock(mutex(graph));
  const Value once = consume_mutex_lock(lock), twice = consume_mutex_lock(lock);
  graph.add_control_input(twice.node(), once.node());
  ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
  TestSession session(graph);
  const Status wrong = session.run_targets({no_lock});
  EXPECT_EQ(wrong.code(), Code::kInvalidArgument);
  EXPECT_NE(wrong.message().find("Expected input to contain a SharedLockReleaser object"), std::string::npos)
      << wrong.to_string();
  EXPECT_EQ(session.run_targets({no_mutex}).code(), Code::kInvalidArgument);
  EXPECT_EQ(session.run_targets({twice}).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace argosy
