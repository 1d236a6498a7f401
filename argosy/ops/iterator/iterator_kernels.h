// What the files of the family share. Internal to it.
#pragma once

#include <optional>

#include "argosy/ops/dataset/dataset_value.h"

namespace argosy::datasets {

// A variant that holds an element, or none.
Tensor optional_handle(std::optional<Element> value);

// The components of an element as the node's outputs.
Status give_element(KernelContext& c, Element element);
// The iterator of the first handle goes, whatever its kind.
Status delete_iterator(KernelContext& c);

void add_optionals(KernelRegistry& kernels);
void add_shared(KernelRegistry& kernels);
void add_positions(KernelRegistry& kernels);
void add_multi_device(KernelRegistry& kernels);

}  // namespace argosy::datasets
