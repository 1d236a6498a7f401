// The arithmetic of collectives. One pass over memory combines many arrays, element by element, and writes the result
// to many arrays.
#pragma once

#include <cstddef>

#include "argosy/base/status.h"
#include "argosy/comm/reduction.h"
#include "argosy/tensor/dtype.h"

namespace argosy {

// The order in which inputs are combined. It is fixed, so the bits are.
enum class CombineOrder : std::uint8_t {
  kChain,  // ((0 + 1) + 2) + 3
  kTree,   // (0 + 1) + (2 + 3): the tree of Communicator::all_reduce_shards
};

struct CombineArrays {
  const std::byte* const* in = nullptr;
  std::byte* const* out = nullptr;  // outputs do not overlap; each is one of the inputs, or overlaps none
  int inputs = 0;                   // at least 1
  int outputs = 0;
  double divisor = 1;  // of a mean
};

// Combines elements [begin, end) of all input arrays and writes them to all output arrays. Thread-safe.
using CombineFn = void (*)(const CombineArrays& arrays, std::size_t begin, std::size_t end);

// The real numbers that an element consists of. A complex number is added and divided as two real ones.
struct Component {
  DType dtype;
  std::size_t per_element;
};
Component component_of(DType dtype, Reduction reduction);

// UNIMPLEMENTED for dtypes that cannot be combined. REQUIRES for kMean: CombineArrays::divisor is set.
Result<CombineFn> find_combine(DType dtype, Reduction reduction, CombineOrder order);

}  // namespace argosy
