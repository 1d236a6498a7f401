#include "argosy/ops/random/stream_place.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"

namespace argosy {

namespace {

Status place_shape(ShapeContext& c) {
  c.set_output(0, PartialShape({3}));
  return ok_status();
}

Status set_place_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape place, c.with_rank(0, 1));
  if (!place.compatible({3})) return invalid_argument(c.op().name, ": a place is three integers, not ", place);
  return ok_status();
}

AttrMap stream_of(const Node& draws) {
  AttrMap attrs;
  attrs.set("stream", draws.attrs.get_string("stream"));
  attrs.set("seed", draws.attrs.get_int("seed"));
  attrs.set("seed2", draws.attrs.get_int("seed2"));
  return attrs;
}

}  // namespace

void define_stream_place(OpRegistry& ops) {
  const std::vector<std::string> attrs = {"stream: string", "seed: int = 0", "seed2: int = 0"};
  ops.add({.name = "_StreamPlace",
           .doc = "Where a stream of random numbers stands.",
           .outputs = {"place: int64"},
           .attrs = attrs,
           .shape = place_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .cpu_only = true,
           .sharding = "whole: it is about a stream"});
  ops.add({.name = "_SetStreamPlace",
           .doc = "Puts a stream of random numbers where another one stands.",
           .inputs = {"place: int64"},
           .attrs = attrs,
           .shape = set_place_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .stateful = true,
           .cpu_only = true,
           .sharding = "whole: it is about a stream"});
}

Result<NodeId> add_stream_place(Graph& graph, const Node& draws) {
  const std::string name = draws.attrs.get_string("stream") + "/place";
  return graph.add_node({.name = graph.unique_name(name), .op = "_StreamPlace", .attrs = stream_of(draws)});
}

Result<NodeId> add_set_stream_place(Graph& graph, const Node& draws, Endpoint place) {
  const std::string name = draws.attrs.get_string("stream") + "/set_place";
  return graph.add_node(
      {.name = graph.unique_name(name), .op = "_SetStreamPlace", .inputs = {place}, .attrs = stream_of(draws)});
}

}  // namespace argosy
