// Names of variables, queues and iterators over several tasks: each device has its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/queue/queue.h"
#include "argosy/ops/state/state.h"
#include "argosy/testing/fake_cluster.h"

namespace argosy {
namespace {

float number(const Tensor& t) { return t.data<float>()[0]; }

// Soft placement gives up a device that is not there, never one that is.
TEST(Names, MeanAnotherThingOnEachDevice) {
  FakeCluster cluster({{.job = "worker", .cpus = 2, .gpus = 1}, {.job = "ps", .cpus = 2, .gpus = 1}});
  const std::vector<std::string> devices = {"/job:worker/task:0/cpu:1", "/job:ps/task:0/cpu:0", "/job:worker/gpu:0",
                                            "/job:ps/task:0/gpu:0",     "/job:ps/cpu:1",        "/job:worker/cpu:0"};
  for (int run = 0; run < 4; ++run) {
    auto options = cluster.options();
    options.allow_soft_placement = run < 2;
    const bool in_one_step = run % 2 == 0;
    const auto with = [&](const std::function<void(Graph&, Session&, const std::vector<VariableNode>&)>& use) {
      Graph graph;
      std::vector<VariableNode> all;
      for (const std::string& device : devices) {
        const auto scope = graph.device(device);
        all.push_back(variable(graph, Tensor::scalar(0.0f), "w" + std::to_string(all.size()),
                               {.kind = all.size() % 2 == 0 ? VariableKind::kResource : VariableKind::kReference,
                                .shared_name = str_cat("run", run)}));
      }
      Session session(graph, options);
      use(graph, session, all);
    };
    with([&](Graph& graph, Session& session, const std::vector<VariableNode>& all) {
      std::vector<Value> initializers;
      for (const VariableNode& w : all) initializers.push_back(w.initializer);
      if (in_one_step) {
        EXPECT_TRUE(session.run_targets(initializers).ok());
      }
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (!in_one_step) {
          EXPECT_FALSE(session.run({all[i].read}).ok()) << devices[i] << ": another one has a value";
          EXPECT_TRUE(session.run_targets({initializers[i]}).ok());
        }
        const Value more = assign_add(all[i], constant(graph, 1.0f + static_cast<float>(i)));
        EXPECT_TRUE(session.run_targets({more.control()}).ok());
      }
    });
    with([&](Graph&, Session& session, const std::vector<VariableNode>& all) {
      for (std::size_t i = all.size(); i-- > 0;) {
        const auto out = session.run({all[i].read});
        ASSERT_TRUE(out.ok()) << devices[i] << ": " << out.status().to_string();
        EXPECT_EQ(number((*out)[0]), 1.0f + static_cast<float>(i)) << devices[i] << ", run " << run;
      }
    });
  }
}

TEST(Names, OfQueuesAreThoseOfADevice) {
  FakeCluster cluster({{.job = "worker", .cpus = 2}, {.job = "ps", .cpus = 2}});
  Graph graph;
  std::vector<Value> sizes;
  Session session(graph, cluster.options());
  for (const char* const device : {"/job:worker/cpu:1", "/job:worker/cpu:0", "/job:ps/cpu:0", "/job:ps/cpu:1"}) {
    const auto scope = graph.device(device);
    const std::vector<DType> floats = {DType::kFloat32};
    const Value q = fifo_queue(graph, {.dtypes = floats, .shared_name = "one"}, str_cat("q", sizes.size()));
    sizes.push_back(queue_size(q));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      ASSERT_TRUE(session.run_targets({enqueue(q, {constant(graph, 1.0f)})}).ok());
    }
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto out = session.run({sizes[i]});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ((*out)[0].data<std::int32_t>()[0], static_cast<std::int32_t>(i) + 1);
  }
}

// Placement puts a variable on another device than it asks for; here a colocation does. All sessions find it there.
TEST(Names, AreFoundWherePlacementPutThem) {
  FakeCluster cluster({{.job = "worker", .cpus = 3}});
  Graph graph;
  const auto at = [&](const char* cpu, const char* name) {
    const auto scope = graph.device(cpu);
    return variable(graph, Tensor::scalar(3.0f), name, {.kind = VariableKind::kResource});
  };
  const VariableNode leader = at("/cpu:1", "leader");
  const auto with = graph.colocate_with(leader.ref);
  const VariableNode moved = at("/cpu:2", "moved");
  ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
  for (const bool first : {true, false}) {
    Session session(graph, cluster.options());
    if (first) {
      ASSERT_TRUE(session.run_targets({leader.initializer, moved.initializer}).ok());
    }
    const auto out = session.run({moved.read});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(number((*out)[0]), 3.0f);
  }
}

// The names of two tasks' iterators are often the same. A text of one never means the other.
TEST(Names, IteratorsOfTextsAreThoseOfADevice) {
  FakeCluster cluster({{.job = "worker"}, {.job = "ps"}});
  Graph g;
  const AttrMap elements = {{"output_types", std::vector<DType>{DType::kInt64}},
                            {"output_shapes", std::vector<PartialShape>{PartialShape({})}}};
  std::vector<Value> initializers;
  const auto iterator = [&](const char* job, std::int64_t first) {
    const auto scope = g.device(str_cat("/job:", job));
    const auto number = [&](std::int64_t n) { return constant(g, Tensor::scalar(n)); };
    const Value range = g.add("RangeDataset", {number(first), number(first + 9), number(1)}, elements);
    AttrMap named = elements;
    named.set("container", std::string());
    named.set("shared_name", std::string("one"));
    const Value handle = g.add("IteratorV2", {}, named);
    initializers.push_back(g.add("MakeIterator", {range, handle}).control());
    return g.add("IteratorToStringHandle", {handle});
  };
  const auto next = [&](const char* job, const Value& text) {
    const auto scope = g.device(str_cat("/job:", job));
    return g.add("IteratorGetNext", {g.add("IteratorFromStringHandleV2", {text}, elements)}, elements);
  };
  const Value of_worker = iterator("worker", 10);
  const Value of_ps = iterator("ps", 20);
  const Value on_worker = next("worker", of_worker), on_ps = next("ps", of_ps);
  const Value astray = next("ps", of_worker);
  ASSERT_TRUE(g.status().ok()) << g.status().to_string();
  Session session(g, cluster.options());
  ASSERT_TRUE(session.run_targets(initializers).ok());
  const auto out = session.run({on_worker, on_ps});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ((*out)[0].data<std::int64_t>()[0], 10);
  EXPECT_EQ((*out)[1].data<std::int64_t>()[0], 20);
  const Status lost = session.run({astray}).status();
  EXPECT_EQ(lost.code(), Code::kInvalidArgument) << lost.to_string();
  EXPECT_THAT(lost.message(), testing::HasSubstr("from handle defined on device \"/job:worker/replica:0/task:0"));
}

}  // namespace
}  // namespace argosy
