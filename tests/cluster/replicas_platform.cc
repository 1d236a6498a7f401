// The GPUs that a test of data parallelism emulates are those of two or three tasks: of four GPUs on two tasks the first
// two are the master's.
//
// ARGOSY_SPREAD=TASKS
#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "argosy/device/name.h"
#include "tests/cluster/tasks_platform.h"

namespace argosy {

namespace {

class ReplicasPlatform final : public TasksPlatform {
 public:
  // `names`: the GPUs, by the number that the test has for each.
  ReplicasPlatform(std::shared_ptr<FakeCluster> cluster, std::vector<std::string> names)
      : TasksPlatform(std::move(cluster)), names_(std::move(names)) {}

 private:
  // The graph's GPUs become those of the tasks.
  void place_new(Graph& graph, std::int32_t next) override {
    for (; next < graph.size(); ++next) {
      const DeviceName asked = asked_device(graph.node(NodeId{next}).device);
      if (asked.type != "GPU" || !asked.job.empty()) continue;
      const auto number = static_cast<std::size_t>(asked.id.value_or(0));
      if (number < names_.size()) graph.set_device(NodeId{next}, names_[number]);
    }
  }

  const std::vector<std::string> names_;
};

}  // namespace

std::unique_ptr<TestPlatform> make_test_platform(SessionOptions& options) {
  const char* const text = std::getenv("ARGOSY_SPREAD");
  const int wanted = text == nullptr ? 2 : std::atoi(text);
  const int gpus = std::atoi(options.devices.emulate.c_str());
  // Sessions with devices of their own, of other speeds or without GPUs stay as they are.
  if (options.device_set != nullptr || gpus < 2 || std::to_string(gpus) != options.devices.emulate) return nullptr;
  const int count = std::min(wanted, gpus);
  std::vector<FakeTask> tasks;
  std::vector<std::string> names;
  for (int t = 0, first = 0; t < count; ++t) {
    const int own = (gpus - first + count - t - 1) / (count - t);
    for (int g = 0; g < own; ++g) names.push_back(str_cat("/job:worker/replica:0/task:", t, "/device:GPU:", g));
    DeviceRequest request = options.devices;
    request.devices = request.emulate = str_cat(own);
    request.deterministic = request.deterministic || options.reproducible;
    tasks.push_back({.task = t, .request = request});
    first += own;
  }
  auto cluster = TasksPlatform::start(tasks, options);
  if (cluster == nullptr) return nullptr;
  return std::make_unique<ReplicasPlatform>(std::move(cluster), std::move(names));
}

}  // namespace argosy
