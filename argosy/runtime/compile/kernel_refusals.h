// KernelRefusals: nodes that the kernels of a kind of device do not take. An op may have a GPU kernel for some dtypes alone.
#pragma once

#include <string>
#include <string_view>

#include "argosy/op/kernel/kernel.h"
#include "argosy/passes/place/resource_users.h"

namespace argosy {

class KernelRefusals {
 public:
  // `graph`: all that is known of what uses a handle; nodes of a part of it are found there by name. Both outlive this.
  KernelRefusals(const KernelRegistry& kernels, const Graph& graph) : kernels_(kernels), graph_(graph) {}
  // Looks at what the graph has gained.
  void look_at_graph() { users_.look_at(graph_); }

  // "no GPU kernel for Add with int16"; "": they take it. Of a node that gives a handle also what its users need: they
  // all go where it is. Kernels for CPUs take every dtype.
  std::string why_not(const Node& node, std::string_view kind) const;

 private:
  std::string why_not_alone(const Node& node, std::string_view kind) const;

  const KernelRegistry& kernels_;
  const Graph& graph_;
  ResourceUsers users_;
};

}  // namespace argosy
