// Sessions beside each other, and one after another: what they take is theirs alone, and they give it back.
#include <gtest/gtest.h>

#include <cstdio>
#include <thread>

#include "argosy/base/sanitizers.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/matmul/matmul.h"
#include "argosy/ops/queue/queue.h"
#include "argosy/ops/reduction/reduction.h"
#include "argosy/ops/state/state.h"
#include "argosy/runtime/session/session.h"

namespace argosy {
namespace {

double resident_mebibytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  long total = 0, resident = 0;
  const int read = std::fscanf(file, "%ld %ld", &total, &resident);
  std::fclose(file);
  return read == 2 ? static_cast<double>(resident) * 4096 / (1 << 20) : 0;
}

Tensor filled(Shape shape, float value) {
  Tensor t = Tensor::zeros(DType::kFloat32, std::move(shape));
  for (float& v : t.values<float>()) v = value;
  return t;
}

// Half of it on each of two GPUs, joined on the CPU; a variable that every run adds to.
struct Program {
  Graph graph;
  Value x, sum, initialize, count;

  explicit Program(std::int64_t width) {
    x = placeholder(graph, DType::kFloat32, {-1, width}, "x");
    std::vector<Value> halves;
    for (const char* gpu : {"/gpu:0", "/gpu:1"}) {
      const auto on = graph.device(gpu);
      const Value w = constant(graph, filled({width, width}, 1.0f / static_cast<float>(width)));
      halves.push_back(reduce_sum(tanh(matmul(matmul(x, w), w))));
    }
    const auto on = graph.device("/cpu:0");
    sum = halves[0] + halves[1];
    const VariableNode v = variable(constant(graph, 0.0f), "count");
    initialize = v.initializer;
    count = graph.add("AssignAdd", {v.ref, constant(graph, 1.0f)});
  }
};

TEST(Sessions, AThousandLeaveResidentMemoryAsItWas) {
  if (kSanitized) GTEST_SKIP() << "sanitizers keep what was freed";
  const Program p(64);
  ASSERT_TRUE(p.graph.status().ok()) << p.graph.status().to_string();
  const Tensor x = filled({32, 64}, 0.5f);
  const auto once = [&] {
    Session session(p.graph, {.devices = {.devices = "gpu:0,gpu:1", .emulate = "2"}});
    ASSERT_TRUE(session.run_targets({p.initialize}).ok());
    for (int i = 1; i <= 2; ++i) {
      const auto out = session.run({{p.x, x}}, {p.sum, p.count});
      ASSERT_TRUE(out.ok()) << out.status().to_string();
      ASSERT_EQ((*out)[1].data<float>()[0], static_cast<float>(i)) << "variables of another session";
    }
  };
  for (int i = 0; i < 100; ++i) once();
  const double before = resident_mebibytes();
  for (int i = 0; i < 1000; ++i) once();
  const double after = resident_mebibytes();
  EXPECT_LE(after, before * 1.01 + 0.5) << "MiB";
}

TEST(Sessions, MapsAndCapsAreEachTheirOwn) {
  const Program p(256);
  Graph large;
  const Value wide = placeholder(large, DType::kFloat32, {4096, 4096}, "wide");
  const Value squared = reduce_sum(tanh(wide) * 2.0 + wide);
  // The machine's first GPU alone and its second with a small cap: both are the session's GPU:0.
  Session two(p.graph, {.devices = {.devices = "gpu:0,gpu:1", .emulate = "2", .memory = "gpu:0=512MiB"}});
  Session roomy(large, {.devices = {.devices = "gpu:0", .emulate = "2", .memory = "gpu:0=512MiB"}});
  Session tight(large, {.devices = {.devices = "gpu:1", .emulate = "2", .memory = "gpu:1=8MiB"}});
  ASSERT_TRUE(two.run_targets({p.initialize}).ok());
  const Tensor x = filled({32, 256}, 0.5f), ones = filled({4096, 4096}, 0.0f);
  std::thread first([&] {
    for (int i = 1; i <= 50; ++i) {
      const auto out = two.run({{p.x, x}}, {p.count});
      ASSERT_TRUE(out.ok()) << out.status().to_string();
      EXPECT_EQ((*out)[0].data<float>()[0], static_cast<float>(i));
    }
  });
  std::thread second([&] {
    for (int i = 0; i < 5; ++i) {
      const auto out = roomy.run({{wide, ones}}, {squared});
      ASSERT_TRUE(out.ok()) << out.status().to_string();
      EXPECT_EQ((*out)[0].data<float>()[0], 0.0f);
    }
  });
  std::thread third([&] {
    for (int i = 0; i < 5; ++i) {
      const auto out = tight.run({{wide, ones}}, {squared});
      EXPECT_EQ(out.status().code(), Code::kResourceExhausted) << "64 MiB fit into 8";
    }
  });
  first.join();
  second.join();
  third.join();
  EXPECT_EQ(tight.device_set().device(1).spec().memory_limit_bytes, 8u << 20);
  EXPECT_LE(tight.device_set().device(1).allocator().stats().peak_bytes, 8u << 20);
  EXPECT_EQ(roomy.device_set().device(1).spec().memory_limit_bytes, 512u << 20);
  EXPECT_GE(roomy.device_set().device(1).allocator().stats().peak_bytes, 64u << 20);
  EXPECT_EQ(roomy.device_set().size(), 2) << "the CPU and the one GPU asked for";
}

// On a device set that outlives sessions, a sweep's next trial has the same names and other shapes.
TEST(Sessions, AVariableLeftBehindMayBeDeclaredAnew) {
  const auto device_set = DeviceSet::make({});
  ASSERT_TRUE(device_set.ok());
  const auto trial = [&](std::int64_t width, Graph& graph) {
    const VariableNode w = variable(graph, filled({width}, 1.0f), "w");
    auto session = std::make_unique<Session>(graph, SessionOptions{.device_set = *device_set});
    const Status status = session->run_targets({w.initializer});
    return std::pair(std::move(session), status);
  };
  Graph first, second, third;
  auto one = trial(3, first);
  ASSERT_TRUE(one.second.ok()) << one.second.to_string();
  EXPECT_EQ(trial(4, second).second.id(), "ARG-VAR-002");
  ASSERT_TRUE(one.first->close().ok());
  const auto two = trial(5, third);
  EXPECT_TRUE(two.second.ok()) << two.second.to_string();
}

// The first rows of a constant may lie where all of it does: steps that want either find what they asked for.
TEST(Sessions, ConstantsOnADeviceAreAsLongAsAskedFor) {
  const auto device_set = DeviceSet::make({.devices = "gpu:0", .emulate = "1"});
  ASSERT_TRUE(device_set.ok()) << device_set.status().to_string();
  const Tensor whole = Tensor::of<float>({4}, {1, 2, 3, 4});
  const Tensor part(DType::kFloat32, Shape{2}, whole.buffer().part(0, 2 * sizeof(float)));
  const auto copy = [&](const Tensor& t) {
    const auto there = (*device_set)->constant_on(1, t);
    EXPECT_TRUE(there.ok()) << there.status().to_string();
    return *there;
  };
  const Tensor first = copy(part);
  const Tensor all = copy(whole);
  EXPECT_EQ(all.data<float>()[3], 4);
  EXPECT_EQ(copy(part).buffer().data(), all.buffer().data()) << "shared";
  EXPECT_EQ(copy(whole).buffer().data(), all.buffer().data());
  EXPECT_NE(first.buffer().data(), all.buffer().data());
}

// One step puts the variable on a GPU; another has a user of it that TensorFlow keeps on CPUs.
TEST(Sessions, AVariableIsTheSameInEveryStep) {
  Graph graph;
  const VariableNode v = variable(graph, Tensor::scalar<std::int64_t>(0), "epochs");
  const Value next = count_up_to(v, 3);
  Session session(graph, {.devices = {.emulate = "2"}});
  ASSERT_TRUE(session.run_targets({v.initializer}).ok());
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto out = session.run({next});
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(*(*out)[0].data<std::int64_t>(), i);
  }
  EXPECT_EQ(session.run({next}).status().code(), Code::kOutOfRange);
}

// As of TensorFlow, with a shared name or without: by the name there is a new queue then, for the same session, too.
TEST(Sessions, AQueueThatWasDestroyedIsMadeAnew) {
  for (const char* shared : {"", "q"}) {
    Graph graph;
    const Value q = fifo_queue(graph, {.dtypes = {DType::kFloat32}, .shared_name = shared}, "queue");
    const Value put = enqueue(q, {constant(graph, 1.0f)});
    const Value size = queue_size(q);
    const Value gone = graph.add("DestroyResourceOp", {q}, {{"ignore_lookup_error", false}});
    ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
    Session session(graph);
    const auto sized = [&] { return *session.run({size}).value()[0].data<std::int32_t>(); };
    ASSERT_TRUE(session.run_targets({put}).ok());
    EXPECT_EQ(sized(), 1);
    for (int i = 0; i < 2; ++i) {
      const Status destroyed = session.run_targets({gone});
      EXPECT_TRUE(destroyed.ok()) << destroyed.to_string();
      EXPECT_EQ(sized(), 0);
    }
    ASSERT_TRUE(session.run_targets({put}).ok());
    EXPECT_EQ(sized(), 1);
  }
}

// Handles share what they name: this circle ends with the session, its devices, or DestroyResourceOp.
TEST(Sessions, AQueueThatHoldsItsOwnHandleGoes) {
  for (const bool destroyed : {true, false}) {
    for (const char* shared : {"", "q"}) {
      std::weak_ptr<Resource> queue;
      {
        Graph graph;
        const Value q = fifo_queue(graph, {.dtypes = {DType::kResource}, .shared_name = shared}, "queue");
        const Value put = enqueue(q, {q});
        const Value gone = graph.add("DestroyResourceOp", {q}, {{"ignore_lookup_error", false}});
        ASSERT_TRUE(graph.status().ok()) << graph.status().to_string();
        Session session(graph);
        ASSERT_TRUE(session.run_targets({put}).ok());
        ResourceManager& where = *shared != '\0' ? session.device_set().resources(0) : session.op_state();
        queue = where.find<Resource>("localhost", *shared != '\0' ? "q" : "queue").value();
        if (destroyed) {
          ASSERT_TRUE(session.run_targets({gone}).ok());
        }
      }
      EXPECT_TRUE(queue.expired()) << shared << " " << destroyed;
    }
  }
}

}  // namespace
}  // namespace argosy
