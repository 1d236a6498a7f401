#include "argosy/runtime/compile/kernel_refusals.h"

#include "argosy/base/str.h"

namespace argosy {

std::string KernelRefusals::why_not_alone(const Node& node, std::string_view kind) const {
  const DType dtype = kernels_.refused(node.op->name, kind, node.attrs);
  return dtype == DType::kInvalid ? "" : str_cat("no GPU kernel for ", node.op->name, " with ", dtype_name(dtype));
}

std::string KernelRefusals::why_not(const Node& node, std::string_view kind) const {
  if (kind == "cpu") return {};
  if (std::string why = why_not_alone(node, kind); !why.empty()) return why;
  const auto source = node.inputs.empty() ? graph_.find(node.name) : std::nullopt;
  if (!source) return {};
  for (const NodeId id : users_.of(*source)) {
    const Node& user = graph_.node(id);
    std::string why =
        kernels_.has(user.op->name, kind) ? why_not_alone(user, kind) : str_cat("no GPU kernel for ", user.op->name);
    if (!why.empty()) return str_cat(why, ", which '", user.name, "' does with it");
  }
  return {};
}

}  // namespace argosy
