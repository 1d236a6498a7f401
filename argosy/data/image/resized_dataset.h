// A dataset that resizes the images of another one to squares, by the interpolation of argosy/data/image/image.h. The
// other components stay as they are.
#pragma once

#include <memory>

#include "argosy/data/dataset.h"

namespace argosy::data {

// Returns the dataset itself if its images have that size already. INVALID_ARGUMENT (ARG-DATA-012) unless the first
// component is float32[height, width, channels] and 1 <= size <= 16384.
Result<std::unique_ptr<Dataset>> resize_images(std::unique_ptr<Dataset> dataset, std::int64_t size);

}  // namespace argosy::data
