// SpreadSession: a Session in whose place tests of whole sessions are compiled again (CMakeLists.txt). Its devices are
// those of two or three tasks (argosy/testing/fake_cluster.h). Before each step, every node that has come to the graph or
// to one of its functions is put on one of the tasks at random. All else is the test's own: it expects the same values
// and errors.
//
// ARGOSY_SPREAD=TASKS:SEED; nodes go where their name and the seed say.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "argosy/runtime/session/session.h"
#include "argosy/testing/fake_cluster.h"

namespace argosy {

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

// Before Session: made first, and gone last.
struct SpreadTasks {
  // Sessions with devices, kernels or a cluster of their own stay as they are.
  explicit SpreadTasks(SessionOptions& options) {
    if (options.device_set != nullptr || options.kernels != nullptr || options.tasks != nullptr) return;
    options.devices.deterministic = options.devices.deterministic || options.reproducible;
    std::vector<FakeTask> tasks;
    for (int t = 0; t < choice.tasks; ++t) tasks.push_back({.job = "localhost", .task = t, .request = options.devices});
    auto made = FakeCluster::make(tasks);
    if (!made.ok()) return;  // the session itself says why
    cluster = *std::move(made);
    const SessionOptions of_cluster = cluster->options(0);
    options.device_set = of_cluster.device_set;
    options.tasks = of_cluster.tasks;
  }
  const SpreadChoice choice = SpreadChoice::from_environment();
  std::shared_ptr<FakeCluster> cluster;
};

class SpreadSession : private SpreadTasks, public Session {
 public:
  explicit SpreadSession(const Graph& graph, SessionOptions options = {})
      : SpreadTasks(options), Session(graph, std::move(options)), graph_(const_cast<Graph&>(graph)) {}
  ~SpreadSession() { (void)close(); }

  Result<std::vector<Tensor>> run(const Feeds& feeds, const std::vector<Value>& fetches,
                                  const std::vector<Value>& targets = {}, const RunOptions& options = {}) {
    spread();
    return Session::run(feeds, fetches, targets, options);
  }
  Result<std::vector<Tensor>> run(const std::vector<Value>& fetches) { return run({}, fetches); }
  Status run_targets(const std::vector<Value>& targets) { return run({}, {}, targets).status(); }
  Result<std::unique_ptr<Callable>> prepare(const std::vector<Value>& feeds, const std::vector<Value>& fetches,
                                            const std::vector<Value>& targets = {}) {
    spread();
    return Session::prepare(feeds, fetches, targets);
  }
  Result<PlacementReport> placement(const std::vector<std::pair<Value, Shape>>& feeds,
                                    const std::vector<Value>& fetches, const std::vector<Value>& targets) {
    spread();
    return Session::placement(feeds, fetches, targets);
  }

 private:
  void spread() {
    if (cluster == nullptr || !graph_.status().ok()) return;
    const Status changed = mutate_graph([&] {
      spread_nodes(graph_, next_);
      next_ = graph_.size();
      for (const auto& [name, function] : graph_.functions()) {
        if (!functions_.insert(name).second) continue;
        auto& body = const_cast<Graph&>(function->body);
        spread_nodes(body, 0);
      }
      return ok_status();
    });
    EXPECT_TRUE(changed.ok()) << changed.to_string();
  }
  void spread_nodes(Graph& graph, std::int32_t from) {
    for (std::int32_t i = from; i < graph.size(); ++i) {
      const Node& n = graph.node(NodeId{i});
      const std::string asked = n.device;
      if (asked.find("/task:") != std::string::npos || asked.find("/job:") != std::string::npos) continue;
      std::uint64_t key = choice.seed * 0x9e3779b97f4a7c15u;
      for (const char c : n.name) key = (key ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
      const auto task = (key >> 33) % static_cast<std::uint64_t>(choice.tasks);
      graph.set_device(NodeId{i}, str_cat("/job:localhost/replica:0/task:", task, asked.empty() ? "" : ";", asked));
    }
  }

  Graph& graph_;
  std::int32_t next_ = 0;
  std::set<std::string> functions_;
};

}  // namespace argosy

// What follows is a test that says Session.
#define Session SpreadSession
