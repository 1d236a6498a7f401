// One step of VirtualDevices: frames, iterations, and one node on all devices. Internal to testing/.
#pragma once

#include <set>
#include <tuple>

#include "argosy/sharding/testing/virtual_devices.h"

namespace argosy {

class VirtualStep {
 public:
  VirtualStep(VirtualDevices& devices, const std::map<Endpoint, Tensor>& feeds);
  Status run(const std::vector<NodeId>& targets);

 private:
  // --- dataflow (virtual_step.cc)
  struct Tag {
    int frame = 0;
    int iteration = 0;
    auto operator<=>(const Tag&) const = default;
  };
  struct Frame {
    std::string path;  // of the iteration that it was entered from
    Tag parent;
    int iterations = 1;
    std::vector<std::pair<NodeId, std::vector<Shards>>> constants;  // for every iteration
  };
  struct Instance {
    std::map<int, Shards> inputs;
    int controls = 0;
  };
  void need(NodeId id);
  Status fire(NodeId id, Tag tag);
  void deliver(NodeId from, Tag tag, const std::vector<Shards>& outputs, const std::vector<char>& alive);
  void arrive(Graph::Use use, Tag tag, const Shards* value);
  std::string path(Tag tag) const;
  bool is_source(NodeId id) const;  // reads and waits for nothing: it runs first, and every frame sees its values

  // --- one node (virtual_node.cc)
  Result<Shards> input(const Node& n, Graph::Use use, const Shards& made) const;
  Result<std::vector<Shards>> compute(NodeId id, std::vector<Shards> inputs);
  // Makes the sharded dimension -1 in inputs that are element shapes of lists.
  void open_element_shapes(NodeId id, std::vector<Tensor>& own) const;
  Status localize(NodeId id, int device, const std::vector<Shards>& in, std::vector<Tensor>& own) const;
  Result<std::vector<Tensor>> run_kernel(const Node& n, int device, const std::vector<Tensor>& inputs);
  Status weigh_mean(NodeId id, int device, const std::vector<Shards>& in, std::vector<Tensor>& outputs) const;

  VirtualDevices& d_;
  const std::map<Endpoint, Tensor>& feeds_;
  const Graph::Uses uses_;
  std::vector<char> needed_;
  std::vector<std::int32_t> position_;  // by node, in topological order
  std::vector<Frame> frames_;
  std::map<std::tuple<int, int, std::string>, int> frame_of_;  // entered from, by name
  std::map<std::pair<NodeId, Tag>, Instance> waiting_;
  std::set<std::tuple<std::int32_t, Tag, NodeId>> ready_;
  std::int64_t batch_ = -1;  // of the feeds
};

}  // namespace argosy
