// Communicator: one rank's handle to a group of devices. This file is the contract of all collectives.
//
// Rendezvous. Every rank of the group makes the same collectives in the same order: the k-th call of a rank meets the
// k-th of every other. Messages are matched by pair of ranks. If calls that meet differ in kind, size, dtype or name,
// every rank gets the same error, which says what each of them asked for. No rank hangs, and the group stays usable.
//
// Completion. A collective completes on every rank or on none. start() never waits for other ranks; the blocking calls
// do, each on its rank's own thread.
//
// Failure. While ranks are missing, three things end a collective: abort(), the cancellation, and the time-out of a
// rank that waits. The first cause ends the whole group: every waiting call, and every later one, returns it.
//
// Threads. start() and abort() from any thread. Blocking calls from one thread at a time.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string_view>

#include "argosy/base/status.h"
#include "argosy/base/threads/cancellation.h"
#include "argosy/comm/collective_call.h"

namespace argosy {

// Options of a blocking call.
struct CollectiveOptions {
  std::string_view name = {};            // equal on all ranks; appears in errors: "bucket 3"
  Cancellation* cancellation = nullptr;  // its reason aborts the group
  std::chrono::nanoseconds timeout{0};   // limit of the wait for other ranks; 0 = the group's default
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Joins a collective and returns. `done` is called once, from any thread, perhaps before this returns. It gets an
  // error or an event. After the event the group does not use this rank's tensors any more; an empty event has been
  // reached. The caller keeps the tensors, spans and strings of the call valid and unchanged until then. After an error
  // the group does not use them.
  using Done = std::function<void(Result<Event>)>;
  virtual void start(const CollectiveCall& call, Done done) = 0;

  // Ends the group with the first cause, which must be an error.
  virtual void abort(Status cause) = 0;

  // Blocking calls. A list of tensors counts as one concatenated array, without a copy. Tensor i of the list has the
  // same dtype and number of elements on every rank. Tensors may be empty. On an asynchronous device, a call waits for
  // the work that was enqueued on the compute stream before it.

  // In place. Values are combined in the order of the ranks. The bits are the same on every rank, and in every run with
  // the same inputs and number of ranks.
  Status all_reduce(std::span<const Tensor> tensors, Reduction reduction, const CollectiveOptions& options = {});

  // Combines `total` logical shards, each held by one rank, in a fixed binary tree over their indices. The left half of
  // n shards is the largest power of two below n. The bits do not depend on how the shards are spread over ranks. A
  // rank may hold any number of shards, or none. Every rank's `out` gets the result; it may be one of the rank's own
  // shards.
  Status all_reduce_shards(std::span<const Shard> shards, int total, std::span<const Tensor> out, Reduction reduction,
                           const CollectiveOptions& options = {});

  // Combines `in` over the ranks, in their order. Rank r's `out` gets the part of the result that follows the part of
  // rank r - 1. Parts may differ in size; together they have the elements of `in`. `out` may be the rank's own part of
  // `in`.
  Status reduce_scatter(const Tensor& in, const Tensor& out, Reduction reduction,
                        const CollectiveOptions& options = {});

  // The same for logical shards, with the bits of all_reduce_shards: the shards' tensors are combined in that tree, and
  // rank r's `out` holds its part of each. An `out` may be the rank's own part of a shard of its own.
  Status reduce_scatter_shards(std::span<const Shard> shards, int total, std::span<const Tensor> out,
                               Reduction reduction, const CollectiveOptions& options = {});

  // `out` gets every rank's `in`, one after the other. Parts may differ in size, and be empty. `in` may be the rank's
  // own part of `out`. The form for lists gathers each tensor of `in` into the tensor of `out` at the same index.
  Status all_gather(const Tensor& in, const Tensor& out, const CollectiveOptions& options = {});
  Status all_gather(std::span<const Tensor> in, std::span<const Tensor> out, const CollectiveOptions& options = {});

  // In place: the root's values on every rank.
  Status broadcast(std::span<const Tensor> tensors, int root, const CollectiveOptions& options = {});

  // `in` and `out` are size() equal parts: part j of rank i's `in` becomes part i of rank j's `out`. No overlap.
  Status all_to_all(const Tensor& in, const Tensor& out, const CollectiveOptions& options = {});

  // The same for parts of any size. in[v * size() + j] of rank i becomes out[v * size() + i] of rank j, of each value
  // v.
  Status all_to_all_parts(std::span<const Tensor> in, std::span<const Tensor> out,
                          const CollectiveOptions& options = {});

  Status barrier(const CollectiveOptions& options = {});

  // Point to point, in order per pair of ranks. send() returns once rank `to` has received.
  Status send(const Tensor& tensor, int to, const CollectiveOptions& options = {});
  Status recv(const Tensor& tensor, int from, const CollectiveOptions& options = {});

  // Runs any of these collectives. `call.timeout` and `call.ready` are ignored.
  Status run(const CollectiveCall& call, const CollectiveOptions& options = {});

 protected:
  // For a message: checks that the peer is another rank of the group. INVALID_ARGUMENT: it is not.
  Status check_peer(const CollectiveCall& call) const;
  // run(), after check_peer() was OK.
  virtual Status run_checked(const CollectiveCall& call, const CollectiveOptions& options) = 0;
};

}  // namespace argosy
