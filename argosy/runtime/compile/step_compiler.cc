#include "argosy/runtime/compile/step_compiler.h"

#include <cstdio>
#include <cstdlib>

#include "argosy/base/guard.h"
#include "argosy/base/log.h"
#include "argosy/graph/signature.h"
#include "argosy/passes/optimize.h"
#include "argosy/runtime/compile/compile.h"

namespace argosy {

// Will a node that asks for this run on an asynchronous device? The first GPU is where nodes go by default.
bool StepCompiler::is_async(const std::string& device) const {
  auto asked = DeviceName::parse(device);
  if (!asked.ok()) return false;
  if (asked->type.empty()) asked->type = "GPU";
  for (int d = 0; d < device_set_->size(); ++d) {
    if (asked->matches(device_set_->device(d).spec().name)) return device_set_->device(d).launch_queue() != nullptr;
  }
  return false;
}

Result<std::shared_ptr<const Step>> StepCompiler::make(const StepSignature& wanted, bool must_fit) {
  return guarded([&] { return make_unguarded(wanted, must_fit); });
}

Result<std::shared_ptr<const Step>> StepCompiler::make_unguarded(const StepSignature& wanted, bool must_fit) {
  ARGOSY_RETURN_IF_ERROR(Status(graph_.status()));
  ARGOSY_ASSIGN_OR_RETURN(StepGraph step, prune_step(graph_, wanted));
  // Passes fold and fuse by it; what they make is checked again.
  ARGOSY_RETURN_IF_ERROR(check_signatures(step.graph));
  ARGOSY_ASSIGN_OR_RETURN(
      step,
      prepare_step(std::move(step), {.optimize = options_.optimize,
                                     .without = without_passes(),
                                     .is_async = [this](const std::string& device) { return is_async(device); }}));
  const PlaceOptions place_options{.devices = device_set_->specs(),
                                   .has_kernel =
                                       [this](const OpDef& op, const DeviceSpec& spec) {
                                         const int d = device_set_->find(spec.name);
                                         return kernels().has(op.name, device_set_->device(d).kernel_kind());
                                       },
                                   .refuses = refuses(),
                                   .allow_soft_placement = options_.allow_soft_placement,
                                   .home = [this](const Node& handle) { return home_of(handle); }};
  ARGOSY_ASSIGN_OR_RETURN(Placement placement, place(step.graph, place_options));
  for (const std::string& missing : placement.missing_devices) {
    if (told_missing_.insert(missing).second) ARGOSY_LOG(kWarning, missing);
  }
  ARGOSY_ASSIGN_OR_RETURN(auto compiled,
                          compile_step(std::move(step), std::move(placement), device_set_, kernels(), must_fit, own_));
  if (options_.log_device_placement) std::fputs(compiled->info.report().summary().c_str(), stderr);
  return compiled;
}

// Steps are placed one by one, and a name means one thing in all of them.
int StepCompiler::home_of(const Node& handle) const {
  const auto container = handle.attrs.get_or<std::string>("container", "");
  const auto shared = handle.attrs.get_or<std::string>("shared_name", "");
  for (int d = 0; d < device_set_->size(); ++d) {
    const auto found = device_set_->resources(d).find<Resource>(container.empty() ? "localhost" : container,
                                                                shared.empty() ? handle.name : shared);
    if (found.ok()) return d;
  }
  return -1;
}

std::string StepCompiler::without_passes() const {
  const char* const env = std::getenv("ARGOSY_WITHOUT_PASSES");
  return options_.without_passes.empty() && env != nullptr ? env : options_.without_passes;
}

const KernelRegistry& StepCompiler::kernels() const {
  return options_.kernels != nullptr ? *options_.kernels : device_set_->kernels();
}

// Only kernels that do not come with the library (a real GPU's) take some dtypes and not others.
std::function<std::string(const Node&, const DeviceSpec&)> StepCompiler::refuses() {
  if (!device_set_->has_async_device()) return nullptr;
  resource_users_.look_at(graph_);
  return [this, &users = resource_users_](const Node& node, const DeviceSpec& spec) -> std::string {
    const std::string_view kind = device_set_->device(device_set_->find(spec.name)).kernel_kind();
    if (kind == "cpu") return {};
    if (std::string why = refused_by(kind, node); !why.empty()) return why;
    const auto source = node.inputs.empty() ? graph_.find(node.name) : std::nullopt;
    for (const NodeId id : source ? users.of(*source) : std::span<const NodeId>()) {
      const Node& user = graph_.node(id);
      std::string why =
          kernels().has(user.op->name, kind) ? refused_by(kind, user) : str_cat("no GPU kernel for ", user.op->name);
      if (!why.empty()) return str_cat(why, ", which '", user.name, "' does with it");
    }
    return {};
  };
}

std::string StepCompiler::refused_by(std::string_view kind, const Node& node) const {
  const DType dtype = kernels().refused(node.op->name, kind, node.attrs);
  return dtype == DType::kInvalid ? "" : str_cat("no GPU kernel for ", node.op->name, " with ", dtype_name(dtype));
}

}  // namespace argosy
