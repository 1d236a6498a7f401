// KernelRefusals: tells which nodes the kernels of a kind of device refuse. An op may have a GPU kernel for some dtypes
// only.
#pragma once

#include <string>
#include <string_view>

#include "argosy/op/kernel/kernel.h"
#include "argosy/passes/place/resource_users.h"

namespace argosy {

class KernelRefusals {
 public:
  // `graph`: the session's graph, in which the users of a resource handle are found. Nodes of a pruned copy are looked
  // up in it by name. Both arguments must outlive this object.
  KernelRefusals(const KernelRegistry& kernels, const Graph& graph) : kernels_(kernels), graph_(graph) {}
  // Takes in the nodes that the graph has gained since the last call.
  void look_at_graph() { users_.look_at(graph_); }

  // Returns why the kernels of this kind refuse the node ("no GPU kernel for Add with int16"), or "" where they accept
  // it. For a node that produces a resource handle, the kernels of the handle's users must accept them, too: they run
  // on its device. Kernels for CPUs accept every dtype.
  std::string why_not(const Node& node, std::string_view kind) const;

 private:
  std::string why_not_alone(const Node& node, std::string_view kind) const;

  const KernelRegistry& kernels_;
  const Graph& graph_;
  ResourceUsers users_;
};

}  // namespace argosy
