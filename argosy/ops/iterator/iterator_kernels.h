// What the files of the family share. Internal to it.
#pragma once

#include <optional>

#include "argosy/ops/dataset/dataset_value.h"

namespace argosy::datasets {

// A variant that holds an element, or none.
Tensor optional_handle(std::optional<Element> value);

void add_optionals(KernelRegistry& kernels);
void add_shared(KernelRegistry& kernels);
void add_positions(KernelRegistry& kernels);

}  // namespace argosy::datasets
