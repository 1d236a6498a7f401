// A dataset of synthetic images that a model can learn: ten kinds of shapes, stripes and colour gradients. The label is
// the kind; size, position and colours (0 … 1) are random. Example i depends on seed, split and i alone, on every
// machine.
#pragma once

#include "argosy/data/dataset.h"

namespace argosy::data {

// Images are float[image_size, image_size, channels], labels int32. They are drawn when they are fetched.
Result<std::unique_ptr<Dataset>> open_synthetic(const DatasetOptions& options);

}  // namespace argosy::data
