#include "fuzz/op_calls/fault_program.h"

#include <algorithm>

#include "argosy/base/guard.h"
#include "argosy/op/kernel/file_policy.h"
#include "argosy/ops/ops.h"
#include "fuzz/op_calls/draw_call.h"

namespace argosy::op_calls {

std::string FaultProgram::name() const {
  const std::string what =
      op != nullptr ? str_cat(op->name, " seed ", seed) : fault_cases()[static_cast<std::size_t>(made)].name;
  return what + (on_gpus ? " on emulated GPUs" : "");
}

DeviceRequest devices_of(const FaultProgram& program, const std::string& faults) {
  DeviceRequest request{.devices = "cpu:0", .memory = "cpu:0=64MiB", .cpu_threads = 2};
  if (program.on_gpus) {
    request.devices = "cpu:0,gpu:0,gpu:1";
    request.emulate = "gpu:64MiB,gpu:64MiB";
    request.faults = faults;
  }
  return request;
}

Result<std::shared_ptr<DeviceSet>> make_device_set(const DeviceRequest& request) {
  return guarded([&]() -> Result<std::shared_ptr<DeviceSet>> {
    ARGOSY_ASSIGN_OR_RETURN(const auto here, FilePolicy::within({"."}));
    ARGOSY_ASSIGN_OR_RETURN(const auto device_set, DeviceSet::make(request));
    device_set->set_files(here);
    return device_set;
  });
}

PreparedProgram::PreparedProgram(const FaultProgram& program) : builder_(graph_) {
  if (program.op == nullptr) {
    for (const Value& v : fault_cases()[static_cast<std::size_t>(program.made)].build(graph_)) {
      (v.index() < 0 ? targets_ : fetches_).push_back(v);
    }
    return;
  }
  const auto call = draw_call(*program.op, program.seed, {});
  const Value made = builder_.add(*call);
  if (!made.valid()) {
    graph_.fail(invalid_argument("the graph refuses the call"));
    return;
  }
  const Node& node = graph_.node(made.node());
  for (std::size_t i = 0; i < node.output_dtypes.size(); ++i) fetches_.push_back(made.output(static_cast<int>(i)));
  if (fetches_.empty()) targets_.push_back(made.control());
}

Status PreparedProgram::run(const std::shared_ptr<DeviceSet>& device_set, std::chrono::seconds timeout) const {
  const RunOptions options{.timeout = timeout};
  Session session(graph_, {.device_set = device_set});
  ARGOSY_RETURN_IF_ERROR(Status(session.status()));
  if (!builder_.first.empty()) ARGOSY_RETURN_IF_ERROR(session.run({}, {}, builder_.first, options).status());
  for (int k = 0; k < 2; ++k) {
    ARGOSY_RETURN_IF_ERROR(session.run(builder_.feeds, fetches_, targets_, options).status());
  }
  return session.close();
}

namespace {
bool ends_well(const FaultProgram& program) {
  const PreparedProgram prepared(program);
  if (!prepared.ok()) return false;
  const auto device_set = make_device_set(devices_of(program));
  return device_set.ok() && prepared.run(*device_set, std::chrono::seconds(program.op != nullptr ? 2 : 60)).ok();
}
}  // namespace

std::vector<FaultProgram> choose_programs(std::size_t count) {
  std::vector<FaultProgram> programs;
  for (std::size_t i = 0; i < fault_cases().size() && programs.size() < count; ++i) {
    programs.push_back({.made = static_cast<int>(i), .on_gpus = true});
  }
  for (std::uint64_t seed = 1; seed < 40 && programs.size() < count; ++seed) {
    std::size_t at = 0;
    for (const auto& op : builtin_ops().all()) {
      if (programs.size() >= count) break;
      // Every sixth op: they are beside those of their kind.
      if ((++at + seed) % 6 != 0 || op->name == "Abort" || op->name[0] == '_') continue;
      const bool had =
          std::any_of(programs.begin(), programs.end(), [&](const FaultProgram& p) { return p.op == op.get(); });
      const FaultProgram program{.op = op.get(), .seed = seed, .on_gpus = programs.size() % 3 == 0};
      if (!had && ends_well(program)) programs.push_back(program);
    }
  }
  return programs;
}

}  // namespace argosy::op_calls
