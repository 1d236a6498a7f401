// Before each step, every node that has come to the graph or to one of its functions is put on one of two or three tasks
// at random. Resources that one node takes are on one task: they could not be elsewhere.
//
// ARGOSY_SPREAD=TASKS:SEED; nodes go where their name and the seed say.
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "argosy/graph/makes_handle.h"
#include "tests/cluster/tasks_platform.h"

namespace argosy {

namespace {

struct SpreadChoice {
  int tasks = 2;
  std::uint64_t seed = 1;
  static SpreadChoice from_environment() {
    SpreadChoice choice;
    const char* const text = std::getenv("ARGOSY_SPREAD");
    if (text == nullptr) return choice;
    char* end = nullptr;
    choice.tasks = static_cast<int>(std::strtol(text, &end, 10));
    if (*end == ':') choice.seed = std::strtoull(end + 1, nullptr, 10);
    return choice;
  }
};

class SpreadPlatform final : public TasksPlatform {
 public:
  SpreadPlatform(std::shared_ptr<FakeCluster> cluster, const SpreadChoice& choice)
      : TasksPlatform(std::move(cluster)), choice_(choice) {}

 private:
  void place_new(Graph& graph, std::int32_t next) override {
    spread_nodes(graph, next);
    for (const auto& [name, function] : graph.functions()) {
      if (!functions_.insert(name).second) continue;
      auto& body = const_cast<Graph&>(function->body);
      spread_nodes(body, 0);
    }
  }
  void spread_nodes(Graph& graph, std::int32_t from) const {
    for (std::int32_t i = from; i < graph.size(); ++i) {
      const Node& n = graph.node(NodeId{i});
      const std::string asked = n.device;
      if (asked.find("/task:") != std::string::npos || asked.find("/job:") != std::string::npos) continue;
      std::uint64_t key = choice_.seed * 0x9e3779b97f4a7c15u;
      for (const char c : n.name) key = (key ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
      const auto task = (key >> 33) % static_cast<std::uint64_t>(choice_.tasks);
      graph.set_device(NodeId{i}, str_cat("/job:localhost/replica:0/task:", task, asked.empty() ? "" : ";", asked));
    }
    for (std::int32_t i = from; i < graph.size(); ++i) join_resources_of(graph, NodeId{i});
  }
  static void join_resources_of(Graph& graph, NodeId user) {
    std::optional<NodeId> first;
    for (const Endpoint e : graph.node(user).inputs) {
      if (!makes_handle(graph.node(e.node))) continue;
      if (!first) first = e.node;
      const std::string device(graph.node(*first).device);
      graph.set_device(e.node, device);
    }
  }

  const SpreadChoice choice_;
  std::set<std::string> functions_;
};

}  // namespace

std::unique_ptr<TestPlatform> make_test_platform(SessionOptions& options) {
  // Sessions with devices, kernels or a cluster of their own stay as they are.
  if (options.device_set != nullptr || options.kernels != nullptr || options.tasks != nullptr) return nullptr;
  const SpreadChoice choice = SpreadChoice::from_environment();
  options.devices.deterministic = options.devices.deterministic || options.reproducible;
  std::vector<FakeTask> tasks;
  for (int t = 0; t < choice.tasks; ++t) tasks.push_back({.job = "localhost", .task = t, .request = options.devices});
  auto cluster = TasksPlatform::start(tasks, options);
  if (cluster == nullptr) return nullptr;
  return std::make_unique<SpreadPlatform>(std::move(cluster), choice);
}

}  // namespace argosy
