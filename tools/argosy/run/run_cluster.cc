#include "tools/argosy/run/run_cluster.h"

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace argosy::cli {

using Json = nlohmann::ordered_json;

Result<std::optional<tf::ClusterTask>> task_of_run(const ClusterFlags& flags) {
  if (flags.cluster.empty() && flags.job.empty() && flags.task < 0) {
    const char* const text = std::getenv("TF_CONFIG");
    if (text == nullptr || *text == '\0') return std::optional<tf::ClusterTask>();
    auto config = TfConfig::parse(text);
    if (!config.ok()) return std::move(config).status().with_where("TF_CONFIG");
    if (!config->task || config->cluster.address(*config->task) == nullptr) return std::optional<tf::ClusterTask>();
  }
  ClusterFlags place = flags;
  place.insecure.clear();  // of the cluster that the script makes, where none is given
  return cluster_task(place);
}

// What TF_CONFIG says now; nothing where it says nothing that can be read.
static TfConfig tf_config() {
  const char* const text = std::getenv("TF_CONFIG");
  if (text == nullptr) return {};
  auto config = TfConfig::parse(text);
  return config.ok() ? *std::move(config) : TfConfig();
}

std::vector<std::string> server_environment(const std::optional<tf::ClusterTask>& task, const DeviceRequest& devices,
                                            const std::vector<std::string>& serve_flags) {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  Json serve = {error ? std::string("argosy") : own.string(), "serve"};
  const auto add = [&](const char* flag, const std::string& value) {
    if (value.empty()) return;
    serve.push_back(flag);
    serve.push_back(value);
  };
  add("--devices", devices.devices);
  add("--emulate", devices.emulate);
  add("--mem", devices.memory);
  add("--virtual-gpus", devices.virtual_gpus);
  if (devices.cpu_threads > 0) add("--cpu-threads", std::to_string(devices.cpu_threads));
  if (devices.tf32) serve.push_back("--tf32");
  for (const std::string& flag : serve_flags) serve.push_back(flag);
  std::vector<std::string> list = {"ARGOSY_SERVE=" + serve.dump()};
  if (task) {
    const Json own_task = {
        {"cluster", Json::parse(task->cluster.to_json())}, {"job", task->task.job}, {"task", task->task.task}};
    list.push_back("ARGOSY_CLUSTER_TASK=" + own_task.dump());
    // Strategies and Estimators read it: without it they would train alone, and say nothing.
    const TfConfig known = tf_config();
    if (!known.task || *known.task != task->task || known.cluster != task->cluster) {
      const Json config = {{"cluster", Json::parse(task->cluster.to_json())},
                           {"task", {{"type", task->task.job}, {"index", task->task.task}}}};
      list.push_back("TF_CONFIG=" + config.dump());
    }
  }
  return list;
}

}  // namespace argosy::cli
