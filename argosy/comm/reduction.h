// Reduction: the operation that combines the values of several ranks.
#pragma once

#include <cstdint>
#include <string_view>

namespace argosy {

// Elementwise over ranks, for every real dtype; sum and mean for complex ones too. bfloat16 and float16 are combined in
// float32 and rounded once. Integers wrap around; their mean is truncated towards zero. A minimum or maximum with a NaN
// is NaN.
enum class Reduction : std::uint8_t { kSum, kMean, kMin, kMax, kProd };
std::string_view reduction_name(Reduction reduction);  // "sum"

}  // namespace argosy
