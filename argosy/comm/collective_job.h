// CollectiveJob: what the ranks of a group ask for, checked, as the work that is to do.
//
// Every collective is the same work: *parts*. A part is an array that is combined from one or more inputs and written to
// any number of outputs. Parts lie one after another in a virtual array of bytes, each on a boundary of 64. That array is
// split into *blocks*, the unit that a thread claims. A block's bytes are read and written by that thread alone.
#pragma once

#include <span>
#include <vector>

#include "argosy/comm/collective_call.h"
#include "argosy/comm/combine.h"

namespace argosy {

class CollectiveJob {
 public:
  // The calls, by rank, are one collective; or the two of a message, the sender's first. INVALID_ARGUMENT tells ranks
  // apart by what they asked for.
  static Status check(std::span<const CollectiveCall> calls);

  // check(), and more of it. Keeps its memory from one call to the next. The calls' tensors stay until the last block is
  // done; the calls need not.
  Status plan(std::span<const CollectiveCall> calls);

  std::size_t blocks() const { return blocks_; }
  std::size_t bytes() const { return bytes_; }  // of the virtual array
  // Thread-safe.
  void run_block(std::size_t block) const;

  struct Part {
    std::size_t begin = 0;  // in the virtual array
    std::size_t bytes = 0;
    std::size_t element_bytes = 1;
    DType dtype = DType::kInvalid;  // of what is combined: complex numbers are two real ones
    CombineOrder order = CombineOrder::kChain;
    CombineFn combine = nullptr;  // null: one input is copied
    int inputs = 0, outputs = 0;
    std::size_t pointers = 0;  // the first of its inputs in inputs_, ...
    std::size_t targets = 0;   // ... of its outputs in outputs_
  };
  // For backends that do the work by other means (GPUs).
  std::span<const Part> parts() const { return parts_; }
  std::span<const std::byte* const> inputs(const Part& part) const {
    return std::span(inputs_).subspan(part.pointers, static_cast<std::size_t>(part.inputs));
  }
  std::span<std::byte* const> outputs(const Part& part) const {
    return std::span(outputs_).subspan(part.targets, static_cast<std::size_t>(part.outputs));
  }
  double divisor() const { return divisor_; }

 private:
  Status plan_parts(std::span<const CollectiveCall> calls);
  // collective_parts.cc
  Status plan_shards(std::span<const CollectiveCall> calls);
  Status plan_parts_of_shards(std::span<const CollectiveCall> calls, std::span<const std::span<const Tensor>> shards);
  Status plan_dealt_out(std::span<const CollectiveCall> calls);
  Status plan_equal_exchange(std::span<const CollectiveCall> calls);
  Status plan_exchange(std::span<const CollectiveCall> calls);
  // Adds a part; its inputs and outputs have just been appended to inputs_ and outputs_.
  Status add(const Tensor& like, std::size_t elements, int inputs, int outputs, const CollectiveCall& call);

  std::vector<Part> parts_;
  std::vector<const std::byte*> inputs_;
  std::vector<std::byte*> outputs_;
  std::size_t bytes_ = 0, block_bytes_ = 64, blocks_ = 0;
  double divisor_ = 1;
};

}  // namespace argosy
