#include "argosy/sharding/lower/lower.h"

#include <algorithm>

#include "argosy/sharding/lower/global_values.h"
#include "argosy/sharding/lower/lower_state.h"
#include "argosy/sharding/lower/shard_outputs.h"
#include "argosy/sharding/lower/turns.h"

namespace argosy {

namespace {

// ARG-SHARD-007: a node that runs in every step would wait for a branch in the lowered graph. It would be dead whenever
// the branch is not taken, and so would all updates after it.
Status check_always(const LowerState& s, const std::vector<NodeId>& order) {
  const LoopRegions lowered = find_regions(s.graph, order);
  for (std::int32_t i = 0; i < s.base.size(); ++i) {
    const NodeId id{i};
    if (s.in_step[static_cast<std::size_t>(i)] == 0 || !s.regions.always(id)) continue;
    for (int d = 0; d < s.size(); ++d) {
      const NodeId copy = s.is_copied(id) ? s.copies[static_cast<std::size_t>(d)][static_cast<std::size_t>(i)] : id;
      if (!lowered.always(copy))
        return cannot_lower(s.base.node(id), "it would wait for a branch that may not be taken");
    }
  }
  return ok_status();
}

// ARG-SHARD-007: a value is resharded behind NextIteration. Such a node would wait for the next iteration.
Status check_ends_of_iterations(const LowerState& s) {
  for (const Reshard& r : s.assignment.reshards) {
    const Node& n = s.base.node(r.value.node);
    if (n.op->flow == Flow::kNextIteration && s.in_step[static_cast<std::size_t>(r.value.node.index)] != 0) {
      return cannot_lower(
          n, str_cat("it ends an iteration as ", to_string(r.from), ", and the loop holds ", to_string(r.to)));
    }
  }
  return ok_status();
}

}  // namespace

Lowered::Lowered(std::unique_ptr<LowerState> state) : state_(std::move(state)) {}
Lowered::~Lowered() = default;

Result<std::unique_ptr<Lowered>> Lowered::make(Graph& graph, const LowerRequest& request) {
  const Mesh& mesh = *request.mesh;
  ARGOSY_RETURN_IF_ERROR(mesh.check());
  if (mesh.axes.size() != 1 || mesh.axes[0].over != MeshAxis::Over::kDevices) {
    return unimplemented("a graph is built for one mesh axis over devices, so far").with_id("ARG-SHARD-007");
  }
  auto state = std::make_unique<LowerState>(graph, request);
  LowerState& s = *state;
  ARGOSY_RETURN_IF_ERROR(find_copied(s));
  ARGOSY_RETURN_IF_ERROR(find_per_shard(s));
  ARGOSY_RETURN_IF_ERROR(check_ends_of_iterations(s));
  ARGOSY_RETURN_IF_ERROR(copy_nodes(s));
  ARGOSY_RETURN_IF_ERROR(add_outputs(s));
  ARGOSY_RETURN_IF_ERROR(weigh_statistics(s));
  ARGOSY_RETURN_IF_ERROR(add_all_reduces(s));
  ARGOSY_RETURN_IF_ERROR(add_reshards(s));
  ARGOSY_RETURN_IF_ERROR(connect_copies(s));
  ARGOSY_RETURN_IF_ERROR(write_mirrors(s));
  ARGOSY_RETURN_IF_ERROR(graph.status());
  // This also finds cycles: a bucket whose member depends on another member would wait for itself.
  ARGOSY_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph.topological_order());
  ARGOSY_RETURN_IF_ERROR(check_always(s, order));
  return std::unique_ptr<Lowered>(new Lowered(std::move(state)));
}

Result<Value> Lowered::global(Endpoint e) { return global_value(*state_, e); }
bool Lowered::is_copied(NodeId id) const { return state_->is_copied(id); }
NodeId Lowered::copy(int shard, NodeId id) const {
  return state_->copies[static_cast<std::size_t>(shard)][static_cast<std::size_t>(id.index)];
}
std::vector<NodeId> Lowered::copies(NodeId id) const {
  std::vector<NodeId> all;
  for (int d = 0; d < state_->size(); ++d) {
    if (all.empty() || copy(d, id) != all.back()) all.push_back(copy(d, id));
  }
  return all;
}
bool Lowered::is_per_shard(NodeId id) const { return state_->per_shard[static_cast<std::size_t>(id.index)] != 0; }
const std::vector<LoweredSums>& Lowered::sums() const { return state_->sums; }
std::vector<NodeId> Lowered::coupled_turns() const { return argosy::coupled_turns(*state_); }
const std::vector<LoweredCollective>& Lowered::collectives() const { return state_->collectives; }

std::vector<NodeId> Lowered::variables() const {
  std::vector<NodeId> found;
  for (std::int32_t i = 0; i < state_->base.size(); ++i) {
    if (state_->is_variable(NodeId{i})) found.push_back(NodeId{i});
  }
  return found;
}

}  // namespace argosy
