// CIFAR-10 and CIFAR-100, binary version: images float[32,32,3] in 0 … 1 and labels int32 (of CIFAR-100 the fine ones).
#pragma once

#include "argosy/data/dataset.h"

namespace argosy::data {

bool looks_like_cifar(const std::string& directory);
Result<std::unique_ptr<Dataset>> open_cifar(const std::string& directory, const DatasetOptions& options);

}  // namespace argosy::data
