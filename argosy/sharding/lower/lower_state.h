// What the files of this folder share while one graph is built. Internal to lower/.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "argosy/passes/simplify/size_only_effects.h"
#include "argosy/sharding/lower/host_sizes.h"
#include "argosy/sharding/lower/lower.h"
#include "argosy/sharding/lower/regions.h"

namespace argosy {

// The error of this folder, at a node. `hint`: what its author can do; else the step runs on one device.
Status cannot_lower(const Node& n, std::string_view why, std::string_view hint = "run this step on one device");
// Hints of loops, of which every device has its own.
inline constexpr std::string_view kOutsideOfLoop = "compute it before or after the loop";
inline constexpr std::string_view kSizeBeforeLoop = "compute the size before the loop";

struct LowerState {
  LowerState(Graph& g, const LowerRequest& request);

  // --- given
  const Graph& base;
  Graph& graph;
  const LowerRequest request;
  const Sizes& sizes;
  const Assignment& assignment;
  const MeshAxis& axis;
  const std::vector<std::string>& devices;  // by shard
  const std::vector<std::int64_t> weights;  // of the shards
  const LoopRegions regions;
  const Graph::Uses uses;

  // --- built
  std::vector<char> in_step;                                 // by node
  std::vector<char> copied;                                  // by node: each device, or each shard, has one
  std::vector<char> sliced;                                  // by node: exists once, and every device takes its shard
  std::vector<char> per_shard;                               // by node: each shard has one
  std::vector<std::vector<NodeId>> copies;                   // [shard][node]
  std::vector<std::vector<Endpoint>> outputs;                // [shard][output of the base]: what has its layout
  std::vector<std::vector<Endpoint>> changed;                // [reshard][device]; empty: not built yet
  std::map<std::size_t, std::vector<Endpoint>> summed;       // [reshard][device]: all-reduces of partial sums
  std::map<std::pair<NodeId, int>, std::size_t> reshard_of;  // by use: the last reshard that it goes through
  std::vector<LoweredCollective> collectives;
  std::vector<LoweredSums> sums;
  std::map<Endpoint, Value> fetched;
  // Means that no node reads: of so many elements, cut so. Their parts are weighted where a fetch adds them up.
  std::map<Endpoint, std::pair<BatchSize, Placement>> fetched_means;
  // Nodes that read an input of a copy, which is set last: { node, its input, device, whose, which }.
  struct Late {
    NodeId node;
    int input;
    int device;
    Graph::Use use;
  };
  std::vector<Late> late;
  std::optional<HostSizes> host;

  int size() const { return static_cast<int>(devices.size()); }  // shards
  // The shard with which those of its device begin.
  int first_of_device(int d) const {
    while (d > 0 && devices[static_cast<std::size_t>(d) - 1] == devices[static_cast<std::size_t>(d)]) --d;
    return d;
  }
  bool starts_device(int d) const { return first_of_device(d) == d; }
  int turn_of(int d) const { return d - first_of_device(d); }
  int device_count() const;
  bool has_turns() const { return device_count() < size(); }
  // Whether the shard has a copy of its own, and not the one of its device's first shard.
  bool owns_copy(int d, NodeId id) const {
    return per_shard[static_cast<std::size_t>(id.index)] != 0 || starts_device(d);
  }
  bool is_copied(NodeId id) const { return copied[static_cast<std::size_t>(id.index)] != 0; }
  bool is_batch(NodeId id) const;
  bool is_variable(NodeId id) const;  // of which every device has one
  const Way& way(NodeId id) const { return assignment.ways[static_cast<std::size_t>(id.index)][0]; }
  const Placement& layout(Endpoint e) const { return assignment.layout(e)[0]; }
  const ShardingRule& rule(NodeId id) const { return request.rules->rule(id); }
  Endpoint& output(int d, Endpoint e) { return outputs[static_cast<std::size_t>(d)][sizes.index()(e)]; }
  Endpoint output(int d, Endpoint e) const { return outputs[static_cast<std::size_t>(d)][sizes.index()(e)]; }
  Value value(int d, Endpoint e) { return graph.value(output(d, e)); }
  // What input `use` of a node reads on a device, after its reshards.
  Endpoint source(int d, Graph::Use use) const;
  // What a reshard starts from.
  Endpoint before(std::size_t reshard, int d) const;
  // The placement in which it arrives there.
  const Placement& arrives(Graph::Use use) const;
  // The variable behind a reference or handle, if every device has one.
  std::optional<NodeId> variable_behind(Endpoint e) const;
  // A value from outside of loops, for nodes near `id` on device d: it enters the loops around them.
  Value near(Value v, NodeId id, int d);
  // What is near node `id`, dead where the node `by` is: past the last iteration, and in a branch that is not taken. Else
  // who reads it would run there, draw random numbers, or begin another iteration.
  Value dead_with(Value near, NodeId by, NodeId id);
  // `size`, where the step needs effects before node `of` for it alone (passes/simplify/size_only_effects.h): a value that
  // waits for the copies of `of`. In a loop it waits for device d's copy. Else `size` itself.
  Value after_effects(Value size, NodeId of, int d);
  // The loop in which outputs of a node are: of an Exit the one around.
  int loop_of(NodeId id) const;
  bool in_loop(NodeId id) const { return loop_of(id) != 0; }

 private:
  std::map<std::tuple<Endpoint, int, int>, Value> entered_;
  std::optional<SizeOnlyEffects> effects_;
};

// The steps of make(), in their order.
Status find_copied(LowerState& s);       // step_nodes.cc
Status find_per_shard(LowerState& s);    // turns.cc
Status copy_nodes(LowerState& s);        // node_copies.cc
Status add_outputs(LowerState& s);       // shard_outputs.cc: feeds, draws, means, shapes
Status weigh_statistics(LowerState& s);  // local_statistics.cc
Status add_all_reduces(LowerState& s);   // all_reduces.cc
Status add_reshards(LowerState& s);      // reshard_nodes.cc
Status connect_copies(LowerState& s);    // copy_inputs.cc
Status write_mirrors(LowerState& s);     // mirrors.cc

}  // namespace argosy
