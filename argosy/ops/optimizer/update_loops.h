// The parameters of one optimizer update on the CPU, and the loops that do it. Internal to the optimizer family.
#pragma once

#include <span>
#include <string_view>

#include "argosy/tensor/dtype.h"

namespace argosy::optimizer {

// The slices of a variable and its slots to update, each with its part of the gradient. A dense update has one slice,
// the whole variable.
struct Update {
  static constexpr int kMaxVariables = 4;
  static constexpr int kMaxScalars = 6;

  void* variables[kMaxVariables];    // the first elements of the variable and its slots
  const void* gradient;              // contiguous slices
  const void* scalars[kMaxScalars];  // each of the variable's dtype
  const std::int64_t* starts;        // each slice's offset in a variable, in elements; null: 0
  std::int64_t slices;
};

// Updates elements [begin, end) of every slice; slices have `slice` elements.
using Loop = void (*)(const Update& update, std::int64_t slice, std::int64_t begin, std::int64_t end);

struct LoopRow {
  std::string_view rule;
  bool flag;  // the op's attribute use_nesterov, update_slots or multiply_linear_by_lr; false where it has none
  DType dtype;
  int scalars;
  Loop loop;
};

std::span<const LoopRow> vector_loops();     // float32
std::span<const LoopRow> reference_loops();  // every dtype, computed in double precision

}  // namespace argosy::optimizer
