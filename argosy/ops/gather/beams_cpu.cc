#include <algorithm>

#include "argosy/ops/gather/gather_registration.h"

namespace argosy {

namespace {

// Steps and parents are [time, batch, beam]. After a beam's first end token, all tokens are the end token.
Status gather_tree(KernelContext& c) {
  const Tensor &steps = c.input(0), &parents = c.input(1), &lengths = c.input(2);
  const Shape& shape = steps.shape();
  if (shape.rank() != 3 || parents.shape() != shape || lengths.shape() != Shape{shape[1]} ||
      c.input(3).shape().rank() != 0) {
    return invalid_argument("GatherTree: step_ids of shape ", shape, ", parent_ids of ", parents.shape(),
                            ", max_sequence_lengths of ", lengths.shape(), ", end_token of ", c.input(3).shape());
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
  const std::int32_t end = *c.input(3).data<std::int32_t>();
  std::ranges::fill(y->values<std::int32_t>(), end);
  const std::int64_t time = shape[0], batch = shape[1], width = shape[2];
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int64_t length = std::min<std::int64_t>(time, lengths.data<std::int32_t>()[b]);
    for (std::int64_t beam = 0; beam < width; ++beam) {
      std::int64_t from = beam;
      for (std::int64_t t = length - 1; t >= 0; --t) {
        if (from < 0 || from >= width) {
          return invalid_argument("GatherTree: parent ", from, " of beam ", beam, " of sequence ", b, " at time ", t,
                                  " is none of ", width, " beams");
        }
        const std::int64_t at = (t * batch + b) * width;
        y->data<std::int32_t>()[at + beam] = steps.data<std::int32_t>()[at + from];
        from = parents.data<std::int32_t>()[at + from];
      }
      bool ended = false;
      for (std::int64_t t = 0; t < length; ++t) {
        std::int32_t& id = y->data<std::int32_t>()[(t * batch + b) * width + beam];
        if (ended) id = end;
        ended = ended || id == end;
      }
    }
  }
  return ok_status();
}

}  // namespace

void add_beams(KernelRegistry& kernels) { kernels.add("GatherTree", "cpu", gather_tree); }

}  // namespace argosy
