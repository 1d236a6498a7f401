// ReplicatedSession: a Session in whose place tests of data parallelism are compiled again (CMakeLists.txt). The GPUs that
// a test emulates are those of two or three tasks (argosy/testing/fake_cluster.h): of four GPUs on two tasks the first two
// are the master's. All else is the test's own: it expects the same values and errors.
//
// ARGOSY_SPREAD=TASKS
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "argosy/device/name.h"
#include "argosy/train/loop/compiled_model.h"  // before the word is another
#include "tests/cluster/session_on_tasks.h"

namespace argosy {

struct ReplicaTasks : TasksOfSession {
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
    start(tasks, options);
  }
  std::vector<std::string> names;  // of the GPUs, by the number that the test has for each
};

class ReplicatedSession final : private ReplicaTasks, public SessionOnTasks {
 public:
  explicit ReplicatedSession(const Graph& graph, SessionOptions options = {})
      : ReplicaTasks(options), SessionOnTasks(graph, std::move(options), *this) {}

 private:
  // The graph's GPUs become those of the tasks.
  void place_new(Graph& graph, std::int32_t next) override {
    for (; next < graph.size(); ++next) {
      const DeviceName asked = asked_device(graph.node(NodeId{next}).device);
      if (asked.type != "GPU" || !asked.job.empty()) continue;
      const auto number = static_cast<std::size_t>(asked.id.value_or(0));
      if (number < names.size()) graph.set_device(NodeId{next}, names[number]);
    }
  }
};

}  // namespace argosy

// What follows is a test that says Session.
#define Session ReplicatedSession
