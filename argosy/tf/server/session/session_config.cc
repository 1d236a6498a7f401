#include "argosy/tf/server/session/session_config.h"

#include <algorithm>

#include "argosy/base/str.h"
#include "argosy/device/name.h"
#include "argosy/formats/proto/config.pb.h"

namespace argosy::tf {

namespace {

Status refused(const auto&... what) { return invalid_argument("ConfigProto: ", what...).with_id("ARG-CONFIG-001"); }

Result<std::vector<int>> read_visible(const std::string& text, int num_gpus) {
  std::vector<int> gpus;
  for (const std::string& part : str_split(text, ',')) {
    const std::string_view word = str_trim(part);
    int gpu = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), gpu);
    if (error != std::errc() || end != word.data() + word.size()) {
      return refused("visible_device_list \"", text, "\": '", word, "' is no number of a GPU");
    }
    if (gpu < 0 || gpu >= num_gpus) {
      return refused("visible_device_list \"", text, "\": there is no GPU ", gpu, ", this server has ", num_gpus);
    }
    if (std::ranges::count(gpus, gpu) > 0)
      return refused("visible_device_list \"", text, "\" names GPU ", gpu, " twice");
    gpus.push_back(gpu);
  }
  return gpus;
}

// A session that was given no ConfigProto sends one that describes the *client's* machine, its device_count and visible
// GPUs among it, which asks nothing of our devices. Wheels from 2.16 on mark it with pluggable_device_options; those
// from 1.15 count both kinds of devices in it, none of them too, and say something of gpu_options.experimental, as no
// program does.
bool tells_of_client(const tensorflow::ConfigProto& proto) {
  const auto& counts = proto.device_count();
  return proto.has_pluggable_device_options() ||
         (proto.gpu_options().has_experimental() && counts.contains("CPU") && counts.contains("GPU"));
}

}  // namespace

Result<SessionConfig> read_config(std::string_view serialized, int num_gpus) {
  tensorflow::ConfigProto proto;
  if (!proto.ParseFromArray(serialized.data(), static_cast<int>(serialized.size()))) return refused("it is damaged");
  if (proto.use_per_session_threads()) {
    return invalid_argument("Distributed session does not support session thread pool options.");
  }
  if (proto.session_inter_op_thread_pool_size() > 0) {
    return invalid_argument("Distributed session does not support session_inter_op_thread_pool.");
  }
  SessionConfig config;
  config.soft_placement = proto.allow_soft_placement();
  config.log_placement = proto.log_device_placement();
  config.isolate_state = proto.isolate_session_state();
  config.partition_graphs = !proto.experimental().disable_output_partition_graphs();
  config.collective_leader = proto.experimental().collective_group_leader();
  config.optimize = proto.graph_options().optimizer_options().opt_level() != tensorflow::OptimizerOptions::L0;
  config.device_filters.assign(proto.device_filters().begin(), proto.device_filters().end());
  for (const std::string& filter : config.device_filters) {
    if (!DeviceName::parse(filter).ok()) return refused("device_filters: \"", filter, "\" is no name of a device");
  }
  if (proto.has_cluster_def()) config.cluster_def = proto.cluster_def().SerializeAsString();
  if (proto.operation_timeout_in_ms() > 0) config.timeout = std::chrono::milliseconds(proto.operation_timeout_in_ms());

  if (tells_of_client(proto)) return config;
  const auto& gpu = proto.gpu_options();
  if (!gpu.visible_device_list().empty()) {
    ARGOSY_ASSIGN_OR_RETURN(config.visible_gpus, read_visible(gpu.visible_device_list(), num_gpus));
  }
  const double share = gpu.per_process_gpu_memory_fraction();
  if (!(share >= 0 && share <= 1)) {
    return refused("per_process_gpu_memory_fraction is ", share, ", wanted a share from 0 to 1");
  }
  config.gpu_memory = share == 1 ? 0 : share;
  for (const auto& [kind, count] : proto.device_count()) {
    if (count < 0) return refused("device_count[\"", kind, "\"] is ", count);
    if (kind == "GPU") config.max_gpus = count;
    if (kind == "CPU") config.max_cpus = count;
  }
  if (proto.intra_op_parallelism_threads() < 0 || proto.inter_op_parallelism_threads() < 0) {
    return refused("a negative number of threads");
  }
  config.cpu_threads = proto.intra_op_parallelism_threads();
  return config;
}

}  // namespace argosy::tf
