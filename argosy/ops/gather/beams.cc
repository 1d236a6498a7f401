#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/gather/gather_registration.h"

namespace argosy {

namespace {

Status gather_tree_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape steps, c.with_rank(0, 3));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape parents, c.with_rank(1, 3));
  ARGOSY_RETURN_IF_ERROR(c.with_rank(2, 1).status());
  ARGOSY_RETURN_IF_ERROR(c.with_rank(3, 0).status());
  ARGOSY_ASSIGN_OR_RETURN(PartialShape both, steps.merge(parents));
  c.set_output(0, std::move(both));
  return ok_status();
}

}  // namespace

void define_beams(OpRegistry& ops) {
  ops.add({.name = "GatherTree",
           .doc = "The beams of a beam search, followed from their ends back by their parents.",
           .inputs = {"step_ids: T", "parent_ids: T", "max_sequence_lengths: int32", "end_token: T"},
           .outputs = {"beams: T"},
           .attrs = {"T: {int32}"},
           .shape = gather_tree_shape,
           .gradient = kNotDifferentiable,
           .cpu_only = true,
           .blocks_gradient = true,
           .sharding = "t b k, t b k, b, . -> t b k; whole t k"});
}

}  // namespace argosy
