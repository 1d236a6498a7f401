#include "argosy/comm/communicator.h"

namespace argosy {

Status Communicator::all_reduce(std::span<const Tensor> tensors, Reduction reduction,
                                const CollectiveOptions& options) {
  return run({.kind = Collective::kAllReduce, .reduction = reduction, .name = options.name, .tensors = tensors},
             options);
}

Status Communicator::all_reduce_shards(std::span<const Shard> shards, int total, std::span<const Tensor> out,
                                       Reduction reduction, const CollectiveOptions& options) {
  return run({.kind = Collective::kAllReduceShards,
              .reduction = reduction,
              .total = total,
              .name = options.name,
              .out = out,
              .shards = shards},
             options);
}

Status Communicator::reduce_scatter(const Tensor& in, const Tensor& out, Reduction reduction,
                                    const CollectiveOptions& options) {
  return run({.kind = Collective::kReduceScatter,
              .reduction = reduction,
              .name = options.name,
              .tensors = {&in, 1},
              .out = {&out, 1}},
             options);
}

Status Communicator::reduce_scatter_shards(std::span<const Shard> shards, int total, std::span<const Tensor> out,
                                           Reduction reduction, const CollectiveOptions& options) {
  return run({.kind = Collective::kReduceScatterShards,
              .reduction = reduction,
              .total = total,
              .name = options.name,
              .out = out,
              .shards = shards},
             options);
}

Status Communicator::all_gather(const Tensor& in, const Tensor& out, const CollectiveOptions& options) {
  return all_gather({&in, 1}, {&out, 1}, options);
}

Status Communicator::all_gather(std::span<const Tensor> in, std::span<const Tensor> out,
                                const CollectiveOptions& options) {
  return run({.kind = Collective::kAllGather, .name = options.name, .tensors = in, .out = out}, options);
}

Status Communicator::broadcast(std::span<const Tensor> tensors, int root, const CollectiveOptions& options) {
  return run({.kind = Collective::kBroadcast, .root = root, .name = options.name, .tensors = tensors}, options);
}

Status Communicator::all_to_all(const Tensor& in, const Tensor& out, const CollectiveOptions& options) {
  return run({.kind = Collective::kAllToAll, .name = options.name, .tensors = {&in, 1}, .out = {&out, 1}}, options);
}

Status Communicator::all_to_all_parts(std::span<const Tensor> in, std::span<const Tensor> out,
                                      const CollectiveOptions& options) {
  return run({.kind = Collective::kAllToAllParts, .name = options.name, .tensors = in, .out = out}, options);
}

Status Communicator::barrier(const CollectiveOptions& options) {
  return run({.kind = Collective::kBarrier, .name = options.name}, options);
}

Status Communicator::send(const Tensor& tensor, int to, const CollectiveOptions& options) {
  return run({.kind = Collective::kSend, .peer = to, .name = options.name, .tensors = {&tensor, 1}}, options);
}

Status Communicator::recv(const Tensor& tensor, int from, const CollectiveOptions& options) {
  return run({.kind = Collective::kRecv, .peer = from, .name = options.name, .tensors = {&tensor, 1}}, options);
}

Status Communicator::run(const CollectiveCall& call, const CollectiveOptions& options) {
  ARGOSY_RETURN_IF_ERROR(check_peer(call));
  return run_checked(call, options);
}

Status Communicator::check_peer(const CollectiveCall& call) const {
  const bool sends = call.kind == Collective::kSend;
  if (!sends && call.kind != Collective::kRecv) return {};
  if (call.peer >= 0 && call.peer < size() && call.peer != rank()) return {};
  return invalid_argument(sends ? "send to rank " : "recv from rank ", call.peer, " on rank ", rank(), " of ", size())
      .with_id("ARG-COMM-001");
}

}  // namespace argosy
