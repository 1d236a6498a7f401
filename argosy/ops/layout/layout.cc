#include "argosy/ops/layout/layout.h"

#include "argosy/ops/layout/layout_registration.h"
#include "argosy/ops/layout/layout_sharding.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

static void add_layout_ops(OpRegistry& ops) {
  define_transposes(ops);
  define_joins(ops);
  define_slices(ops);
  define_pads(ops);
  define_repeats(ops);
  define_blocks(ops);
  define_diagonals(ops);
}

void define_layout(OpRegistry& ops) {
  with_sharding(ops, add_layout_ops,
                {{"Transpose", {}, transpose_sharding},
                 {"ConjugateTranspose", {}, transpose_sharding},
                 {"Concat", {}, concat_sharding},
                 {"ConcatV2", {}, concat_v2_sharding},
                 {"SpaceToDepth", "n h w c -> n t u d; whole h w c t u d; linear 0; layout data_format"},
                 {"DepthToSpace", "n h w c -> n t u d; whole h w c t u d; linear 0; layout data_format"}});
}

}  // namespace argosy
