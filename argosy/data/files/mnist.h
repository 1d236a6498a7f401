// MNIST and what shares its layout (Fashion-MNIST, KMNIST): images float[28,28,1] and labels int32, from IDX files.
#pragma once

#include "argosy/data/dataset.h"

namespace argosy::data {

bool looks_like_mnist(const std::string& directory);
// Images are normalised to mean 0 and standard deviation 1 over the training images; without options.normalize, 0 … 1.
Result<std::unique_ptr<Dataset>> open_mnist(const std::string& directory, const DatasetOptions& options);

}  // namespace argosy::data
