// MNIST and what shares its layout (Fashion-MNIST, KMNIST): images float[28,28,1] and labels int32, from IDX files.
#pragma once

#include "argosy/data/dataset.h"

namespace argosy::data {

bool looks_like_mnist(const std::string& directory);
// Normalised to mean 0 and deviation 1 over the training images, or 0 … 1 without options.normalize.
Result<std::unique_ptr<Dataset>> open_mnist(const std::string& directory, const DatasetOptions& options);

}  // namespace argosy::data
