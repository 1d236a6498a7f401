// CollectiveNode for collectives between values and their shards: inputs and outputs of a run.
#include "argosy/ops/collective/collective_node.h"
#include "argosy/ops/collective/shard_batch.h"

namespace argosy {

Result<std::int64_t> CollectiveNode::rows_of(std::int64_t rows, std::int64_t rank) const {
  ARGOSY_ASSIGN_OR_RETURN(const auto mine, shard_batch(rows, weights_, rank));
  return mine.second - mine.first;
}

Result<std::span<const std::int64_t>> CollectiveNode::sizes_of(const KernelContext& c) const {
  const Tensor& sizes = c.input(c.num_inputs() - 1);
  if (sizes.shape().rank() != 1 || sizes.elements() != c.num_inputs() - 1) {
    return invalid_argument(op_, ": sizes must be a vector of ", c.num_inputs() - 1, ", not of shape ", sizes.shape());
  }
  return std::span<const std::int64_t>(sizes.data<std::int64_t>(), static_cast<std::size_t>(sizes.elements()));
}

Status CollectiveNode::reduce_scatter(KernelContext& c, Tensors& tensors) const {
  ARGOSY_RETURN_IF_ERROR(take_shards(c, c.num_inputs(), tensors));
  for (int i = 0; i < c.num_inputs() / static_cast<int>(shards_.size()); ++i) {
    const Shape& shape = c.input(i).shape();
    if (shape.rank() == 0) return invalid_argument(op_, ": value ", i, " is a scalar, which has no rows");
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t rows, rows_of(shape[0], rank_));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const part, c.output(i, shape.with(0, rows)));
    tensors.results.push_back(*part);
  }
  return ok_status();
}

Status CollectiveNode::all_gather(KernelContext& c, Tensors& tensors) const {
  ARGOSY_ASSIGN_OR_RETURN(const auto sizes, sizes_of(c));
  for (int i = 0; i < c.num_inputs() - 1; ++i) {
    const Tensor& part = c.input(i);
    const std::int64_t size = sizes[static_cast<std::size_t>(i)];
    if (part.shape().rank() == 0) return invalid_argument(op_, ": value ", i, " is a scalar, which has no rows");
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t rows, rows_of(size, rank_));
    if (part.shape()[0] != rows) {
      return invalid_argument(op_, ": value ", i, " is ", part.shape(), "; the shard of rank ", rank_, " of ", size,
                              " rows has ", rows)
          .with_id("ARG-COMM-001");
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const whole, c.output(i, part.shape().with(0, size)));
    tensors.values.push_back(part);
    tensors.results.push_back(*whole);
  }
  return ok_status();
}

Status CollectiveNode::all_to_all(KernelContext& c, Tensors& tensors) const {
  ARGOSY_ASSIGN_OR_RETURN(const auto sizes, sizes_of(c));
  for (int i = 0; i < c.num_inputs() - 1; ++i) {
    const Tensor& held = c.input(i);
    const std::int64_t size = sizes[static_cast<std::size_t>(i)];
    if (held.shape().rank() <= dim_) {
      return invalid_argument(op_, ": value ", i, " of shape ", held.shape(), " has no axis ", dim_);
    }
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t along, rows_of(size, rank_));
    if (held.shape()[dim_] != along) {
      return invalid_argument(op_, ": value ", i, " is ", held.shape(), "; along axis ", dim_, " the shard of rank ",
                              rank_, " of ", size, " has ", along)
          .with_id("ARG-COMM-001");
    }
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t rows, rows_of(held.shape()[0], rank_));
    for (int r = 0; r < size_; ++r) {
      ARGOSY_ASSIGN_OR_RETURN(const auto sent, shard_batch(held.shape()[0], weights_, r));
      ARGOSY_ASSIGN_OR_RETURN(const std::int64_t theirs, rows_of(size, r));
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const got,
                              c.output(i * size_ + r, held.shape().with(0, rows).with(dim_, theirs)));
      tensors.values.push_back(held.rows(sent.first, sent.second));
      tensors.results.push_back(*got);
    }
  }
  return ok_status();
}

// In place: the results are the memory of the variables. Nothing else may hold it from here on.
Status CollectiveNode::all_gather_variables(KernelContext& c, Tensors& tensors) const {
  for (int i = 0; i < c.num_inputs(); ++i) {
    ARGOSY_ASSIGN_OR_RETURN(Variable* const variable, c.variable(i));
    Tensor whole;
    ARGOSY_RETURN_IF_ERROR(variable->update(c.input(i).data<ResourceHandle>()->name(), [&](Tensor& value) {
      whole = value.reshaped({value.elements()});
      return ok_status();
    }));
    ARGOSY_ASSIGN_OR_RETURN(const auto mine, shard_batch(whole.elements(), weights_, rank_));
    tensors.values.push_back(whole.rows(mine.first, mine.second));
    tensors.results.push_back(std::move(whole));
  }
  return ok_status();
}

}  // namespace argosy
