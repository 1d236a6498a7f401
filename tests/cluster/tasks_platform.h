// TasksPlatform: the devices of a test's session are those of several tasks of this process.
//
//   TestPlatform ─► TasksPlatform ┬ spread_platform.cc: nodes anywhere
//                                 └ replicas_platform.cc: the GPUs of a test are those of tasks
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "argosy/testing/fake_cluster.h"
#include "tests/session/support/test_session.h"

namespace argosy {

class TasksPlatform : public TestPlatform {
 public:
  // Null where the tasks cannot be made: the session stays as it is, and says why.
  static std::shared_ptr<FakeCluster> start(const std::vector<FakeTask>& tasks, SessionOptions& options) {
    auto made = FakeCluster::make(tasks);
    if (!made.ok()) return nullptr;
    std::shared_ptr<FakeCluster> cluster = *std::move(made);
    const SessionOptions of_cluster = cluster->options(0);  // the session's own task is the first
    options.device_set = of_cluster.device_set;
    options.tasks = of_cluster.tasks;
    return cluster;
  }

  bool places_nodes() const final { return true; }

 protected:
  explicit TasksPlatform(std::shared_ptr<FakeCluster> cluster) : cluster_(std::move(cluster)) {}

 private:
  const std::shared_ptr<FakeCluster> cluster_;
};

}  // namespace argosy
