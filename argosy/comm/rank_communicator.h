// What the ranks of every kind of group have in common: a collective is one call, described by its arguments.
#pragma once

#include "argosy/base/str.h"
#include "argosy/base/threads/cancel_link.h"
#include "argosy/comm/communicator.h"
#include "argosy/comm/collective_job.h"

namespace argosy {

class RankCommunicator : public Communicator {
 public:
  RankCommunicator(int rank, int size) : rank_(rank), size_(size) {}
  int rank() const final { return rank_; }
  int size() const final { return size_; }

  Status all_reduce(std::span<const Tensor> tensors, Reduction reduction, const CollectiveOptions& options) final;
  Status all_reduce_shards(std::span<const Shard> shards, int total, std::span<const Tensor> out, Reduction reduction,
                           const CollectiveOptions& options) final;
  Status reduce_scatter(const Tensor& in, const Tensor& out, Reduction reduction,
                        const CollectiveOptions& options) final;
  Status all_gather(const Tensor& in, const Tensor& out, const CollectiveOptions& options) final;
  Status broadcast(std::span<const Tensor> tensors, int root, const CollectiveOptions& options) final;
  Status all_to_all(const Tensor& in, const Tensor& out, const CollectiveOptions& options) final;
  Status barrier(const CollectiveOptions& options) final;
  Status send(const Tensor& tensor, int to, const CollectiveOptions& options) final;
  Status recv(const Tensor& tensor, int from, const CollectiveOptions& options) final;

 protected:
  virtual Status collective(const CollectiveCall& call, const CollectiveOptions& options) = 0;
  // To or from another rank that there is.
  virtual Status exchange(bool sends, int other, const Tensor& tensor, const CollectiveOptions& options) = 0;

  // Around a call: its cancellation aborts the group, its error says which rank's it was.
  template <typename Body>
  Status guarded(const CollectiveOptions& options, const Body& body) {
    CancelLink link(options.cancellation, [&] { abort(options.cancellation->status()); });
    if (link.too_late()) abort(options.cancellation->status());
    Status status = body();
    link.end();
    if (status.ok()) return status;
    return std::move(status).with_where(
        str_cat("rank ", rank_, " of ", size_, options.name.empty() ? "" : ", ", options.name));
  }

 private:
  Status message(bool sends, int other, const Tensor& tensor, const CollectiveOptions& options);

  const int rank_, size_;
};

}  // namespace argosy
