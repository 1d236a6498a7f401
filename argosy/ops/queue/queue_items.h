// The elements of a queue, in the order in which it gives them out. Not synchronised. Internal to the queue family.
#pragma once

#include <memory>
#include <vector>

#include "argosy/tensor/tensor.h"

namespace argosy {

class QueueItems {
 public:
  using Tuple = std::vector<Tensor>;  // one tensor per component

  virtual ~QueueItems() = default;
  virtual std::int64_t size() const = 0;
  virtual void push(Tuple element) = 0;
  // REQUIRES: size() > 0.
  virtual Tuple pop() = 0;
  // Elements that were popped go back, the last popped first: those that are left come out as if nothing had been.
  virtual void give_back(Tuple element) = 0;
  // The same elements, which come out in the same order.
  virtual std::unique_ptr<QueueItems> copy() const = 0;
};

// First in, first out.
std::unique_ptr<QueueItems> fifo_items();
// Any of them, as TensorFlow's generator chooses for these seeds; both 0: left to chance.
std::unique_ptr<QueueItems> shuffled_items(std::int64_t seed, std::int64_t seed2);
// The least first component, an int64 scalar, first; equal ones first in, first out.
std::unique_ptr<QueueItems> priority_items();

}  // namespace argosy
