#include "argosy/comm/rank_communicator.h"

namespace argosy {

Status RankCommunicator::all_reduce(std::span<const Tensor> tensors, Reduction reduction,
                                    const CollectiveOptions& options) {
  return collective({.kind = Collective::kAllReduce, .reduction = reduction, .name = options.name, .tensors = tensors},
                    options);
}

Status RankCommunicator::all_reduce_shards(std::span<const Shard> shards, int total, std::span<const Tensor> out,
                                           Reduction reduction, const CollectiveOptions& options) {
  return collective({.kind = Collective::kAllReduceShards,
                     .reduction = reduction,
                     .total = total,
                     .name = options.name,
                     .out = out,
                     .shards = shards},
                    options);
}

Status RankCommunicator::reduce_scatter(const Tensor& in, const Tensor& out, Reduction reduction,
                                        const CollectiveOptions& options) {
  return collective({.kind = Collective::kReduceScatter,
                     .reduction = reduction,
                     .name = options.name,
                     .tensors = {&in, 1},
                     .out = {&out, 1}},
                    options);
}

Status RankCommunicator::all_gather(const Tensor& in, const Tensor& out, const CollectiveOptions& options) {
  return collective({.kind = Collective::kAllGather, .name = options.name, .tensors = {&in, 1}, .out = {&out, 1}},
                    options);
}

Status RankCommunicator::broadcast(std::span<const Tensor> tensors, int root, const CollectiveOptions& options) {
  return collective({.kind = Collective::kBroadcast, .root = root, .name = options.name, .tensors = tensors}, options);
}

Status RankCommunicator::all_to_all(const Tensor& in, const Tensor& out, const CollectiveOptions& options) {
  return collective({.kind = Collective::kAllToAll, .name = options.name, .tensors = {&in, 1}, .out = {&out, 1}},
                    options);
}

Status RankCommunicator::barrier(const CollectiveOptions& options) {
  return collective({.kind = Collective::kBarrier, .name = options.name}, options);
}

Status RankCommunicator::send(const Tensor& tensor, int to, const CollectiveOptions& options) {
  return message(true, to, tensor, options);
}

Status RankCommunicator::recv(const Tensor& tensor, int from, const CollectiveOptions& options) {
  return message(false, from, tensor, options);
}

Status RankCommunicator::message(bool sends, int other, const Tensor& tensor, const CollectiveOptions& options) {
  if (other >= 0 && other < size_ && other != rank_) return exchange(sends, other, tensor, options);
  return invalid_argument(sends ? "send to rank " : "recv from rank ", other, " on rank ", rank_, " of ", size_)
      .with_id("ARG-COMM-001");
}

}  // namespace argosy
