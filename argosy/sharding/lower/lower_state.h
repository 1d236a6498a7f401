// LowerState: the data that the files of this folder share while one graph is built. Internal to lower/.
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

// Returns UNIMPLEMENTED ARG-SHARD-007 at a node. `hint`: what the author of the graph can do.
Status cannot_lower(const Node& n, std::string_view why, std::string_view hint = "run this step on one device");
// Hints for nodes in loops: every device has loops of its own.
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
  std::vector<char> sliced;                                  // by node: it exists once; each device slices its outputs
  std::vector<char> per_shard;                               // by node: each shard has one
  std::vector<std::vector<NodeId>> copies;                   // [shard][node]
  std::vector<std::vector<Endpoint>> outputs;                // [shard][output of the base]: the value with its layout
  std::vector<std::vector<Endpoint>> changed;                // [reshard][device]; empty: not built yet
  std::map<std::size_t, std::vector<Endpoint>> summed;       // [reshard][device]: all-reduces of partial sums
  std::map<std::pair<NodeId, int>, std::size_t> reshard_of;  // by use: the last of its reshards
  std::vector<LoweredCollective> collectives;
  std::vector<LoweredSums> sums;
  std::map<Endpoint, Value> fetched;
  // Means that no node reads, with the size of the reduced dimension and how it is cut. A fetch weights the shards'
  // means and adds them up.
  std::map<Endpoint, std::pair<AffineSize, Placement>> fetched_means;
  // Inputs that connect_copies() sets last: input `input` of `node` reads what `use` reads on `device`.
  struct Late {
    NodeId node;
    int input;
    int device;
    Graph::Use use;
  };
  std::vector<Late> late;
  std::optional<HostSizes> host;

  int size() const { return static_cast<int>(devices.size()); }  // shards
  // The first shard of the device that has shard d.
  int first_of_device(int d) const {
    while (d > 0 && devices[static_cast<std::size_t>(d) - 1] == devices[static_cast<std::size_t>(d)]) --d;
    return d;
  }
  bool starts_device(int d) const { return first_of_device(d) == d; }
  int turn_of(int d) const { return d - first_of_device(d); }
  int device_count() const;
  bool has_turns() const { return device_count() < size(); }
  // True if the shard has a copy of its own; else it uses the copy of its device's first shard.
  bool owns_copy(int d, NodeId id) const {
    return per_shard[static_cast<std::size_t>(id.index)] != 0 || starts_device(d);
  }
  bool is_copied(NodeId id) const { return copied[static_cast<std::size_t>(id.index)] != 0; }
  bool is_batch(NodeId id) const;
  bool is_variable(NodeId id) const;  // with a copy on every device
  const NodeSharding& sharding(NodeId id) const { return assignment.shardings[static_cast<std::size_t>(id.index)][0]; }
  const Placement& layout(Endpoint e) const { return assignment.layout(e)[0]; }
  const ShardingRule& rule(NodeId id) const { return request.rules->rule(id); }
  Endpoint& output(int d, Endpoint e) { return outputs[static_cast<std::size_t>(d)][sizes.index()(e)]; }
  Endpoint output(int d, Endpoint e) const { return outputs[static_cast<std::size_t>(d)][sizes.index()(e)]; }
  Value value(int d, Endpoint e) { return graph.value(output(d, e)); }
  // The value that the use reads on shard d, after its reshards.
  Endpoint source(int d, Graph::Use use) const;
  // The value on shard d to which the reshard is applied: after earlier reshards of the same value.
  Endpoint before(std::size_t reshard, int d) const;
  // The placement of the value that the use reads, after its reshards.
  const Placement& arrives(Graph::Use use) const;
  // The variable behind a reference or handle, if every device has one.
  std::optional<NodeId> variable_behind(Endpoint e) const;
  // Brings a value from outside of loops into the loops around shard d's copy of `id`, by Enter nodes.
  Value near(Value v, NodeId id, int d);
  // Makes a value in the loops of `id` dead when the node `by` is dead: after the last iteration, and in a branch that
  // is not taken. Else its readers would run there, draw random numbers, or begin another iteration.
  Value dead_with(Value near, NodeId by, NodeId id);
  // Returns `size` after the effects that node `of` waits for, if the step would lose them without this edge
  // (passes/simplify/size_only_effects.h). Then it waits for all copies of `of`, in a loop for shard d's. Else returns
  // `size` itself.
  Value after_effects(Value size, NodeId of, int d);
  // The loop in which the outputs of a node are. Outputs of an Exit are in the loop around it; 0: none.
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
