#include "argosy/strategy/zero/sharded_slots.h"

#include <algorithm>
#include <set>

#include "argosy/ops/collective/collective.h"
#include "argosy/ops/collective/shard_batch.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/shape/shape.h"
#include "argosy/strategy/zero/zero_plan.h"

namespace argosy {

namespace {
constexpr const char* kHost = "/device:CPU:0";
}

Result<Endpoint> SlotSharder::add_shard(NodeId slot, std::int64_t elements, int device) {
  ARGOSY_ASSIGN_OR_RETURN(const auto mine, argosy::shard_batch(elements, weights_, device));
  const Node& n = graph_.node(replicas_.device[device][slot.index]);
  const Node& first = graph_.node(slot);
  NodeSpec spec{.name = graph_.unique_name(str_cat(first.name, "/zero_", device)),
                .op = n.op->name,
                .attrs = n.attributes(),
                .device = n.device};
  spec.attrs.set("shape", PartialShape{mine.second - mine.first});
  const auto* const shared = first.attrs.find_as<std::string>("shared_name");
  if (shared != nullptr && !shared->empty()) spec.attrs.set("shared_name", str_cat(*shared, "/zero_", device));
  ARGOSY_ASSIGN_OR_RETURN(const NodeId made, graph_.add_node(std::move(spec)));
  return Endpoint{made, 0};
}

void SlotSharder::write_shard(NodeId writer, Endpoint shard, int device) {
  const Endpoint value = graph_.node(writer).inputs[1];
  Value elements;
  {
    // Where there is room for all of it; each device gets its own.
    const auto on = graph_.device(kHost);
    const std::string name(graph_.node(value.node).name);
    const Value flat = reshape(graph_.value(value), {-1}, str_cat(name, "/elements"));
    elements = argosy::shard_batch(flat, weights_, device, str_cat(name, "/zero_", device));
    if (!elements.valid()) return;
  }
  graph_.set_input(writer, 0, shard);
  graph_.set_input(writer, 1, elements.endpoint());
  graph_.set_device(writer, graph_.node(shard.node).device);
  graph_.set_colocation(writer, {});
  if (!graph_.node(writer).output_dtypes.empty()) graph_.refine_shape({writer, 0}, elements.shape());
}

Value SlotSharder::whole(NodeId slot, const std::vector<Endpoint>& shards) {
  const auto on = graph_.device(kHost);
  const auto scope = graph_.name_scope(str_cat(graph_.node(slot).name, "/whole"));
  const DType dtype = graph_.node(slot).attrs.get<DType>("dtype");
  std::vector<Value> parts;
  for (const Endpoint shard : shards) {
    const Value variable = graph_.value(shard);
    // Each where its variable is: the joined value alone is the host's.
    const auto at = graph_.device(graph_.node(shard.node).device);
    parts.push_back(variable.dtype() == DType::kResource ? graph_.add("ReadVariableOp", {variable}, {{"dtype", dtype}})
                                                         : graph_.add("Identity", {variable}));
  }
  return reshape(concat(parts, 0), graph_.node(slot).attrs.get<PartialShape>("shape").sizes());
}

Status SlotSharder::read_whole(NodeId reader, int input, Value whole) {
  const Node& n = graph_.node(reader);
  if (graph_.dtype(n.inputs[input]) != DType::kResource) {
    graph_.set_input(reader, input, whole.endpoint());
  } else {
    const Endpoint from[] = {whole.endpoint()};
    const std::vector<NodeId> controls = n.controls;
    ARGOSY_RETURN_IF_ERROR(graph_.replace_with(reader, "Identity", from, controls, {{"T", whole.dtype()}}));
  }
  graph_.set_device(reader, kHost);
  graph_.set_colocation(reader, {});
  return ok_status();
}

Result<std::vector<Endpoint>> SlotSharder::shard(NodeId slot, std::int64_t elements) {
  const auto uses = graph_.consumers();
  std::vector<Endpoint> shards;
  std::set<NodeId> writers;
  for (int d = 0; d < static_cast<int>(weights_.size()); ++d) {
    ARGOSY_ASSIGN_OR_RETURN(shards.emplace_back(), add_shard(slot, elements, d));
    const NodeId copy = replicas_.device[d][slot.index];
    for (const Graph::Use& use : uses[copy.index]) {
      if (slot_use(graph_, copy, use) == SlotUse::kWrite) writers.insert(use.node);
    }
  }
  Value all;
  for (int d = 0; d < static_cast<int>(weights_.size()); ++d) {
    const NodeId copy = replicas_.device[d][slot.index];
    for (const Graph::Use& use : uses[copy.index]) {
      const Node& user = graph_.node(use.node);
      if (use.input < 0 || user.op->update) continue;
      switch (slot_use(graph_, copy, use)) {
        case SlotUse::kWrite: {
          const NodeId value = user.inputs[1].node;
          write_shard(use.node, shards[d], d);
          // An initial value that nobody else takes is made where it is cut.
          const auto readers = uses[value.index];
          const bool own = std::all_of(readers.begin(), readers.end(),
                                       [&](const Graph::Use& r) { return r.input < 0 || writers.contains(r.node); });
          if (own && !graph_.node(value).op->stateful) {
            graph_.set_device(value, kHost);
            graph_.set_colocation(value, {});
          }
          break;
        }
        case SlotUse::kAsk: graph_.set_input(use.node, use.input, shards[d]); break;
        case SlotUse::kRead:
          if (!all.valid()) all = whole(slot, shards);
          if (!all.valid()) return graph_.status();
          ARGOSY_RETURN_IF_ERROR(read_whole(use.node, use.input, all));
          break;
        case SlotUse::kUnknown:
          return internal_error("'", user.name, "' (", user.op->name, ") uses the sharded slot '",
                                graph_.node(slot).name, "'");
      }
    }
  }
  return shards;
}

}  // namespace argosy
