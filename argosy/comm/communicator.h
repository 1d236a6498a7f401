// Communicator: one rank's end of a group of devices that compute together.
//
// A collective is a blocking call that every rank of the group makes, each from its own thread (a device's
// communication stream), in the same order. Ranks that call something else, with other sizes, dtypes or names, all get
// one error that says what each of them asked; none hangs.
//
// A collective either completes on every rank or on none. While ranks are still missing it ends by abort(), by the
// cancellation or by the time-out of a rank that waits; the first cause ends the whole group and is what every waiting
// and every later call returns. Tensors must stay alive and untouched by others until the call returns.
//
// One thread at a time per communicator; abort() from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>

#include "argosy/base/status.h"
#include "argosy/base/threads/cancellation.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

// Elementwise over ranks, for every real dtype; sum and mean for complex ones too. bfloat16 and float16 are combined in
// float32 and rounded once. Integers wrap around; their mean is cut towards zero. NaN wins over every minimum or
// maximum.
enum class Reduction : std::uint8_t { kSum, kMean, kMin, kMax, kProd };
std::string_view reduction_name(Reduction reduction);  // "sum"

struct CollectiveOptions {
  std::string_view name = {};            // equal on all ranks; appears in errors: "bucket 3"
  Cancellation* cancellation = nullptr;  // its reason aborts the group
  std::chrono::nanoseconds timeout{0};   // waiting for other ranks; 0 = the group's own
};

// One logical shard's contribution to all_reduce_shards.
struct Shard {
  int index = 0;
  std::span<const Tensor> tensors;
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Lists of tensors count as one concatenated array; nothing is copied together. Element i of the list has the same
  // dtype and number of elements on every rank.

  // In place. Combined in the order of the ranks: equal inputs on equally many ranks give equal bits, on every rank.
  virtual Status all_reduce(std::span<const Tensor> tensors, Reduction reduction,
                            const CollectiveOptions& options = {}) = 0;

  // Combines `total` logical shards, each held by one rank, in a fixed binary tree over their indices (the left half of
  // n is the largest power of two below n): the bits do not depend on how the shards are spread over ranks. A rank may
  // hold any number of shards, none too. Every rank's `out` gets the result; it may be one of the rank's own shards.
  virtual Status all_reduce_shards(std::span<const Shard> shards, int total, std::span<const Tensor> out,
                                   Reduction reduction, const CollectiveOptions& options = {}) = 0;

  // `in` is combined over the ranks, in their order, and dealt out: rank r's `out` holds what follows that of rank r
  // - 1. Parts may differ in size; together they have the elements of `in`. `out` may be the rank's own part of `in`.
  virtual Status reduce_scatter(const Tensor& in, const Tensor& out, Reduction reduction,
                                const CollectiveOptions& options = {}) = 0;

  // `out` is every rank's `in`, one after the other. Parts may differ in size. `in` may be the rank's own part of
  // `out`.
  virtual Status all_gather(const Tensor& in, const Tensor& out, const CollectiveOptions& options = {}) = 0;

  // In place: the root's values on every rank.
  virtual Status broadcast(std::span<const Tensor> tensors, int root, const CollectiveOptions& options = {}) = 0;

  // `in` and `out` are size() equal parts: part j of rank i's `in` becomes part i of rank j's `out`. No overlap.
  virtual Status all_to_all(const Tensor& in, const Tensor& out, const CollectiveOptions& options = {}) = 0;

  virtual Status barrier(const CollectiveOptions& options = {}) = 0;

  // Point to point, in order per pair of ranks. send() returns once rank `to` has received.
  virtual Status send(const Tensor& tensor, int to, const CollectiveOptions& options = {}) = 0;
  virtual Status recv(const Tensor& tensor, int from, const CollectiveOptions& options = {}) = 0;

  // Ends the group: every call that waits, and every later one, returns the first cause. `cause` must be an error.
  virtual void abort(Status cause) = 0;
};

}  // namespace argosy
