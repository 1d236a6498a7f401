#include "argosy/tf/server/replication/replica_devices.h"

#include "argosy/device/name.h"
#include "argosy/ops/ops.h"
#include "argosy/rpc/wire/wire_reader.h"

namespace argosy::tf {

ReplicaDevices replica_devices(const DeviceSet& own, const RemoteTasks* tasks, int most) {
  ReplicaDevices found;
  const auto add = [&](const DeviceSpec& spec) {
    if (!spec.is_gpu() || (most > 0 && found.size() >= static_cast<std::size_t>(most))) return;
    found.names.push_back(spec.name.to_string());
    found.speeds.push_back(spec.speed);
  };
  for (const DeviceSpec& spec : own.specs()) add(spec);
  found.own = found.size();
  if (tasks == nullptr) return found;
  // A task of TensorFlow has none of our ops.
  const OpDef& ours = *builtin_ops().find("_ShardBatch");
  for (const DeviceSpec& spec : tasks->devices()) {
    if (tasks->has_kernel(ours, spec)) add(spec);
  }
  return found;
}

ReplicaDevices replica_devices(std::span<const DeviceSpec> own) {
  ReplicaDevices found;
  for (const DeviceSpec& spec : own) {
    found.names.push_back(spec.name.to_string());
    found.speeds.push_back(spec.speed);
  }
  found.own = found.size();
  return found;
}

Status too_few_gpus(int asked, const ReplicaDevices& gpus) {
  const std::string names = gpus.spans_tasks() ? str_cat(": ", str_join(gpus.names)) : "";
  return failed_precondition("--replicate ", asked, ": the session has ", gpus.size(),
                             gpus.size() == 1 ? " GPU" : " GPUs", names)
      .with_id("ARG-CLUSTER-120")
      .with_hint("--replicate all, or more GPUs (of a cluster: on all tasks together)");
}

namespace {

// Makes a handle that lives as long as its session: variables, queues, tables.
bool makes_state(std::string_view op) {
  const OpDef* const def = builtin_ops().find(op);
  if (def == nullptr || !def->stateful || !def->input_args.empty() || def->output_args.size() != 1) return false;
  return def->output_args[0].is_ref || def->output_args[0].dtype == DType::kResource;
}

Status not_own(std::string_view node, std::string_view op, std::string_view device) {
  return invalid_argument("'", node, "' (", op, ") is to be on ", device,
                          ": with --replicate a session has its own state, which no other client shares")
      .with_id("ARG-CLUSTER-121")
      .with_where(str_cat("node '", node, "' (", op, ")"))
      .with_hint(
          "for a script of parameter servers start the tasks without --replicate; for one that owns its state ask for "
          "ConfigProto.isolate_session_state");
}

}  // namespace

Status check_own_state(std::string_view graph_def, const std::string& own_task) {
  ARGOSY_ASSIGN_OR_RETURN(const DeviceName own, DeviceName::parse(own_task));
  const std::string_view pieces[] = {graph_def};
  WireReader graph(pieces);
  WireScratch scratch;
  for (WireField f; graph.next(f);) {
    if (f.number != 1 || !f.is_bytes()) {
      graph.skip(f);
      continue;
    }
    WireReader node = graph.message(f);
    std::string_view name, op, device;
    for (WireField n; node.next(n);) {
      if (n.is_bytes() && (n.number == 1 || n.number == 2 || n.number == 4)) {
        (n.number == 1 ? name : n.number == 2 ? op : device) = node.text(n, scratch);
      } else {
        node.skip(n);
      }
    }
    const auto asked = DeviceName::parse(device);
    if (device.empty() || !asked.ok() || !makes_state(op)) continue;
    const bool elsewhere = (!asked->job.empty() && asked->job != own.job) || (asked->task && asked->task != own.task);
    if (elsewhere) return not_own(name, op, device);
  }
  return ok_status();
}

}  // namespace argosy::tf
