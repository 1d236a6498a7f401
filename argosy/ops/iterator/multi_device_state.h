// MultiDeviceState: the resource that a MultiDeviceIterator's handle refers to. One pass over a dataset, whose elements
// go to shards in turn.
//
//   elements 0 1 2 3 4 …  ──►  shard 0: 0 2 4 …      shard 1: 1 3 5 …
//
// A request is answered when it is its shard's turn. From the first request on, elements are buffered, up to a number
// of places for each shard. A shard without requests blocks the others once its places are full.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "argosy/op/kernel/blocked_ops.h"
#include "argosy/ops/iterator/iterator_state.h"

namespace argosy::datasets {

// One pass. Thread-safe.
class ShardedPass : public std::enable_shared_from_this<ShardedPass> {
 public:
  // REQUIRES: shards and places are positive.
  ShardedPass(std::size_t shards, std::size_t places, Allocator& memory)
      : places_(places), pipeline_(std::make_shared<Pipeline>(memory)), kept_(shards) {}
  Status open(DatasetPtr dataset) { return pipeline_->open(std::move(dataset)); }
  // As Pipeline::next(), for one shard. REQUIRES: the shard exists.
  void next(std::size_t shard, Cancellation* cancellation, Pipeline::Got got);
  // Ends pending requests with CANCELLED.
  void close();
  // True while a request is pending.
  bool busy();

 private:
  void fill();
  void take(Result<Element> got);

  const std::size_t places_;
  const std::shared_ptr<Pipeline> pipeline_;
  BlockedOps blocked_{BlockedOps::Order::kAny};
  // Guarded by blocked_.mutex():
  std::vector<std::deque<Result<Element>>> kept_;  // by shard
  std::size_t turn_ = 0;                           // the shard that gets the next element
  bool asking_ = false, ended_ = false, closed_ = false;
};

class MultiDeviceState final : public Resource, public Holder {
 public:
  MultiDeviceState(std::vector<DType> types, std::vector<PartialShape> shapes, std::size_t shards, Allocator& memory)
      : types_(std::move(types)), shapes_(std::move(shapes)), shards_(shards), memory_(memory) {}
  ~MultiDeviceState() override;
  std::string describe() const override { return "multi-device iterator"; }
  const std::vector<DType>& types() const { return types_; }
  const std::vector<PartialShape>& shapes() const { return shapes_; }
  std::size_t shards() const { return shards_; }

  Status exists() const;  // As IteratorState.
  // Starts a pass over this dataset. Returns the pass's number, which next() takes.
  Result<std::int64_t> initialize(DatasetPtr dataset, std::int64_t places);
  // As Pipeline::next(), for one shard. INVALID_ARGUMENT if the shard does not exist, or the pass is not the current
  // one.
  void next(std::int64_t shard, std::int64_t pass, Cancellation* cancellation, Pipeline::Got got);
  void release_contents() override;  // As IteratorState.
  bool in_use() const override;

 private:
  const std::vector<DType> types_;
  const std::vector<PartialShape> shapes_;
  const std::size_t shards_;
  Allocator& memory_;
  mutable Mutex mutex_;
  std::shared_ptr<ShardedPass> pass_ ARGOSY_GUARDED_BY(mutex_);
  std::int64_t number_ ARGOSY_GUARDED_BY(mutex_) = 0;
  bool gone_ ARGOSY_GUARDED_BY(mutex_) = false;
};

}  // namespace argosy::datasets
