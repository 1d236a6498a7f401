// One update as data, and the loops that carry it out. Internal to the optimizer family.
#pragma once

#include <span>
#include <string_view>

#include "argosy/tensor/dtype.h"

namespace argosy::optimizer {

// Slices of variables to update, each by its part of the gradient. Dense: one slice, the whole variable.
struct Update {
  static constexpr int kMaxVariables = 4;
  static constexpr int kMaxScalars = 6;

  void* variables[kMaxVariables];    // their first elements
  const void* gradient;              // slices one after another
  const void* scalars[kMaxScalars];  // each of the variable's dtype
  const std::int64_t* starts;        // in elements, by slice; null: 0
  std::int64_t slices;
};

// Elements [begin, end) of every slice, `slice` elements long.
using Loop = void (*)(const Update& update, std::int64_t slice, std::int64_t begin, std::int64_t end);

struct LoopRow {
  std::string_view rule;
  bool flag;  // of the op's own attribute: use_nesterov, update_slots, multiply_linear_by_lr; false where there is none
  DType dtype;
  int scalars;
  Loop loop;
};

std::span<const LoopRow> vector_loops();     // float32
std::span<const LoopRow> reference_loops();  // every dtype, computed in double

}  // namespace argosy::optimizer
