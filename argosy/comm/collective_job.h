// CollectiveJob: the checked calls of all ranks of a group, turned into the work of one collective.
//
// The work of every collective is a list of *parts*. A part is an array that is combined from one or more inputs and
// written to any number of outputs. Parts lie one after another in a virtual array of bytes, each at a multiple of 64.
// That array is split into *blocks*, the unit that a thread claims. Only that thread reads and writes the block's
// bytes.
#pragma once

#include <span>
#include <vector>

#include "argosy/comm/collective_call.h"
#include "argosy/comm/combine.h"

namespace argosy {

class CollectiveJob {
 public:
  // Checks that the calls, by rank, ask for the same collective. A message has two calls, the sender's first.
  // INVALID_ARGUMENT: they differ; the message says what each rank asked for.
  static Status check(std::span<const CollectiveCall> calls);

  // Calls check() and plans the parts and blocks. Reuses the memory of the previous plan. The calls' tensors must stay
  // valid until the last block is done; the calls themselves need not.
  Status plan(std::span<const CollectiveCall> calls);

  std::size_t blocks() const { return blocks_; }
  std::size_t bytes() const { return bytes_; }  // of the virtual array
  // Thread-safe.
  void run_block(std::size_t block) const;

  struct Part {
    std::size_t begin = 0;  // in the virtual array
    std::size_t bytes = 0;
    std::size_t element_bytes = 1;
    DType dtype = DType::kInvalid;  // of the elements combined: a complex number counts as two real ones
    CombineOrder order = CombineOrder::kChain;
    CombineFn combine = nullptr;  // null: one input is copied
    int inputs = 0, outputs = 0;
    std::size_t pointers = 0;  // position in inputs_ of its first input
    std::size_t targets = 0;   // position in outputs_ of its first output
  };
  // For backends that do the work without run_block() (GPUs).
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
  Status plan_all_gather(std::span<const CollectiveCall> calls);
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
