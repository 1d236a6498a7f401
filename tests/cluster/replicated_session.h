// ReplicatedSession: a Session in whose place tests of data parallelism are compiled again (CMakeLists.txt). The GPUs that
// a test emulates are those of two or three tasks (argosy/testing/fake_cluster.h): of four GPUs on two tasks the first two
// are the master's. All else is the test's own: it expects the same values and errors.
//
// ARGOSY_SPREAD=TASKS
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "argosy/device/name.h"
#include "argosy/runtime/session/session.h"
#include "argosy/testing/fake_cluster.h"
#include "argosy/train/loop/compiled_model.h"  // before the word is another

namespace argosy {

// Before Session: made first, and gone last.
struct ReplicaTasks {
  explicit ReplicaTasks(SessionOptions& options) {
    const char* const text = std::getenv("ARGOSY_SPREAD");
    const int wanted = text == nullptr ? 2 : std::atoi(text);
    const int gpus = std::atoi(options.devices.emulate.c_str());
    // Sessions with devices of their own, of other speeds or without GPUs stay as they are.
    if (options.device_set != nullptr || gpus < 2 || std::to_string(gpus) != options.devices.emulate) return;
    const int count = std::min(wanted, gpus);
    std::vector<FakeTask> tasks;
    for (int t = 0, first = 0; t < count; ++t) {
      const int own = (gpus - first + count - t - 1) / (count - t);
      for (int g = 0; g < own; ++g) names.push_back(str_cat("/job:worker/replica:0/task:", t, "/device:GPU:", g));
      DeviceRequest request = options.devices;
      request.devices = request.emulate = str_cat(own);
      request.deterministic = request.deterministic || options.reproducible;
      tasks.push_back({.task = t, .request = request});
      first += own;
    }
    auto made = FakeCluster::make(tasks);
    if (!made.ok()) return;  // the session itself says why
    cluster = *std::move(made);
    const SessionOptions of_cluster = cluster->options(0);
    options.device_set = of_cluster.device_set;
    options.tasks = of_cluster.tasks;
  }
  std::vector<std::string> names;  // of the GPUs, by the number that the test has for each
  std::shared_ptr<FakeCluster> cluster;
};

class ReplicatedSession : private ReplicaTasks, public Session {
 public:
  explicit ReplicatedSession(const Graph& graph, SessionOptions options = {})
      : ReplicaTasks(options), Session(graph, std::move(options)), graph_(const_cast<Graph&>(graph)) {}
  ~ReplicatedSession() { (void)close(); }

  Result<std::vector<Tensor>> run(const Feeds& feeds, const std::vector<Value>& fetches,
                                  const std::vector<Value>& targets = {}, const RunOptions& options = {}) {
    rename();
    return Session::run(feeds, fetches, targets, options);
  }
  Result<std::vector<Tensor>> run(const std::vector<Value>& fetches) { return run({}, fetches); }
  Status run_targets(const std::vector<Value>& targets) { return run({}, {}, targets).status(); }
  Result<std::unique_ptr<Callable>> prepare(const std::vector<Value>& feeds, const std::vector<Value>& fetches,
                                            const std::vector<Value>& targets = {}) {
    rename();
    return Session::prepare(feeds, fetches, targets);
  }

 private:
  // The graph's GPUs become those of the tasks.
  void rename() {
    if (cluster == nullptr || !graph_.status().ok()) return;
    const Status changed = mutate_graph([&] {
      for (; next_ < graph_.size(); ++next_) {
        const DeviceName asked = asked_device(graph_.node(NodeId{next_}).device);
        if (asked.type != "GPU" || !asked.job.empty()) continue;
        const auto number = static_cast<std::size_t>(asked.id.value_or(0));
        if (number < names.size()) graph_.set_device(NodeId{next_}, names[number]);
      }
      return ok_status();
    });
    EXPECT_TRUE(changed.ok()) << changed.to_string();
  }

  Graph& graph_;
  std::int32_t next_ = 0;
};

}  // namespace argosy

// What follows is a test that says Session.
#define Session ReplicatedSession
