// A folder of .npy files as a dataset: one component each, all with the same number of examples on their first axis.
// `image_train.npy`, `label_train.npy`, `image_test.npy` … belong to the split in their names. Without such names every
// file belongs to both splits.
// Components whose name is y, label(s) or target(s) come last.
#pragma once

#include "argosy/data/dataset.h"

namespace argosy::data {

bool looks_like_npy(const std::string& directory);
Result<std::unique_ptr<Dataset>> open_npy_dataset(const std::string& directory, const DatasetOptions& options);

}  // namespace argosy::data
