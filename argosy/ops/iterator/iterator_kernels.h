// Functions that the family's files share. Internal to it.
#pragma once

#include <optional>

#include "argosy/ops/dataset/dataset_value.h"

namespace argosy::datasets {

// Makes a variant that holds an element, or none.
Tensor optional_handle(std::optional<Element> value);

// Sets the node's outputs to the components of an element.
Status give_element(KernelContext& c, Element element);
// Deletes the iterator of input 0's handle, whatever its kind.
Status delete_iterator(KernelContext& c);

void add_optionals(KernelRegistry& kernels);
void add_shared(KernelRegistry& kernels);
void add_positions(KernelRegistry& kernels);
void add_multi_device(KernelRegistry& kernels);

}  // namespace argosy::datasets
