// Made-up images with something to learn: ten kinds of shapes, stripes and gradients of random size, place and
// colours in 0 … 1, the kind being the label. Example i depends on seed, split and i alone, whatever machine makes it.
#pragma once

#include "argosy/data/dataset.h"

namespace argosy::data {

// float[image_size, image_size, channels] and int32 labels, drawn when they are fetched: no memory, no files.
Result<std::unique_ptr<Dataset>> open_synthetic(const DatasetOptions& options);

}  // namespace argosy::data
