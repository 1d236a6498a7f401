#include "argosy/ops/layout/layout.h"

#include "argosy/ops/layout/layout_registration.h"

namespace argosy {

void define_layout(OpRegistry& ops) {
  define_transposes(ops);
  define_joins(ops);
  define_slices(ops);
  define_pads(ops);
  define_repeats(ops);
  define_blocks(ops);
  define_diagonals(ops);
}

}  // namespace argosy
