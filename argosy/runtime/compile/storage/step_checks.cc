#include "argosy/runtime/compile/storage/step_checks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "argosy/ops/collective/async_launch_kernel.h"

namespace argosy {

Status check_missing(const Step& step, const InstructionGraph& instructions) {
  for (std::size_t i = 0; i < step.instructions.size(); ++i) {
    const Node* const node = instructions.nodes[i];
    if (node == nullptr || step.instructions[i].may_be_dead) continue;
    const bool missing = node->op->name == "_Missing";
    if (!missing && node->op->name != "_ShapeError") continue;
    Status error(static_cast<Code>(node->attrs.get_int("code")), node->attrs.get_string("message"));
    if (missing) return std::move(error).with_where(str_cat("node '", node->name, "'"));
    return std::move(error)
        .with_id(node->attrs.get_string("id"))
        .with_where(str_cat("node '", node->name, "' (", node->attrs.get_string("op"), ")"))
        .with_hint(node->attrs.get_string("hint"));
  }
  return ok_status();
}

Status check_memory(const Step& step) {
  for (int d = 0; d < step.device_set->size(); ++d) {
    const MemoryStats stats = step.device_set->device(d).allocator().stats();
    if (stats.limit_bytes == 0) continue;
    const MemoryForecast& f = step.info.forecast[d];
    // Variables that have values already are part of what is in use, and idle arenas of other steps will be shared.
    // Counting either twice would refuse steps that fit.
    const std::uint64_t later = f.arena_bytes + f.dynamic_bytes;
    const std::uint64_t idle = step.device_set->arenas(d).idle_bytes();
    const std::uint64_t in_use = stats.in_use_bytes - std::min(stats.in_use_bytes, idle);
    const std::uint64_t need = std::max<std::uint64_t>(in_use, f.variable_bytes + f.constant_bytes) + later;
    if (need <= stats.limit_bytes) continue;
    std::string largest;
    for (const auto& t : f.largest) largest += str_cat(largest.empty() ? "" : ", ", t.node, " ", format_bytes(t.bytes));
    return resource_exhausted("cannot fit: ", step.device_set->device(d).spec().said_name(), " needs ",
                              format_bytes(need), ", its cap is ", format_bytes(stats.limit_bytes), ": variables ",
                              format_bytes(f.variable_bytes), ", activations and workspaces ",
                              format_bytes(f.arena_bytes), ", constants ", format_bytes(f.constant_bytes), ", other ",
                              format_bytes(f.dynamic_bytes), "; largest at the peak: ", largest)
        .with_id("ARG-MEM-001")
        .with_where(f.device.to_string())
        .with_hint("a smaller batch, micro-batches (--strategy dp,accumulate=4), more devices, or a higher --mem cap");
  }
  return ok_status();
}

std::vector<std::string> describe_collectives(const Step& step) {
  std::map<std::string, std::pair<const AsyncLaunchKernel*, std::vector<Device*>>> groups;
  if (!step.device_set->has_async_device()) return {};
  for (const Instruction& instruction : step.instructions) {
    if (!instruction.async || instruction.kernel == nullptr) continue;
    const Graph& graph = step.info.graph->graph;
    const auto id = graph.find(step.info.nodes[static_cast<std::size_t>(instruction.node)].name);
    if (!id) continue;
    const AttrMap& attrs = graph.node(*id).attrs;
    auto& [kernel, devices] = groups[attrs.get_or<std::string>("group", "")];
    const auto rank = static_cast<std::size_t>(attrs.get_or<std::int64_t>("rank", 0));
    if (devices.size() <= rank) devices.resize(rank + 1, nullptr);
    devices[rank] = &step.device_set->device(instruction.device);
    if (kernel == nullptr) kernel = dynamic_cast<const AsyncLaunchKernel*>(instruction.kernel);
  }
  std::map<std::string, int> lines;
  for (const auto& [group, of] : groups) {
    const auto& [kernel, devices] = of;
    if (kernel == nullptr || std::find(devices.begin(), devices.end(), nullptr) != devices.end()) continue;
    ++lines[kernel->describe(devices)];
  }
  std::vector<std::string> texts;
  for (const auto& [line, count] : lines) texts.push_back(str_cat(line, count > 1 ? str_cat(" (", count, ")") : ""));
  return texts;
}

}  // namespace argosy
