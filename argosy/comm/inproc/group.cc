#include "argosy/comm/inproc/group.h"

#include "argosy/comm/inproc/state.h"

namespace argosy {

InprocGroup::InprocGroup(int size, const InprocOptions& options) {
  ARGOSY_CHECK(size >= 1);
  state_ = std::make_unique<State>(size, options);
}
InprocGroup::~InprocGroup() = default;
int InprocGroup::size() const { return state_->size(); }
Communicator& InprocGroup::rank(int rank) { return state_->rank(rank); }
void InprocGroup::abort(Status cause) { state_->abort(std::move(cause)); }
Status InprocGroup::reset() { return state_->reset(); }

template <typename Call>
Status InprocGroup::Rank::guarded(const CollectiveOptions& options, const Call& call) {
  std::atomic<bool>& inside = state_.seat(rank_).inside;
  if (inside.exchange(true, std::memory_order_acq_rel)) {
    return failed_precondition("rank ", rank_, " is already inside a call: one thread at a time")
        .with_id("ARG-COMM-003");
  }
  Cancellation::Token token = 0;
  bool registered = false;
  if (options.cancellation != nullptr) {
    registered = options.cancellation->add([&] { state_.abort(options.cancellation->status()); }, &token);
    if (!registered) state_.abort(options.cancellation->status());
  }
  Status status = state_.aborted() ? state_.cause() : call();
  if (registered) options.cancellation->remove(token);
  inside.store(false, std::memory_order_release);
  if (status.ok()) return status;
  return std::move(status).with_where(
      str_cat("rank ", rank_, " of ", size(), options.name.empty() ? "" : ", ", options.name));
}

Status InprocGroup::Rank::collective(const CollectiveCall& call, const CollectiveOptions& options) {
  return guarded(options, [&] { return state_.collective(rank_, epoch_++, call, options); });
}

Status InprocGroup::Rank::all_reduce(std::span<const Tensor> tensors, Reduction reduction,
                                     const CollectiveOptions& options) {
  return collective({.kind = Collective::kAllReduce, .reduction = reduction, .name = options.name, .tensors = tensors},
                    options);
}

Status InprocGroup::Rank::all_reduce_shards(std::span<const Shard> shards, int total, std::span<const Tensor> out,
                                            Reduction reduction, const CollectiveOptions& options) {
  return collective({.kind = Collective::kAllReduceShards,
                     .reduction = reduction,
                     .total = total,
                     .name = options.name,
                     .out = out,
                     .shards = shards},
                    options);
}

Status InprocGroup::Rank::reduce_scatter(const Tensor& in, const Tensor& out, Reduction reduction,
                                         const CollectiveOptions& options) {
  return collective({.kind = Collective::kReduceScatter,
                     .reduction = reduction,
                     .name = options.name,
                     .tensors = {&in, 1},
                     .out = {&out, 1}},
                    options);
}

Status InprocGroup::Rank::all_gather(const Tensor& in, const Tensor& out, const CollectiveOptions& options) {
  return collective({.kind = Collective::kAllGather, .name = options.name, .tensors = {&in, 1}, .out = {&out, 1}},
                    options);
}

Status InprocGroup::Rank::broadcast(std::span<const Tensor> tensors, int root, const CollectiveOptions& options) {
  return collective({.kind = Collective::kBroadcast, .root = root, .name = options.name, .tensors = tensors}, options);
}

Status InprocGroup::Rank::all_to_all(const Tensor& in, const Tensor& out, const CollectiveOptions& options) {
  return collective({.kind = Collective::kAllToAll, .name = options.name, .tensors = {&in, 1}, .out = {&out, 1}},
                    options);
}

Status InprocGroup::Rank::barrier(const CollectiveOptions& options) {
  return collective({.kind = Collective::kBarrier, .name = options.name}, options);
}

Status InprocGroup::Rank::send(const Tensor& tensor, int to, const CollectiveOptions& options) {
  if (to < 0 || to >= size() || to == rank_) {
    return invalid_argument("send to rank ", to, " from rank ", rank_, " of ", size()).with_id("ARG-COMM-001");
  }
  return guarded(options, [&] { return state_.send(rank_, to, tensor, options); });
}

Status InprocGroup::Rank::recv(const Tensor& tensor, int from, const CollectiveOptions& options) {
  if (from < 0 || from >= size() || from == rank_) {
    return invalid_argument("recv from rank ", from, " on rank ", rank_, " of ", size()).with_id("ARG-COMM-001");
  }
  return guarded(options, [&] { return state_.recv(rank_, from, tensor, options); });
}

}  // namespace argosy
