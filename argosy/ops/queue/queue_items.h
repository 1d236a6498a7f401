// QueueItems: a container for the elements of a queue, which pops them in the queue's order. Not synchronised. Internal
// to the queue family.
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
  // Undoes a pop(). Several are undone in reverse order, the last popped first.
  virtual void give_back(Tuple element) = 0;
  // A copy, which pops the same elements in the same order.
  virtual std::unique_ptr<QueueItems> copy() const = 0;
};

// First in, first out.
std::unique_ptr<QueueItems> fifo_items();
// A random element, as TensorFlow's generator chooses it for these seeds. Both 0: random seeds.
std::unique_ptr<QueueItems> shuffled_items(std::int64_t seed, std::int64_t seed2);
// The element whose first component, an int64 scalar, is least. Equal ones are first in, first out.
std::unique_ptr<QueueItems> priority_items();

}  // namespace argosy
