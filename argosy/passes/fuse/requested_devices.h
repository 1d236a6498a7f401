// The devices that the nodes of a graph ask for, be it by colocation with others. Fusing passes ask before placement.
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

  // The device that the node asks for; "" is any. Null: not known, for the node is colocated with several others, or
  // with one that is not there.
  const Name* of(NodeId id) const;
  // Is that device asynchronous?
  bool is_async(NodeId id) const;

 private:
  const Graph& graph_;
  const IsAsync& is_async_;
  mutable std::unordered_map<std::string, bool> known_;  // answers of is_async_
};

}  // namespace argosy
