// Adds a copy per device, or per shard, of the nodes of the step.
#include <algorithm>

#include "argosy/device/name.h"
#include "argosy/graph/makes_handle.h"
#include "argosy/ops/collective/reduction_chunks.h"
#include "argosy/sharding/lower/lower_state.h"
#include "argosy/sharding/lower/shard_outputs.h"
#include "argosy/sharding/lower/turns.h"
#include "argosy/sharding/resolve/axis_state.h"

namespace argosy {

namespace {

Status check_pins(const LowerState& s) {
  std::optional<int> first;
  for (std::int32_t i = 0; i < s.base.size(); ++i) {
    const Node& n = s.base.node(NodeId{i});
    if (!s.is_copied(NodeId{i})) continue;
    const DeviceName pin = asked_device(n.device);
    if (pin.type != "GPU" || !pin.id) continue;
    if (first.value_or(*pin.id) != *pin.id) {
      return invalid_argument("the graph is split over devices by hand: '", n.name, "' is pinned to gpu:", *pin.id,
                              ", others to gpu:", *first)
          .with_id("ARG-DP-005")
          .with_hint("leave the device scopes out, or run it as it is, without data parallelism");
    }
    first = pin.id;
  }
  return ok_status();
}

// Makes the sharded dimensions unknown in the output shapes of a copy.
void open_shapes(LowerState& s, NodeId id, NodeId made) {
  const Node& n = s.base.node(id);
  for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) {
    const Placement& p = s.layout({id, k});
    PartialShape shape = n.output_shapes[static_cast<std::size_t>(k)];
    if (holds_state(s.base, {id, k})) continue;
    if (p.kind == Placement::Kind::kVarying) shape = PartialShape::unknown();
    if (p.is_shard() && shape.has_rank()) {
      PartialShape::Sizes open = shape.sizes();
      open[static_cast<std::size_t>(p.dim)] = PartialShape::kUnknown;
      shape = PartialShape(std::move(open));
    }
    if (p.is_shard() || p.kind == Placement::Kind::kVarying) s.graph.refine_shape({made, k}, std::move(shape));
  }
}

// Makes ops that sum over the batch add in the same order as on one device (ops/collective/reduction_chunks.h).
void mark_chunks(LowerState& s, NodeId id) {
  const Node& n = s.base.node(id);
  const bool even = s.axis.weights.empty() ||
                    std::count(s.axis.weights.begin(), s.axis.weights.end(), s.axis.weights[0]) == s.axis.size;
  if (!even || kReductionChunks % s.axis.size != 0 || n.op->linear != Linear::kEach || n.op->elementwise) return;
  if (s.sharding(id).kind != NodeSharding::Kind::kFactor || n.output_dtypes.empty()) return;
  const Placement& p = s.layout({id, 0});
  const std::int64_t chunks = kReductionChunks / s.axis.size;
  if (p.is_partial()) {
    s.graph.set_attr(id, kReduceChunksAttr, chunks);
    if (s.has_turns()) s.graph.set_attr(id, kReduceTurnsAttr, std::int64_t{s.axis.size / s.device_count()});
  }
  if (p.is_shard()) s.graph.set_attr(id, kRowChunksAttr, chunks);
}

// Makes the sharded dimension unknown in the attribute `element_shape` of a copy that makes or uses a container.
void open_elements(LowerState& s, NodeId id, NodeId made) {
  const Node& n = s.base.node(id);
  const auto* const told = n.attrs.find_as<PartialShape>("element_shape");
  if (told == nullptr || !told->has_rank()) return;
  Placement elements;
  for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) {
    if (holds_state(s.base, {id, k})) elements = s.layout({id, k});
  }
  for (std::size_t i = 0; i < n.inputs.size(); ++i) {
    if (holds_state(s.base, n.inputs[i])) elements = s.arrives({id, static_cast<int>(i)});
  }
  if (!elements.is_shard() || elements.dim >= told->rank()) return;
  PartialShape::Sizes sizes = told->sizes();
  sizes[static_cast<std::size_t>(elements.dim)] = PartialShape::kUnknown;
  s.graph.set_attr(made, "element_shape", PartialShape(std::move(sizes)));
}

void settle(LowerState& s, NodeId id, NodeId made, int device) {
  const Node& base = s.base.node(id);
  // Copy 0 of a variable is the client's own, which lives where the client asks for it.
  const bool stays =
      asked_device(base.device).type == "CPU" || (device == 0 && makes_handle(base) && !base.device.empty());
  if (!stays) s.graph.set_device(made, s.devices[static_cast<std::size_t>(device)]);
  // The device is enough; a colocation group that reaches out of the copy would contradict it.
  s.graph.set_colocation(made, {});
  open_shapes(s, id, made);
  open_elements(s, id, made);
}

Result<NodeId> copy_node(LowerState& s, NodeId id, int replica) {
  const Node& n = s.graph.node(id);
  NodeSpec spec{.name = s.graph.unique_name(str_cat(n.name, "/replica_", replica)),
                .op = n.op->name,
                .inputs = {n.inputs.begin(), n.inputs.end()},
                .attrs = n.attributes(),
                .device = std::string(n.device)};
  const auto* shared = n.attrs.find_as<std::string>("shared_name");
  if (shared != nullptr && !shared->empty()) spec.attrs.set("shared_name", str_cat(*shared, "/replica_", replica));
  // Every copy of a loop has a frame of its own.
  if (const auto* frame = n.attrs.find_as<std::string>("frame_name"); frame != nullptr) {
    spec.attrs.set("frame_name", str_cat(*frame, "/replica_", replica));
  }
  return s.graph.add_node(std::move(spec));
}

}  // namespace

Status copy_nodes(LowerState& s) {
  ARGOSY_RETURN_IF_ERROR(check_pins(s));
  s.copies.assign(s.devices.size(), std::vector<NodeId>(static_cast<std::size_t>(s.base.size())));
  s.outputs.assign(s.devices.size(), std::vector<Endpoint>(s.sizes.index().size()));
  for (const NodeId id : s.sizes.order()) {
    const auto i = static_cast<std::size_t>(id.index);
    if (s.is_copied(id)) mark_chunks(s, id);
    int replica = -1;
    for (int d = 0; d < s.size(); ++d) {
      NodeId& made = s.copies[static_cast<std::size_t>(d)][i];
      made = id;
      const bool own = s.owns_copy(d, id);
      replica += own ? 1 : 0;
      if (s.is_copied(id) && draws_blocks(s, id)) {
        ARGOSY_ASSIGN_OR_RETURN(made, block_of_draws(s, id, d));
      } else if (s.is_copied(id) && !own) {
        made = s.copies[static_cast<std::size_t>(d) - 1][i];
      } else if (s.is_copied(id) && d > 0) {
        ARGOSY_ASSIGN_OR_RETURN(made, copy_node(s, id, replica));
      }
      for (std::int32_t k = 0; k < std::ssize(s.base.node(id).output_dtypes); ++k) s.output(d, {id, k}) = {made, k};
    }
    if (!s.is_copied(id)) continue;
    for (int d = 0; d < s.size(); ++d) {
      if (!s.owns_copy(d, id)) continue;
      settle(s, id, s.copies[static_cast<std::size_t>(d)][i], d);
      if (s.per_shard[i] != 0) mark_turn(s, s.copies[static_cast<std::size_t>(d)][i], d);
    }
  }
  return ok_status();
}

}  // namespace argosy
