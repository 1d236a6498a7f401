// RequestedDevices: the devices that the nodes of a graph request, directly or by colocation. For fusing passes, which
// run before placement.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "argosy/graph/graph.h"

namespace argosy {

class RequestedDevices {
 public:
  // As PrepareOptions::is_async: whether the device that a node asks for runs asynchronously. Null: none does.
  using IsAsync = std::function<bool(const std::string& device)>;
  // Both must outlive this.
  RequestedDevices(const Graph& graph, const IsAsync& is_async) : graph_(graph), is_async_(is_async) {}

  // The device that the node requests; "": any. Null: not known, since the node is colocated with several others, or
  // with one that does not exist.
  const Name* of(NodeId id) const;
  // True if that device is asynchronous.
  bool is_async(NodeId id) const;

 private:
  const Graph& graph_;
  const IsAsync& is_async_;
  mutable std::unordered_map<std::string, bool> known_;  // answers of is_async_
};

}  // namespace argosy
